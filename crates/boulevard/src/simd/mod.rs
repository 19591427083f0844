//! Vector instructions, chosen at run time.

/// A set of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// Plain Rust, for every machine.
    Portable,
    /// AVX2 with fused multiply-add.
    Avx2,
    /// AVX-512 (F, DQ, BW, VL).
    Avx512,
}

impl Isa {
    /// The best set that this machine has.
    pub fn detect() -> Self {
        Self::Portable
    }
}
