use cache::PolicyKind;
use cache::tier::Admission;
use units::Nanos;

use crate::format::{BLOCK, block_sum, mode, payload_sum};

/// A request's number, the caller's; answered once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReqId(pub u64);

/// An I/O's number, the machine's; the driver gives it back once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IoId(pub u32);

/// Memory that the driver keeps. Numbers below 2^31 are the driver's own, those of requests;
/// the machine names what it takes from 2^31 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Buf(pub u32);

/// Where an I/O goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The cache device.
    Cache,
    /// The backing store of the disk with this index.
    Backing(u16),
    /// Its sidecar.
    Sidecar(u16),
    /// The copy of its log that one of its peers holds: two labels, then the groups by their position.
    Copy(u16, u8),
}

/// What is asked of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Bytes into the request's memory.
    Read,
    /// Bytes out of it.
    Write,
    /// Bytes become zero; with `unmap` the backing store may give the room back.
    Zero {
        /// Whether it may.
        unmap: bool,
    },
    /// Whatever was answered is durable when this is answered.
    Flush,
}

/// The sums of a write, which the driver computes because it has the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sums {
    /// Of all of it.
    pub whole: u64,
    /// Of what lies in each block of 4 KiB of the disk that it touches, in order.
    pub blocks: Vec<u32>,
}

impl Sums {
    /// The sums of `data` at `offset` of a disk.
    pub fn of(offset: u64, data: &[u8]) -> Self {
        let first = usize::try_from(BLOCK - offset % BLOCK).unwrap_or(0).min(data.len());
        let (head, rest) = data.split_at(first);
        let mut blocks = vec![block_sum(head)];
        blocks.extend(rest.chunks(4096).map(block_sum));
        Self { whole: payload_sum(data), blocks }
    }
}

/// One request of a virtual machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its number.
    pub id: ReqId,
    /// Index of the disk.
    pub disk: u16,
    /// What is asked.
    pub op: Op,
    /// First byte, a multiple of 512.
    pub offset: u64,
    /// How many, a multiple of 512 up to [`crate::REQUEST_BYTES_MAX`]; 0 for a flush.
    pub bytes: u32,
    /// Whether a write is durable when it is answered.
    pub fua: bool,
    /// Its memory, for reads and writes; the driver's until [`Effect::Release`].
    pub buf: Option<Buf>,
    /// Of a write.
    pub sums: Sums,
}

/// What an operator wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// All that the disk's log has goes to the backing store; [`Note::Drained`] when it has.
    Drain {
        /// Index of the disk.
        disk: u16,
    },
    /// Writes are answered in this way from soon on; [`Note::Mode`] when they are.
    Mode {
        /// Index of the disk.
        disk: u16,
        /// How.
        mode: Mode,
    },
    /// New pages come in or do not; what is there is served either way.
    Populate {
        /// Index of the disk.
        disk: u16,
        /// Whether they do.
        is_on: bool,
    },
    /// Its pages take at most so much of all, and beyond that each other's places; so does what of it is in memory.
    Share {
        /// Index of the disk.
        disk: u16,
        /// Percent, 0 (nothing new comes in) to 100.
        percent: u8,
    },
    /// Its pages come in by this rule.
    Admission {
        /// Index of the disk.
        disk: u16,
        /// The rule.
        admission: Admission,
    },
    /// Another policy decides which page leaves of disks that have none of their own, and what leaves memory.
    Policy(PolicyKind),
    /// A disk has as many pages as its share says to itself, and this policy decides there; or neither. What others may
    /// have is less by that. Shares of such disks are at most 99 % together, or there are too few pages for all.
    OwnPolicy {
        /// Index of the disk.
        disk: u16,
        /// The policy, if it is to have one.
        policy: Option<PolicyKind>,
    },
    /// A disk that came while the set is served ([`crate::Tier::attach`]) is asked from now on.
    Serve {
        /// Index of the disk.
        disk: u16,
    },
    /// A disk leaves the set: its log goes to its backing store, its sidecar says *clean*, and nothing of it stays;
    /// [`Note::Detached`] when that is so. No requests for it may follow.
    Detach {
        /// Index of the disk.
        disk: u16,
    },
    /// The set is left in order; [`Note::Closed`] when it is. No requests may follow.
    Close,
}

