//! What travels: orders and how far they are. A folded recording is postcard and is fetched, because it may
//! be large.

use capture::Recorded;
use cluster::{Name, RemoteError};
use run_store::slice::Direction;
use serde::{Deserialize, Serialize};

/// What can be asked, as topics.
pub(crate) mod topic {
    /// Begin something: [`super::Order`]. Answered when it is under way, or with why it is not.
    pub const BEGIN: &str = "see";
    /// How far it is: answered with [`super::State`].
    pub const STATE: &str = "see-state";
    /// End it: [`super::Stop`].
    pub const STOP: &str = "see-stop";
}

/// What a folded recording is offered as.
pub(crate) const FOLDED: &str = "folded";

/// Something that takes long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Record.
    Record(RecordOrder),
    /// Fold what was recorded, and offer that.
    Fold(FoldOrder),
    /// Offer the files of what was recorded.
    Offer {
        /// Its name.
        recording: Name,
        /// What this host is called in it.
        host: Name,
    },
}

/// A recording over several hosts, as one of them gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordOrder {
    /// Its name.
    pub recording: Name,
    /// What this host is called in it.
    pub host: Name,
    /// Who controls, in words.
    pub controller: String,
    /// The recording's time zero by this host's monotonic clock, nanoseconds.
    pub zero_ns: u64,
    /// How well that is known, nanoseconds.
    pub known_to_ns: u64,
    /// Block devices, or files and directories on them; every disk if there are none.
    pub targets: Vec<String>,
    /// For how long, nanoseconds; until it is told to stop if absent.
    pub duration_ns: Option<u64>,
    /// The kernel's buffer of each CPU, bytes.
    pub buffer_bytes: u64,
    /// Only I/O of this virtual machine.
    pub vm: Option<String>,
    /// Only I/O of this control group.
    pub cgroup: Option<String>,
    /// What senders are told apart by.
    pub by: SenderBy,
}

/// What senders are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SenderBy {
    /// Processes of one name together.
    Name,
    /// Each process.
    Process,
    /// Control groups.
    Cgroup,
}

/// What is asked of a recording, as `tilemark analyze` has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldOrder {
    /// Its name.
    pub recording: Name,
    /// What this host is called in it.
    pub host: Name,
    /// Names of the parts of the answer.
    pub views: Vec<String>,
    /// What 99th percentiles are held against, nanoseconds; and where that comes from.
    pub limit: (u64, String),
    /// Length of a slice of time, nanoseconds.
    pub slice_ns: u64,
    /// Only these senders; names that a host does not know count nothing there.
    pub vms: Vec<String>,
    /// Only these devices.
    pub devices: Vec<String>,
    /// Only this direction.
    pub direction: Option<Direction>,
    /// From this moment of the recording, nanoseconds.
    pub from_ns: Option<u64>,
    /// Before this moment.
    pub to_ns: Option<u64>,
    /// Threads that read; one for each core if absent.
    pub threads: Option<usize>,
}

/// How something is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stop {
    /// What is there stays.
    Keep,
    /// What is there is removed: other hosts did not begin.
    Discard,
}

/// How far something is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// Under way.
    Going(SoFar),
    /// A recording has ended.
    Recorded(Box<Recorded>),
    /// What was asked for can be fetched.
    Offered(Vec<Offered>),
    /// It was ended and removed.
    Discarded,
    /// Why there is nothing.
    Failed(RemoteError),
}

/// What a recording has seen so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SoFar {
    /// Since it began.
    pub elapsed_ns: u64,
    /// I/Os.
    pub records: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Events that the kernel had no room for.
    pub lost: u64,
}

/// Something that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Offered {
    /// What it is asked for by.
    pub what: String,
    /// The name of the file that it is.
    pub file: String,
    /// Its length.
    pub bytes: u64,
}
