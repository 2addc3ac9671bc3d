//! Steps of infrastructure operations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BlockSize, Nanos};

pub(crate) fn copy_size() -> BlockSize {
    BlockSize::MIB
}

pub(crate) fn copy_outstanding() -> u32 {
    16
}

/// Moves a disk of a running virtual machine. Every block is copied to the new place. Meanwhile,
/// writes to a copied block go to both places. At the end, the virtual machine is paused until no
/// I/O is outstanding, and continues from the new place. The next move goes back. Tiles take turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Move {
    /// Name of the disk in a workload of the tile (default: the tile's smallest disk, or the first
    /// of several).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Size of one read and of the write that follows it (default 1 MiB, our choice).
    #[serde(default = "copy_size")]
    pub size: BlockSize,
    /// Maximum number of outstanding reads and writes of the copy, 1 to 64 (default 16, our
    /// choice).
    #[serde(default = "copy_outstanding")]
    pub outstanding: u32,
}

/// Stages of a [`Move`], as stages of its action: copying; the pause of the virtual machine; and
/// checking, which compares unchanged blocks with the old place.
pub const MOVE_STAGES: [&str; 3] = ["copying", "switch-over", "checking"];

/// Linked clone: a disk gets the content of another disk by sharing all of its blocks (a reflink,
/// `FICLONE`). It needs a file system with reflinks. Later writes to either disk do not affect the
/// other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// Name of a disk of this workload.
    pub from: String,
    /// Name of another disk of this workload, of the same size and on the same datastore.
    pub to: String,
}

/// Disk that is deleted and created again. Its space is freed, and allocated again when it is
/// written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Destroy {
    /// Name of a disk of this workload.
    pub disk: String,
}

/// Comparison of a copy with its original. One block at a random place in each of `blocks` equal
/// parts of the disk is read from both. A difference counts as a failed I/O.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Compare {
    /// Name of the original.
    pub from: String,
    /// Name of the copy, another disk of this workload with the same size.
    pub to: String,
    /// Number of blocks (default 64, our choice), at least 1.
    #[serde(default = "check_blocks")]
    pub blocks: u32,
    /// Size of a block (default 64 KiB, our choice): a power of two from 4 KiB to 1 MiB.
    #[serde(default = "check_size")]
    pub size: BlockSize,
}

fn check_blocks() -> u32 {
    CHECK_BLOCKS
}

fn check_size() -> BlockSize {
    CHECK_SIZE
}

/// Default number of compared blocks. If one part in twenty is wrong, 96 of 100 comparisons find it
/// (1 - 0.95^64).
pub const CHECK_BLOCKS: u32 = 64;

/// Default size of a compared block.
pub const CHECK_SIZE: BlockSize = BlockSize::KIB_64;

/// Snapshot of a disk of a running virtual machine. The virtual machine is paused until no I/O is
/// outstanding. A disk that shares all blocks with its disk is created, and the virtual machine
/// continues. The file system copies what it writes from then on elsewhere. Later the snapshot is
/// deleted. Nothing has to be written back, because the virtual machine always wrote to its own
/// disk. Tiles take turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Snapshot {
    /// Name of the disk in a workload of the tile (default: the tile's smallest disk, or the first
    /// of several). If operations move a disk, it must be the same disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<String>,
    /// Time for which the snapshot is kept.
    pub keep: Nanos,
}

/// Stages of a [`Snapshot`], as stages of its action: the pause of the virtual machine; the
/// lifetime of the snapshot; and its deletion.
pub const SNAPSHOT_STAGES: [&str; 3] = ["creating", "keeping", "deleting"];
