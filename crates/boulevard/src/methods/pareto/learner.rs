//! Parameters, and the way from data to a front.

// long: parameters, documentation of every one, and the fit that reads them in order.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::choose::{Pick, estimate, worth_averaging};
use super::evolve::population::Landscape;
use super::evolve::variation::{Crossover, Mutation};
use super::evolve::{Evolution, Variant};
use super::exact::signed::SignedKernel;
use super::exact::slots::{MANY, POINTS, Slot, SlotTask, SumRange};
use super::judge::{self, Judged};
use super::model::{ClassFront, Output, ParetoModel, Samples};
use super::point::{Facts, FrontPoint, facts};
use super::restart;
use crate::check;
use crate::data::{Categories, Dataset};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, weighted_sum_watched};
use crate::linalg;
use crate::metrics::pareto::non_dominated_ranks;
use crate::observe::{Context, Observer, Progress, StopReason, stopped as stopped_by};
use crate::parallel;
use crate::solver::{KernelSource, TableKernel};
use crate::svm::{CalibrationMethod, FitReport, Learner, Model, SolverSettings, SvcModel, two_classes, worse};
use crate::validation::AutomaticGrid;

/// How the front is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Mode {
    /// Exact points; restarts where the kernel is not positive semi-definite.
    ///
    /// Exact slots; where the kernel is not positive semi-definite, restarts and mixtures look for better minima.
    #[default]
    Hybrid,
    /// Exact points only.
    ///
    /// Exact slots only: with such a kernel each is a local minimum.
    Exact,
    /// The paper's evolution.
    Evolve,
}

/// Whether the machines have an intercept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bias {
    /// [`Bias::Objective`] for exact fronts: without an intercept an indefinite kernel may put all rows on one side, and a narrow one gives
    /// everything far from the rows to one class. [`Bias::None`] for evolutions, as in the paper.
    #[default]
    Auto,
    /// None: two objectives.
    None,
    /// `-|sum alpha y|` is a third objective; exact slots keep it at zero, each class with half of the sum.
    Objective,
}

/// Widths of the kernel (values of gamma) whose fronts are compared; the one with the lowest estimated hold-out error is chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Widths {
    /// Around the data's own: 1/64 to 4 times one over columns times variance. The same as [`Widths::Kernel`] where the kernel's gamma is
    /// given as a number or there is none, without a hold-out, and for evolutions.
    #[default]
    Auto,
    /// The kernel's own only.
    Kernel,
    /// These.
    #[serde(untagged)]
    Values(Vec<f64>),
}

/// From what users write: `auto`, `kernel`, or numbers separated by commas.
impl std::str::FromStr for Widths {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |part: &str| check::number(part).ok_or_else(|| Error::data(format!("`{part}` is not a number")));
        match text {
            "auto" => Ok(Self::Auto),
            "kernel" => Ok(Self::Kernel),
            list => list.split(',').map(number).collect::<Result<Vec<f64>>>().map(Self::Values),
        }
    }
}

