//! From flags to a learner: the checked request of `train`, `evaluate` and `tune`.
//!
//! A method is a name in `args`, a variant of [`Recipe`] and a file here.

mod boost;
mod gather;
mod induce;
mod kernel;
mod linear;
mod machine;
mod pareto;
pub mod select;

use anyhow::{Result, bail};
use boulevard::data::io::TargetKind;
use boulevard::data::{Dataset, Scaler, Scaling};
use boulevard::kernel::{Gamma, Kernel};
use boulevard::methods::boosted::BoostedSvc;
use boulevard::methods::feature_induction::FeatureInduction;
use boulevard::methods::multi_sample::MultiSample;
use boulevard::methods::multitask_selection::MultiTaskSelection;
use boulevard::methods::pareto::ParetoSvc;
use boulevard::observe::Context;
use boulevard::persist::{AnyModel, ScaledModel};
use boulevard::svm::{Learner, LinearSvc, LinearSvr, OneClass, Svc, Svr};

use crate::args::{LearnerArgs, MethodName, ScaleName};

/// The kernel of methods that choose its width themselves.
static GAUSSIAN: Kernel = Kernel::Rbf { gamma: Gamma::SCALE };

/// A learner with parameters that were checked.
#[derive(Clone, Debug)]
pub enum Recipe {
    Svc(Svc),
    Svr(Svr),
    OneClass(OneClass),
    Gather(MultiSample),
    LinearSvc(LinearSvc),
    LinearSvr(LinearSvr),
    Induce(Box<FeatureInduction>),
    Select { learner: MultiTaskSelection, regression: bool },
    Boosted(BoostedSvc),
    Pareto(ParetoSvc),
}

/// What to learn with: a recipe and what happens to the columns first.
#[derive(Clone, Debug)]
pub struct Plan {
    pub method: MethodName,
    pub recipe: Recipe,
    pub scaling: Option<Scaling>,
}

impl Plan {
    /// Checks the flags for one method.
    pub fn new(method: MethodName, args: &LearnerArgs) -> Result<Self> {
        let misplaced = misplaced(method, args);
        if let Some((flag, belongs)) = misplaced.first() {
            bail!("--{flag} does not apply to --method {}: it belongs to {belongs}", method.text());
        }
        Self::lenient(method, args)
    }

    /// Plans for several methods. A flag must apply to at least one of them.
    pub fn several(methods: &[MethodName], args: &LearnerArgs) -> Result<Vec<Self>> {
        let all: Vec<_> = methods.iter().map(|&method| misplaced(method, args)).collect();
        if let Some((first, rest)) = all.split_first()
            && let Some((flag, belongs)) = first.iter().find(|item| rest.iter().all(|other| other.contains(item)))
        {
            let names: Vec<&str> = methods.iter().map(|method| method.text()).collect();
            bail!("--{flag} does not apply to --method {}: it belongs to {belongs}", names.join(", "));
        }
        methods.iter().map(|&method| Self::lenient(method, args)).collect()
    }

    fn lenient(method: MethodName, args: &LearnerArgs) -> Result<Self> {
        let recipe = match method {
            MethodName::Select => Recipe::Select { learner: select::learner(args)?, regression: args.regression },
            _ => machine::recipe(method, args)?,
        };
        let scaling = match args.scale {
            ScaleName::None => None,
            ScaleName::Standard => Some(Scaling::Standard),
            ScaleName::Minmax => Some(Scaling::MinMax { low: 0.0, high: 1.0 }),
        };
        let plan = Self { method, recipe, scaling };
        if plan.scaling.is_some() && *plan.kernel() == Kernel::Precomputed {
            bail!("--scale does not apply to --kernel precomputed: the file holds kernel values, not columns");
        }
        plan.recipe.validate()?;
        Ok(plan)
    }

    /// How the label of a file is to be read for this method.
    pub fn target(&self) -> TargetKind {
        match self.recipe {
            // Named labels and files that have several make a label matrix of their own.
            Recipe::Svc(_) | Recipe::LinearSvc(_) | Recipe::Gather(_) | Recipe::Induce(_) | Recipe::Boosted(_) | Recipe::Pareto(_) => {
                TargetKind::Classes
            }
            Recipe::Svr(_) | Recipe::LinearSvr(_) => TargetKind::Real,
            Recipe::OneClass(_) => TargetKind::None,
            Recipe::Select { regression: true, .. } => TargetKind::Real,
            Recipe::Select { .. } => TargetKind::Classes,
        }
    }

