//! The learner: parameters, one run per class, and the model put together.

use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::auto::{Choice, choose};
use super::gamma::GammaRule;
use super::limits::{Amount, Depth, RuleLimit, Sampling};
use super::model::{FeatureInductionModel, Final, Induction};
use super::rounds::{Ending, Plan, Run, run};
use super::rule_list;
use super::table::TrainingTable;
use super::tree::{MOST_DEPTH, Output, TreeSettings};
use crate::check;
use crate::data::{Categories, Dataset, Matrix};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::{Context, StopReason, stopped};
use crate::parallel;
use crate::svm::{ClassWeight, Classes, FitReport, Learner, LinearMachine, Model, Multiclass, Penalty, SolverSettings, Svc, worse};

/// Settings that are used instead of the parameters'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// The paper as written: C = 1, 50 rounds, full trees with hard answers, resampling.
    Paper,
}

/// Parameters of feature induction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeatureInduction {
    /// The price of one unit of loss.
    pub c: f64,
    /// How many features.
    pub n_induced: Amount,
    /// How many rules the model may have.
    pub max_rules: RuleLimit,
    /// How deep trees may be.
    pub max_depth: Depth,
    /// How trees see the rows' weights.
    pub sampling: Sampling,
    /// What leaves say.
    pub output: Output,
    /// Which regularisation term gamma is solved for.
    pub gamma_rule: GammaRule,
    /// The largest gamma.
    pub gamma_max: f64,
    /// Least weight of a leaf.
    pub min_samples_leaf: f64,
    /// Confidence of the pruning, from 0 (no pruning) to 1/2.
    pub confidence: f64,
    /// Whether each row's value comes from a tree that did not see it (five more trees per round).
    pub cross_fit: bool,
    /// Features at most where their number is chosen.
    pub max_induced: usize,
    /// Stop when a feature lowers the objective by less than this share of it; 0 means never.
    pub min_gain: f64,
    /// The kernel of the last machine: linear, or any other over original and induced columns together.
    pub kernel: Kernel,
    /// C of that machine where its kernel is not linear.
    pub kernel_c: f64,
    /// Class weights: factors of the samples' own.
    pub class_weight: ClassWeight,
    /// Settings that are used instead of the parameters above.
    pub preset: Option<Preset>,
    /// The relative duality gap of every linear fit.
    pub tolerance: f64,
    /// Whether to fit probabilities with the model (they cost five more fits).
    pub calibrate: bool,
    /// Seed of draws and held-out parts.
    pub seed: u64,
}

impl Default for FeatureInduction {
    fn default() -> Self {
        Self {
            c: 0.01,
            n_induced: Amount::Auto,
            max_rules: RuleLimit::Auto,
            max_depth: Depth::Auto,
            sampling: Sampling::Resample,
            output: Output::Soft,
            gamma_rule: GammaRule::HalfSquare,
            gamma_max: 50.0,
            min_samples_leaf: 2.0,
            confidence: 0.25,
            cross_fit: false,
            max_induced: 50,
            min_gain: 0.0,
            kernel: Kernel::Linear,
            kernel_c: 1.0,
            class_weight: ClassWeight::Equal,
            preset: None,
            tolerance: 1e-4,
            calibrate: false,
            seed: 0,
        }
    }
}

/// One class's run, what the hold-out found, and why there is no feature.
pub(super) type ClassRun = (Run, Option<Choice>, Option<String>);

/// Features that may be asked for.
const MOST_INDUCED: usize = 100_000;
/// Rules that a list may be asked for.
const MOST_RULES: usize = 1000;

impl FeatureInduction {
    /// The paper's settings.
    pub fn paper() -> Self {
        Self { preset: Some(Preset::Paper), ..Self::default() }.resolved()
    }

    /// The parameters with the preset applied.
    pub fn resolved(&self) -> Self {
        match self.preset {
            None => self.clone(),
            Some(Preset::Paper) => Self {
                c: 1.0,
                n_induced: Amount::Exactly(50),
                max_depth: Depth::Unlimited,
                sampling: Sampling::Resample,
                output: Output::Hard,
                gamma_rule: GammaRule::HalfSquare,
                gamma_max: 50.0,
                min_samples_leaf: 2.0,
                confidence: 0.25,
                cross_fit: false,
                min_gain: 0.0,
                ..self.clone()
            },
        }
    }

    /// The plan of one class; each class has random streams of its own.
    pub(super) fn plan(&self, class: usize) -> Plan {
        Plan {
            c: self.c,
            rounds: match self.n_induced {
                Amount::Auto => self.max_induced,
                Amount::Exactly(rounds) => rounds,
            },
            tree: TreeSettings {
                max_depth: match self.max_depth {
                    Depth::Auto => 3,
                    Depth::Unlimited => MOST_DEPTH,
                    Depth::AtMost(depth) => depth,
                },
                min_leaf: self.min_samples_leaf,
                confidence: self.confidence,
            },
            sampling: self.sampling,
            output: self.output,
            rule: self.gamma_rule,
            cap: self.gamma_max,
            cross_fit: self.cross_fit,
            min_gain: self.min_gain,
            tolerance: self.tolerance,
            finish: true,
            seed: self.seed,
            stream: 100 + ((class as u64) << 8),
        }
    }

