use super::*;
use crate::random::Random;
use crate::solver::linear::{LinearLoss, LinearProblem, Regularizer, solve_linear};

/// Overlapping clouds around random centers.
fn clouds(n: usize, d: usize, k: usize, seed: u64) -> (Vec<f64>, Vec<u32>) {
    let mut random = Random::new(seed, 3);
    let centers: Vec<f64> = (0..k * d).map(|_| 1.5 * random.normal()).collect();
    let codes: Vec<u32> = (0..n).map(|i| if i < k { i as u32 } else { random.below(k) as u32 }).collect();
    let x = (0..n * d).map(|at| centers[codes[at / d] as usize * d + at % d] + random.normal() + 0.7).collect();
    (x, codes)
}

/// The primal objective, from its definition alone.
fn objective(problem: &ClassesProblem<'_>, solution: &ClassesSolution) -> f64 {
    let (d, k) = (problem.x.columns(), problem.classes);
    let mut total = 0.5 * solution.weights.iter().map(|w| w * w).sum::<f64>();
    if let Bias::Column(value) = problem.bias {
        total += 0.5 * solution.biases.iter().map(|b| (b / value).powi(2)).sum::<f64>();
    }
    for row in 0..problem.x.rows() {
        let mut scores = solution.biases.clone();
        problem.x.for_each(row, |j, v| (0..k).for_each(|m| scores[m] += v * solution.weights[m * d + j]));
        let own = problem.codes[row] as usize;
        let worst = (0..k).map(|m| scores[m] - scores[own] + f64::from(u8::from(m != own))).fold(0.0, f64::max);
        total += problem.prices[row] * worst;
    }
    total
}

#[test]
fn every_shape_bias_and_price_reaches_its_gap() {
    for (n, d, k) in [(3, 1, 3), (30, 2, 2), (200, 4, 3), (120, 30, 5), (20, 60, 4)] {
        for bias in [Bias::Free, Bias::Column(1.0), Bias::None] {
            for c in [1e-4, 1.0, 1e4] {
                let (x, codes) = clouds(n, d, k, (n + d) as u64);
                let x = Matrix::dense(x, n, d).unwrap();
                let prices = vec![c; n];
                let problem = ClassesProblem { x: &x, codes: &codes, classes: k, prices: &prices, bias };
                let solution = solve_classes(&problem, 1e-6, &Context::single()).unwrap();
                let what = format!("{n} x {d}, {k} classes, {bias:?}, C = {c}: gap {:.1e} by {}", solution.gap, solution.method);
                assert!(solution.gap <= 1e-6, "{what}");
                assert_eq!(solution.stop, StopReason::Converged, "{what}");
                let primal = objective(&problem, &solution);
                assert!((primal - solution.primal).abs() <= 1e-9 * primal.max(1e-9), "{what}: {primal} is not {}", solution.primal);
                assert!(solution.objective <= primal * (1.0 + 1e-12));
            }
        }
    }
}

/// Descent and interior point are two roads to one place.
#[test]
fn both_methods_find_the_same_machines() {
    let (n, d, k) = (150, 5, 4);
    let (x, codes) = clouds(n, d, k, 11);
    let x = Matrix::dense(x, n, d).unwrap();
    let prices: Vec<f64> = (0..n).map(|i| 0.3 + 0.1 * (i % 4) as f64).collect();
    for bias in [Bias::Free, Bias::Column(2.0), Bias::None] {
        let constant = if let Bias::Column(value) = bias { Some(value) } else { None };
        let table = LinearTable::new(&x, bias == Bias::Free, constant, &Context::single()).unwrap();
        let joint = Joint { table: &table, codes: &codes, classes: k, prices: &prices, free_bias: bias == Bias::Free };
        let one = descent::solve(&joint, 1e-7, &Context::single()).unwrap();
        let other = interior::solve(&joint, 1e-7, &Context::single()).unwrap();
        assert!(one.proof.relative() <= 1e-7, "{bias:?}: {}", one.proof.relative());
        assert!(other.proof.relative() <= 1e-7, "{bias:?}: {}", other.proof.relative());
        let size = one.proof.weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        let apart = one.proof.weights.iter().zip(&other.proof.weights).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!(apart <= 1e-3 * size, "{bias:?}: {apart} of {size}");
    }
}

