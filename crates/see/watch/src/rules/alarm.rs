use std::sync::Arc;

use units::Nanos;

use super::{Limit, Severity};

/// Alarm that is active or has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// Name of the rule.
    pub rule: Arc<str>,
    /// Severity of the rule.
    pub severity: Severity,
    /// Limit that is broken.
    pub limit: Limit,
    /// Length of the rule's window.
    pub window: Nanos,
    /// Length of the recording made of the breach; `None` if there is none.
    pub evidence: Option<Nanos>,
    /// VM or disk that the alarm is about.
    pub subject: Subject,
    /// Begin of the first window in which the limit was broken, in seconds since 1970.
    pub began_s: u64,
    /// VMs that were above the limit in the last window that broke it, the slowest first. An alarm
    /// about a VM has exactly one. For an alarm about a disk, at least one was surely above the
    /// limit.
    pub sufferers: Vec<Sufferer>,
    /// Number of VMs with enough I/O on the disk in that window.
    pub judged: usize,
    /// Number of VMs with too few I/Os on the disk in that window to be judged.
    pub too_few: usize,
}

/// VM or disk that an alarm is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A VM on a disk.
    Vm {
        /// Name of the VM.
        vm: Arc<str>,
        /// Name of the disk.
        disk: Arc<str>,
    },
    /// Disk on which several VMs suffer at once.
    Disk {
        /// Name of the disk.
        disk: Arc<str>,
    },
}

impl Subject {
    /// Returns the name of the disk.
    pub const fn disk(&self) -> &Arc<str> {
        match self {
            Self::Vm { disk, .. } | Self::Disk { disk } => disk,
        }
    }
}

/// VM that broke a limit in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sufferer {
    /// Name of the VM.
    pub vm: Arc<str>,
    /// Values that were measured in the window.
    pub seen: WindowValues,
}

/// Values of a VM in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowValues {
    /// Begin of the window, in seconds since 1970.
    pub from_s: u64,
    /// I/Os of the limit's direction, including failed ones.
    pub ios: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Lower end of the percentile's interval, as the lower edge of its bucket; 0 for a limit on
    /// errors.
    pub low: Nanos,
    /// Upper end of the percentile's interval; `None` if there are too few I/Os to bound it, or for
    /// a limit on errors.
    pub high: Option<Nanos>,
}

/// Begin or end of an alarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Alarm that begins or ends.
    pub alarm: Alarm,
    /// How and when the alarm ends; `None` if it begins.
    pub end: Option<End>,
}

/// End of an alarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// End of the window that ended the alarm, in seconds since 1970.
    pub at_s: u64,
    /// Reason why the alarm ended.
    pub how: Ending,
}

/// Reason why an alarm ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The limit was surely kept in a whole window.
    Kept,
    /// No I/O of the limit's direction completed in a whole window.
    Gone,
    /// Several VMs on the disk suffer, so an alarm about the disk began instead.
    Joined,
}

impl Ending {
    /// Returns the name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Gone => "gone",
            Self::Joined => "joined",
        }
    }
}
