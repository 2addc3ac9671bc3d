//! One time slice of a running load. Drivers (engine, simulator) send slices; live views,
//! steady-state rules, verdicts and the stored series are all computed from slices. Slices and
//! topology can also be sent as messages, and slices of several drivers can be merged.

mod call;
mod merge;

pub use call::CallRow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use state_machine::ActionOpen;
use stats::Compact;
use units::{Bytes, Nanos};

/// Number of a VM in the run, dense from 0. It is an index into [`Topology::vms`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VmId(pub u32);

/// Number of a workload instance in the run (one workload of one tile), dense from 0. It is an
/// index into [`Topology::instances`]. One state machine drives one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceId(pub u32);

/// Names of VMs and instances in a step. They are sent once, so that rows only carry numbers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Topology {
    /// All VMs, indexed by [`VmId`].
    pub vms: Vec<VmEntry>,
    /// All workload instances, indexed by [`InstanceId`].
    pub instances: Vec<InstanceEntry>,
}

/// Instance and name of a VM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmEntry {
    /// Workload instance to which the VM belongs.
    pub instance: InstanceId,
    /// Name of the VM, as printed: `tile-2/shop/db`.
    pub name: String,
}

/// Names of a workload instance and of its actions, user groups and kinds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceEntry {
    /// Tile, from 0; `None` for infrastructure operations, which belong to no tile.
    pub tile: Option<u32>,
    /// Name of the workload.
    pub workload: String,
    /// Number among the copies of this workload in the tile, from 0.
    pub copy: u32,
    /// Host that drives the instance; absent if it is the recording host.
    #[serde(default)]
    pub host: Option<String>,
    /// Names of actions, indexed by `state_machine::ActionId`.
    pub actions: Vec<String>,
    /// Names of user groups, indexed by `state_machine::GroupId`.
    pub groups: Vec<String>,
    /// Names of kinds of I/O and calls, indexed by `state_machine::KindId`.
    pub kinds: Vec<String>,
}

/// Returns the label of a tile in exports: its number, from 0; empty for objects without a tile.
pub fn tile_label(tile: Option<u32>) -> String {
    tile.map(|tile| tile.to_string()).unwrap_or_default()
}

/// Direction of an I/O.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Data is read from the storage.
    Read,
    /// Data is written to the storage.
    Write,
    /// Flush, without data.
    Flush,
}

impl Direction {
    /// All directions, in order.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Flush];

    /// Returns the name of the direction: `read`, `write` or `flush`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
        }
    }
}

/// Class of I/O sizes. Bounds are powers of two: from below 4 KiB to 256 KiB and above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct SizeClass(u8);

impl SizeClass {
    /// Number of classes.
    pub const COUNT: usize = 8;
    const NAMES: [&str; 8] = [
        "<4 KiB",
        "4-<8 KiB",
        "8-<16 KiB",
        "16-<32 KiB",
        "32-<64 KiB",
        "64-<128 KiB",
        "128-<256 KiB",
        ">=256 KiB",
    ];

    /// Returns the class of an I/O of this length, in bytes.
    #[inline]
    pub const fn of(length: u32) -> Self {
        if length < 4096 {
            return Self(0);
        }
        let class = length.ilog2() - 11;
        #[expect(clippy::cast_possible_truncation, reason = "at most 7")]
        Self(if class > 7 { 7 } else { class as u8 })
    }

    /// Returns the class with this index, 0 to 7; `None` above.
    pub const fn from_index(index: u8) -> Option<Self> {
        if index < 8 { Some(Self(index)) } else { None }
    }

    /// Returns all classes, smallest first.
    pub fn all() -> [Self; Self::COUNT] {
        [0, 1, 2, 3, 4, 5, 6, 7].map(Self)
    }

    /// Returns the index of the class, 0 to 7.
    pub const fn index(self) -> u8 {
        self.0
    }

    /// Returns the label of the class.
    pub fn name(self) -> &'static str {
        Self::NAMES[usize::from(self.0)]
    }
}

impl From<SizeClass> for u8 {
    fn from(class: SizeClass) -> Self {
        class.0
    }
}

impl TryFrom<u8> for SizeClass {
    type Error = &'static str;

