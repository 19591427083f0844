//! Kernels that are not positive semi-definite, fitted on a card: a stationary point, as on the processor, though not always the same.

use boulevard::data::Dataset;
use boulevard::kernel::Kernel;
use boulevard::observe::{Device, StopReason};
use boulevard::solver::Route;
use boulevard::svm::{Learner, Model, Svr};

use crate::cuda;
use crate::problems::{clouds, fit};

#[test]
fn indefinite_kernels_end_at_stationary_points() {
    let Some(context) = cuda() else { return };
    let cases = [
        ("nearly a plane", 6000, 7, Kernel::sigmoid(0.001, 0.0), 1.0, true),
        ("steep", 6000, 7, Kernel::sigmoid(0.1, 0.0), 1.0, false),
        ("negative diagonals", 6000, 7, Kernel::sigmoid(0.02, -0.5), 10.0, false),
        ("20k x 20", 20_000, 20, Kernel::sigmoid(0.002, 0.0), 1.0, true),
        ("20k x 20, steep", 20_000, 20, Kernel::sigmoid(0.02, -0.1), 1.0, false),
        ("150 features", 6000, 150, Kernel::sigmoid(0.0005, 0.0), 1.0, true),
        ("a cut parabola", 6000, 7, Kernel::Epanechnikov { gamma: 0.02.into(), degree: 1 }, 1.0, false),
        ("a polynomial with a negative constant", 6000, 7, Kernel::poly(2, 0.05, -0.5), 0.1, false),
    ];
    let mut failed = Vec::new();
    for (name, n, d, kernel, c, one_optimum) in cases {
        let problem = clouds(n, d, 12, 1.0);
        let (cpu, on_cpu) =
            fit(&problem, &kernel, c, &context.with_device(Device::Cpu).with_time_limit(std::time::Duration::from_secs(20)));
        let (card, first) = fit(&problem, &kernel, c, &context);
        let (again, on_card) = fit(&problem, &kernel, c, &context);
        let close = (cpu.objective - card.objective) / cpu.objective.abs();
        println!(
            "{}, {name}: {:.9e} on the processor in {on_cpu:.3} s ({}, {:?}), {:.9e} on the card in {on_card:.3} s, first {first:.3} ({}, {:?}), {close:.1e} apart; violation {:.1e} and {:.1e}, steps {} and {}",
            kernel.in_words(),
            cpu.objective,
            cpu.route,
            cpu.stop,
            card.objective,
            card.route,
            card.stop,
            cpu.violation,
            card.violation,
            cpu.iterations,
            card.iterations
        );
        let on_a_card = matches!(card.route, Route::CardIndefinite | Route::CardThenPairs);
        let good = on_a_card && card.stop == StopReason::Converged && card.violation <= 1e-3 && card.coefficients == again.coefficients;
        if !good || card.objective >= 0.0 || (one_optimum && close.abs() > 1e-4) {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// Through the front door, and with both sides of a tube; without being asked for the card is left alone.
#[test]
fn learners_fit_indefinite_kernels_on_a_card() {
    let Some(context) = cuda() else { return };
    let problem = clouds(6000, 4, 8, 1.0);
    let target: Vec<f64> = (0..6000).map(|i| problem.x.get(i, 0).sin() + 0.2 * problem.x.get(i, 1)).collect();
    let svr = Svr { kernel: Kernel::sigmoid(0.01, 0.0), ..Svr::default() };
    let data = Dataset::regression(problem.x.clone(), target);
    let card = svr.fit_in(&data, &context).unwrap();
    let cpu = svr.fit_in(&data, &context.with_device(Device::Auto)).unwrap();
    let (a, b) = (cpu.report(), card.report());
    println!(
        "regression: {} and {}, objectives {:.6e} and {:.6e}, violation {:.1e}",
        a.route, b.route, a.objective, b.objective, b.violation
    );
    assert!(matches!(b.route, Route::CardIndefinite | Route::CardThenPairs) && a.route == Route::Indefinite);
    assert!(b.stop == StopReason::Converged && b.violation <= 1e-3);
}