    /// The kernel of a kernel machine; methods that have none, or several, say `linear`, which asks nothing of the data.
    pub fn kernel(&self) -> &Kernel {
        match &self.recipe {
            Recipe::Svc(svc) => &svc.kernel,
            Recipe::Svr(svr) => &svr.kernel,
            Recipe::OneClass(one) => &one.kernel,
            Recipe::Induce(induce) => &induce.kernel,
            Recipe::LinearSvc(_) | Recipe::LinearSvr(_) | Recipe::Select { .. } => &Kernel::Linear,
            Recipe::Boosted(_) => &GAUSSIAN,
            Recipe::Pareto(front) => &front.kernel,
            Recipe::Gather(gather) => &gather.kernel,
        }
    }

    /// The kernel to search over; none for methods that choose their own.
    pub fn kernel_mut(&mut self) -> Option<&mut Kernel> {
        Some(match &mut self.recipe {
            Recipe::Svc(svc) => &mut svc.kernel,
            Recipe::Svr(svr) => &mut svr.kernel,
            Recipe::OneClass(one) => &mut one.kernel,
            Recipe::Induce(induce) => &mut induce.kernel,
            Recipe::LinearSvc(_) | Recipe::LinearSvr(_) | Recipe::Select { .. } => return None,
            Recipe::Boosted(_) => return None,
            Recipe::Pareto(front) => &mut front.kernel,
            Recipe::Gather(gather) => &mut gather.kernel,
        })
    }

    /// Learns from `data`: the scaler sees only these rows.
    pub fn fit(&self, data: &Dataset<'_>, context: &Context<'_>) -> boulevard::Result<AnyModel> {
        let Some(scaling) = self.scaling else { return self.recipe.fit(data, context) };
        data.validate()?;
        let scaler = Scaler::fit(&data.x, data.weights.as_deref(), scaling)?;
        let scaled = Dataset { x: scaler.table(&data.x)?, ..data.clone() };
        Ok(ScaledModel::new(scaler, self.recipe.fit(&scaled, context)?)?.into())
    }
}

/// Flags given that the method does not have, with those that do.
fn misplaced(method: MethodName, args: &LearnerArgs) -> Vec<(&'static str, String)> {
    let mut all = machine::misplaced(method, args);
    all.extend(gather::misplaced(method, args).into_iter().map(|(flag, belongs)| (flag, belongs.to_owned())));
    all.extend(select::misplaced(method, args).into_iter().map(|(flag, belongs)| (flag, belongs.to_owned())));
    if method != MethodName::Induce {
        all.extend(induce::given(&args.induce).into_iter().map(|flag| (flag, "induce".to_owned())));
    }
    if method != MethodName::Boost {
        all.extend(boost::given(&args.boost).into_iter().map(|flag| (flag, "boost".to_owned())));
    }
    all.extend(pareto::misplaced(method, args).into_iter().map(|(flag, belongs)| (flag, belongs.to_owned())));
    all
}

impl Recipe {
    fn validate(&self) -> boulevard::Result<()> {
        match self {
            Self::Svc(svc) => svc.validate(),
            Self::Svr(svr) => svr.validate(),
            Self::OneClass(one) => one.validate(),
            Self::Gather(gather) => gather.validate(),
            Self::LinearSvc(svc) => svc.validate(),
            Self::LinearSvr(svr) => svr.validate(),
            Self::Induce(induce) => induce.validate(),
            Self::Select { learner, .. } => learner.validate(),
            Self::Boosted(boosted) => boosted.validate(),
            Self::Pareto(front) => front.validate(),
        }
    }

    fn fit(&self, data: &Dataset<'_>, context: &Context<'_>) -> boulevard::Result<AnyModel> {
        Ok(match self {
            Self::Svc(svc) => svc.fit_in(data, context)?.into(),
            Self::Svr(svr) => svr.fit_in(data, context)?.into(),
            Self::OneClass(one) => one.fit_in(data, context)?.into(),
            Self::Gather(gather) => gather.fit_in(data, context)?.into(),
            Self::LinearSvc(svc) => svc.fit_in(data, context)?.into(),
            Self::LinearSvr(svr) => svr.fit_in(data, context)?.into(),
            Self::Induce(induce) => induce.fit_in(data, context)?.into(),
            Self::Select { learner, .. } => learner.fit_in(data, context)?.into(),
            Self::Boosted(boosted) => boosted.fit_in(data, context)?.into(),
            Self::Pareto(front) => front.fit_in(data, context)?.into(),
        })
    }
}
