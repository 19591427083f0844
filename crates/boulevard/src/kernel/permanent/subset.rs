//! Permanents by dynamic programming over subsets of columns.
//!
//! ```text
//! f[0] = 1,   f[A] = sum over c in A of M[|A| - 1, c] f[A \ c],   perm M = f[all]
//! ```
//!
//! `K 2^(K-1)` products and no subtraction: for entries that are not negative the relative error stays near `2 K` roundings whatever the
//! range of the entries. Ryser's and Glynn's formulas were rejected: they need more operations, they cancel, and they can give negative
//! values for narrow kernels.

use super::MAX_SET;
use crate::simd::{Isa, Job, Real, Simd};

/// The permanent of a row-major `k x k` matrix.
///
/// ```
/// use boulevard::kernel::permanent::permanent;
/// assert_eq!(permanent(&[1.0, 2.0, 3.0, 4.0], 2), 10.0);
/// ```
pub fn permanent(m: &[f64], k: usize) -> f64 {
    assert_eq!(m.len(), k * k, "a square matrix");
    assert!(k <= super::MAX_SET, "at most {} rows", super::MAX_SET);
    let mut table = vec![0.0; 1 << k];
    table[0] = 1.0;
    for mask in 1..1usize << k {
        let row = &m[(mask.count_ones() as usize - 1) * k..];
        let (mut sum, mut left) = (0.0, mask);
        while left != 0 {
            let c = left.trailing_zeros() as usize;
            left &= left - 1;
            sum += row[c] * table[mask ^ (1 << c)];
        }
        table[mask] = sum;
    }
    table[(1 << k) - 1]
}

/// The logarithm of the permanent of a matrix of logarithms: neither entries nor products can underflow.
///
/// Every row is scaled by its largest entry, and the logarithms of the scales are added back.
///
/// ```
/// use boulevard::kernel::permanent::log_permanent;
/// let tiny = log_permanent(&[-800.0, -900.0, -950.0, -700.0], 2);
/// assert!((tiny + 1500.0).abs() < 1e-12);
/// ```
pub fn log_permanent(logarithms: &[f64], k: usize) -> f64 {
    assert_eq!(logarithms.len(), k * k, "a square matrix");
    let mut scaled = logarithms.to_vec();
    let mut scale = 0.0;
    // Rows first, then columns: a column far below the others in every row would underflow as a whole.
    for (step, stride) in [(k, 1), (1, k)] {
        for line in 0..k {
            let places = || (0..k).map(|i| line * step + i * stride);
            let largest = places().map(|i| scaled[i]).fold(f64::NEG_INFINITY, f64::max);
            if largest == f64::NEG_INFINITY {
                return f64::NEG_INFINITY;
            }
            scale += largest;
            places().for_each(|i| scaled[i] -= largest);
        }
    }
    scaled.iter_mut().for_each(|value| *value = value.exp());
    permanent(&scaled, k).ln() + scale
}

/// Where the entries of panels of matrices are: a panel is `k` runs of `k` times `lanes` values, one run per row or one per column.
pub(super) trait Places: Copy {
    /// Whether runs are columns.
    const COLUMNS: bool;
    /// Lanes of a panel, whole registers.
    fn lanes(&self) -> usize;
    /// Where a run of a panel begins.
    fn run(&self, panel: usize, run: usize) -> usize;
    /// Where entry `(r, c)` of a panel begins.
    fn at(&self, panel: usize, r: usize, c: usize) -> usize {
        let (run, place) = if Self::COLUMNS { (c, r) } else { (r, c) };
        self.run(panel, run) + place * self.lanes()
    }
}

/// Rows `stride` apart; in each, the entries of panel after panel.
#[derive(Clone, Copy)]
pub(super) struct InRows {
    pub stride: usize,
    pub k: usize,
    pub lanes: usize,
}

impl Places for InRows {
    const COLUMNS: bool = false;
    fn lanes(&self) -> usize {
        self.lanes
    }
    #[inline(always)]
    fn run(&self, panel: usize, run: usize) -> usize {
        run * self.stride + panel * self.k * self.lanes
    }
}

