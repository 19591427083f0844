//! The solver's promises: optimality, and the same answer whatever the switches.

use super::*;
use crate::data::Matrix;
use crate::kernel::Kernel;
use crate::observe::{Context, StopFlag, StopReason};
use crate::random::Random;
use crate::simd::Isa;

struct Case {
    x: Matrix<'static>,
    linear: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    start: Option<Vec<f64>>,
    kink: f64,
    second: Option<Vec<bool>>,
}

impl Case {
    /// Two overlapping clouds.
    fn classes(n: usize, d: usize, c: f64, seed: u64) -> Self {
        let mut random = Random::new(seed, 0);
        let y: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let values = (0..n * d).map(|i| random.normal() + 0.5 * y[i / d]).collect::<Vec<_>>();
        let bound = |y: f64, side: f64| if y * side > 0.0 { side * c } else { 0.0 };
        Self {
            x: Matrix::dense(values, n, d).unwrap(),
            linear: y.iter().map(|y| -y).collect(),
            lower: y.iter().map(|&y| bound(y, -1.0)).collect(),
            upper: y.iter().map(|&y| bound(y, 1.0)).collect(),
            start: None,
            kink: 0.0,
            second: None,
        }
    }

    fn regression(n: usize, c: f64, kink: f64) -> Self {
        let mut random = Random::new(5, 0);
        let values: Vec<f64> = (0..2 * n).map(|_| random.normal()).collect();
        let linear = values.chunks(2).map(|x| -(x[0].sin() + 0.3 * x[1] + 0.2 * random.normal())).collect();
        Self { x: Matrix::dense(values, n, 2).unwrap(), linear, lower: vec![-c; n], upper: vec![c; n], start: None, kink, second: None }
    }

    fn problem(&self) -> DualProblem<'_> {
        let equality = self.second.as_deref().map_or(Equality::Sum, Equality::TwoSums);
        DualProblem {
            linear: &self.linear,
            lower: &self.lower,
            upper: &self.upper,
            kink: self.kink,
            equality,
            start: self.start.as_deref(),
        }
    }

    fn solve(&self, kernel: &Kernel, options: &Options, context: &Context<'_>) -> DualSolution {
        let source = TableKernel::new(kernel, &self.x, context);
        Solver::new(&source, None, context).unwrap().solve(&self.problem(), options).unwrap()
    }
}

fn feasible(case: &Case, solution: &DualSolution) {
    let b = &solution.coefficients;
    assert!((0..b.len()).all(|i| case.lower[i] <= b[i] && b[i] <= case.upper[i]), "bounds");
    let wanted: f64 = case.start.as_ref().map_or(0.0, |s| s.iter().sum());
    assert!(
        (b.iter().sum::<f64>() - wanted).abs() < 1e-9 * (1.0 + b.iter().map(|v| v.abs()).sum::<f64>()),
        "sum {}",
        b.iter().sum::<f64>()
    );
}

/// The gradient that the solution claims, recomputed from the plain formula.
fn honest(case: &Case, kernel: &Kernel, solution: &DualSolution, allowed: f64) {
    let n = case.linear.len();
    let rows: Vec<Vec<f64>> = (0..n).map(|i| (0..case.x.columns()).map(|j| case.x.get(i, j)).collect()).collect();
    for i in 0..n {
        let mut g = case.linear[i];
        for j in 0..n {
            if solution.coefficients[j] != 0.0 {
                g += solution.coefficients[j] * kernel.evaluate(&rows[i], &rows[j]).unwrap();
            }
        }
        assert!((g - solution.gradient[i]).abs() < allowed, "gradient {i}: {} for {g}, {allowed:e} allowed", solution.gradient[i]);
    }
}

#[test]
fn small_problems_are_solved_exactly_at_the_default_tolerance() {
    for (c, d) in [(0.1, 2), (1.0, 5), (100.0, 5)] {
        for kernel in [Kernel::rbf(0.3), Kernel::poly(3, 0.2, 1.0), Kernel::Linear, Kernel::Laplacian { gamma: 0.2.into() }] {
            let case = Case::classes(150, d, c, 1);
            let solution = case.solve(&kernel, &Options::default(), &Context::default());
            assert_eq!(solution.stop, StopReason::Converged);
            feasible(&case, &solution);
            honest(&case, &kernel, &solution, 1e-9 * (1.0 + c * 150.0));
            let exact = solution.violation < 1e-8 && solution.gap < 1e-8;
            assert!(exact || kernel == Kernel::Linear, "{kernel:?} C = {c}: violation {:e}, gap {:e}", solution.violation, solution.gap);
            assert!(solution.violation <= 1e-3);
        }
    }
}

