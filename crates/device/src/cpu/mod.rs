//! Processors of hosts: cores and hyper-threads, run queue, what was used and what waited.

mod clock;
mod host;
mod io_cost;
mod parameters;
mod queue;
mod sample;

pub use host::{HostCpu, HostEffects};
pub use io_cost::{IoCost, Protocol};
pub use parameters::{CpuParameters, RunOrder};
pub use sample::{CpuSample, HostSample, sums_of_20};