/// Parameters of a multi-objective support vector classifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ParetoSvc {
    /// The kernel. A multiquadric grows with distance and is used with a negative sign, which makes it a similarity.
    pub kernel: Kernel,
    /// Widths of the kernel whose fronts are compared.
    pub widths: Widths,
    /// How the front is computed.
    pub mode: Mode,
    /// Points of an exact front, at equally spaced sums.
    pub n_points: usize,
    /// Candidates of an evolution, at least 4.
    pub population_size: usize,
    /// Generations of an evolution.
    pub generations: usize,
    /// How an evolution mutates.
    pub mutation: Mutation,
    /// How an evolution recombines.
    pub crossover: Crossover,
    /// Which NSGA-II.
    pub variant: Variant,
    /// Share of the rows that are held out to measure errors on, below 1; 0 for none.
    pub holdout: f64,
    /// Hold-outs over which errors are averaged before a point of an exact front is picked. The table shows those of the first.
    pub holdout_repeats: usize,
    /// Whether the machines have an intercept.
    pub bias: Bias,
    /// Which point becomes the classifier.
    pub pick: Pick,
    /// Whether the picked point of an exact front is solved again on all rows, the held-out ones too.
    pub refit: bool,
    /// Relative KKT gap of every point of an exact front.
    pub tolerance: f64,
    /// Megabytes for the kernel matrix or its rows at most; none: what the fit can use, up to a quarter of the memory that is free.
    pub cache_megabytes: Option<f64>,
    /// Steps of the solver per point at most; none means two hundred per row and 100 000.
    pub max_iterations: Option<u64>,
    /// Whether to fit probabilities with the model.
    pub calibrate: bool,
    /// How probabilities of more than two classes are made.
    pub calibration: CalibrationMethod,
    /// Seed of the hold-out, the evolution and the restarts.
    pub seed: u64,
}

impl Default for ParetoSvc {
    fn default() -> Self {
        Self {
            kernel: Kernel::default(),
            widths: Widths::default(),
            mode: Mode::default(),
            n_points: 100,
            population_size: 100,
            generations: 1000,
            mutation: Mutation::default(),
            crossover: Crossover::default(),
            variant: Variant::default(),
            holdout: 0.2,
            holdout_repeats: 5,
            bias: Bias::default(),
            pick: Pick::default(),
            refit: true,
            tolerance: 1e-5,
            cache_megabytes: None,
            max_iterations: None,
            calibrate: false,
            calibration: CalibrationMethod::default(),
            seed: 0,
        }
    }
}

const OWNER: &str = "ParetoSvc";
/// Fewest rows to learn from.
const FEWEST_ROWS: usize = 5;
/// Most points and candidates: more than any picture can show.
const MOST_POINTS: usize = 100_000;
/// Rows up to which a kernel without a proof is tested for negative eigenvalues; beyond, it counts as indefinite.
const TESTED_UP_TO: usize = 2000;

/// One front before it is put into a model.
struct Computed {
    members: Vec<(Vec<f64>, Facts)>,
    iterations: u64,
    stop: StopReason,
    reference: f64,
}

/// A front with its errors.
struct Measured {
    train: Vec<usize>,
    held: usize,
    codes: Vec<u32>,
    /// What the training rows weigh.
    room: Vec<f64>,
    machines: Vec<ClassFront>,
    front: Vec<FrontPoint>,
    report: FitReport,
}

impl ParetoSvc {
    /// Whether machines have an intercept.
    pub(super) fn balanced(&self) -> bool {
        match self.bias {
            Bias::Auto => self.mode != Mode::Evolve,
            bias => bias == Bias::Objective,
        }
    }

    pub(super) fn cache_bytes(&self, samples: usize) -> usize {
        self.settings().cache_bytes_of(samples, 1)
    }

    /// The settings that a classifier made from a point remembers.
    pub(super) fn settings(&self) -> SolverSettings {
        SolverSettings { tolerance: self.tolerance, cache_megabytes: self.cache_megabytes, ..SolverSettings::default() }
    }

    /// The kernels that are compared, all parameters numbers: one, or one per width.
    fn kernels(&self, data: &Dataset<'_>) -> Result<Vec<Kernel>> {
        let own = || Ok(vec![self.kernel.resolve(&data.x, data.weights.as_deref())?.similarity()]);
        let can = self.kernel.gamma().is_some() && self.holdout > 0.0 && self.mode != Mode::Evolve;
        let widths = match &self.widths {
            Widths::Kernel => return own(),
            Widths::Auto if !can || self.kernel.gamma().is_some_and(|gamma| gamma.value().is_some()) => return own(),
            Widths::Auto => AutomaticGrid::new(&self.kernel, data)?.gamma,
            Widths::Values(values) => values.clone(),
        };
        if !can && widths.len() > 1 {
            let allowed = "one value where widths cannot be compared: a kernel without gamma, no hold-out, or an evolution";
            return Err(check::complaint(OWNER, "widths", allowed, widths.len()));
        }
        let mut widths = widths;
        widths.sort_by(f64::total_cmp);
        widths.dedup();
        Ok(widths.into_iter().map(|gamma| self.kernel.clone().with_gamma(gamma).similarity()).collect())
    }

