//! Creation and recovery of a set: synchronous reads and writes before any request is served.

mod accept;
mod area;
mod attach;
mod blank;
mod burn;
mod copies;
mod damage;
mod errors;
mod in_step;
mod init;
mod log_start;
mod prepare;
mod reader;
mod recover;
mod stale;
mod structure;
mod take_over;
mod walk;

pub use accept::{word_for_cache, word_for_disk};
pub use burn::give_up;
pub use errors::{
    AttachError, Attachment, Damaged, LogWrites, OpenError, PageDamage, Session, Settings, Skipped,
};
pub use init::init;
pub use recover::{Examined, ExaminedDisk, Opened};
pub use stale::{StaleError, StaleLog, export_stale, forget_stale, stale};
pub use take_over::{HeldCopy, TakeOverError, Taken, Taking, read_sidecar, take_over};

use crate::event::{IoError, IoTarget};

/// Synchronous storage, for use before the state machine runs.
pub trait Media {
    /// Fills `into` with bytes starting at address `at`.
    ///
    /// # Errors
    /// If the storage fails.
    fn read(&mut self, place: IoTarget, at: u64, into: &mut [u8]) -> Result<(), IoError>;
    /// Writes `data` at address `at`.
    ///
    /// # Errors
    /// If the storage fails.
    fn write(&mut self, place: IoTarget, at: u64, data: &[u8]) -> Result<(), IoError>;
    /// Makes all writes durable.
    ///
    /// # Errors
    /// If the storage fails.
    fn flush(&mut self, place: IoTarget) -> Result<(), IoError>;
}
