use super::*;
use crate::data::Matrix;
use crate::observe::Context;
use crate::random::Random;

/// Samples around a random plane, some on the wrong side.
fn samples(n: usize, d: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed, 7);
    let truth: Vec<f64> = (0..d).map(|_| random.normal()).collect();
    let x: Vec<f64> = (0..n * d).map(|_| random.normal() + 0.5).collect();
    let mut y: Vec<f64> = (0..n)
        .map(|i| {
            let score: f64 = x[i * d..(i + 1) * d].iter().zip(&truth).map(|(a, b)| a * b).sum();
            if score + random.normal() > 0.3 { 1.0 } else { -1.0 }
        })
        .collect();
    y[0] = 1.0;
    if n > 1 {
        y[1] = -1.0;
    }
    (x, y)
}

fn prices(y: &[f64], c: f64) -> (Vec<f64>, Vec<f64>) {
    (y.iter().map(|&y| if y > 0.0 { c } else { 0.0 }).collect(), y.iter().map(|&y| if y < 0.0 { c } else { 0.0 }).collect())
}

fn classes<'a>(x: &'a Matrix<'a>, y: &'a [f64], prices: &'a (Vec<f64>, Vec<f64>), loss: LinearLoss, bias: Bias) -> LinearProblem<'a> {
    LinearProblem { x, target: y, up: &prices.0, down: &prices.1, tube: 0.0, loss, regularizer: Regularizer::L2, bias }
}

#[test]
fn every_shape_loss_bias_and_price_reaches_its_gap() {
    for (n, d) in [(1, 3), (2, 1), (50, 3), (700, 20), (3000, 30), (40, 200)] {
        for loss in [LinearLoss::Absolute, LinearLoss::Squared] {
            for bias in [Bias::Free, Bias::Column(1.0), Bias::None] {
                for c in [1e-6, 1e-3, 1.0, 1e3, 1e8] {
                    let (x, y) = samples(n, d, (n + d) as u64);
                    let (x, prices) = (Matrix::dense(x, n, d).unwrap(), prices(&y, c));
                    let solution = solve_linear(&classes(&x, &y, &prices, loss, bias), 1e-6, None, &Context::single()).unwrap();
                    assert!(solution.gap <= 1e-6, "{n} x {d} {loss:?} {bias:?} C = {c}: {} by {}", solution.gap, solution.method);
                    assert_eq!(solution.stop, StopReason::Converged);
                }
            }
        }
    }
}

/// A hostile problem: wild scales, duplicate and constant columns, zero rows, conflicting labels, separable classes, any C.
fn hostile(k: u64, random: &mut Random) -> (Vec<f64>, Vec<f64>, usize, f64) {
    let (n, d) = (2 + random.below(1200), 1 + random.below(60));
    let (mut x, mut y) = samples(n, d, 1000 + k);
    let spread = [0.0, 1.0, 4.0][random.below(3)];
    let scales: Vec<f64> = (0..d).map(|_| 10f64.powf(spread * (2.0 * random.uniform() - 1.0))).collect();
    x.chunks_exact_mut(d).for_each(|row| row.iter_mut().zip(&scales).for_each(|(v, s)| *v *= s));
    if random.below(3) == 0 && d > 1 {
        x.chunks_exact_mut(d).for_each(|row| row[1] = row[0]);
    }
    if random.below(4) == 0 {
        x.chunks_exact_mut(d).for_each(|row| row[0] = 3.0);
    }
    if random.below(3) == 0 {
        for i in 0..n / 2 {
            x.copy_within((n - 1 - i) * d..(n - i) * d, i * d);
        }
    }
    if random.below(5) == 0 {
        x[..d].fill(0.0);
    }
    if random.below(4) == 0 {
        y.iter_mut().zip(x.chunks_exact(d)).for_each(|(y, row)| *y = if row[d - 1] > 0.0 { 1.0 } else { -1.0 });
        (y[0], y[1]) = (1.0, -1.0);
    }
    (x, y, d, 10f64.powf(-6.0 + 14.0 * random.uniform()))
}

#[test]
fn six_hundred_hostile_problems_all_reach_a_gap_of_a_millionth() {
    let mut random = Random::new(99, 0);
    for k in 0..600 {
        let (x, y, d, c) = hostile(k, &mut random);
        let n = y.len();
        let (x, prices) = (Matrix::dense(x, n, d).unwrap(), prices(&y, c));
        let loss = if k % 2 == 0 { LinearLoss::Absolute } else { LinearLoss::Squared };
        let bias = [Bias::Free, Bias::Column(1.0)][random.below(2)];
        let solution = solve_linear(&classes(&x, &y, &prices, loss, bias), 1e-6, None, &Context::single()).unwrap();
        assert!(solution.gap <= 1e-6, "{k}: {n} x {d} {loss:?} {bias:?} C = {c:.1e}: {:.1e} by {}", solution.gap, solution.method);
    }
}