    /// One class against the rest.
    fn fit_class(&self, table: &TrainingTable, class: usize, context: &Context<'_>) -> Result<ClassRun> {
        let mut plan = self.plan(class);
        let (mut choice, mut declined, mut stop) = (None, None, StopReason::Converged);
        let asks = plan.rounds > 0 && (self.n_induced == Amount::Auto || self.max_depth == Depth::Auto);
        if asks {
            let depth = (self.max_depth != Depth::Auto).then_some(plan.tree.max_depth);
            let fixed = self.n_induced != Amount::Auto;
            (choice, stop) = match stopped(choose(table, class as u32, &plan, depth, fixed, context))? {
                Ok(found) => found,
                Err(reason) => (None, reason),
            };
            match &choice {
                None if matches!(stop, StopReason::TimeLimit | StopReason::Interrupted) => plan.rounds = 0,
                Some(choice) => {
                    plan.rounds = choice.rounds;
                    plan.tree.max_depth = choice.depth.unwrap_or(MOST_DEPTH);
                    if choice.rounds == 0 {
                        declined = Some("no number of features lowered the error on held-out rows by more than its uncertainty".to_owned());
                    }
                }
                // The number was asked for: only the depth falls back, to three.
                None if fixed => {}
                None => {
                    plan.rounds = 0;
                    declined = Some(format!(
                        "{} rows are too few, or a class has too few different ones, to hold some out: give a number of features to induce anyway",
                        table.rows()
                    ));
                }
            }
        }
        let mut run = run(table, class as u32, &plan, context, &mut |_, _| ControlFlow::Continue(()))?;
        run.stop = run.stop.worst(stop);
        if declined.is_none() && run.features.is_empty() && plan.rounds > 0 && run.ending != Ending::Stopped {
            declined = Some(run.ending.text().to_owned());
        }
        Ok((run, choice, declined))
    }
}

impl Learner for FeatureInduction {
    type Model = FeatureInductionModel;

    fn validate(&self) -> Result<()> {
        const OWNER: &str = "FeatureInduction";
        check::positive(OWNER, "c", self.c)?;
        check::positive(OWNER, "gamma_max", self.gamma_max)?;
        check::positive(OWNER, "kernel_c", self.kernel_c)?;
        check::positive(OWNER, "tolerance", self.tolerance)?;
        check::not_negative(OWNER, "min_gain", self.min_gain)?;
        check::positive(OWNER, "min_samples_leaf", self.min_samples_leaf)?;
        if !(0.0..=0.5).contains(&self.confidence) {
            return Err(check::complaint(OWNER, "confidence", "from 0 (no pruning) to 0.5", self.confidence));
        }
        if let Depth::AtMost(depth) = self.max_depth {
            check::at_least(OWNER, "max_depth", depth, 1)?;
        }
        let asked = if let Amount::Exactly(count) = self.n_induced { count } else { self.max_induced };
        if asked > MOST_INDUCED {
            return Err(check::complaint(OWNER, "n_induced", format!("at most {MOST_INDUCED}"), asked));
        }
        if let RuleLimit::AtMost(rules) | RuleLimit::Exactly(rules) = self.max_rules
            && rules > MOST_RULES
        {
            return Err(check::complaint(OWNER, "max_rules", format!("at most {MOST_RULES}"), rules));
        }
        if self.kernel == Kernel::Precomputed {
            return Err(check::complaint(OWNER, "kernel", "a function of the columns: trees need them", "precomputed"));
        }
        self.kernel.validate()
    }

    fn kernel(&self) -> Option<&Kernel> {
        Some(&self.kernel)
    }

    fn kernel_mut(&mut self) -> Option<&mut Kernel> {
        Some(&mut self.kernel)
    }

    fn price_mut(&mut self) -> Option<&mut f64> {
        Some(&mut self.c)
    }

