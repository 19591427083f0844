//! Quinlan's pessimistic pruning: a subtree must promise fewer errors on new rows than the leaf in its place.

use super::{Node, Tree};
use crate::metrics::special::erfc;

/// A subtree whose errors are not below those of one leaf by more than this is collapsed.
const COLLAPSE: f64 = 1e-3;
/// A leaf replaces a subtree if its estimate is at most this much above the subtree's.
const PATIENCE: f64 = 0.1;

/// The normal quantile of the upper tail, for `0 < tail <= 1/2`: Newton on a convex falling function, from the left.
pub(super) fn upper_quantile(tail: f64) -> f64 {
    let mut z = 0.0f64;
    for _ in 0..100 {
        let rest = 0.5 * erfc(z * std::f64::consts::FRAC_1_SQRT_2) - tail;
        let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
        let step = rest / density;
        z += step;
        if step.abs() <= 1e-15 * z.abs() {
            break;
        }
    }
    z.max(0.0)
}

/// The upper bound on the errors of a leaf, less the errors it makes: `n` rows, `e` of them wrong, confidence `cf`.
///
/// The binomial bound for `e = 0`, Wilson's score with continuity correction from 1 on, and a line between the two.
pub fn extra_errors(n: f64, e: f64, cf: f64) -> f64 {
    extra(n, e, cf, upper_quantile(cf))
}

fn extra(n: f64, e: f64, cf: f64, z: f64) -> f64 {
    if n <= 0.0 {
        return 0.0;
    }
    if e < 1.0 {
        let none = n * (1.0 - (cf.ln() / n).exp());
        return if e <= 0.0 { none } else { none + e * (extra(n, 1.0, cf, z) - none) };
    }
    if e + 0.5 >= n {
        return 0.67 * (n - e).max(0.0);
    }
    let f = (e + 0.5) / n;
    let square = z * z;
    let bound = (f + square / (2.0 * n) + z * (f / n - f * f / n + square / (4.0 * n * n)).sqrt()) / (1.0 + square / n);
    n * bound - e
}

/// Collapses and prunes a tree, bottom up. Children come after their parents in `nodes`.
pub(super) fn prune(mut nodes: Vec<Node>, confidence: f64) -> Tree {
    let errors = |node: &Node| node.negative.min(node.positive);
    // Collapse: the subtree does not even fit the training rows better.
    let mut wrong = vec![0.0; nodes.len()];
    for place in (0..nodes.len()).rev() {
        let own = errors(&nodes[place]);
        wrong[place] = match nodes[place].children() {
            None => own,
            Some([left, right]) => {
                let below = wrong[left] + wrong[right];
                if below >= own - COLLAPSE {
                    nodes[place].make_leaf();
                    own
                } else {
                    below
                }
            }
        };
    }
    if confidence > 0.0 {
        let z = upper_quantile(confidence);
        let mut estimates = vec![0.0; nodes.len()];
        for place in (0..nodes.len()).rev() {
            let (n, e) = (nodes[place].weight(), errors(&nodes[place]));
            let own = e + extra(n, e, confidence, z);
            estimates[place] = match nodes[place].children() {
                None => own,
                Some([left, right]) => {
                    let below = estimates[left] + estimates[right];
                    if own <= below + PATIENCE {
                        nodes[place].make_leaf();
                        own
                    } else {
                        below
                    }
                }
            };
        }
    }
    Tree { nodes: compact(&nodes) }
}

/// The nodes that can still be reached, parents first.
fn compact(nodes: &[Node]) -> Vec<Node> {
    let mut kept = Vec::new();
    let mut waiting = vec![(0usize, None)];
    while let Some((place, parent)) = waiting.pop() {
        let new = kept.len();
        kept.push(nodes[place]);
        if let Some((parent, right)) = parent {
            let parent: &mut Node = &mut kept[parent];
            if right { parent.right = new as u32 } else { parent.left = new as u32 }
        }
        if let Some([left, right]) = nodes[place].children() {
            waiting.push((right, Some((new, true))));
            waiting.push((left, Some((new, false))));
        }
    }
    kept
}