#[test]
fn wild_scales_and_a_large_price_do_not_matter() {
    let (n, d) = (5000, 30);
    let (mut x, y) = samples(n, d, 5);
    let scales: Vec<f64> = (0..d).map(|j| 10f64.powf(-4.0 + 8.0 * j as f64 / (d - 1) as f64)).collect();
    x.chunks_exact_mut(d).for_each(|row| row.iter_mut().zip(&scales).for_each(|(v, s)| *v *= s));
    let (x, prices) = (Matrix::dense(x, n, d).unwrap(), prices(&y, 1e4));
    for loss in [LinearLoss::Absolute, LinearLoss::Squared] {
        let solution = solve_linear(&classes(&x, &y, &prices, loss, Bias::Free), 1e-4, None, &Context::default()).unwrap();
        assert!(solution.gap <= 1e-4, "{loss:?}: {}", solution.gap);
    }
}

/// A wide sparse table like word counts.
fn words(n: usize, d: usize) -> (Matrix<'static>, Vec<f64>) {
    let mut random = Random::new(3, 1);
    let truth: Vec<f64> = (0..d).map(|_| random.normal()).collect();
    let (mut offsets, mut indices, mut values, mut y) = (vec![0], Vec::new(), Vec::new(), Vec::new());
    for _ in 0..n {
        let mut row: Vec<usize> = (0..20).map(|_| (random.uniform().powi(2) * d as f64) as usize).collect();
        row.sort_unstable();
        row.dedup();
        let score: f64 = row.iter().map(|&j| truth[j]).sum();
        y.push(if score + random.normal() > 1.0 { 1.0 } else { -1.0 });
        values.extend(row.iter().map(|_| 1.0 / (row.len() as f64).sqrt()));
        indices.extend(row.iter().map(|&j| j as u32));
        offsets.push(indices.len());
    }
    (Matrix::Sparse(crate::data::Csr::new(offsets, indices, values, d).unwrap()), y)
}

#[test]
fn coordinate_descent_on_wide_sparse_rows_agrees_with_the_reduction_on_dense_ones() {
    for (n, d) in [(1600, 4000), (300, 4000)] {
        descent_agrees(n, d);
    }
}

fn descent_agrees(n: usize, d: usize) {
    let (x, y) = words(n, d);
    let prices = prices(&y, 1.0);
    for loss in [LinearLoss::Absolute, LinearLoss::Squared] {
        for bias in [Bias::Free, Bias::Column(1.0), Bias::None] {
            let problem = classes(&x, &y, &prices, loss, bias);
            let sparse = solve_linear(&problem, 1e-6, None, &Context::default()).unwrap();
            assert_eq!(sparse.method, "coordinate descent");
            assert!(sparse.gap <= 1e-6, "{loss:?} {bias:?}: {}", sparse.gap);
            if bias != Bias::Free {
                continue;
            }
            let dense = x.to_dense();
            let reduced = solve_linear(&LinearProblem { x: &dense, ..problem }, 1e-6, None, &Context::default()).unwrap();
            assert!(reduced.gap <= 1e-6 && reduced.method != "coordinate descent");
            assert!((sparse.primal / reduced.primal - 1.0).abs() < 2e-6, "{} and {}", sparse.primal, reduced.primal);
            assert!((sparse.bias - reduced.bias).abs() < 1e-2, "{} and {}", sparse.bias, reduced.bias);
        }
    }
}

#[test]
fn the_l1_penalty_makes_zeros_and_reaches_its_gap() {
    let (x, y) = samples(800, 60, 8);
    let dense = Matrix::dense(x, 800, 60).unwrap();
    let (wide, wide_y) = words(600, 2000);
    for (x, y) in [(&dense, &y), (&wide, &wide_y)] {
        let mut most = usize::MAX;
        for c in [1.0, 0.1, 0.02] {
            let prices = prices(y, c);
            let problem = LinearProblem { regularizer: Regularizer::L1, ..classes(x, y, &prices, LinearLoss::Squared, Bias::Free) };
            let solution = solve_linear(&problem, 1e-6, None, &Context::default()).unwrap();
            assert!(solution.gap <= 1e-6, "C = {c}: {}", solution.gap);
            let used = solution.weights.iter().filter(|w| **w != 0.0).count();
            assert!(used <= most && (c == 1.0 || used < x.columns()), "C = {c}: {used} weights");
            most = used;
        }
    }
}

