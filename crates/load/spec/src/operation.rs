//! Steps that only infrastructure operations have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BlockSize, Nanos};

pub(crate) fn copy_size() -> BlockSize {
    BlockSize::MIB
}

pub(crate) fn copy_outstanding() -> u32 {
    16
}

/// A disk of a running virtual machine that moves: every block is copied to where the disk will be,
/// what is written meanwhile to a block that is there already goes to both places, and when
/// all is there the machine stands still until nothing is under way, and goes on from the new
/// place. The next move goes back. Tiles take turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Move {
    /// The disk that moves, by its name in a workload of the tile (default: the tile's smallest,
    /// the first of several).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Bytes of one read and of the write that follows it (default 1 MiB, our choice).
    #[serde(default = "copy_size")]
    pub size: BlockSize,
    /// Reads and writes of the copy under way at most, 1 to 64 (default 16, our choice).
    #[serde(default = "copy_outstanding")]
    pub outstanding: u32,
}

/// Stages of a [`Move`], as stages of its action: until all is copied, while the machine stands
/// still, and while places that nobody has written since are compared with where they were.
pub const MOVE_STAGES: [&str; 3] = ["copying", "switch-over", "checking"];

/// A linked clone: all of a disk becomes what another one holds, by sharing its blocks (a reflink,
/// `FICLONE`), which takes a file system that can. What is written later to either is its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// A disk of this workload.
    pub from: String,
    /// Another disk of this workload, of the same size and on the same datastore.
    pub to: String,
}

/// A disk that is destroyed and made anew: its space is given back, and taken again as it is
/// written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Destroy {
    /// A disk of this workload.
    pub disk: String,
}

/// A copy compared with what it is a copy of: in each of `blocks` equal parts of the disk one block
/// at a random place, read from both. A difference is a failed I/O.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Compare {
    /// What was copied.
    pub from: String,
    /// The copy, another disk of this workload and of the same size.
    pub to: String,
    /// How many places (default 64, our choice), at least 1.
    #[serde(default = "check_blocks")]
    pub blocks: u32,
    /// Bytes of each (default 64 KiB, our choice): a power of two from 4 KiB to 1 MiB.
    #[serde(default = "check_size")]
    pub size: BlockSize,
}

fn check_blocks() -> u32 {
    CHECK_BLOCKS
}

fn check_size() -> BlockSize {
    CHECK_SIZE
}

/// Places that a copy is compared at if nobody says how many: of a copy that is wrong in one part of
/// twenty, 96 checks of 100 find it (1 - 0.95^64).
pub const CHECK_BLOCKS: u32 = 64;

/// Bytes of each of them.
pub const CHECK_SIZE: BlockSize = BlockSize::KIB_64;

/// A snapshot of a disk of a running virtual machine: the machine stands still until nothing is under
/// way, a disk that shares all blocks with its own is made, and the machine goes on; what it writes
/// then is copied elsewhere by the file system. After a while the snapshot is deleted; as the
/// machine has written to its own disk all the time, nothing is to be written back. Tiles take turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Snapshot {
    /// The disk, by its name in a workload of the tile (default: the tile's smallest, the first of
    /// several). The same as that which moves, where operations move one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// How long it is kept.
    pub keep: Nanos,
}

/// Stages of a [`Snapshot`], as stages of its action: while the machine stands still, while the
/// snapshot is kept, and while it is deleted.
pub const SNAPSHOT_STAGES: [&str; 3] = ["creating", "keeping", "deleting"];
