//! The machines on a cluster: rows stay where they are, targets and weights are here.
//!
//! [`Spread`] is a data set without its table. The problems are those of one machine, row for row; only who solves them differs.

use std::time::Instant;

use super::calibration::{Calibration, fit_sigmoids};
use super::classifier::{Classifier, Outputs};
use super::learner::{FitReport, Learner, SolverSettings};
use super::machine::{KernelMachine, Layout, pairs};
use super::multiclass::Multiclass;
use super::one_class::{OneClass, OneClassModel};
use super::ready::Ready;
use super::svc::{Classes, PairFit, Penalty, Svc, SvcModel, feasible, pair_table};
use super::svr::{Svr, SvrModel, Tube};
use crate::data::{Csr, Dataset, Matrix, Target};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::observe::{Context, StopReason, stopped};
use crate::solver::{Cluster, Fleet, Piece, ShardedSolver};

/// Folds of the cross-validation behind probabilities.
const FOLDS: usize = 5;

/// A training set whose rows are on the shards of a cluster.
#[derive(Clone, Debug)]
pub struct Spread {
    /// Which rows of the whole table are where.
    pub pieces: Vec<Piece>,
    /// Features per row.
    pub columns: usize,
    /// What is to be predicted, for all rows.
    pub target: Target,
    /// How much each row counts.
    pub weights: Option<Vec<f64>>,
    /// One name per feature.
    pub feature_names: Option<Vec<String>>,
}

impl Spread {
    /// The same without features: a table of empty rows, which costs a number per row.
    fn hollow(&self) -> Result<Dataset<'static>> {
        let rows: usize = self.pieces.iter().map(|piece| piece.rows).sum();
        let x = Matrix::Sparse(Csr::new(vec![0; rows + 1], Vec::new(), Vec::new(), self.columns)?);
        let data =
            Dataset { weights: self.weights.clone(), feature_names: self.feature_names.clone(), ..Dataset::new(x, self.target.clone()) };
        data.validate()?;
        Ok(data)
    }

    fn cluster<'a>(&self, fleet: &'a mut dyn Fleet, kernel: &Kernel, context: &Context<'a>) -> Result<Cluster<'a>> {
        Cluster::new(fleet, &self.pieces, self.columns, kernel, self.weights.as_deref(), context)
    }
}

/// A machine with one output from its coefficients, its vectors from the cluster.
fn single_machine(cluster: &mut Cluster<'_>, coefficients: &[f64], intercept: f64, settings: &SolverSettings) -> Result<KernelMachine> {
    let support: Vec<usize> = (0..coefficients.len()).filter(|&row| coefficients[row] != 0.0).collect();
    Ok(KernelMachine {
        kernel: cluster.kernel().clone(),
        vectors: cluster.rows(&support)?,
        coefficients: support.iter().map(|&row| coefficients[row]).collect(),
        layout: Layout::Full,
        intercepts: vec![intercept],
        features: cluster.columns(),
        tolerance: settings.tolerance,
        support,
        ready: Ready::default(),
    })
}

