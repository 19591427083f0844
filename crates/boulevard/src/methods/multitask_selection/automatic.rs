//! What is chosen where nothing is given: rho from the number of features, c and the set of features on held-out rows.
//!
//! Every fold is one path over a few values of c, each fit from its neighbor's, to a rough gap. The features are ranked by the size of
//! their weights over all tasks, and for some sizes of the set the problem is solved again on the set alone: with the same prior, and with
//! one that switches no longer (a set that was chosen once need not be shrunk twice). Classifiers are judged by the log loss of held-out
//! rows, their values sharpened by the factor that suits each trial best: where rows are few, wrong decisions are too few to tell trials
//! apart, and the trial that was luckiest wins. Features are left out only where held-out rows say so: of all trials within one standard
//! error of the lowest loss the one with most features is taken (in regression the smallest within half of one). The folds' own sets say
//! how stable the choice is.
//!
//! Where one problem of two classes has many more columns than rows, the prior is smaller (`WIDE_POWER`): with one in d, hundreds of
//! columns without meaning keep weights that together are louder than the few that have one. And the few rows of such tables hardly tell
//! trials apart: sets must be better by three standard errors, and of trials with as many features the one nearest to the plain c is taken.
//!
//! Folds depend on what rows hold, and equal rows share a fold: a weight of 2 is the same as a row twice.

use serde::{Deserialize, Serialize};

use super::folds::folds;
use super::judged::{Pooled, Said, row_weights};
use super::learner::{Keep, MultiTaskSelection, Select};
use super::problem::Certificate;
use super::problem::tasks::{TaskSet, TaskSplit};
use super::problem::training::Training;
use crate::error::Result;
use crate::observe::{Context, StopReason, stopped};
use crate::parallel;

/// Values of c that are tried in classification, with columns of spread one half.
const CS: [f64; 4] = [1.1, 1.25, 1.5, 3.0];
/// The same where columns are many more than rows, with a smaller prior.
const CS_OF_WIDE: [f64; 4] = [1.25, 1.4, 1.7, 3.0];
/// In regression.
const CS_OF_NUMBERS: [f64; 3] = [3.0, 15.0, 75.0];
/// In classification by kernels.
const CS_OF_KERNELS: [f64; 3] = [1.25, 2.0, 5.0];
/// Where no rows can be held out.
pub(super) const PLAIN_C: f64 = 1.5;
const PLAIN_C_OF_WIDE: f64 = 1.4;
const PLAIN_C_OF_NUMBERS: f64 = 15.0;
/// Columns per row from which a table of two classes is short of rows (fewer were not tried), and its prior: one in `d` to this power. On 36 tables drawn from 120 x 1500 to
/// 300 x 6000 with all features kept, the mean difference from L1 logistic regression was 1.6 points with a power of 1, 0.5, 0.0 and -0.4
/// with 1.25, 1.5 and 2 (standard error 0.4).
const WIDE: usize = 10;
const WIDE_POWER: f64 = 2.0;
/// Prior of kernels: they are few.
const RHO_OF_KERNELS: f64 = 0.01;
/// Sizes of sets that are tried; each must be smaller than the number of features.
const SIZES: [usize; 7] = [2, 5, 10, 20, 40, 80, 160];
/// The second prior of a set's own fit.
const OPEN: f64 = 0.5;
/// The relative gap of fits that are only judged.
const ROUGH: f64 = 1e-2;
/// Values in a fold up to which they are solved as asked.
const FEW_VALUES: usize = 20_000;
/// With fewer rows nothing is held out.
const LEAST_ROWS: usize = 20;
/// Nor with fewer rows of either side of a task.
const LEAST_OF_SIDE: usize = 3;

/// Standard errors of the difference that a larger set may be worse by. On fifteen sets (nine of tables, six drawn) it
/// erred less than the lowest loss itself, and that less than the smallest set within half a standard error.
const LENIENCE: f64 = 1.0;
/// The same where rows are few for the columns: the lowest of some sixty losses is then often that of a small set that was lucky.
const LENIENCE_OF_SHORT: f64 = 3.0;
/// Standard errors that a smaller set may be worse by in regression.
const LENIENCE_OF_NUMBERS: f64 = 0.5;

