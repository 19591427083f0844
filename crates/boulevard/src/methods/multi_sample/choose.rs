//! The method by trials: direct, consensus or vote, whichever errs least on sets of rows that were held out.
//!
//! Every row is held out once. Single samples: C and width by the error of consensus over sets of held-out rows, from sigmoids of
//! held-out values; the same values give votes. Direct machines: tuples of the training rows of a fold, judged on the same sets. Where the
//! table has groups, the sets are pieces of held-out groups: samples of a group may be more alike than samples of a class.

use serde::{Deserialize, Serialize};

use super::consensus::{Consensus, majority, softmax};
use super::learner::{Method, MultiSample, Training};
use super::model::scores_of;
use super::search::FoldTuples;
use super::tuples::Tuples;
use crate::data::{Dataset, Matrix};
use crate::error::{Error, Result};
use crate::kernel::permanent::{ranks, sort_members};
use crate::kernel::{Gamma, Kernel};
use crate::observe::{Context, stopped as stopped_by};
use crate::parallel;
use crate::random::Random;
use crate::svm::{Classifier, Learner, Outputs, SvcModel, argmax, fit_sigmoids, held_out_values};
use crate::words::{g, general};

/// Multiples of C that are tried for single samples.
const PRICES: [f64; 3] = [1.0, 10.0, 100.0];
/// Multiples of C that are tried for direct machines, whose tuples repeat every row several times.
const SET_PRICES: [f64; 2] = [1.0, 10.0];
/// Multiples of gamma that are tried, where it is a rule.
const WIDTHS: [f64; 3] = [1.0, 0.25, 4.0];
/// Folds of the trials.
const FOLDS: usize = 4;
/// Trials see so many rows at most.
const MOST_ROWS: usize = 1200;
/// Direct machines are tried up to this size of sets: a kernel value takes `K 2^(K-1)` products.
const MOST_SAMPLES: usize = 6;
/// Direct machines are tried on tables up to so many rows: on larger ones they would see a part of the rows only.
const MOST_DIRECT: usize = 20_000;
/// Stream of the rows that trials see, and of the sets cut from groups.
const ROWS_STREAM: u64 = 0x6a75;
const SETS_STREAM: u64 = 0x6a76_0000;

/// One trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetTrial {
    /// How sets were judged.
    pub method: Method,
    /// Price of slack.
    pub c: f64,
    /// Inverse width, where the kernel has one.
    pub gamma: Option<f64>,
    /// Share of held-out sets judged wrongly.
    pub error: f64,
}

/// What held-out sets chose, and from what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetChoice {
    /// The method.
    pub method: Method,
    /// The machine of single samples: the best trial of consensus (of votes, where those were chosen).
    pub single: SetTrial,
    /// The best direct machine, where any was tried.
    pub direct: Option<SetTrial>,
    /// All trials.
    pub trials: Vec<SetTrial>,
    /// Rows the trials learnt from and judged.
    pub rows: usize,
    /// Sets they judged.
    pub sets: usize,
    /// Why, in words.
    pub why: String,
}

impl SetChoice {
    pub(super) fn direct_learner(&self, given: &MultiSample) -> MultiSample {
        let method = if self.method == Method::Direct { Method::Direct } else { Method::Consensus };
        self.direct.map_or_else(|| given.clone(), |trial| MultiSample { method, ..with(given, &trial) })
    }
}

/// The learner with a trial's C and width.
fn with(given: &MultiSample, trial: &SetTrial) -> MultiSample {
    let kernel = trial.gamma.map_or_else(|| given.kernel.clone(), |gamma| given.kernel.clone().with_gamma(gamma));
    MultiSample { method: trial.method, c: trial.c, kernel, ..given.clone() }
}

/// Who fits what.
pub(super) struct Plan {
    /// The machine of single samples.
    pub single: MultiSample,
    /// Direct machines, if its method says so.
    pub direct: MultiSample,
    pub chosen: Option<SetChoice>,
}

