use cache::PolicyKind;
use cache::tier::Admission;
use state_machine::{IoId, RequestId};
use units::Nanos;

use crate::format::{BLOCK, block_sum, mode, payload_sum};

/// Number of a memory buffer of the driver. The driver chooses numbers below 2^31 for the buffers
/// of requests. The state machine chooses numbers from 2^31 for the buffers that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Buf(pub u32);

/// Target of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IoTarget {
    /// Cache device.
    Cache,
    /// Backing store of the disk with this index.
    Backing(u16),
    /// Sidecar of the disk with this index.
    Sidecar(u16),
    /// Copy of the disk's log on one of its peers: two labels, then the groups by their position.
    Copy(u16, u8),
}

/// Operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Reads bytes into the request's buffer.
    Read,
    /// Writes bytes from the request's buffer.
    Write,
    /// Zeroes bytes. With `unmap` the backing store may deallocate them.
    Zero {
        /// True if the backing store may deallocate.
        unmap: bool,
    },
    /// Makes all answered writes durable.
    Flush,
}

/// Checksums of a write. The driver computes them, because only it has the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sums {
    /// Checksum of all bytes, by [`payload_sum`].
    pub whole: u64,
    /// Checksums, by [`block_sum`], of the parts in each 4 KiB block of the disk that the write
    /// touches, in order.
    pub blocks: Vec<u32>,
}

impl Sums {
    /// Computes the checksums of `data` at `offset` of a disk.
    pub fn of(offset: u64, data: &[u8]) -> Self {
        let first = usize::try_from(BLOCK - offset % BLOCK).unwrap_or(0).min(data.len());
        let (head, rest) = data.split_at(first);
        let mut blocks = vec![block_sum(head)];
        blocks.extend(rest.chunks(4096).map(block_sum));
        Self { whole: payload_sum(data), blocks }
    }
}

/// Request of a VM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Identifier of the request, for its answer. The parts of one request of the VM may have the
    /// same identifier; each part is answered.
    pub id: RequestId,
    /// Index of the disk.
    pub disk: u16,
    /// Operation to execute.
    pub op: Op,
    /// Offset of the first byte on the disk, a multiple of 512.
    pub offset: u64,
    /// Length in bytes, a multiple of 512 up to [`crate::REQUEST_BYTES_MAX`]; 0 for a flush.
    pub bytes: u32,
    /// True if a write must be durable when it is answered.
    pub fua: bool,
    /// Buffer of a read or write. The driver must keep it until [`Effect::Release`].
    pub buf: Option<Buf>,
    /// Checksums of a write; empty for other operations.
    pub sums: Sums,
}

/// Order of an operator to the state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Writes the whole of the disk's log to the backing store; [`Note::Drained`] reports the
    /// completion.
    Drain {
        /// Index of the disk.
        disk: u16,
    },
    /// Changes the mode in which the disk's writes are answered; [`Note::Mode`] reports the change.
    Mode {
        /// Index of the disk.
        disk: u16,
        /// New mode.
        mode: Mode,
    },
    /// Allows or stops the admission of new pages. Resident pages are served in any case.
    Populate {
        /// Index of the disk.
        disk: u16,
        /// True to admit pages.
        is_on: bool,
    },
    /// Limits the disk's share of all pages. At the limit, a new page of the disk replaces an old
    /// page of the disk. The same share applies to the memory tier.
    Share {
        /// Index of the disk.
        disk: u16,
        /// Share in percent, from 0 (admits no new page) to 100.
        percent: u8,
    },
    /// Sets the admission rule for the disk's pages.
    Admission {
        /// Index of the disk.
        disk: u16,
        /// New rule.
        admission: Admission,
    },
    /// Sets the eviction policy of the memory tier, and of disks without a policy of their own.
    Policy(PolicyKind),
    /// Gives the disk its own division of the pages, as large as its share and with this policy, or
    /// removes the division. Other disks share the remaining pages. The shares of disks with
    /// divisions are at most 99 % together, because otherwise the other disks would have too few
    /// pages.
    OwnPolicy {
        /// Index of the disk.
        disk: u16,
        /// Policy of the division; `None` to remove the division.
        policy: Option<PolicyKind>,
    },
    /// Begins to serve requests of a disk that was attached while the set was open
    /// ([`crate::Tier::attach`]).
    Serve {
        /// Index of the disk.
        disk: u16,
    },
    /// Detaches a disk: its log is written to the backing store, its sidecar becomes *clean*, and
    /// all of its pages are removed. [`Note::Detached`] reports the completion. No requests for the
    /// disk may follow.
    Detach {
        /// Index of the disk.
        disk: u16,
    },
    /// Closes the set in order; [`Note::Closed`] reports the completion. No requests may follow.
    Close,
}

