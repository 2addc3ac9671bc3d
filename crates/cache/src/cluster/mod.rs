//! A tier spread over hosts, as FVP has it: every host gives a share of fast memory to the
//! virtual machines that run on it, and peers keep copies of what is not yet in the store.

mod config;
mod counters;
mod dirty;
mod failure;
mod read;
mod share;
mod step;
mod work;
mod write;

pub use config::{ClusterConfig, ClusterError, ClusterVm, ClusterWrites};
pub use counters::ClusterCounters;
pub use step::{ClusterPlace, ClusterStep, Data, HostId};
pub use work::Cluster;