impl Svc {
    /// Fits on a cluster, one pair of classes after the other, all shards at each.
    pub fn fit_spread(&self, data: &Spread, fleet: &mut dyn Fleet, context: &Context<'_>) -> Result<SvcModel> {
        let start = Instant::now();
        self.validate()?;
        let hollow = data.hollow()?;
        let names = hollow.expect_classes()?.names().to_vec();
        let classes = Classes::new(&hollow, &self.class_weight, "Svc")?;
        if self.multiclass == Multiclass::OneVsRest && names.len() > 2 {
            return Err(Error::data("on a cluster several classes are told apart pair by pair: one against the rest is not there"));
        }
        if let Penalty::Nu(nu) = self.penalty
            && names.len() == 2
        {
            feasible(nu, &classes)?;
        }
        let mut cluster = data.cluster(fleet, &self.kernel, context)?;
        let mut report = FitReport::default();
        let mut fits = Vec::new();
        let all = pairs(names.len());
        for (done, &pair) in all.iter().enumerate() {
            if all.len() > 1 && done > 0 && context.step("fit pairs", done, all.len()).is_some() && report.stop == StopReason::Converged {
                report.stop = StopReason::Interrupted;
            }
            let fit = self.spread_pair(&mut cluster, &classes, pair, |_| true)?;
            if let Some(pair) = &fit {
                report.add(&pair.fit.solution);
            }
            fits.push(fit);
        }
        let (table, intercepts) = pair_table(&classes, names.len(), &fits);
        let (kernel, columns) = (cluster.kernel().clone(), data.columns);
        let layout = |counts: &[usize]| Layout::Pairs(counts.to_vec());
        let vectors = |support: &[usize]| cluster.rows(support);
        let (machine, support_counts) = self.machine(&kernel, columns, vectors, &classes, names.len(), &table, layout, intercepts)?;
        let iterations = fits.iter().map(|fit| fit.as_ref().map_or(0, |pair| pair.fit.solution.iterations)).collect();
        let mut model = SvcModel {
            parameters: self.clone(),
            classes: names,
            machine,
            support_counts,
            iterations,
            calibration: None,
            feature_names: data.feature_names.clone(),
            report,
        };
        if self.calibrate {
            match stopped(self.spread_sigmoids(&mut cluster, &hollow, &classes, context))? {
                Ok(calibration) => model.calibration = Some(calibration),
                Err(reason) => model.report.stop = model.report.stop.worst(reason),
            }
        }
        model.report = model.report.finish(start, classes.rows.len(), &[&model.machine.coefficients], &[&model.machine.intercepts])?;
        Ok(model)
    }

    /// Adds probabilities to a model that was fitted on the same rows without them.
    pub fn calibrate_spread(&self, model: &mut SvcModel, data: &Spread, fleet: &mut dyn Fleet, context: &Context<'_>) -> Result<()> {
        let hollow = data.hollow()?;
        if hollow.expect_classes()?.names() != model.classes() {
            return Err(Error::data("probabilities must be fitted on the table the model learnt from: the classes differ"));
        }
        let classes = Classes::new(&hollow, &self.class_weight, "Svc")?;
        let mut cluster = data.cluster(fleet, &model.machine.kernel, context)?;
        model.calibration = Some(self.spread_sigmoids(&mut cluster, &hollow, &classes, context)?);
        Ok(())
    }

    /// One pair of classes; rows that are not `used` have no room, but get their decision values. None where a class has no rows.
    fn spread_pair(
        &self,
        cluster: &mut Cluster<'_>,
        classes: &Classes,
        (i, j): (usize, usize),
        used: impl Fn(usize) -> bool,
    ) -> Result<Option<PairFit>> {
        let of_pair = |k: &usize| classes.codes[*k] as usize == i || classes.codes[*k] as usize == j;
        let samples: Vec<usize> = (0..classes.rows.len()).filter(of_pair).collect();
        let sign = |k: usize| if classes.codes[k] as usize == i { 1.0 } else { -1.0 };
        let has = |side: f64| samples.iter().any(|&k| used(k) && sign(k) == side);
        if !has(1.0) || !has(-1.0) {
            return Ok(None);
        }
        let rows: Vec<usize> = samples.iter().map(|&k| classes.rows[k]).collect();
        let signs: Vec<f64> = samples.iter().map(|&k| sign(k)).collect();
        let weights: Vec<f64> = samples.iter().map(|&k| if used(k) { classes.weights[k] } else { 0.0 }).collect();
        let factors: Vec<f64> = samples.iter().map(|&k| classes.factors[classes.codes[k] as usize]).collect();
        let whole = rows.len() == cluster.len();
        let mut solver = ShardedSolver::new(cluster, if whole { None } else { Some(&rows) });
        let fit = self.solve_binary(&mut solver, &signs, &weights, &factors, None)?;
        Ok(Some(PairFit { samples, fit }))
    }

