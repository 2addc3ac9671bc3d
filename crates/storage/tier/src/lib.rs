//! The served acceleration tier, without its I/O: fast local storage before a slow disk, which loses
//! nothing that it acknowledged.
//!
//! What it does: [`Tier`] decides, for requests of virtual machines, what is read and written where. It
//! receives [`Event`]s with the time and writes [`Effect`]s; bytes stay with the driver, which it names
//! by [`Buf`]. [`format`](mod@format) is what lies on the cache device and beside a backing disk; [`init`] makes a set,
//! and [`Tier::open`] finds out what is true after whatever happened. Which page stays is decided
//! by the same `cache` crate that predicts what a tier would bring.
//!
//! **The log is the truth, pages are disposable.** In mode *back* a write goes to its disk's log and
//! is answered; later, epoch by epoch, it goes to the backing store. Page slots hold clean data
//! only, so whatever is evicted is simply forgotten, and a slot that turns out wrong is read from
//! the backing store instead. In mode *through* a write goes to the backing store and is answered.
//!
//! What it refuses: I/O, clocks, threads, randomness; a set that is damaged where it was known to
//! be durable; serving a page whose sum is wrong; going on writing to a device that failed a write
//! of the log.
//!
//! Invariants, each held by the simulation in `tests/`:
//! 1. A write of mode back is answered when its group and all groups before it are accepted by the
//!    cache device; a flush, when they are durable. So after a kill the disk is what all answered
//!    writes and perhaps some later ones made, in the order in which they came; after a power cut the
//!    same of the flushed ones.
//! 2. The backing store gets only what is durable in the log, in epochs: after each flush of it, it is
//!    a state that the disk had. No write of an epoch was asked for after a flush or a durable write of
//!    the same epoch was answered. While several epochs are put in at once its sidecar says so first.
//! 3. Nothing is written to the backing store over a block that a durable map still calls valid.
//! 4. A slot or a chunk is used for something else only when it is durable that it is free, and nobody
//!    still reads it.
//! 5. Every I/O the machine starts touches no byte that another of its writes in flight touches.
//! 6. Every request is answered once, and its memory released once.
//! 7. A block that is kept in memory is what the pages or the backing store would say; it is gone before a write
//!    of it is answered.
#![forbid(unsafe_code)]

mod event;
pub mod format;
mod geometry;
mod machine;
mod moment;
mod open;
pub mod ownership;

pub use event::{
    Buf, Check, Effect, Event, IoError, IoId, Kept, Mode, Note, Op, Order, PeerEvent, Piece, Place,
    ReadIo, ReqId, Request, Sums,
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
