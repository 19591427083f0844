//! The solver's passes over all samples: update the gradient and find the next pair, in one vector loop each.
//!
//! Every sample has a status byte that says which way its variable may move. A pass keeps the best candidate of every lane; lanes are
//! compared at the end, the larger index winning ties (as in LIBSVM, whose path is then ours). The result therefore does not depend on how the samples are cut into parts.

use super::vector::MOST_LANES;
use super::{Isa, Job, Real, Simd};

/// The variable may grow.
pub const UP: u8 = 1;
/// The variable may fall.
pub const LOW: u8 = 2;
/// Growing moves away from zero: it costs the kink instead of saving it.
pub const KINK_UP: u8 = 4;
/// Falling moves towards zero: it saves the kink instead of costing it.
pub const KINK_LOW: u8 = 8;
/// The variable belongs to the second of two groups with sums of their own; [`UP`] and [`LOW`] move up by this many bits.
pub const SECOND_GROUP_SHIFT: u32 = 4;

/// Kernel rows are read this many values ahead: the hardware's own prefetching ends at every page.
const AHEAD: usize = 1024;

/// The best candidate of every lane.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<T> {
    values: [T; MOST_LANES],
    blocks: [T; MOST_LANES],
    lanes: usize,
    best_value: T,
    /// The best sample, negative if there is none.
    best: i64,
}

impl<T: Real> Default for Candidates<T> {
    fn default() -> Self {
        Self { values: [T::default(); MOST_LANES], blocks: [T::from_f64(-1.0); MOST_LANES], lanes: 0, best_value: T::default(), best: -1 }
    }
}

impl<T: Real> Candidates<T> {
    /// Candidates as (value, sample); lanes without one are left out.
    pub fn iter(&self) -> impl Iterator<Item = (T, usize)> + '_ {
        // Block numbers are kept as floating point numbers (exact up to 2^24 blocks) so that one kind of vector is enough.
        (0..self.lanes)
            .filter(|&lane| self.blocks[lane] >= T::default())
            .map(|lane| (self.values[lane], self.blocks[lane].to_f64() as usize * self.lanes + lane))
    }

    /// The best candidate: smallest for [`Extremes::up`], largest for [`partner`]; ties to the larger sample.
    pub fn best(&self) -> Option<(T, usize)> {
        usize::try_from(self.best).ok().map(|sample| (self.best_value, sample))
    }

    /// Compares the lanes, halves against halves: short chains of plain loops, which the compiler vectorises where this is inlined.
    #[inline(always)]
    fn reduce(&mut self, lanes: usize, better: impl Fn(T, T) -> bool) {
        self.lanes = lanes;
        let mut values = self.values;
        // Sample numbers as floating point numbers too: exact below 2^24 in single precision, which is as far as the solver uses it. A
        // lane without a candidate has block -1 and so a negative number.
        let mut samples = self.blocks;
        let width = T::from_f64(lanes as f64);
        for lane in 0..lanes {
            samples[lane] = samples[lane].mul_add(width, T::from_f64(lane as f64));
        }
        let mut half = lanes / 2;
        while half > 0 {
            for i in 0..half {
                let (value, other) = (values[i], values[i + half]);
                let (sample, theirs) = (samples[i], samples[i + half]);
                let tied = if theirs > sample { theirs } else { sample };
                let (winner, number) = if better(other, value) { (other, theirs) } else { (value, sample) };
                values[i] = winner;
                samples[i] = if other == value { tied } else { number };
            }
            half /= 2;
        }
        (self.best_value, self.best) = (values[0], samples[0].to_f64() as i64);
    }
}

/// Which samples a pass looks at, and the price of leaving zero.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a, T> {
    /// One status byte per sample.
    pub status: &'a [u8],
    /// Half the jump of the derivative at zero (the epsilon of regression), 0 if there is none.
    pub kink: T,
    /// Shift of [`UP`] and [`LOW`]: 0, or [`SECOND_GROUP_SHIFT`].
    pub group_shift: u32,
}

