//! The exact front: every slot solved to a certified gap, on the kernel matrix with the labels' signs in it.

pub(super) mod costs;
mod face;
pub(super) mod signed;
pub(super) mod slots;
