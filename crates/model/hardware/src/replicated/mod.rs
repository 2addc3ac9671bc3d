//! Models hosts that together store copies of all data.

mod model;
mod placement;

pub use model::{HostWays, Replicated, ReplicatedCounts};
pub use placement::ReplicatedParameters;
