use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, SyncSender};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use block_server::{Buffer, Request, RequestId};
use nbd::Code;
use serde::{Deserialize, Serialize};
use tier::format::Superblock;
use tier::{Counters, Note, Prepared};

use crate::error::Refusal;
use crate::opening::Opening;
use crate::reserved::Reserved;
use crate::route::{Line, Other, Shape, TellGiving};

/// Name that means the policy of the set, where a disk's policy is given.
pub const COMMON: &str = "common";

/// Command for a running set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Reports the state of the set.
    Status,
    /// Reports the state of the set, cheap enough for once a second: all held pages count as
    /// servable, because a check of each takes long in a large set.
    Pulse,
    /// Writes a disk's log to its backing store; answered when that is done.
    Drain {
        /// Name of the disk.
        disk: String,
    },
    /// Changes how writes of a disk are answered; answered when the change is done.
    Mode {
        /// Name of the disk.
        disk: String,
        /// True for mode back: writes are answered from the log.
        back: bool,
    },
    /// Starts or stops the admission of new pages.
    Populate {
        /// Name of the disk.
        disk: String,
        /// True if new pages are admitted.
        on: bool,
        /// Seconds after which population is switched back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_s: Option<u64>,
    },
    /// Limits a disk's share of all pages.
    Share {
        /// Name of the disk.
        disk: String,
        /// Percent, 0 to 100.
        percent: u8,
    },
    /// Sets the access to a page at which it is admitted.
    Admission {
        /// Name of the disk.
        disk: String,
        /// Number of the access; the first is 1.
        access: u8,
    },
    /// Changes the eviction policy of one disk, or of all disks without a policy of their own. A
    /// disk with its own policy has its share of pages as a partition.
    Policy {
        /// Name of the disk; `None` for all disks without a policy of their own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<String>,
        /// Name of the policy, as in the crate `cache`; for a disk also [`COMMON`].
        name: String,
    },
    /// Attaches a disk; answered when the disk is served.
    Attach(Box<Coming>),
    /// Detaches a disk: clients find it no more, outstanding requests are answered, and its log is
    /// written to the backing store. Answered when all that is done and its files are free for
    /// others.
    Detach {
        /// Name of the disk.
        disk: String,
    },
}

/// A disk to attach; the fields are those of [`crate::Opening`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coming {
    /// Name of the disk.
    pub disk: String,
    /// Backing file or device, an absolute path.
    pub backing: PathBuf,
    /// True for mode back: writes are answered from the log.
    pub back: bool,
    /// Path of the sidecar; `None` for beside the backing file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sidecar: Option<PathBuf>,
    /// Copies of the log that must exist.
    #[serde(default)]
    pub copies: u8,
    /// Hosts that may hold copies, as NAME=ADDRESS.
    #[serde(default)]
    pub peers: Vec<String>,
    /// True if the backing device is reserved for this host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reserve: bool,
    /// Identities of backing store and sidecar that the owner accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// Server that owns the disk now. It gives the disk up when a client here changes something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
}

/// Server that owns a disk which is to follow its VM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elsewhere {
    /// Address of that server.
    pub from: String,
    /// Address at which that server reaches this one, to get the disk back.
    pub at: String,
}

/// Report on one disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskReport {
    /// Index of the disk in the set.
    pub index: u16,
    /// Name of the disk.
    pub name: String,
    /// Mode of the disk: `through` or `back`.
    pub mode: String,
    /// Bytes that are not yet on the backing store, in whole blocks of 4 KiB.
    pub dirty_bytes: u64,
    /// Epochs that are not yet on the backing store.
    pub epochs: usize,
    /// Chunks of the cache in use by the log.
    pub log_chunks: usize,
    /// Bytes of the disk's pages.
    pub page_bytes: u64,
    /// Bytes of the disk's blocks in memory, uncompressed.
    #[serde(default)]
    pub memory_held_bytes: u64,
    /// Memory that these blocks take, in bytes.
    #[serde(default)]
    pub memory_taken_bytes: u64,
    /// Share of all pages, and of memory, that the disk may have, in percent.
    pub share_percent: u8,
    /// Policy of the disk if it has its own, and with it a partition of the pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// True if new pages are admitted.
    pub populates: bool,
    /// True if a part of the log cannot be read. Then no more writes go to the backing store.
    pub is_damaged: bool,
    /// True if the backing store refused I/O lately and will be tried again.
    pub is_refused: bool,
    /// Copies of the log that mode back needs.
    pub copies: u8,
    /// Peers that hold a copy now.
    pub holding: usize,
    /// True if another host owns the disk now.
    pub is_fenced: bool,
    /// State of the backing store alone, as the sidecar says: `clean`, `dirty`, `applying` or
    /// `burnt`.
    pub sidecar: String,
    /// Number that rises with each new owner.
    pub generation: u64,
    /// Age of the oldest write that is only in the log, in nanoseconds. A write from before the
    /// server's start counts from that start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_age_ns: Option<u64>,
    /// Peers of the disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerReport>,
    /// Events of the disk since the server began.
    #[serde(flatten)]
    pub counters: Counters,
}

