use std::borrow::Cow;

use cache::PolicyKind;
use cache::tier::Admission;

use super::accept::{accept, identity_in, or_unknown};
use crate::event::{IoError, Mode};
use crate::format::{HOLDERS, Holder, Identity, SuperblockError, Uuid};
use crate::moment::Since;

/// Settings with which a set is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Eviction policy of pages and of the memory tier.
    pub policy: PolicyKind,
    /// Admission rule.
    pub admission: Admission,
    /// Size of the memory tier in bytes, divided into cells of [`crate::CELL_BYTES`]; 0 for none.
    pub memory_bytes: u64,
    /// Host that opens the set, and number of this opening.
    pub session: Session,
    /// Identity of the cache device on which the set lies.
    pub place: Identity,
    /// True if the owner confirmed that the set may be opened on this device, even if it was on
    /// another one before.
    pub is_place_vouched: bool,
}

/// Opening of a set by a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// Boot of the host.
    pub boot: Uuid,
    /// Unique number of the opening, never 0. It reveals older copies of a set or a sidecar.
    pub opening: u64,
}

/// Disk to be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Index of its entry in the set, or a free index for a new disk.
    pub index: u16,
    /// Identity of the disk, not all zero.
    pub disk: Uuid,
    /// Size of the backing store in bytes. A remainder smaller than a sector is not used.
    pub bytes: u64,
    /// Mode in which the disk's writes are answered.
    pub mode: Mode,
    /// Key of a held reservation of the backing store; 0 for none.
    pub key: u64,
    /// Identity of the present backing store.
    pub backing: Identity,
    /// True if the owner confirmed this identity for the disk, even if the sidecar has another one.
    pub is_backing_vouched: bool,
    /// Identity of the present storage of the sidecar.
    pub sidecar: Identity,
    /// True if the owner confirmed the sidecar's identity.
    pub is_sidecar_vouched: bool,
    /// Knowledge about changes of the backing store.
    pub since: Since,
    /// Number of peers that must hold a copy of the log while the disk is in mode back.
    pub copies: u8,
    /// Peers that may hold a copy, up to [`HOLDERS`].
    pub peers: Vec<Holder>,
}

/// Reason why a disk cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttachError {
    /// The index does not exist, or belongs to another disk.
    #[error("place {0} of the cache belongs to another disk or does not exist")]
    Index(u16),
    /// The name is all zero, or two disks have it.
    #[error("a disk has no name, or two disks have the same name")]
    Name,
    /// There are more copies than peers, or more peers than a sidecar can name.
    #[error(
        "copies of the log: {copies}, peers for them: {peers}; each copy needs a peer of its own, \
        and a disk has at most {HOLDERS} peers"
    )]
    Copies {
        /// Requested number of copies.
        copies: u8,
        /// Number of peers named.
        peers: usize,
    },
    /// There are more disks than the cache has room for logs.
    #[error("{disks} disks need a log each, but the cache has room for {most}")]
    Many {
        /// Requested number of disks.
        disks: usize,
        /// Maximum number of disks.
        most: usize,
    },
    /// Another set has writes that this backing store lacks.
    #[error("its newest writes are in the log of another cache (set {}), and the backing store lacks them", hex(.0))]
    Owned(Uuid),
    /// A take-over of the disk is in progress, or was interrupted.
    #[error("another take-over of the disk is running, or was interrupted")]
    Claimed,
    /// The owner has reserved the backing store, but the disk is to be served without a
    /// reservation.
    #[error(
        "its last server reserved its backing device, according to the sidecar, but now it would \
        be served without a reservation"
    )]
    Reserved,
    /// This set has writes for the disk. But according to the sidecar they were dropped on purpose,
    /// or another set continued without them.
    #[error(
        "the log has writes of generation {log} of the disk, but the disk continued with \
        generation {sidecar} without them. They are no longer destaged"
    )]
    Stale {
        /// Generation of the log.
        log: u64,
        /// Generation of the sidecar.
        sidecar: u64,
    },
    /// This set has writes for the disk, but the sidecar is missing or damaged.
    #[error("the log has writes for this disk, but the disk's sidecar is missing or damaged")]
    NoSidecar,
    /// This set has writes for the disk, but its backing store was changed.
    #[error(
        "the log has {} for this disk, but its backing store was changed since the tier was closed \
        cleanly. Destaging them now would overwrite that change", count_writes(*.writes)
    )]
    Changed {
        /// Number of writes in the log that would be written to the backing store.
        writes: usize,
        /// Word that confirms the backing store.
        word: String,
    },
    /// The disk is on other storage than before.
    #[error("the disk's {what} differs from the recorded one: it is {}, but was \
        {known}", identity_in(.word))]
    OtherPlace {
        /// Part of the disk: `backing store` or `sidecar`.
        what: &'static str,
        /// Identity that was stored.
        known: String,
        /// Word that confirms the storage: its identity, and a state.
        word: String,
    },
    /// The log has writes, but no identity proves to which storage they belong.
    #[error("the log has {} for this disk, but it is unknown whether they belong to its {what}. It \
        is {}, but was {}", count_writes(*.writes), identity_in(.word), or_unknown(.known))]
    UnknownPlace {
        /// Part of the disk: `backing store` or `sidecar`.
        what: &'static str,
        /// Identity that was stored; empty for none.
        known: String,
        /// Word that confirms the storage: its identity, and a state.
        word: String,
        /// Number of writes in the log that would be written to the backing store.
        writes: usize,
    },
    /// The cache is an older state. Newer writes were in the newer state, and are lost.
    #[error(
        "the cache is older than the disk's sidecar, or damaged: it lacks later writes ({lost}), \
        and the backing store may lack them, too"
    )]
    CacheOlder {
        /// Newer state that the sidecar records and the cache lacks, in words.
        lost: String,
    },
    /// The sidecar is an older state, and so may be the backing store beside it.
    #[error(
        "the sidecar is older than the cache (copy {found}, but the cache knows copy {known}), and \
        so may be the backing store. The log has {} that belong to the newer state; writes that \
        were destaged before that may be lost", count_writes(*.writes)
    )]
    SidecarOlder {
        /// Number of the sidecar copy that the cache has recorded.
        known: u64,
        /// Number of the sidecar copy that was found.
        found: u64,
        /// Number of writes in the log.
        writes: usize,
    },
    /// The log seems to begin behind groups whose writes the backing store may lack.
    #[error(
        "group {group} of the log of pages was durable but cannot be read. It may say where the disk's log begins, so writes of that log could be missed"
    )]
    LogStart {
        /// Number of the damaged group of the pool's log.
        group: u64,
    },
    /// Only the backing store is an older state.
    #[error(
        "the backing store is older than at its last use by the tier. The log has {} for a newer \
        state; writes destaged before them are lost", count_writes(*.writes)
    )]
    BackingOlder {
        /// Number of writes in the log.
        writes: usize,
    },
    /// Groups are missing that were durable.
    #[error("{0}")]
    Damaged(Damaged),
}

