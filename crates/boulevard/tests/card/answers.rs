//! Decision values on a card, and sums of a cluster's workers.

use boulevard::data::{Categories, Dataset, Matrix};
use boulevard::kernel::Kernel;
use boulevard::observe::{Device, StopReason};
use boulevard::svm::{KernelMachine, Learner, Model, Penalty, SolverSettings, Svc};

use crate::cuda;
use crate::problems::{Numbers, Problem, apart, clouds, fit_shards, machine};

/// Sums of one output, in both precisions, and for rows far outside of what the machine knows.
#[test]
fn predictions_agree() {
    let Some(context) = cuda() else { return };
    for (d, gamma, size) in [(7, 0.1, 0.1), (54, 0.01, 0.1), (54, 0.01, 100.0), (150, 0.005, 0.1)] {
        let x = clouds(20_000, d, 12, 1.0).x;
        let machine = machine(&x, 2000, gamma, size);
        let mut values: Vec<f64> = (0..20_000).flat_map(|i| (0..d).map(|k| x.get(i, k)).collect::<Vec<_>>()).collect();
        values[..d].fill(1e6);
        let far = Matrix::dense(values, 20_000, d).unwrap();
        let [cpu, card] = [Device::Cpu, Device::Cuda(0)].map(|device| machine.evaluate(&far, &context.with_device(device)).unwrap());
        let (most, other) = apart(&cpu, &card, 1e-5);
        println!("{d} features, coefficients of {size}: {most:.1e} apart");
        assert!(most < 3e-4 && other == 0 && (card[0] - 0.25).abs() < 1e-12, "{d}: {most:e} {other} {}", card[0]);
    }
}

/// Decision values of every kernel that a card computes.
#[test]
fn predictions_agree_for_every_kernel() {
    let Some(context) = cuda() else { return };
    for d in [7, 150] {
        let x = clouds(6000, d, 12, 1.0).x;
        let gamma = 0.3 / d as f64;
        let kernels = [
            Kernel::Linear,
            Kernel::poly(3, gamma, 1.0),
            Kernel::Sigmoid { gamma: gamma.into(), coef0: 0.1 },
            Kernel::rbf(gamma),
            Kernel::Laplacian { gamma: gamma.into() },
            Kernel::InverseMultiquadric { gamma: gamma.into(), coef0: 1.0 },
            Kernel::Epanechnikov { gamma: (0.1 * gamma).into(), degree: 2 },
        ];
        for kernel in kernels {
            let machine = KernelMachine { kernel, ..machine(&x, 1000, gamma, 0.01) };
            let largest = machine.evaluate(&x, &context.with_device(Device::Cpu)).unwrap().iter().fold(1.0f64, |most, v| most.max(v.abs()));
            // In double precision, and in single precision where the tolerance allows it.
            for (tolerance, wanted) in [(1e-13, 1e-9), (1e6, 1e-4)] {
                let machine = KernelMachine { tolerance, ..machine.clone() };
                let [cpu, card] = [Device::Cpu, Device::Cuda(0)].map(|device| machine.evaluate(&x, &context.with_device(device)).unwrap());
                let (most, _) = apart(&cpu, &card, f64::INFINITY);
                println!("{}, {d} features, tolerance {tolerance:.0e}: {most:.1e} apart of {largest:.1e}", machine.kernel.in_words());
                assert!(most < wanted * largest, "{} {d}: {most:e}", machine.kernel.in_words());
            }
        }
    }
}

