//! Flags that choose a method and its parameters. A parameter that does not belong to the method is refused, not ignored.

use boulevard::kernel::Gamma;
use boulevard::svm::ClassWeight;
use clap::{Args, ValueEnum};

use super::boost::BoostArgs;
use super::gather::GatherArgs;
use super::induce::InduceArgs;
use super::pareto::ParetoArgs;

/// The methods. To add one: a name here, a file with its fit in `learner/`.
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
    pub fn text(self) -> &'static str {
        match self {
            Self::Svc => "svc",
            Self::NuSvc => "nu-svc",
            Self::Svr => "svr",
            Self::NuSvr => "nu-svr",
            Self::OneClass => "one-class",
            Self::Gather => "gather",
            Self::Linear => "linear",
            Self::Induce => "induce",
            Self::Select => "select",
            Self::Boost => "boost",
            Self::Pareto => "pareto",
        }
    }
}

/// The kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum KernelName {
    /// <x, z>
    Linear,
    /// (gamma <x, z> + coef0)^degree
    Poly,
    /// exp(-gamma |x - z|^2)
    #[default]
    Rbf,
    /// tanh(gamma <x, z> + coef0)
    Sigmoid,
    /// exp(-gamma |x - z|_1)
    Laplacian,
    /// max(0, 1 - gamma |x - z|^2)^degree
    Epanechnikov,
    /// sqrt(gamma |x - z|^2 + coef0^2)
    Multiquadric,
    /// 1 / sqrt(gamma |x - z|^2 + coef0^2)
    InverseMultiquadric,
    /// exp(-gamma sum (x - z)^2 / (x + z)), values not negative
    ChiSquared,
    /// The file holds kernel values (LIBSVM's `0:i 1:K 2:K ...`)
    Precomputed,
}

/// How many classes are reduced to two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MulticlassName {
    /// One machine per pair of classes, which vote
    OneVsOne,
    /// One machine per class against the others
    OneVsRest,
}

/// What a linear machine pays for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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

/// What keeps the weights of a linear machine small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RegulariserName {
    /// Half the sum of squares
    L2,
    /// The sum of absolute values: many weights become zero
    L1,
}

/// Which rows a part of a model learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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

/// Settings under one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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

/// What multi-task selection switches on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SelectName {
    /// Input features
    Features,
    /// Base kernels
    Kernels,
}

/// How the bias is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BiasName {
    /// Gaussian around zero (select)
    Gaussian,
    /// Any bias is as good as another (select)
    Flat,
    /// None: two objectives (pareto)
    None,
    /// The balance of both classes is a third objective; exact points keep it (pareto)
    Objective,
}

/// The prior of a regression margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MarginName {
    /// Exponential beyond epsilon
    Exp,
    /// Flat up to epsilon, exponential beyond
    Jj,
}

