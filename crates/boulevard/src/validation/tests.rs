//! Cross-validation and grid search against the plain way.
