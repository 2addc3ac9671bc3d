//! What this machine does while a real step runs: processors used by everybody, by this process
//! and by others, how long its threads were ready and waited for a core, the device under test;
//! and whether somebody else was in the way.
//!
//! What a hypervisor calls a virtual machine's CPU usage and ready time is here what the
//! kernel says of this process and of its threads' time on the run queue.

pub mod disturbance;
mod facts;
mod proc;
mod watch;

pub use watch::{HostSecond, HostWatch, Watched};
