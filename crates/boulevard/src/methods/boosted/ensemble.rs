//! One label's ensemble: draw, solve, judge, update, until a stop rule says so.

use super::gram::{Distances, Level};
use super::learner::{BoostedSvc, InitialWeights, Sampling, WeightScale};
use super::model::Ending;
use super::sampling::{Draw, draw, draw_size};
use super::update::{Verdict, says_yes};
use crate::error::Result;
use crate::observe::{Context, Progress, StopReason};
use crate::random::Random;
use crate::solver::{DualProblem, DualSolution, Equality, KernelSource, Solver};
use crate::svm::FitReport;

/// Refused rounds in a row after which nothing better is expected.
pub(super) const MOST_FAILURES: usize = 20;

/// The widths a fit goes through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Schedule {
    pub(super) first: f64,
    pub(super) last: f64,
    pub(super) step: f64,
}

/// A two-class problem on the common rows.
pub(super) struct Problem<'a> {
    /// +1 and -1.
    pub(super) signs: &'a [f64],
    /// Samples' own weights; 0 takes a row out (held out), its decision values are still computed.
    pub(super) weights: &'a [f64],
    /// Factors of C by class.
    pub(super) factors: &'a [f64],
    /// Rows whose decision values are kept, round by round.
    pub(super) watched: &'a [usize],
}

/// One accepted round.
pub(super) struct RoundFit {
    pub(super) alpha: f64,
    pub(super) error: f64,
    pub(super) sigma: f64,
    /// Rows it learnt from.
    pub(super) drawn: usize,
    /// Support vectors with their coefficients.
    pub(super) support: Vec<(usize, f64)>,
    pub(super) intercept: f64,
    /// Rows with weight that it misses.
    pub(super) missed: Vec<usize>,
    /// Decision values of the watched rows.
    pub(super) watched: Vec<f64>,
}

/// An ensemble on the common rows.
pub(super) struct EnsembleFit {
    pub(super) rounds: Vec<RoundFit>,
    pub(super) start: Vec<f64>,
    pub(super) ending: Ending,
    pub(super) report: FitReport,
}

/// A solved round.
struct Machine {
    support: Vec<(usize, f64)>,
    intercept: f64,
    /// Decision values of all rows.
    values: Vec<f64>,
    drawn: usize,
    solution: DualSolution,
}

/// The first weights: every class half of the mass, or every row its own weight.
pub(super) fn initial_weights(how: InitialWeights, signs: &[f64], weights: &[f64]) -> Vec<f64> {
    let side = |sign: f64| signs.iter().zip(weights).filter(|(y, _)| **y == sign).map(|(_, w)| w).sum::<f64>();
    let (plus, minus, all) = (side(1.0), side(-1.0), weights.iter().sum::<f64>());
    let share = |(&y, &w): (&f64, &f64)| match how {
        InitialWeights::Uniform => w / all,
        InitialWeights::Balanced | InitialWeights::Auto => 0.5 * w / if y > 0.0 { plus } else { minus },
    };
    signs.iter().zip(weights).map(share).collect()
}

/// An ensemble in the making; it can stop after any round and go on later.
pub(super) struct Boosting {
    /// Rows with weight.
    rows: Vec<usize>,
    start: Vec<f64>,
    /// The least error that counts.
    floor: f64,
    /// Factor between weights and prices.
    scale: f64,
    state: State,
    sigma: f64,
    failures: usize,
    random: Random,
    /// Why there will be no more rounds.
    ending: Option<Ending>,
}

impl Boosting {
    pub(super) fn new(settings: &BoostedSvc, schedule: Schedule, problem: &Problem<'_>, random: Random) -> Self {
        let rows: Vec<usize> = (0..problem.signs.len()).filter(|&row| problem.weights[row] > 0.0).collect();
        let total: f64 = problem.weights.iter().sum();
        let start = initial_weights(settings.initial_weights, problem.signs, problem.weights);
        Self {
            // Weights below 1 must not push the floor up to where every round is worthless.
            floor: 0.5 / total.max(rows.len() as f64),
            scale: match settings.weight_scale {
                WeightScale::N => total,
                WeightScale::Value(value) => value,
            },
            state: State { weights: start.clone(), rounds: Vec::new(), spare: None, last: None, report: FitReport::default() },
            rows,
            start,
            sigma: schedule.first,
            failures: 0,
            random,
            ending: None,
        }
    }

    /// Whether more rounds can come.
    pub(super) fn is_open(&self) -> bool {
        self.ending.is_none()
    }

