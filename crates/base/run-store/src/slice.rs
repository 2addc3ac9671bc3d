//! One slice of time of a running load. Drivers (engine, simulator) send these; live views,
//! steady-state rules, verdicts and the stored series are all computed from them. They are
//! messages, too: slices and topology serialise, and slices of several drivers merge.

mod call;
mod merge;

pub use call::CallRow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use state_machine::ActionOpen;
use stats::Compact;
use units::{Bytes, Nanos};

/// A VM of the run, dense from 0: a position in [`Topology::vms`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VmId(pub u32);

/// A workload instance of the run (one workload of one tile), dense from 0: a position in
/// [`Topology::instances`]. One machine drives one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceId(pub u32);

/// Who is who in a step: written once, so that rows need only carry ids.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Topology {
    /// All VMs, by [`VmId`].
    pub vms: Vec<VmEntry>,
    /// All workload instances, by [`InstanceId`].
    pub instances: Vec<InstanceEntry>,
}

/// A VM's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmEntry {
    /// Its workload instance.
    pub instance: InstanceId,
    /// Printed name, `tile-2/shop/db`.
    pub name: String,
}

/// A workload instance's place and the names of what it numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceEntry {
    /// Tile, counted from 0; none for infrastructure operations, which belong to no tile.
    pub tile: Option<u32>,
    /// The workload's name.
    pub workload: String,
    /// Which of several of this workload in the tile, counted from 0.
    pub copy: u32,
    /// The host that drives it, if that is not the one that records.
    #[serde(default)]
    pub host: Option<String>,
    /// Names of actions, by `state_machine::ActionId`.
    pub actions: Vec<String>,
    /// Names of user groups, by `state_machine::GroupId`.
    pub groups: Vec<String>,
    /// Kinds of I/O and calls, by `state_machine::KindId`.
    pub kinds: Vec<String>,
}

/// A tile as labels of exports have it: its number from 0, and nothing for what belongs to none.
pub fn tile_label(tile: Option<u32>) -> String {
    tile.map(|tile| tile.to_string()).unwrap_or_default()
}

/// Which way the data goes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the storage.
    Read,
    /// To the storage.
    Write,
    /// No data: a flush.
    Flush,
}

impl Direction {
    /// All directions, in order.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Flush];

    /// `read`, `write` or `flush`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
        }
    }
}

/// A class of block sizes: powers of two from below 4 KiB to 256 KiB and above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct SizeClass(u8);

impl SizeClass {
    /// How many classes there are.
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

    /// The class of a length in bytes.
    #[inline]
    pub const fn of(length: u32) -> Self {
        if length < 4096 {
            return Self(0);
        }
        let class = length.ilog2() - 11;
        #[expect(clippy::cast_possible_truncation, reason = "at most 7")]
        Self(if class > 7 { 7 } else { class as u8 })
    }

    /// The class with this position, 0 to 7.
    pub const fn from_index(index: u8) -> Option<Self> {
        if index < 8 { Some(Self(index)) } else { None }
    }

    /// All classes, smallest first.
    pub fn all() -> [Self; Self::COUNT] {
        [0, 1, 2, 3, 4, 5, 6, 7].map(Self)
    }

    /// Its position, 0 to 7.
    pub const fn index(self) -> u8 {
        self.0
    }

    /// Its label.
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

/// Everything that finished in one slice of time. Rows with no event are absent.
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
    /// What had not finished when it ended; the state of that moment, not a sum.
    pub open: Vec<OpenRow>,
    /// The generator's own state.
    pub generator: GeneratorRow,
}

/// I/O of one VM, kind, direction and size class that finished in one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IoRow {
    /// Whose disk it went to.
    pub vm: VmId,
    /// The kind, a position in the instance's list of kinds.
    pub kind: u16,
    /// Which way.
    pub direction: Direction,
    /// How large.
    pub class: SizeClass,
    /// Bytes moved by successful I/Os.
    pub bytes: Bytes,
    /// I/Os that failed; they are not in the histograms.
    pub errors: u64,
    /// Submitted to done.
    pub service: Compact,
    /// Intended start to done.
    pub response: Compact,
}

/// Actions of one instance, action and group that finished in one slice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionRow {
    /// Whose.
    pub instance: InstanceId,
    /// Which action, a position in the instance's list.
    pub action: u16,
    /// Which group, a position in the instance's list.
    pub group: u16,
    /// Actions with a failed I/O or call; they are not in the histograms.
    pub errors: u64,
    /// Intended starts that were given up in this slice because a backlog was full.
    pub dropped: u64,
    /// First step to last answer.
    pub service: Compact,
    /// Intended start to last answer.
    pub response: Compact,
}

/// What is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfinished {
    /// An action that has begun, a position in the instance's list.
    Action(u16),
    /// An action that was due and has not begun, likewise.
    Start(u16),
    /// An I/O of a kind, a position in the instance's list, and its direction.
    Io(u16, Direction),
    /// A call of a kind, a position in the instance's list.
    Call(u16),
}

impl Unfinished {
    /// An action that somebody waits for.
    pub const fn of(open: &ActionOpen) -> Self {
        match open.has_begun {
            true => Self::Action(open.action.0),
            false => Self::Start(open.action.0),
        }
    }
}

/// Actions, I/Os or calls of one instance that were not finished when a slice ended, and had been
/// waited for at least [`OPEN_AGE_MIN`]. Each has taken at least as long as it is old.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenRow {
    /// Whose.
    pub instance: InstanceId,
    /// Actions of which name, or I/Os or calls of which kind.
    pub what: Unfinished,
    /// How long each had been waited for: an action since its intended start, an I/O or
    /// a call since it was submitted.
    pub ages: Compact,
}

/// What is younger than this when a slice ends is not kept: 10 ms, the tightest limit the field
/// uses (log writes), below which an age can break nothing.
pub const OPEN_AGE_MIN: Nanos = Nanos::from_millis(10);

/// How the generator itself fared in one slice; the driver's alibi.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GeneratorRow {
    /// I/Os handed to the storage, and calls made.
    pub submitted: u64,
    /// I/Os and calls answered, failed ones included.
    pub completed: u64,
    /// I/Os and calls in flight at the end of the slice.
    pub in_flight: u64,
    /// Seconds in flight of I/Os and calls (time integral), for Little's law.
    pub in_flight_seconds: f64,
    /// Lateness: a timer's or a request's due time to its handling.
    pub lateness: Compact,
    /// Requests that waited for a free slot of the generator itself.
    pub queued: u64,
    /// CPU time of each worker thread in the slice, as a share of the slice.
    pub worker_cpu: Vec<f64>,
    /// Time in which a worker neither ran nor waited: the process was stopped, or the kernel kept
    /// the worker in a hand-over. The longest of any worker; stretches that are short are left out.
    #[serde(default)]
    pub away: Nanos,
}
