//! One time slice of a running load. Drivers (engine, simulator) send slices; live views,
//! steady-state rules, verdicts and the stored series are all computed from them. Slices and
//! topology can also be sent as messages, and slices of several drivers can be merged.

mod call;
mod merge;

pub use call::CallRow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use state_machine::ActionOpen;
use stats::Compact;
use units::{Bytes, Nanos};

/// Number of a VM in the run, dense from 0: a position in [`Topology::vms`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VmId(pub u32);

/// Number of a workload instance in the run (one workload of one tile), dense from 0: a position in
/// [`Topology::instances`]. One state machine drives one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceId(pub u32);

/// Names of VMs and instances in a step, sent once, so that rows need only carry numbers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Topology {
    /// All VMs, by [`VmId`].
    pub vms: Vec<VmEntry>,
    /// All workload instances, by [`InstanceId`].
    pub instances: Vec<InstanceEntry>,
}

/// Instance and name of a VM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmEntry {
    /// Workload instance of the VM.
    pub instance: InstanceId,
    /// Printed name of the VM, `tile-2/shop/db`.
    pub name: String,
}

/// Names of a workload instance, and of all that it numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceEntry {
    /// Tile, from 0; `None` for infrastructure operations, which belong to no tile.
    pub tile: Option<u32>,
    /// Name of the workload.
    pub workload: String,
    /// Number among the copies of this workload in the tile, from 0.
    pub copy: u32,
    /// Host that drives the instance, if it is not the one that records.
    #[serde(default)]
    pub host: Option<String>,
    /// Names of actions, by `state_machine::ActionId`.
    pub actions: Vec<String>,
    /// Names of user groups, by `state_machine::GroupId`.
    pub groups: Vec<String>,
    /// Kinds of I/O and calls, by `state_machine::KindId`.
    pub kinds: Vec<String>,
}

/// Label of a tile in exports: its number from 0, and an empty text for objects without a tile.
pub fn tile_label(tile: Option<u32>) -> String {
    tile.map(|tile| tile.to_string()).unwrap_or_default()
}

/// Direction of an I/O.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Data from the storage.
    Read,
    /// Data to the storage.
    Write,
    /// A flush, without data.
    Flush,
}

impl Direction {
    /// All directions, in order.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Flush];

    /// Name of the direction: `read`, `write` or `flush`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
        }
    }
}

/// Class of I/O sizes: powers of two from below 4 KiB to 256 KiB and above.
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

    /// Class of a length in bytes.
    #[inline]
    pub const fn of(length: u32) -> Self {
        if length < 4096 {
            return Self(0);
        }
        let class = length.ilog2() - 11;
        #[expect(clippy::cast_possible_truncation, reason = "at most 7")]
        Self(if class > 7 { 7 } else { class as u8 })
    }

    /// Class with this position, 0 to 7.
    pub const fn from_index(index: u8) -> Option<Self> {
        if index < 8 { Some(Self(index)) } else { None }
    }

    /// All classes, smallest first.
    pub fn all() -> [Self; Self::COUNT] {
        [0, 1, 2, 3, 4, 5, 6, 7].map(Self)
    }

    /// Position of the class, 0 to 7.
    pub const fn index(self) -> u8 {
        self.0
    }

    /// Label of the class.
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

/// All completions of one time slice. Empty rows are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Slice {
    /// Start of the slice, from the start of the step.
    pub start: Nanos,
    /// Width of the slice.
    pub width: Nanos,
    /// I/O that finished in it.
    pub io: Vec<IoRow>,
    /// Calls that finished in it.
    pub calls: Vec<CallRow>,
    /// Actions that finished in it.
    pub actions: Vec<ActionRow>,
    /// Unfinished work at the end of the slice: a state of that moment, not a sum.
    pub open: Vec<OpenRow>,
    /// State of the load generator.
    pub generator: GeneratorRow,
}

/// I/O of one VM, kind, direction and size class that finished in one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IoRow {
    /// VM of the disk.
    pub vm: VmId,
    /// Position of the kind in the instance's list of kinds.
    pub kind: u16,
    /// Direction of the I/O.
    pub direction: Direction,
    /// Size class of the I/O.
    pub class: SizeClass,
    /// Bytes moved by successful I/Os.
    pub bytes: Bytes,
    /// I/Os that failed; they are not in the histograms.
    pub errors: u64,
    /// Service time: from submission to completion.
    pub service: Compact,
    /// Response time: from the intended start to completion.
    pub response: Compact,
}

/// Actions of one instance, action and group that finished in one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionRow {
    /// Number of the instance.
    pub instance: InstanceId,
    /// Position of the action in the instance's list.
    pub action: u16,
    /// Position of the user group in the instance's list.
    pub group: u16,
    /// Actions with a failed I/O or call; they are not in the histograms.
    pub errors: u64,
    /// Intended starts that were given up in this slice because a backlog was full.
    pub dropped: u64,
    /// Service time: from the first step to the last answer.
    pub service: Compact,
    /// Response time: from the intended start to the last answer.
    pub response: Compact,
}

/// A kind of unfinished work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfinished {
    /// Action that has begun, by position in the instance's list.
    Action(u16),
    /// Action that was due and has not begun, by position in the instance's list.
    Start(u16),
    /// I/O of a kind, by position in the instance's list, and its direction.
    Io(u16, Direction),
    /// Call of a kind, by position in the instance's list.
    Call(u16),
}

impl Unfinished {
    /// Kind of an unfinished action.
    pub const fn of(open: &ActionOpen) -> Self {
        match open.has_begun {
            true => Self::Action(open.action.0),
            false => Self::Start(open.action.0),
        }
    }
}

/// Actions, I/Os or calls of one instance that were unfinished at the end of a slice, and at least
/// [`OPEN_AGE_MIN`] old. Each will take at least as long as its age.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenRow {
    /// Number of the instance.
    pub instance: InstanceId,
    /// Name of the actions, or kind of the I/Os or calls.
    pub what: Unfinished,
    /// Age of each: of an action since its intended start, of an I/O or a call since its
    /// submission.
    pub ages: Compact,
}

/// Least age of unfinished work that is kept: 10 ms. The tightest limit in the field (log writes)
/// is 10 ms, and a lower age cannot break it.
pub const OPEN_AGE_MIN: Nanos = Nanos::from_millis(10);

/// State of the load generator in one slice, as evidence that it was not the limit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GeneratorRow {
    /// I/Os submitted, and calls made.
    pub submitted: u64,
    /// I/Os completed and calls answered, including failed ones.
    pub completed: u64,
    /// I/Os and calls in flight at the end of the slice.
    pub in_flight: u64,
    /// Seconds in flight of I/Os and calls (time integral), for Little's law.
    pub in_flight_seconds: f64,
    /// Lateness: from the due time of a timer or request to its handling.
    pub lateness: Compact,
    /// Requests that waited for a free slot of the generator itself.
    pub queued: u64,
    /// CPU time of each worker thread in the slice, as a share of the slice.
    pub worker_cpu: Vec<f64>,
    /// Longest time in which a worker neither ran nor waited: the process was stopped, or the
    /// kernel kept the worker from running. Short times are left out.
    #[serde(default)]
    pub away: Nanos,
}