/// Mode that decides when writes are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Writes are answered when the backing store has them.
    Through,
    /// Writes are answered when the log has the write and all earlier writes.
    Back,
}

impl Mode {
    /// Returns the number that stands for the mode in superblocks and sidecars.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Through => mode::THROUGH,
            Self::Back => mode::BACK,
        }
    }
}

/// Cells of the driver's memory tier in which a block is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryCells {
    /// Number of the first cell, assigned by the driver.
    pub first: u32,
    /// Number of cells, each of [`crate::CELL_BYTES`] bytes, from 1 to [`crate::BLOCK_CELLS`].
    pub cells: u8,
}

/// Event for the state machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A VM sends a request.
    Request(Request),
    /// Completion of an I/O. A read with `wants_sums` returns the checksums of the whole blocks
    /// that it read.
    Done(IoId, Result<Vec<u32>, IoError>),
    /// The time of an [`Effect::Wake`] has come.
    Timer,
    /// An operator gives an order.
    Order(Order),
    /// Completion of an [`Effect::Keep`], with the cells of the block. It must come before any
    /// other event.
    Kept(IoId, MemoryCells),
    /// Change of the connection to a peer of a disk.
    Peer(u16, u8, PeerEvent),
    /// End of a turn: the driver has no more events for now, so batched work is started. It comes
    /// after all other events, before the driver waits.
    Turn,
}

/// Change of the connection to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerEvent {
    /// The peer accepts a copy of the log of this generation, with this capacity. Nothing has been
    /// sent over this connection yet.
    Up {
        /// Capacity of the copy in bytes, a multiple of 4 KiB.
        capacity: u64,
    },
    /// The connection is lost. I/Os in progress complete with an error, now or later.
    Lost,
    /// The peer accepts only copies of a later generation, because another host owns the disk.
    Fenced,
}

/// Reason why an I/O failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IoError {
    /// The storage failed.
    #[error("input/output error")]
    Io,
    /// The bytes read differ from the bytes written.
    #[error("the data read differ from the data written")]
    Checksum,
    /// The disk has another owner now, or its backing store refuses writes of this host.
    #[error("the disk has another owner")]
    Fenced,
}

/// Expected checksum of a part of a read. The read fails if it differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// Offset of the part from the first byte read.
    pub at: u32,
    /// Length of the part in bytes.
    pub bytes: u32,
    /// Expected checksum, by [`block_sum`].
    pub sum: u32,
}

/// Read from a target into a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadIo {
    /// Id of the I/O; the event of its completion has the same id.
    pub io: IoId,
    /// Target to read from.
    pub place: IoTarget,
    /// Address of the first byte on the target.
    pub at: u64,
    /// Number of bytes to read.
    pub bytes: u32,
    /// Number of bytes to drop at the start of the bytes read.
    pub skip: u32,
    /// Number of bytes to copy into the buffer after the dropped bytes.
    pub take: u32,
    /// Buffer to read into.
    pub buf: Buf,
    /// Offset in that buffer.
    pub to: u32,
    /// Checksums that must match before any byte is copied into the buffer.
    pub checks: Vec<Check>,
    /// True if the completion must return the checksums of whole blocks, aligned to 4 KiB on the
    /// target.
    pub wants_sums: bool,
}

/// Piece of the data of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Bytes that are contained in the piece.
    Bytes(Box<[u8]>),
    /// Bytes from a buffer.
    Buf {
        /// Buffer with the bytes.
        buf: Buf,
        /// Offset of the first byte in the buffer.
        at: u32,
        /// Number of bytes.
        bytes: u32,
    },
    /// Zeros; the value is their number of bytes.
    Zero(u32),
}

impl Piece {
    /// Returns the number of bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Buf { bytes, .. } | Self::Zero(bytes) => u64::from(*bytes),
        }
    }
}