    fn calibrate_mut(&mut self) -> Option<&mut bool> {
        Some(&mut self.calibrate)
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<FeatureInductionModel> {
        let start = Instant::now();
        self.validate()?;
        data.validate()?;
        let settings = self.resolved();
        let classes = Classes::new(data, &settings.class_weight, "FeatureInduction")?;
        let names = data.expect_classes()?.names().to_vec();
        if settings.lists_rules() {
            check_memory(classes.rows.len(), data.x.columns(), context)?;
        }
        let table = TrainingTable::new(data, &classes, settings.seed, context)?;
        let outputs: Vec<usize> = if names.len() == 2 { vec![1] } else { (0..names.len()).collect() };
        let (machine, inductions, list, report) = if settings.lists_rules() {
            let outputs: Vec<u32> = outputs.iter().map(|&class| class as u32).collect();
            let listed = rule_list::fit(&settings, &table, &outputs, context)?;
            (listed.machine, listed.inductions, Some(listed.list), listed.report)
        } else {
            let (machine, inductions, report) = settings.fit_trees(&table, &classes, &outputs, context)?;
            (machine, inductions, None, report)
        };
        let mut model = FeatureInductionModel {
            parameters: self.clone(),
            classes: names,
            feature_names: data.feature_names.clone(),
            standard: table.standard.clone(),
            inductions,
            list,
            machine: Final::Linear(machine),
            calibration: None,
            report,
        };
        if settings.kernel != Kernel::Linear {
            model.machine = Final::Kernel(Box::new(settings.kernel_machine(&model, data, &classes, context)?));
            if let Final::Kernel(svc) = &model.machine {
                model.report = svc.report;
                model.report.stop = model.report.stop.worst(report.stop);
            }
        }
        if settings.calibrate
            && let Err(reason) = stopped(model.calibrate_in(data, context))?
        {
            model.report.stop = model.report.stop.worst(reason);
        }
        let (weights, offsets) = match &model.machine {
            Final::Linear(machine) => (&machine.weights, &machine.biases),
            Final::Kernel(svc) => (&svc.machine.coefficients, &svc.machine.intercepts),
        };
        model.report = model.report.finish(start, classes.rows.len(), &[weights], &[offsets])?;
        Ok(model)
    }
}

/// Lists of rules are judged on folds, all of which have their tables in memory at the same time: copies, sorted and standardised.
fn check_memory(rows: usize, columns: usize, context: &Context<'_>) -> Result<()> {
    const BYTES_OF_A_VALUE: usize = 210;
    let needed = rows.saturating_mul(columns).saturating_mul(BYTES_OF_A_VALUE);
    match context.memory {
        Some(allowed) if needed > allowed => {
            Err(Error::Memory { what: "the folds that choose a list of rules (none with `max_rules` unlimited)", needed, allowed })
        }
        _ => Ok(()),
    }
}

impl FeatureInduction {
    /// Whole trees, every class with its own.
    fn fit_trees(
        &self,
        table: &TrainingTable,
        classes: &Classes,
        outputs: &[usize],
        context: &Context<'_>,
    ) -> Result<(LinearMachine, Vec<Induction>, FitReport)> {
        let inner = if outputs.len() > 1 { context.with_threads(1) } else { *context };
        let runs = parallel::try_map(context.threads, outputs.len(), |place| {
            // A class that was never seen is never chosen, and has nothing to learn from.
            if !classes.codes.contains(&(outputs[place] as u32)) {
                return Ok(None);
            }
            let run = self.fit_class(table, outputs[place], &inner).map(Some);
            if outputs.len() > 1 {
                context.step("induce for classes", place + 1, outputs.len());
            }
            run
        });
        let runs: Vec<Option<ClassRun>> = runs?;
        let mut report = FitReport::default();
        for (run, ..) in runs.iter().flatten() {
            report.objective -= run.solution.objective;
            report.gap = worse(report.gap, run.solution.gap);
            report.violation = worse(report.violation, run.solution.gap);
            report.iterations += run.iterations;
            report.stop = report.stop.worst(run.stop);
        }
        let machine = linear_machine(&runs, table.original());
        Ok((machine, runs.into_iter().map(|run| run.map_or_else(Induction::unseen, Induction::from_run)).collect(), report))
    }

    /// The last machine where its kernel is not linear: over the standardized and the induced columns.
    fn kernel_machine(
        &self,
        model: &FeatureInductionModel,
        data: &Dataset<'_>,
        classes: &Classes,
        context: &Context<'_>,
    ) -> Result<crate::svm::SvcModel> {
        let x = if classes.rows.len() == data.len() { data.x.clone() } else { data.x.select(&classes.rows) };
        let z: Matrix<'_> = model.transform(&x, context)?;
        let target = Categories::new(classes.codes.clone(), model.classes.clone())?;
        let data = Dataset::classes(z, target).with_weights(classes.weights.clone());
        let svc = Svc {
            kernel: self.kernel.clone(),
            penalty: Penalty::C(self.kernel_c),
            class_weight: self.class_weight.clone(),
            multiclass: Multiclass::OneVsRest,
            solver: SolverSettings::default(),
            ..Svc::default()
        };
        svc.fit_in(&data, context)
    }
}

/// The last stage of every run as one machine over all columns: the original ones, then each class's own.
fn linear_machine(runs: &[Option<ClassRun>], original: usize) -> LinearMachine {
    let induced: usize = runs.iter().flatten().map(|(run, ..)| run.features.len()).sum();
    let features = original + induced;
    let mut machine = LinearMachine { weights: vec![0.0; features * runs.len()], biases: Vec::new(), features };
    let mut place = original;
    for (output, run) in runs.iter().enumerate() {
        let Some((run, ..)) = run else {
            machine.biases.push(f64::NEG_INFINITY);
            continue;
        };
        let stage = run.stages.last().expect("the linear machine is always there");
        let weights = &mut machine.weights[output * features..(output + 1) * features];
        weights[..original].copy_from_slice(&stage.weights[..original]);
        weights[place..place + run.features.len()].copy_from_slice(&stage.weights[original..]);
        machine.biases.push(stage.bias);
        place += run.features.len();
    }
    machine
}
