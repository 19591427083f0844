//! Classification: C-SVC and nu-SVC, two or more classes.
//!
//! For two classes with `y = +1, -1` and `b_i = y_i alpha_i`:
//! ```text
//! C-SVC    min 1/2 b'Kb - y'b,   sum b = 0,                       0 <= y_i b_i <= C_i        C_i = C * sample weight * class weight
//! nu-SVC   min 1/2 b'Kb,         sum over each class = nu W / 2,  0 <= y_i b_i <= w_i        then divided by the margin found
//! ```
//! With class weights nu-SVC is the C-SVC whose C is that of the nu-SVC without them (one over the margin found).
//! (Cortes and Vapnik 1995; Schoelkopf et al. 2000; the form with per-sample bounds as in LIBSVM.)

mod classes;
mod describe;
mod fit;
mod model;

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::classifier::Classifier;
use super::learner::{Learner, SolverSettings};
use super::multiclass::Multiclass;
use super::sharpening::CalibrationMethod;
use crate::check;
use crate::data::Dataset;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::observe::{Context, stopped};

pub use classes::ClassWeight;
pub(crate) use classes::{Classes, class_factors, support_by_class, two_classes};
pub(crate) use fit::{PairFit, feasible, pair_table};
pub use model::SvcModel;

const OWNER: &str = "Svc";

/// How errors are paid for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Penalty {
    /// The price of one unit of slack.
    C(f64),
    /// A bound on the share of margin errors, and from below on the share of support vectors.
    Nu(f64),
}

/// Parameters of a support vector classifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Svc {
    /// The kernel.
    pub kernel: Kernel,
    /// C or nu.
    pub penalty: Penalty,
    /// Class weights.
    pub class_weight: ClassWeight,
    /// How more than two classes are handled.
    pub multiclass: Multiclass,
    /// The solver's settings.
    pub solver: SolverSettings,
    /// Whether to fit probabilities with the model (they cost five more fits).
    pub calibrate: bool,
    /// How probabilities of more than two classes are made.
    pub calibration: CalibrationMethod,
    /// Seed of the calibration's folds.
    pub seed: u64,
}

impl Default for Svc {
    fn default() -> Self {
        Self {
            kernel: Kernel::default(),
            penalty: Penalty::C(1.0),
            class_weight: ClassWeight::default(),
            multiclass: Multiclass::default(),
            solver: SolverSettings::default(),
            calibrate: false,
            calibration: CalibrationMethod::default(),
            seed: 0,
        }
    }
}

impl Svc {
    fn without_calibration(&self) -> Self {
        Self { calibrate: false, ..self.clone() }
    }
}

impl Learner for Svc {
    type Model = SvcModel;

    fn validate(&self) -> Result<()> {
        self.kernel.validate()?;
        self.solver.validate(OWNER)?;
        match self.penalty {
            Penalty::C(c) => check::positive(OWNER, "c", c),
            Penalty::Nu(nu) => check::in_range(OWNER, "nu", nu, 0.0, 1.0),
        }
    }

    fn kernel(&self) -> Option<&Kernel> {
        Some(&self.kernel)
    }

    fn kernel_mut(&mut self) -> Option<&mut Kernel> {
        Some(&mut self.kernel)
    }

    fn price_mut(&mut self) -> Option<&mut f64> {
        Some(match &mut self.penalty {
            Penalty::C(c) => c,
            Penalty::Nu(nu) => nu,
        })
    }

    fn calibrate_mut(&mut self) -> Option<&mut bool> {
        Some(&mut self.calibrate)
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<SvcModel> {
        let start = Instant::now();
        self.validate()?;
        data.validate_by(context.threads)?;
        let names = data.expect_classes()?.names().to_vec();
        let classes = Classes::new(data, &self.class_weight, OWNER)?;
        if let Penalty::Nu(nu) = self.penalty
            && names.len() == 2
        {
            fit::feasible(nu, &classes)?;
        }
        let kernel = self.kernel.resolve(&data.x, data.weights.as_deref())?.similarity();
        let all = classes.rows.len() == data.len();
        let x = if all { None } else { Some(kernel.rows_of(&data.x, &classes.rows)) };
        let x = x.as_ref().unwrap_or(&data.x);
        let of_pairs = names.len() > 2 && self.multiclass != Multiclass::OneVsRest;
        let source = self.solver.source(&kernel, x, context).in_parts(of_pairs);
        let (machine, support_counts, iterations, report) = match self.multiclass {
            // Two classes are one machine either way.
            Multiclass::OneVsRest if names.len() > 2 => self.one_vs_rest(data, &classes, names.len(), &source, context)?,
            _ => self.one_vs_one(data, &classes, names.len(), &source, context)?,
        };
        let mut model = SvcModel {
            parameters: self.clone(),
            classes: names,
            machine,
            support_counts,
            iterations,
            calibration: None,
            feature_names: data.feature_names.clone(),
            report,
        };
        if self.calibrate {
            // A calibration that was stopped leaves a model without probabilities, and says so.
            match stopped(model.fit_calibration(&self.without_calibration(), data, self.seed, self.calibration, context))? {
                Ok(calibration) => model.calibration = Some(calibration),
                Err(reason) => model.report.stop = model.report.stop.worst(reason),
            }
        }
        model.report = model.report.finish(start, classes.rows.len(), &[&model.machine.coefficients], &[&model.machine.intercepts])?;
        Ok(model)
    }
}
