//! Why a card cannot be used, in one line each.

/// What a card or its driver refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CudaError {
    /// The library of the driver is not on this machine.
    #[error("no NVIDIA driver: {library} cannot be loaded")]
    NoDriver {
        /// Its name.
        library: &'static str,
    },
    /// The driver lacks a function.
    #[error("the NVIDIA driver is too old: it has no {function} (version 525 or newer is needed)")]
    NoFunction {
        /// The function.
        function: &'static str,
    },
    /// There are fewer cards.
    #[error("there is no card {asked}: the driver sees {found}")]
    NoCard {
        /// The number asked for.
        asked: usize,
        /// How many there are.
        found: usize,
    },
    /// The card is older than the kernels.
    #[error("{name} is too old: it has compute capability {major}.{minor}, 6.0 is needed")]
    OldCard {
        /// Its name.
        name: String,
        /// First number of its capability.
        major: i32,
        /// Second number.
        minor: i32,
    },
    /// The driver is older than the text of the kernels.
    #[error("the NVIDIA driver is too old for the kernels (version 525 or newer is needed): {message}")]
    OldDriver {
        /// What it said.
        message: String,
    },
    /// Not enough memory.
    #[error("the card has no room for {bytes} bytes more ({free} of {total} are free)")]
    Memory {
        /// Bytes asked for.
        bytes: usize,
        /// Bytes free.
        free: usize,
        /// Bytes in all.
        total: usize,
    },
    /// The process was forked after the card was first used; the child cannot use it.
    #[error("the card was first used before this process was forked: use it in the child alone, or start processes with spawn")]
    Forked,
    /// Whatever else the driver says.
    #[error("the NVIDIA driver failed in {call}: {name} ({code})")]
    Failed {
        /// The call.
        call: &'static str,
        /// Its number for the error.
        code: i32,
        /// Its word for it.
        name: String,
    },
    /// A kernel was called with other arguments than it takes: a mistake in this program.
    #[error("kernel {kernel} was called with {found}, it takes {wanted}")]
    Call {
        /// The kernel.
        kernel: String,
        /// Kinds of the arguments given.
        found: String,
        /// Kinds it takes.
        wanted: String,
    },
}