    /// Sigmoids on decision values of rows that a machine did not see. Those come for free: a row without room takes no part, and its
    /// gradient is its decision value.
    fn spread_sigmoids(
        &self,
        cluster: &mut Cluster<'_>,
        data: &Dataset<'_>,
        classes: &Classes,
        context: &Context<'_>,
    ) -> Result<Calibration> {
        let target = data.expect_classes()?;
        let all = pairs(target.names().len());
        let mut values = vec![0.0; data.len() * all.len()];
        // Every fold gets every fifth row of every class.
        let (mut seen, mut fold) = (vec![0; target.names().len()], vec![0; classes.rows.len()]);
        for (fold, &code) in fold.iter_mut().zip(&classes.codes) {
            let seen = &mut seen[code as usize];
            *fold = *seen % FOLDS;
            *seen += 1;
        }
        for (p, &pair) in all.iter().enumerate() {
            for held_out in 0..FOLDS {
                if let Some(reason) = context.step("calibrate", p * FOLDS + held_out, all.len() * FOLDS) {
                    return Err(Error::Stopped { reason });
                }
                let found = match self.spread_pair(cluster, classes, pair, |k| fold[k] != held_out)? {
                    Some(found) => Some(found),
                    // A class with a single row cannot be left out and learnt: it is judged by the machine that saw it.
                    None => self.spread_pair(cluster, classes, pair, |_| true)?,
                };
                let Some(found) = found else { continue };
                if found.fit.solution.stop.is_cut_short() {
                    return Err(Error::Stopped { reason: found.fit.solution.stop });
                }
                for (place, &k) in found.samples.iter().enumerate().filter(|&(_, &k)| fold[k] == held_out) {
                    values[classes.rows[k] * all.len() + p] = found.fit.decision(place);
                }
            }
        }
        // A row has values of its own class's pairs only: there is nothing to couple, and nothing to sharpen.
        Ok(Calibration::plain(fit_sigmoids(target, data.weights.as_deref(), &values, Outputs::Pairs)))
    }
}

impl Svr {
    /// Fits on a cluster. The tube must have a width: nu needs every row twice, which shards do not have.
    pub fn fit_spread(&self, data: &Spread, fleet: &mut dyn Fleet, context: &Context<'_>) -> Result<SvrModel> {
        let start = Instant::now();
        self.validate()?;
        let Tube::Epsilon(epsilon) = self.tube else {
            return Err(Error::data("regression by nu is not there on a cluster: give the tube a width (epsilon)"));
        };
        let hollow = data.hollow()?;
        let costs: Vec<f64> = hollow.weights_or_ones().iter().map(|weight| weight * self.c).collect();
        let mut cluster = data.cluster(fleet, &self.kernel, context)?;
        let mut solver = ShardedSolver::new(&mut cluster, None);
        let solution = self.solve_epsilon(&mut solver, hollow.expect_real()?, &costs, epsilon, None)?;
        let machine = single_machine(&mut cluster, &solution.coefficients, -solution.offsets[0], &self.solver)?;
        let report = FitReport::of_one(&solution, start, &costs, &machine)?;
        Ok(SvrModel { parameters: self.clone(), machine, feature_names: data.feature_names.clone(), report })
    }
}

impl OneClass {
    /// Fits on a cluster.
    pub fn fit_spread(&self, data: &Spread, fleet: &mut dyn Fleet, context: &Context<'_>) -> Result<OneClassModel> {
        let start = Instant::now();
        self.validate()?;
        let hollow = data.hollow()?;
        let weights = hollow.weights_or_ones();
        let mut cluster = data.cluster(fleet, &self.kernel, context)?;
        let solution = self.solve(&mut ShardedSolver::new(&mut cluster, None), &weights)?;
        let machine = single_machine(&mut cluster, &solution.coefficients, -solution.offsets[0], &self.solver)?;
        let report = FitReport::of_one(&solution, start, &weights, &machine)?;
        Ok(OneClassModel { parameters: self.clone(), machine, feature_names: data.feature_names.clone(), report })
    }
}