    /// The rounds so far.
    pub(super) fn rounds(&self) -> &[RoundFit] {
        &self.state.rounds
    }

    /// Adds rounds until there are `until` or a stop rule applies.
    pub(super) fn go_on(
        &mut self,
        settings: &BoostedSvc,
        schedule: Schedule,
        problem: &Problem<'_>,
        distances: &Distances<'_>,
        context: &Context<'_>,
        until: usize,
    ) -> Result<()> {
        let until = until.min(settings.max_rounds);
        while self.is_open() && self.state.rounds.len() < until {
            let level = distances.level(self.sigma, self.sigma == schedule.first);
            // One solver for all rounds of a width: it keeps its kernel rows.
            let mut solver = match settings.sampling {
                Sampling::All => Some(Solver::new(level.source(), settings.solver.cache_bytes(), context)?),
                _ => None,
            };
            let sigma = self.sigma;
            while self.is_open() && self.state.rounds.len() < until && self.sigma == sigma {
                let done =
                    Progress { stage: "boost rounds", done: self.rounds().len() as u64, total: None, violation: None, tolerance: None };
                if let Some(reason) = context.check(&done) {
                    self.state.report.stop = self.state.report.stop.worst(reason);
                    self.ending = Some(Ending::Stopped);
                    break;
                }
                let machine = match &mut solver {
                    Some(solver) => solve_all(settings, problem, &self.state.weights, self.scale, solver)?,
                    None => solve_drawn(settings, problem, self, &level, context)?,
                };
                self.state.report.add(&machine.solution);
                let stopped = matches!(machine.solution.stop, StopReason::TimeLimit | StopReason::Interrupted);
                self.judge(settings, schedule, problem, machine);
                if stopped {
                    self.ending = Some(Ending::Stopped);
                }
            }
        }
        if self.is_open() && self.state.rounds.len() >= settings.max_rounds {
            self.ending = Some(Ending::MaxRounds);
        }
        Ok(())
    }

    /// Takes a machine into the ensemble or refuses it; then the stop rules.
    fn judge(&mut self, settings: &BoostedSvc, schedule: Schedule, problem: &Problem<'_>, machine: Machine) {
        match self.state.judge(problem, self.sigma, self.floor, machine) {
            Judgement::Accepted { perfect } => {
                self.failures = 0;
                // All rows again with the same weights would give the same machine for ever.
                if perfect && settings.sampling == Sampling::All {
                    self.ending = Some(Ending::Perfect);
                }
            }
            Judgement::Refused => {
                self.failures += 1;
                let repeats = schedule.step == 0.0 && settings.sampling == Sampling::All;
                if self.failures >= MOST_FAILURES || repeats {
                    self.ending = Some(Ending::Refused);
                } else if schedule.step > 0.0 {
                    let next = self.sigma - schedule.step;
                    if next <= schedule.last {
                        self.ending = Some(Ending::SigmaMin);
                    } else {
                        self.sigma = next;
                    }
                }
            }
        }
    }

    /// The ensemble. Where every round was refused, the least bad machine answers alone.
    pub(super) fn finish(mut self) -> EnsembleFit {
        if self.state.rounds.is_empty()
            && let Some(spare) = self.state.spare
        {
            self.state.rounds.push(RoundFit { alpha: 1.0, ..spare });
        }
        let ending = self.ending.unwrap_or(Ending::EarlyStop);
        EnsembleFit { rounds: self.state.rounds, start: self.start, ending, report: self.state.report }
    }
}

/// What changes from round to round.
struct State {
    weights: Vec<f64>,
    rounds: Vec<RoundFit>,
    /// The least bad of the refused machines, while none was accepted.
    spare: Option<RoundFit>,
    /// Distances to the last accepted hyperplane.
    last: Option<Vec<f64>>,
    report: FitReport,
}

enum Judgement {
    Accepted { perfect: bool },
    Refused,
}

impl State {
    /// Accepts a machine into the ensemble and moves the weights on, or refuses it.
    fn judge(&mut self, problem: &Problem<'_>, sigma: f64, floor: f64, machine: Machine) -> Judgement {
        let missed: Vec<bool> = machine.values.iter().zip(problem.signs).map(|(&f, &y)| says_yes(f) != (y > 0.0)).collect();
        let verdict = Verdict::new(&self.weights, &missed, floor);
        let round = RoundFit {
            alpha: verdict.alpha,
            error: verdict.error,
            sigma,
            drawn: machine.drawn,
            support: machine.support,
            intercept: machine.intercept,
            missed: (0..missed.len()).filter(|&row| missed[row] && problem.weights[row] > 0.0).collect(),
            watched: problem.watched.iter().map(|&row| machine.values[row]).collect(),
        };
        if !verdict.is_accepted() {
            if self.rounds.is_empty() && self.spare.as_ref().is_none_or(|spare| round.error < spare.error) {
                self.spare = Some(round);
            }
            return Judgement::Refused;
        }
        verdict.update(&mut self.weights, &missed);
        self.last = Some(machine.values.iter().map(|f| f.abs()).collect());
        self.rounds.push(round);
        Judgement::Accepted { perfect: verdict.error == 0.0 }
    }
}

