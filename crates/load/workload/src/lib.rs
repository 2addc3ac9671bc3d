//! Users in closed, paced and open loops, whose dialogues become I/O requests.
//!
//! What it does: turns a checked [`spec::workload::Workload`] into one [`state_machine::Machine`]
//! per instance. It has user groups with schedules and phases, and actions as dialogues of reads,
//! writes, appends, flushes, calls to named endpoints, CPU and waits, with size and address
//! distributions. A recorded load is replayed instead ([`replay`]).
//!
//! What it refuses: devices, clocks, files; deciding whether a latency is good.
//!
//! A state machine can be saved between two events. Another one that was built from the same plan
//! continues from the saved state, identical in every bit.
//!
//! Invariants: every user has at most one action in progress. The requests of an instance depend
//! only on its seed path and on the events that it received. Handling an event scans nothing. It
//! allocates nothing once every user has run and the histories of reuse are full. A recorded load
//! is stored once for all instances, in 32 bytes per I/O.
#![forbid(unsafe_code)]

mod address;
mod build;
mod commit;
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
pub use sizes::fits_sectors;