/// A matrix per set of columns: column `c` of panel `p` is the run of sample `sets[p k + c]`.
#[derive(Clone, Copy)]
pub(super) struct BySample<'a> {
    pub sets: &'a [u32],
    pub k: usize,
    pub lanes: usize,
}

impl Places for BySample<'_> {
    const COLUMNS: bool = true;
    fn lanes(&self) -> usize {
        self.lanes
    }
    #[inline(always)]
    fn run(&self, panel: usize, run: usize) -> usize {
        self.sets[panel * self.k + run] as usize * self.k * self.lanes
    }
}

/// Some lanes of a panel of matrices of size `K`.
#[derive(Clone, Copy)]
struct Entries<'a, T, P, const K: usize> {
    runs: [&'a [T]; K],
    places: P,
    lane: usize,
}

impl<'a, T: Real, P: Places, const K: usize> Entries<'a, T, P, K> {
    #[inline(always)]
    fn new(values: &'a [T], places: P, panel: usize) -> Self {
        let mut runs = [&values[..0]; K];
        let mut i = 0;
        while i < K {
            let start = places.run(panel, i);
            runs[i] = &values[start..start + K * places.lanes()];
            i += 1;
        }
        Self { runs, places, lane: 0 }
    }

    /// A row of the matrices.
    #[inline(always)]
    fn row<S: Simd<T>>(&self, simd: S, r: usize) -> [S::V; K] {
        let mut row = [simd.splat(T::default()); K];
        let mut c = 0;
        while c < K {
            let (run, place) = if P::COLUMNS { (c, r) } else { (r, c) };
            row[c] = simd.load(&self.runs[run][place * self.places.lanes() + self.lane..]);
            c += 1;
        }
        row
    }
}

/// The permanents of panels of `k x k` matrices, multiplied by `factor`; `table` has room for `2^k` registers.
pub(super) fn permanents<T: Real, P: Places>(isa: Isa, k: usize, values: &[T], places: P, table: &mut [T], factor: T, out: &mut [T]) {
    struct Permanents<'a, T, P> {
        k: usize,
        values: &'a [T],
        places: P,
        table: &'a mut [T],
        factor: T,
        out: &'a mut [T],
    }
    impl<T: Real, P: Places> Job<T> for Permanents<'_, T, P> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<T>>(self, simd: S) {
            let Self { k, values, places, table, factor, out } = self;
            // Of small matrices every value of the recursion has a register of its own.
            macro_rules! in_registers {
                ($k:literal, $formula:ident) => {{
                    let (simd, factor) = (simd.one(), simd.one().splat(factor));
                    for (panel, out) in out.chunks_exact_mut(places.lanes()).enumerate() {
                        let mut entries = Entries::<T, P, $k>::new(values, places, panel);
                        for out in out.chunks_exact_mut(S::One::LANES) {
                            simd.store(simd.mul($formula(simd, &entries), factor), out);
                            entries.lane += S::One::LANES;
                        }
                    }
                }};
            }
            match k {
                1 => in_registers!(1, one),
                2 => in_registers!(2, two),
                3 => in_registers!(3, three),
                4 => in_registers!(4, four),
                5 => in_registers!(5, five),
                _ => {
                    let (simd, factor) = (simd.one(), simd.one().splat(factor));
                    for (panel, out) in out.chunks_exact_mut(places.lanes()).enumerate() {
                        for (part, out) in out.chunks_exact_mut(S::One::LANES).enumerate() {
                            let value = by_subsets(simd, k, &values[part * S::One::LANES..], places, panel, table);
                            simd.store(simd.mul(value, factor), out);
                        }
                    }
                }
            }
        }
    }
    T::dispatch(isa, Permanents { k, values, places, table, factor, out });
}

/// Largest matrix whose permanent is written out.
pub(super) const IN_REGISTERS: usize = 5;

/// `sum of a_i b_i`
#[inline(always)]
fn dot<T: Real, S: Simd<T>, const N: usize>(simd: S, a: [S::V; N], b: [S::V; N]) -> S::V {
    let mut sum = simd.mul(a[0], b[0]);
    let mut i = 1;
    while i < N {
        sum = simd.fma(a[i], b[i], sum);
        i += 1;
    }
    sum
}

