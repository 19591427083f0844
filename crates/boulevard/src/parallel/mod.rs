//! Threads that live as long as one fit: coarse tasks ([`map`]), and a crew for passes of a few microseconds ([`Crew`]).
//!
//! No thread works beyond the call that made it (a process may fork at any time), and nothing depends on which thread does which part.

mod crew;
mod load;
mod map;
mod pace;
#[cfg(test)]
mod protocol;

pub use crew::Crew;
pub(crate) use load::free_cores;
pub use map::map;
pub(crate) use map::try_map;
