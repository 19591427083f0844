//! Kernels between sets against reference numbers, and what must not change them.

use boulevard::data::Matrix;
use boulevard::internal::random::Random;
use boulevard::kernel::Kernel;
use boulevard::kernel::permanent::{Normalization, log_set_kernel, mean_power, permanent, set_kernel};
use boulevard::observe::{Context, Isa};
use serde_json::Value;

use crate::reference::{numbers, reals, rows, vectors};

fn factorial(k: usize) -> f64 {
    (1..=k).map(|i| i as f64).product()
}

const KERNELS: [(usize, usize); 12] = [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 4), (5, 2), (5, 3), (5, 4), (8, 2), (8, 3), (8, 4)];

#[test]
fn set_kernels_are_those_of_the_reference() {
    for (k, d) in KERNELS {
        let case = vectors(&format!("kernel_K{k}_d{d}.json"));
        let x = Matrix::from_rows(&rows(&case["X"])).unwrap();
        let order: Vec<usize> = numbers(&case["Z"]).concat();
        let sets = x.select(&order);
        let context = Context::single();
        let kernel = Kernel::rbf(case["gamma"].as_f64().unwrap());
        let compare = |ours: &[f64], theirs: &[f64], relative: f64| {
            assert_eq!(ours.len(), theirs.len());
            for (a, b) in ours.iter().zip(theirs) {
                assert!((a - b).abs() <= relative * b.abs(), "K = {k}, d = {d}: {a} and {b}");
            }
        };
        let mean = set_kernel(&kernel, &sets, None, k, Normalization::Mean, &context).unwrap();
        compare(&mean, &reals(&case["mean_rbf"]), 1e-12);
        let sum: Vec<f64> = mean.iter().map(|v| v * factorial(k)).collect();
        compare(&sum, &reals(&case["sum_over_permutations_rbf"]), 1e-12);
        let paper: Vec<f64> = sum.iter().map(|v| v * factorial(k)).collect();
        compare(&paper, &reals(&case["paper_eq18_rbf"]), 1e-12);
        let cosine = set_kernel(&kernel, &sets, None, k, Normalization::Cosine, &context).unwrap();
        compare(&cosine, &reals(&case["cosine_rbf"]), 1e-12);
        let logarithms = log_set_kernel(&kernel, &sets, None, k, &context).unwrap();
        compare(&logarithms.iter().map(|v| v.exp()).collect::<Vec<_>>(), &reals(&case["mean_rbf"]), 1e-12);

        // Two tables, other instructions, more threads: the same numbers.
        for isa in Isa::available() {
            let context = Context { isa, threads: 2, ..context };
            let cross = set_kernel(&kernel, &sets, Some(&sets), k, Normalization::Mean, &context).unwrap();
            compare(&cross, &reals(&case["mean_rbf"]), 1e-12);
        }

        // Linear and polynomial kernels: errors relative to the sum of the terms' sizes.
        let (largest, sets_count) = (x_norm(&x), order.len() / k);
        let closed = |name: &str, kernel: Kernel, size: f64, theirs: &Value| {
            let ours = set_kernel(&kernel, &sets, None, k, Normalization::Mean, &context).unwrap();
            let theirs = reals(theirs);
            assert_eq!(ours.len(), sets_count * sets_count);
            for (a, b) in ours.iter().zip(theirs) {
                let b = b / factorial(k);
                assert!((a - b).abs() <= 1e-11 * size, "{name}, K = {k}, d = {d}: {a} and {b}");
            }
        };
        closed("linear", Kernel::Linear, k as f64 * largest, &case["linear_sum"]);
        for (name, theirs) in case["poly_sum"].as_object().unwrap() {
            let (degree, coef0) = name.strip_prefix('p').unwrap().split_once("_c").unwrap();
            let (degree, coef0): (u32, f64) = (degree.parse().unwrap(), coef0.parse().unwrap());
            let size = (k as f64 * largest + coef0).powi(degree as i32);
            closed(name, Kernel::poly(degree, 1.0, coef0), size, theirs);
        }
    }
}

fn x_norm(x: &Matrix<'_>) -> f64 {
    (0..x.rows())
        .map(|row| {
            let mut sum = 0.0;
            x.for_each(row, |_, v| sum += v * v);
            sum
        })
        .fold(0.0, f64::max)
}

#[test]
fn permanents_are_exact_to_rounding() {
    for case in vectors("permanents.json")["cases"].as_array().unwrap() {
        let (k, m) = (case["K"].as_u64().unwrap() as usize, reals(&case["M"]));
        let (exact, size) = (case["perm"].as_f64().unwrap(), case["perm_abs"].as_f64().unwrap());
        let ours = permanent(&m, k);
        // Without negative entries the error is relative to the value itself.
        let bound = 2.5 * k as f64 * f64::EPSILON * size;
        assert!((ours - exact).abs() <= bound.max(f64::MIN_POSITIVE), "K = {k}, {}: {ours} and {exact}", case["kind"]);
    }
}

