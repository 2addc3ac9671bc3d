use serde::{Deserialize, Serialize};
use units::Nanos;

/// The machine's own name for an outstanding request, timer or CPU burst. The driver
/// returns it unchanged and never looks inside. One token may be outstanding several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Token(pub u32);

/// A port: the position of a virtual disk in its machine's own list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DiskId(pub u16);

/// The position of an action in its workload's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionId(pub u16);

/// The position of a user group in its workload's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u16);

/// A kind of I/O or call, as the workload names it for its limits ("database read", "log
/// write"): a position in the workload's list of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KindId(pub u16);

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// Read `length` bytes.
    Read,
    /// Write `length` bytes (appends are writes whose address the machine chose).
    Write,
    /// Make everything acknowledged so far durable; `offset` and `length` are zero.
    Flush,
}

/// What a write contains, without the bytes: the driver derives the payload from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Pattern {
    /// Equal seeds give equal payloads, so a dedupable share is a share of repeated seeds.
    pub seed: u64,
    /// How much of each 4 KiB a compressor could remove, 0 to 100 percent.
    pub compressible_percent: u8,
    /// Whose bytes they are.
    #[serde(default)]
    pub content: Content,
}

/// Whose bytes a request moves. A driver that moves none (a model) takes every one as
/// [`Content::Made`]: what the last two cost there is the write that carries them, a block of
/// metadata made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Content {
    /// A write has those of its pattern, and nobody wants those of a read.
    #[default]
    Made,
    /// Those that a read brings are kept under its token, for one request more of that token.
    Keep,
    /// A write has those that were kept; a read that brings others has failed with
    /// [`IoError::Mismatch`](crate::IoError::Mismatch).
    Kept,
    /// All of the disk becomes what another disk of the machine holds, by sharing its blocks.
    Clone(DiskId),
    /// All of the disk is given back to whatever it lies on, and holds nothing any more.
    Discard,
}

impl Content {
    /// Whether it is about the whole disk, whatever offset and length of the request say.
    pub const fn is_of_disk(self) -> bool {
        matches!(self, Self::Clone(_) | Self::Discard)
    }
}

/// Bytes of the write that a request about a whole disk is to a model: one block.
pub const METADATA: u32 = 4096;

/// One I/O, as a machine asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IoRequest {
    /// Returned with the answer.
    pub token: Token,
    /// Which of the machine's disks.
    pub disk: DiskId,
    /// Read, write or flush.
    pub operation: Operation,
    /// For limits and the series; implies the disk's role and the direction.
    pub kind: KindId,
    /// First byte, a multiple of the length's sector size.
    pub offset: u64,
    /// Bytes to move, a multiple of 512.
    pub length: u32,
    /// Intended start. Response time counts from here, so a late generator or a stalled
    /// device cannot hide waiting (coordinated omission).
    pub due: Nanos,
    /// Content of a write; ignored otherwise.
    pub pattern: Pattern,
    /// Whether a write is durable before it is answered (FUA); ignored otherwise.
    pub durable: bool,
}
