//! Messages: orders and states. An analysis is postcard and is fetched, because it may be large.

use capture::Recorded;
use cluster::{Name, RemoteError};
use run_store::slice::Direction;
use serde::{Deserialize, Serialize};

/// Topics of requests.
pub(crate) mod topic {
    /// Begin: [`super::Order`]. Answered after the start, or with the reason of its failure.
    pub const BEGIN: &str = "see";
    /// Read the state: answered with [`super::State`].
    pub const STATE: &str = "see-state";
    /// End: [`super::Stop`].
    pub const STOP: &str = "see-stop";
}

/// Name of an analysis among the offered files.
pub(crate) const FOLDED: &str = "folded";

/// Work that takes long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Record I/O.
    Record(RecordOrder),
    /// Analyze a recording, and offer the result.
    Fold(FoldOrder),
    /// Offer the files of a recording.
    Offer {
        /// Name of the recording.
        recording: Name,
        /// Name of this host in it.
        host: Name,
    },
}

/// Order for a recording over several hosts, for one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordOrder {
    /// Name of the recording.
    pub recording: Name,
    /// Name of this host in it.
    pub host: Name,
    /// Controller, as text.
    pub controller: String,
    /// Time zero of the recording by this host's monotonic clock, nanoseconds.
    pub zero_ns: u64,
    /// Uncertainty of that time, nanoseconds.
    pub known_to_ns: u64,
    /// Block devices, or files and directories on them; every disk if empty.
    pub targets: Vec<String>,
    /// Duration, nanoseconds; until stopped if absent.
    pub duration_ns: Option<u64>,
    /// Kernel buffer of each CPU, bytes.
    pub buffer_bytes: u64,
    /// Only I/O of this virtual machine.
    pub vm: Option<String>,
    /// Only I/O of this control group.
    pub cgroup: Option<String>,
    /// Property that tells senders apart.
    pub by: SenderBy,
}

/// Property that tells senders apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SenderBy {
    /// Name; processes of one name together.
    Name,
    /// Each process.
    Process,
    /// Control groups.
    Cgroup,
}

/// Order for an analysis, as `tilemark analyze` has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldOrder {
    /// Name of the recording.
    pub recording: Name,
    /// Name of this host in it.
    pub host: Name,
    /// Names of the parts of the answer.
    pub views: Vec<String>,
    /// Limit for 99th percentiles, nanoseconds, with its source.
    pub limit: (u64, String),
    /// Length of a time slice, nanoseconds.
    pub slice_ns: u64,
    /// Only these senders; names unknown on a host are ignored there.
    pub vms: Vec<String>,
    /// Only these devices.
    pub devices: Vec<String>,
    /// Only this direction.
    pub direction: Option<Direction>,
    /// Start in the recording, nanoseconds.
    pub from_ns: Option<u64>,
    /// End in the recording, nanoseconds.
    pub to_ns: Option<u64>,
    /// Reading threads; one for each core if absent.
    pub threads: Option<usize>,
}

/// Ways to end work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stop {
    /// Keep its data.
    Keep,
    /// Remove its data, because other hosts did not begin.
    Discard,
}

/// State of the work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// In progress.
    Going(SoFar),
    /// Recording has ended.
    Recorded(Box<Recorded>),
    /// Results can be fetched.
    Offered(Vec<Offered>),
    /// Ended and removed.
    Discarded,
    /// Failed, with the reason.
    Failed(RemoteError),
}

/// Counters of a recording so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SoFar {
    /// Time since the start.
    pub elapsed_ns: u64,
    /// I/Os recorded.
    pub records: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Events lost because the kernel's buffer was full.
    pub lost: u64,
}

/// File that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Offered {
    /// Name to fetch it by.
    pub what: String,
    /// Name of the file.
    pub file: String,
    /// Length in bytes.
    pub bytes: u64,
}
