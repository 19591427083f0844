//! Multi-task feature and kernel selection by maximum entropy discrimination (Jebara, ICML 2004).

mod ascent;
mod descent;
mod interior;
mod newton;
mod prior;
mod problem;
mod solve;
mod switch;
mod table;
mod vector;

#[cfg(test)]
mod tests;

pub use prior::MarginPrior;
