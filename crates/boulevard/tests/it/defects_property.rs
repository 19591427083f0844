//! Any learner on any numbers: data and weights from 1e-300 to 1e300, denormals, constant and repeated columns, equal rows, tiny
//! tolerances. A fit gives finite decisions and a finite certificate, or an error in words; it never panics and never runs for ever.

use std::time::{Duration, Instant};

use boulevard::data::{Dataset, Matrix};
use boulevard::internal::random::Random;
use boulevard::methods::multi_sample::MultiSample;
use boulevard::observe::StopReason;
use boulevard::prelude::*;
use boulevard::solver::linear::{LinearLoss, Regularizer};

/// A table of one of many kinds.
fn table(random: &mut Random) -> Matrix<'static> {
    let (rows, columns) = (4 + random.below(40), 1 + random.below(6));
    const SCALES: [f64; 12] = [1.0, 1.0, 1.0, 1e-3, 1e3, 1e-100, 1e100, 1e-160, 1e160, 1e-300, 1e300, 5e-324];
    let scale = SCALES[random.below(SCALES.len())];
    let offset = if random.below(5) == 0 { 1e15 * scale.min(1e200) } else { 0.0 };
    let distinct = if random.below(3) == 0 { 1 + random.below(3) } else { rows };
    let base: Vec<f64> = (0..distinct * columns).map(|_| scale * random.normal() + offset).collect();
    let mut values: Vec<f64> = (0..rows).flat_map(|row| base[row % distinct * columns..(row % distinct + 1) * columns].to_vec()).collect();
    for column in 0..columns {
        match random.below(8) {
            0 => values.iter_mut().skip(column).step_by(columns).for_each(|v| *v = 1.5),
            1 => (0..rows).for_each(|row| values[row * columns + column] = values[row * columns]),
            2 => values.iter_mut().skip(column).step_by(columns).for_each(|v| *v *= 1e8),
            _ => {}
        }
    }
    values.iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = f64::MAX);
    let dense = Matrix::dense(values, rows, columns).unwrap();
    if random.below(4) == 0 { dense.to_sparse() } else { dense }
}

fn weights(random: &mut Random, rows: usize) -> Option<Vec<f64>> {
    const WEIGHTS: [f64; 9] = [1.0, 0.0, 1e-300, 5e-324, 1e300, 1.7e308, 1e10, 1e-10, 3.0];
    match random.below(3) {
        0 => None,
        1 => {
            let weight = WEIGHTS[random.below(WEIGHTS.len())];
            Some(vec![weight; rows])
        }
        _ => Some((0..rows).map(|_| WEIGHTS[random.below(WEIGHTS.len())]).collect()),
    }
}

/// What is wrong with a fit; none if nothing is.
fn fault<L: Learner>(learner: &L, data: &Dataset<'_>, patient: bool) -> Option<String> {
    let start = Instant::now();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        learner.fit_in(data, &Context::single().with_time_limit(Duration::from_secs(5))).map(|model| {
            let report = *model.report();
            let decisions = model.decision_values(&data.x);
            (report, decisions.map(|values| values.iter().all(|v| !v.is_nan() && *v != f64::INFINITY)))
        })
    }));
    if start.elapsed() > Duration::from_secs(60) {
        return Some(format!("took {:?}", start.elapsed()));
    }
    match outcome {
        Err(_) => Some("panicked".into()),
        Ok(Err(_)) => None,
        Ok(Ok((report, decisions))) => {
            let stopped = matches!(report.stop, StopReason::TimeLimit | StopReason::Interrupted);
            if stopped {
                // A huge price may ask for more steps than there is time for; then the certificate must not pretend.
                let honest = report.gap.is_nan() || report.gap > 1e-6;
                return (!patient || !honest).then(|| format!("did not end: {report:?}"));
            }
            let finite = report.objective.is_finite() && report.gap.is_finite() && report.violation.is_finite();
            match decisions {
                _ if !finite => Some(format!("{report:?}")),
                Ok(false) => Some("decisions are not finite".into()),
                _ => None,
            }
        }
    }
}