impl AttachError {
    /// Returns a hint on how to solve the problem, if there is one.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Copies { .. } => "name as many peers as copies, each with --peer".into(),
            Self::Many { .. } => "detach a disk, or make a larger cache (`tilemark tier init`)".into(),
            Self::Owned(..) => "serve the disk with that cache, and run `tilemark tier drain` or \
                `detach` there. If that cache is lost, `tilemark tier takeover`: without a copy \
                its writes are lost".into(),
            Self::Claimed => "make sure that no other host runs a take-over, then take the disk \
                over again".into(),
            Self::Reserved => "--reserve".into(),
            Self::Stale { .. } => "`tilemark tier stale export` saves them in a new file; after `tilemark tier stale forget` the disk is served".into(),
            Self::NoSidecar => NO_SIDECAR.into(),
            Self::Changed { word, .. } => format!("to keep the change and lose the cached writes: \
                `tilemark tier takeover NAME=BACKING --accept-loss`; to overwrite the change with \
                the cached writes: --accept-identity {word}, for this start only").into(),
            Self::OtherPlace { word, .. } | Self::UnknownPlace { word, .. } => accept(word).into(),
            Self::CacheOlder { .. } => "restore the newest cache. Or give up the contents of the \
                log: `tilemark tier takeover NAME=BACKING --accept-loss` serves the backing store \
                alone".into(),
            Self::SidecarOlder { .. } => "restore the newest sidecar and backing store. To \
                continue from the older state, give up the contents of the log: `tilemark tier \
                takeover NAME=BACKING --accept-loss`".into(),
            Self::BackingOlder { .. } => "restore the newest backing store, or give up the \
                contents of the log: `tilemark tier takeover NAME=BACKING --accept-loss`".into(),
            Self::LogStart { .. } | Self::Damaged(..) => DAMAGED.into(),
            Self::Index(..) | Self::Name => return None,
        })
    }
}

/// Hint for a missing sidecar.
pub(super) const NO_SIDECAR: &str =
    "restore the newest sidecar, or name its directory with --sidecar";

/// Hint for a damaged log.
const DAMAGED: &str = "`tilemark tier takeover` reads a copy of the log if there is one. With \
     --accept-loss it gives the log up; then `tilemark tier stale export` saves its readable part \
     in a new file";

/// Damage of the page table or the pool's log. The affected pages must be read from the backing
/// stores again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageDamage {
    /// Number of damaged blocks of the table. The pages of their slots are no longer valid.
    pub table_blocks: u64,
    /// First missing group of the pool's log, if one is missing. Then all pages are no longer
    /// valid.
    pub pool_group: Option<u64>,
}

