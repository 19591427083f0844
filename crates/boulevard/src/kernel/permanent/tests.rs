//! Set kernels.
