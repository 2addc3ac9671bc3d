//! The acceleration tier with files, memory and a clock: cached disks for a front end.
//!
//! What it does: [`make`] makes a set in a new file, [`make_in`] in one that was made for it, [`make_on`] on one that is open; [`Set::open`] opens one for backing files and devices, and
//! gives what a front end serves. A backing device that several hosts see is reserved if that is asked for ([`Reserve`]). Below all disks one [`tier::Tier`] decides; what it wants read or written the
//! front end's ring does, what it wants summed and copied is done here. [`Control`] is how others ask how it is
//! doing, and for a change.
//!
//! What it refuses: a cache file that is there already, when a set is to be made; a cache, a backing file or
//! device, or a sidecar that somebody else holds; a sidecar that is a link; memory that the machine does not have.
//!
//! Invariants: bytes from the cache device reach a client, or memory, only after their sum was found right; every write
//! takes its bytes when it is asked for, so that memory can be used again when the machine says so; a
//! server that ends has left the set in order, or said that it could not.
#![forbid(unsafe_code)]

mod arena;
mod asking;
mod bounds;
mod coming;
mod control;
mod core;
mod disk;
mod door;
mod effects;
mod error;
mod far;
mod files;
mod giving;
mod hold;
mod identity;
mod inbox;
mod make;
mod marking;
mod marks;
mod media;
mod memory;
mod opening;
mod peers;
mod requests;
mod reserved;
mod route;
mod routing;
mod seen;
mod set;
mod stale;
mod suspension;
mod takeover;
mod times;
mod way;

pub use asking::Control;
pub use door::{Door, ask};
pub use error::{Refusal, SetError};
pub use files::make_sidecar_in;
pub use hold::Hold;
pub use inbox::{
    COMMON, Coming, Command, DiskReport, Elsewhere, ElsewhereReport, Left, MemoryReport,
    PeerReport, Report,
};
pub use make::{make, make_in, make_on};
pub use opening::{Copies, Opening};
pub use peers::PeerAddress;
pub use reserved::Reserve;
pub use set::{Caching, Set};
pub use stale::{Stale, StaleFailure};
pub use suspension::{Hours, Suspension};
pub use takeover::{Proof, TakeOver, TakeOverFailure};
pub use times::{DiskTimes, Requests, Taken, Times};