impl PageDamage {
    /// Returns true if nothing is damaged.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl std::fmt::Display for PageDamage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.pool_group, self.table_blocks) {
            (Some(group), _) => {
                write!(
                    f,
                    "group {group} of the log of pages cannot be read: no page is served from the cache"
                )
            }
            (None, 1) => write!(
                f,
                "1 block of the page table is damaged: its pages are not served from the cache"
            ),
            (None, blocks) => {
                write!(
                    f,
                    "{blocks} blocks of the page table are damaged: their pages are not served from the cache"
                )
            }
        }
    }
}

/// Damage of a log, with the readable writes that the backing store may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damaged {
    /// First missing group.
    pub group: u64,
    /// Last missing group.
    pub missing_to: u64,
    /// Readable writes before the missing groups.
    pub before: LogWrites,
    /// Readable writes behind the missing groups.
    pub behind: LogWrites,
}

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.missing_to == self.group {
            true => write!(f, "group {} of the log was durable but cannot be read", self.group)?,
            false => {
                let (first, last) = (self.group, self.missing_to);
                write!(
                    f,
                    "some of groups {first} to {last} of the log were durable but cannot be read"
                )?;
            }
        }
        let Self { before, behind, .. } = self;
        write!(
            f,
            ": of the writes that the backing store may lack, {before} before and up to {behind} \
            behind can be read"
        )
    }
}

/// Groups of a log that cannot be read but are not needed, because later groups record that the
/// backing store has their writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skipped {
    /// Number of the first of these groups.
    pub group: u64,
    /// Number of the last group before the first one that can be read again.
    pub missing_to: u64,
}

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { group, missing_to } = self;
        match group == missing_to {
            true => write!(f, "group {group} of the log cannot be read, and")?,
            false => {
                write!(f, "some of groups {group} to {missing_to} of the log cannot be read, and")?
            }
        }
        write!(f, " the backing store has them: no write is lost, and no page of the disk counts")
    }
}

/// Number and size of writes of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogWrites {
    /// Number of writes.
    pub count: usize,
    /// Sum of their lengths, in bytes.
    pub bytes: u64,
}

impl LogWrites {
    /// Sums up writes of these lengths; writes of length 0 are not counted.
    pub(super) fn of(writes: impl Iterator<Item = u32>) -> Self {
        writes.filter(|bytes| *bytes > 0).fold(Self::default(), |sum, bytes| Self {
            count: sum.count + 1,
            bytes: sum.bytes + u64::from(bytes),
        })
    }
}

impl std::fmt::Display for LogWrites {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", count_writes(self.count), units::Bytes::new(self.bytes))
    }
}

/// Reason why a set cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The storage failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// There is no set, or none that this program can use.
    #[error(transparent)]
    Superblock(#[from] SuperblockError),
    /// A group of the pool's log is missing that may have contained the start of a disk's log.
    #[error(
        "group {group} of the log of pages was durable but cannot be read. It may say where the log of the disk at place {index} begins, so writes of that log could be missed"
    )]
    Pool {
        /// Number of the missing group.
        group: u64,
        /// Index of the disk.
        index: u16,
    },
    /// Two logs claim one chunk.
    #[error(
        "chunk {0} of the cache belongs to two logs: the record of where a log begins is damaged, \
        or older than the logs"
    )]
    Chunk(u32),
    /// There is no free chunk for the log of a new disk.
    #[error("the cache has no room left for the log of another disk")]
    Full,
    /// The set is on other storage than before.
    #[error("the cache has moved: it is on {}, expected on {known}", identity_in(.word))]
    OtherCache {
        /// Identity that was stored.
        known: String,
        /// Word that confirms the storage: its identity, and a state.
        word: String,
    },
    /// A disk cannot be served.
    #[error("the disk at place {index}: {error}")]
    Attach {
        /// Index of the disk.
        index: u16,
        /// Reason why the disk cannot be served.
        error: AttachError,
    },
}

impl OpenError {
    /// Returns a hint on how to solve the problem, if there is one.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Pool { .. } => DAMAGED.into(),
            Self::Chunk(..) => "restore the newest cache. If there is none, `tilemark tier \
                takeover NAME=BACKING` reads a copy of a disk's log; --accept-loss gives the log \
                up"
            .into(),
            Self::Full => "run `tilemark tier drain` for its disks, or detach a disk".into(),
            Self::OtherCache { word, .. } => accept(word).into(),
            Self::Attach { error, .. } => return error.hint(),
            Self::Io(..) | Self::Superblock(..) => return None,
        })
    }
}

pub(super) fn count_writes(count: usize) -> String {
    if count == 1 { "1 write".to_owned() } else { format!("{count} writes") }
}

fn hex(uuid: &Uuid) -> String {
    uuid.iter().map(|byte| format!("{byte:02x}")).collect()
}
