//! A model of any kind, for places where kinds meet: files, the command line, other languages.

use serde_json::{Map, Value, json};

use super::ScaledModel;
use crate::data::{Dataset, Imputer, Matrix, Scaler, Sets, Target};
use crate::error::{Error, Result};
use crate::observe::Context;
use crate::picture::Picture;
use crate::svm::{self, Answers, Decisions, Fact, FitReport, KernelMachine, LinearMachine, Model, Pull, Rows};
use crate::words::listed;

/// The one list of models: what each is, its type, and its kind as files name it. A new kind is one line here.
macro_rules! models {
    ($then:ident) => {
        $then! {
            /// A classifier.
            Svc(crate::svm::SvcModel) = "svc",
            /// A regressor.
            Svr(crate::svm::SvrModel) = "svr",
            /// A one-class machine.
            OneClass(crate::svm::OneClassModel) = "one_class",
            /// A classifier of sets of samples.
            MultiSample(crate::methods::multi_sample::MultiSampleModel) = "multi_sample",
            /// A linear classifier.
            LinearSvc(crate::svm::LinearSvcModel) = "linear_svc",
            /// A linear regressor.
            LinearSvr(crate::svm::LinearSvrModel) = "linear_svr",
            /// A linear machine with induced rules.
            FeatureInduction(crate::methods::feature_induction::FeatureInductionModel) = "feature_induction",
            /// Multi-task feature or kernel selection.
            MultiTaskSelection(crate::methods::multitask_selection::MultiTaskSelectionModel) = "multitask_selection",
            /// A boosted classifier.
            Boosted(crate::methods::boosted::BoostedModel) = "boosted",
            /// A front of classifiers.
            Pareto(crate::methods::pareto::ParetoModel) = "pareto",
            /// A model of scaled columns, with the scaler.
            Scaled(crate::any::ScaledModel) = "scaled",
        }
    };
}
pub(crate) use models;

/// A type of model that [`AnyModel`] can hold.
pub trait Kind: Sized {
    /// Its name, as in files.
    const KIND: &'static str;

    /// The model, if it is of this type.
    fn of(any: &AnyModel) -> Option<&Self>;

    /// The model to change, if it is of this type.
    fn of_mut(any: &mut AnyModel) -> Option<&mut Self>;
}

