//! Messages: orders and states. An analysis is encoded as postcard and fetched separately, because
//! it may be large.

use capture::Recorded;
use cluster::{Name, RemoteError};
use run_store::slice::Direction;
use serde::{Deserialize, Serialize};

/// Topics of requests.
pub(crate) mod topic {
    /// Starts work: [`super::Order`]. Answered after the start, or with the reason of its failure.
    pub const BEGIN: &str = "see";
    /// Reads the state: answered with [`super::State`].
    pub const STATE: &str = "see-state";
    /// Ends work: [`super::Stop`].
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
        /// Name of this host in the recording.
        host: Name,
    },
}

/// Order to one host for a recording over several hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordOrder {
    /// Name of the recording.
    pub recording: Name,
    /// Name of this host in the recording.
    pub host: Name,
    /// Description of the controller.
    pub controller: String,
    /// Time zero of the recording on this host's monotonic clock, in nanoseconds.
    pub zero_ns: u64,
    /// Uncertainty of that time, in nanoseconds.
    pub known_to_ns: u64,
    /// Block devices, or files and directories on them; every disk if empty.
    pub targets: Vec<String>,
    /// Duration in nanoseconds; if absent, until stopped.
    pub duration_ns: Option<u64>,
    /// Size of the kernel buffer of each CPU, in bytes.
    pub buffer_bytes: u64,
    /// Name of the only virtual machine whose I/O is recorded; all if absent.
    pub vm: Option<String>,
    /// Name of the only control group whose I/O is recorded; all if absent.
    pub cgroup: Option<String>,
    /// Property that distinguishes initiators.
    pub by: SenderBy,
}

/// Property that distinguishes initiators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SenderBy {
    /// Name of the process. Processes with the same name count as one initiator.
    Name,
    /// Process.
    Process,
    /// Control group.
    Cgroup,
}

/// Order for an analysis, with the options of `tilemark analyze`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldOrder {
    /// Name of the recording.
    pub recording: Name,
    /// Name of this host in the recording.
    pub host: Name,
    /// Names of the requested views.
    pub views: Vec<String>,
    /// Limit for 99th percentiles, in nanoseconds, with its source.
    pub limit: (u64, String),
    /// Length of a time slice, in nanoseconds.
    pub slice_ns: u64,
    /// Names of the initiators to include; all if empty. Names that are unknown on a host are
    /// ignored there.
    pub vms: Vec<String>,
    /// Names of the devices to include; all if empty.
    pub devices: Vec<String>,
    /// Direction to include; all if absent.
    pub direction: Option<Direction>,
    /// Start of the analysed part in the recording, in nanoseconds.
    pub from_ns: Option<u64>,
    /// End of the analysed part in the recording, in nanoseconds.
    pub to_ns: Option<u64>,
    /// Number of reading threads; one per core if absent.
    pub threads: Option<usize>,
}

/// Way to end work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stop {
    /// Keep the data.
    Keep,
    /// Remove the data, because other hosts did not start.
    Discard,
}

/// State of the work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// The work is in progress.
    Going(SoFar),
    /// The recording has ended.
    Recorded(Box<Recorded>),
    /// The results can be fetched.
    Offered(Vec<Offered>),
    /// The recording ended and its data was removed.
    Discarded,
    /// The work failed, with the reason.
    Failed(RemoteError),
}

/// Counters of a recording so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SoFar {
    /// Time since the start, in nanoseconds.
    pub elapsed_ns: u64,
    /// Number of I/Os recorded.
    pub records: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Number of events lost because the kernel's buffer was full.
    pub lost: u64,
}

/// File that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Offered {
    /// Name with which the file is fetched.
    pub what: String,
    /// Name of the file.
    pub file: String,
    /// Length in bytes.
    pub bytes: u64,
}
