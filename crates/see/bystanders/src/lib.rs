//! What this machine does while a real step runs: processors used by everybody, by this process
//! and by others, how long its threads were ready and waited for a core, the device under test;
//! and whether somebody else was in the way.
//!
//! What a hypervisor calls a virtual machine's CPU usage and ready time is here what the
//! kernel says of this process and of its threads' time on the run queue. The [`doctor`] looks
//! before anything is measured, and a [`throttle`] makes storage slow on purpose.
//!
//! What it refuses: changing anything on the machine but the control group that it made, judging
//! a step.
//!
//! Invariants: what cannot be read is unknown, never good.
#![forbid(unsafe_code)]

pub mod disturbance;
pub mod doctor;
mod facts;
mod meter;
mod policy;
mod proc;
pub mod throttle;
mod watch;

pub use meter::meters;
pub use policy::power_policies;
pub use watch::{HostSecond, HostWatch, Watched};
