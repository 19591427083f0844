//! Equal rows as one row that weighs more.
//!
//! A row that is there twice and a row of weight 2 are the same problem, but a solver that goes to a tolerance sees different places to
//! start and stop at. So where rows have weights, or some are there more than once, the fit sees every kind of row once, in an order that
//! depends on what rows hold: both ways of saying the same are then the same computation, to the last bit.

use std::borrow::Cow;

use super::parameters::{Mode, ParetoSvc};
use crate::data::Dataset;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::svm::content_key;

/// Seed of the keys that rows are ordered by: the order is the same for every seed of the learner.
const ORDER: u64 = 0x6b69_6e64;

impl ParetoSvc {
    /// The rows that weigh something, each kind once, and the place of its first in `data`; `data` itself where all rows differ and weigh
    /// the same, for a given matrix (whose columns are rows too), for evolutions, and where no two classes have two kinds of rows, which
    /// no hold-out could divide.
    pub(super) fn kinds<'a>(&self, data: &'a Dataset<'a>, context: &Context<'_>) -> Result<(Cow<'a, Dataset<'a>>, Option<Vec<usize>>)> {
        let plain = Ok((Cow::Borrowed(data), None));
        if self.kernel == Kernel::Precomputed || self.mode == Mode::Evolve {
            return plain;
        }
        let codes = data.expect_classes()?.codes();
        let weight = |row: usize| data.weights.as_ref().map_or(1.0, |weights| weights[row]);
        let mut meter = context.meter("compare rows");
        let mut keys: Vec<(u32, u64, usize)> = (0..data.len())
            .filter(|&row| weight(row) > 0.0)
            .map(|row| Ok((codes[row], content_key(&data.x, row, ORDER, &mut meter)?, row)))
            .collect::<Result<_>>()?;
        keys.sort_unstable();
        let same = |a: &(u32, u64, usize), b: &(u32, u64, usize)| (a.0, a.1) == (b.0, b.1);
        let repeated = keys.windows(2).any(|pair| same(&pair[0], &pair[1]));
        let lone = |of_class: &[(u32, u64, usize)]| of_class.windows(2).all(|pair| same(&pair[0], &pair[1]));
        let divisible = keys.chunk_by(|a, b| a.0 == b.0).filter(|of_class| !lone(of_class)).count();
        if (data.weights.is_none() && !repeated) || (divisible < 2 && self.holdout > 0.0) {
            return plain;
        }
        let (mut rows, mut weights) = (Vec::new(), Vec::new());
        for kind in keys.chunk_by(same) {
            rows.push(kind[0].2);
            weights.push(kind.iter().map(|key| weight(key.2)).sum());
        }
        let merged = Dataset { weights: Some(weights), ..data.select(&rows) };
        Ok((Cow::Owned(merged), Some(rows)))
    }
}
