//! Storage and networks that fail as real ones do, for tests of whatever must survive it.
//!
//! What it does: [`Disk`] keeps bytes in memory by the model below. Nothing happens in it by itself:
//! a test starts I/O, completes it in the order it likes, and calls [`Disk::kill`] or
//! [`Disk::power_cut`] where it likes; all chance comes from the stream it hands in. A clone is a
//! disk of its own that goes on from the same state, and costs little: blocks are shared until one
//! of the two writes them.
//!
//! [`Network`] carries messages between hosts in the same manner. [`Reservations`] say who may write to a device
//! that several hosts see.
//!
//! # The model of a disk
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
//! 5. *Kill* ends the program, not the host: finished writes stay and are still volatile, those
//!    in flight end in one of the ways of 4.
//! 6. *Rot* changes one bit of what is stored, durably and silently.
//! 7. *Misdirected*: a write lands elsewhere, and its own place keeps what it had. *Lost*: it lands
//!    nowhere. Both are reported as done.
//! 8. *Errors*: reads of a range, writes, and flushes fail for a number of times or for good. A failed
//!    write may have changed any of its sectors; a failed flush has made nothing durable, and what
//!    it should have flushed is lost in a power cut though a later flush succeeds (Linux reports such
//!    an error once and then takes the pages for clean).
//!
//! 9. *Forgetting*: a flush reports success and makes nothing durable. A host that acknowledges and forgets
//!    has such a disk.
//!
//! A *hang* is an I/O that the test does not finish.
//!
//! # The model of a network
//!
//! 1. Hosts have *connections*, each between two of them. What one end sends arrives at the other in its
//!    order or not at all; how long it takes is the test's choice, and independent for each connection and
//!    direction.
//! 2. An end *closes* its connection: what it sent before still arrives, then the other end learns of it.
//! 3. A connection *breaks* for one end: that end learns it at once, and what was on its way to it is gone.
//!    The other end does not learn it by that: it is *half open*, and may send for as long as it likes.
//!    What it sends is gone.
//! 4. A *partition* between two hosts holds back what is on its way between them, and no connection is made.
//!    Nobody is told. When it *heals*, what was held back arrives, on connections that are still whole.
//! 5. A host that *stops* takes part in nothing: nothing arrives there, and nobody is told. Its connections
//!    are gone when it *starts* again, and the other ends are half open. A host whose program is *killed*
//!    closes its connections, as its kernel does for it.
//!
//! # The model of a device with reservations
//!
//! 1. Each host may *register* a key. Who changes or removes his has to name the one he has, 0 for none; else it is
//!    a *conflict*, and nothing changes. Anybody may register at any time.
//! 2. One who is registered may *reserve*. He holds the reservation until he is registered no more or is preempted;
//!    meanwhile another one's reserve is a conflict, and his own changes nothing.
//! 3. While somebody holds it, writes of hosts that are not registered are refused and land nowhere; reads are not.
//!    (SCSI calls this type *write exclusive, registrants only*.)
//! 4. *Preempt* by one who is registered names a key: in one step whoever had it is registered no more, and a
//!    reservation that was held by it is the preempting host's. A key that nobody has is a conflict.
//! 5. What a preempted host has in flight is refused as what it asks later (SCSI: *preempt and abort*).
//! 6. Kills and power cuts change nothing of it.
//!
//! What it refuses: time, threads, and overlapping writes in flight, whose outcome no storage
//! defines: whoever starts one has a defect, and the disk panics with both ranges.
#![forbid(unsafe_code)]

mod disk;
mod image;
mod network;
mod reservations;

pub use disk::{Disk, FaultKind, StorageError};
pub use image::{BLOCK, Image, SECTOR};
pub use network::{Arrival, End, HostId, LinkId, Network};
pub use reservations::{Conflict, Reservations};
