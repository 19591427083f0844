//! What is solved: the samples of every task, the priors, and the problem in their terms with its certificate.

mod objective;
pub(super) mod prior;
pub(super) mod switch;
pub(super) mod table;
pub(super) mod tasks;
pub(super) mod training;

pub(super) use objective::{Certificate, Problem, Samples, Task};