    pub(super) fn task<'a>(
        &self,
        source: &'a dyn KernelSource,
        signs: &'a [f64],
        room: &'a [f64],
        balanced: bool,
        context: &Context<'a>,
    ) -> SlotTask<'a> {
        SlotTask {
            source,
            signs,
            room,
            balanced,
            tolerance: self.tolerance,
            max_iterations: self.max_iterations.unwrap_or(100_000 + 200 * signs.len() as u64),
            context: *context,
        }
    }

    /// The front of one two-class problem.
    fn front(&self, table: &TableKernel<'_>, signs: &[f64], room: &[f64], range: SumRange, context: &Context<'_>) -> Result<Computed> {
        let source = SignedKernel::new(table, signs, self.cache_bytes(signs.len()), context);
        let n = signs.len();
        let balanced = self.balanced();
        let reference = {
            let order: Vec<usize> = (0..n).collect();
            weighted_sum_watched(source.double()?, &order, room, 0..n, context)?
                .iter()
                .zip(room)
                .map(|(value, room)| value * room)
                .sum::<f64>()
        };
        if !reference.is_finite() {
            return Err(Error::overflow("the kernel values are so large that their sum overflows: scale the columns first"));
        }
        if self.mode == Mode::Evolve {
            let matrix = source.matrix(context)?;
            let landscape = Landscape { q: &matrix, signs, objectives: if balanced { 3 } else { 2 } };
            let evolution = Evolution {
                population: self.population_size,
                generations: self.generations,
                mutation: self.mutation,
                crossover: self.crossover,
                variant: self.variant,
                seed: self.seed,
            };
            let evolved = evolution.run(&landscape, context)?;
            let describe = |member: super::evolve::population::Member| {
                let facts = facts(&member.alpha, &member.gradient, signs, room, balanced);
                (member.alpha, facts)
            };
            let members = evolved.front.into_iter().map(describe).collect();
            return Ok(Computed { members, iterations: evolved.generations, stop: evolved.stop, reference });
        }
        let task = self.task(&source, signs, room, balanced, context);
        let cache = Some(self.cache_bytes(signs.len()));
        let mut slots = task.sweep(self.n_points, range, cache, context)?;
        let mut stop = slots.iter().fold(StopReason::Converged, |worst, slot| worst.worst(slot.stop));
        if self.mode == Mode::Hybrid && !stop.is_cut_short() && !is_positive(table.kernel(), &source)? {
            stop = stop.worst(restart::improve(&task, &mut slots, self.seed, cache, context)?);
        }
        let iterations = slots.iter().map(|slot| slot.iterations).sum();
        let mut members: Vec<(Vec<f64>, Facts)> = slots
            .into_iter()
            .map(|Slot { alpha, gradient, .. }| {
                let facts = facts(&alpha, &gradient, signs, room, balanced);
                (alpha, facts)
            })
            .collect();
        // An indefinite kernel may have a smaller q at a larger sum: such slots are not on the front.
        let points: Vec<[f64; 2]> = members.iter().map(|(_, facts)| [facts.sum, -facts.quadratic]).collect();
        let mut ranks = non_dominated_ranks(&points)?.into_iter();
        members.retain(|_| ranks.next() == Some(0));
        Ok(Computed { members, iterations, stop, reference })
    }

    /// One front per machine: the second of two classes against the first, or each class against the rest.
    fn fronts(
        &self,
        table: &TableKernel<'_>,
        codes: &[u32],
        room: &[f64],
        classes: usize,
        range: SumRange,
        context: &Context<'_>,
    ) -> Result<(Vec<ClassFront>, FitReport)> {
        let mut report = FitReport::default();
        let mut machines = Vec::new();
        for class in if classes == 2 { 1..2 } else { 0..classes } {
            if !codes.iter().any(|&code| code as usize == class) {
                continue;
            }
            let signs = signs(codes, class);
            let computed = self.front(table, &signs, room, range, context)?;
            report.iterations += computed.iterations;
            report.stop = report.stop.worst(computed.stop);
            let (mut alphas, mut points, mut lambdas, mut biases) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for (alpha, facts) in computed.members {
                alphas.extend(alpha);
                points.push(facts.point());
                lambdas.push(facts.lambda);
                biases.push(facts.bias);
                report.objective += 0.5 * facts.quadratic;
                report.violation = worse(report.violation, facts.violation);
                report.gap = worse(report.gap, facts.gap);
            }
            machines.push(ClassFront { class, points, alphas, lambdas, biases, reference: computed.reference });
        }
        Ok((machines, report))
    }

    /// A classifier at the sum `position * largest` of every machine, from all rows of `data`. `starts` are `alpha`s to begin with.
    pub(super) fn at_position(
        &self,
        data: &Dataset<'_>,
        kernel: &Kernel,
        position: &[(usize, f64)],
        starts: &[Vec<f64>],
        context: &Context<'_>,
    ) -> Result<(SvcModel, StopReason)> {
        let classes = data.expect_classes()?;
        let room = data.weights_or_ones();
        let table = TableKernel::new(kernel, &data.x, context);
        let mut solved = Vec::new();
        let mut report = FitReport::default();
        for (machine, &(class, share)) in position.iter().enumerate() {
            let signs = signs(classes.codes(), class);
            let has = |side: f64| signs.iter().zip(room.iter()).any(|(&y, &room)| y == side && room > 0.0);
            if !has(1.0) || !has(-1.0) {
                continue;
            }
            let source = SignedKernel::new(&table, &signs, self.cache_bytes(signs.len()), context);
            let task = self.task(&source, &signs, &room, self.balanced(), context);
            let mut solver = task.solver(Some(self.cache_bytes(signs.len())), context)?;
            let mut sum = share * task.largest();
            let mut slot = task.descend(&mut solver, task.fill(starts.get(machine).map_or(&room[..], Vec::as_slice), sum), None)?;
            // With other rows q may vanish at this position, and a machine of rounding errors would be left: go on to the next one.
            while slot.stop == StopReason::Converged && sum < task.largest() && task.vanished(&slot, sum, &solver) {
                sum = (sum + task.largest() / self.n_points as f64).min(task.largest());
                slot = task.descend(&mut solver, task.fill(&slot.alpha, sum), None)?;
            }
            let facts = facts(&slot.alpha, &slot.gradient, &signs, &room, task.balanced);
            report.iterations += slot.iterations;
            report.stop = report.stop.worst(slot.stop);
            report.gap = worse(report.gap, facts.gap);
            report.violation = worse(report.violation, facts.violation);
            report.objective += 0.5 * facts.quadratic;
            report.rows = room.iter().filter(|&&room| room > 0.0).count();
            solved.push((class, slot.alpha, facts));
        }
        let rows: Vec<usize> = (0..data.len()).collect();
        let samples = Samples {
            kernel,
            rows: &rows,
            codes: classes.codes(),
            vectors: &data.x,
            features: data.x.columns(),
            classes: classes.names(),
            feature_names: &data.feature_names,
        };
        let outputs: Vec<Output<'_>> = solved
            .iter()
            .map(|(class, alpha, facts)| {
                let scale = if facts.lambda > 0.0 { 1.0 / facts.lambda } else { 1.0 };
                Output { class: *class, alpha, scale, bias: facts.bias }
            })
            .collect();
        let c = outputs.iter().map(|output| output.scale.ln()).sum::<f64>() / outputs.len().max(1) as f64;
        Ok((samples.classifier(&outputs, self.settings(), c.exp(), report), report.stop))
    }

    /// Splits, computes the front over `range` and measures its errors; `repeat` tells hold-outs apart.
    fn measure(&self, data: &Dataset<'_>, kernel: &Kernel, repeat: usize, range: SumRange, context: &Context<'_>) -> Result<Measured> {
        let classes = data.expect_classes()?;
        let count = classes.names().len();
        let (train, test) = judge::hold_out(data, self.holdout, self.seed, repeat, context)?;
        let weights = data.weights_or_ones();
        let x = kernel.rows_of(&data.x, &train);
        let codes: Vec<u32> = train.iter().map(|&row| classes.codes()[row]).collect();
        let table = TableKernel::new(kernel, &x, context);
        let room: Vec<f64> = train.iter().map(|&row| weights[row]).collect();
        let (mut machines, report) = self.fronts(&table, &codes, &room, count, range, context)?;
        let new_rows = kernel.new_rows_of(&data.x, &train, &test);
        let truth: Vec<u32> = test.iter().map(|&row| classes.codes()[row]).collect();
        let of_test: Vec<f64> = test.iter().map(|&row| weights[row]).collect();
        let (own, held) = (Judged { x: &x, codes: &codes, weights: &room }, Judged { x: &new_rows, codes: &truth, weights: &of_test });
        let front = judge::table(&mut machines, kernel, own, held, count, context)?;
        Ok(Measured { train, held: test.len(), codes, room, machines, front, report })
    }

    /// Fronts of the other hold-outs, with fewer points: they are averaged over neighbors anyway. `range.least` is where they end, see
    /// [`worth_averaging`]. Each is a task of its own, so that every thread has a front to work on. A front that was cut short ends
    /// somewhere else and is left out.
    fn repeats(
        &self,
        data: &Dataset<'_>,
        kernel: &Kernel,
        range: SumRange,
        report: &mut FitReport,
        context: &Context<'_>,
    ) -> Result<Vec<Vec<FrontPoint>>> {
        let coarse = Self { n_points: (self.n_points / 3).max(10).min(self.n_points), ..self.clone() };
        let machines = match data.expect_classes()?.names().len() {
            2 => 1,
            several => several,
        };
        let repeats = self.holdout_repeats - 1;
        let all = AllPoints { context: *context, done: AtomicU64::new(0), total: (machines * repeats * coarse.n_points) as u64 };
        let inner = Context { observer: context.observer.map(|_| &all as &dyn Observer), ..context.with_threads(1) };
        // Every front has its own matrix and factor: where memory is limited they come one after the other.
        let threads = if context.memory.is_some() { 1 } else { context.threads };
        let mut fronts = Vec::new();
        for measured in parallel::map(threads, repeats, |repeat| coarse.measure(data, kernel, 1 + repeat, range, &inner)) {
            let Measured { report: other, front, .. } = measured?;
            report.iterations += other.iterations;
            report.stop = report.stop.worst(other.stop);
            if !other.stop.is_cut_short() {
                fronts.push(front);
            }
        }
        Ok(fronts)
    }

    fn check_data(&self, data: &Dataset<'_>) -> Result<()> {
        data.validate()?;
        let classes = data.expect_classes()?;
        if data.weights.is_some() && self.mode == Mode::Evolve {
            return Err(Error::data("the evolution of ParetoSvc takes no sample weights: use mode `hybrid` or `exact`"));
        }
        let weights = data.weights_or_ones();
        let mut totals = vec![0.0; classes.names().len()];
        classes.codes().iter().zip(weights.iter()).for_each(|(&code, weight)| totals[code as usize] += weight);
        two_classes(classes.names(), &totals)?;
        let rows = weights.iter().filter(|&&weight| weight > 0.0).count();
        if rows < FEWEST_ROWS {
            return Err(Error::data(format!("ParetoSvc needs at least {FEWEST_ROWS} rows, found {rows}")));
        }
        if self.kernel == Kernel::Precomputed { judge::check_symmetric(&data.x) } else { Ok(()) }
    }
}

