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

/// What a disk's policy is called that is the set's.
pub const COMMON: &str = "common";

/// What may be asked of a running set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// How everything is doing.
    Status,
    /// The same as often as every second: what can be served is taken to be all of the pages that are held,
    /// for looking at each takes long in a large set.
    Pulse,
    /// A disk's log goes to its backing store; answered when it has.
    Drain {
        /// Its name.
        disk: String,
    },
    /// Its writes are answered so from now on; answered when they are.
    Mode {
        /// Its name.
        disk: String,
        /// Whether by the log.
        back: bool,
    },
    /// New pages come in or do not.
    Populate {
        /// Its name.
        disk: String,
        /// Whether they do.
        on: bool,
        /// The other way round after so many seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_s: Option<u64>,
    },
    /// Its pages take at most so much of all.
    Share {
        /// Its name.
        disk: String,
        /// Percent, 0 to 100.
        percent: u8,
    },
    /// Its pages come in with this access to them.
    Admission {
        /// Its name.
        disk: String,
        /// The first is 1.
        access: u8,
    },
    /// Another policy decides which page leaves: of one disk, which has as many pages as its share says to itself then,
    /// or of all that have no policy of their own.
    Policy {
        /// The disk's name, for one of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disk: Option<String>,
        /// The policy's name, as of `cache`; of a disk also [`COMMON`].
        name: String,
    },
    /// A disk comes; answered when it is served.
    Attach(Box<Coming>),
    /// A disk leaves: nobody gets it any more, who has it is answered what he asked, and what waits goes to its
    /// backing store; answered when that is all there is of it, and free for others.
    Detach {
        /// Its name.
        disk: String,
    },
}

/// A disk that is to come, as [`crate::Opening`] has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coming {
    /// Its name.
    pub disk: String,
    /// Its backing file or device, an absolute path.
    pub backing: PathBuf,
    /// Whether the log answers its writes.
    pub back: bool,
    /// Its sidecar, if not beside the backing file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sidecar: Option<PathBuf>,
    /// How many copies of its log there have to be.
    #[serde(default)]
    pub copies: u8,
    /// Who may hold them, as NAME=ADDRESS.
    #[serde(default)]
    pub peers: Vec<String>,
    /// Whether its backing device is reserved for this host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reserve: bool,
    /// Identities of its backing store and sidecar that the owner vouches for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<String>,
    /// Another server owns it, and lets go when a client here changes something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
}

/// The server that owns a disk which is to follow its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Elsewhere {
    /// Where it listens.
    pub from: String,
    /// Where it reaches this server, to have the disk back.
    pub at: String,
}

/// A disk's share of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskReport {
    /// Its number in the set.
    pub index: u16,
    /// Its name.
    pub name: String,
    /// How its writes are answered: `through` or `back`.
    pub mode: String,
    /// Bytes that are not on its backing store yet, in whole blocks of 4 KiB.
    pub dirty_bytes: u64,
    /// Epochs that are not.
    pub epochs: usize,
    /// Chunks that its log takes.
    pub log_chunks: usize,
    /// Bytes of pages that it has.
    pub page_bytes: u64,
    /// Bytes of blocks of it that are in memory.
    #[serde(default)]
    pub memory_held_bytes: u64,
    /// What these take there.
    #[serde(default)]
    pub memory_taken_bytes: u64,
    /// Of all pages, and of memory, percent that it may have.
    pub share_percent: u8,
    /// The policy that decides on its pages, which it has to itself then, if that is one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Whether new pages come in.
    pub populates: bool,
    /// Whether its log has something that cannot be read: nothing goes to its backing store any more.
    pub is_damaged: bool,
    /// Whether its backing store refused lately, and is to be tried again.
    pub is_refused: bool,
    /// Copies of its log that there have to be in mode back, and how many there are.
    pub copies: u8,
    /// Peers that have one now.
    pub holding: usize,
    /// Whether another host owns it by now.
    pub is_fenced: bool,
    /// What its sidecar says of the backing store alone: `clean`, `dirty`, `applying` or `burnt`.
    pub sidecar: String,
    /// Counts its owners.
    pub generation: u64,
    /// How old the oldest write is that only its log has, in nanoseconds; of one from before the server began,
    /// since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty_age_ns: Option<u64>,
    /// Its peers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerReport>,
    /// What happened to it since the server began.
    #[serde(flatten)]
    pub counters: Counters,
}

/// How far the copy of a disk's log on a peer is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerReport {
    /// Its name.
    pub name: String,
    /// Bytes of the log that it lacks.
    pub lag_bytes: u64,
}