/// When writes are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// When the backing store has them.
    Through,
    /// When the log has them and all before.
    Back,
}

impl Mode {
    /// Its number in superblocks and sidecars.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Through => mode::THROUGH,
            Self::Back => mode::BACK,
        }
    }
}

/// Where the driver keeps a block in memory, and what that takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kept {
    /// The first of its cells, by the driver's own numbers.
    pub first: u32,
    /// How many cells of [`crate::CELL_BYTES`] it takes, from 1 to [`crate::BLOCK_CELLS`].
    pub cells: u8,
}

/// What the machine is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A virtual machine asks.
    Request(Request),
    /// An I/O ended; a read that wanted them has the sums of the whole blocks it read.
    Done(IoId, Result<Vec<u32>, IoError>),
    /// The time of a [`Effect::Wake`] has come.
    Timer,
    /// An operator asks.
    Order(Order),
    /// A block that was to be kept in memory is there. Comes before any other event.
    Kept(IoId, Kept),
    /// Something is known of a peer of a disk.
    Peer(u16, u8, PeerEvent),
    /// The driver knows of nothing else for now: what waited for more of its kind begins. Comes after all other
    /// events, before the driver waits for anything.
    Turn,
}

/// What becomes of the way to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerEvent {
    /// It takes a copy of the log of this generation, in so many bytes; nothing was sent on this way yet.
    Up {
        /// Bytes of the copy, a multiple of 4 KiB.
        capacity: u64,
    },
    /// Nothing goes there any more. I/Os that were under way end with an error, now or later.
    Lost,
    /// It takes copies of a later generation only: somebody else owns the disk.
    Fenced,
}

/// Why an I/O failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IoError {
    /// The storage could not do it.
    #[error("input/output error")]
    Io,
    /// What was read is not what was written.
    #[error("what was read is not what was written")]
    Checksum,
    /// The disk has another owner by now, or its backing store takes no writes of this host any more.
    #[error("the disk has another owner")]
    Fenced,
}

/// What a read must be, or it has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// From the first byte read.
    pub at: u32,
    /// How many bytes.
    pub bytes: u32,
    /// Their [`block_sum`].
    pub sum: u32,
}

/// Bytes from a place into memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadIo {
    /// Its number.
    pub io: IoId,
    /// Whence.
    pub place: Place,
    /// First byte there.
    pub at: u64,
    /// How many to read.
    pub bytes: u32,
    /// Of those read: how many to leave out at the start.
    pub skip: u32,
    /// How many to take then.
    pub take: u32,
    /// Into which memory.
    pub buf: Buf,
    /// Where there.
    pub to: u32,
    /// What must hold for the whole of it before any of it is taken.
    pub checks: Vec<Check>,
    /// Whether its end tells the sums of whole blocks (those aligned to 4 KiB of the place).
    pub wants_sums: bool,
}

/// Some of the bytes that are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// These.
    Bytes(Box<[u8]>),
    /// From memory.
    Buf {
        /// Which.
        buf: Buf,
        /// First byte there.
        at: u32,
        /// How many.
        bytes: u32,
    },
    /// So many zeros.
    Zero(u32),
}

impl Piece {
    /// How many bytes it is.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Buf { bytes, .. } | Self::Zero(bytes) => u64::from(*bytes),
        }
    }
}

