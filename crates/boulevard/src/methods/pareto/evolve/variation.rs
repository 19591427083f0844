//! Crossovers and mutations of candidates in the box `0 <= alpha <= 1`.

use serde::{Deserialize, Serialize};

use super::population::{Base, Draft, Member, mix};
use crate::random::Random;

/// How clones are changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Mutation {
    /// A positive alpha becomes zero, a zero becomes random.
    ///
    /// The paper's: each gene with probability `1 / n`; a positive one becomes 0, a zero becomes uniform in the box.
    #[default]
    Hybrid,
    /// Zeros and ones change places.
    ///
    /// Each gene with probability `1 / n` jumps between 0 and 1.
    Switching,
    /// Normal steps.
    ///
    /// Every gene moves by a normal step; its size follows the 1/5 rule.
    Gaussian,
}

/// How two candidates are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Crossover {
    /// Genes are exchanged.
    ///
    /// The paper's: each gene is exchanged with probability 1/2.
    #[default]
    Uniform,
    /// Points on the line through both parents.
    ///
    /// Two points on the line through both parents, up to a quarter beyond them. It keeps ratios of genes, which is what a front
    /// consists of, and reaches far better fronts.
    Arithmetic,
}

/// The first size of normal steps, and its factor per generation by the 1/5 rule.
const FIRST_STEP: f64 = 0.01;
const RULE: f64 = 0.85;
const SMALLEST_STEP: f64 = 1e-9;

impl Crossover {
    /// Two children of two parents.
    pub(in super::super) fn children<'a>(self, a: &'a Member, b: &'a Member, random: &mut Random) -> [Draft<'a>; 2] {
        match self {
            Self::Uniform => {
                let (mut one, mut two) = (a.alpha.clone(), b.alpha.clone());
                for (one, two) in one.chunks_mut(64).zip(two.chunks_mut(64)) {
                    // One draw decides for 64 genes.
                    let bits = random.bits();
                    for (place, (one, two)) in one.iter_mut().zip(two).enumerate() {
                        if bits >> place & 1 == 1 {
                            std::mem::swap(one, two);
                        }
                    }
                }
                [one, two].map(|alpha| Draft { alpha, bases: [Some(Base::Point(a)), Some(Base::Point(b))] })
            }
            Self::Arithmetic => {
                let u = -0.25 + 1.5 * random.uniform();
                [u, 1.0 - u].map(|u| {
                    let alpha = a.alpha.iter().zip(&b.alpha).map(|(a, b)| mix(u, *a, *b).clamp(0.0, 1.0)).collect();
                    Draft { alpha, bases: [Some(Base::Mix(u, a, b)), None] }
                })
            }
        }
    }
}

/// A mutation with its step size.
#[derive(Clone, Debug)]
pub(in super::super) struct Mutator {
    kind: Mutation,
    pub(in super::super) step: f64,
}

impl Mutator {
    pub(in super::super) fn new(kind: Mutation) -> Self {
        Self { kind, step: FIRST_STEP }
    }

    /// The 1/5 rule: larger steps while more than a fifth of them succeed.
    pub(in super::super) fn adapt(&mut self, successes: usize, trials: usize) {
        if self.kind == Mutation::Gaussian && trials > 0 {
            self.step = (if 5 * successes > trials { self.step / RULE } else { self.step * RULE }).clamp(SMALLEST_STEP, 1.0);
        }
    }

    /// Changes `alpha`; `false` if nothing changed.
    pub(in super::super) fn change(&self, alpha: &mut [f64], random: &mut Random) -> bool {
        let n = alpha.len();
        if self.kind == Mutation::Gaussian {
            let mut changed = false;
            for value in alpha.iter_mut() {
                let moved = (*value + self.step * random.normal()).clamp(0.0, 1.0);
                changed |= moved != *value;
                *value = moved;
            }
            return changed;
        }
        // Gaps between chosen genes are geometric: one draw per changed gene instead of one per gene.
        let never = (1.0 - 1.0 / n as f64).ln();
        let gap = |random: &mut Random| match n {
            1 => 0.0,
            _ => ((1.0 - random.uniform()).ln() / never).floor(),
        };
        let mut place = gap(random);
        let mut changed = false;
        while place < n as f64 {
            let value = &mut alpha[place as usize];
            *value = match self.kind {
                _ if *value > 0.0 => 0.0,
                Mutation::Switching => 1.0,
                // Never zero, or the gene would not have changed.
                _ => 1.0 - random.uniform(),
            };
            changed = true;
            place += 1.0 + gap(random);
        }
        changed
    }
}
