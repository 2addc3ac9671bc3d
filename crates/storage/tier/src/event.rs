use cache::PolicyKind;
use cache::tier::Admission;
use state_machine::{IoId, RequestId};
use units::Nanos;

use crate::format::{BLOCK, block_sum, mode, payload_sum};

/// Number of a memory buffer that the driver keeps. Numbers below 2^31 are the driver's own, for
/// requests. The state machine names the buffers that it takes from 2^31 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Buf(pub u32);

/// Target of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IoTarget {
    /// The cache device.
    Cache,
    /// Backing store of the disk with this index.
    Backing(u16),
    /// Sidecar of the disk with this index.
    Sidecar(u16),
    /// Copy of the disk's log that one of its peers holds: two labels, then the groups by their
    /// position.
    Copy(u16, u8),
}

/// Operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Reads bytes into the request's memory.
    Read,
    /// Writes bytes from the request's memory.
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
    /// Checksum of all bytes ([`payload_sum`]).
    pub whole: u64,
    /// Checksums of the parts in each 4 KiB block of the disk that the write touches, in order
    /// ([`block_sum`]).
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

/// Request of a virtual machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Number of the request. Several may have the same one, each of which is answered: parts of what a
    /// virtual machine asks at once.
    pub id: RequestId,
    /// Index of the disk.
    pub disk: u16,
    /// Operation.
    pub op: Op,
    /// Offset of the first byte, a multiple of 512.
    pub offset: u64,
    /// Length in bytes, a multiple of 512 up to [`crate::REQUEST_BYTES_MAX`]; 0 for a flush.
    pub bytes: u32,
    /// True if a write must be durable when it is answered.
    pub fua: bool,
    /// Memory of a read or write. The driver must keep it until [`Effect::Release`].
    pub buf: Option<Buf>,
    /// Checksums of a write.
    pub sums: Sums,
}

/// Order of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Writes all of the disk's log to the backing store; [`Note::Drained`] reports the end.
    Drain {
        /// Index of the disk.
        disk: u16,
    },
    /// Changes when the disk's writes are answered; [`Note::Mode`] reports the change.
    Mode {
        /// Index of the disk.
        disk: u16,
        /// New mode.
        mode: Mode,
    },
    /// Allows or stops the admission of new pages. Pages that are there are served either way.
    Populate {
        /// Index of the disk.
        disk: u16,
        /// True to admit pages.
        is_on: bool,
    },
    /// Limits the disk's share of all pages. Beyond its share, its pages replace each other. The
    /// same share applies to the memory tier.
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
    /// Gives the disk a division of its own, as large as its share and with this policy; or takes
    /// its division away. Other disks share the remaining pages. The shares of such disks are at
    /// most 99 % together, because otherwise the others would have too few pages.
    OwnPolicy {
        /// Index of the disk.
        disk: u16,
        /// Policy; none to take the division away.
        policy: Option<PolicyKind>,
    },
    /// Serves requests of a disk that was attached while the set was open
    /// ([`crate::Tier::attach`]).
    Serve {
        /// Index of the disk.
        disk: u16,
    },
    /// Detaches a disk: its log is written to the backing store, its sidecar becomes *clean*, and
    /// none of its pages stays. [`Note::Detached`] reports the end. No requests for the disk may
    /// follow.
    Detach {
        /// Index of the disk.
        disk: u16,
    },
    /// Closes the set in order; [`Note::Closed`] reports the end. No requests may follow.
    Close,
}

/// Time at which writes are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Writes are answered when the backing store has them.
    Through,
    /// Writes are answered when the log has them and all earlier writes.
    Back,
}

impl Mode {
    /// Number in superblocks and sidecars.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Through => mode::THROUGH,
            Self::Back => mode::BACK,
        }
    }
}

/// Place of a block in the driver's memory tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryCells {
    /// Number of the first cell, as the driver counts.
    pub first: u32,
    /// Number of cells of [`crate::CELL_BYTES`], from 1 to [`crate::BLOCK_CELLS`].
    pub cells: u8,
}

/// Event for the state machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Request of a virtual machine.
    Request(Request),
    /// Completion of an I/O. A read with `wants_sums` returns the checksums of the whole blocks
    /// that it read.
    Done(IoId, Result<Vec<u32>, IoError>),
    /// Timer: the time of an [`Effect::Wake`] has come.
    Timer,
    /// Order of an operator.
    Order(Order),
    /// Completion of an [`Effect::Keep`], with the block's place. It comes before any other event.
    Kept(IoId, MemoryCells),
    /// Change of the connection to a peer of a disk.
    Peer(u16, u8, PeerEvent),
    /// End of a turn: the driver has no more events for now, so work that waited for more of its
    /// kind begins. It comes after all other events, before the driver waits for anything.
    Turn,
}

/// Change of the connection to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerEvent {
    /// The peer accepts a copy of the log of this generation, with this capacity. Nothing was sent
    /// over this connection yet.
    Up {
        /// Capacity of the copy in bytes, a multiple of 4 KiB.
        capacity: u64,
    },
    /// The connection is lost. I/Os under way end with an error, now or later.
    Lost,
    /// The peer accepts copies of a later generation only, because another host owns the disk.
    Fenced,
}

/// Reason why an I/O failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IoError {
    /// The storage failed.
    #[error("input/output error")]
    Io,
    /// The bytes read differ from the bytes written.
    #[error("what was read is not what was written")]
    Checksum,
    /// The disk has another owner by now, or its backing store refuses writes of this host.
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
    /// Expected [`block_sum`].
    pub sum: u32,
}