#[inline(always)]
fn one<T: Real, S: Simd<T>, P: Places>(simd: S, entries: &Entries<'_, T, P, 1>) -> S::V {
    let [only] = entries.row(simd, 0);
    only
}

#[inline(always)]
fn two<T: Real, S: Simd<T>, P: Places>(simd: S, entries: &Entries<'_, T, P, 2>) -> S::V {
    let ([a, b], row) = (entries.row(simd, 0), entries.row(simd, 1));
    dot(simd, row, [b, a])
}

#[inline(always)]
fn three<T: Real, S: Simd<T>, P: Places>(simd: S, entries: &Entries<'_, T, P, 3>) -> S::V {
    let [a, b, c] = entries.row(simd, 0);
    let [x, y, z] = entries.row(simd, 1);
    let (ab, ac, bc) = (dot(simd, [x, y], [b, a]), dot(simd, [x, z], [c, a]), dot(simd, [y, z], [c, b]));
    dot(simd, entries.row(simd, 2), [bc, ac, ab])
}

#[inline(always)]
fn four<T: Real, S: Simd<T>, P: Places>(simd: S, entries: &Entries<'_, T, P, 4>) -> S::V {
    let [a, b, c, d] = entries.row(simd, 0);
    let [x, y, z, w] = entries.row(simd, 1);
    let (ab, ac, ad) = (dot(simd, [x, y], [b, a]), dot(simd, [x, z], [c, a]), dot(simd, [x, w], [d, a]));
    let (bc, bd, cd) = (dot(simd, [y, z], [c, b]), dot(simd, [y, w], [d, b]), dot(simd, [z, w], [d, c]));
    let [x, y, z, w] = entries.row(simd, 2);
    let (abc, abd) = (dot(simd, [x, y, z], [bc, ac, ab]), dot(simd, [x, y, w], [bd, ad, ab]));
    let (acd, bcd) = (dot(simd, [x, z, w], [cd, ad, ac]), dot(simd, [y, z, w], [cd, bd, bc]));
    dot(simd, entries.row(simd, 3), [bcd, acd, abd, abc])
}

#[inline(always)]
fn five<T: Real, S: Simd<T>, P: Places>(simd: S, entries: &Entries<'_, T, P, 5>) -> S::V {
    let [a, b, c, d, e] = entries.row(simd, 0);
    let [x, y, z, w, v] = entries.row(simd, 1);
    let (ab, ac) = (dot(simd, [x, y], [b, a]), dot(simd, [x, z], [c, a]));
    let (ad, ae) = (dot(simd, [x, w], [d, a]), dot(simd, [x, v], [e, a]));
    let (bc, bd, be) = (dot(simd, [y, z], [c, b]), dot(simd, [y, w], [d, b]), dot(simd, [y, v], [e, b]));
    let (cd, ce, de) = (dot(simd, [z, w], [d, c]), dot(simd, [z, v], [e, c]), dot(simd, [w, v], [e, d]));
    let [x, y, z, w, v] = entries.row(simd, 2);
    let (abc, abd, abe) = (dot(simd, [x, y, z], [bc, ac, ab]), dot(simd, [x, y, w], [bd, ad, ab]), dot(simd, [x, y, v], [be, ae, ab]));
    let (acd, ace, ade) = (dot(simd, [x, z, w], [cd, ad, ac]), dot(simd, [x, z, v], [ce, ae, ac]), dot(simd, [x, w, v], [de, ae, ad]));
    let (bcd, bce, bde, cde) = (
        dot(simd, [y, z, w], [cd, bd, bc]),
        dot(simd, [y, z, v], [ce, be, bc]),
        dot(simd, [y, w, v], [de, be, bd]),
        dot(simd, [z, w, v], [de, ce, cd]),
    );
    let [x, y, z, w, v] = entries.row(simd, 3);
    let abcd = dot(simd, [x, y, z, w], [bcd, acd, abd, abc]);
    let abce = dot(simd, [x, y, z, v], [bce, ace, abe, abc]);
    let abde = dot(simd, [x, y, w, v], [bde, ade, abe, abd]);
    let acde = dot(simd, [x, z, w, v], [cde, ade, ace, acd]);
    let bcde = dot(simd, [y, z, w, v], [cde, bde, bce, bcd]);
    dot(simd, entries.row(simd, 4), [bcde, acde, abde, abce, abcd])
}

