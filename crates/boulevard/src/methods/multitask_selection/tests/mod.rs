//! The solved problems of the method page, and the optimum itself.

mod automatic;
mod behavior;

use serde_json::Value;

use super::problem::prior::{Margin, MarginPrior};
use super::problem::switch::Switch;
use super::problem::table::TaskTable;
use super::problem::{Problem, Task};
use super::solvers::{Limits, Route, Solution, solve};
use crate::observe::Context;
use crate::simd::Isa;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

fn kernel(spec: &Value, a: &[f64], b: &[f64]) -> f64 {
    let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    match spec["type"].as_str().unwrap() {
        "linear" => product,
        "poly" => (product + spec["coef0"].as_f64().unwrap()).powi(spec["degree"].as_i64().unwrap() as i32),
        "rbf" => (-0.5 * square / spec["stdev"].as_f64().unwrap().powi(2)).exp(),
        other => panic!("{other}"),
    }
}

struct Vector {
    json: Value,
    tables: Vec<TaskTable>,
    tasks: Vec<Task>,
}

fn read(name: &str) -> Vector {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/multitask_selection").join(name);
    let json: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let (mut tables, mut tasks) = (Vec::new(), Vec::new());
    for (m, task) in json["tasks"].as_array().unwrap().iter().enumerate() {
        let x = rows(&task["X"]);
        let n = x.len();
        tables.push(if json["mode"] == "feature" {
            TaskTable::features(&x.concat(), n, x[0].len(), Isa::detect())
        } else {
            let grams = json["kernels"].as_array().unwrap().iter().map(|spec| {
                let norm = |a: &[f64]| if json["normalise"] == true { kernel(spec, a, a).sqrt() } else { 1.0 };
                x.iter().flat_map(|a| x.iter().map(|b| kernel(spec, a, b) / (norm(a) * norm(b))).collect::<Vec<_>>()).collect()
            });
            TaskTable::kernels(grams.collect(), n, Isa::detect())
        });
        let y = numbers(&task["y"]);
        tasks.push(Task { table: m, weights: vec![1.0; y.len()], y });
    }
    Vector { json, tables, tasks }
}

fn problem(vector: &Vector) -> Problem<'_> {
    let json = &vector.json;
    let number = |name: &str| json[name].as_f64().unwrap();
    let margin = match json["loss"].as_str().unwrap() {
        "classification" => Margin::classification(number("c")),
        "regression_exp" => Margin::regression(number("c"), number("eps"), MarginPrior::Exp),
        "regression_jj" => Margin::regression(number("c"), number("eps"), MarginPrior::Jj),
        other => panic!("{other}"),
    };
    Problem {
        tables: &vector.tables,
        tasks: &vector.tasks,
        switch: Switch::new(number("ln_rho")),
        margin,
        classify: json["loss"] == "classification",
        variance: (json["bias"]["type"] == "gaussian").then(|| json["bias"]["sigma2"].as_f64().unwrap()),
        coupling: 1e-12,
        threads: 1,
        context: crate::observe::Context::single(),
    }
}

const NAMES: [&str; 9] = [
    "pub_f1_exp_flat.json",
    "pub_f1_jj_gauss.json",
    "pub_f1_svc_flat.json",
    "pub_f1_svc_gauss_rho1.json",
    "pub_f2_svc_flat.json",
    "pub_f3_svc_gauss.json",
    "pub_k1_jj_flat.json",
    "pub_k1_svc_gauss.json",
    "pub_k2_svc_flat.json",
];

fn check(name: &str, json: &Value, solution: &Solution) {
    let expected = &json["expected"];
    let certificate = &solution.certificate;
    let objective = expected["J"].as_f64().unwrap();
    println!(
        "{name}: J {:.3e} gap {:.1e} kkt {:.1e} steps {}",
        certificate.objective / objective - 1.0,
        certificate.relative(),
        certificate.violation,
        solution.steps
    );
    assert!((certificate.objective / objective - 1.0).abs() < 1e-8, "{name}: J {} against {objective}", certificate.objective);
    for (d, (ours, theirs)) in certificate.on.iter().zip(numbers(&expected["s_hat"])).enumerate() {
        assert!((ours / theirs - 1.0).abs() < 1e-8, "{name}: switch {d} is {ours} instead of {theirs}");
    }
    assert!(certificate.relative() < 1e-9, "{name}: gap {}", certificate.relative());
    assert!(certificate.violation < 1e-9, "{name}: violation {}", certificate.violation);
    for (ours, theirs) in certificate.bias.iter().zip(numbers(&expected["b"])) {
        assert!((ours - theirs).abs() < 1e-7, "{name}: bias {ours} instead of {theirs}");
    }
    for (ours, theirs) in certificate.alpha.iter().zip(rows(&expected["alpha"])) {
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert!((ours - theirs).abs() < 1e-7, "{name}: coefficient {ours} instead of {theirs}");
        }
    }
}

#[test]
fn every_vector_is_solved_by_every_route() {
    let limits = Limits { tolerance: 1e-10, steps: 1000 };
    for name in NAMES {
        let vector = read(name);
        let problem = problem(&vector);
        for route in [Route::Automatic, Route::Interior, Route::Ascent, Route::Sampled] {
            let possible = match route {
                Route::Ascent => vector.json["mode"] == "feature",
                Route::Sampled => vector.json["mode"] == "feature" && problem.variance.is_some(),
                _ => true,
            };
            if !possible {
                continue;
            }
            check(&format!("{name} {route:?}"), &vector.json, &solve(&problem, limits, None, route, &Context::single()));
        }
    }
}
