//! The values that a search tries.

use anyhow::{Result, ensure};
use boulevard::any::AnyLearner;
use boulevard::data::{Dataset, Imputer, Scaler};
use boulevard::kernel::Kernel;
use boulevard::svm::{Learner, Tube};
use boulevard::validation::{AutomaticGrid, GridSetting};

use super::price_name;
use crate::args::TuneArgs;
use crate::learner::Plan;

/// The values to try.
pub(super) struct Grid {
    pub prices: Vec<f64>,
    pub gammas: Vec<Option<f64>>,
    pub epsilons: Vec<Option<f64>>,
    /// Whether points around the best are tried too.
    pub refine: bool,
    /// Where the values come from, where nobody gave them.
    pub why: Option<String>,
}

impl Grid {
    /// All combinations: gamma outermost, the price innermost.
    pub fn points(&self) -> Vec<GridSetting> {
        let mut points = Vec::new();
        for &gamma in &self.gammas {
            for &epsilon in &self.epsilons {
                points.extend(self.prices.iter().map(|&c| GridSetting { c, gamma, epsilon }));
            }
        }
        points
    }
}

/// The values to try: what was given, else the library's around the data's own scale.
pub(super) fn grid(args: &TuneArgs, plan: &Plan, data: &Dataset<'_>) -> Result<Grid> {
    let learner = plan.learner();
    let has_gamma = learner.kernel().is_some_and(|kernel| kernel.gamma().is_some());
    ensure!(has_gamma || args.gamma_grid.is_empty(), "--gamma-grid does not apply to this kernel: it has no gamma");
    let tube = matches!(learner, AnyLearner::Svr(svr) if matches!(svr.tube, Tube::Epsilon(_)));
    ensure!(tube || args.epsilon_grid.is_empty(), "--epsilon-grid applies to --method svr only");
    let given = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<Option<f64>>>();
    // The rules are asked about the columns that the machine will see.
    let filled = match plan.work.missing {
        Some(fill) => Imputer::fit(&data.x, fill)?.table(&data.x)?,
        None => None,
    };
    let whole = filled.as_ref().unwrap_or(&data.x);
    let scaled = match plan.work.scaling {
        Some(scaling) => Some(Scaler::fit(whole, data.weights.as_deref(), scaling)?.table(whole)?),
        None => None,
    };
    let seen = Dataset { x: scaled.unwrap_or_else(|| whole.clone()), ..data.clone() };
    let kernel = learner.kernel().cloned().unwrap_or(Kernel::Linear);
    let automatic = AutomaticGrid::new(&kernel, &seen)?;
    let nu = price_name(plan) == "nu";
    let prices = match (args.c_grid.is_empty(), nu) {
        (false, _) => args.c_grid.clone(),
        (true, true) => vec![0.05, 0.1, 0.2, 0.3, 0.5, 0.7],
        (true, false) => automatic.c,
    };
    let gammas = match (args.gamma_grid.is_empty(), has_gamma) {
        (false, _) => given(&args.gamma_grid),
        (true, true) => given(&automatic.gamma),
        (true, false) => vec![None],
    };
    let epsilons = match (args.epsilon_grid.is_empty(), tube && args.learner.epsilon.is_none()) {
        (false, _) => given(&args.epsilon_grid),
        (true, true) => given(&automatic.epsilon),
        (true, false) => vec![None],
    };
    let own = !(args.c_grid.is_empty() && args.gamma_grid.is_empty() && args.epsilon_grid.is_empty());
    Ok(Grid { prices, gammas, epsilons, refine: args.refine.unwrap_or(!own), why: (!own).then_some(automatic.why) })
}
