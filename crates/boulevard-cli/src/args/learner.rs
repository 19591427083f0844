//! Flags that choose a method and its parameters.
//!
//! A flag is a field of the learners that have it, in the library's own type: what was given, as JSON, is what the learner is made from
//! (`learner/`). Enums here are unions of choices that methods share under one flag.

use std::str::FromStr;

use boulevard::any::{METHODS, lists};
use boulevard::kernel::{Gamma, Kernel};
use boulevard::methods::multitask_selection::{Keep, MarginPrior, Select};
use boulevard::solver::linear::{Bias, LinearLoss, Regularizer};
use boulevard::svm::{CalibrationMethod, ClassWeight};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::boost::BoostArgs;
use super::gather::GatherArgs;
use super::induce::InduceArgs;
use super::kernel::{kernel_names, kernel_word};
use super::pareto::ParetoArgs;

/// The methods. To add one: a name here and, if it has flags of its own, a file of them beside this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MethodName {
    /// Classification; C is the price of an error
    #[default]
    Svc,
    /// Classification; nu bounds the share of margin errors
    NuSvc,
    /// Regression; a tube of half-width epsilon is free of loss
    Svr,
    /// Regression; nu bounds the share of samples outside the tube
    NuSvr,
    /// Where the data are dense, without labels
    OneClass,
    /// One decision for several samples that share a label (rows of a --group)
    Gather,
    /// Without a kernel, for many rows or columns: classification, or regression with an epsilon-insensitive loss
    Linear,
    /// A linear classifier that grows readable rules where a straight line fails
    Induce,
    /// Classification or regression that selects features or kernels, for one task or many (Jebara 2004)
    Select,
    /// Boosted machines for rare labels and classes; --labels a,b,c for several labels per row
    Boost,
    /// Every trade-off between margin and error at once, and a choice among them
    Pareto,
}

impl MethodName {
    /// As written on the command line.
    pub fn text(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The library's names for it. Where there are two, the loss decides.
    pub fn methods(self) -> &'static [&'static str] {
        NAMES.iter().find(|(name, _)| *name == self).map_or(&[], |(_, methods)| methods)
    }
}

/// Names here and in the library.
const NAMES: &[(MethodName, &[&str])] = &[
    (MethodName::Svc, &["svc"]),
    (MethodName::NuSvc, &["nu_svc"]),
    (MethodName::Svr, &["svr"]),
    (MethodName::NuSvr, &["nu_svr"]),
    (MethodName::OneClass, &["one_class"]),
    (MethodName::Gather, &["multi_sample"]),
    (MethodName::Linear, &["linear_svc", "linear_svr"]),
    (MethodName::Induce, &["feature_induction"]),
    (MethodName::Select, &["multitask_selection"]),
    (MethodName::Boost, &["boosted"]),
    (MethodName::Pareto, &["pareto"]),
];

/// A method of the library without a name here could not be asked for: the compiler says so.
const _: () = {
    let mut method = 0;
    while method < METHODS.len() {
        let (mut found, mut name) = (false, 0);
        while name < NAMES.len() {
            found |= lists(NAMES[name].1, METHODS[method].name);
            name += 1;
        }
        assert!(found, "every method of the library needs a name in MethodName and NAMES");
        method += 1;
    }
};

/// What a linear machine pays for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(into = "LinearLoss")]
pub enum LossName {
    /// Classification: samples inside the margin, by their distance
    Hinge,
    /// Classification: the same, squared
    SquaredHinge,
    /// Regression: errors beyond epsilon, by their size
    EpsilonInsensitive,
    /// Regression: the same, squared
    SquaredEpsilonInsensitive,
}

impl LossName {
    /// Whether numbers are learnt, not classes.
    pub fn is_regression(self) -> bool {
        matches!(self, Self::EpsilonInsensitive | Self::SquaredEpsilonInsensitive)
    }
}

impl From<LossName> for LinearLoss {
    fn from(name: LossName) -> Self {
        match name {
            LossName::Hinge | LossName::EpsilonInsensitive => Self::Absolute,
            LossName::SquaredHinge | LossName::SquaredEpsilonInsensitive => Self::Squared,
        }
    }
}

/// Which rows a part of a model learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum SamplingName {
    /// Rows drawn by weight (induce)
    Resample,
    /// All rows with their weights; nothing is drawn (induce)
    Weight,
    /// All rows, weighted (boost)
    All,
    /// A share spread from hard to easy, weighted (boost: the paper)
    Stratified,
    /// The heaviest rows, not weighted (boost: AdaBoost-SVM)
    Trimming,
}

