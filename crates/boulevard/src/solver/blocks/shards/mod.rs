//! Rows on many machines: every shard owns some of them, the loop talks to all shards at once.
//!
//! ```text
//! driver   the point b, the loop, the sets' own problems, the features of every row that ever was a candidate
//! shard    its rows with their gradients, and the features of every row it was ever sent
//! ```
//! One round is one message to every shard and one answer: `g += K(:, moved) steps` on its rows, then its best candidates with the features
//! of those the driver has not seen. A row's features travel to the driver once and to every other shard once. Coefficients live at the
//! driver, so a shard has nothing that cannot be computed again: one that is lost is left out (as if its rows were parked) until its rows
//! are somewhere again, and then gets the support vectors and computes its gradients anew.
//!
//! [`Fleet`] carries the messages; what they mean is between [`Shard`] and [`Shards`], in a binary format with a version.

mod cluster;
mod engine;
mod inner;
mod message;
mod shard;
mod solver;
mod store;
mod weigh;
mod wire;

pub use cluster::{Cluster, Fleet, Piece, RoundReport};
pub use message::VERSION;
pub use shard::Shard;
pub(crate) use solver::ShardedSolver;

use engine::Shards;
