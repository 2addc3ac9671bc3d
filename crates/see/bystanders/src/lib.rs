//! Observes this host while a real step runs: processor use of all, of this process and of others,
//! time that its threads were ready and waited for a core, and the device under test; and finds
//! disturbances.
//!
//! The counterpart of a hypervisor's CPU usage and ready time of a virtual machine is here the
//! kernel's account of this process and of its threads' time on the run queue. The [`doctor`]
//! examines the host before a measurement, and a [`throttle`] makes storage slow on purpose.
//!
//! It refuses to change anything on the host except its own control group, and to judge a step.
//!
//! Invariants: an unreadable value is unknown, never good.
#![forbid(unsafe_code)]

mod counters;
pub mod disturbance;
pub mod doctor;
mod facts;
mod meter;
mod policy;
mod proc;
pub mod throttle;
mod watch;

pub use counters::{DiskCounters, HostCounters, ProcessCounters};
pub use meter::meters;
pub use policy::power_policies;
pub use watch::{HostSecond, HostWatch, Watched};