/// What [`update`] found.
#[derive(Clone, Copy, Debug)]
pub struct Extremes<T: Real> {
    /// Per lane, the sample that may grow with the smallest gradient.
    pub up: Candidates<T>,
    /// The largest gradient of a sample that may fall; minus infinity if none may.
    pub low: T,
}

impl<T: Real> Default for Extremes<T> {
    fn default() -> Self {
        Self { up: Candidates::default(), low: T::from_f64(f64::NEG_INFINITY) }
    }
}

/// A move of the gradient along two rows `a` and `b`.
#[derive(Clone, Copy, Debug)]
pub enum Motion<T> {
    /// `gradient += step_a a + step_b b`
    Pair([T; 2]),
    /// The same with opposite steps, and `trail = a - b`
    Begin(T),
    /// `trail = a - b - share trail`, then `gradient += step trail`
    Follow {
        /// The step along the new trail.
        step: T,
        /// How much of the old trail is taken out of the new one.
        share: T,
    },
}

/// Moves `gradient`, then `found` holds its extremes. `trail` is the product of the kernel with the last direction.
pub fn update<T: Real>(
    isa: Isa,
    gradient: &mut [T],
    trail: &mut [T],
    rules: Rules<'_, T>,
    motion: Motion<T>,
    rows: [&[T]; 2],
    found: &mut Extremes<T>,
) {
    struct Update<'a, T: Real> {
        gradient: &'a mut [T],
        trail: &'a mut [T],
        rules: Rules<'a, T>,
        motion: Motion<T>,
        rows: [&'a [T]; 2],
        found: &'a mut Extremes<T>,
    }
    const PAIR: u8 = 0;
    const BEGIN: u8 = 1;
    const FOLLOW: u8 = 2;
    impl<T: Real> Job<T> for Update<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<T>>(self, simd: S) {
            match (self.rules.kink == T::default(), self.motion) {
                (true, Motion::Pair(_)) => self.go::<S, false, PAIR>(simd),
                (true, Motion::Begin(_)) => self.go::<S, false, BEGIN>(simd),
                (true, Motion::Follow { .. }) => self.go::<S, false, FOLLOW>(simd),
                (false, Motion::Pair(_)) => self.go::<S, true, PAIR>(simd),
                (false, Motion::Begin(_)) => self.go::<S, true, BEGIN>(simd),
                (false, Motion::Follow { .. }) => self.go::<S, true, FOLLOW>(simd),
            }
        }
    }
    impl<T: Real> Update<'_, T> {
        #[inline(always)]
        fn go<S: Simd<T>, const KINK: bool, const MOTION: u8>(self, simd: S) {
            let Self { gradient, trail, rules, motion, rows, found } = self;
            let negative = |value: T| T::from_f64(-value.to_f64());
            let (step_a, step_b) = match motion {
                Motion::Pair([a, b]) => (a, b),
                Motion::Begin(step) => (step, negative(step)),
                Motion::Follow { step, share } => (step, negative(share)),
            };
            let infinity = simd.splat(T::from_f64(f64::INFINITY));
            let minus_infinity = simd.splat(T::from_f64(f64::NEG_INFINITY));
            let none = simd.splat(T::from_f64(-1.0));
            let (mut up, mut up_block, mut low) = (infinity, none, minus_infinity);
            let (step_a, step_b) = (simd.splat(step_a), simd.splat(step_b));
            let (cost, gain) = (simd.splat(rules.kink), simd.splat(T::from_f64(-rules.kink.to_f64())));
            let (up_bit, low_bit) = (UP << rules.group_shift, LOW << rules.group_shift);
            let one = simd.splat(T::from_f64(1.0));
            let mut block = simd.splat(T::default());
            let parts = gradient.chunks_exact_mut(S::LANES).zip(trail.chunks_exact_mut(S::LANES)).zip(rules.status.chunks_exact(S::LANES));
            let parts = parts.zip(rows[0].chunks_exact(S::LANES).zip(rows[1].chunks_exact(S::LANES)));
            let mut ahead = AHEAD;
            for (((gradient, trail), status), (row_a, row_b)) in parts {
                if ahead < rows[1].len() {
                    simd.prefetch(rows[1], ahead);
                    ahead += S::LANES;
                }
                let (row_a, row_b) = (simd.load(row_a), simd.load(row_b));
                let mut value = simd.load(gradient);
                if MOTION == FOLLOW {
                    let direction = simd.fma(step_b, simd.load(trail), simd.sub(row_a, row_b));
                    simd.store(direction, trail);
                    value = simd.fma(step_a, direction, value);
                } else {
                    if MOTION == BEGIN {
                        simd.store(simd.sub(row_a, row_b), trail);
                    }
                    value = simd.fma(step_a, row_a, value);
                    value = simd.fma(step_b, row_b, value);
                }
                simd.store(value, gradient);
                let (up_value, low_value) = if KINK {
                    (
                        simd.add(value, simd.select(simd.has_bit(status, KINK_UP), cost, gain)),
                        simd.add(value, simd.select(simd.has_bit(status, KINK_LOW), cost, gain)),
                    )
                } else {
                    (value, value)
                };
                let (able, worse) = (simd.has_bit(status, up_bit), simd.less(up, up_value));
                up = simd.select(able, simd.select(worse, up, up_value), up);
                up_block = simd.select(able, simd.select(worse, up_block, block), up_block);
                low = simd.select(simd.has_bit(status, low_bit), simd.max(low, low_value), low);
                block = simd.add(block, one);
            }
            simd.store(up, &mut found.up.values);
            simd.store(up_block, &mut found.up.blocks);
            found.up.reduce(S::LANES, |a, b| a < b);
            let mut lows = [T::default(); MOST_LANES];
            simd.store(low, &mut lows);
            let mut half = S::LANES / 2;
            while half > 0 {
                for i in 0..half {
                    lows[i] = if lows[i + half] > lows[i] { lows[i + half] } else { lows[i] };
                }
                half /= 2;
            }
            found.low = lows[0];
        }
    }
    T::dispatch(isa, Update { gradient, trail, rules, motion, rows, found });
}

