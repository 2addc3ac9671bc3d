//! Users in closed, paced and open loops, whose dialogues become I/O requests.
//!
//! What it does: turns a checked [`spec::workload::Workload`] into one [`state_machine::Machine`]
//! per instance: user groups with schedules and phases, actions as dialogues of reads,
//! writes, appends, flushes, calls to named endpoints, CPU and waits, size and address distributions; or a recorded load
//! that is played back ([`replay`]).
//!
//! What it refuses: devices, clocks, files; deciding whether a latency is good.
//!
//! A machine can be saved between two events, and another one that was built of the same plan goes on from
//! there to the bit.
//!
//! Invariants: every user has at most one action under way; the requests of an instance
//! depend only on its seed path and on the events it received; handling an event scans
//! nothing and, once every user has run and memories of reuse are full, allocates nothing; a recorded load is held once for
//! all instances, in 32 bytes for each I/O.
#![forbid(unsafe_code)]

mod address;
mod build;
mod compile;
mod cursor;
mod draw;
mod error;
mod group;
mod instance;
mod layout;
mod machine;
pub mod moving;
mod payload;
mod pick;
mod place;
mod program;
mod region;
pub mod replay;
mod reuse;
mod rhythm;
mod saved;
mod scatter;
mod sizes;
mod walk;
mod window;
mod zipf;

pub use crate::machine::InstanceMachine;
pub use build::build;
pub use error::BuildError;
pub use instance::WorkloadMachine;
pub use layout::{DiskLayout, Instance, InstancePlan, KindInfo, KindOf};