    fn try_from(index: u8) -> Result<Self, Self::Error> {
        Self::from_index(index).ok_or("there are eight size classes, from 0 to 7")
    }
}

/// All completions of one time slice. Rows without completions are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Slice {
    /// Start of the slice, relative to the start of the step.
    pub start: Nanos,
    /// Width of the slice.
    pub width: Nanos,
    /// I/O that completed in the slice.
    pub io: Vec<IoRow>,
    /// Calls that completed in the slice.
    pub calls: Vec<CallRow>,
    /// Actions that completed in the slice.
    pub actions: Vec<ActionRow>,
    /// Unfinished work at the end of the slice: a state at that time, not a sum.
    pub open: Vec<OpenRow>,
    /// State of the load generator.
    pub generator: GeneratorRow,
}

/// I/O of one VM, kind, direction and size class that completed in one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IoRow {
    /// VM of the disk.
    pub vm: VmId,
    /// Index of the kind in the instance's list.
    pub kind: u16,
    /// Direction of the I/O.
    pub direction: Direction,
    /// Size class of the I/O.
    pub class: SizeClass,
    /// Bytes moved by successful I/Os.
    pub bytes: Bytes,
    /// Number of failed I/Os; they are not in the histograms.
    pub errors: u64,
    /// Service time: from submission to completion.
    pub service: Compact,
    /// Response time: from the intended start to completion.
    pub response: Compact,
}

/// Actions of one instance, action and group that completed in one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionRow {
    /// Instance of the workload.
    pub instance: InstanceId,
    /// Index of the action in the instance's list.
    pub action: u16,
    /// Index of the user group in the instance's list.
    pub group: u16,
    /// Number of actions with a failed I/O or call; they are not in the histograms.
    pub errors: u64,
    /// Number of intended starts that were dropped in this slice because a backlog was full.
    pub dropped: u64,
    /// Service time: from the first step to the last answer.
    pub service: Compact,
    /// Response time: from the intended start to the last answer.
    pub response: Compact,
}

/// Kind of work that is unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfinished {
    /// Action that has begun, by its index in the instance's list.
    Action(u16),
    /// Action that was due and has not begun, by its index in the instance's list.
    Start(u16),
    /// I/O: the index of its kind in the instance's list, and its direction.
    Io(u16, Direction),
    /// Call: the index of its kind in the instance's list.
    Call(u16),
}

impl Unfinished {
    /// Returns the kind for an unfinished action.
    pub const fn of(open: &ActionOpen) -> Self {
        match open.has_begun {
            true => Self::Action(open.action.0),
            false => Self::Start(open.action.0),
        }
    }
}

/// Work of one instance (actions, I/Os or calls) that was unfinished at the end of a slice, and at
/// least [`OPEN_AGE_MIN`] old. Each piece of work will take at least as long as its age.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenRow {
    /// Instance of the workload.
    pub instance: InstanceId,
    /// Action, or kind of I/O or call.
    pub what: Unfinished,
    /// Ages of the pieces of work: of an action since its intended start, of an I/O or call since
    /// its submission.
    pub ages: Compact,
}

/// Minimum age at which unfinished work is recorded: 10 ms. The tightest limit in the field (log
/// writes) is 10 ms, so that younger work cannot exceed a limit.
pub const OPEN_AGE_MIN: Nanos = Nanos::from_millis(10);

/// State of the load generator in one slice. It is evidence that the generator was not the
/// bottleneck.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GeneratorRow {
    /// Number of submitted I/Os and calls.
    pub submitted: u64,
    /// Number of completed I/Os and answered calls, including failed ones.
    pub completed: u64,
    /// Number of I/Os and calls in flight at the end of the slice.
    pub in_flight: u64,
    /// Sum of the times in flight of I/Os and calls (time integral), in seconds, for Little's law.
    pub in_flight_seconds: f64,
    /// Lateness: from the due time of a timer or request to its handling.
    pub lateness: Compact,
    /// Number of requests that waited for a free slot of the generator itself.
    pub queued: u64,
    /// CPU time of each worker thread, as a share of the slice, 0 to 1.
    pub worker_cpu: Vec<f64>,
    /// Time in which a worker neither ran nor waited; of several workers, the largest. The process
    /// was stopped, or the kernel kept the worker from running. Short times are left out.
    #[serde(default)]
    pub away: Nanos,
}