impl MultiSample {
    /// Settles what was left open. Where nothing can be held out, or the fit is to stop, consensus is what is left; `given` tuples are for
    /// a direct machine.
    pub(super) fn plan(&self, data: &Dataset<'_>, given: bool, context: &Context<'_>) -> Result<Plan> {
        let as_asked = |method: Method| {
            let learner = Self { method, ..self.clone() };
            Plan { single: learner.clone(), direct: learner, chosen: None }
        };
        match self.method {
            Method::Auto if given => Ok(as_asked(Method::Direct)),
            Method::Auto => match stopped_by(self.choose(data, context))? {
                Ok(Some(chosen)) => Ok(Plan {
                    single: Self { method: chosen.method, ..with(self, &chosen.single) },
                    direct: chosen.direct_learner(self),
                    chosen: Some(chosen),
                }),
                _ => Ok(as_asked(Method::Consensus)),
            },
            method => Ok(as_asked(method)),
        }
    }

    /// The trials; none where a class has too few rows to hold any out, or sets are single rows.
    fn choose(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<Option<SetChoice>> {
        let whole = self.training(data)?;
        let rows = self.trial_rows(data, &whole);
        let part = self.training_part(data, &rows, context)?;
        context.beside(part.x.bytes(), "the rows of trials", |context| self.choose_on(&part, whole.rows.len(), context))
    }

    /// The trials on some of the rows, of which there are `whole`.
    fn choose_on(&self, part: &Dataset<'_>, whole: usize, context: &Context<'_>) -> Result<Option<SetChoice>> {
        let training = self.training(part)?;
        let (k, folds) = (self.n_samples_per_decision, FOLDS.min(fewest(part, &training)));
        if k < 2 || folds < 2 {
            return Ok(None);
        }
        let learner = Self { method: Method::Consensus, calibrate: false, ..self.clone() };
        let tuples = learner.judged_tuples(part, learner.fold_tuples_in(part, folds, self.seed, context)?);
        let mut trials = learner.try_singles(part, &training, &tuples, folds, context)?;
        let (consensus, vote) = (best(&trials, Method::Consensus), best(&trials, Method::Vote));
        let (Some(consensus), Some(vote)) = (consensus, vote) else { return Ok(None) };
        let left_out = match () {
            () if k > MOST_SAMPLES => Some(format!("sets of more than {MOST_SAMPLES} samples")),
            () if whole > MOST_DIRECT => Some(format!("more than {MOST_DIRECT} rows")),
            () => None,
        };
        if left_out.is_none() {
            trials.extend(Self { method: Method::Direct, ..learner }.try_direct(part, &tuples, context)?);
        }
        let direct = best(&trials, Method::Direct);
        // Consensus judges sets of any size and streams: others must be better, not as good.
        let mut winner = consensus;
        for other in [direct, Some(vote)].into_iter().flatten() {
            if other.error < winner.error {
                winner = other;
            }
        }
        let single = if winner.method == Method::Vote { vote } else { consensus };
        let sets = tuples.iter().map(|fold| fold.test.len()).sum();
        let why = in_words(&winner, &[Some(consensus), direct, Some(vote)], sets, part.len(), left_out);
        Ok(Some(SetChoice { method: winner.method, single, direct, trials, rows: part.len(), sets, why }))
    }

    /// Rows that trials see: all of them, or whole groups until there are enough, every class in its share.
    fn trial_rows(&self, data: &Dataset<'_>, training: &Training) -> Vec<usize> {
        if training.rows.len() <= MOST_ROWS {
            return training.rows.clone();
        }
        let mut random = Random::new(self.seed, ROWS_STREAM);
        let share = MOST_ROWS as f64 / training.rows.len() as f64;
        let mut chosen = Vec::new();
        for class in 0..training.factors.len() as u32 {
            let own = || training.rows.iter().zip(&training.codes).filter(|(_, code)| **code == class).map(|(&row, _)| row);
            let most = ((own().count() as f64 * share).ceil() as usize).max(2 * FOLDS);
            let mut units: Vec<Vec<usize>> = match &data.groups {
                None => own().map(|row| vec![row]).collect(),
                Some(groups) => {
                    let mut units = vec![Vec::new(); groups.names().len()];
                    own().for_each(|row| units[groups.codes()[row] as usize].push(row));
                    units.retain(|unit| !unit.is_empty());
                    units
                }
            };
            random.shuffle(&mut units);
            let start = chosen.len();
            for unit in units {
                if chosen.len() - start >= most {
                    break;
                }
                chosen.extend(unit);
            }
        }
        chosen.sort_unstable();
        chosen
    }

    /// Sets to be judged: where there are groups of at least K rows, pieces of the held-out groups instead of tuples of a class.
    fn judged_tuples(&self, data: &Dataset<'_>, mut folds: Vec<FoldTuples>) -> Vec<FoldTuples> {
        let (Some(groups), k) = (&data.groups, self.n_samples_per_decision) else { return folds };
        let ranks = ranks(&data.x);
        for (place, fold) in folds.iter_mut().enumerate() {
            let mut rows = fold.test.members.clone();
            rows.sort_unstable();
            rows.dedup();
            let sets = fold.test.members.chunks_exact(k).zip(&fold.test.codes);
            let class_of: std::collections::HashMap<u32, u32> =
                sets.flat_map(|(set, &code)| set.iter().map(move |&row| (row, code))).collect();
            let mut pieces = Tuples { k, members: Vec::new(), codes: Vec::new() };
            let mut random = Random::new(self.seed, SETS_STREAM + place as u64);
            let mut units = vec![Vec::new(); groups.names().len()];
            rows.iter().for_each(|&row| units[groups.codes()[row as usize] as usize].push(row));
            for unit in units.iter_mut().filter(|unit| unit.len() >= k) {
                for _ in 0..k {
                    random.shuffle(unit);
                    for set in unit.chunks_exact(k) {
                        pieces.members.extend_from_slice(set);
                        pieces.codes.push(class_of[&set[0]]);
                    }
                }
            }
            let classes = fold.test.codes.iter().collect::<std::collections::HashSet<_>>().len();
            // Pieces of some classes only would say nothing about the others.
            if pieces.codes.iter().collect::<std::collections::HashSet<_>>().len() == classes {
                sort_members(&mut pieces.members, k, &ranks);
                fold.test = pieces;
            }
        }
        folds
    }

    fn prices(&self, multiples: &[f64]) -> Vec<f64> {
        if self.tune { multiples.iter().map(|multiple| multiple * self.c).collect() } else { vec![self.c] }
    }

    /// Widths to try around the one that a kernel's rule gives.
    fn widths(&self, resolved: &Kernel) -> Vec<Option<f64>> {
        let gamma = resolved.gamma().and_then(Gamma::value);
        match (self.kernel.gamma(), gamma) {
            (Some(Gamma::Rule(_)), Some(gamma)) if self.tune => WIDTHS.iter().map(|width| Some(width * gamma)).collect(),
            _ => vec![gamma],
        }
    }

    /// Consensus and votes at every C and width.
    fn try_singles(
        &self,
        data: &Dataset<'_>,
        training: &Training,
        tuples: &[FoldTuples],
        folds: usize,
        context: &Context<'_>,
    ) -> Result<Vec<SetTrial>> {
        let widths = self.widths(&self.kernel.resolve(&data.x, data.weights.as_deref())?);
        let points: Vec<(Option<f64>, f64)> =
            widths.into_iter().flat_map(|gamma| self.prices(&PRICES).into_iter().map(move |c| (gamma, c))).collect();
        let splits = self.folds(data, folds, self.seed)?;
        let (classes, names) = (data.expect_classes()?, training.factors.len());
        let outputs = self.outputs(names);
        let consensus = Consensus::with_rates(&training.priors, &training.rates)?;
        let weights: Vec<f64> =
            classes.codes().iter().zip(&training.weights).map(|(&code, w)| w * training.factors[code as usize]).collect();
        let inner = Context { observer: context.observer, ..context.with_threads(1) };
        let parts = parallel::try_map(context.threads, points.len(), |p| -> Result<[SetTrial; 2]> {
            if let Some(reason) = context.step("try single samples", p, points.len()) {
                return Err(Error::Stopped { reason });
            }
            let (gamma, c) = points[p];
            let learner = with(self, &SetTrial { method: Method::Consensus, c, gamma, error: 0.0 });
            let raw = |model: &SvcModel, x: &Matrix<'_>| model.outputs_in(x, &inner);
            let values = held_out_values(&learner.single(), data, &splits, outputs, raw, &inner)?;
            let sigmoids = fit_sigmoids(classes, Some(&weights), &values, outputs);
            let pairwise = outputs != Outputs::Classes;
            let scores: Vec<f64> = values.chunks_exact(sigmoids.len()).flat_map(|raw| scores_of(&sigmoids, raw, names, pairwise)).collect();
            let decisions = outputs.decisions(values, names);
            let codes = crate::svm::codes(&decisions.values, decisions.columns);
            let values: Vec<f64> = if names == 2 { decisions.values.iter().flat_map(|&f| [-f, f]).collect() } else { decisions.values };
            let (mut sums, mut votes, mut count) = (0.0, 0.0, 0.0);
            for (set, &code) in tuples.iter().flat_map(|fold| fold.test.members.chunks_exact(fold.test.k).zip(&fold.test.codes)) {
                let gather = |from: &[f64]| -> Vec<f64> {
                    set.iter().flat_map(|&row| from[row as usize * names..(row as usize + 1) * names].iter().copied()).collect()
                };
                let own: Vec<u32> = set.iter().map(|&row| codes[row as usize]).collect();
                let said = softmax(&consensus.set_scores(&gather(&scores)));
                sums += f64::from(u8::from(argmax(&said) != code as usize));
                votes += f64::from(u8::from(argmax(&majority(&own, &gather(&values), names)) != code as usize));
                count += 1.0;
            }
            let trial = |method: Method, wrong: f64| SetTrial { method, c, gamma, error: wrong / f64::max(count, 1.0) };
            Ok([trial(Method::Consensus, sums), trial(Method::Vote, votes)])
        });
        Ok(parts?.concat())
    }

    /// Direct machines at every C and width.
    fn try_direct(&self, data: &Dataset<'_>, tuples: &[FoldTuples], context: &Context<'_>) -> Result<Vec<SetTrial>> {
        let widths = self.widths(&self.set_kernel(&data.x, data.weights.as_deref(), self.n_samples_per_decision)?);
        let prices = self.prices(&SET_PRICES);
        let count = widths.len() * tuples.len();
        let inner = Context { observer: context.observer, ..context.with_threads(1) };
        let parts = parallel::try_map(context.threads, count, |task| -> Result<Vec<f64>> {
            if let Some(reason) = context.step("try direct machines", task, count) {
                return Err(Error::Stopped { reason });
            }
            let (gamma, fold) = (widths[task / tuples.len()], &tuples[task % tuples.len()]);
            let learner = with(self, &SetTrial { method: Method::Direct, c: self.c, gamma, error: 0.0 });
            learner.fold_errors(data, fold, &prices, &inner)
        });
        let parts = parts?;
        let sets: f64 = tuples.iter().map(|fold| fold.test.len() as f64).sum();
        let mut trials = Vec::new();
        for (&gamma, parts) in widths.iter().zip(parts.chunks_exact(tuples.len())) {
            for (place, &c) in prices.iter().enumerate() {
                let wrong: f64 = parts.iter().zip(tuples).map(|(errors, fold)| errors[place] * fold.test.len() as f64).sum();
                trials.push(SetTrial { method: Method::Direct, c, gamma, error: wrong / sets.max(1.0) });
            }
        }
        Ok(trials)
    }
}

/// Rows, or groups, of the smallest class.
fn fewest(data: &Dataset<'_>, training: &Training) -> usize {
    let count = |class: u32| {
        let own = training.rows.iter().zip(&training.codes).filter(|(_, code)| **code == class).map(|(&row, _)| row);
        match &data.groups {
            None => own.count(),
            Some(groups) => own.map(|row| groups.codes()[row]).collect::<std::collections::HashSet<_>>().len(),
        }
    };
    (0..training.factors.len() as u32).map(count).min().unwrap_or(0)
}

/// The trial of a method with the smallest error, the first of several.
fn best(trials: &[SetTrial], method: Method) -> Option<SetTrial> {
    trials.iter().filter(|trial| trial.method == method).copied().reduce(|best, trial| if trial.error < best.error { trial } else { best })
}

fn in_words(winner: &SetTrial, others: &[Option<SetTrial>], sets: usize, rows: usize, left_out: Option<String>) -> String {
    let name = |method: Method| match method {
        Method::Direct => "direct",
        Method::Vote => "vote",
        _ => "consensus",
    };
    let width = winner.gamma.map_or(String::new(), |gamma| format!(", gamma = {}", general(gamma, 3)));
    let errors: Vec<String> = others.iter().flatten().map(|trial| format!("{} {:.2} %", name(trial.method), 100.0 * trial.error)).collect();
    let left_out = left_out.map_or(String::new(), |why| format!("; direct was not tried: {why}"));
    format!(
        "{} with C = {}{width}: errors on {sets} held-out sets of {rows} rows were {}{left_out}; `method` says otherwise",
        name(winner.method),
        g(winner.c),
        errors.join(", ")
    )
}
