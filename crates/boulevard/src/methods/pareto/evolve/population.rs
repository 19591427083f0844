//! A population of candidate solutions, each with its cached `Q alpha`.
//!
//! Evaluating a candidate from nothing costs `n` products per nonzero `alpha`. A mutated clone differs from its parent in one or two
//! genes and a child of a crossover in a fraction of them, so the gradient is carried over and only rows of changed genes are added.
//! Candidates that changed in many places are evaluated together by one matrix product.

use crate::linalg::{self, Part, Shape, View};
use crate::simd::{Isa, Job, Real, Simd};

/// From this share of changed genes on, a candidate is evaluated in a matrix product.
const DENSE: f64 = 0.25;
/// Candidates from which a matrix product pays.
const BATCH: usize = 8;

/// One candidate.
#[derive(Clone, Debug)]
pub(in super::super) struct Member {
    pub alpha: Vec<f64>,
    /// `Q alpha`
    pub gradient: Vec<f64>,
    /// To be maximized: `-q`, `s`, and `-|sum alpha y|` where there are three.
    pub objectives: Objectives,
}

/// Two or three objectives, all maximized.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Objectives {
    pub values: [f64; 3],
    pub count: usize,
}

impl AsRef<[f64]> for Objectives {
    fn as_ref(&self) -> &[f64] {
        &self.values[..self.count]
    }
}

/// The problem that candidates are judged by.
pub(in super::super) struct Landscape<'a> {
    /// Row-major `n x n`.
    pub q: &'a [f64],
    pub signs: &'a [f64],
    /// 2 or 3.
    pub objectives: usize,
}

impl Landscape<'_> {
    pub(in super::super) fn len(&self) -> usize {
        self.signs.len()
    }

    fn objectives(&self, alpha: &[f64], gradient: &[f64]) -> Objectives {
        let quadratic = linalg::dot(alpha, gradient);
        let sum: f64 = alpha.iter().sum();
        let balance = if self.objectives == 3 { linalg::dot(alpha, self.signs) } else { 0.0 };
        Objectives { values: [-quadratic, sum, -balance.abs()], count: self.objectives }
    }

    /// The candidate `alpha = 0`.
    pub(in super::super) fn zero(&self) -> Member {
        let zeros = vec![0.0; self.len()];
        Member { objectives: self.objectives(&zeros, &zeros), alpha: zeros.clone(), gradient: zeros }
    }

    /// Evaluates drafts of candidates, in order.
    pub(in super::super) fn evaluate(&self, drafts: Vec<Draft<'_>>) -> Vec<Member> {
        let n = self.len();
        let mut members: Vec<Member> = Vec::with_capacity(drafts.len());
        let mut dense = Vec::new();
        let mut changes = Vec::new();
        for draft in drafts {
            let limit = ((DENSE * n as f64) as usize).max(16);
            let Draft { alpha, bases } = draft;
            // The nearest base by the number of genes that differ; "from nothing" is a base too.
            let mut best: (usize, Option<&Base<'_>>) = (alpha.iter().filter(|&&a| a != 0.0).count(), None);
            for base in bases.iter().flatten() {
                let differ = base.differences(&alpha);
                if differ < best.0 {
                    best = (differ, Some(base));
                }
            }
            let mut gradient = vec![0.0; n];
            if best.0 > limit {
                dense.push(members.len());
            } else {
                changes.clear();
                match best.1 {
                    None => changes.extend(alpha.iter().enumerate().filter(|(_, a)| **a != 0.0).map(|(i, &a)| (i, a))),
                    Some(base) => {
                        base.gradient(&mut gradient);
                        changes.extend(alpha.iter().enumerate().map(|(i, a)| (i, a - base.value(i))).filter(|(_, step)| *step != 0.0));
                    }
                }
                add_rows(self.q, n, &changes, &mut gradient);
            }
            let objectives = self.objectives(&alpha, &gradient);
            members.push(Member { alpha, gradient, objectives });
        }
        self.evaluate_dense(&mut members, &dense);
        members
    }

    /// Computes gradients and objectives anew, without any base.
    pub(in super::super) fn refresh(&self, members: &mut [Member]) {
        let all: Vec<usize> = (0..members.len()).collect();
        self.evaluate_dense(members, &all);
    }

    fn evaluate_dense(&self, members: &mut [Member], which: &[usize]) {
        let n = self.len();
        if which.len() < BATCH {
            for &place in which {
                let member = &mut members[place];
                let changes: Vec<(usize, f64)> = member.alpha.iter().copied().enumerate().filter(|(_, a)| *a != 0.0).collect();
                member.gradient.fill(0.0);
                add_rows(self.q, n, &changes, &mut member.gradient);
                member.objectives = self.objectives(&member.alpha, &member.gradient);
            }
            return;
        }
        let left: Vec<f64> = which.iter().flat_map(|&place| members[place].alpha.iter().copied()).collect();
        let mut products = vec![0.0; which.len() * n];
        let shape = Shape { rows: which.len(), columns: n, depth: n };
        linalg::add_product(&mut products, n, shape, 1.0, View::new(&left, n), View::new(self.q, n), Part::All);
        for (&place, product) in which.iter().zip(products.chunks_exact(n)) {
            let member = &mut members[place];
            member.gradient.copy_from_slice(product);
            member.objectives = self.objectives(&member.alpha, &member.gradient);
        }
    }
}