#[test]
fn powers_of_any_degree_agree_with_all_matchings() {
    fn matchings(m: &[f64], k: usize, row: usize, used: u32, sum: f64, visit: &mut dyn FnMut(f64)) {
        if row == k {
            return visit(sum);
        }
        for c in (0..k).filter(|c| used >> c & 1 == 0) {
            matchings(m, k, row + 1, used | 1 << c, sum + m[row * k + c], visit);
        }
    }
    let mut random = Random::new(0, 0);
    for k in 1..=6 {
        let m: Vec<f64> = (0..k * k).map(|_| random.normal()).collect();
        for degree in 0..=7 {
            for coef0 in [0.0, 1.5, -0.5] {
                let (mut sum, mut size, mut count) = (0.0, 0.0, 0.0);
                matchings(&m, k, 0, 0, 0.0, &mut |total| {
                    let value = (total + coef0).powi(degree as i32);
                    (sum, size, count) = (sum + value, size + value.abs(), count + 1.0);
                });
                let ours = mean_power(&m, k, degree, coef0);
                assert!((ours - sum / count).abs() <= 1e-11 * (size / count).max(1.0), "K = {k}, degree {degree}, {coef0}: {ours}");
            }
        }
    }
}

#[test]
fn kernels_between_sets_do_not_depend_on_the_order_either() {
    let mut random = Random::new(7, 0);
    for k in [2, 3, 4, 7] {
        let x = Matrix::dense((0..12 * k * 3).map(|_| random.normal()).collect::<Vec<_>>(), 12 * k, 3).unwrap();
        let mut order: Vec<usize> = (0..12 * k).collect();
        order.chunks_exact_mut(k).for_each(|set| random.shuffle(set));
        for kernel in [Kernel::rbf(0.4), Kernel::Linear, Kernel::poly(3, 0.5, 1.0), Kernel::Laplacian { gamma: 0.3.into() }] {
            let bits = |x: &Matrix<'_>| -> Vec<u64> {
                set_kernel(&kernel, x, None, k, Normalization::Mean, &Context::default()).unwrap().into_iter().map(f64::to_bits).collect()
            };
            assert_eq!(bits(&x), bits(&x.select(&order)), "{} K = {k}", kernel.name());
            assert_eq!(bits(&x), bits(&x.select(&order).to_sparse().to_dense()));
        }
    }
}

/// More sets than one thread takes at a time, of every size that has a formula of its own and of some that have none.
#[test]
fn sets_that_share_samples_have_the_same_kernel_as_copies() {
    let (mut random, count) = (Random::new(11, 0), 150);
    let kernel = |a: &Matrix<'_>, b: Option<&Matrix<'_>>, k: usize, context: &Context<'_>| {
        set_kernel(&Kernel::rbf(0.5), a, b, k, Normalization::Mean, context).unwrap()
    };
    for k in 1..=8 {
        let x = Matrix::dense((0..20 * 3).map(|_| random.normal()).collect::<Vec<_>>(), 20, 3).unwrap();
        let order: Vec<usize> = (0..count * k).map(|_| random.below(20)).collect();
        let few = x.select(&order);
        let part = x.select(&order[..31 * k]);
        // The same sets with a trace added, up to 1200 roundings: now every sample is distinct.
        let mut row = [0.0; 3];
        let moved: Vec<f64> = (0..few.rows())
            .flat_map(|i| {
                few.copy_row(i, &mut row);
                row.map(|v| v * (1.0 + i as f64 * f64::EPSILON))
            })
            .collect();
        let many = Matrix::dense(moved, few.rows(), 3).unwrap();
        for (isa, other) in Isa::available().flat_map(|isa| [(isa, None), (isa, Some(&part))]) {
            let context = Context { isa, ..Context::single() };
            let (a, b) = (kernel(&few, other, k, &context), kernel(&many, other, k, &context));
            a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() <= 1e-10 * a.abs(), "K = {k}, {isa:?}: {a} and {b}"));
            for (x, alone) in [(&few, &a), (&many, &b)] {
                assert_eq!(&kernel(x, other, k, &context.with_threads(2)), alone, "K = {k}, {isa:?}: two threads");
            }
            if other.is_none() {
                assert!((0..count).all(|i| (0..i).all(|j| a[i * count + j].to_bits() == a[j * count + i].to_bits())), "symmetric");
            }
        }
    }
}

#[test]
fn narrow_kernels_keep_their_logarithms() {
    let far = Matrix::from_rows(&[[0.0], [1.0], [50.0], [51.0]]).unwrap();
    let values = set_kernel(&Kernel::rbf(1.0), &far, None, 2, Normalization::Mean, &Context::default()).unwrap();
    assert!(values[1] < 1e-300);
    let logarithms = log_set_kernel(&Kernel::rbf(1.0), &far, None, 2, &Context::default()).unwrap();
    // Both matchings: (50^2 + 50^2) and (51^2 + 49^2).
    let exact = -5000.0 + (-2f64).exp().ln_1p() - 2f64.ln();
    assert!((logarithms[1] - exact).abs() < 1e-9, "{}", logarithms[1]);
    assert!(log_set_kernel(&Kernel::Linear, &far, None, 2, &Context::default()).is_err());
}
