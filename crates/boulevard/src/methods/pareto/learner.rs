//! The way from data to a front.

use std::time::Instant;

use super::choose::{estimate, estimate_by_cost, worth_averaging};
use super::exact::slots::{MANY, SumRange};
use super::fronts::Measured;
use super::judge;
use super::model::{ParetoModel, Samples};
use super::parameters::{Mode, OWNER, ParetoSvc, Widths};
use super::survey::Survey;
use crate::check;
use crate::data::{Categories, Dataset};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::{Context, stopped as stopped_by};
use crate::svm::{Learner, Model, two_classes};
use crate::validation::AutomaticGrid;

/// Fewest rows to learn from.
const FEWEST_ROWS: usize = 5;

impl Learner for ParetoSvc {
    type Model = ParetoModel;

    fn validate(&self) -> Result<()> {
        self.check()
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

    /// Several widths are surveyed, and one too where machines at values of C pick the point.
    fn survey_where_needed(&self, data: &Dataset<'_>, kernels: &[Kernel], context: &Context<'_>) -> Result<Option<Survey>> {
        let picks = self.picks_by_cost() && self.holdout > 0.0 && self.holdout_repeats > 1 && data.len() <= MANY;
        if kernels.len() > 1 || picks { self.survey_in(data, kernels, context).map(Some) } else { Ok(None) }
    }

    fn fit_checked(&self, data: &Dataset<'_>, start: Instant, context: &Context<'_>) -> Result<ParetoModel> {
        let classes: &Categories = data.expect_classes()?;
        let mut kernels = self.kernels(data)?;
        let several = kernels.len() > 1;
        let survey = self.survey_where_needed(data, &kernels, context)?;
        let kernel = kernels.swap_remove(survey.as_ref().map_or(0, |survey| survey.chosen));
        let floor = survey.as_ref().filter(|_| several).map_or(0.0, |survey| survey.floor);
        let Measured { train, held, codes, room, machines, front, mut report } =
            self.measure(data, &kernel, 0, SumRange { floor, least: 0.0 }, context)?;
        let mut family = Vec::new();
        let (mut others, mut curve) = (None, None);
        if let Some(survey) = survey {
            report.iterations += survey.iterations;
            report.stop = report.stop.worst(survey.stop);
            family = if several { survey.family } else { Vec::new() };
            (others, curve) = (survey.others, survey.curve);
        }
        let mut estimates: Vec<f64> = front.iter().map(|point| point.holdout_error).collect();
        let mut estimate_rows = held;
        if self.mode != Mode::Evolve && held > 0 && self.holdout_repeats > 1 && !report.stop.is_cut_short() {
            let least = if data.len() > MANY && others.is_none() { worth_averaging(&front, held) } else { 0.0 };
            let others = others.map_or_else(|| self.repeats(data, &kernel, SumRange { floor, least }, &mut report, context), Ok)?;
            estimates = match curve.filter(|curve| !curve.is_empty()) {
                Some(curve) => estimate_by_cost(&front, &curve),
                None => estimate(&front, &others, least),
            };
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
