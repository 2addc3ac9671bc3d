//! Operations, their phases, and their reports.

use std::fmt;
use std::time::{Duration, Instant};

use crate::VmError;

/// An infrastructure operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Create a virtual machine from the template, and boot it.
    Deploy(DeployKind),
    /// Add a layer above the disk, write to it for a time, and merge it again.
    Snapshot {
        /// Time for which the virtual machine writes to the layer.
        keep: Duration,
    },
    /// Move the disk of the running virtual machine to other storage.
    StorageMigration,
    /// Move the running virtual machine to another host process. Its disk stays.
    LiveMigration,
    /// Move virtual machine and disk, without anything shared between the two places.
    UnifiedMigration,
    /// Create virtual machines from the template, and boot all of them at once.
    BootStorm {
        /// Number of virtual machines, 1 to 64.
        machines: u32,
    },
    /// Remove the deployed virtual machines.
    Destroy,
}

/// Method by which a new virtual machine gets its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeployKind {
    /// Copy the whole template.
    Full,
    /// Store only the differences from the template (a qcow2 file with a backing file).
    Linked,
}

impl Operation {
    /// All operations, each once.
    pub const fn all(keep: Duration, machines: u32) -> [Self; 8] {
        [
            Self::Deploy(DeployKind::Full),
            Self::Deploy(DeployKind::Linked),
            Self::Snapshot { keep },
            Self::StorageMigration,
            Self::LiveMigration,
            Self::UnifiedMigration,
            Self::BootStorm { machines },
            Self::Destroy,
        ]
    }

    /// Returns the name of the operation in results and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deploy(DeployKind::Full) => "deploy",
            Self::Deploy(DeployKind::Linked) => "linked-deploy",
            Self::Snapshot { .. } => "snapshot",
            Self::StorageMigration => "storage-migration",
            Self::LiveMigration => "live-migration",
            Self::UnifiedMigration => "unified-migration",
            Self::BootStorm { .. } => "boot-storm",
            Self::Destroy => "destroy",
        }
    }

    /// Returns the phases of the operation, in order.
    pub const fn phases(self) -> &'static [Phase] {
        use Phase::{Boot, Check, Copying, Create, Delete, Destroy, Keep, SwitchOver};
        match self {
            Self::Deploy(_) | Self::BootStorm { .. } => &[Copying, Boot, Check],
            Self::Snapshot { .. } => &[Create, Keep, Delete, Check],
            Self::StorageMigration | Self::LiveMigration | Self::UnifiedMigration => {
                &[Copying, SwitchOver, Check]
            }
            Self::Destroy => &[Destroy],
        }
    }

    /// Returns true if the operation needs a running virtual machine before it begins.
    pub const fn needs_machine(self) -> bool {
        matches!(
            self,
            Self::Snapshot { .. }
                | Self::StorageMigration
                | Self::LiveMigration
                | Self::UnifiedMigration
        )
    }

    /// Returns the number of disks in addition to the template: for the virtual machine, and for
    /// new objects.
    pub const fn disks(self) -> usize {
        match self {
            Self::Deploy(_) | Self::LiveMigration | Self::Destroy => 1,
            Self::Snapshot { .. } | Self::StorageMigration | Self::UnifiedMigration => 2,
            Self::BootStorm { machines } => machines as usize,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Separately timed phase of an operation. A phase ends when its end was observed, not when it was
/// requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Until all data that can be copied while the virtual machine runs is copied.
    Copying,
    /// Until the virtual machine runs from the copy.
    SwitchOver,
    /// From the start of the virtual machine to the first heartbeat of its guest.
    Boot,
    /// Until writes go to the layer.
    Create,
    /// While writes go to the layer.
    Keep,
    /// Until the layer is merged and gone.
    Delete,
    /// Until the guest has reported that nothing was lost, and the host has confirmed it.
    Check,
    /// Until the process has ended.
    Destroy,
}

impl Phase {
    /// Returns the name of the phase.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Copying => "copying",
            Self::SwitchOver => "switch-over",
            Self::Boot => "boot",
            Self::Create => "create",
            Self::Keep => "keep",
            Self::Delete => "delete",
            Self::Check => "check",
            Self::Destroy => "destroy",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Report of a successful operation: the guest continues, and its content is correct.
#[derive(Debug, Clone)]
pub struct Report {
    /// Operation that was carried out.
    pub operation: Operation,
    /// Time of the request, RFC 3339.
    pub requested: String,
    /// End of each phase, as time since the request.
    pub ended: Vec<(Phase, Duration)>,
    /// Downtime of the virtual machine. If its processors were halted, it comes from QEMU's own
    /// time stamps. If only its disk was switched, it is the duration of the switch, which is an
    /// upper bound.
    pub stood_still: Option<Duration>,
    /// Bytes of disk and memory that were copied, if QEMU reports them.
    pub copied_bytes: u64,
    /// Result of the check, in words.
    pub checked: String,
}

/// A failed operation.
#[derive(Debug, thiserror::Error)]
#[error("{operation}, {}: {reason}; {after}", phase_words(*.phase))]
pub struct Failure {
    /// Operation that was requested.
    pub operation: Operation,
    /// Phase of the failure; `None` if the operation had not begun.
    pub phase: Option<Phase>,
    /// Reason of the failure.
    #[source]
    pub reason: Box<VmError>,
    /// State of the virtual machine after the failure.
    pub after: After,
}

/// State of a virtual machine after a failed operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// There was no virtual machine, or all its parts are removed.
    Nothing,
    /// The VM runs in its old place, and a check found it undamaged.
    Whole,
    /// The VM runs, but its content was not checked.
    Runs,
    /// The operation did not touch the VM.
    Untouched,
    /// Some objects could not be removed. `cleanup` tries again.
    Left {
        /// Objects that remain, with reasons.
        what: String,
    },
    /// The VM was abandoned, and another one will take its place.
    Lost {
        /// Result of the attempt to resume it.
        why: String,
    },
}

impl fmt::Display for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing was left behind"),
            Self::Whole => {
                f.write_str("the machine keeps running in its old place and is undamaged")
            }
            Self::Runs => f.write_str("the machine runs, and nothing was left behind"),
            Self::Untouched => f.write_str("nothing was done to the machine"),
            Self::Left { what } => {
                write!(f, "not undone, `tilemark cleanup` tries again: {what}")
            }
            Self::Lost { why } => write!(f, "the machine is lost ({why})"),
        }
    }
}