/// Effect that the driver must carry out. Effects are started in the given order; I/Os may complete
/// in any order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Reads.
    Read(ReadIo),
    /// Writes these pieces one after the other, starting at one address.
    Write {
        /// Id of the I/O; the event of its completion has the same id.
        io: IoId,
        /// Target to write to.
        place: IoTarget,
        /// Address of the first byte on the target.
        at: u64,
        /// Pieces of data to write.
        from: Vec<Piece>,
        /// True if the bytes must be durable when the write completes successfully.
        durable: bool,
    },
    /// Zeroes bytes of a target.
    Zero {
        /// Id of the I/O; the event of its completion has the same id.
        io: IoId,
        /// Target on which bytes are zeroed.
        place: IoTarget,
        /// Address of the first byte on the target.
        at: u64,
        /// Number of bytes.
        bytes: u32,
        /// True if the target may deallocate the bytes.
        unmap: bool,
    },
    /// Flushes a target: all completed writes become durable. A sidecar's flush succeeds only if
    /// this host still holds its reservation of the disk. The driver checks that once the sidecar
    /// is durable.
    Flush {
        /// Id of the I/O; the event of its completion has the same id.
        io: IoId,
        /// Place to flush.
        place: IoTarget,
    },
    /// Reads the disk's sidecar. Succeeds if this set still owns the disk with this generation;
    /// otherwise the error is [`IoError::Fenced`].
    Confirm {
        /// Id of the I/O; the event of its completion has the same id.
        io: IoId,
        /// Index of the disk.
        disk: u16,
        /// Expected generation.
        generation: u64,
    },
    /// Closes the connection to a peer that made no progress.
    Cut {
        /// Index of the disk.
        disk: u16,
        /// Number of the peer.
        peer: u8,
    },
    /// Copies bytes between buffers at once.
    Copy {
        /// Source buffer.
        from: Buf,
        /// Offset of the first byte in the source buffer.
        at: u32,
        /// Target buffer.
        buf: Buf,
        /// Offset of the first byte in the target buffer.
        to: u32,
        /// Number of bytes.
        bytes: u32,
    },
    /// Zeroes bytes of a buffer at once.
    Clear {
        /// Buffer in which bytes are zeroed.
        buf: Buf,
        /// Offset of the first byte in the buffer.
        to: u32,
        /// Number of bytes.
        bytes: u32,
    },
    /// Stores a block in the driver's memory tier at once, compressed or not, because its buffer
    /// will be reused. There is room even if the block does not compress. [`Event::Kept`] returns
    /// its cells.
    Keep {
        /// Id of the I/O; the event of its completion has the same id.
        io: IoId,
        /// Source buffer.
        from: Buf,
        /// Offset of the first byte in the source buffer.
        at: u32,
    },
    /// Copies bytes of a block in the memory tier into a buffer at once.
    Recall {
        /// Cells of the block.
        kept: MemoryCells,
        /// Offset of the first byte in the block.
        skip: u32,
        /// Target buffer.
        buf: Buf,
        /// Offset of the first byte in the target buffer.
        to: u32,
        /// Number of bytes.
        bytes: u32,
    },
    /// Frees a block of the memory tier at once.
    Forget(MemoryCells),
    /// Allocates a buffer of this size, under this number.
    Take(Buf, u32),
    /// Releases a buffer. The bytes of a request's buffer may still be read for the request's
    /// answer.
    Release(Buf),
    /// Answers a request.
    Reply(RequestId, Result<(), IoError>),
    /// Requests an [`Event::Timer`] at this time or later. The driver may drop earlier requests for
    /// a timer.
    Wake(Nanos),
    /// Reports an event to the driver and the operator.
    Note(Note),
}

impl Effect {
    /// Creates a write that is not durable at its completion; a later flush can make it durable.
    pub(crate) fn write(io: IoId, place: IoTarget, at: u64, from: Vec<Piece>) -> Self {
        Self::Write { io, place, at, from, durable: false }
    }
}

/// Report to the driver or an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// The whole log of the disk is on its backing store.
    Drained(u16),
    /// The disk's writes are now answered in this mode.
    Mode(u16, Mode),
    /// Set and sidecar name this set as the owner of the disk: [`Order::Serve`] may follow.
    Attached(u16),
    /// Attaching failed. The set may list the disk, but holds no new data of the disk.
    NotAttached(u16),
    /// The disk is no longer part of the set: its backing store and sidecar may be closed.
    Detached(u16),
    /// The set is closed in order: the cache device may be closed.
    Closed,
    /// The cache device failed a write. Writes to it fail from now on.
    CacheFailed,
    /// The log of this disk cannot be read, so it is not written to the backing store.
    LogDamaged(u16),
    /// The backing store of this disk refused a write or a flush, which will be retried.
    BackingFailed(u16),
    /// This peer has a copy of every answered write from now on.
    Holding(u16, u8),
    /// This peer had a copy, but has none any more.
    PeerLost(u16, u8),
    /// The disk has another owner. This host no longer answers or writes anything for the disk.
    Fenced(u16),
}