#[test]
fn single_and_double_precision_find_the_same_optimum() {
    let case = Case::classes(1500, 4, 1.0, 2);
    let kernel = Kernel::rbf(0.25);
    let plain = Options { polish: false, ..Options::default() };
    let fast = case.solve(&kernel, &plain, &Context::default());
    let tight = case.solve(&kernel, &Options { tolerance: 1e-10, ..plain }, &Context::default());
    assert!(fast.violation <= 1e-3 && tight.violation <= 1e-10, "{:e} {:e}", fast.violation, tight.violation);
    assert!((fast.objective / tight.objective - 1.0).abs() < 1e-5);
    assert!(tight.gap < 1e-9 && fast.gap < 1e-3, "{:e} {:e}", tight.gap, fast.gap);
    honest(&case, &kernel, &fast, 1e-4);
    honest(&case, &kernel, &tight, 1e-9);
}

/// Far from the bounds, where most steps are conjugate ones; with a kink; with two sums.
#[test]
fn conjugate_steps_end_at_the_optimum() {
    let mut groups = Case::classes(900, 4, 20.0, 6);
    groups.second = Some(groups.linear.iter().map(|q| *q > 0.0).collect());
    groups.start = Some((0..900).map(|i| 0.1 * (groups.upper[i] + groups.lower[i])).collect());
    for case in [Case::classes(900, 4, 1000.0, 6), Case::regression(900, 50.0, 0.05), groups] {
        let kernel = Kernel::rbf(0.2);
        let options = Options { polish: false, ..Options::default() };
        let fast = case.solve(&kernel, &options, &Context::default());
        let tight = case.solve(&kernel, &Options { tolerance: 1e-8, ..options }, &Context::default());
        assert!(fast.violation <= 1e-3 && tight.violation <= 1e-8, "{:e} {:e}", fast.violation, tight.violation);
        assert!((fast.objective / tight.objective - 1.0).abs() < 1e-4, "{} {}", fast.objective, tight.objective);
        feasible(&case, &fast);
        honest(&case, &kernel, &fast, 1e-3);
    }
}

#[test]
fn threads_cache_and_shrinking_do_not_change_the_answer() {
    let case = Case::classes(3500, 6, 10.0, 3);
    let kernel = Kernel::rbf(0.1);
    let options = Options { polish: false, shrinking: false, ..Options::default() };
    let reference = case.solve(&kernel, &options, &Context::single());
    for threads in [2, 3] {
        let again = case.solve(&kernel, &options, &Context::default().with_threads(threads));
        assert_eq!(reference.coefficients, again.coefficients, "{threads} threads");
        assert_eq!(reference.gradient, again.gradient);
    }
    let context = Context::single();
    let source = TableKernel::new(&kernel, &case.x, &context);
    let small = Solver::new(&source, Some(1 << 20), &context).unwrap().solve(&case.problem(), &options).unwrap();
    assert_eq!(reference.coefficients, small.coefficients, "small cache");
    let shrunk = case.solve(&kernel, &Options { shrinking: true, ..options }, &Context::default());
    assert!(shrunk.violation <= 1e-3 && reference.violation <= 1e-3);
    assert!((shrunk.objective / reference.objective - 1.0).abs() < 1e-5, "{} {}", shrunk.objective, reference.objective);
    honest(&case, &kernel, &shrunk, 1e-3);
}

#[test]
fn a_lone_fit_of_some_thousand_rows_begins_with_half_of_the_matrix() {
    let case = Case::classes(1000, 6, 1.0, 3);
    let context = Context::single();
    let source = TableKernel::new(&Kernel::rbf(0.1), &case.x, &context);
    let whole = 1000 * 1000 * 4;
    let lone = Solver::new(&source, None, &context).unwrap().budget(&case.problem(), 4);
    assert_eq!((lone.first, lone.most), (whole / 2, whole));
    let shared = Solver::new(&source, None, &context).unwrap().shared().budget(&case.problem(), 4);
    assert_eq!((shared.first, shared.most), (whole, whole));
}

