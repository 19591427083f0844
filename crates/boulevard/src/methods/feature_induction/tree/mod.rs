//! A C4.5-like decision tree for two classes with weighted rows, and nothing else: any method may grow one.
//!
//! Tests are `x_j <= t`. Entropies are in bits, W is the weight at a node, m the least weight of a leaf. A node is split unless it is pure,
//! weighs less than 2 m, or is deep enough. A cut lies between two different neighboring values of a feature, and both sides weigh
//! at least `max(m, min(25, 0.1 W / 2))`. Every feature offers its cut of largest gain, less `log2(cuts) / W` (the correction of C4.5's
//! eighth release). Among the features whose corrected gain is at least the average, the largest gain ratio wins. Afterwards
//! subtrees that promise no fewer errors than a leaf are pruned (`prune.rs`).
//!
//! Columns are sorted once ([`SortedColumns`]) and serve any number of trees: a tree then costs one scan and one stable partition of the
//! sorted row lists per level.

mod grow;
mod prune;

pub use grow::{Cut, SortedColumns, grow, grow_in, root_cuts};
pub use prune::extra_errors;

use serde::{Deserialize, Serialize};

use crate::data::Matrix;

/// Levels that an unlimited tree has at most: a tree that needs more of them fits noise, and recursion must end somewhere.
pub const MOST_DEPTH: usize = 64;

/// What a leaf says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Output {
    /// How sure they are, from -1 to 1.
    ///
    /// `(n+ - n-) / (n+ + n-)`: how sure the leaf is.
    #[default]
    Soft,
    /// -1 or 1.
    ///
    /// Its sign, 0 on a tie.
    Hard,
    /// How sure they are, counted with two more rows.
    ///
    /// `(n+ - n-) / (n+ + n- + 2)`: sure only with enough rows.
    Laplace,
}

/// Settings of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeSettings {
    /// Levels of tests at most.
    pub max_depth: usize,
    /// Least weight of a leaf.
    pub min_leaf: f64,
    /// Confidence of the pruning, from 0 (no pruning) to 1/2; smaller prunes more.
    pub confidence: f64,
}

impl Default for TreeSettings {
    fn default() -> Self {
        Self { max_depth: MOST_DEPTH, min_leaf: 2.0, confidence: 0.25 }
    }
}

/// A node: a test with two children, or a leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// The feature that is tested.
    pub feature: u32,
    /// Rows with a value up to this one go left.
    pub threshold: f64,
    /// Place of the left child; 0 for leaves.
    pub left: u32,
    /// Place of the right child; 0 for leaves.
    pub right: u32,
    /// Weight of the rows of the negative class that reach the node.
    pub negative: f64,
    /// Weight of the rows of the positive class.
    pub positive: f64,
}

impl Node {
    /// Places of the children; none for a leaf.
    pub fn children(&self) -> Option<[usize; 2]> {
        (self.left != 0).then_some([self.left as usize, self.right as usize])
    }

    /// Weight of all rows that reach the node.
    pub fn weight(&self) -> f64 {
        self.negative + self.positive
    }

    /// What the node says as a leaf.
    pub fn value(&self, output: Output) -> f64 {
        let (difference, weight) = (self.positive - self.negative, self.weight());
        match output {
            Output::Soft if weight > 0.0 => difference / weight,
            Output::Soft => 0.0,
            Output::Hard if difference == 0.0 => 0.0,
            Output::Hard => difference.signum(),
            Output::Laplace => difference / (weight + 2.0),
        }
    }

    fn make_leaf(&mut self) {
        (self.feature, self.threshold, self.left, self.right) = (0, 0.0, 0, 0);
    }
}

/// A grown tree. The first node is the root; children come after their parents.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The nodes.
    pub nodes: Vec<Node>,
}

impl Tree {
    /// Whether the tree says the same about every row.
    pub fn is_constant(&self) -> bool {
        self.nodes.len() == 1
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.nodes.iter().filter(|node| node.children().is_none()).count()
    }

    /// The leaf that a row falls into; `value(j)` is its value of feature j.
    pub fn leaf(&self, value: impl Fn(usize) -> f64) -> usize {
        let mut place = 0;
        while let Some([left, right]) = self.nodes[place].children() {
            let node = &self.nodes[place];
            place = if value(node.feature as usize) <= node.threshold { left } else { right };
        }
        place
    }

    /// What the tree says about every row of a table.
    pub fn evaluate(&self, x: &Matrix<'_>, output: Output) -> Vec<f64> {
        let values: Vec<f64> = self.nodes.iter().map(|node| node.value(output)).collect();
        match x {
            Matrix::F64(dense) => (0..x.rows())
                .map(|row| {
                    let row = dense.row(row);
                    values[self.leaf(|j| row[j])]
                })
                .collect(),
            _ => (0..x.rows()).map(|row| values[self.leaf(|j| x.get(row, j))]).collect(),
        }
    }

    /// Fails unless every path ends in a leaf: what files must promise.
    pub fn check(&self, features: usize) -> Result<(), String> {
        if self.nodes.is_empty() {
            return Err("a tree without nodes".into());
        }
        for (place, node) in self.nodes.iter().enumerate() {
            let sound = node.negative >= 0.0 && node.positive >= 0.0 && node.weight().is_finite();
            if !sound {
                return Err(format!("node {place} has weights {} and {}", node.negative, node.positive));
            }
            if (node.left == 0) != (node.right == 0) {
                return Err(format!("node {place} has one child"));
            }
            let Some(children) = node.children() else { continue };
            // Children behind their parents: no cycle, so every walk ends.
            if children.iter().any(|&child| child <= place || child >= self.nodes.len()) {
                return Err(format!("node {place} has children {} and {}, of {} nodes", children[0], children[1], self.nodes.len()));
            }
            if node.feature as usize >= features || !node.threshold.is_finite() {
                return Err(format!("node {place} tests feature {} of {features} at {}", node.feature, node.threshold));
            }
        }
        Ok(())
    }
}