/// How many classes are reduced to two, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum MulticlassName {
    /// One machine per pair of classes, which vote (svc, nu-svc, gather)
    OneVsOne,
    /// One machine per class against the others
    OneVsRest,
    /// All classes in one problem, with the hinge and the L2 penalty (linear)
    CrammerSinger,
}

/// Settings under one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum PresetName {
    /// The paper as written
    Paper,
}

/// What columns are brought to before learning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ScaleName {
    /// As they are
    #[default]
    None,
    /// Mean 0, standard deviation 1
    Standard,
    /// The range 0 to 1
    Minmax,
}

/// How the bias is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum BiasName {
    /// Gaussian around zero (select)
    Gaussian,
    /// Any bias is as good as another (select)
    Flat,
    /// An intercept for exact fronts, none for evolutions (pareto)
    Auto,
    /// None: two objectives (pareto)
    None,
    /// The balance of both classes is a third objective; exact points keep it (pareto)
    Objective,
}

/// A number that is one: JSON has no word for the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Finite(pub f64);

impl FromStr for Finite {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(number) if f64::is_finite(number) => Ok(Self(number)),
            Ok(_) => Err("expected a finite number".to_owned()),
            Err(_) => Err("invalid float literal".to_owned()),
        }
    }
}

/// A switch that was not given is no parameter.
pub fn off(switch: &bool) -> bool {
    !switch
}