/// Counts the points of several fronts that are computed at once, so that whoever watches sees one number grow.
struct AllPoints<'a> {
    context: Context<'a>,
    done: AtomicU64,
    total: u64,
}

impl Observer for AllPoints<'_> {
    fn on_progress(&self, progress: &Progress<'_>) -> ControlFlow<()> {
        let Some(observer) = self.context.observer else { return ControlFlow::Continue(()) };
        if progress.stage != POINTS || progress.total.is_none() {
            return observer.on_progress(progress);
        }
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        observer.on_progress(&Progress { done: done.min(self.total), total: Some(self.total), ..progress.clone() })
    }
}

/// +1 for a class, -1 for all others.
pub(super) fn signs(codes: &[u32], class: usize) -> Vec<f64> {
    codes.iter().map(|&code| if code as usize == class { 1.0 } else { -1.0 }).collect()
}

/// Whether every local minimum is a global one: the kernel is known to be positive semi-definite, or this matrix is (up to rounding).
fn is_positive(kernel: &Kernel, source: &SignedKernel<'_>) -> Result<bool> {
    if kernel.is_positive_semidefinite() == Some(true) {
        return Ok(true);
    }
    let n = source.len();
    if n > TESTED_UP_TO {
        return Ok(false);
    }
    let mut matrix = source.matrix(&Context::single())?;
    let largest = (0..n).map(|i| matrix[i * n + i].abs()).fold(0.0, f64::max);
    (0..n).for_each(|i| matrix[i * n + i] += 1e-9 * largest);
    Ok(linalg::cholesky(&mut matrix, n))
}

