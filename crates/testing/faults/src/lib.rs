//! Storage and networks that fail as real ones do, for tests of programs that must survive the
//! failures.
//!
//! What it does: [`Disk`] keeps bytes in memory according to the model below. It does nothing by
//! itself: a test starts I/O, completes it in any order, and calls [`Disk::kill`] or
//! [`Disk::power_cut`] at any time. All random decisions come from the stream that the test passes
//! in. A clone is an independent disk that continues from the same state. It is cheap, because
//! blocks are shared until one of the two disks writes them.
//!
//! [`Network`] carries messages between hosts in the same manner. [`Reservations`] decide which
//! hosts may write to a device that several hosts see.
//!
//! # The model of a disk
//!
//! 1. A write is *in flight* from [`Disk::start_write`] to [`Disk::finish_write`]. Until then reads
//!    may return either version; this model returns the older one.
//! 2. A completed write is in the *volatile cache*: reads return it, a kill of the program keeps
//!    it, and a power cut may lose it. Writes are lost individually and not in order, so a later
//!    one may survive an earlier one. Where they overlap, each sector keeps any of its versions
//!    since the last flush.
//! 3. When a flush completes, it makes those writes durable that had completed *before the flush
//!    was started*. Writes that complete in between may still be lost. A write marked durable (FUA)
//!    makes only itself durable when it completes.
//! 4. *Torn*: a write that is interrupted by a crash is complete, absent, a prefix, or any subset
//!    of its sectors of 512 bytes or its blocks of 4,096, each of them independently. A sector
//!    itself is never torn.
//! 5. *Kill* ends the program, not the host. Completed writes stay and are still volatile; writes
//!    in flight end in one of the ways of 4.
//! 6. *Rot* changes one stored bit, durably and silently.
//! 7. *Misdirected*: a write changes another place, and its own place keeps the old content.
//!    *Lost*: it changes nothing. Both are reported as successful.
//! 8. *Errors*: reads of a range, writes, and flushes fail for a number of times or permanently. A
//!    failed write may have changed any of its sectors. A failed flush has made nothing durable,
//!    and the writes that it should have flushed are lost in a power cut even if a later flush
//!    succeeds (Linux reports such an error once and then treats the pages as clean).
//!
//! 9. *Forgetting*: a flush reports success but makes nothing durable. A host that acknowledges
//!    writes without keeping them has such a disk.
//!
//! A *hang* is an I/O that the test does not complete.
//!
//! # The model of a network
//!
//! 1. Hosts have *connections*, each between two of them. Messages from one end arrive at the other
//!    in order or not at all. The test chooses their delay, independently for each connection and
//!    direction.
//! 2. An end *closes* its connection. Messages that it sent before still arrive, and then the other
//!    end is told.
//! 3. A connection *breaks* for one end. This end is told at once, and messages on their way to it
//!    are lost. The other end is not told: it is *half open*, and may continue to send. These
//!    messages are lost.
//! 4. A *partition* between two hosts delays messages between them, and no connection can be made.
//!    No host is told. When it *heals*, the delayed messages arrive on connections that are still
//!    intact.
//! 5. A host that *stops* does not take part: nothing arrives there, and no host is told. When it
//!    *starts* again, its connections are gone, and their other ends are half open. A host whose
//!    program is *killed* closes its connections, because its kernel does so.
//!
//! # The model of a device with reservations
//!
//! 1. Each host may *register* a key. To change or remove its key, a host has to give the current
//!    one, or 0 for none. Otherwise there is a *conflict*, and nothing changes. Any host may
//!    register at any time.
//! 2. A registered host may *reserve* the device. It holds the reservation until its registration
//!    ends or it is preempted. Meanwhile a reserve of another host is a conflict, and its own
//!    reserve changes nothing.
//! 3. While a host holds the reservation, writes of unregistered hosts are refused and change
//!    nothing. Reads are allowed. (SCSI calls this type *write exclusive, registrants only*.)
//! 4. A registered host may *preempt* a key. In one step, the registrations of all hosts with this
//!    key end. If one of them held the reservation, the preempting host holds it now. A key that no
//!    host has is a conflict.
//! 5. The in-flight writes of a preempted host are refused, like its later ones (SCSI: *preempt and
//!    abort*).
//! 6. Kills and power cuts do not change registrations and the reservation.
//!
//! What it refuses: time, threads, and overlapping writes in flight, whose outcome no storage
//! defines. A program that starts such writes has a defect, and the disk panics with both ranges.
#![forbid(unsafe_code)]

mod disk;
mod image;
mod network;
mod reservations;

pub use disk::{Disk, FaultKind, StorageError};
pub use image::{BLOCK, Image, SECTOR};
pub use network::{Arrival, End, HostId, LinkId, Network};
pub use reservations::{Conflict, Reservations};
