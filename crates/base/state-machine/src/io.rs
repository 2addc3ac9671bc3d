use serde::{Deserialize, Serialize};
use units::Nanos;

/// Token of the state machine for an outstanding request, timer or CPU burst. The driver returns it
/// unchanged and never interprets it. One token may be outstanding several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Token(pub u32);

/// Position of a virtual disk in its state machine's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DiskId(pub u16);

/// Position of an action in its workload's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionId(pub u16);

/// Position of a user group in its workload's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u16);

/// A kind of I/O or call, as the workload names it for its limits ("database read", "log
/// write"): a position in the workload's list of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KindId(pub u16);

/// Operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// Read `length` bytes.
    Read,
    /// Write `length` bytes (appends are writes whose address the state machine chose).
    Write,
    /// Make everything acknowledged so far durable; `offset` and `length` are zero.
    Flush,
}

/// Content of a write without its bytes: the driver derives the payload from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Pattern {
    /// Equal seeds give equal payloads, so a dedupable share is a share of repeated seeds.
    pub seed: u64,
    /// Share of each 4 KiB that a compressor could remove, 0 to 100 percent.
    pub compressible_percent: u8,
    /// Source of the bytes.
    #[serde(default)]
    pub content: Content,
}

/// Source of a request's bytes. A driver without payloads (a model) treats every one as
/// [`Content::Made`]: the last two then cost the write that carries them, a durable block of
/// metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Content {
    /// For a write, bytes of its pattern; bytes of a read are discarded.
    #[default]
    Made,
    /// For a read, bytes that are kept under its token, for one further request with that token.
    Keep,
    /// A write has those that were kept; a read that brings others has failed with
    /// [`IoError::Mismatch`](crate::IoError::Mismatch).
    Kept,
    /// Whole content of another disk of the state machine, by sharing its blocks.
    Clone(DiskId),
    /// Nothing: the whole disk is discarded to the storage below, and is empty.
    Discard,
}

impl Content {
    /// True if it concerns the whole disk, whatever offset and length of the request.
    pub const fn is_of_disk(self) -> bool {
        matches!(self, Self::Clone(_) | Self::Discard)
    }
}

/// Bytes of the write that a request about a whole disk is to a model: one block.
pub const METADATA: u32 = 4096;

/// I/O request of a state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IoRequest {
    /// Returned with the answer.
    pub token: Token,
    /// Disk of the state machine.
    pub disk: DiskId,
    /// Read, write or flush.
    pub operation: Operation,
    /// Kind for limits and the series; implies the disk's role and the direction.
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
    /// True if a write is durable before its completion (FUA); ignored otherwise.
    pub durable: bool,
}
