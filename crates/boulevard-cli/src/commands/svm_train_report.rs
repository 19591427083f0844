//! The lines that LIBSVM prints after each of its problems, computed from the fitted machine.

use anyhow::{Result, bail};
use boulevard::data::{Categories, Dataset, Target};
use boulevard::kernel::Kernel;
use boulevard::observe::Context;
use boulevard::persist::AnyModel;
use boulevard::svm::{
    ClassWeight, FitReport, KernelMachine, Layout, Learner, Model, OneClassModel, Penalty, Svc, SvcModel, SvrModel, Tube,
};

/// Fits every pair of classes on its own and puts the machine together as LIBSVM stores it: the model the library fits in one call,
/// with a report per pair.
pub fn fit_pairs(svc: &Svc, data: &Dataset<'_>, context: &Context<'_>) -> Result<(AnyModel, Vec<FitReport>)> {
    let classes = data.expect_classes()?;
    let (count, n) = (classes.names().len(), data.len());
    let mut table = vec![0.0; (count - 1) * n];
    let (mut intercepts, mut reports) = (Vec::new(), Vec::new());
    for i in 0..count {
        for j in i + 1..count {
            let rows: Vec<usize> = (0..n).filter(|&row| [i, j].contains(&(classes.codes()[row] as usize))).collect();
            let pair = pair(svc, data, classes, (i, j), &rows).fit_pair(context)?;
            for (place, &at) in pair.machine.support.iter().enumerate() {
                let row = rows[at];
                let other = if classes.codes()[row] as usize == i { j - 1 } else { i };
                table[other * n + row] = pair.machine.coefficients[place];
            }
            intercepts.push(pair.machine.intercepts[0]);
            reports.push(pair.report);
        }
    }
    let is_support = |row: &usize| (0..count - 1).any(|o| table[o * n + row] != 0.0);
    let members = |class: usize| (0..n).filter(move |&row| classes.codes()[row] as usize == class);
    let by_class: Vec<Vec<usize>> = (0..count).map(|class| members(class).filter(is_support).collect()).collect();
    let support_counts: Vec<usize> = by_class.iter().map(Vec::len).collect();
    let support = by_class.concat();
    let machine = KernelMachine {
        kernel: svc.kernel.clone(),
        vectors: if svc.kernel == Kernel::Precomputed {
            boulevard::data::Matrix::dense(Vec::new(), support.len(), 0)?
        } else {
            data.x.select(&support)
        },
        coefficients: (0..count - 1).flat_map(|o| support.iter().map(|&row| table[o * n + row]).collect::<Vec<_>>()).collect(),
        layout: Layout::Pairs(support_counts.clone()),
        intercepts,
        features: data.x.columns(),
        support,
        tolerance: svc.solver.tolerance,
    };
    let calibration = if svc.calibrate { svc.fit_in(data, context)?.calibration } else { None };
    let mut report = reports.iter().copied().reduce(merged).unwrap_or_default();
    report.rows = n;
    let model = SvcModel {
        parameters: svc.clone(),
        classes: classes.names().to_vec(),
        machine,
        support_counts,
        calibration,
        feature_names: None,
        report,
    };
    Ok((model.into(), reports))
}

fn merged(a: FitReport, b: FitReport) -> FitReport {
    FitReport {
        objective: a.objective + b.objective,
        violation: a.violation.max(b.violation),
        gap: a.gap.max(b.gap),
        iterations: a.iterations + b.iterations,
        stop: a.stop.worst(b.stop),
        seconds: a.seconds + b.seconds,
        rows: a.rows,
    }
}

/// One two-class problem.
struct Pair {
    svc: Svc,
    data: Dataset<'static>,
}

impl Pair {
    fn fit_pair(self, context: &Context<'_>) -> Result<SvcModel> {
        Ok(self.svc.fit_in(&self.data, context)?)
    }
}