#[test]
fn every_instruction_set_finds_the_same_optimum() {
    let case = Case::classes(700, 3, 2.0, 4);
    let objectives: Vec<f64> = Isa::available()
        .map(|isa| {
            let solution =
                case.solve(&Kernel::rbf(0.4), &Options { tolerance: 1e-6, ..Options::default() }, &Context { isa, ..Context::default() });
            assert!(solution.violation <= 1e-6, "{isa:?}: {:e}", solution.violation);
            solution.objective
        })
        .collect();
    assert!(objectives.iter().all(|o| (o / objectives[0] - 1.0).abs() < 1e-9), "{objectives:?}");
}

#[test]
fn a_warm_start_ends_where_a_cold_one_does() {
    let case = Case::classes(400, 3, 1.0, 5);
    let options = Options { tolerance: 1e-8, ..Options::default() };
    let cold = case.solve(&Kernel::rbf(0.5), &options, &Context::default());
    let half = Case::classes(400, 3, 0.5, 5).solve(&Kernel::rbf(0.5), &options, &Context::default());
    let warm_case = Case { start: Some(half.coefficients.iter().map(|v| v * 2.0).collect()), ..Case::classes(400, 3, 1.0, 5) };
    let warm = warm_case.solve(&Kernel::rbf(0.5), &options, &Context::default());
    assert!((warm.objective / cold.objective - 1.0).abs() < 1e-10);
    assert!(warm.coefficients.iter().zip(&cold.coefficients).all(|(a, b)| (a - b).abs() < 1e-5));
}

/// Classes and numbers along a rising C: the gradient is carried from solution to solution, and is about as good as it says: the worst
/// value may be more than four standard deviations off.
#[test]
fn along_a_ray_the_carried_gradient_is_as_good_as_it_says() {
    let kernel = Kernel::rbf(0.2);
    let options = Options { polish: false, ..Options::default() };
    let (mut carried, mut anew) = (0, 0);
    for make in [|c: f64| Case::classes(900, 4, c, 6), |c: f64| Case::regression(900, c, 0.05)] {
        let table = make(1.0);
        let context = Context::default();
        let source = TableKernel::new(&kernel, &table.x, &context);
        let mut solver = Solver::new(&source, None, &context).unwrap().shared();
        let mut last: Option<(f64, DualSolution)> = None;
        for c in [0.05, 0.2, 0.25, 1.0, 10.0, 300.0] {
            let mut case = make(c);
            let bounds: Vec<(f64, f64)> = case.lower.iter().copied().zip(case.upper.iter().copied()).collect();
            let start = last.as_ref().map(|(before, last)| along_ray(last, |i| table.linear[i], case.kink, c / before, |i| bounds[i]));
            let (point, known) = Start::parts(start);
            if let (Some(known), Some(point)) = (&known, &point) {
                let begin = DualSolution { coefficients: point.clone(), gradient: known.gradient.clone(), ..last.clone().unwrap().1 };
                let on_ray = known.error.is_finite();
                if on_ray {
                    honest(&case, &kernel, &begin, 2.0 * known.error + 1e-9);
                }
                carried += usize::from(on_ray && known.error > 0.0);
                anew += usize::from(!on_ray);
            }
            case.start = point;
            let warm = solver.solve_from(&case.problem(), known, &options).unwrap();
            assert!(warm.violation <= 1e-3 && warm.gradient_error.is_finite(), "{:e} {:e}", warm.violation, warm.gradient_error);
            honest(&case, &kernel, &warm, 2.0 * warm.gradient_error + 1e-9);
            let cold = Case { start: None, ..make(c) }.solve(&kernel, &Options { tolerance: 1e-8, ..options }, &context);
            assert!((warm.objective / cold.objective - 1.0).abs() < 1e-4, "{c}: {} {}", warm.objective, cold.objective);
            last = Some((c, warm));
        }
    }
    assert!(carried > 5, "{carried} carried, {anew} off the ray");
}

