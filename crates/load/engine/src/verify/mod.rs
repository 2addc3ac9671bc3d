//! Verification: every block says where and when it was written, and a file beside the run
//! remembers what was acknowledged, so that a lost, stale, torn, misplaced or corrupt block
//! is found and named, also after the benchmark itself was killed.
//!
//! A worker owns one [`Tracker`] per virtual disk and tells it of every read and write. What a
//! crash of this process leaves is judged by [`check_all`]. Formats and rules:
//! `docs/formats/verification.md`.
//!
//! Cost: a CRC-32 over all data both ways, and 8 bytes of shared mapping per 4 KiB written.
//!
//! What it cannot find: losses on a machine that itself lost power (the state file is in the
//! page cache, so it may be older than the data), and blocks never written through a tracker.

mod check;
mod error;
mod judge;
mod kept;
mod layout;
#[expect(unsafe_code, reason = "a mapping that workers share")]
mod map;
mod mismatch;
mod sector;
mod state;
mod tracker;
mod window;

pub use check::{CheckError, DiskReport, Report, Unreadable, check_all};
pub use error::StateError;
pub use kept::{forget, kept_seed};
pub use layout::{HeaderError, Owner};
pub use mismatch::{Expected, Found, Kind, Mismatch};
pub use sector::HEADER as SECTOR_HEADER_BYTES;
pub use tracker::{Elsewhere, ReadTicket, Seal, Setup, Tracker, WriteTicket, Written};