/// Columns whose subsets are taken together.
const LOW: usize = 3;

/// The recursion in memory. The eight subsets of the first three columns are taken together for every subset of the others: eight sums in
/// registers hide the latency, and every run that is read serves all of them.
#[inline(always)]
fn by_subsets<T: Real, S: Simd<T>>(simd: S, k: usize, values: &[T], places: impl Places, panel: usize, table: &mut [T]) -> S::V {
    // Where every entry begins, row by row.
    let mut starts = [0; MAX_SET * MAX_SET];
    for (r, starts) in starts.chunks_exact_mut(k).take(k).enumerate() {
        starts.iter_mut().enumerate().for_each(|(c, start)| *start = places.at(panel, r, c));
    }
    let mut last = simd.splat(T::default());
    for high in 0..1usize << (k - LOW) {
        let size = high.count_ones() as usize;
        let zero = simd.splat(T::default());
        let mut none = if high == 0 { simd.splat(T::from_f64(1.0)) } else { zero };
        let (mut a, mut b, mut ab, mut c, mut ac, mut bc, mut abc) = (zero, zero, zero, zero, zero, zero, zero);
        let mut left = high;
        while left != 0 {
            let without = (high ^ (left & left.wrapping_neg())) * (S::LANES << LOW);
            let column = left.trailing_zeros() as usize + LOW;
            left &= left - 1;
            let from = &table[without..without + (S::LANES << LOW)];
            let entry = |extra: usize| &values[starts[(size + extra - 1) * k + column]..];
            let (m0, m1, m2, m3) = (simd.load(entry(0)), simd.load(entry(1)), simd.load(entry(2)), simd.load(entry(3)));
            none = simd.fma(m0, simd.load(from), none);
            a = simd.fma(m1, simd.load(&from[S::LANES..]), a);
            b = simd.fma(m1, simd.load(&from[2 * S::LANES..]), b);
            ab = simd.fma(m2, simd.load(&from[3 * S::LANES..]), ab);
            c = simd.fma(m1, simd.load(&from[4 * S::LANES..]), c);
            ac = simd.fma(m2, simd.load(&from[5 * S::LANES..]), ac);
            bc = simd.fma(m2, simd.load(&from[6 * S::LANES..]), bc);
            abc = simd.fma(m3, simd.load(&from[7 * S::LANES..]), abc);
        }
        let row = |extra: usize, column: usize| &values[starts[(size + extra) * k + column]..];
        let (x, y, z) = (simd.load(row(0, 0)), simd.load(row(0, 1)), simd.load(row(0, 2)));
        a = simd.fma(x, none, a);
        b = simd.fma(y, none, b);
        c = simd.fma(z, none, c);
        let (x, y, z) = (simd.load(row(1, 0)), simd.load(row(1, 1)), simd.load(row(1, 2)));
        ab = simd.fma(x, b, simd.fma(y, a, ab));
        ac = simd.fma(x, c, simd.fma(z, a, ac));
        bc = simd.fma(y, c, simd.fma(z, b, bc));
        let (x, y, z) = (simd.load(row(2, 0)), simd.load(row(2, 1)), simd.load(row(2, 2)));
        abc = simd.fma(x, bc, simd.fma(y, ac, simd.fma(z, ab, abc)));
        let to = &mut table[high * (S::LANES << LOW)..(high + 1) * (S::LANES << LOW)];
        simd.store(none, to);
        simd.store(a, &mut to[S::LANES..]);
        simd.store(b, &mut to[2 * S::LANES..]);
        simd.store(ab, &mut to[3 * S::LANES..]);
        simd.store(c, &mut to[4 * S::LANES..]);
        simd.store(ac, &mut to[5 * S::LANES..]);
        simd.store(bc, &mut to[6 * S::LANES..]);
        simd.store(abc, &mut to[7 * S::LANES..]);
        last = abc;
    }
    last
}
