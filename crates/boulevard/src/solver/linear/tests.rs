use super::*;
use crate::data::Matrix;
use crate::observe::Context;
use crate::random::Random;

fn problem_data(n: usize, d: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed, 7);
    let truth: Vec<f64> = (0..d).map(|_| random.normal()).collect();
    let x: Vec<f64> = (0..n * d).map(|_| random.normal() + 0.5).collect();
    let y = (0..n)
        .map(|i| {
            let score: f64 = x[i * d..(i + 1) * d].iter().zip(&truth).map(|(a, b)| a * b).sum::<f64>() + random.normal();
            if score > 0.3 { 1.0 } else { -1.0 }
        })
        .collect();
    (x, y)
}

fn prices(y: &[f64], c: f64) -> (Vec<f64>, Vec<f64>) {
    (y.iter().map(|&y| if y > 0.0 { c } else { 0.0 }).collect(), y.iter().map(|&y| if y < 0.0 { c } else { 0.0 }).collect())
}

#[test]
fn every_shape_and_loss_reaches_its_gap() {
    for (n, d) in [(1, 3), (2, 1), (50, 3), (700, 20), (3000, 40), (40, 200)] {
        for loss in [LinearLoss::Absolute, LinearLoss::Squared] {
            for bias in [Bias::Free, Bias::Column(1.0), Bias::None] {
                for c in [1e-3, 1.0, 1e3] {
                    let (x, mut y) = problem_data(n, d, (n + d) as u64);
                    y[0] = 1.0;
                    if n > 1 {
                        y[1] = -1.0;
                    }
                    let x = Matrix::dense(x, n, d).unwrap();
                    let (up, down) = prices(&y, c);
                    let problem =
                        LinearProblem { x: &x, target: &y, up: &up, down: &down, tube: 0.0, loss, regulariser: Regulariser::L2, bias };
                    let solution = solve_linear(&problem, 1e-6, None, &Context::default()).unwrap();
                    assert!(solution.gap <= 1e-6, "{n} x {d} {loss:?} {bias:?} C={c}: gap {} by {}", solution.gap, solution.method);
                }
            }
        }
    }
}