/// What is not good enough is computed anew.
#[test]
fn a_gradient_that_is_too_wrong_is_not_believed() {
    let (kernel, options) = (Kernel::rbf(0.2), Options { polish: false, ..Options::default() });
    let case = Case::classes(900, 4, 1.0, 6);
    let context = Context::default();
    let source = TableKernel::new(&kernel, &case.x, &context);
    let plain = Solver::new(&source, None, &context).unwrap().solve(&case.problem(), &options).unwrap();
    let begin = Case { start: Some(plain.coefficients), ..Case::classes(900, 4, 1.0, 6) };
    for error in [1e-2, f64::INFINITY] {
        let known = Known { gradient: vec![7.0; 900], error };
        let again = Solver::new(&source, None, &context).unwrap().solve_from(&begin.problem(), Some(known), &options).unwrap();
        honest(&begin, &kernel, &again, 2.0 * again.gradient_error);
        assert_eq!(again.iterations, 0);
    }
}

#[test]
fn a_bound_missed_by_a_rounding_says_nothing_about_the_offset() {
    let x = Matrix::dense(vec![-1.0, 1.0, 4.0, 6.0], 4, 1).unwrap();
    let start = |first: f64| Some(vec![first, -0.1, 0.1, -0.1]);
    let case = |start| Case {
        x: x.clone(),
        linear: vec![-1.0, 1.0, -1.0, 1.0],
        lower: vec![0.0, -0.1, 0.0, -0.1],
        upper: vec![0.1, 0.0, 0.1, 0.0],
        start,
        kink: 0.0,
        second: None,
    };
    let solve = |start| case(start).solve(&Kernel::rbf(1.0), &Options::default(), &Context::default());
    let (plain, near) = (solve(start(0.1)), solve(start(0.1_f64.next_down())));
    assert_eq!((plain.coefficients.clone(), plain.offsets), (near.coefficients, near.offsets));
    assert!((plain.offsets[0] - solve(None).offsets[0]).abs() < 1e-12);
    // The middle of an interval: twins on both sides.
    assert!(plain.offsets[0].abs() < 0.01, "{:?}", plain.offsets);
    let wide = |c| {
        let case = Case::classes(60, 4, c, 1);
        case.solve(&Kernel::rbf(2.0), &Options::default(), &Context::default()).coefficients
    };
    assert_eq!(wide(1e6), wide(1e300), "bounds that nobody comes near");
}

#[test]
fn regression_with_a_kink_is_optimal() {
    for kink in [0.0, 0.1, 0.5] {
        let case = Case::regression(300, 2.0, kink);
        let kernel = Kernel::rbf(1.0);
        let solution = case.solve(&kernel, &Options { tolerance: 1e-7, ..Options::default() }, &Context::default());
        assert!(solution.violation <= 1e-7 && solution.gap < 1e-6, "kink {kink}: {:e} {:e}", solution.violation, solution.gap);
        feasible(&case, &solution);
        honest(&case, &kernel, &solution, 1e-8);
    }
}

#[test]
fn two_sums_are_both_kept() {
    let mut case = Case::classes(300, 3, 1.0, 6);
    let second: Vec<bool> = case.linear.iter().map(|q| *q > 0.0).collect();
    let start: Vec<f64> = (0..300).map(|i| 0.3 * (case.upper[i] + case.lower[i])).collect();
    let sums = |b: &[f64]| [true, false].map(|side| b.iter().zip(&second).filter(|(_, s)| **s == side).map(|(b, _)| b).sum::<f64>());
    let wanted = sums(&start);
    case.linear = vec![0.0; 300];
    case.second = Some(second.clone());
    case.start = Some(start);
    let solution = case.solve(&Kernel::rbf(0.3), &Options { tolerance: 1e-8, ..Options::default() }, &Context::default());
    let found = sums(&solution.coefficients);
    assert!((found[0] - wanted[0]).abs() < 1e-9 && (found[1] - wanted[1]).abs() < 1e-9);
    assert!(solution.violation <= 1e-8 && solution.gap < 1e-7, "{:e} {:e}", solution.violation, solution.gap);
}