#[test]
fn the_l1_penalty_finds_the_same_optimum_in_sparse_and_dense_rows() {
    // Sparse enough that slopes are read from rows, and dense as given, where they follow a Gram matrix; C = 10 needs many sweeps.
    let (n, d) = (900, 3000);
    let mut random = Random::new(3, 5);
    let mut values = vec![0.0; n * d];
    (0..n * 6).for_each(|k| values[k / 6 * d + random.below(d)] = random.uniform());
    let y: Vec<f64> = (0..n).map(|_| if random.below(2) == 0 { 1.0 } else { -1.0 }).collect();
    let dense = Matrix::dense(values, n, d).unwrap();
    let sparse = dense.to_sparse();
    for (c, bias) in [(1.0, Bias::Free), (3.0, Bias::Column(1.0)), (10.0, Bias::Free)] {
        let prices = prices(&y, c);
        let [one, other] = [&dense, &sparse].map(|x| {
            let problem = LinearProblem { regularizer: Regularizer::L1, ..classes(x, &y, &prices, LinearLoss::Squared, bias) };
            solve_linear(&problem, 1e-5, None, &Context::default()).unwrap()
        });
        assert!(one.gap <= 1e-5 && other.gap <= 1e-5, "C = {c}: {} and {}", one.gap, other.gap);
        assert!((one.primal / other.primal - 1.0).abs() <= 1e-5, "C = {c}: {} and {}", one.primal, other.primal);
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let (n, d) = (6000, 50);
    let (x, y) = samples(n, d, 2);
    let (x, prices) = (Matrix::dense(x, n, d).unwrap(), prices(&y, 1.0));
    for loss in [LinearLoss::Absolute, LinearLoss::Squared] {
        let problem = classes(&x, &y, &prices, loss, Bias::Free);
        let one = solve_linear(&problem, 1e-6, None, &Context::single()).unwrap();
        let two = solve_linear(&problem, 1e-6, None, &Context::default().with_threads(2)).unwrap();
        assert_eq!((one.weights, one.bias, one.dual), (two.weights, two.bias, two.dual));
    }
}

#[test]
fn a_warm_start_reaches_the_same_point_in_fewer_steps() {
    let (n, d) = (4000, 40);
    let (x, y) = samples(n, d, 4);
    let fewer: Vec<f64> = x.chunks_exact(d).flat_map(|row| row[..d - 1].to_vec()).collect();
    let (all, fewer) = (Matrix::dense(x, n, d).unwrap(), Matrix::dense(fewer, n, d - 1).unwrap());
    for loss in [LinearLoss::Absolute, LinearLoss::Squared] {
        let (old, new) = (prices(&y, 0.5), prices(&y, 1.0));
        let first = solve_linear(&classes(&fewer, &y, &old, loss, Bias::Free), 1e-3, None, &Context::default()).unwrap();
        let start = LinearStart { weights: first.weights, bias: first.bias, dual: first.dual };
        let problem = classes(&all, &y, &new, loss, Bias::Free);
        let (cold, warm) = (
            solve_linear(&problem, 1e-8, None, &Context::default()).unwrap(),
            solve_linear(&problem, 1e-8, Some(&start), &Context::default()).unwrap(),
        );
        assert!(warm.gap <= 1e-8 && cold.gap <= 1e-8);
        assert!((warm.primal / cold.primal - 1.0).abs() < 2e-8);
        let apart: f64 = warm.weights.iter().zip(&cold.weights).map(|(a, b)| (a - b).powi(2)).sum();
        assert!(apart <= 4.0 * 1e-8 * cold.primal, "strong convexity bounds the distance: {apart}");
    }
}

#[test]
fn small_problems_are_exact_unless_little_is_asked_for() {
    for (n, exact) in [(100, true), (400, false)] {
        let (x, y) = samples(n, 10, 6);
        let (x, prices) = (Matrix::dense(x, n, 10).unwrap(), prices(&y, 1.0));
        let problem = classes(&x, &y, &prices, LinearLoss::Absolute, Bias::Free);
        let [rough, fine] = [1e-2, 1e-3].map(|tolerance| solve_linear(&problem, tolerance, None, &Context::single()).unwrap());
        assert!(rough.gap <= 1e-2 && fine.gap <= 1e-12, "{} and {}", rough.gap, fine.gap);
        assert_eq!(rough.gap <= 1e-12, exact);
    }
}

#[test]
fn tubes_of_both_losses_are_solved() {
    let mut random = Random::new(11, 0);
    for (n, d) in [(300, 4), (5000, 12), (30, 80)] {
        let x: Vec<f64> = (0..n * d).map(|_| random.normal()).collect();
        let t: Vec<f64> = x.chunks_exact(d).map(|row| 10.0 * row[0] - 3.0 * row[1] + 50.0 + random.normal()).collect();
        let x = Matrix::dense(x, n, d).unwrap();
        for (loss, tube) in
            [(LinearLoss::Absolute, 0.0), (LinearLoss::Absolute, 0.5), (LinearLoss::Squared, 0.5), (LinearLoss::Absolute, 1e3)]
        {
            for c in [1e-2, 1.0, 1e3] {
                let price = vec![c; n];
                let problem = LinearProblem {
                    x: &x,
                    target: &t,
                    up: &price,
                    down: &price,
                    tube,
                    loss,
                    regularizer: Regularizer::L2,
                    bias: Bias::Free,
                };
                let solution = solve_linear(&problem, 1e-6, None, &Context::default()).unwrap();
                assert!(solution.gap <= 1e-6, "{n} x {d} {loss:?} tube {tube} C = {c}: {} by {}", solution.gap, solution.method);
            }
        }
    }
}
