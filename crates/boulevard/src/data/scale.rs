//! Placeholder.
/// Placeholder.
pub struct Scaler;
/// Placeholder.
pub enum Scaling {}