/// Read from a place into memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadIo {
    /// Number of the I/O.
    pub io: IoId,
    /// Place to read from.
    pub place: IoTarget,
    /// Address of the first byte there.
    pub at: u64,
    /// Number of bytes to read.
    pub bytes: u32,
    /// Number of bytes to drop at the start of those read.
    pub skip: u32,
    /// Number of bytes to take after that.
    pub take: u32,
    /// Memory to read into.
    pub buf: Buf,
    /// Offset in that memory.
    pub to: u32,
    /// Checksums that the whole read must match before any of it is taken.
    pub checks: Vec<Check>,
    /// True if the completion returns the checksums of whole blocks (those aligned to 4 KiB of the
    /// place).
    pub wants_sums: bool,
}

/// Piece of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Bytes given here.
    Bytes(Box<[u8]>),
    /// Bytes from memory.
    Buf {
        /// Memory.
        buf: Buf,
        /// Offset of the first byte in that memory.
        at: u32,
        /// Number of bytes.
        bytes: u32,
    },
    /// Zeros, this many bytes.
    Zero(u32),
}

impl Piece {
    /// Number of bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Buf { bytes, .. } | Self::Zero(bytes) => u64::from(*bytes),
        }
    }
}

/// Effect for the driver to carry out, in this order. I/Os may complete in any order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Reads.
    Read(ReadIo),
    /// Writes these pieces one after the other.
    Write {
        /// Number of the I/O.
        io: IoId,
        /// Place to write to.
        place: IoTarget,
        /// Address of the first byte there.
        at: u64,
        /// Pieces to write.
        from: Vec<Piece>,
        /// True if the bytes must be durable at a successful completion.
        durable: bool,
    },
    /// Zeroes bytes.
    Zero {
        /// Number of the I/O.
        io: IoId,
        /// Place to write to.
        place: IoTarget,
        /// Address of the first byte there.
        at: u64,
        /// Number of bytes.
        bytes: u32,
        /// True if the place may deallocate the bytes.
        unmap: bool,
    },
    /// Flushes a place: all completed writes become durable. A sidecar's flush succeeds only if
    /// this host still holds its reservation of the disk; the driver checks that once the sidecar
    /// is durable.
    Flush {
        /// Number of the I/O.
        io: IoId,
        /// Place to flush.
        place: IoTarget,
    },
    /// Reads the disk's sidecar. Succeeds if this set still owns the disk with this generation;
    /// else the error is [`IoError::Fenced`].
    Confirm {
        /// Number of the I/O.
        io: IoId,
        /// Index of the disk.
        disk: u16,
        /// Expected generation.
        generation: u64,
    },
    /// Drops the connection to a peer, because it made no progress.
    Cut {
        /// Index of the disk.
        disk: u16,
        /// Number of the peer.
        peer: u8,
    },
    /// Copies bytes between memory buffers at once.
    Copy {
        /// Source memory.
        from: Buf,
        /// Offset of the first byte there.
        at: u32,
        /// Target memory.
        buf: Buf,
        /// Offset of the first byte there.
        to: u32,
        /// Number of bytes.
        bytes: u32,
    },
    /// Zeroes memory at once.
    Clear {
        /// Memory.
        buf: Buf,
        /// Offset of the first byte.
        to: u32,
        /// Number of bytes.
        bytes: u32,
    },
    /// Stores a block in the driver's memory tier at once, compressed or not, because its memory
    /// will be used for something else. There is room even if it does not compress. [`Event::Kept`]
    /// returns its place.
    Keep {
        /// Number of the I/O.
        io: IoId,
        /// Source memory.
        from: Buf,
        /// Offset of the first byte there.
        at: u32,
    },
    /// Copies bytes of a block in the memory tier into memory at once.
    Recall {
        /// Place of the block.
        kept: MemoryCells,
        /// Offset of the first byte in the block.
        skip: u32,
        /// Target memory.
        buf: Buf,
        /// Offset of the first byte there.
        to: u32,
        /// Number of bytes.
        bytes: u32,
    },
    /// Frees a block of the memory tier at once.
    Forget(MemoryCells),
    /// Takes memory of this size, under this number.
    Take(Buf, u32),
    /// Releases memory. A request's memory may still be read for its answer.
    Release(Buf),
    /// Answers a request.
    Reply(RequestId, Result<(), IoError>),
    /// Asks for an [`Event::Timer`] at this time or later. Earlier times may be forgotten.
    Wake(Nanos),
    /// Reports something to the driver and the operator.
    Note(Note),
}

impl Effect {
    /// Creates a write that a later flush makes durable, if one is wanted.
    pub(crate) fn write(io: IoId, place: IoTarget, at: u64, from: Vec<Piece>) -> Self {
        Self::Write { io, place, at, from, durable: false }
    }
}

/// Report to a driver or an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// The disk's log is on its backing store.
    Drained(u16),
    /// The disk's writes are answered in this mode now.
    Mode(u16, Mode),
    /// Set and sidecar name this set as owner of the disk: [`Order::Serve`] may follow.
    Attached(u16),
    /// Attaching failed. The set may list the disk, but holds no new data of it.
    NotAttached(u16),
    /// The disk is no longer part of the set: its backing store and sidecar may be closed.
    Detached(u16),
    /// The set is closed in order: the cache device may be closed.
    Closed,
    /// The cache device failed a write: writes fail from now on.
    CacheFailed,
    /// The log of this disk cannot be read, so it is not written to the backing store.
    LogDamaged(u16),
    /// The backing store of this disk refused a write or a flush, which is tried again.
    BackingFailed(u16),
    /// From now on this peer has a copy of every answered write.
    Holding(u16, u8),
    /// This peer had a copy and has none any more.
    PeerLost(u16, u8),
    /// The disk has another owner: this host answers and writes nothing for it any more.
    Fenced(u16),
}