fn pair(svc: &Svc, data: &Dataset<'_>, classes: &Categories, (i, j): (usize, usize), rows: &[usize]) -> Pair {
    let mut part = data.select(rows);
    if svc.kernel == Kernel::Precomputed {
        let values: Vec<f64> = rows.iter().flat_map(|&a| rows.iter().map(move |&b| data.x.get(a, b))).collect();
        part.x = boulevard::data::Matrix::dense(values, rows.len(), rows.len()).expect("square");
    }
    let codes = rows.iter().map(|&row| u32::from(classes.codes()[row] as usize == j)).collect();
    let names = vec![classes.names()[i].clone(), classes.names()[j].clone()];
    let class_weight = match &svc.class_weight {
        ClassWeight::Given(given) => ClassWeight::Given(given.iter().filter(|(name, _)| names.contains(name)).cloned().collect()),
        other => other.clone(),
    };
    part.target = Target::Classes(Categories::new(codes, names).expect("two names for two codes"));
    Pair { svc: Svc { class_weight, calibrate: false, ..svc.clone() }, data: part }
}

/// What LIBSVM says about one solved problem.
struct Facts {
    nu: Option<f64>,
    epsilon: Option<f64>,
    c: Option<f64>,
    objective: f64,
    rho: f64,
    support: usize,
    bounded: usize,
}

/// All lines of a training run.
pub fn text(model: &AnyModel, reports: &[FitReport], data: &Dataset<'_>) -> Result<String> {
    let (facts, total) = match model {
        AnyModel::Svc(model) => (svc_facts(model, reports, data)?, model.machine.len()),
        AnyModel::Svr(model) => (vec![svr_facts(model, reports[0], data)?], model.machine.len()),
        AnyModel::OneClass(model) => (vec![one_class_facts(model, reports[0], data)], model.machine.len()),
        other => bail!("LIBSVM has no models of kind `{}`", other.kind()),
    };
    let mut text = String::new();
    for (facts, report) in facts.iter().zip(reports) {
        text.push_str(&format!("*\noptimization finished, #iter = {}\n", report.iterations));
        if let Some(c) = facts.c {
            text.push_str(&format!("C = {c:.6}\n"));
        }
        if let Some(epsilon) = facts.epsilon {
            text.push_str(&format!("epsilon = {epsilon:.6}\n"));
        }
        if let Some(nu) = facts.nu {
            text.push_str(&format!("nu = {nu:.6}\n"));
        }
        text.push_str(&format!("obj = {:.6}, rho = {:.6}\n", facts.objective, facts.rho));
        text.push_str(&format!("nSV = {}, nBSV = {}\n", facts.support, facts.bounded));
    }
    if matches!(model, AnyModel::Svc(_)) {
        text.push_str(&format!("Total nSV = {total}\n"));
    }
    Ok(text)
}

/// Coefficients at or beyond this share of their bound count as bounded.
const AT_BOUND: f64 = 1.0 - 1e-12;

