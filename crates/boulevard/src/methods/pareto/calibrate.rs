//! Probabilities for the picked point: sigmoids on decisions of rows that were left out.

use super::model::{ClassFront, ParetoModel};
use super::parameters::ParetoSvc;
use crate::data::Dataset;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::svm::{Learner, SvcModel};

/// Learns the one point of a front that lies at a given position.
pub(super) struct AtPosition<'a> {
    pub parameters: &'a ParetoSvc,
    pub kernel: &'a Kernel,
    /// Per machine where its point lies.
    pub position: Vec<Position>,
}

/// Where a machine's point lies on its front.
pub(super) struct Position {
    pub class: usize,
    /// Its sum as a share of the largest.
    pub share: f64,
    /// Its C, where that is what was judged: the same for all machines.
    pub cost: Option<f64>,
}

impl Learner for AtPosition<'_> {
    type Model = SvcModel;

    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn kernel(&self) -> Option<&Kernel> {
        Some(&self.parameters.kernel)
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<SvcModel> {
        Ok(self.parameters.at_position(data, self.kernel, &self.position, &[], context)?.0)
    }
}

impl ParetoModel {
    /// Where the picked point lies.
    pub(super) fn position(&self) -> Vec<Position> {
        let balanced = self.parameters.balanced();
        let cost = Some(self.front[self.picked].equivalent_c).filter(|c| self.parameters.picks_by_cost() && c.is_finite());
        let machine = |machine: &ClassFront| {
            let place = machine.place(self.picked, self.front.len());
            let of = |own: bool| {
                let side = self.codes.iter().zip(&self.weights).filter(|(code, _)| (**code as usize == machine.class) == own);
                side.map(|(_, weight)| weight).sum::<f64>()
            };
            let (plus, minus) = (of(true), of(false));
            let largest = if balanced { 2.0 * plus.min(minus) } else { plus + minus };
            Position { class: machine.class, share: machine.points[place].sum_alpha / largest, cost }
        };
        self.machines.iter().map(machine).collect()
    }

    /// The picked `alpha`s, spread out over all `rows` of the training table.
    pub(super) fn starts(&self, rows: usize) -> Vec<Vec<f64>> {
        let spread = |machine: &ClassFront| {
            let mut all = vec![0.0; rows];
            let alpha = machine.alpha(machine.place(self.picked, self.front.len()));
            self.rows.iter().zip(alpha).for_each(|(&row, &value)| all[row] = value);
            all
        };
        self.machines.iter().map(spread).collect()
    }
}
