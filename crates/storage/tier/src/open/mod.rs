//! Making a set, and finding out what is true of one: plain reads before anybody is served.

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

use crate::event::{IoError, Place};

/// Reads and writes that are waited for, before the machine runs.
pub trait Media {
    /// Fills `into` from `at` on.
    ///
    /// # Errors
    /// What the storage could not do.
    fn read(&mut self, place: Place, at: u64, into: &mut [u8]) -> Result<(), IoError>;
    /// Puts `data` at `at`.
    ///
    /// # Errors
    /// What the storage could not do.
    fn write(&mut self, place: Place, at: u64, data: &[u8]) -> Result<(), IoError>;
    /// Makes durable what was written.
    ///
    /// # Errors
    /// What the storage could not do.
    fn flush(&mut self, place: Place) -> Result<(), IoError>;
}
