//! A plant: an array as described by a file, the hosts in front of it and the virtual disks on it,
//! as one model that the driver runs.
//!
//! What it does: wires [`spec::array::Array`] into components; lays out virtual disks in their
//! pools; fills tiers without timing ([`Plant::warm`]); reports the work of every part
//! ([`Plant::facts`]). The path of an I/O:
//!
//! ```text
//! host tiers -> LUN queue -> links -> controller CPU -> array tiers -> memory -> pools
//!                                                       memory -> array tiers   (memory first)
//! ```
//!
//! A host tier whose writes are copied to other hosts is one tier spread over all of them, with a
//! network between the hosts. Host tiers and all parts behind them use one address space, the
//! plant's: the pools follow each other, each as long as its virtual disks, which are in the order
//! of their instances. The first addresses are on the outer edge of the disks, so seeks are shorter
//! in a pool that is not full.
//!
//! What it refuses: files, clocks, threads; checks of a definition beyond those of the parts
//! themselves (`spec` finds the line).
//!
//! Invariants: the same plan and state machines give the same answers, bit for bit; every request
//! is answered once; the same virtual disks have the same addresses in any pools, so that tiers
//! warmed on one plant fit another ([`Plant::restore`]).
//!
//! The memory used depends on the pages that are touched: at most 119 bytes for each page in a
//! tier, 58 for each page that admission counts, 81 for each page in read memory, and a bit for
//! each touched 64 KiB, in chunks of 256 MiB. Only the list of these chunks grows with the size of
//! the virtual disks: by 8 bytes for each 256 MiB.

mod behind;
mod content;
mod disks;
mod facts;
mod host;
mod layout;
mod links;
mod local;
mod model;
mod moves;
mod paged;
mod phases;
mod plan;
mod pools;
mod power;
mod read_memory;
mod route;
mod served;
mod state;
mod tier_part;
mod tiers;
mod touched;
mod warm;
mod wiring;
mod works;

pub use model::Plant;
pub use moves::{HostEvents, PlantEvent, check_events, host_names};
pub use plan::{PlantDisk, PlantError, PlantInstance, PlantPlan};
pub use power::meters;
pub use state::{OtherTiers, TierState};
pub use warm::{Warm, WarmFilter, WarmReport};