/// With two classes `w = w_1 - w_0` is the machine with the hinge at twice the price.
#[test]
fn two_classes_are_the_machine_with_the_hinge() {
    let (n, d) = (90, 3);
    let (x, codes) = clouds(n, d, 2, 5);
    let x = Matrix::dense(x, n, d).unwrap();
    let target: Vec<f64> = codes.iter().map(|&code| 2.0 * f64::from(code) - 1.0).collect();
    let side = |sign: f64| target.iter().map(|&y| if y == sign { 1.4 } else { 0.0 }).collect::<Vec<f64>>();
    let (up, down) = (side(1.0), side(-1.0));
    for bias in [Bias::Free, Bias::None] {
        let classes = ClassesProblem { x: &x, codes: &codes, classes: 2, prices: &vec![0.7; n], bias };
        let joint = solve_classes(&classes, 1e-9, &Context::single()).unwrap();
        let (loss, regularizer) = (LinearLoss::Absolute, Regularizer::L2);
        let problem = LinearProblem { x: &x, target: &target, up: &up, down: &down, tube: 0.0, loss, regularizer, bias };
        let hinge = solve_linear(&problem, 1e-9, None, &Context::single()).unwrap();
        assert!((2.0 * joint.primal - hinge.primal).abs() <= 1e-7 * hinge.primal, "{} and {}", 2.0 * joint.primal, hinge.primal);
        for j in 0..d {
            let w = joint.weights[d + j] - joint.weights[j];
            assert!((w - hinge.weights[j]).abs() <= 1e-3 * (1.0 + w.abs()), "column {j}: {w} and {}", hinge.weights[j]);
        }
    }
}

#[test]
fn wild_scales_and_a_large_price_do_not_matter() {
    let (n, d, k) = (200, 6, 3);
    let (mut x, codes) = clouds(n, d, k, 8);
    x.chunks_exact_mut(d).for_each(|row| row.iter_mut().enumerate().for_each(|(j, v)| *v *= 10f64.powi(j as i32 - 3)));
    let x = Matrix::dense(x, n, d).unwrap();
    for c in [1.0, 1e5] {
        let problem = ClassesProblem { x: &x, codes: &codes, classes: k, prices: &vec![c; n], bias: Bias::Free };
        let solution = solve_classes(&problem, 1e-4, &Context::single()).unwrap();
        assert!(solution.gap <= 1e-4, "C = {c}: {} by {}", solution.gap, solution.method);
    }
}

#[test]
fn sparse_rows_are_dense_rows_and_threads_change_nothing() {
    let (n, d, k) = (300, 40, 4);
    let (mut x, codes) = clouds(n, d, k, 2);
    x.iter_mut().enumerate().for_each(|(at, v)| *v *= f64::from(u8::from(at % 7 == 0)));
    let dense = Matrix::dense(x, n, d).unwrap();
    let sparse = dense.to_sparse();
    let prices = vec![1.0; n];
    let solve = |x: &Matrix<'_>, threads: usize| {
        let problem = ClassesProblem { x, codes: &codes, classes: k, prices: &prices, bias: Bias::Free };
        solve_classes(&problem, 1e-7, &Context::single().with_threads(threads)).unwrap()
    };
    let (a, b, c) = (solve(&dense, 1), solve(&sparse, 1), solve(&dense, 2));
    assert!((a.primal - b.primal).abs() <= 1e-6 * a.primal, "{} and {}", a.primal, b.primal);
    assert_eq!(a.weights, c.weights);
}

#[test]
fn what_cannot_be_solved_is_refused() {
    let x = Matrix::dense(vec![0.0, 1.0, 2.0], 3, 1).unwrap();
    let solve = |codes: &[u32], prices: &[f64]| {
        solve_classes(&ClassesProblem { x: &x, codes, classes: 2, prices, bias: Bias::Free }, 1e-4, &Context::single()).map(|s| s.gap)
    };
    assert!(solve(&[0, 1], &[1.0; 3]).unwrap_err().to_string().contains("class codes"));
    assert!(solve(&[0, 0, 1], &[1.0, 1.0, 0.0]).unwrap_err().to_string().contains("class 1 of 2 has no row"));
    assert!(solve(&[0, 1, 2], &[1.0; 3]).unwrap_err().to_string().contains("class code 2 of 2"));
    assert!(solve(&[0, 1, 1], &[f64::MAX; 3]).unwrap_err().to_string().contains("overflows"));
    assert!(solve(&[0, 1, 1], &[1.0; 3]).unwrap() <= 1e-4);
}