#[test]
fn every_learner_gives_finite_numbers_or_an_error() {
    let rounds: usize = std::env::var("BOULEVARD_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let mut faults = Vec::new();
    for round in 0..rounds {
        let random = &mut Random::new(77, round as u64);
        let x = table(random);
        let rows = x.rows();
        let weights = weights(random, rows);
        let codes: Vec<u32> = (0..rows).map(|row| (row % 2) as u32).collect();
        let with = |data: Dataset<'static>| match &weights {
            Some(weights) => data.with_weights(weights.clone()),
            None => data,
        };
        let classes = with(Dataset::new(x.clone(), Target::Classes(Categories::new(codes, vec!["a".into(), "b".into()]).unwrap())));
        let size = [1.0, 1.0, 1e-200, 1e200, 1e300][random.below(5)];
        let reals = with(Dataset::new(x.clone(), Target::Real((0..rows).map(|_| size * random.normal()).collect())));
        let tolerance = [1e-3, 1e-3, 1e-9, 1e-16, 1e-300][random.below(5)];
        let c = [1.0, 1.0, 1e-10, 1e10, 1e300, 1e-300][random.below(6)];
        let solver = SolverSettings { tolerance, ..SolverSettings::default() };
        let kernel = match random.below(5) {
            0 => Kernel::Linear,
            1 => Kernel::poly(3, 1.0, [0.0, 1.0, 1e300][random.below(3)]),
            2 => Kernel::sigmoid(0.1, 0.0),
            3 => Kernel::rbf([1.0, 1e-300, 1e300][random.below(3)]),
            _ => Kernel::default(),
        };
        if std::env::var("BOULEVARD_SHOW").is_ok_and(|text| text == round.to_string()) {
            println!("c {c}, tolerance {tolerance}, {kernel:?}, target {size}\n{weights:?}\n{x:?}");
        }
        let linear = LinearSvc { c, tolerance: tolerance.max(1e-16), ..LinearSvc::default() };
        let heaviest = weights.iter().flatten().fold(1.0, |a: f64, w| a.max(*w));
        let patient = c * heaviest >= 1e6;
        let found = [
            ("svc", fault(&Svc { kernel: kernel.clone(), penalty: Penalty::C(c), solver, ..Svc::default() }, &classes, patient)),
            ("nu svc", fault(&Svc { kernel: kernel.clone(), penalty: Penalty::Nu(0.3), solver, ..Svc::default() }, &classes, patient)),
            ("svr", fault(&Svr { kernel: kernel.clone(), c, solver, ..Svr::default() }, &reals, patient)),
            ("nu svr", fault(&Svr { kernel: kernel.clone(), c, tube: Tube::Nu(0.5), solver }, &reals, patient)),
            ("one class", fault(&OneClass { kernel: kernel.clone(), solver, ..OneClass::default() }, &classes, patient)),
            ("linear svc", fault(&linear, &classes, patient)),
            ("hinge", fault(&LinearSvc { loss: LinearLoss::Absolute, ..linear.clone() }, &classes, patient)),
            ("l1", fault(&LinearSvc { regularizer: Regularizer::L1, ..linear }, &classes, patient)),
            ("linear svr", fault(&LinearSvr { c, tolerance: tolerance.max(1e-16), ..LinearSvr::default() }, &reals, patient)),
            ("boosted", fault(&BoostedSvc { c, solver, ..BoostedSvc::default() }, &classes, patient)),
            ("induction", fault(&FeatureInduction { c, max_induced: 3, ..FeatureInduction::default() }, &classes, patient)),
            ("selection", fault(&MultiTaskSelection { c: Some(c), rho: Some(0.01), ..MultiTaskSelection::default() }, &classes, patient)),
            (
                "selection of numbers",
                fault(&MultiTaskSelection { c: Some(c), rho: Some(0.01), ..MultiTaskSelection::default() }, &reals, patient),
            ),
            ("sets", fault(&MultiSample { c, kernel: kernel.clone(), solver, ..MultiSample::default() }, &classes, patient)),
            ("pareto", fault(&ParetoSvc { kernel, n_points: 5, ..ParetoSvc::default() }, &classes, patient)),
        ];
        for (name, fault) in found {
            faults.extend(fault.map(|fault| format!("round {round}, {name}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
