//! Processors of hosts: cores and hyper-threads, run queue, used and waiting time, frequencies and
//! watts.

mod clock;
mod clocking;
mod host;
mod io_cost;
mod parameters;
mod power;
mod queue;
mod ready;
mod sample;
mod shares;
mod threads;

pub use clocking::{Clocking, Governor};
pub use host::{HostCpu, HostEffects, Suspended};
pub use io_cost::{IoCost, Protocol};
pub use parameters::{CpuParameters, RunOrder, ThreadQueueParameters};
pub use power::{Femtojoules, HostPower, joules};
pub use sample::{CpuSample, HostSample, sums_of_20};
