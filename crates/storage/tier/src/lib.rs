//! Served acceleration tier, without its I/O: fast local storage in front of a slow disk, which
//! loses no acknowledged write.
//!
//! Function: [`Tier`] is a state machine that decides, for requests of VMs, which data is read and
//! written where. It receives [`Event`]s with the time and emits [`Effect`]s. Bytes stay with the
//! driver; the state machine refers to them by [`Buf`]. [`format`](mod@format) describes the bytes
//! on the cache device and beside a backing disk. [`init`] creates a set, and [`Tier::open`]
//! recovers a set after a crash or a clean stop. The eviction policies are those of the `cache`
//! crate, which also predicts the gain of a tier.
//!
//! **The log has the only copy of new writes; pages can be dropped at any time.** In mode *back* a
//! write goes to its disk's log and is answered. Later it goes to the backing store, epoch by
//! epoch. Page slots hold only clean data, so a page is evicted without I/O, and a slot with a
//! wrong checksum is read from the backing store instead. In mode *through* a write goes to the
//! backing store and is answered.
//!
//! Left out: I/O, clocks, threads, randomness. Refused: a set that is damaged where it was known to
//! be durable; serving a page with a wrong checksum; further writes to a device that failed a write
//! of the log.
//!
//! Invariants, each checked by the simulation in `tests/`:
//! 1. In mode back a write is answered when its group and all groups before it are accepted by the
//!    cache device, and a flush when they are durable. So after a kill the disk has all answered
//!    writes and perhaps some later writes, in the order in which they came. After a power cut the
//!    same holds for all flushed writes.
//! 2. The backing store gets only writes that are durable in the log, in epochs. After each flush,
//!    the content of the backing store is a state that the disk had. No write of an epoch was
//!    requested after a flush or a durable write of the same epoch was answered. Before several
//!    epochs are written together, the sidecar records that.
//! 3. A block of the backing store is never written while a durable map marks the block's copy in a
//!    slot as valid.
//! 4. A slot or a chunk is reused only when it is durably free and no read of it is in progress.
//! 5. An I/O that the state machine starts touches no byte that another of its writes in flight
//!    touches.
//! 6. Every request is answered once, and its buffer is released once.
//! 7. A block in the memory tier equals the block in the pages or the backing store, and is dropped
//!    before a write of this block is answered.
#![forbid(unsafe_code)]

mod event;
pub mod format;
mod geometry;
mod machine;
mod moment;
mod open;
pub mod ownership;

pub use event::{
    Buf, Check, Effect, Event, IoError, IoTarget, MemoryCells, Mode, Note, Op, Order, PeerEvent,
    Piece, ReadIo, Request, Sums,
};
pub use geometry::{Geometry, GeometryError, Plan};
pub use machine::{
    BLOCK_CELLS, CELL_BYTES, Counters, DiskStatus, MemoryStatus, Prepared, REQUEST_BYTES_MAX, Tier,
};
pub use moment::{Moment, Since};
pub use open::{
    AttachError, Attachment, Damaged, Examined, ExaminedDisk, HeldCopy, LogWrites, Media,
    OpenError, Opened, PageDamage, Session, Settings, Skipped, StaleError, StaleLog, TakeOverError,
    Taken, Taking, export_stale, forget_stale, give_up, init, read_sidecar, stale, take_over,
    word_for_cache, word_for_disk,
};
pub use state_machine::{IoId, RequestId};