/// Blocks in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryReport {
    /// Bytes that there are for blocks.
    pub bytes: u64,
    /// Bytes of blocks that are kept.
    pub held_bytes: u64,
    /// Bytes that these take, compressed or not.
    pub taken_bytes: u64,
    /// Bytes beside them that it takes to know what is where, at most.
    pub bookkeeping_bytes: u64,
}

/// How a set is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Bytes of a page.
    pub page_size_bytes: u32,
    /// Bytes of pages that there is room for.
    pub page_bytes: u64,
    /// Bytes of pages that can be served now.
    pub held_bytes: u64,
    /// The memory above them, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryReport>,
    /// Whether the cache device has failed.
    pub has_failed: bool,
    /// What happened since the server began.
    #[serde(flatten)]
    pub counters: Counters,
    /// The policy of disks that have none of their own.
    #[serde(default)]
    pub policy: String,
    /// Requests that are under way.
    pub in_flight: usize,
    /// Its disks.
    pub disks: Vec<DiskReport>,
    /// Disks that clients find here and that another server owns, or will soon.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<ElsewhereReport>,
    /// Sentences for whoever had a disk attached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
}

/// A disk that this server does not own, or not for long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElsewhereReport {
    /// Its name.
    pub name: String,
    /// Where its owner listens; nothing while it is let go of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Whether that one was asked to let go.
    pub is_pulled: bool,
    /// Requests that wait for somebody to own it.
    pub waiting: usize,
}

/// How a server that has ended left its set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Whether the set is closed: everything that was begun has ended, and its superblock says so.
    pub in_order: bool,
    /// Disks with writes that only their logs have: name and bytes.
    pub waiting: Vec<(String, u64)>,
}

/// What is held of a disk that is served.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) sidecar: File,
    pub(crate) reserved: Option<Arc<Reserved>>,
}

pub(crate) type Reply = Result<Option<Report>, Refusal>;

pub(crate) type File = Arc<OwnedFd>;

/// What the set is now.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) superblock: Superblock,
    pub(crate) cache: File,
    /// Names of what clients find here.
    pub(crate) names: Vec<String>,
    pub(crate) request_bytes_max: u32,
}

/// What happens to a disk that changes servers.
#[derive(Debug)]
pub(crate) enum Move {
    /// Clients find it here from now on, and another server owns it; its place among what they find is told.
    Come {
        opening: Box<Opening>,
        shape: Shape,
        line: Line,
        tell: SyncSender<Result<usize, Refusal>>,
    },
    /// They do not any more.
    Drop(String),
    /// Another server asks what its owner has.
    Asked(String, Request),
    /// Another server has answered, or it has its answer.
    Answer(RequestId, Result<(), Code>, Buffer),
    /// Another server wants it.
    Give { name: String, to: Other, tell: TellGiving },
    /// It was let go of; who owns it from now on.
    Given(String, Line),
    /// An operator should know of it.
    Said(String),
    /// Its owner did not let go, or it could not be opened.
    Failed { name: String, why: Refusal },
    /// Whoever waits since then waits no longer.
    Expire(String, Instant),
}

/// A disk that was opened.
#[derive(Debug)]
pub(crate) struct Joining {
    pub(crate) prepared: Prepared,
    pub(crate) backing: File,
    pub(crate) sidecar: File,
    pub(crate) reserved: Option<Arc<Reserved>>,
    pub(crate) opening: Opening,
}

/// What the server's thread is asked.
#[derive(Debug)]
pub(crate) enum Ask {
    Command(Command, SyncSender<Reply>),
    /// What has to be known for a disk to come.
    Room(SyncSender<Result<Room, Refusal>>),
    /// What is held of the disk with this index.
    Files(u16, SyncSender<Result<Option<Held>, Refusal>>),
    /// It was opened; answered when the set has it.
    Join(Box<Joining>, SyncSender<Reply>),
    /// It may be asked; its place among what clients find is told.
    Serve(u16, Box<Opening>, Shape, SyncSender<Result<usize, Refusal>>),
    Move(Move),
}

/// Where a set finds what is asked, and who waits for what.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) asked: Receiver<Ask>,
    pub(crate) waiting: Vec<(Note, SyncSender<Reply>)>,
    /// Names of the disks, by index.
    pub(crate) names: Vec<Option<String>>,
    /// And of their peers.
    pub(crate) peers: Vec<Vec<String>>,
    pub(crate) has_failed: bool,
    /// Who hears of what an operator should know.
    pub(crate) told: Sender<String>,
    /// Told once, when the server's thread ends.
    pub(crate) left: Arc<OnceLock<Left>>,
}
