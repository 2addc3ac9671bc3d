//! An array: a model of storage, and of the hosts in front of it.
//!
//! Path of an I/O, from the virtual machine to the platters:
//!
//! ```text
//! host CPU -> host tier -> LUN queue -> link -> controller CPU -> array tier -> memory -> pool
//! ```
//!
//! Every stage except the pools may be absent, and then takes no time. Hosts with disks of their
//! own (`local`) replace all stages after the link.

mod calibrated;
mod moves;
pub mod names;
mod power;
mod sizes;
mod threads;
mod types;

pub(crate) use sizes::{shipped, times};

pub use calibrated::{Calibrated, OFF_MAX, TileCheck};
pub use moves::{Drs, Migration};
pub use power::{DiskPower, Frequency, Governor, HostPower, Hypervisor, Memory, StoragePower};
pub use threads::ThreadQueues;
pub use types::{
    Array, Background, Controller, Disk, DiskOrder, Hosts, IoCpu, Link, Local, LunQueue, PlaceRule,
    Pool, Raid, ReadMemory, RunQueue, TableLoop, Tier, TierPlace, TierShape, Variation,
    WriteMemory, WriteMode,
};

pub use crate::resolve::{overlay, with, with_all};