/// State of the copy of a disk's log on a peer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerReport {
    /// Name of the peer.
    pub name: String,
    /// Bytes of the log that the copy lacks.
    pub lag_bytes: u64,
}

/// State of the memory tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// Size of the memory tier, in bytes.
    pub bytes: u64,
    /// Bytes of stored blocks, uncompressed.
    pub held_bytes: u64,
    /// Bytes that the stored blocks take, compressed or not.
    pub taken_bytes: u64,
    /// Most bytes of bookkeeping, beside the memory tier itself.
    pub bookkeeping_bytes: u64,
}

/// Report on a set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Size of a page, in bytes.
    pub page_size_bytes: u32,
    /// Bytes of pages that the set has room for.
    pub page_bytes: u64,
    /// Bytes of pages that can be served now.
    pub held_bytes: u64,
    /// The memory above them, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryReport>,
    /// True if the cache device has failed.
    pub has_failed: bool,
    /// Events since the server began.
    #[serde(flatten)]
    pub counters: Counters,
    /// Policy of disks without a policy of their own.
    #[serde(default)]
    pub policy: String,
    /// Requests under way.
    pub in_flight: usize,
    /// Reports on the disks.
    pub disks: Vec<DiskReport>,
    /// Disks that clients find here and that another server owns, or soon will.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<ElsewhereReport>,
    /// Messages for the operator who attached a disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
}

/// A disk that this server does not own, or is about to give up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElsewhereReport {
    /// Name of the disk.
    pub name: String,
    /// Address of the owner; `None` while this server gives up the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// True if the owner was asked to give up the disk.
    pub is_pulled: bool,
    /// Requests that wait for the disk to have an owner.
    pub waiting: usize,
}

/// State in which a server left its set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// True if the set is closed: all operations have ended, and the superblock says so.
    pub in_order: bool,
    /// Disks with writes that only their logs have: name, and bytes of such writes.
    pub waiting: Vec<(String, u64)>,
}

/// Open files of a served disk.
#[derive(Debug)]
pub(crate) struct ServedFiles {
    pub(crate) sidecar: File,
    pub(crate) reserved: Option<Arc<Reserved>>,
}

pub(crate) type Reply = Result<Option<Report>, Refusal>;

pub(crate) type File = Arc<OwnedFd>;

/// State of a set that is needed to attach a disk.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) superblock: Superblock,
    pub(crate) cache: File,
    /// Names of the disks that clients find here.
    pub(crate) names: Vec<String>,
    pub(crate) request_bytes_max: u32,
}

/// Step of moving a disk between servers.
#[derive(Debug)]
pub(crate) enum Move {
    /// Clients find the disk here from now on, and another server owns it. The number of its route
    /// is sent back.
    Come {
        opening: Box<Opening>,
        shape: Shape,
        line: Line,
        tell: SyncSender<Result<usize, Refusal>>,
    },
    /// Clients do not find the disk here any more.
    Drop(String),
    /// Request of another server to this owner.
    Asked(String, Request),
    /// Answer of another server to a request, or answer to another server.
    Answer(RequestId, Result<(), Code>, Buffer),
    /// Another server pulls the disk.
    Give { name: String, to: Other, tell: TellGiving },
    /// This server gave up the disk. The line leads to the new owner.
    Given(String, Line),
    /// Message for the operator.
    Said(String),
    /// The owner did not give up the disk, or it could not be opened here.
    Failed { name: String, why: Refusal },
    /// Requests that wait since this time or longer fail.
    Expire(String, Instant),
}

/// A disk that was opened and joins the set.
#[derive(Debug)]
pub(crate) struct Joining {
    pub(crate) prepared: Prepared,
    pub(crate) backing: File,
    pub(crate) sidecar: File,
    pub(crate) reserved: Option<Arc<Reserved>>,
    pub(crate) opening: Opening,
}

/// Message to the server's thread.
#[derive(Debug)]
pub(crate) enum Ask {
    Command(Command, SyncSender<Reply>),
    /// Asks for the state that attaching a disk needs.
    Room(SyncSender<Result<Room, Refusal>>),
    /// Asks for the open files of the disk with this index.
    Files(u16, SyncSender<Result<Option<ServedFiles>, Refusal>>),
    /// Adds an opened disk; answered when the set has attached it.
    Join(Box<Joining>, SyncSender<Reply>),
    /// Lets clients use an attached disk. The number of its route is sent back.
    Serve(u16, Box<Opening>, Shape, SyncSender<Result<usize, Refusal>>),
    Move(Move),
}

/// Messages to a set, and commands that wait for an event.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) asked: Receiver<Ask>,
    pub(crate) waiting: Vec<(Note, SyncSender<Reply>)>,
    /// Names of the disks, by index.
    pub(crate) names: Vec<Option<String>>,
    /// Names of the disks' peers, by index.
    pub(crate) peers: Vec<Vec<String>>,
    pub(crate) has_failed: bool,
    /// Sender of messages for the operator.
    pub(crate) told: Sender<String>,
    /// Set once, when the server's thread ends.
    pub(crate) left: Arc<OnceLock<Left>>,
}
