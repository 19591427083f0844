//! NVIDIA cards for support vector machines, with nothing but the driver.
//!
//! [`Card`] is a card with the kernels of `kernels/*.cu` loaded; [`Buffer`] is memory on it; [`Launch`] starts a kernel. The driver is looked
//! for when a card is first asked for: a program with this crate builds and runs on machines that have none. What a kernel computes is said
//! above its source; `scripts/ptx` makes the text that the driver compiles.
//!
//! All `unsafe` code is in `driver.rs`. A [`Launch`] checks the number and kinds of arguments against the kernel's signature, so that a wrong
//! call is an error and not a broken card.

mod card;
mod driver;
mod error;
mod lane;
mod pool;
mod signature;

pub use card::{Buffer, Card, Launch, Plain};
pub use error::CudaError;
pub use lane::LaneGuard;

/// A kernel function, as the card computes it: `finish(factor * argument + norm_factor * (|x|^2 + |z|^2) + shift)`.
///
/// Laid out as the struct of the same name in `kernels/20_formula.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Formula {
    /// Which finish: 0 `2^min(t, 0)`, 1 `t`, 2 `t^degree`, 3 `tanh t`, 4 `1 / sqrt(t)`.
    pub kind: i32,
    /// The exponent of a power.
    pub degree: i32,
    /// Factor of the argument.
    pub factor: f64,
    /// Factor of the squared norms.
    pub norm_factor: f64,
    /// The constant.
    pub shift: f64,
}

/// The text with tensor cores, for cards since Ampere.
pub const TENSOR_TEXT: &str = include_str!("../ptx/tensor.ptx");
/// The text for every card since Pascal.
pub const PLAIN_TEXT: &str = include_str!("../ptx/plain.ptx");
/// Kernels of the first text once more, with the larger instructions of cards since Hopper.
pub const HOPPER_TEXT: &str = include_str!("../ptx/hopper.ptx");
/// Kernels with instructions that Hopper alone has.
pub const GROUP_TEXT: &str = include_str!("../ptx/group.ptx");
