//! What this machine's processors do while a real step runs: used by everybody, used by this
//! process, and how long its threads were ready and waited for a core.
//!
//! What a hypervisor calls a virtual machine's CPU usage and ready time is here what the
//! kernel says of this process and of its threads' time on the run queue.

mod facts;
mod proc;
mod watch;

pub use watch::{HostSecond, HostWatch};