/// Makes the enum and hands every question on to the model inside: the only matches on what a model is.
macro_rules! any_model {
    ($($(#[$doc:meta])* $variant:ident($model:ty) = $kind:literal,)+) => {
        /// A fitted model of any kind.
        // One model at a time is held: boxes would only make it harder to use.
        #[allow(clippy::large_enum_variant)]
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyModel {
            $($(#[$doc])* $variant($model),)+
        }

        impl AnyModel {
            /// All kinds, as files name them.
            pub const KINDS: &'static [&'static str] = &[$($kind),+];

            /// The kind, as files name it.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $kind,)+ }
            }

            /// What the model inside says about itself.
            pub(super) fn own_facts(&self) -> Vec<Fact> {
                match self { $(Self::$variant(model) => model.facts(),)+ }
            }
        }

        $(
            impl Kind for $model {
                const KIND: &'static str = $kind;

                fn of(any: &AnyModel) -> Option<&Self> {
                    if let AnyModel::$variant(model) = any { Some(model) } else { None }
                }

                fn of_mut(any: &mut AnyModel) -> Option<&mut Self> {
                    if let AnyModel::$variant(model) = any { Some(model) } else { None }
                }
            }

            impl From<$model> for AnyModel {
                fn from(model: $model) -> Self {
                    Self::$variant(model)
                }
            }
        )+

        impl Model for AnyModel {
            type Prediction = Target;

            fn report(&self) -> &FitReport {
                match self { $(Self::$variant(model) => model.report(),)+ }
            }

            fn features(&self) -> usize {
                match self { $(Self::$variant(model) => model.features(),)+ }
            }

            fn feature_names(&self) -> Option<&[String]> {
                match self { $(Self::$variant(model) => model.feature_names(),)+ }
            }

            fn parameters(&self) -> Value {
                match self { $(Self::$variant(model) => model.parameters(),)+ }
            }

            fn answers(&self) -> Answers<'_> {
                match self { $(Self::$variant(model) => model.answers(),)+ }
            }

            /// As the model decides; decisions that overflow are an error.
            fn decide(&self, rows: &Rows<'_>, context: &Context<'_>) -> Result<Decisions> {
                let decisions = match self { $(Self::$variant(model) => model.decide(rows, context)?,)+ };
                decisions.check_finite()?;
                Ok(decisions)
            }

            fn predictions_from(&self, decisions: &Decisions) -> Result<Target> {
                match self { $(Self::$variant(model) => model.predictions_from(decisions).map(Target::from),)+ }
            }

            fn probabilities_from(&self, decisions: &Decisions) -> Result<Option<Vec<f64>>> {
                match self { $(Self::$variant(model) => model.probabilities_from(decisions),)+ }
            }

            fn has_probabilities(&self) -> bool {
                match self { $(Self::$variant(model) => model.has_probabilities(),)+ }
            }

            fn calibrate_in(&mut self, data: &Dataset<'_>, context: &Context<'_>) -> Result<()> {
                match self { $(Self::$variant(model) => model.calibrate_in(data, context),)+ }
            }

            /// All facts, its features and its fit included.
            fn facts(&self) -> Vec<Fact> {
                let mut facts = self.own_facts();
                if !matches!(self, Self::Scaled(_)) {
                    facts.extend(self.common_facts(None));
                }
                facts
            }

            fn details(&self) -> Map<String, Value> {
                match self { $(Self::$variant(model) => model.details(),)+ }
            }

            fn pictures(&self, data: Option<&Dataset<'_>>, context: &Context<'_>) -> Result<Vec<Picture>> {
                match self { $(Self::$variant(model) => model.pictures(data, context),)+ }
            }

            fn pulls(&self, x: &Matrix<'_>, row: usize) -> Result<Vec<Pull>> {
                match self { $(Self::$variant(model) => model.pulls(x, row),)+ }
            }

            fn notes(&self) -> &[String] {
                match self { $(Self::$variant(model) => model.notes(),)+ }
            }

            fn kernel_machines(&self) -> Vec<&KernelMachine> {
                match self { $(Self::$variant(model) => model.kernel_machines(),)+ }
            }

            fn linear_machine(&self) -> Option<&LinearMachine> {
                match self { $(Self::$variant(model) => model.linear_machine(),)+ }
            }

            fn support_vectors(&self) -> usize {
                match self { $(Self::$variant(model) => model.support_vectors(),)+ }
            }

            fn decision_names(&self) -> Vec<String> {
                match self { $(Self::$variant(model) => model.decision_names(),)+ }
            }

            fn judged_sets(&self, data: &Dataset<'_>) -> Result<Option<Sets>> {
                match self { $(Self::$variant(model) => model.judged_sets(data),)+ }
            }

            fn decides_sets(&self) -> bool {
                match self { $(Self::$variant(model) => model.decides_sets(),)+ }
            }
        }
    };
}

models!(any_model);

impl AnyModel {
    /// The model as one of a certain type, behind its scaler if it has one.
    pub fn get<M: Kind>(&self) -> Option<&M> {
        M::of(self).or_else(|| M::of(self.inner()))
    }

    /// As [`AnyModel::get`], with a complaint that names both kinds.
    pub fn expect<M: Kind>(&self) -> Result<&M> {
        self.get()
            .ok_or_else(|| Error::data(format!("this needs a model of kind `{}`, and the model is of kind `{}`", M::KIND, self.kind())))
    }

    /// The model behind the scaler, or the model itself.
    pub fn inner(&self) -> &Self {
        if let Self::Scaled(scaled) = self { &scaled.model } else { self }
    }

    /// What happens to every column first, if anything does.
    pub fn scaler(&self) -> Option<&Scaler> {
        if let Self::Scaled(scaled) = self { scaled.scaler.as_ref() } else { None }
    }

    /// What takes the place of missing values, if they may be missing.
    pub fn imputer(&self) -> Option<&Imputer> {
        if let Self::Scaled(scaled) = self { scaled.imputer.as_ref() } else { None }
    }

    /// The table as [`AnyModel::inner`] wants it, for questions that only it can answer; none where that is the table itself.
    pub fn prepare(&self, x: &Matrix<'_>) -> Result<Option<Matrix<'static>>> {
        if let Self::Scaled(scaled) = self { scaled.prepare(x).map(Some) } else { Ok(None) }
    }

    /// Another model of the same columns, behind the same scaler if there is one.
    pub fn with_inner(&self, model: Self) -> Result<Self> {
        Ok(match self {
            Self::Scaled(own) => ScaledModel::prepared(own.imputer.clone(), own.scaler.clone(), model)?.into(),
            _ => model,
        })
    }

    /// Whether it wants kernel values instead of features.
    pub fn wants_kernel_values(&self) -> bool {
        self.kernel_machines().iter().any(|machine| machine.kernel == crate::kernel::Kernel::Precomputed)
    }

    /// Its features, how they are scaled, and how the fit went.
    pub(super) fn common_facts(&self, scaling: Option<String>) -> Vec<Fact> {
        let names = self.feature_names().map_or("without names".to_owned(), listed);
        let mut facts = vec![("features", format!("{}: {names}", self.features()))];
        facts.extend(scaling.map(|text| ("scaling", text)));
        facts.extend(svm::fit(self.report()));
        facts
    }

    /// Everything worth knowing, for machines.
    pub fn to_json(&self) -> Value {
        let mut value = json!({
            "ensembles": null, "induced": null, "kernel": null, "classes": null, "support_per_class": null, "scaling": null,
            "kind": self.inner().kind(),
            "parameters": self.parameters(),
            "features": self.features(),
            "feature_names": self.feature_names(),
            "support_vectors": self.support_vectors(),
            "fit": json!(self.report()),
        });
        for (name, detail) in self.details() {
            value[name] = detail;
        }
        value
    }
}
