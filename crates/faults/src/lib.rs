//! Storage that fails as real storage does, for tests of whatever must survive it.
//!
//! What it does: [`Disk`] keeps bytes in memory by the model below. Nothing happens in it by itself:
//! a test starts I/O, completes it in the order it likes, and calls [`Disk::kill`] or
//! [`Disk::power_cut`] where it likes; all chance comes from the stream it hands in. A clone is a
//! disk of its own that goes on from the same state, and costs little: blocks are shared until one
//! of the two writes them.
//!
//! # The model
//!
//! 1. A write is *in flight* from [`Disk::start_write`] to [`Disk::finish_write`]. Until then reads see
//!    either version, here the older.
//! 2. A finished write is in the *volatile cache*: reads see it, a kill of the program keeps it, a
//!    power cut may lose it. Writes are lost one by one and not in order, so that a later one may
//!    survive an earlier one; where they overlap, each sector keeps any of its versions since the
//!    last flush.
//! 3. A flush makes durable what was finished *before the flush was started*, when it is finished.
//!    What finishes in between may still be lost. A write marked durable (FUA) makes itself durable
//!    when it finishes, and nothing else.
//! 4. *Torn*: a write that a crash catches is whole, absent, a prefix, or any subset of its sectors
//!    of 512 bytes or its blocks of 4,096, each with its own chance. A sector itself is never torn.
//! 5. *Kill* ends the program, not the machine: finished writes stay and are still volatile, those
//!    in flight end in one of the ways of 4.
//! 6. *Rot* changes one bit of what is stored, durably and silently.
//! 7. *Misdirected*: a write lands elsewhere, and its own place keeps what it had. *Lost*: it lands
//!    nowhere. Both are reported as done.
//! 8. *Errors*: reads of a range, writes, and flushes fail for a number of times or for good. A failed
//!    write may have changed any of its sectors; a failed flush has made nothing durable, and what
//!    it should have flushed is lost in a power cut though a later flush succeeds (Linux reports such
//!    an error once and then takes the pages for clean).
//!
//! A *hang* is an I/O that the test does not finish.
//!
//! What it refuses: time, threads, and overlapping writes in flight, whose outcome no storage
//! defines: whoever starts one has a defect, and the disk panics with both ranges.
#![forbid(unsafe_code)]

mod disk;
mod image;

pub use disk::{Disk, FaultKind, StorageError};
pub use image::{BLOCK, Image, SECTOR};
