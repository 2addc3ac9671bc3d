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

/// Name that stands for the policy of the set, in place of a disk's own policy.
pub const COMMON: &str = "common";

/// Command for a running set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Reports the state of the set.
    Status,
    /// Reports the state of the set, cheaply enough for one report per second. All held pages are
    /// counted as servable, because checking each page takes long in a large set.
    Pulse,
    /// Writes a disk's log to its backing store; answered when the log is written.
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
        /// Seconds after which population is switched back; `None` to keep the new state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_s: Option<u64>,
    },
    /// Limits the share of all pages that a disk may have.
    Share {
        /// Name of the disk.
        disk: String,
        /// Share in percent, 0 to 100.
        percent: u8,
    },
    /// Sets the number of accesses after which a page is admitted.
    Admission {
        /// Name of the disk.
        disk: String,
        /// Number of the access at which a page is admitted; the first is 1.
        access: u8,
    },
    /// Changes the eviction policy of one disk, or of all disks without a policy of their own. A
    /// disk with its own policy uses its share of pages as a partition.
    Policy {
        /// Name of the disk; `None` for all disks without a policy of their own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<String>,
        /// Name of the policy, as in the crate `cache`; for a disk also [`COMMON`].
        name: String,
    },
    /// Attaches a disk; answered when the disk is served.
    Attach(Box<Coming>),
    /// Detaches a disk: new clients do not find it, outstanding requests are answered, and its log
    /// is written to the backing store. Answered when all this is done and the disk's files can be
    /// opened by others.
    Detach {
        /// Name of the disk.
        disk: String,
    },
}

/// Disk to attach, with the fields of [`crate::Opening`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coming {
    /// Name of the disk.
    pub disk: String,
    /// Absolute path of the backing file or device.
    pub backing: PathBuf,
    /// True for mode back: writes are answered from the log.
    pub back: bool,
    /// Path of the sidecar; `None` for the default beside the backing file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sidecar: Option<PathBuf>,
    /// Number of copies of the log that must exist.
    #[serde(default)]
    pub copies: u8,
    /// Hosts that may hold copies, as NAME=ADDRESS.
    #[serde(default)]
    pub peers: Vec<String>,
    /// True to reserve the backing device for this host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reserve: bool,
    /// Identities of backing store and sidecar that the owner accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// Server that owns the disk now. It gives the disk up when a client here changes something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
}

/// Server that owns a disk that moves here together with its VM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elsewhere {
    /// Address of that server.
    pub from: String,
    /// Address at which that server reaches this one, to get the disk back.
    pub at: String,
}

/// State and counters of one served disk, as `tier status` shows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskReport {
    /// Index of the disk in the set.
    pub index: u16,
    /// Name of the disk.
    pub name: String,
    /// Mode of the disk: `through` or `back`.
    pub mode: String,
    /// Bytes that are not on the backing store yet, in whole blocks of 4 KiB.
    pub dirty_bytes: u64,
    /// Number of epochs that are not on the backing store yet.
    pub epochs: usize,
    /// Number of chunks of the cache that the log uses.
    pub log_chunks: usize,
    /// Size of the disk's pages, in bytes.
    pub page_bytes: u64,
    /// Uncompressed size of the disk's blocks in memory, in bytes.
    #[serde(default)]
    pub memory_held_bytes: u64,
    /// Memory that these blocks take, in bytes.
    #[serde(default)]
    pub memory_taken_bytes: u64,
    /// Share of all pages, and of memory, that the disk may have, in percent.
    pub share_percent: u8,
    /// Policy of the disk, if it has its own and therefore a partition of the pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// True if new pages are admitted.
    pub populates: bool,
    /// True if a part of the log cannot be read. In this case no more writes go to the backing
    /// store.
    pub is_damaged: bool,
    /// True if the backing store refused I/O lately. The I/O will be retried.
    pub is_refused: bool,
    /// Number of copies of the log that mode back needs.
    pub copies: u8,
    /// Number of peers that hold a copy now.
    pub holding: usize,
    /// True if another host owns the disk now.
    pub is_fenced: bool,
    /// State of the backing store without the log, as recorded in the sidecar: `clean`, `dirty`,
    /// `applying` or `burnt`.
    pub sidecar: String,
    /// Generation of the disk, which rises with each new owner.
    pub generation: u64,
    /// Age of the oldest write that is only in the log, in nanoseconds. For a write from before the
    /// server's start, the age counts from that start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_age_ns: Option<u64>,
    /// Peers of the disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerReport>,
    /// Event counters of the disk since the server started.
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
    /// Uncompressed size of the stored blocks, in bytes.
    pub held_bytes: u64,
    /// Memory that the stored blocks take, compressed or not, in bytes.
    pub taken_bytes: u64,
    /// Maximum memory for bookkeeping, in addition to the memory tier itself, in bytes.
    pub bookkeeping_bytes: u64,
}

/// Report on a set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Size of a page, in bytes.
    pub page_size_bytes: u32,
    /// Size of the pages for which the set has room, in bytes.
    pub page_bytes: u64,
    /// Size of the pages that can be served now, in bytes.
    pub held_bytes: u64,
    /// Report on the memory tier, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryReport>,
    /// True if the cache device has failed.
    pub has_failed: bool,
    /// Event counters since the server started.
    #[serde(flatten)]
    pub counters: Counters,
    /// Policy of disks without a policy of their own.
    #[serde(default)]
    pub policy: String,
    /// Number of requests in progress.
    pub in_flight: usize,
    /// Reports on the disks.
    pub disks: Vec<DiskReport>,
    /// Disks that this server offers to clients, but that another server owns or will soon own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<ElsewhereReport>,
    /// Messages for the operator who attached a disk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
}

/// Disk that this server does not own, or is about to give up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElsewhereReport {
    /// Name of the disk.
    pub name: String,
    /// Address of the owner; `None` while this server gives up the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// True if the owner was asked to give up the disk.
    pub is_pulled: bool,
    /// Number of requests that wait until the disk has an owner.
    pub waiting: usize,
}

/// State of a set at the end of its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// True if the set is closed: all operations have completed, and the superblock records that.
    pub in_order: bool,
    /// Disks with writes that are only in their logs: name, and bytes of these writes.
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
    /// Names of the disks that this server offers to clients.
    pub(crate) names: Vec<String>,
    pub(crate) request_bytes_max: u32,
}

/// Step of moving a disk between servers.
#[derive(Debug)]
pub(crate) enum Move {
    /// This server offers the disk to clients from now on, and another server owns it. The number
    /// of its route is sent back.
    Come {
        opening: Box<Opening>,
        shape: Shape,
        line: Line,
        tell: SyncSender<Result<usize, Refusal>>,
    },
    /// This server stops offering the disk.
    Drop(String),
    /// Request of another server that this owner must execute.
    Asked(String, Request),
    /// Answer of another server to a request, or answer to another server.
    Answer(RequestId, Result<(), Code>, Buffer),
    /// Another server pulls the disk.
    Give { name: String, to: Other, tell: TellGiving },
    /// This server has given up the disk. The line is the thread to the new owner.
    Given(String, Line),
    /// Message for the operator.
    Said(String),
    /// The owner did not give up the disk, or it could not be opened here.
    Failed { name: String, why: Refusal },
    /// Requests that have waited since this time or longer must fail.
    Expire(String, Instant),
}

/// Opened disk that joins the set.
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
    /// State of the set, stored once when the server's thread ends.
    pub(crate) left: Arc<OnceLock<Left>>,
}
