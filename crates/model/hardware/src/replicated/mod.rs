//! Hosts that hold copies of all data together.

mod model;
mod placement;

pub use model::{HostWays, Replicated, ReplicatedCounts};
pub use placement::ReplicatedParameters;