/// Parameters of all methods. `None` means the method's default.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Parameters")]
pub struct LearnerArgs {
    /// Price of an error [default: 1; induce: 0.01]; decay of the margin prior (select) [default: 3]
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub c: Option<f64>,
    /// Share of margin errors, from 0 to 1 (nu-svc, nu-svr, one-class) [default: 0.5]
    #[arg(long, value_name = "NU", allow_negative_numbers = true)]
    pub nu: Option<f64>,
    /// Half-width of the tube without loss (svr, linear, select) [default: 0.1; linear: 0]
    #[arg(long, value_name = "EPSILON", allow_negative_numbers = true)]
    pub epsilon: Option<f64>,
    /// Kernel; with induce that of the last machine, over columns and rules [default: rbf; induce: linear]
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<KernelName>,
    /// Kernel width: a number, `scale` (1 / (columns x variance)) or `auto` (1 / columns) [default: scale]
    #[arg(long, value_name = "GAMMA", value_parser = gamma, allow_negative_numbers = true)]
    pub gamma: Option<Gamma>,
    /// Exponent (poly, epanechnikov) [default: 3; epanechnikov: 1]
    #[arg(long, value_name = "DEGREE")]
    pub degree: Option<u32>,
    /// Constant of the kernel (poly, sigmoid, multiquadric kernels) [default: 0; multiquadric kernels: 1]
    #[arg(long, value_name = "COEF0", allow_negative_numbers = true)]
    pub coef0: Option<f64>,
    /// Weight of classes: `balanced`, or NAME=FACTOR,NAME=FACTOR,... (svc, nu-svc, linear, gather, induce, boost)
    #[arg(long, value_name = "WEIGHTS", value_parser = class_weight)]
    pub class_weight: Option<ClassWeight>,
    /// How more than two classes are handled (svc, nu-svc, gather) [default: one-vs-one]
    #[arg(long, value_name = "HOW")]
    pub multiclass: Option<MulticlassName>,
    /// Fit probabilities too; costs five more fits (classifiers)
    #[arg(long)]
    pub calibrate: bool,
    /// Loss (linear) [default: squared-hinge]
    #[arg(long, value_name = "LOSS")]
    pub loss: Option<LossName>,
    /// What keeps the weights small (linear with squared-hinge) [default: l2]
    #[arg(long, value_name = "PENALTY")]
    pub penalty: Option<RegulariserName>,
    /// Regularise the intercept, as the weight of a constant column of this value (linear) [default: it is free]
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub intercept_scaling: Option<f64>,
    /// Scale the columns first; the model remembers how
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub scale: ScaleName,
    /// Violation of the optimality conditions to reach; relative duality gap for linear, induce and select [default: 0.001; linear, induce: 0.0001; select: 1e-6]
    #[arg(long, value_name = "TOLERANCE", allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Megabytes of kernel rows at most [default: up to a quarter of free memory]
    #[arg(long, value_name = "MB", allow_negative_numbers = true)]
    pub cache_size: Option<f64>,
    /// Steps of the solver at most
    #[arg(long, value_name = "N")]
    pub max_iter: Option<u64>,
    /// What is switched on or off (select) [default: features]
    #[arg(long, value_name = "WHAT")]
    pub select: Option<SelectName>,
    /// Base kernels, separated by commas: `linear`, `poly:DEGREE[:COEF0[:GAMMA]]`, `rbf[:GAMMA]`, `laplacian[:GAMMA]` (select)
    #[arg(long, value_name = "KERNELS", value_delimiter = ',')]
    pub kernels: Vec<String>,
    /// Whether base kernels are brought to k(x, x) = 1 (select) [default: true]
    #[arg(long, value_name = "BOOL")]
    pub normalize_kernels: Option<bool>,
    /// Prior probability that a feature or kernel is on, above 0 and at most 1 (select) [default: 0.01]
    #[arg(long, value_name = "RHO", allow_negative_numbers = true)]
    pub rho: Option<f64>,
    /// Its logarithm, from -700 to 0; wins over --rho (select)
    #[arg(long, value_name = "LN_RHO", allow_negative_numbers = true)]
    pub ln_rho: Option<f64>,
    /// The bias (select, pareto) [default: gaussian; pareto: none]
    #[arg(long, value_name = "HOW")]
    pub bias: Option<BiasName>,
    /// Variance of a Gaussian bias (select) [default: 1]
    #[arg(long, value_name = "VARIANCE", allow_negative_numbers = true)]
    pub bias_variance: Option<f64>,
    /// Whether tasks share their switches (select) [default: true]
    #[arg(long, value_name = "BOOL")]
    pub share: Option<bool>,
    /// Switches at or below this are off when predicting (select) [default: 0]
    #[arg(long, value_name = "SWITCH", allow_negative_numbers = true)]
    pub threshold: Option<f64>,
    /// Prior of the margin in regression (select) [default: exp]
    #[arg(long, value_name = "PRIOR")]
    pub margin_prior: Option<MarginName>,
    /// The label is a number, not a class (select)
    #[arg(long)]
    pub regression: bool,
    /// Do not leave out samples that seem settled
    #[arg(long)]
    pub no_shrinking: bool,
    /// Do not solve for the free variables exactly at the end
    #[arg(long)]
    pub no_polish: bool,
    /// Seed of everything that is drawn at random
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
    /// Which rows a tree (induce) or a round (boost) learns from [default: resample; boost: all]
    #[arg(long, value_name = "HOW")]
    pub sampling: Option<SamplingName>,
    /// The settings of the method's paper (induce, boost)
    #[arg(long, value_name = "PRESET")]
    pub preset: Option<PresetName>,
    #[command(flatten)]
    pub boost: BoostArgs,
    #[command(flatten)]
    pub pareto: ParetoArgs,
    #[command(flatten)]
    pub induce: InduceArgs,
    #[command(flatten)]
    pub gather: GatherArgs,
}

fn gamma(text: &str) -> Result<Gamma, String> {
    match text {
        "scale" => Ok(Gamma::SCALE),
        "auto" => Ok(Gamma::AUTO),
        number => number.parse().map(Gamma::Value).map_err(|_| "expected a number, `scale` or `auto`".to_owned()),
    }
}

fn class_weight(text: &str) -> Result<ClassWeight, String> {
    match text {
        "balanced" => return Ok(ClassWeight::Balanced),
        "equal" => return Ok(ClassWeight::Equal),
        _ => {}
    }
    let pair = |part: &str| {
        let (name, factor) = part.rsplit_once('=').ok_or_else(|| format!("`{part}` is not NAME=FACTOR"))?;
        let factor: f64 = factor.parse().map_err(|_| format!("`{factor}` is not a number"))?;
        Ok((name.to_owned(), factor))
    };
    text.split(',').map(pair).collect::<Result<_, String>>().map(ClassWeight::Given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_weights_are_named() {
        assert_eq!(class_weight("balanced"), Ok(ClassWeight::Balanced));
        assert_eq!(class_weight("a=2,b=0.5"), Ok(ClassWeight::Given(vec![("a".into(), 2.0), ("b".into(), 0.5)])));
        assert!(class_weight("a").is_err() && class_weight("a=x").is_err());
    }
}
