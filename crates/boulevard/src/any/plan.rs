//! What to do with a table: scale its columns, learn. The scaler learns from the same rows as the learner, so that a plan can be
//! cross-validated as any learner can.

use super::{AnyLearner, AnyModel, ScaledModel};
use crate::data::io::TargetKind;
use crate::data::{Dataset, Scaler, Scaling};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::svm::Learner;

/// A learner of any kind and what happens to the columns first.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
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
        self.learner.validate()
    }

    /// With scaling the model is an [`AnyModel::Scaled`].
    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<AnyModel> {
        let Some(scaling) = self.scaling else { return self.learner.fit_in(data, context) };
        self.validate()?;
        data.validate()?;
        let scaler = Scaler::fit(&data.x, data.weights.as_deref(), scaling)?;
        let scaled = Dataset { x: scaler.table(&data.x)?, ..data.clone() };
        Ok(ScaledModel::new(scaler, self.learner.fit_in(&scaled, context)?)?.into())
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
