//! The mean over matchings of `(coef0 + sum of matched inner products)^degree`: what polynomial kernels of concatenated samples become.
//!
//! These kernels are no products over samples, so that no permanent appears; for degrees up to 3 the sum over all matchings has a closed
//! form in the entries, row sums and column sums of `M`, and any degree is a coefficient of a permanent of power series.

/// The mean over all matchings `s` of `(coef0 + sum_k M[k, s(k)])^degree`, for a row-major `k x k` matrix.
///
/// ```
/// use boulevard::kernel::permanent::mean_power;
/// // Two matchings: 1 + 4 and 2 + 3.
/// assert_eq!(mean_power(&[1.0, 2.0, 3.0, 4.0], 2, 2, 0.0), 25.0);
/// ```
pub fn mean_power(m: &[f64], k: usize, degree: u32, coef0: f64) -> f64 {
    assert_eq!(m.len(), k * k, "a square matrix");
    if k == 1 {
        return (coef0 + m[0]).powi(degree as i32);
    }
    match degree {
        0 => 1.0,
        1 => Sums::new(m, k).first() + coef0,
        2 => {
            let sums = Sums::new(m, k);
            sums.second() + 2.0 * coef0 * sums.first() + coef0 * coef0
        }
        3 => {
            let sums = Sums::new(m, k);
            let (first, second) = (sums.first(), sums.second());
            sums.third(m) + 3.0 * coef0 * second + 3.0 * coef0 * coef0 * first + coef0 * coef0 * coef0
        }
        _ => series(m, k, degree as usize, coef0),
    }
}

/// What the closed forms are made of.
struct Sums {
    k: f64,
    /// Sum of all entries, of their squares and of their cubes.
    total: f64,
    squares: f64,
    cubes: f64,
    rows: Vec<f64>,
    columns: Vec<f64>,
}

impl Sums {
    fn new(m: &[f64], k: usize) -> Self {
        let rows: Vec<f64> = m.chunks_exact(k).map(|row| row.iter().sum()).collect();
        let columns = (0..k).map(|c| (0..k).map(|r| m[r * k + c]).sum()).collect();
        let sum = |power: i32| m.iter().map(|v| v.powi(power)).sum::<f64>();
        Self { k: k as f64, total: rows.iter().sum(), squares: sum(2), cubes: sum(3), rows, columns }
    }

    /// Every entry is in one of `k` matchings.
    fn first(&self) -> f64 {
        self.total / self.k
    }

    /// Sums of the products of entries that share neither row nor column.
    fn disjoint_pairs(&self) -> f64 {
        self.total * self.total - square_sum(&self.rows) - square_sum(&self.columns) + self.squares
    }

    fn second(&self) -> f64 {
        self.squares / self.k + self.disjoint_pairs() / (self.k * (self.k - 1.0))
    }

    fn third(&self, m: &[f64]) -> f64 {
        let (k, n) = (self.k, self.rows.len());
        let (mut crossed, mut bilinear) = (0.0, 0.0);
        for r in 0..n {
            for c in 0..n {
                let value = m[r * n + c];
                crossed += value * value * (self.rows[r] + self.columns[c]);
                bilinear += self.rows[r] * value * self.columns[c];
            }
        }
        let two_and_one = self.total * self.squares - crossed + self.cubes;
        let mut mean = self.cubes / k + 3.0 * two_and_one / (k * (k - 1.0));
        if n > 2 {
            let cube_sum = |values: &[f64]| values.iter().map(|v| v * v * v).sum::<f64>();
            let three = self.total.powi(3) - 3.0 * self.total * (square_sum(&self.rows) + square_sum(&self.columns))
                + 2.0 * (cube_sum(&self.rows) + cube_sum(&self.columns))
                + 3.0 * self.total * self.squares
                + 6.0 * bilinear
                - 6.0 * crossed
                + 4.0 * self.cubes;
            mean += three / (k * (k - 1.0) * (k - 2.0));
        }
        mean
    }
}

fn square_sum(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum()
}

/// Any degree: `degree! [t^degree] e^(coef0 t) perm(exp(t M)) / k!`, by the subset recurrence over series. Coefficient `j` is kept times
/// `j!`, so that series multiply with binomial weights and nothing overflows before the result does.
fn series(m: &[f64], k: usize, degree: usize, coef0: f64) -> f64 {
    let terms = degree + 1;
    let mut binomial = vec![0.0; terms * terms];
    for n in 0..terms {
        binomial[n * terms] = 1.0;
        for j in 1..=n {
            binomial[n * terms + j] = binomial[(n - 1) * terms + j - 1] + if j < n { binomial[(n - 1) * terms + j] } else { 0.0 };
        }
    }
    let powers = |base: f64| -> Vec<f64> { (0..terms).map(|j| base.powi(j as i32)).collect() };
    let entries: Vec<Vec<f64>> = m.iter().map(|&value| powers(value)).collect();
    let mut table = vec![0.0; (1usize << k) * terms];
    table[..terms].copy_from_slice(&powers(coef0));
    for mask in 1..1usize << k {
        let size = mask.count_ones() as usize;
        let mut sum = vec![0.0; terms];
        for c in (0..k).filter(|c| mask >> c & 1 == 1) {
            let (before, entry) = (&table[(mask ^ (1 << c)) * terms..][..terms], &entries[(size - 1) * k + c]);
            for (n, sum) in sum.iter_mut().enumerate() {
                *sum += (0..=n).map(|j| binomial[n * terms + j] * before[j] * entry[n - j]).sum::<f64>();
            }
        }
        // A mean at every step instead of one division by k! at the end.
        table[mask * terms..(mask + 1) * terms].iter_mut().zip(&sum).for_each(|(to, sum)| *to = sum / size as f64);
    }
    table[((1usize << k) - 1) * terms + degree]
}
