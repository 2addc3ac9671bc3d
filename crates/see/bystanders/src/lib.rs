//! Observes this host while a real step runs, and finds disturbances. It samples the processor use
//! of all processes, of this process and of others, the time during which this process's threads
//! were ready but waited for a core, and the device under test.
//!
//! A hypervisor reports CPU usage and ready time of a virtual machine. Here the kernel's accounting
//! of this process, and of its threads' time on the run queue, takes their place. The [`doctor`]
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