/// New `alpha` and the candidates it was made from.
pub(in super::super) struct Draft<'a> {
    pub alpha: Vec<f64>,
    pub bases: [Option<Base<'a>>; 2],
}

/// A point with a known gradient: a candidate, or a line through two of them.
#[derive(Clone, Copy)]
pub(in super::super) enum Base<'a> {
    Point(&'a Member),
    /// `u a + (1 - u) b`
    Mix(f64, &'a Member, &'a Member),
}

impl Base<'_> {
    #[inline]
    fn value(&self, i: usize) -> f64 {
        match self {
            Self::Point(member) => member.alpha[i],
            Self::Mix(u, a, b) => mix(*u, a.alpha[i], b.alpha[i]),
        }
    }

    fn differences(&self, alpha: &[f64]) -> usize {
        match self {
            Self::Point(member) => alpha.iter().zip(&member.alpha).map(|(a, b)| usize::from(a != b)).sum(),
            Self::Mix(u, a, b) => {
                let line = a.alpha.iter().zip(&b.alpha).map(|(a, b)| mix(*u, *a, *b));
                alpha.iter().zip(line).map(|(a, b)| usize::from(*a != b)).sum()
            }
        }
    }

    fn gradient(&self, out: &mut [f64]) {
        match self {
            Self::Point(member) => out.copy_from_slice(&member.gradient),
            Self::Mix(u, a, b) => {
                out.iter_mut().zip(a.gradient.iter().zip(&b.gradient)).for_each(|(out, (a, b))| *out = mix(*u, *a, *b));
            }
        }
    }
}

/// `u a + (1 - u) b`, the same expression wherever it is needed: differences are counted by comparing results.
#[inline]
pub(in super::super) fn mix(u: f64, a: f64, b: f64) -> f64 {
    u * a + (1.0 - u) * b
}

/// `gradient += sum of step * row`, four rows at a time.
fn add_rows(q: &[f64], n: usize, changes: &[(usize, f64)], gradient: &mut [f64]) {
    /// Plain loops, compiled for every instruction set.
    struct Add<'a>(&'a [f64], usize, &'a [(usize, f64)], &'a mut [f64]);
    impl Job<f64> for Add<'_> {
        type Output = ();
        #[inline(always)]
        fn run<S: Simd<f64>>(self, _: S) {
            let Add(q, n, changes, gradient) = self;
            let gradient = &mut gradient[..n];
            let (fours, rest) = changes.as_chunks::<4>();
            for four in fours {
                let [(a, x), (b, y), (c, z), (d, w)] = *four;
                let (a, b, c, d) = (&q[a * n..][..n], &q[b * n..][..n], &q[c * n..][..n], &q[d * n..][..n]);
                for i in 0..n {
                    gradient[i] += (x * a[i] + y * b[i]) + (z * c[i] + w * d[i]);
                }
            }
            for &(row, step) in rest {
                let row = &q[row * n..][..n];
                for i in 0..n {
                    gradient[i] += step * row[i];
                }
            }
        }
    }
    f64::dispatch(Isa::detect(), Add(q, n, changes, gradient));
}