impl Learner for ParetoSvc {
    type Model = ParetoModel;

    fn validate(&self) -> Result<()> {
        self.kernel.validate()?;
        check::positive(OWNER, "tolerance", self.tolerance)?;
        self.cache_megabytes.map_or(Ok(()), |megabytes| check::positive(OWNER, "cache_megabytes", megabytes))?;
        if !(0.0..1.0).contains(&self.holdout) {
            return Err(check::complaint(OWNER, "holdout", "at least 0 (none) and below 1", self.holdout));
        }
        if let Widths::Values(values) = &self.widths {
            if values.is_empty() {
                return Err(check::complaint(OWNER, "widths", "a list of at least one value, `auto` or `kernel`", "none"));
            }
            values.iter().try_for_each(|&gamma| check::positive(OWNER, "widths", gamma))?;
        }
        check::at_least(OWNER, "holdout_repeats", self.holdout_repeats, 1)?;
        check::at_least(OWNER, "n_points", self.n_points, 2)?;
        check::at_least(OWNER, "population_size", self.population_size, 4)?;
        check::at_least(OWNER, "generations", self.generations, 1)?;
        for (name, value) in
            [("n_points", self.n_points), ("population_size", self.population_size), ("holdout_repeats", self.holdout_repeats)]
        {
            if value > MOST_POINTS {
                return Err(check::complaint(OWNER, name, format!("at most {MOST_POINTS}"), value));
            }
        }
        Ok(())
    }

