//! Judging predictions.