/// What the driver is to do, in this order; I/Os may end in any order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Read.
    Read(ReadIo),
    /// Write these pieces one after the other.
    Write {
        /// Its number.
        io: IoId,
        /// Where.
        place: Place,
        /// First byte there.
        at: u64,
        /// What.
        from: Vec<Piece>,
        /// Whether these bytes are durable when it ends well.
        durable: bool,
    },
    /// Make bytes zero.
    Zero {
        /// Its number.
        io: IoId,
        /// Where.
        place: Place,
        /// First byte there.
        at: u64,
        /// How many.
        bytes: u32,
        /// Whether their room may be given back.
        unmap: bool,
    },
    /// Make durable what has ended there. That of a sidecar ends well only if a reservation by which the disk is
    /// held is held still: asked for when the sidecar is durable.
    Flush {
        /// Its number.
        io: IoId,
        /// Where.
        place: Place,
    },
    /// Read the disk's sidecar: well if this set is its owner, by this generation; else fenced.
    Confirm {
        /// Its number.
        io: IoId,
        /// Index of the disk.
        disk: u16,
        /// What it must say.
        generation: u64,
    },
    /// The way to a peer is given up: it made no progress.
    Cut {
        /// Index of the disk.
        disk: u16,
        /// Which peer.
        peer: u8,
    },
    /// Now: bytes from one memory to another.
    Copy {
        /// From which.
        from: Buf,
        /// First byte there.
        at: u32,
        /// To which.
        buf: Buf,
        /// First byte there.
        to: u32,
        /// How many.
        bytes: u32,
    },
    /// Now: zeros into memory.
    Clear {
        /// Which.
        buf: Buf,
        /// First byte.
        to: u32,
        /// How many.
        bytes: u32,
    },
    /// Now: a block out of memory that will be used for something else is kept in the driver's own, compressed or
    /// not. There is room for it as it is. [`Event::Kept`] says where.
    Keep {
        /// Its number.
        io: IoId,
        /// From which memory.
        from: Buf,
        /// First byte there.
        at: u32,
    },
    /// Now: some bytes of a block that is kept, into memory.
    Recall {
        /// Where it is.
        kept: Kept,
        /// First byte of the block.
        skip: u32,
        /// Into which memory.
        buf: Buf,
        /// Where there.
        to: u32,
        /// How many.
        bytes: u32,
    },
    /// Now: a block is kept no longer.
    Forget(Kept),
    /// Memory of this size under this number.
    Take(Buf, u32),
    /// The machine is done with it. A request's memory may still be read for its answer.
    Release(Buf),
    /// The answer to a request.
    Reply(ReqId, Result<(), IoError>),
    /// A [`Event::Timer`] not before then; an earlier one may be forgotten.
    Wake(Nanos),
    /// Something worth knowing.
    Note(Note),
}

impl Effect {
    /// A write that a flush makes durable, if anybody wants it so.
    pub(crate) fn write(io: IoId, place: Place, at: u64, from: Vec<Piece>) -> Self {
        Self::Write { io, place, at, from, durable: false }
    }
}

/// What a driver or an operator may want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// The disk's log is on its backing store.
    Drained(u16),
    /// Its writes are answered so now.
    Mode(u16, Mode),
    /// Set and sidecar say that this disk is ours: [`Order::Serve`] may follow.
    Attached(u16),
    /// They could not be made to say so. The set may name the disk, and has nothing for it that it had not before.
    NotAttached(u16),
    /// The disk is no more of the set: its backing store and sidecar may be let go.
    Detached(u16),
    /// All is in order; the cache device may be let go.
    Closed,
    /// The cache device cannot be written any more: writes fail from now on.
    CacheFailed,
    /// What the log of this disk holds cannot be read: it is not put into the backing store.
    LogDamaged(u16),
    /// The backing store of this disk refused a write or a flush; it is tried again.
    BackingFailed(u16),
    /// From now on this peer has a copy of whatever is answered.
    Holding(u16, u8),
    /// This peer had one and has none any more.
    PeerLost(u16, u8),
    /// The disk has another owner: nothing is answered any more, and nothing written.
    Fenced(u16),
}
