//! A learner of any kind: one list, and everything that is done with a learner whose kind is known only at run time.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::AnyModel;
use crate::data::Dataset;
use crate::data::io::TargetKind;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::Context;
use crate::svm::Learner;

/// Makes [`AnyLearner`] from one list. A new kind is one line.
macro_rules! any_learner {
    ($($(#[$doc:meta])* $variant:ident($learner:ty) = $kind:literal,)+) => {
        /// A learner of any kind with its parameters. As JSON it is the parameters with the kind under `kind`.
        // One learner at a time is held: boxes would only make it harder to use.
        #[allow(clippy::large_enum_variant)]
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum AnyLearner {
            $($(#[$doc])* #[serde(rename = $kind)] $variant($learner),)+
        }

        impl AnyLearner {
            /// All kinds: the same words as those of the models they make.
            pub const KINDS: &'static [&'static str] = &[$($kind),+];

            /// Its kind.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $kind,)+
                }
            }

            /// The learner of a kind with default parameters.
            pub fn of_kind(kind: &str) -> Result<Self> {
                match kind {
                    $($kind => Ok(Self::$variant(<$learner>::default())),)+
                    other => Err(unknown(other)),
                }
            }

            /// The learner of a kind with these parameters; those that are missing have their defaults.
            pub(super) fn read(kind: &str, parameters: Value) -> Result<serde_json::Result<Self>> {
                match kind {
                    $($kind => Ok(serde_json::from_value(parameters).map(Self::$variant)),)+
                    other => Err(unknown(other)),
                }
            }

            /// The learner of a kind with parameters as JSON; those that are missing have their defaults.
            // Straight from the text: the detour over a tree of values costs as much as a hundredth of a small fit.
            pub fn from_json(kind: &str, json: &str) -> Result<Self> {
                let read = match kind {
                    $($kind => serde_json::from_str(json).map(Self::$variant),)+
                    other => return Err(unknown(other)),
                };
                read.map_err(|error| Error::data(format!("parameters of {kind}: {error}")))
            }

            /// Its parameters as JSON, without the kind.
            pub fn parameters(&self) -> Value {
                match self {
                    $(Self::$variant(learner) => serde_json::to_value(learner),)+
                }
                .expect("parameters are plain data")
            }
        }

        impl Learner for AnyLearner {
            type Model = AnyModel;

            fn validate(&self) -> Result<()> {
                match self {
                    $(Self::$variant(learner) => learner.validate(),)+
                }
            }

            fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<AnyModel> {
                match self {
                    $(Self::$variant(learner) => learner.fit_in(data, context).map(AnyModel::from),)+
                }
            }

            fn target(&self) -> TargetKind {
                match self {
                    $(Self::$variant(learner) => learner.target(),)+
                }
            }

            fn kernel(&self) -> Option<&Kernel> {
                match self {
                    $(Self::$variant(learner) => learner.kernel(),)+
                }
            }

            fn kernel_mut(&mut self) -> Option<&mut Kernel> {
                match self {
                    $(Self::$variant(learner) => learner.kernel_mut(),)+
                }
            }

            fn price_mut(&mut self) -> Option<&mut f64> {
                match self {
                    $(Self::$variant(learner) => learner.price_mut(),)+
                }
            }

            fn no_search(&self) -> Option<&'static str> {
                match self {
                    $(Self::$variant(learner) => learner.no_search(),)+
                }
            }

            fn calibrate_mut(&mut self) -> Option<&mut bool> {
                match self {
                    $(Self::$variant(learner) => learner.calibrate_mut(),)+
                }
            }
        }

        $(
            impl From<$learner> for AnyLearner {
                fn from(learner: $learner) -> Self {
                    Self::$variant(learner)
                }
            }
        )+
    };
}

any_learner! {
    /// A classifier.
    Svc(crate::svm::Svc) = "svc",
    /// A regressor.
    Svr(crate::svm::Svr) = "svr",
    /// A one-class machine.
    OneClass(crate::svm::OneClass) = "one_class",
    /// A linear classifier.
    LinearSvc(crate::svm::LinearSvc) = "linear_svc",
    /// A linear regressor.
    LinearSvr(crate::svm::LinearSvr) = "linear_svr",
    /// A classifier of sets of samples.
    MultiSample(crate::methods::multi_sample::MultiSample) = "multi_sample",
    /// A linear machine with induced rules.
    FeatureInduction(crate::methods::feature_induction::FeatureInduction) = "feature_induction",
    /// Multi-task feature or kernel selection.
    MultiTaskSelection(crate::methods::multitask_selection::MultiTaskSelection) = "multitask_selection",
    /// A boosted classifier.
    Boosted(crate::methods::boosted::BoostedSvc) = "boosted",
    /// A front of classifiers.
    Pareto(crate::methods::pareto::ParetoSvc) = "pareto",
}

fn unknown(kind: &str) -> Error {
    Error::data(format!("learners of kind `{}` are unknown here; known are {}", kind.escape_debug(), AnyLearner::KINDS.join(", ")))
}

impl AnyLearner {
    /// The same without probabilities: they cost fits and change no decision.
    pub fn without_calibration(mut self) -> Self {
        if let Some(calibrate) = self.calibrate_mut() {
            *calibrate = false;
        }
        self
    }

    /// Whether even small tables mean many fits: worth a thread of its own where fits can be interrupted.
    pub fn makes_many_fits(&self) -> bool {
        matches!(self, Self::Boosted(_) | Self::Pareto(_) | Self::MultiSample(_))
    }

    /// Whether tables hold kernel values instead of features.
    pub fn is_precomputed(&self) -> bool {
        self.kernel() == Some(&Kernel::Precomputed)
    }
}
