//! Verification: every block carries the address and time of its write, and a separate file records
//! which writes were acknowledged. So a lost, stale, torn, misplaced or corrupt block is found and
//! named, even after the benchmark itself was killed.
//!
//! A worker owns one [`Tracker`] per virtual disk and reports every read and write to it.
//! [`check_all`] verifies the disks after a crash of this process. Formats and rules:
//! `docs/formats/verification.md`.
//!
//! Cost: a CRC-32 over all data in both directions, and 8 bytes of shared mapping per 4 KiB
//! written.
//!
//! What it cannot find: losses on a host that itself lost power, because the state file is in the
//! page cache and may be older than the data; and losses of blocks that were never written through
//! a tracker.

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
pub use mismatch::{Expected, FoundHeader, Kind, Mismatch};
pub use sector::HEADER as SECTOR_HEADER_BYTES;
pub use tracker::{Elsewhere, ReadTicket, Seal, Setup, Tracker, WriteTicket, Written};