fn svc_facts(model: &SvcModel, reports: &[FitReport], data: &Dataset<'_>) -> Result<Vec<Facts>> {
    let (classes, machine) = (model.classes.len(), &model.machine);
    let (n, counts) = (machine.len(), data.expect_classes()?.counts());
    let factor = |class: usize| match &model.parameters.class_weight {
        ClassWeight::Given(given) => given.iter().find(|(name, _)| *name == model.classes[class]).map_or(1.0, |(_, factor)| *factor),
        _ => 1.0,
    };
    let starts: Vec<usize> = model.support_counts.iter().scan(0, |sum, &count| Some(std::mem::replace(sum, *sum + count))).collect();
    let mut all = Vec::new();
    for i in 0..classes {
        for j in i + 1..classes {
            let report = reports[all.len()];
            let side = |class: usize, other: usize| {
                let row = if other < class { other } else { other - 1 };
                machine.coefficients[row * n + starts[class]..row * n + starts[class] + model.support_counts[class]]
                    .iter()
                    .map(|b| b.abs())
                    .filter(|b| *b > 0.0)
                    .collect::<Vec<f64>>()
            };
            let (first, second) = (side(i, j), side(j, i));
            let rows = (counts[i] + counts[j]) as f64;
            let (support, sum) = (first.len() + second.len(), first.iter().chain(&second).sum::<f64>());
            let bounded = |ci: f64, cj: f64| {
                first.iter().filter(|b| **b >= AT_BOUND * ci).count() + second.iter().filter(|b| **b >= AT_BOUND * cj).count()
            };
            let rho = -machine.intercepts[all.len()];
            all.push(match model.parameters.penalty {
                Penalty::C(c) => {
                    let (ci, cj) = (c * factor(i), c * factor(j));
                    let nu = (ci == cj).then(|| sum / (ci * rows));
                    Facts { nu, epsilon: None, c: None, objective: report.objective, rho, support, bounded: bounded(ci, cj) }
                }
                Penalty::Nu(nu) => {
                    // The machine was divided by its margin r; LIBSVM prints 1 / r as C and the objective of the scaled problem.
                    let inverse = sum / (nu * rows);
                    Facts {
                        nu: None,
                        epsilon: None,
                        c: Some(inverse),
                        objective: report.objective * inverse * inverse,
                        rho,
                        support,
                        bounded: bounded(inverse, inverse),
                    }
                }
            });
        }
    }
    Ok(all)
}

fn svr_facts(model: &SvrModel, report: FitReport, data: &Dataset<'_>) -> Result<Facts> {
    let sizes: Vec<f64> = model.machine.coefficients.iter().map(|b| b.abs()).collect();
    let c = model.parameters.c;
    let (support, bounded) = (sizes.len(), sizes.iter().filter(|b| **b >= AT_BOUND * c).count());
    let rho = -model.machine.intercepts[0];
    Ok(match model.parameters.tube {
        Tube::Epsilon(_) => {
            let nu = sizes.iter().sum::<f64>() / (c * data.len() as f64);
            Facts { nu: Some(nu), epsilon: None, c: None, objective: report.objective, rho, support, bounded }
        }
        Tube::Nu(_) => {
            let epsilon = tube_width(model, data)?;
            Facts { nu: None, epsilon: Some(epsilon), c: None, objective: report.objective, rho, support, bounded }
        }
    })
}

/// The half-width that nu chose: the distance of the samples on the tube's edge (those with a free coefficient).
fn tube_width(model: &SvrModel, data: &Dataset<'_>) -> Result<f64> {
    let y = data.expect_real()?;
    let free: Vec<usize> =
        (0..model.machine.len()).filter(|&s| model.machine.coefficients[s].abs() < AT_BOUND * model.parameters.c).collect();
    let chosen = if free.is_empty() { (0..model.machine.len()).collect() } else { free };
    let rows: Vec<usize> = chosen.iter().map(|&s| model.machine.support[s]).collect();
    let said = model.predict(&data.x.select(&rows))?;
    Ok(rows.iter().zip(said).map(|(&row, f)| (y[row] - f).abs()).sum::<f64>() / rows.len().max(1) as f64)
}

fn one_class_facts(model: &OneClassModel, report: FitReport, data: &Dataset<'_>) -> Facts {
    let bounded = model.machine.coefficients.iter().filter(|b| **b >= AT_BOUND).count();
    let _ = data;
    Facts {
        nu: None,
        epsilon: None,
        c: None,
        objective: report.objective,
        rho: -model.machine.intercepts[0],
        support: model.machine.len(),
        bounded,
    }
}

/// The squared correlation of predictions and truth, by LIBSVM's formula.
pub fn squared_correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>();
    let (v, y) = (sum(&|p| p.0), sum(&|p| p.1));
    let (vv, yy, vy) = (sum(&|p| p.0 * p.0), sum(&|p| p.1 * p.1), sum(&|p| p.0 * p.1));
    (n * vy - v * y).powi(2) / ((n * vv - v * v) * (n * yy - y * y))
}