/// Parameters of all methods. `None` means the method's default.
#[derive(Clone, Debug, Default, Serialize, Args)]
#[command(next_help_heading = "Parameters")]
pub struct LearnerArgs {
    /// Price of an error [default: 1; induce: 0.01]; decay of the margin prior (select) [default: chosen on held-out rows]
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub c: Option<Finite>,
    /// Share of margin errors, from 0 to 1 (nu-svc, nu-svr, one-class) [default: 0.5]
    #[arg(long, value_name = "NU", allow_negative_numbers = true)]
    pub nu: Option<Finite>,
    /// Half-width of the tube without loss (svr, linear, select) [default: 0.1; linear: 0]
    #[arg(long, value_name = "EPSILON", allow_negative_numbers = true)]
    pub epsilon: Option<Finite>,
    /// Kernel; with induce that of the last machine, over columns and rules [default: rbf; induce: linear]
    #[arg(long, value_name = "KERNEL", value_parser = kernel_names())]
    pub kernel: Option<String>,
    /// Kernel width: a number, `scale` (1 / (columns x variance)) or `auto` (1 / columns) [default: scale]
    #[arg(long, value_name = "GAMMA", allow_negative_numbers = true)]
    pub gamma: Option<Gamma>,
    /// Exponent (poly, epanechnikov) [default: 3; epanechnikov: 1]
    #[arg(long, value_name = "DEGREE")]
    pub degree: Option<u32>,
    /// Constant of the kernel (poly, sigmoid, multiquadric kernels) [default: 0; multiquadric kernels: 1]
    #[arg(long, value_name = "COEF0", allow_negative_numbers = true)]
    pub coef0: Option<Finite>,
    /// Weight of classes: `balanced`, or NAME=FACTOR,NAME=FACTOR,... (svc, nu-svc, linear, gather, induce, boost)
    #[arg(long, value_name = "WEIGHTS")]
    pub class_weight: Option<ClassWeight>,
    /// How more than two classes are handled (svc, nu-svc, gather, linear) [default: one-vs-one; linear: one-vs-rest]
    #[arg(long, value_name = "HOW")]
    pub multiclass: Option<MulticlassName>,
    /// Fit probabilities too; costs five more fits (classifiers)
    #[arg(long)]
    #[serde(skip_serializing_if = "off")]
    pub calibrate: bool,
    /// How probabilities of more than two classes are made (svc, nu-svc, linear, pareto) [default: auto]
    #[arg(long, value_name = "HOW")]
    pub calibration: Option<CalibrationMethod>,
    /// Loss (linear) [default: squared-hinge]
    #[arg(long, value_name = "LOSS")]
    pub loss: Option<LossName>,
    /// What keeps the weights small (linear with squared-hinge) [default: l2]
    #[arg(long, value_name = "PENALTY")]
    pub penalty: Option<Regularizer>,
    /// Regularise the intercept, as the weight of a constant column of this value (linear) [default: it is free]
    #[arg(long, value_name = "VALUE", value_parser = constant_column, allow_negative_numbers = true)]
    pub intercept_scaling: Option<Bias>,
    /// Scale the columns first; the model remembers how
    #[arg(long, value_name = "HOW", default_value = "none")]
    #[serde(skip)]
    pub scale: ScaleName,
    /// Violation of the optimality conditions to reach; relative duality gap for linear, induce and select [default: 0.001; linear, induce: 0.0001; select: 1e-6]
    #[arg(long, value_name = "TOLERANCE", allow_negative_numbers = true)]
    pub tolerance: Option<Finite>,
    /// Megabytes of kernel rows at most [default: up to a quarter of free memory]
    #[arg(long, value_name = "MB", allow_negative_numbers = true)]
    pub cache_size: Option<Finite>,
    /// Steps of the solver at most
    #[arg(long, value_name = "N")]
    pub max_iter: Option<u64>,
    /// What is switched on or off (select) [default: features]
    #[arg(long, value_name = "WHAT")]
    pub select: Option<Select>,
    /// Base kernels, separated by commas: `linear`, `poly:DEGREE[:COEF0[:GAMMA]]`, `rbf[:GAMMA]`, any other as
    /// `NAME[:PARAMETER=VALUE...]` (select)
    #[arg(long, value_name = "KERNELS", value_delimiter = ',', value_parser = kernel_word)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<Kernel>,
    /// Whether base kernels are brought to k(x, x) = 1 (select) [default: true]
    #[arg(long, value_name = "BOOL")]
    pub normalize_kernels: Option<bool>,
    /// Prior probability that a feature or kernel is on, above 0 and at most 1 (select) [default: one in as many as there are features, the
    /// square of that for two classes with ten columns per row or more; 0.01 for kernels]
    #[arg(long, value_name = "RHO", allow_negative_numbers = true)]
    pub rho: Option<Finite>,
    /// Its logarithm, from -700 to 0; wins over --rho (select)
    #[arg(long, value_name = "LN_RHO", allow_negative_numbers = true)]
    pub ln_rho: Option<Finite>,
    /// The bias (select, pareto) [default: gaussian; pareto: auto]
    #[arg(long, value_name = "HOW")]
    pub bias: Option<BiasName>,
    /// Variance of a Gaussian bias (select) [default: 1]
    #[arg(long, value_name = "VARIANCE", allow_negative_numbers = true)]
    pub bias_variance: Option<Finite>,
    /// Whether tasks share their switches (select) [default: true]
    #[arg(long, value_name = "BOOL")]
    pub share: Option<bool>,
    /// Switches at or below this are off when predicting (select) [default: 0]
    #[arg(long, value_name = "SWITCH", allow_negative_numbers = true)]
    pub threshold: Option<Finite>,
    /// Features that are kept and fitted again: a number, `all`, or `auto` for what held-out rows say (select) [default: auto]
    #[arg(long, value_name = "N")]
    pub keep: Option<Keep>,
    /// Whether columns and targets are brought to unit scale inside (select) [default: where c or rho is not given]
    #[arg(long, value_name = "BOOL")]
    pub standardize: Option<bool>,
    /// Prior of the margin in regression (select) [default: exp]
    #[arg(long, value_name = "PRIOR")]
    pub margin_prior: Option<MarginPrior>,
    /// The label is a number, not a class (select)
    #[arg(long)]
    #[serde(skip_serializing_if = "off")]
    pub regression: bool,
    /// Do not leave out samples that seem settled
    #[arg(long)]
    #[serde(skip_serializing_if = "off")]
    pub no_shrinking: bool,
    /// Do not solve for the free variables exactly at the end
    #[arg(long)]
    #[serde(skip_serializing_if = "off")]
    pub no_polish: bool,
    /// Seed of everything that is drawn at random
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    #[serde(skip)]
    pub seed: u64,
    /// Choose C and the kernel's width by held-out rows as well, unless a width is given (gather, boost) [default: true]
    #[arg(long, value_name = "BOOL")]
    pub tune: Option<bool>,
    /// Which rows a tree (induce) or a round (boost) learns from [default: resample; boost: all]
    #[arg(long, value_name = "HOW")]
    pub sampling: Option<SamplingName>,
    /// The settings of the method's paper (induce, boost)
    #[arg(long, value_name = "PRESET")]
    pub preset: Option<PresetName>,
    #[command(flatten)]
    #[serde(flatten)]
    pub boost: BoostArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub pareto: ParetoArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub induce: InduceArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub gather: GatherArgs,
}

/// The weight of a constant column, as LIBLINEAR has it.
fn constant_column(text: &str) -> Result<Bias, String> {
    text.parse().map(|Finite(value)| Bias::Column(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_weights_are_named() {
        let class_weight = |text: &str| text.parse::<ClassWeight>().ok();
        assert_eq!(class_weight("balanced"), Some(ClassWeight::Balanced));
        assert_eq!(class_weight("a=2,b=0.5"), Some(ClassWeight::Given(vec![("a".into(), 2.0), ("b".into(), 0.5)])));
        assert!(class_weight("a").is_none() && class_weight("a=x").is_none());
    }
}
