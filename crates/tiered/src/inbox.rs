use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use front::{Running, Waker};
use serde::{Deserialize, Serialize};
use tier::{Counters, Note};

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
    /// Another policy decides which page of the set leaves.
    Policy {
        /// Its name, as of `cache`.
        name: String,
    },
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
    /// Of all pages, percent that it may have.
    pub share_percent: u8,
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

/// How a set is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Bytes of a page.
    pub page_size_bytes: u32,
    /// Bytes of pages that there is room for.
    pub page_bytes: u64,
    /// Bytes of pages that can be served now.
    pub held_bytes: u64,
    /// Whether the cache device has failed.
    pub has_failed: bool,
    /// What happened since the server began.
    #[serde(flatten)]
    pub counters: Counters,
    /// Requests that are under way.
    pub in_flight: usize,
    /// Its disks.
    pub disks: Vec<DiskReport>,
}

pub(crate) type Reply = Result<Option<Report>, String>;

/// A way to ask a set.
#[derive(Debug, Clone)]
pub struct Control {
    asks: Sender<(Command, SyncSender<Reply>)>,
    waker: Arc<OnceLock<Waker>>,
}

impl Control {
    /// The set is served there: from now on its peers are heard.
    pub fn serve(&self, server: &Running) {
        self.waker.get_or_init(|| server.waker()).wake();
    }

    /// Asks, and waits for the answer: a report for a question of status.
    ///
    /// # Errors
    /// In words: no such disk, or no answer in this time.
    pub fn ask(&self, command: Command, server: &Running, patience: Duration) -> Reply {
        let (tell, told) = sync_channel(1);
        let gone = |_| "the server ends".to_owned();
        self.asks.send((command, tell)).map_err(|error| gone(error.to_string()))?;
        server.attend().map_err(|error| error.to_string())?;
        told.recv_timeout(patience)
            .map_err(|_| format!("not done within {} s; it goes on", patience.as_secs()))?
    }
}

/// Where a set finds what is asked, and who waits for what.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) asked: Receiver<(Command, SyncSender<Reply>)>,
    pub(crate) waiting: Vec<(Note, SyncSender<Reply>)>,
    /// Names of the disks, by index.
    pub(crate) names: Vec<Option<String>>,
    /// And of their peers.
    pub(crate) peers: Vec<Vec<String>>,
    pub(crate) has_failed: bool,
    /// Who hears of what an operator should know.
    pub(crate) told: Sender<String>,
}

pub(crate) fn inbox(
    names: Vec<Option<String>>,
    peers: Vec<Vec<String>>,
    waker: Arc<OnceLock<Waker>>,
) -> (Control, Inbox, Receiver<String>) {
    let ((ask, asked), (told, heard)) = (channel(), channel());
    let inbox = Inbox { asked, waiting: Vec::new(), names, peers, has_failed: false, told };
    (Control { asks: ask, waker }, inbox, heard)
}
