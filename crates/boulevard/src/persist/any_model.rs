//! A model of any kind, for places where kinds meet: files, the command line, other languages.

use std::path::Path;

use super::native::{self, Stored};
use super::scaled::ScaledModel;
use crate::error::{Error, Result};
use crate::methods::boosted::BoostedModel;
use crate::methods::feature_induction::FeatureInductionModel;
use crate::methods::multi_sample::MultiSampleModel;
use crate::methods::multitask_selection::MultiTaskSelectionModel;
use crate::methods::pareto::ParetoModel;
use crate::svm::{FitReport, LinearSvcModel, LinearSvrModel, Model, OneClassModel, SvcModel, SvrModel};

/// Makes [`AnyModel`] and each model's `save` and `load` from one list.
///
/// A new kind is one line here, plus its `Stored` in `records.rs` (or beside it).
macro_rules! any_model {
    ($($(#[$doc:meta])* $variant:ident($model:ident),)+) => {
        /// A fitted model of any kind.
        // One model at a time is held: boxes would only make it harder to use.
        #[allow(clippy::large_enum_variant)]
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum AnyModel {
            $($(#[$doc])* $variant($model),)+
        }

        impl AnyModel {
            /// All kinds, as files name them.
            pub const KINDS: &'static [&'static str] = &[$($model::KIND),+];

            /// The kind, as files name it.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $model::KIND,)+
                }
            }

            /// How the fit went.
            pub fn report(&self) -> &FitReport {
                match self {
                    $(Self::$variant(model) => model.report(),)+
                }
            }

            /// Features per sample that the model expects.
            pub fn features(&self) -> usize {
                match self {
                    $(Self::$variant(model) => model.features(),)+
                }
            }

            /// Feature names, where the training table had them.
            pub fn feature_names(&self) -> Option<&[String]> {
                match self {
                    $(Self::$variant(model) => model.feature_names.as_deref(),)+
                }
            }

            /// The bytes of a model file.
            pub fn to_bytes(&self) -> Result<Vec<u8>> {
                match self {
                    $(Self::$variant(model) => native::to_bytes(model),)+
                }
            }

            /// A model from the bytes of a file. Whatever the bytes are, the answer is a sound model or an error.
            pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
                let opened = native::open(bytes)?;
                match opened.kind.as_str() {
                    $($model::KIND => opened.model().map(Self::$variant),)+
                    other => {
                        let known = Self::KINDS.join(", ");
                        Err(Error::data(format!("models of kind `{}` are unknown here; known are {known}", other.escape_debug())))
                    }
                }
            }
        }

        $(
            impl From<$model> for AnyModel {
                fn from(model: $model) -> Self {
                    Self::$variant(model)
                }
            }

            impl $model {
                /// Writes the model to a file in the native format, to the bit. The file appears whole or not at all.
                pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
                    native::write(path.as_ref(), &native::to_bytes(self)?)
                }

                /// Reads a model of this kind; fails with the kind that was found if the file holds another.
                pub fn load(path: impl AsRef<Path>) -> Result<Self> {
                    native::read(path.as_ref(), |bytes| native::open(bytes)?.model())
                }
            }
        )+
    };
}

any_model! {
    /// A classifier.
    Svc(SvcModel),
    /// A regressor.
    Svr(SvrModel),
    /// A one-class machine.
    OneClass(OneClassModel),
    /// A classifier of sets of samples.
    MultiSample(MultiSampleModel),
    /// A linear classifier.
    LinearSvc(LinearSvcModel),
    /// A linear regressor.
    LinearSvr(LinearSvrModel),
    /// A linear machine with induced rules.
    FeatureInduction(FeatureInductionModel),
    /// Multi-task feature or kernel selection.
    MultiTaskSelection(MultiTaskSelectionModel),
    /// A boosted classifier.
    Boosted(BoostedModel),
    /// A front of classifiers.
    Pareto(ParetoModel),
    /// A model of scaled columns, with the scaler.
    Scaled(ScaledModel),
}

impl AnyModel {
    /// Writes the model to a file in the native format, to the bit. The file appears whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        native::write(path.as_ref(), &self.to_bytes()?)
    }

    /// Reads a model of any kind.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        native::read(path.as_ref(), Self::from_bytes)
    }
}