/// Several outputs at once, one by one, and in double precision: what halves cost, for coefficients of both signs and of one.
#[test]
fn several_outputs_agree() {
    let Some(context) = cuda() else { return };
    let mut failed = Vec::new();
    for (d, gamma, n, vectors) in [(40, 0.003, 6000, 2000), (40, 0.05, 6000, 2000), (150, 0.005, 6000, 2000), (784, 0.0002, 3000, 1903)] {
        let x = clouds(n, d, 12, 1.0).x;
        for one_sign in [false, true] {
            let outputs = 3;
            let mut numbers = Numbers(21);
            let mut one = machine(&x, vectors, gamma, 1.0);
            let coefficients: Vec<f64> =
                (0..outputs * vectors).map(|_| if one_sign { numbers.uniform() } else { numbers.normal() }).collect();
            let lengths = |power: i32| coefficients[..vectors].iter().map(|c| c.abs().powi(power)).sum::<f64>();
            let (one_norm, two_norm) = (lengths(1), lengths(2).sqrt());
            let several = KernelMachine { coefficients: coefficients.clone(), intercepts: vec![0.0; outputs], ..one.clone() };
            let on = |machine: &KernelMachine, tolerance: f64, device: Device| {
                KernelMachine { tolerance, ..machine.clone() }.evaluate(&x, &context.with_device(device)).unwrap()
            };
            // The tolerance decides the precision.
            let exact = on(&several, 1e-13, Device::Cpu);
            let double = on(&several, 1e-13, Device::Cuda(0));
            let stored = on(&several, 1e6, Device::Cuda(0));
            let mut summed = vec![0.0; n * outputs];
            for output in 0..outputs {
                one.coefficients = coefficients[output * vectors..(output + 1) * vectors].to_vec();
                one.intercepts = vec![0.0];
                let values = on(&one, 1e6, Device::Cuda(0));
                summed.iter_mut().skip(output).step_by(outputs).zip(values).for_each(|(to, value)| *to = value);
            }
            let [double, stored, summed] = [double, stored, summed].map(|values| apart(&exact, &values, f64::INFINITY).0);
            println!(
                "{d} features, gamma {gamma}, one sign {one_sign}: double {double:.1e}; at once {stored:.1e}, one by one {summed:.1e}: \
                 {:.1e} and {:.1e} of lengths {two_norm:.0}, {:.1e} and {:.1e} of sums {one_norm:.0}",
                stored / two_norm,
                summed / two_norm,
                stored / one_norm,
                summed / one_norm
            );
            // The bound by which machines choose, twice.
            let most = 2.0 * (4e-7 * two_norm + 6e-8 * one_norm);
            if double > 1e-9 * one_norm || stored > most || summed > most {
                failed.push((d, one_sign));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// Workers with a card: the optimum of a local fit on the processor.
#[test]
fn shards_on_a_card_agree() {
    let Some(context) = cuda() else { return };
    let narrow = clouds(20_000, 20, 40, 1.0);
    let wide = clouds(6000, 150, 12, 1.0);
    let sparse = Problem { x: wide.x.to_sparse(), y: wide.y.clone() };
    // One row far outside of what the others hold: halves have no digits for it.
    let mut values: Vec<f64> = (0..6000).flat_map(|i| (0..150).map(|k| wide.x.get(i, k)).collect::<Vec<_>>()).collect();
    values[..150].fill(1e5);
    let outside = Problem { x: Matrix::dense(values, 6000, 150).unwrap(), y: wide.y.clone() };
    let cases = [
        ("20 features", narrow, Kernel::rbf(0.05), 10.0),
        ("150 features", wide, Kernel::rbf(0.005), 10.0),
        ("sparse rows", sparse, Kernel::rbf(0.005), 10.0),
        ("a row far outside", outside, Kernel::rbf(0.005), 10.0),
        ("absolute differences", clouds(6000, 7, 12, 1.0), Kernel::Laplacian { gamma: 0.1.into() }, 1.0),
    ];
    for (name, problem, kernel, c) in cases {
        let solver = SolverSettings { tolerance: 1e-5, libsvm_rounding: false, ..SolverSettings::default() };
        let svc = Svc { kernel, penalty: Penalty::C(c), solver, ..Svc::default() };
        let names: Vec<String> = problem.y.iter().map(|y| y.to_string()).collect();
        let data = Dataset::classes(problem.x.clone(), Categories::from_names(&names));
        let cpu = context.with_device(Device::Cpu);
        let local = svc.fit_in(&data, &cpu).unwrap();
        let (card, seconds) = fit_shards(&problem, &svc, Device::Cuda(0), &cpu);
        let (_, on_processor) = fit_shards(&problem, &svc, Device::Cpu, &cpu);
        let (a, b) = (local.report(), card.report());
        let close = (a.objective - b.objective).abs() / a.objective.abs();
        println!(
            "three shards, {name}: {seconds:.2} s on the card, {on_processor:.2} on the processor; {close:.1e} apart, {:.1e}",
            b.violation
        );
        assert_eq!(b.stop, StopReason::Converged, "{name}");
        assert!(b.violation <= 1e-5 && close < 1e-6, "{name}: {close:e} {:e}", b.violation);
    }
}