fn phase_words(phase: Option<Phase>) -> String {
    phase.map_or_else(|| "before it began".to_owned(), |phase| format!("phase {phase}"))
}

impl Report {
    /// Returns the time from the request to the end of a phase; `None` if there was no such phase.
    pub fn ended(&self, phase: Phase) -> Option<Duration> {
        self.ended.iter().find(|(own, _)| *own == phase).map(|(_, at)| *at)
    }

    /// Returns the duration of a phase, since the end of the previous phase.
    pub fn took(&self, phase: Phase) -> Option<Duration> {
        let at = self.ended.iter().position(|(own, _)| *own == phase)?;
        let before = at.checked_sub(1).map_or(Duration::ZERO, |before| self.ended[before].1);
        Some(self.ended[at].1.saturating_sub(before))
    }
}

/// Observer of an operation in progress.
pub trait Watch {
    /// Called when a phase has ended.
    fn ended(&mut self, _phase: Phase) {}

    /// Returns true if the operation must stop. It then fails, and its virtual machine is restored.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// An observer that does nothing.
impl Watch for () {}

/// An implementation of operations.
pub trait VmOperations: Send {
    /// Describes the implementation, with its version and the accelerator of its guests.
    fn about(&self) -> String;

    /// Prepares the operation so that it can begin at once, for example by booting a virtual
    /// machine.
    ///
    /// # Errors
    /// The preparation fails, or this implementation does not support the operation.
    fn prepare(&mut self, operation: Operation) -> Result<(), Failure>;

    /// Carries an operation out, and checks its result. Each phase is reported to `watch` as it
    /// ends.
    ///
    /// # Errors
    /// The operation failed; the failure has the phase, the reason and the state of the virtual
    /// machine.
    fn perform(&mut self, operation: Operation, watch: &mut dyn Watch) -> Result<Report, Failure>;
}

/// Records the end times of an operation's phases.
pub(crate) struct Clock<'a> {
    operation: Operation,
    requested: String,
    began: Instant,
    ended: Vec<(Phase, Duration)>,
    watch: &'a mut dyn Watch,
}

impl<'a> Clock<'a> {
    pub fn begin(operation: Operation, watch: &'a mut dyn Watch) -> Self {
        let requested = jiff::Timestamp::now().to_string();
        Self { operation, requested, began: Instant::now(), ended: Vec::new(), watch }
    }

    /// Ends the current phase.
    pub fn end(&mut self, phase: Phase) {
        debug_assert_eq!(self.phase(), Some(phase), "{}", self.operation);
        self.ended.push((phase, self.began.elapsed()));
        self.watch.ended(phase);
    }

    /// Returns the current phase; `None` after the last phase.
    pub fn phase(&self) -> Option<Phase> {
        self.operation.phases().get(self.ended.len()).copied()
    }

    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// Returns an error if the operation must stop.
    pub fn go_on(&self) -> Result<(), VmError> {
        if self.watch.is_stopped() { Err(VmError::Stopped) } else { Ok(()) }
    }

    pub fn report(self, done: Done) -> Report {
        let Done { stood_still, copied_bytes, checked } = done;
        let (operation, requested, ended) = (self.operation, self.requested, self.ended);
        Report { operation, requested, ended, stood_still, copied_bytes, checked }
    }
}

/// Results of a successful operation, without its times.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub stood_still: Option<Duration>,
    pub copied_bytes: u64,
    pub checked: String,
}