/// The first of the two variables of a pair.
#[derive(Clone, Copy, Debug)]
pub struct First<'a, T> {
    /// Its kernel row.
    pub row: &'a [T],
    /// Its kernel value with itself.
    pub diagonal: T,
    /// Its gradient, the kink's share included.
    pub gradient: T,
}

/// Kernel values of the samples with themselves.
#[derive(Clone, Copy, Debug)]
pub enum Diagonal<'a, T> {
    /// The same for all, as for every kernel of distances: saves reading them.
    Constant(T),
    /// One per sample.
    Each(&'a [T]),
}

/// Leaves in `found`, for every lane, the sample that may fall and promises the largest decrease of the objective together with `first` (which grows):
/// `(g_t - g_first)^2 / (K_tt + K_first - 2 K_t,first)`.
pub fn partner<T: Real>(
    isa: Isa,
    gradient: &[T],
    rules: Rules<'_, T>,
    first: First<'_, T>,
    diagonal: Diagonal<'_, T>,
    floor: T,
    found: &mut Candidates<T>,
) {
    struct Partner<'a, T> {
        gradient: &'a [T],
        rules: Rules<'a, T>,
        first: First<'a, T>,
        diagonal: Diagonal<'a, T>,
        floor: T,
        found: &'a mut Candidates<T>,
    }
    impl<T: Real> Job<T> for Partner<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<T>>(self, simd: S) {
            match (self.rules.kink == T::default(), self.diagonal) {
                (true, Diagonal::Constant(_)) => self.go::<S, false, true>(simd),
                (true, Diagonal::Each(_)) => self.go::<S, false, false>(simd),
                (false, Diagonal::Constant(_)) => self.go::<S, true, true>(simd),
                (false, Diagonal::Each(_)) => self.go::<S, true, false>(simd),
            }
        }
    }
    impl<T: Real> Partner<'_, T> {
        #[inline(always)]
        fn go<S: Simd<T>, const KINK: bool, const CONSTANT: bool>(self, simd: S) {
            let Self { gradient, rules, first, diagonal, floor, found } = self;
            let zero = simd.splat(T::default());
            let (mut best, mut best_block) = (zero, simd.splat(T::from_f64(-1.0)));
            let (cost, gain) = (simd.splat(rules.kink), simd.splat(T::from_f64(-rules.kink.to_f64())));
            let (own, own_diagonal) = (simd.splat(first.gradient), simd.splat(first.diagonal));
            let (minus_two, floor, one) = (simd.splat(T::from_f64(-2.0)), simd.splat(floor), simd.splat(T::from_f64(1.0)));
            let low_bit = LOW << rules.group_shift;
            let mut block = zero;
            let parts = gradient.chunks_exact(S::LANES).zip(rules.status.chunks_exact(S::LANES));
            // Where the diagonal is constant its slice is never read; the gradient stands in for its length.
            let (constant, each) = match diagonal {
                Diagonal::Constant(value) => (value, gradient),
                Diagonal::Each(values) => (T::default(), values),
            };
            let constant = simd.add(own_diagonal, simd.splat(constant));
            let parts = parts.zip(first.row.chunks_exact(S::LANES).zip(each.chunks_exact(S::LANES)));
            let mut ahead = AHEAD;
            for ((gradient, status), (row, diagonal)) in parts {
                if ahead < first.row.len() {
                    simd.prefetch(first.row, ahead);
                    ahead += S::LANES;
                }
                let mut value = simd.load(gradient);
                if KINK {
                    value = simd.add(value, simd.select(simd.has_bit(status, KINK_LOW), cost, gain));
                }
                let difference = simd.sub(value, own);
                let both = if CONSTANT { constant } else { simd.add(own_diagonal, simd.load(diagonal)) };
                let curvature = simd.fma(minus_two, simd.load(row), both);
                let (square, curvature) = (simd.mul(difference, difference), simd.max(curvature, floor));
                // A reciprocal good to three digits is plenty for a choice, and much cheaper than a division. Double precision is for
                // small and for delicate problems: there the choice is LIBSVM's to the last digit.
                let decrease = if T::DOUBLE { simd.div(square, curvature) } else { simd.mul(square, simd.reciprocal(curvature)) };
                let able = simd.and(simd.has_bit(status, low_bit), simd.less(zero, difference));
                let worse = simd.less(decrease, best);
                best = simd.select(able, simd.select(worse, best, decrease), best);
                best_block = simd.select(able, simd.select(worse, best_block, block), best_block);
                block = simd.add(block, one);
            }
            simd.store(best, &mut found.values);
            simd.store(best_block, &mut found.blocks);
            found.reduce(S::LANES, |a, b| a > b);
        }
    }
    T::dispatch(isa, Partner { gradient, rules, first, diagonal, floor, found });
}

/// `to += sum_k factors_k from_k`, slices of one length; several at a time share the visits of `to`.
pub fn add_scaled<T: Real, const N: usize>(isa: Isa, to: &mut [f64], factors: [f64; N], from: [&[T]; N]) {
    struct Add<'a, T, const N: usize> {
        to: &'a mut [f64],
        factors: [f64; N],
        from: [&'a [T]; N],
    }
    impl<T: Real, const N: usize> Job<f64> for Add<'_, T, N> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<f64>>(self, _: S) {
            let len = self.to.len();
            let from = self.from.map(|from| &from[..len]);
            for i in 0..len {
                let mut sum = self.to[i];
                for k in 0..N {
                    sum += self.factors[k] * from[k][i].to_f64();
                }
                self.to[i] = sum;
            }
        }
    }
    f64::dispatch(isa, Add { to, factors, from });
}
