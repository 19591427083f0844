//! The solved problems of the method page, and the optimum itself.

use serde_json::Value;

use super::prior::{Margin, MarginPrior};
use super::problem::{Problem, Task};
use super::solve::{Limits, Route, Solution, solve};
use super::switch::Switch;
use super::table::Table;
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
    tables: Vec<Table>,
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
            Table::features(&x.concat(), n, x[0].len(), Isa::detect())
        } else {
            let grams = json["kernels"].as_array().unwrap().iter().map(|spec| {
                let norm = |a: &[f64]| if json["normalise"] == true { kernel(spec, a, a).sqrt() } else { 1.0 };
                x.iter().flat_map(|a| x.iter().map(|b| kernel(spec, a, b) / (norm(a) * norm(b))).collect::<Vec<_>>()).collect()
            });
            Table::kernels(grams.collect(), n, Isa::detect())
        });
        tasks.push(Task { table: m, y: numbers(&task["y"]) });
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
        threads: 1,
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
        for route in [Route::Automatic, Route::Interior, Route::Ascent] {
            if route == Route::Ascent && vector.json["mode"] != "feature" {
                continue;
            }
            check(&format!("{name} {route:?}"), &vector.json, &solve(&problem, limits, None, route, &Context::single()));
        }
    }
}

/// Seconds this thread was on a core: other work on the machine does not count.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() * 1e-9
}

fn noisy(n: usize, d: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut random = crate::random::Random::new(seed, 0);
    let w: Vec<f64> = (0..d).map(|k| if k < 20 { random.normal() } else { 0.0 }).collect();
    let x: Vec<f64> = (0..n * d).map(|_| random.normal()).collect();
    let y = x
        .chunks_exact(d)
        .map(|row| {
            let f = crate::linalg::dot(row, &w) + 0.5 * random.normal();
            let flip = if random.uniform() < 0.1 { -1.0 } else { 1.0 };
            f.signum() * flip
        })
        .collect();
    (x, y)
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    let (n, d) = (2000, 500);
    let (x, y) = noisy(n, d, 0);
    let start = cpu();
    for _ in 0..3 {
        let fetch = |rows: &[usize], block: &mut [f64]| {
            for (row, to) in rows.iter().zip(block.chunks_exact_mut(d)) {
                to.copy_from_slice(&x[row * d..(row + 1) * d]);
            }
        };
        std::hint::black_box(crate::linalg::weighted_gram(n, d, |_| 1.0, fetch, 1));
    }
    let product = (cpu() - start) / 3.0;
    println!("one product {:.2} ms", 1e3 * product);
    for (c, rho, flat) in [(1.5, 1e-2, false), (3.0, 1e-3, false), (3.0, 1e-3, true), (10.0, 1e-4, false), (100.0, 1e-4, false)] {
        for route in [Route::Interior, Route::Ascent] {
            let start = cpu();
            let tables = [Table::features(&x, n, d, Isa::detect())];
            let tasks = [Task { table: 0, y: y.clone() }];
            let problem = Problem {
                tables: &tables,
                tasks: &tasks,
                switch: Switch::new(f64::ln(rho)),
                margin: Margin::classification(c),
                classify: true,
                variance: (!flat).then_some(1.0),
                threads: 1,
            };
            let solution = solve(&problem, Limits { tolerance: 1e-6, steps: 1000 }, None, route, &Context::single());
            let seconds = cpu() - start;
            println!(
                "c {c} rho {rho} flat {flat} {route:?}: {:.1} ms = {:.1} products, gap {:.1e}, {} steps",
                1e3 * seconds,
                seconds / product,
                solution.certificate.relative(),
                solution.steps
            );
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn parts() {
    let (n, d) = (2000, 500);
    let (x, y) = noisy(n, d, 0);
    let tables = [Table::features(&x, n, d, Isa::detect())];
    let tasks = [Task { table: 0, y: y.clone() }];
    let problem = Problem {
        tables: &tables,
        tasks: &tasks,
        switch: Switch::new(f64::ln(1e-3)),
        margin: Margin::classification(3.0),
        classify: true,
        variance: Some(1.0),
        threads: 1,
    };
    let time = |name: &str, work: &mut dyn FnMut()| {
        let start = cpu();
        for _ in 0..5 {
            work();
        }
        println!("{name}: {:.3} ms", 1e3 * (cpu() - start) / 5.0);
    };
    let w = tables[0].embed(&y);
    time("embed", &mut || drop(std::hint::black_box(tables[0].embed(&y))));
    time("scores", &mut || drop(std::hint::black_box(tables[0].scores(&w))));
    let mut m = crate::linalg::weighted_gram(n, d, |_| 1.0, |rows, block| {
        for (row, to) in rows.iter().zip(block.chunks_exact_mut(d)) {
            to.copy_from_slice(&x[row * d..(row + 1) * d]);
        }
    }, 1);
    time("cholesky", &mut || {
        let mut a = m.clone();
        assert!(crate::linalg::cholesky(&mut a, d));
    });
    crate::linalg::cholesky(&mut m, d);
    time("solve", &mut || {
        let mut b = vec![1.0; d];
        crate::linalg::solve(&m, d, &mut b);
    });
    for progress in [0.3, 0.1, 0.03, 0.01, 3e-3] {
        let start = cpu();
        let mut ascent = super::ascent::Ascent::new(&problem, None);
        let mut turns = 0;
        let (certificate, _) = ascent.run(progress, 1e-6, 60, |_| {
            turns += 1;
            None
        });
        let middle = cpu();
        let mut steps = Vec::new();
        let descent = super::descent::descend(&problem, ascent.point(0.05), 1e-6, 25, true, |gap| {
            steps.push((gap, 1e3 * (cpu() - middle)));
            None
        });
        println!(
            "ascent {:.1e} {turns} turns {:.1} ms; newton {:.1e} {:.1} ms {:.1?}",
            certificate.relative(),
            1e3 * (middle - start),
            descent.certificate.relative(),
            1e3 * (cpu() - middle),
            steps
        );
    }
}
