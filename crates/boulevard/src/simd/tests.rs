//! Every instruction set against plain loops.

use super::sweep::{self, Diagonal, First, KINK_LOW, KINK_UP, LOW, Motion, Rules, SECOND_GROUP_SHIFT, UP};
use super::tile::{Finish, apply};
use super::{Isa, Real};
use crate::random::Random;

const N: usize = 320;

struct State<T> {
    gradient: Vec<T>,
    status: Vec<u8>,
    rows: [Vec<T>; 2],
    diagonal: Vec<T>,
}

/// Values with few digits, so that sums are exact in both precisions and ties happen.
fn state<T: Real>(seed: u64) -> State<T> {
    let mut random = Random::new(seed, 0);
    let mut values = |range: usize| -> Vec<T> { (0..N).map(|_| T::from_f64(random.below(range) as f64 / 8.0 - 4.0)).collect() };
    let (gradient, a, b) = (values(64), values(64), values(64));
    let diagonal = vec![T::from_f64(8.0); N];
    let mut random = Random::new(seed, 1);
    let status = (0..N).map(|i| if i < 300 { random.below(64) as u8 } else { 0 }).collect();
    State { gradient, status, rows: [a, b], diagonal }
}

fn update_agrees<T: Real>() {
    let [half, quarter, minus] = [0.5, 0.25, -0.25].map(T::from_f64);
    for motion in [Motion::Pair([half, minus]), Motion::Begin(half), Motion::Follow { step: half, share: quarter }] {
        for seed in 0..20 {
            for kink in [0.0, 0.5] {
                [0, SECOND_GROUP_SHIFT].into_iter().for_each(|shift| one_update_agrees(seed, kink, shift, motion));
            }
        }
    }
}

fn one_update_agrees<T: Real>(seed: u64, kink: f64, shift: u32, motion: Motion<T>) {
    let plain = state::<T>(seed);
    let [a, b, before] = [&plain.rows[0], &plain.rows[1], &plain.diagonal].map(|v| v.iter().map(|v| v.to_f64()).collect::<Vec<_>>());
    let trail = |i: usize| match motion {
        Motion::Pair(_) => before[i],
        Motion::Begin(_) => a[i] - b[i],
        Motion::Follow { .. } => a[i] - b[i] - 0.25 * before[i],
    };
    let way = |i: usize| if matches!(motion, Motion::Pair(_)) { 0.5 * a[i] - 0.25 * b[i] } else { 0.5 * trail(i) };
    let expected: Vec<f64> = (0..N).map(|i| plain.gradient[i].to_f64() + way(i)).collect();
    let value = |i: usize, bit: u8| expected[i] + if plain.status[i] & bit != 0 { kink } else { -kink };
    let able = |bit: u8| (0..N).filter(move |&i| state::<T>(seed).status[i] & (bit << shift) != 0);
    let up = able(UP).min_by(|&i, &j| value(i, KINK_UP).total_cmp(&value(j, KINK_UP)).then(j.cmp(&i)));
    let low = able(LOW).map(|i| value(i, KINK_LOW)).fold(f64::NEG_INFINITY, f64::max);
    for isa in Isa::available() {
        let mut state = state::<T>(seed);
        let rules = Rules { status: &state.status, kink: T::from_f64(kink), group_shift: shift };
        let rows = [&state.rows[0][..], &state.rows[1][..]];
        let mut found = sweep::Extremes::default();
        sweep::update(isa, &mut state.gradient, &mut state.diagonal, rules, motion, rows, &mut found);
        assert!(state.gradient.iter().zip(&expected).all(|(a, b)| a.to_f64() == *b), "{isa:?} {motion:?}");
        assert!(state.diagonal.iter().enumerate().all(|(i, v)| v.to_f64() == trail(i)), "{isa:?} {motion:?}");
        assert_eq!(found.up.best().map(|(v, i)| (v.to_f64(), i)), up.map(|i| (value(i, KINK_UP), i)), "{isa:?}");
        assert_eq!(found.low.to_f64(), low, "{isa:?}");
    }
}

#[test]
fn updates_agree_with_plain_loops() {
    update_agrees::<f32>();
    update_agrees::<f64>();
}

fn partner_agrees<T: Real>() {
    for seed in 0..20 {
        let s = state::<T>(seed);
        let first = First { row: &s.rows[0], diagonal: T::from_f64(8.0), gradient: T::from_f64(-1.0) };
        let gain = |i: usize| {
            let difference = s.gradient[i].to_f64() + 1.0;
            let curvature = (16.0 - 2.0 * s.rows[0][i].to_f64()).max(0.5);
            if s.status[i] & LOW != 0 && difference > 0.0 { difference * difference / curvature } else { 0.0 }
        };
        let best = (0..N).map(gain).fold(0.0, f64::max);
        for isa in Isa::available() {
            for diagonal in [Diagonal::Constant(T::from_f64(8.0)), Diagonal::Each(&s.diagonal)] {
                let rules = Rules { status: &s.status, kink: T::default(), group_shift: 0 };
                let mut found = sweep::Candidates::default();
                sweep::partner(isa, &s.gradient, rules, first, diagonal, T::from_f64(0.5), &mut found);
                let (_, i) = found.best().unwrap();
                // The choice is made with approximate reciprocals: the chosen one is as good as the best to three digits.
                assert!(gain(i) >= best * 0.999, "{isa:?}: {} for {best}", gain(i));
            }
        }
    }
}

#[test]
fn partners_agree_with_plain_loops() {
    partner_agrees::<f32>();
    partner_agrees::<f64>();
}

fn exponential_agrees<T: Real>(allowed: f64) {
    let points: Vec<f64> = (0..4000).map(|i| -f64::from(i) / 37.0).collect();
    for isa in Isa::available() {
        let mut values: Vec<T> = points.iter().map(|&p| T::from_f64(p)).collect();
        apply(isa, &Finish::Exp2, &mut values);
        assert_eq!(values[0].to_f64(), 1.0, "{isa:?}: two to the zero");
        for (&point, value) in points.iter().zip(&values) {
            let exact = T::from_f64(point).to_f64().exp2();
            assert!((value.to_f64() / exact - 1.0).abs() <= allowed, "{isa:?}: 2^{point} = {exact}, not {value:?}");
        }
        let mut far = [T::from_f64(-1e6), T::from_f64(1.0)];
        apply(isa, &Finish::Exp2, &mut far);
        assert!(far[0].to_f64() < 1e-37 && far[1].to_f64() == 1.0, "{isa:?}: the ends");
    }
}

#[test]
fn exponentials_are_accurate_to_rounding() {
    exponential_agrees::<f32>(2.5e-7);
    exponential_agrees::<f64>(6e-16);
}