/// `C_i = C N W_i` times the class's factor; 0 for rows that are held out.
fn costs(settings: &BoostedSvc, problem: &Problem<'_>, weights: &[f64], scale: f64, rows: &[usize]) -> Vec<f64> {
    let cost = |&row: &usize| match settings.sampling {
        // The baseline draws by weight and then forgets it.
        Sampling::Trimming => settings.c * problem.factors[row],
        _ => settings.c * scale * weights[row] * problem.factors[row],
    };
    rows.iter().map(cost).collect()
}

fn solve(settings: &BoostedSvc, signs: &[f64], costs: &[f64], solver: &mut Solver<'_>) -> Result<DualSolution> {
    let linear: Vec<f64> = signs.iter().map(|y| -y).collect();
    let lower: Vec<f64> = signs.iter().zip(costs).map(|(&y, &c)| if y < 0.0 { -c } else { 0.0 }).collect();
    let upper: Vec<f64> = signs.iter().zip(costs).map(|(&y, &c)| if y > 0.0 { c } else { 0.0 }).collect();
    let problem = DualProblem { linear: &linear, lower: &lower, upper: &upper, kink: 0.0, equality: Equality::Sum, start: None };
    solver.solve(&problem, &settings.solver.options())
}

/// All rows; the gradient is every row's decision value, held-out rows too.
fn solve_all(settings: &BoostedSvc, problem: &Problem<'_>, weights: &[f64], scale: f64, solver: &mut Solver<'_>) -> Result<Machine> {
    let all: Vec<usize> = (0..weights.len()).collect();
    let solution = solve(settings, problem.signs, &costs(settings, problem, weights, scale, &all), solver)?;
    let intercept = -solution.offsets[0];
    let values = solution.gradient.iter().zip(problem.signs).map(|(g, y)| g + y + intercept).collect();
    let support = all.iter().map(|&row| (row, solution.coefficients[row])).filter(|(_, b)| *b != 0.0).collect();
    Ok(Machine { support, intercept, values, drawn: problem.weights.iter().filter(|&&w| w > 0.0).count(), solution })
}

/// A draw of rows; then every row's decision value.
fn solve_drawn(
    settings: &BoostedSvc,
    problem: &Problem<'_>,
    boosting: &mut Boosting,
    level: &Level<'_>,
    context: &Context<'_>,
) -> Result<Machine> {
    let Boosting { rows, state, scale, random, .. } = boosting;
    let of = |values: &[f64]| rows.iter().map(|&row| values[row]).collect::<Vec<f64>>();
    let last = state.last.as_ref().map(|last| of(last));
    let how = match settings.sampling {
        Sampling::Trimming => Draw::Trimming,
        _ => Draw::Stratified(last.as_deref()),
    };
    let count = draw_size(rows.len(), settings.sampling_ratio);
    let drawn = draw(&how, &of(&state.weights), &of(problem.signs), count, random);
    let drawn: Vec<usize> = drawn.into_iter().map(|place| rows[place]).collect();
    let subset = level.subset(&drawn)?;
    let source: &dyn KernelSource = &*subset;
    let signs: Vec<f64> = drawn.iter().map(|&row| problem.signs[row]).collect();
    let costs = costs(settings, problem, &state.weights, *scale, &drawn);
    let solution = solve(settings, &signs, &costs, &mut Solver::new(source, settings.solver.cache_bytes(), context)?)?;
    let intercept = -solution.offsets[0];
    let support: Vec<(usize, f64)> =
        drawn.iter().zip(&solution.coefficients).filter(|(_, b)| **b != 0.0).map(|(&row, &b)| (row, b)).collect();
    let (samples, coefficients): (Vec<usize>, Vec<f64>) = support.iter().copied().unzip();
    let mut values = level.weigh(&samples, &coefficients)?;
    values.iter_mut().for_each(|f| *f += intercept);
    Ok(Machine { support, intercept, values, drawn: drawn.len(), solution })
}
