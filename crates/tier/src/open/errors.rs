use cache::PolicyKind;
use cache::tier::Admission;

use crate::event::{IoError, Mode};
use crate::format::{FINGERPRINT_BYTES, HOLDERS, Holder, SuperblockError, Uuid};

/// How a set is to be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Which page leaves.
    pub policy: PolicyKind,
    /// Which come in.
    pub admission: Admission,
    /// Bytes of memory for blocks, in cells of [`crate::CELL_BYTES`]; 0 for none.
    pub memory_bytes: u64,
    /// This start of this machine.
    pub boot: Uuid,
}

/// A disk that is to be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its index: that of its entry in the set if it has one, else a free one.
    pub index: u16,
    /// Its name, not all zero.
    pub disk: Uuid,
    /// How large the backing store is; what is left over below a sector is not used.
    pub bytes: u64,
    /// How its writes are answered.
    pub mode: Mode,
    /// The key by which a reservation of the backing store is held; 0 for none.
    pub key: u64,
    /// What tells the backing store from another, or from itself changed.
    pub fingerprint: [u8; FINGERPRINT_BYTES],
    /// How many peers have to hold a copy of its log while it is in mode back, and who may.
    pub copies: u8,
    /// Up to [`HOLDERS`].
    pub peers: Vec<Holder>,
}

/// Why a disk is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AttachError {
    /// There is no such place, or it is another disk's.
    #[error("index {0} is outside the set, or another disk's")]
    Index(u16),
    /// The name is all zero, or two have it.
    #[error("the disk has no name, or two have the same")]
    Name,
    /// More copies than peers, or more peers than a sidecar names.
    #[error("{copies} copies on {peers} peers: one copy on each, and up to {HOLDERS} peers")]
    Copies {
        /// Copies that were asked for.
        copies: u8,
        /// Peers that were named.
        peers: usize,
    },
    /// Too many for the room there is for logs.
    #[error("{disks} disks are more than the {most} that the set has room for logs of")]
    Many {
        /// How many were asked for.
        disks: usize,
        /// How many there may be.
        most: usize,
    },
    /// Another set has writes that this backing store has not.
    #[error("the sidecar says that set {} has writes which this backing store has not", hex(.0))]
    Owned(Uuid),
    /// Somebody takes it over, or was stopped while he did.
    #[error("the disk is being taken over, or that was stopped before its end: take it over again")]
    Claimed,
    /// Its owner holds a reservation of the backing store, and it is to be served without one.
    #[error("the sidecar says that its backing device is reserved: serve it with --reserve")]
    Reserved,
    /// This set has writes for it, and its sidecar says that they were given up, or that somebody
    /// else went on.
    #[error(
        "the writes in the log are of generation {log}, and the backing store went on to {sidecar} without them"
    )]
    Stale {
        /// Of the log.
        log: u64,
        /// Of the sidecar.
        sidecar: u64,
    },
    /// This set has writes for it, and the sidecar is not there, or neither of its copies is good.
    #[error("the log has writes for this disk, and its sidecar is missing or damaged")]
    NoSidecar,
    /// This set has writes for it, and it is not what it was.
    #[error("the log has writes for this disk, and the backing store was changed by somebody else")]
    Changed,
    /// What was known to be durable is not there.
    #[error("group {0} of the log was durable and is damaged")]
    Damaged(u64),
}

/// Why a set is not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The storage could not do it.
    #[error(transparent)]
    Io(#[from] IoError),
    /// There is no set, or none that this program can use.
    #[error(transparent)]
    Superblock(#[from] SuperblockError),
    /// A block of the table that counts is damaged.
    #[error("block {0} of the table is damaged")]
    Table(u64),
    /// What was known to be durable is not there.
    #[error("group {0} of the log of pages was durable and is damaged")]
    Pool(u64),
    /// Two logs claim one chunk.
    #[error("chunk {0} belongs to two logs")]
    Chunk(u32),
    /// There is no free chunk for the log of a new disk.
    #[error("no room is left for the log of a new disk")]
    Full,
    /// A disk cannot be served.
    #[error("disk {index}: {error}")]
    Attach {
        /// Which.
        index: u16,
        /// Why.
        error: AttachError,
    },
}

fn hex(uuid: &Uuid) -> String {
    uuid.iter().map(|byte| format!("{byte:02x}")).collect()
}
