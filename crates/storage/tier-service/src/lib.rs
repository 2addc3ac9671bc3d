//! Acceleration tier with files, memory and a clock: it serves cached disks to a front end.
//!
//! Function: [`make`] creates a set in a new file, [`make_in`] in an existing file, [`make_on`] in
//! an open file or device. [`Set::open`] opens a set for backing files and devices, and returns the
//! disks and the service for a front end. A backing device that several hosts see can be reserved
//! ([`Reserve`]). One [`tier::Tier`] decides for all disks. The front end's ring does the reads and
//! writes that the tier orders; checksums and copies are made here. [`Control`] sends commands to a
//! running set.
//!
//! Refused: to create a set over an existing file; a cache, a backing file or device, or a sidecar
//! that another process holds; a sidecar that is a symbolic link; more memory than the host has.
//!
//! Invariants: bytes from the cache device reach a client, or memory, only after their checksum was
//! verified. A write copies its bytes when it is started, so the state machine may reuse their
//! memory at once. A server that ends has closed the set in order, or has reported that it could
//! not.
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