    fn kernel(&self) -> Option<&Kernel> {
        Some(&self.kernel)
    }

    fn kernel_mut(&mut self) -> Option<&mut Kernel> {
        Some(&mut self.kernel)
    }

    fn calibrate_mut(&mut self) -> Option<&mut bool> {
        Some(&mut self.calibrate)
    }

    fn no_search(&self) -> Option<&'static str> {
        Some("computes every C at once, and compares widths itself: evaluate it instead")
    }

    fn fit_in(&self, data: &Dataset<'_>, context: &Context<'_>) -> Result<ParetoModel> {
        let start = Instant::now();
        self.validate()?;
        self.check_data(data)?;
        let (kinds, places) = self.kinds(data, context)?;
        // The solver's rows, the factor of the free samples and the table's copies are in memory at the same time.
        let mut model = context.in_share(0.6, |context| self.fit_checked(&kinds, start, context))?;
        if let Some(places) = places {
            let there = |row: &mut usize| *row = places[*row];
            model.rows.iter_mut().for_each(there);
            model.classifier.machine.support.iter_mut().for_each(there);
            model.report.rows = data.len();
        }
        Ok(model)
    }
}

impl ParetoSvc {
    fn fit_checked(&self, data: &Dataset<'_>, start: Instant, context: &Context<'_>) -> Result<ParetoModel> {
        let classes: &Categories = data.expect_classes()?;
        let mut kernels = self.kernels(data)?;
        let survey = if kernels.len() > 1 { Some(self.survey_in(data, &kernels, context)?) } else { None };
        let kernel = kernels.swap_remove(survey.as_ref().map_or(0, |survey| survey.chosen));
        let floor = survey.as_ref().map_or(0.0, |survey| survey.floor);
        let Measured { train, held, codes, room, machines, front, mut report } =
            self.measure(data, &kernel, 0, SumRange { floor, least: 0.0 }, context)?;
        let mut family = Vec::new();
        let mut others = None;
        if let Some(survey) = survey {
            report.iterations += survey.iterations;
            report.stop = report.stop.worst(survey.stop);
            family = survey.family;
            others = survey.others;
        }
        let mut estimates: Vec<f64> = front.iter().map(|point| point.holdout_error).collect();
        let mut estimate_rows = held;
        if self.mode != Mode::Evolve && held > 0 && self.holdout_repeats > 1 && !report.stop.is_cut_short() {
            let least = if data.len() > MANY && others.is_none() { worth_averaging(&front, held) } else { 0.0 };
            let others = match others {
                Some(others) => others,
                None => self.repeats(data, &kernel, SumRange { floor, least }, &mut report, context)?,
            };
            estimates = estimate(&front, &others, least);
            estimate_rows = (held * (1 + others.len())).min(data.len());
        }
        let picked = self.pick.choose(&front, &estimates, estimate_rows)?;
        let x = kernel.vectors(&data.x, &train);
        let mut model = ParetoModel {
            parameters: self.clone(),
            classes: classes.names().to_vec(),
            // Replaced at once: making it needs the rest of the model.
            classifier: Samples {
                kernel: &kernel,
                rows: &[],
                codes: &[],
                vectors: &x,
                features: data.x.columns(),
                classes: classes.names(),
                feature_names: &data.feature_names,
            }
            .classifier(&[], self.settings(), 1.0, report),
            vectors: x,
            front,
            machines,
            kernel,
            rows: train,
            weights: room,
            family,
            codes,
            estimates,
            holdout_rows: held,
            estimate_rows,
            picked,
            feature_names: data.feature_names.clone(),
            report,
        };
        model.classifier = model.select(picked)?;
        let stopped = report.stop.is_cut_short();
        if self.refit && self.mode != Mode::Evolve && model.holdout_rows > 0 && !stopped {
            let (classifier, stop) = self.at_position(data, &model.kernel, &model.position(), &model.starts(data.len()), context)?;
            // A refit that was stopped is no better than the point itself.
            if !stop.is_cut_short() {
                model.classifier = classifier;
            }
            report.stop = report.stop.worst(stop);
        }
        if self.calibrate
            && !stopped
            && let Err(reason) = stopped_by(model.calibrate_in(data, context))?
        {
            report.stop = report.stop.worst(reason);
        }
        let machine = &model.classifier.machine;
        model.report = report.finish(start, data.len(), &[&machine.coefficients], &[&machine.intercepts])?;
        model.classifier.report.seconds = model.report.seconds;
        Ok(model)
    }
}
