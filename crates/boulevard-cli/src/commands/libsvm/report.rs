//! The lines that LIBSVM prints after each of its problems, computed from the fitted machine.

use anyhow::{Result, bail};
use boulevard::data::Dataset;
use boulevard::kernel::Kernel;
use boulevard::observe::Context;
use boulevard::persist::AnyModel;
use boulevard::svm::{ClassWeight, Model, OneClassModel, Penalty, SvcModel, SvrModel, Tube};

/// What LIBSVM says about one solved problem.
struct Facts {
    nu: Option<f64>,
    epsilon: Option<f64>,
    c: Option<f64>,
    iterations: u64,
    objective: f64,
    rho: f64,
    support: usize,
    bounded: usize,
}

/// All lines of a training run.
pub fn text(model: &AnyModel, data: &Dataset<'_>) -> Result<String> {
    let facts = match (model.get::<SvcModel>(), model.get::<SvrModel>(), model.get::<OneClassModel>()) {
        (Some(svc), ..) => svc_facts(svc, data)?,
        (_, Some(svr), _) => vec![svr_facts(svr, data)?],
        (.., Some(one)) => vec![one_class_facts(one)],
        _ => bail!("LIBSVM has no models of kind `{}`", model.kind()),
    };
    let mut text = String::new();
    for facts in &facts {
        text.push_str(&format!("*\noptimization finished, #iter = {}\n", facts.iterations));
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
    if model.get::<SvcModel>().is_some() {
        text.push_str(&format!("Total nSV = {}\n", model.support_vectors()));
    }
    Ok(text)
}

/// Coefficients at or beyond this share of their bound count as bounded.
const AT_BOUND: f64 = 1.0 - 1e-12;

fn svc_facts(model: &SvcModel, data: &Dataset<'_>) -> Result<Vec<Facts>> {
    let (classes, machine) = (model.classes.len(), &model.machine);
    let (n, outputs, counts) = (machine.len(), machine.outputs(), data.expect_classes()?.counts());
    let factor = |class: usize| match &model.parameters.class_weight {
        ClassWeight::Given(given) => given.iter().find(|(name, _)| *name == model.classes[class]).map_or(1.0, |(_, factor)| *factor),
        _ => 1.0,
    };
    let starts: Vec<usize> = model.support_counts.iter().scan(0, |sum, &count| Some(std::mem::replace(sum, *sum + count))).collect();
    let x = if machine.kernel == Kernel::Precomputed { data.x.select(&machine.support) } else { machine.vectors.clone() };
    let values = machine.evaluate(&x, &Context::default())?;
    let mut all = Vec::new();
    for i in 0..classes {
        for j in i + 1..classes {
            let pair = all.len();
            let intercept = machine.intercepts[pair];
            // Coefficients of one class against the other, with what the pair's machine says there without its intercept: (K b)_s.
            let side = |class: usize, other: usize| {
                let row = if other < class { other } else { other - 1 };
                let support = starts[class]..starts[class] + model.support_counts[class];
                let entry = |s: usize| (machine.coefficients[row * n + s], values[s * outputs + pair] - intercept);
                support.map(entry).filter(|(b, _)| *b != 0.0).collect::<Vec<(f64, f64)>>()
            };
            let (first, second) = (side(i, j), side(j, i));
            let both = || first.iter().chain(&second);
            let (sum, quadratic) = (both().map(|(b, _)| b.abs()).sum::<f64>(), 0.5 * both().map(|(b, kb)| b * kb).sum::<f64>());
            let bounded = |ci: f64, cj: f64| {
                let at = |side: &[(f64, f64)], c: f64| side.iter().filter(|(b, _)| b.abs() >= AT_BOUND * c).count();
                at(&first, ci) + at(&second, cj)
            };
            let rows = (counts[i] + counts[j]) as f64;
            let facts = Facts {
                nu: None,
                epsilon: None,
                c: None,
                iterations: model.iterations[pair],
                objective: quadratic,
                rho: -intercept,
                support: first.len() + second.len(),
                bounded: 0,
            };
            all.push(match model.parameters.penalty {
                Penalty::C(c) => {
                    let (ci, cj) = (c * factor(i), c * factor(j));
                    let nu = (ci == cj).then(|| sum / (ci * rows));
                    Facts { nu, objective: quadratic - sum, bounded: bounded(ci, cj), ..facts }
                }
                Penalty::Nu(nu) => {
                    // The machine was divided by its margin r; LIBSVM prints 1 / r as C.
                    let inverse = sum / (nu * rows);
                    Facts { c: Some(inverse), bounded: bounded(inverse, inverse), ..facts }
                }
            });
        }
    }
    Ok(all)
}

fn svr_facts(model: &SvrModel, data: &Dataset<'_>) -> Result<Facts> {
    let sizes: Vec<f64> = model.machine.coefficients.iter().map(|b| b.abs()).collect();
    let c = model.parameters.c;
    let (support, bounded) = (sizes.len(), sizes.iter().filter(|b| **b >= AT_BOUND * c).count());
    let facts = Facts {
        nu: None,
        epsilon: None,
        c: None,
        iterations: model.report.iterations,
        objective: model.report.objective,
        rho: -model.machine.intercepts[0],
        support,
        bounded,
    };
    Ok(match model.parameters.tube {
        Tube::Epsilon(_) => Facts { nu: Some(sizes.iter().sum::<f64>() / (c * data.len() as f64)), ..facts },
        Tube::Nu(_) => Facts { epsilon: Some(tube_width(model, data)?), ..facts },
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

fn one_class_facts(model: &OneClassModel) -> Facts {
    Facts {
        nu: None,
        epsilon: None,
        c: None,
        iterations: model.report.iterations,
        objective: model.report.objective,
        rho: -model.machine.intercepts[0],
        support: model.machine.len(),
        bounded: model.machine.coefficients.iter().filter(|b| **b >= AT_BOUND).count(),
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