/// One trial: a value of c, with all features or with a set of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectionTrial {
    /// Its c.
    pub c: f64,
    /// Features of the set; none for all.
    pub features: Option<usize>,
    /// `ln rho` of the set's own fit; none for all.
    pub refit_ln_rho: Option<f64>,
    /// Held-out error: share of wrong decisions, or mean squared error in units of the targets' variance.
    pub error: f64,
    /// What decides: mean log loss of the held-out rows at the trial's best sharpness, or the error in regression.
    #[serde(default)]
    pub loss: f64,
    /// Standard error of the loss's difference from the lowest.
    pub uncertainty: f64,
}

/// What was chosen and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectionChoice {
    /// The c of the fit.
    pub c: f64,
    /// Its `ln rho`.
    pub ln_rho: f64,
    /// Whether columns and targets were standardized inside.
    pub standardized: bool,
    /// The features that were kept; none where all were.
    pub kept: Option<Vec<usize>>,
    /// Where all were kept and columns were standardized: those that count, whose weights in that scale are above a hundredth of the largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counting: Option<Vec<usize>>,
    /// `ln rho` of the fit on the kept features.
    pub refit_ln_rho: Option<f64>,
    /// Relative duality gap of the fit on the kept features.
    pub refit_gap: Option<f64>,
    /// All trials; empty where no rows were held out.
    pub trials: Vec<SelectionTrial>,
    /// How often each feature was among the kept over the folds; empty where no rows were held out or all features were kept.
    pub frequencies: Vec<f64>,
    /// In words.
    pub reason: String,
}

/// Weights of the columns over all tasks: `sum_m w_mj^2`.
pub(super) fn sizes(weights: &[f64], features: usize) -> Vec<f64> {
    (0..features).map(|j| weights.iter().skip(j).step_by(features).map(|w| w * w).sum()).collect()
}

/// The columns whose weights over all tasks are above a hundredth of the largest.
pub(super) fn counting(weights: &[f64], features: usize) -> Vec<usize> {
    /// Share of the largest weight.
    const LEAST: f64 = 0.01;
    let sizes = sizes(weights, features);
    let most = sizes.iter().copied().fold(0.0, f64::max);
    (0..features).filter(|&j| sizes[j] > LEAST * LEAST * most).collect()
}

/// The `count` columns of largest size, in rising order.
pub(super) fn largest(sizes: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by(|&a, &b| sizes[b].total_cmp(&sizes[a]).then(a.cmp(&b)));
    order.truncate(count);
    order.sort_unstable();
    order
}

/// The trials of one fold: what each says of the held-out rows, what rows count, and the columns' sizes for every c.
pub(super) struct Fold {
    pub said: Vec<Said>,
    pub weights: Vec<f64>,
    pub sizes: Vec<Vec<f64>>,
}

/// What is tried.
pub(super) struct Plan<'a> {
    pub cs: &'a [f64],
    pub sizes: &'a [usize],
    /// `ln rho` of the sets' own fits.
    pub priors: &'a [f64; 2],
    /// `ln rho` of all features.
    pub ln_rho: f64,
}

impl MultiTaskSelection {
    /// `ln rho`, given or from the number of features.
    pub(super) fn ln_prior_for(&self, tasks: &TaskSet<'_>) -> f64 {
        let automatic = match self.select {
            Select::Features if self.is_short(tasks) => -WIDE_POWER * (tasks.features() as f64).ln(),
            Select::Features => -(tasks.features().max(2) as f64).ln(),
            Select::Kernels => RHO_OF_KERNELS.ln(),
        };
        self.ln_rho.or(self.rho.map(f64::ln)).unwrap_or(automatic)
    }

    /// Whether one problem of two classes has few rows for its columns, and the prior of these is left to be chosen.
    fn is_short(&self, tasks: &TaskSet<'_>) -> bool {
        let open = self.rho.is_none() && self.ln_rho.is_none() && self.select == Select::Features;
        open && tasks.outputs.classify() && tasks.targets.len() == 1 && tasks.features() >= WIDE * tasks.rows()
    }

    /// Whether anything is left to be chosen.
    fn is_automatic(&self) -> bool {
        self.c.is_none() || (self.rho.is_none() && self.ln_rho.is_none())
    }

    /// Whether columns and targets are standardized inside.
    pub fn standardizes(&self) -> bool {
        self.standardize.unwrap_or(self.is_automatic())
    }

