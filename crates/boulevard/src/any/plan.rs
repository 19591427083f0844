//! What to do with a table: fill in missing values, scale its columns, learn. Imputer and scaler learn from the same rows as the learner, so
//! that a plan can be cross-validated as any learner can.

use super::{AnyLearner, AnyModel, ScaledModel};
use crate::data::io::TargetKind;
use crate::data::{Dataset, Fill, Imputer, Scaler, Scaling};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::svm::Learner;

/// A learner of any kind and what happens to the columns first.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What is done about missing values, if anything is.
    pub missing: Option<Fill>,
    /// How columns are scaled, if they are.
    pub scaling: Option<Scaling>,
    /// The learner.
    pub learner: AnyLearner,
}

impl Plan {
    /// The same without probabilities: they cost fits and change no decision.
    pub fn without_calibration(&self) -> Self {
        Self { learner: self.learner.clone().without_calibration(), ..*self }
    }
}

impl Learner for Plan {
    type Model = AnyModel;

    fn validate(&self) -> Result<()> {
        if self.scaling.is_some() && self.learner.is_precomputed() {
            return Err(Error::data("a precomputed kernel has no columns to scale"));
        }
        if self.missing.is_some() && self.learner.is_precomputed() {
            return Err(Error::data("a precomputed kernel has no columns whose missing values could be filled in"));
        }
        self.learner.validate()
    }

    /// With scaling or something done about missing values the model is an [`AnyModel::Scaled`].
    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<AnyModel> {
        if self.scaling.is_none() && self.missing.is_none() {
            return self.learner.fit_in(data, context);
        }
        self.validate()?;
        data.validate_with_holes()?;
        let imputer = self.missing.map(|fill| Imputer::fit(&data.x, fill)).transpose()?;
        let mut ready = data.clone();
        if let Some(imputer) = &imputer
            && let Some(filled) = imputer.table(&data.x)?
        {
            ready.x = filled;
        }
        ready.x.check_finite("X")?;
        let scaler = self.scaling.map(|scaling| Scaler::fit(&ready.x, data.weights.as_deref(), scaling)).transpose()?;
        if let Some(scaler) = &scaler {
            ready.x = scaler.table(&ready.x)?;
        }
        Ok(ScaledModel::prepared(imputer, scaler, self.learner.fit_in(&ready, context)?)?.into())
    }

    fn fills_missing(&self) -> bool {
        self.missing.is_some_and(|fill| fill != Fill::Drop)
    }

    fn target(&self) -> TargetKind {
        self.learner.target()
    }

    fn kernel(&self) -> Option<&Kernel> {
        self.learner.kernel()
    }

    fn kernel_mut(&mut self) -> Option<&mut Kernel> {
        self.learner.kernel_mut()
    }

    fn price_mut(&mut self) -> Option<&mut f64> {
        self.learner.price_mut()
    }

    fn no_search(&self) -> Option<&'static str> {
        self.learner.no_search()
    }

    fn calibrate_mut(&mut self) -> Option<&mut bool> {
        self.learner.calibrate_mut()
    }
}
