//! From flags to a learner: the checked request of `train`, `evaluate` and `tune`.
//!
//! A flag is a field of the learner; which methods have it is asked of the library. Here stand only the names that differ.

mod flags;

pub use flags::flags_of;

use anyhow::{Result, bail, ensure};
use boulevard::any::{AnyLearner, AnyModel, Method, Plan as Work};
use boulevard::data::io::TargetKind;
use boulevard::data::{Dataset, Fill, Scaling};
use boulevard::kernel::Kernel;
use boulevard::observe::Context;
use boulevard::svm::Learner;
use serde_json::{Map, Value};

use crate::args::{LearnerArgs, MethodName, ScaleName, kernel_word};

/// Base kernels where none are given.
const BASE_KERNELS: [&str; 4] = ["linear", "poly:2:1", "poly:3:1", "rbf"];

/// What to learn with, as it was asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    pub method: MethodName,
    pub work: Work,
    regression: bool,
}

impl Plan {
    /// Checks the flags for one method.
    pub fn new(method: MethodName, args: &LearnerArgs) -> Result<Self> {
        let given = flags::given(args);
        if let Some(flag) = flags::misplaced(method, args, &given).first() {
            bail!("{}", flags::complaint(flag, &[method]));
        }
        Self::lenient(method, args, &given)
    }

    /// Plans for several methods. A flag must apply to at least one of them.
    pub fn several(methods: &[MethodName], args: &LearnerArgs) -> Result<Vec<Self>> {
        let given = flags::given(args);
        let misplaced: Vec<Vec<String>> = methods.iter().map(|&method| flags::misplaced(method, args, &given)).collect();
        if let Some(flag) = given.keys().find(|flag| misplaced.iter().all(|all| all.contains(flag))) {
            bail!("{}", flags::complaint(flag, methods));
        }
        methods.iter().map(|&method| Self::lenient(method, args, &given)).collect()
    }

    fn lenient(method: MethodName, args: &LearnerArgs, given: &Map<String, Value>) -> Result<Self> {
        let chosen = flags::chosen(method, args);
        let mut parameters = flags::parameters(chosen, given, args.seed);
        if parameters.get("select").is_some_and(|what| what == "kernels") && !parameters.contains_key("kernels") {
            let kernels: std::result::Result<Vec<Kernel>, String> = BASE_KERNELS.iter().map(|word| kernel_word(word)).collect();
            parameters.insert("kernels".to_owned(), serde_json::to_value(kernels.map_err(anyhow::Error::msg)?)?);
        }
        ensure!(
            !parameters.contains_key("kernels") || parameters.get("select").is_some_and(|what| what == "kernels"),
            "--kernels goes with --select kernels"
        );
        flags::check_kernel(method, chosen, &parameters)?;
        let learner = chosen.learner_with(&parameters)?;
        let scaling = match args.scale {
            ScaleName::None => None,
            ScaleName::Standard => Some(Scaling::Standard),
            ScaleName::Minmax => Some(Scaling::MinMax { low: 0.0, high: 1.0 }),
        };
        ensure!(
            scaling.is_none() || !learner.is_precomputed(),
            "--scale does not apply to --kernel precomputed: the file holds kernel values, not columns"
        );
        learner.validate()?;
        Ok(Self { method, work: Work { missing: None, scaling, learner }, regression: args.regression })
    }

    /// The same with something done about missing values.
    pub fn filling(mut self, fill: Option<Fill>) -> Result<Self> {
        ensure!(
            fill.is_none() || !self.work.learner.is_precomputed(),
            "--missing does not apply to --kernel precomputed: the file holds kernel values, not columns"
        );
        self.work.missing = fill;
        Ok(self)
    }

    /// The learner.
    pub fn learner(&self) -> &AnyLearner {
        &self.work.learner
    }

    /// The library's name of the method.
    pub fn named(&self) -> &'static Method {
        self.work.learner.method()
    }

    /// How the label of a file is to be read for this method.
    pub fn target(&self) -> TargetKind {
        if self.regression { TargetKind::Real } else { self.work.learner.target() }
    }

    /// Learns from `data`: the scaler sees only these rows.
    pub fn fit(&self, data: &Dataset<'_>, context: &Context<'_>) -> boulevard::Result<AnyModel> {
        self.work.fit_in(data, context)
    }
}