    /// Sizes of sets to try: none where all features stay.
    fn set_sizes(&self, tasks: &TaskSet<'_>) -> Vec<usize> {
        let features = tasks.features();
        let one = self.share || tasks.targets.len() == 1;
        match self.keep {
            Keep::Auto if self.is_automatic() && self.select == Select::Features && one => {
                SIZES.iter().copied().filter(|&size| size < features).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Chooses what is not given. `tasks` are at the scale of the fit; folds are cut by what the rows were before, `raw`: the last bits of
    /// a scaled value depend on how rows are arranged. `wide` is there for tables with many more columns than rows.
    pub(super) fn settle(
        &self,
        raw: &TaskSet<'_>,
        tasks: &TaskSet<'_>,
        wide: Option<&Training<'_>>,
        context: &Context<'_>,
    ) -> Result<(SelectionChoice, StopReason)> {
        let ln_rho = self.ln_prior_for(tasks);
        let (classify, short) = (tasks.outputs.classify(), self.is_short(tasks));
        let mut choice = SelectionChoice {
            c: self.c.unwrap_or(match (classify, short) {
                (true, true) => PLAIN_C_OF_WIDE,
                (true, false) => PLAIN_C,
                (false, _) => PLAIN_C_OF_NUMBERS,
            }),
            ln_rho,
            standardized: self.standardizes(),
            counting: None,
            kept: None,
            refit_ln_rho: None,
            refit_gap: None,
            trials: Vec::new(),
            frequencies: Vec::new(),
            reason: String::new(),
        };
        let prior = match (self.ln_rho, self.rho, self.select) {
            (None, None, Select::Features) if short => {
                format!("rho = 1 / ({} features)^2, of which there are many more than rows", tasks.features())
            }
            (None, None, Select::Features) => format!("rho = 1 / {} features", tasks.features()),
            (None, None, Select::Kernels) => format!("rho = {RHO_OF_KERNELS} for kernels"),
            _ => format!("ln rho = {ln_rho:.4} as given"),
        };
        let sizes = self.set_sizes(tasks);
        let cs: Vec<f64> = match (self.c, classify, self.select) {
            (Some(c), ..) => vec![c],
            (None, true, Select::Features) if short => CS_OF_WIDE.to_vec(),
            (None, true, Select::Features) => CS.to_vec(),
            (None, true, Select::Kernels) => CS_OF_KERNELS.to_vec(),
            (None, false, _) => CS_OF_NUMBERS.to_vec(),
        };
        let cut_short = |mut choice: SelectionChoice, reason: StopReason| {
            choice.reason = format!("{prior}; c = {} (stopped before held-out rows had been judged)", choice.c);
            Ok((choice, reason))
        };
        let wanted = cs.len() > 1 || !sizes.is_empty();
        let folds = match stopped(if wanted { folds(raw, self.seed, LEAST_ROWS, LEAST_OF_SIDE, context) } else { Ok(None) })? {
            Ok(folds) => folds,
            Err(reason) => return cut_short(choice, reason),
        };
        let Some(folds) = folds else {
            let why = if self.c.is_some() { "as given" } else { "the plain choice: too few rows to hold some out" };
            choice.reason = format!("{prior}; c = {} ({why})", choice.c);
            if let Keep::Exactly(count) = self.keep {
                choice.refit_ln_rho = Some(OPEN.ln().max(ln_rho));
                choice.reason += &format!("; the {count} largest features as asked for");
            }
            return Ok((choice, StopReason::Converged));
        };
        let priors = [ln_rho, OPEN.ln().max(ln_rho)];
        let plan = Plan { cs: &cs, sizes: &sizes, priors: &priors, ln_rho };
        let judged = stopped(match wide {
            Some(training) => self.judge_wide(training, &folds, &plan, context),
            None => self.judge(tasks, &folds, &plan, context),
        })?;
        let judged = match judged {
            Ok(judged) => judged,
            Err(reason) => return cut_short(choice, reason),
        };
        self.conclude(&mut choice, &judged, &cs, &sizes, &priors, &prior, tasks);
        if let Keep::Exactly(_) = self.keep {
            choice.refit_ln_rho = Some(priors[1]);
        }
        Ok((choice, StopReason::Converged))
    }

    /// Runs all trials on all folds.
    fn judge(&self, tasks: &TaskSet<'_>, folds: &[TaskSplit], plan: &Plan<'_>, context: &Context<'_>) -> Result<Vec<Fold>> {
        let Plan { cs, ln_rho, .. } = *plan;
        let inner = context.with_threads(1);
        parallel::try_map(context.threads, folds.len(), |place| -> Result<Fold> {
            let (train, test) = (tasks.select_in(&folds[place].train, &inner)?, tasks.select_in(&folds[place].test, &inner)?);
            // Rough solutions depend on how rows are arranged; where that costs nothing, it should not decide.
            let values = train.rows().saturating_mul(train.features()).saturating_mul(train.targets.len());
            let tolerance = if values < FEW_VALUES { self.tolerance } else { self.tolerance.max(ROUGH) };
            let rough = Self { tolerance, calibrate: false, ..self.clone() };
            let training = Training::new(&rough, &train, &inner)?;
            let (mut said, mut ranks) = (Vec::new(), Vec::new());
            let mut last: Option<Vec<Certificate>> = None;
            for (step, &c) in cs.iter().enumerate() {
                if let Some(stop @ (StopReason::Interrupted | StopReason::TimeLimit)) =
                    context.step("choose c and features", place * cs.len() + step, folds.len() * cs.len())
                {
                    return Err(crate::error::Error::Stopped { reason: stop });
                }
                // Numbers are tried at values of c so far apart that a start from the last one's weights costs twice as much as none.
                let start = last.as_deref().filter(|_| tasks.outputs.classify());
                let solved = rough.solve(&training, ln_rho, c, start, &inner);
                last = Some(solved.iter().map(|solution| solution.certificate.clone()).collect());
                let model = rough.model(&training, solved, std::time::Instant::now())?;
                said.push(Said::of(&model, &test, &inner)?);
                let size = if self.select == Select::Features { self::sizes(&model.weights, train.features()) } else { Vec::new() };
                rough.judge_sets(&train, &test, &size, c, plan, &mut said, &inner)?;
                ranks.push(size);
            }
            Ok(Fold { said, weights: row_weights(&test), sizes: ranks })
        })
    }

    /// The trials of the largest features alone, at one c.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn judge_sets(
        &self,
        train: &TaskSet<'_>,
        test: &TaskSet<'_>,
        size: &[f64],
        c: f64,
        plan: &Plan<'_>,
        said: &mut Vec<Said>,
        context: &Context<'_>,
    ) -> Result<()> {
        for &count in plan.sizes {
            let set = largest(size, count);
            let (train, test) = (train.columns(&set)?, test.columns(&set)?);
            let training = Training::new(self, &train, context)?;
            let mut start: Option<Vec<Certificate>> = None;
            for &prior in plan.priors {
                let solved = self.solve(&training, prior, c, start.as_deref().filter(|_| train.outputs.classify()), context);
                start = Some(solved.iter().map(|solution| solution.certificate.clone()).collect());
                said.push(Said::of(&self.model(&training, solved, std::time::Instant::now())?, &test, context)?);
            }
        }
        Ok(())
    }

    /// The winner of all trials.
    #[allow(clippy::too_many_arguments)]
    fn conclude(
        &self,
        choice: &mut SelectionChoice,
        folds: &[Fold],
        cs: &[f64],
        sizes: &[usize],
        priors: &[f64; 2],
        prior: &str,
        tasks: &TaskSet<'_>,
    ) {
        let weights: Vec<f64> = folds.iter().flat_map(|fold| fold.weights.iter().copied()).collect();
        let total: f64 = weights.iter().sum();
        let pooled: Vec<Pooled> = (0..folds[0].said.len())
            .map(|trial| Pooled::of(&folds.iter().map(|fold| &fold.said[trial]).collect::<Vec<_>>(), &weights))
            .collect();
        let losses: Vec<f64> = pooled.iter().map(|trial| trial.losses.iter().sum::<f64>() / total).collect();
        // A row that counts twice is two rows with the same difference.
        let lowest = losses.iter().enumerate().fold(0, |best, (i, loss)| if *loss < losses[best] - 1e-12 { i } else { best });
        let uncertainty = |i: usize| {
            let squares =
                pooled[i].losses.iter().zip(&pooled[lowest].losses).zip(&weights).map(|((a, b), weight)| (a - b) * (a - b) / weight);
            squares.sum::<f64>().sqrt() / total
        };
        let per = 1 + 2 * sizes.len();
        for i in 0..losses.len() {
            let set = (i % per).checked_sub(1);
            choice.trials.push(SelectionTrial {
                c: cs[i / per],
                features: set.map(|set| sizes[set / 2]),
                refit_ln_rho: set.map(|set| priors[set % 2]),
                error: pooled[i].wrong / total,
                loss: losses[i],
                uncertainty: uncertainty(i),
            });
        }
        let trials = &choice.trials;
        let count = |i: usize| trials[i].features.unwrap_or(tasks.features());
        // Squared errors say enough of few rows to prefer small sets, log losses do not.
        let (lenience, larger) = match (tasks.outputs.classify(), self.is_short(tasks)) {
            (true, true) => (LENIENCE_OF_SHORT, true),
            (true, false) => (LENIENCE, true),
            (false, _) => (LENIENCE_OF_NUMBERS, false),
        };
        let rank = |i: usize| if larger { tasks.features() - count(i) } else { count(i) };
        let near = (0..trials.len()).filter(|&i| losses[i] - losses[lowest] <= lenience * trials[i].uncertainty + 1e-12);
        // Few rows hardly tell values of c apart.
        let from_plain = |i: usize| if self.is_short(tasks) { ((trials[i].c - 1.0) / (PLAIN_C_OF_WIDE - 1.0)).ln().abs() } else { 0.0 };
        let order = |&a: &usize, &b: &usize| {
            rank(a).cmp(&rank(b)).then(from_plain(a).total_cmp(&from_plain(b))).then(losses[a].total_cmp(&losses[b]))
        };
        let chosen = near.min_by(order).unwrap_or(lowest);
        let trial = trials[chosen].clone();
        choice.c = trial.c;
        choice.refit_ln_rho = trial.refit_ln_rho;
        // A number that was asked for is no trial, but folds say how stable that set is, too.
        let asked = if let Keep::Exactly(count) = self.keep { Some(count.min(tasks.features())) } else { None };
        if let Some(features) = trial.features.or(asked).filter(|_| self.select == Select::Features) {
            let mut counts = vec![0.0; tasks.features()];
            for fold in folds {
                largest(&fold.sizes[chosen / per], features).into_iter().for_each(|j| counts[j] += 1.0 / folds.len() as f64);
            }
            choice.frequencies = counts;
            choice.kept = trial.features.map(|features| vec![0; features]);
        }
        choice.reason = self.reason(&trial, trials, folds.len(), prior, tasks);
    }

    /// Why this trial, in words.
    fn reason(&self, trial: &SelectionTrial, trials: &[SelectionTrial], folds: usize, prior: &str, tasks: &TaskSet<'_>) -> String {
        let all = if self.select == Select::Features { "all features" } else { "all kernels" };
        let set = trial.features.map_or(all.to_owned(), |count| format!("the {count} largest features, fitted again"));
        let sets = trials.iter().any(|trial| trial.features.is_some());
        let (measure, rule) = match (tasks.outputs.classify(), self.is_short(tasks)) {
            (true, true) if !sets => (
                format!("log loss {:.4}", trial.loss),
                "within three standard errors of the lowest of {} trials, of which it is nearest to c = 1.4",
            ),
            (true, false) if !sets => (format!("log loss {:.4}", trial.loss), "the lowest of {} trials"),
            (false, _) if !sets => (String::new(), "the lowest of {} trials"),
            (true, true) => (
                format!("log loss {:.4}", trial.loss),
                "within three standard errors of the lowest of {} trials, of which it keeps the most features and is nearest to c = 1.4",
            ),
            (true, false) => (
                format!("log loss {:.4}", trial.loss),
                "within one standard error of the lowest of {} trials, of which it keeps the most features",
            ),
            (false, _) => (String::new(), "within half a standard error of the lowest of {} trials, of which it keeps the fewest features"),
        };
        let reason = format!(
            "{prior}; c = {} and {set}: held-out {} over {} folds, {}",
            trial.c,
            match (measure.is_empty(), self.standardizes()) {
                (false, _) => format!("{measure}, error {:.2} %", 100.0 * trial.error),
                // Standardized targets have a variance of 1.
                (true, true) => format!("squared error {:.2} % of the targets' variance", 100.0 * trial.error),
                (true, false) => format!("squared error {:.4}", trial.error),
            },
            folds,
            rule.replace("{}", &trials.len().to_string()),
        );
        match self.keep {
            Keep::Exactly(count) => format!("{reason}; then the {count} largest features, as asked for, fitted again"),
            _ => reason,
        }
    }
}
