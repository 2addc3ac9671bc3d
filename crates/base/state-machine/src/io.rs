use serde::{Deserialize, Serialize};
use units::Nanos;

/// Token of the state machine for an outstanding request, timer or CPU burst. The driver returns it
/// unchanged and never interprets it. Several operations may be outstanding with the same token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Token(pub u32);

/// Index of a virtual disk in its state machine's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DiskId(pub u16);

/// Index of an action in its workload's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionId(pub u16);

/// Index of a user group in its workload's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u16);

/// Index of a kind of I/O or call in its workload's list. The workload names its kinds, so that
/// limits can refer to them ("database read", "log write").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KindId(pub u16);

/// Operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// Reads `length` bytes.
    Read,
    /// Writes `length` bytes. Appends are writes whose address the state machine chose.
    Write,
    /// Makes all acknowledged writes durable; `offset` and `length` are zero.
    Flush,
}

/// Description of a write's payload. The driver generates the bytes from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Pattern {
    /// Seed of the payload. Equal seeds give equal payloads, so the share of repeated seeds is the
    /// share that can be deduplicated.
    pub seed: u64,
    /// Share of each 4 KiB that a compressor can remove, in percent, 0 to 100.
    pub compressible_percent: u8,
    /// Source of the bytes.
    #[serde(default)]
    pub content: Content,
}

/// Source or destination of a request's bytes. A driver without payloads (a model) treats every
/// variant as [`Content::Made`]. `Clone` and `Discard` then cost one durable write of a metadata
/// block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Content {
    /// Write: the bytes generated from the pattern. Read: the bytes are discarded.
    #[default]
    Made,
    /// Read: the bytes are kept under the token, for one further request with the same token.
    Keep,
    /// Write: the kept bytes are written. Read: the bytes are compared with the kept ones; a
    /// difference is an [`IoError::Mismatch`](crate::IoError::Mismatch).
    Kept,
    /// The whole content of another disk of the state machine, by sharing its blocks.
    Clone(DiskId),
    /// No content: the whole disk is discarded on the storage below, and is then empty.
    Discard,
}

impl Content {
    /// Returns true if the request concerns the whole disk. Its offset and length then have no
    /// meaning.
    pub const fn is_of_disk(self) -> bool {
        matches!(self, Self::Clone(_) | Self::Discard)
    }
}

/// Size of the write that a model performs for a request about a whole disk, in bytes: one block.
pub const METADATA: u32 = 4096;

/// I/O request of a state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IoRequest {
    /// Token that is returned with the answer.
    pub token: Token,
    /// Index of the disk in the state machine's list.
    pub disk: DiskId,
    /// Read, write or flush.
    pub operation: Operation,
    /// Kind for limits and the series. It determines the disk's role and the direction.
    pub kind: KindId,
    /// Offset of the first byte on the disk; like `length`, a multiple of the sector size.
    pub offset: u64,
    /// Number of bytes to move, a multiple of 512.
    pub length: u32,
    /// Intended start. Response time counts from here, so that a late generator or a stalled device
    /// cannot hide waiting (coordinated omission).
    pub due: Nanos,
    /// Content of a write; ignored for other operations.
    pub pattern: Pattern,
    /// True if a write must be durable before its completion (FUA); ignored for other operations.
    pub durable: bool,
}