#[test]
fn without_an_equality_every_slope_points_out_of_the_box() {
    let case = Case::classes(250, 3, 1.0, 7);
    let context = Context::default();
    let kernel = Kernel::rbf(0.3);
    let source = TableKernel::new(&kernel, &case.x, &context);
    let problem = DualProblem { equality: Equality::Free, ..case.problem() };
    let solution =
        Solver::new(&source, None, &context).unwrap().solve(&problem, &Options { tolerance: 1e-9, ..Options::default() }).unwrap();
    assert!(solution.violation <= 1e-9 && solution.gap < 1e-8, "{:e} {:e}", solution.violation, solution.gap);
    assert_eq!(solution.offsets, [0.0, 0.0]);
    honest(&case, &kernel, &solution, 1e-9);
}

#[test]
fn indefinite_kernels_come_to_an_end() {
    for kernel in [Kernel::sigmoid(0.5, 0.3), Kernel::Multiquadric { gamma: 1.0.into(), coef0: 1.0 }, Kernel::poly(3, 1.0, -1.0)] {
        for n in [200, 900] {
            let case = Case::classes(n, 3, 10.0, 8);
            let solution = case.solve(&kernel, &Options::default(), &Context::default());
            assert_eq!(solution.stop, StopReason::Converged, "{kernel:?}");
            feasible(&case, &solution);
            assert!(solution.violation <= 1e-3, "{kernel:?} n = {n}: {:e}", solution.violation);
        }
    }
}

#[test]
fn stopped_runs_return_a_usable_point_and_the_reason() {
    let case = Case::classes(2000, 5, 100.0, 9);
    let kernel = Kernel::rbf(0.05);
    let few = case.solve(&kernel, &Options { max_iterations: Some(50), ..Options::default() }, &Context::default());
    assert_eq!((few.stop, few.iterations), (StopReason::MaxIterations, 50));
    feasible(&case, &few);
    assert!(few.violation > 1e-3 && few.gap > 0.0);
    honest(&case, &kernel, &few, 1e-2);
    let flag = StopFlag::default();
    flag.stop();
    let context = Context::default().with_observer(&flag);
    let stopped = case.solve(&kernel, &Options { tolerance: 1e-9, ..Options::default() }, &context);
    assert_eq!(stopped.stop, StopReason::Interrupted);
    let late = case.solve(
        &kernel,
        &Options { tolerance: 1e-9, ..Options::default() },
        &Context::default().with_time_limit(std::time::Duration::ZERO),
    );
    assert_eq!(late.stop, StopReason::TimeLimit);
}

/// Samples that were left out when the steps ran out had no gradient, and the certificate was NaN.
#[test]
fn steps_that_run_out_while_samples_are_left_out_keep_the_certificate() {
    let case = Case::classes(700, 5, 1000.0, 9);
    let kernel = Kernel::rbf(0.05);
    for most in [2500, 4000, 6000] {
        for tolerance in [1e-3, 1e-8] {
            let options = Options { max_iterations: Some(most), tolerance, ..Options::default() };
            let solution = case.solve(&kernel, &options, &Context::default());
            assert!(solution.gap.is_finite() && solution.violation.is_finite() && solution.objective.is_finite(), "{most} {tolerance}");
            honest(&case, &kernel, &solution, 1e-2);
        }
    }
}

#[test]
fn samples_without_room_are_absent_but_get_decision_values() {
    let mut case = Case::classes(300, 3, 1.0, 10);
    for i in 200..300 {
        (case.lower[i], case.upper[i]) = (0.0, 0.0);
    }
    let kernel = Kernel::rbf(0.3);
    let options = Options { tolerance: 1e-9, ..Options::default() };
    let masked = case.solve(&kernel, &options, &Context::default());
    let keep: Vec<usize> = (0..200).collect();
    let part = Case {
        x: case.x.select(&keep),
        linear: case.linear[..200].to_vec(),
        lower: case.lower[..200].to_vec(),
        upper: case.upper[..200].to_vec(),
        start: None,
        kink: 0.0,
        second: None,
    };
    let alone = part.solve(&kernel, &options, &Context::default());
    assert!((masked.objective / alone.objective - 1.0).abs() < 1e-10);
    honest(&case, &kernel, &masked, 1e-9);
}
