//! Feature induction: a linear support vector machine that grows readable rules (Jin and Liu, ICML 2004, doi 10.1145/1015330.1015370).
//!
//! **Question.** Where does a straight line fail, and which simple rules would mend it?
//!
//! **When.** Tables with some tens or hundreds of columns where a linear machine is nearly right, and where somebody will ask why. Not for
//! images or text with thousands of columns: the trees look at every column, and the rules would be many.
//!
//! **Maths.** With `y` in {-1, 1}, `f(x) = w'z(x) + b`, `H_i = y_i f(x_i) - 1`, the machine minimises `1/2 |w|^2 + C sum_i max(0, -H_i)`.
//! A smooth bound of the loss gives every row the weight `W_i = 1 / (1 + exp(gamma H_i))`, and a new feature g in [-1, 1] with step a
//! changes the bound by at most
//! ```text
//! 1/gamma ((cosh(gamma a) - 1) A - sinh(gamma a) B),   A = sum W_i,  B = sum W_i y_i g_i        (8')
//! ```
//! so that the best g is a classifier of the rows weighted by W, and the bound falls by at least `(A - sqrt(A^2 - B^2)) / gamma`.
//!
//! **Steps.** 1. Standardise the columns, fit the machine. 2. Solve for gamma ([`gamma`]), weigh the rows. 3. Draw rows by weight (or use the
//! weights). 4. Grow a tree on the original columns ([`tree`]). 5. Its leaf values, standardized, are a new column. 6. Fit the machine
//! again, from where it was. 7. Repeat. The number of rounds and the depth are chosen on held-out rows unless given ([`Choice`]), and the
//! choice may be none. More than two classes: one against the rest. 8. Unless whole trees are asked for, a short list of rules is chosen from
//! all nodes of the trees, the same rules for all classes ([`RuleList`]).
//!
//! **Cost.** A round is one tree (a scan and a partition of every column per level; columns are sorted once) and one warm-started fit.
//! Choosing costs six to fifteen runs of 50 rounds on four fifths of the rows. Memory: five dense copies of the table.
//!
//! **Departures from the paper.** The regularizer is `|w|^2 / (2C)`, the dual's own (eq. 3 and 5 print two others; all are options). (8) lacks
//! a factor, (8') two divisions by gamma. (9) is not convex: its root is solved by a bracketed Newton method. Leaves answer softly, depth is
//! limited by a hold-out and not by pruning alone, which does little under resampling; induced columns are standardized.
//! [`FeatureInduction::paper`] is the paper as written.
//!
//! ```
//! use boulevard::prelude::*;
//! use boulevard::methods::feature_induction::{Amount, Depth};
//!
//! let data = boulevard::data::generate::checkerboard(300, 0, 2, 1.0);
//! let linear = FeatureInduction { n_induced: Amount::Exactly(0), c: 1.0, ..Default::default() }.fit(&data)?;
//! let induced = FeatureInduction { n_induced: Amount::Exactly(10), max_depth: Depth::AtMost(3), c: 1.0, ..Default::default() }.fit(&data)?;
//! let error = |model: &FeatureInductionModel| model.inductions[0].stages.last().unwrap().error;
//! assert!(error(&linear) > 0.3 && error(&induced) < 0.1);
//! println!("{}", induced.export_text(5));
//! # Ok::<(), boulevard::Error>(())
//! ```

mod auto;
mod describe;
pub mod gamma;
mod learner;
mod limits;
mod model;
mod pictures;
mod rounds;
mod rule_list;
mod rules;
mod table;
mod text;
pub mod tree;

#[cfg(test)]
mod list_tests;
#[cfg(test)]
mod tests;

pub use auto::{Choice, Curve};
pub use gamma::GammaRule;
pub use learner::{FeatureInduction, Preset};
pub use limits::{Amount, Depth, RuleLimit, Sampling};
pub use model::{FeatureInductionModel, Final, Induction};
pub use rounds::{Ending, Induced, Stage};
pub use rule_list::{RuleList, SHOWN};
pub use rules::{Contribution, Explanation, Rule, short};
pub use table::Standard;
pub use tree::{Output, TreeSettings};
