//! What is carried out, in which phases, and what is told of it.

use std::fmt;
use std::time::{Duration, Instant};

use crate::VmError;

/// One infrastructure operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A new machine from the template, booted.
    Deploy(DeployKind),
    /// A new layer under which the disk stays as it is, written to for a time, and merged again.
    Snapshot {
        /// For how long the machine writes to the layer.
        keep: Duration,
    },
    /// The disk of the running machine goes to other storage.
    StorageMigration,
    /// The running machine goes to another host process; its disk stays.
    LiveMigration,
    /// Machine and disk go, with nothing shared in between.
    UnifiedMigration,
    /// Machines from the template, all booted at once.
    BootStorm {
        /// How many, 1 to 64.
        machines: u32,
    },
    /// What was deployed goes.
    Destroy,
}

/// How a new machine gets its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeployKind {
    /// The whole template is copied.
    Full,
    /// Only what differs from the template is written (a qcow2 file with a backing file).
    Linked,
}

impl Operation {
    /// Each operation once.
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

    /// Its word, in results and on command lines.
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

    /// Its phases, in their order.
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

    /// Whether it is done to a machine that runs before it begins.
    pub const fn needs_machine(self) -> bool {
        matches!(
            self,
            Self::Snapshot { .. }
                | Self::StorageMigration
                | Self::LiveMigration
                | Self::UnifiedMigration
        )
    }

    /// Disks it needs beside the template: for the machine, and for what is made.
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

/// A part of an operation with a time of its own. It ends when its end was seen, not when it
/// was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Until all that can be copied while the machine runs is copied.
    Copying,
    /// Until the machine runs from the copy.
    SwitchOver,
    /// From the start of the machine to the first beat of its guest.
    Boot,
    /// Until the layer takes the writes.
    Create,
    /// While it does.
    Keep,
    /// Until it is merged and gone.
    Delete,
    /// Until the guest has said that nothing was lost, and the host found the same.
    Check,
    /// Until the process has ended.
    Destroy,
}

impl Phase {
    /// Its word.
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

/// An operation that succeeded: its guest goes on and what it holds is what it must hold.
#[derive(Debug, Clone)]
pub struct Report {
    /// What was done.
    pub operation: Operation,
    /// When it was asked for, RFC 3339.
    pub requested: String,
    /// When each phase ended, after the request.
    pub ended: Vec<(Phase, Duration)>,
    /// How long the machine stood still: from QEMU's own time stamps where its processors were halted; where
    /// only its disk was switched, how long that took, which it stood still at most.
    pub stood_still: Option<Duration>,
    /// Bytes of disk and memory that were copied, where QEMU says so.
    pub copied_bytes: u64,
    /// What the check compared, in words.
    pub checked: String,
}

/// An operation that did not succeed.
#[derive(Debug, thiserror::Error)]
#[error("{operation}, {}: {reason}; {after}", phase_words(*.phase))]
pub struct Failure {
    /// What was asked for.
    pub operation: Operation,
    /// The phase it was in; none if it had not begun.
    pub phase: Option<Phase>,
    /// Why.
    #[source]
    pub reason: Box<VmError>,
    /// What became of the machine it was done to.
    pub after: After,
}

/// What became of a machine whose operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// There was none, or what had been made of it is gone again.
    Nothing,
    /// It goes on where it was, and a check found it whole.
    Whole,
    /// It runs; what is in it was not looked at.
    Runs,
    /// Nothing was done to it.
    Untouched,
    /// Not all that was made could be taken back; `cleanup` tries it again.
    Left {
        /// What stays, and why.
        what: String,
    },
    /// It was given up, and another will take its place.
    Lost {
        /// What became of the attempt to let it go on.
        why: String,
    },
}

impl fmt::Display for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing of it is left"),
            Self::Whole => f.write_str("the machine goes on where it was and is whole"),
            Self::Runs => f.write_str("the machine runs, and nothing of it is left"),
            Self::Untouched => f.write_str("nothing was done to the machine"),
            Self::Left { what } => {
                write!(f, "not taken back, `tilemark cleanup` tries again: {what}")
            }
            Self::Lost { why } => write!(f, "the machine is lost ({why})"),
        }
    }
}

fn phase_words(phase: Option<Phase>) -> String {
    phase.map_or_else(|| "before it began".to_owned(), |phase| format!("phase {phase}"))
}

impl Report {
    /// When a phase ended, after the request; nothing if it has no such phase.
    pub fn ended(&self, phase: Phase) -> Option<Duration> {
        self.ended.iter().find(|(own, _)| *own == phase).map(|(_, at)| *at)
    }

    /// How long a phase took, from the end of the one before.
    pub fn took(&self, phase: Phase) -> Option<Duration> {
        let at = self.ended.iter().position(|(own, _)| *own == phase)?;
        let before = at.checked_sub(1).map_or(Duration::ZERO, |before| self.ended[before].1);
        Some(self.ended[at].1.saturating_sub(before))
    }
}

/// Who looks at an operation under way.
pub trait Watch {
    /// A phase has ended.
    fn ended(&mut self, _phase: Phase) {}

    /// Whether to give it up: it then fails, and what it was done to is made whole.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Nobody looks.
impl Watch for () {}

/// One way to carry operations out.
pub trait VmOperations: Send {
    /// What carries them out, with its version and what it runs guests with.
    fn about(&self) -> String;

    /// Sees to it that the operation can begin at once: a machine runs, if it needs one.
    ///
    /// # Errors
    /// When it cannot, or this way cannot carry it out at all.
    fn prepare(&mut self, operation: Operation) -> Result<(), Failure>;

    /// Carries one out, and checks what came of it. Each of its phases is told to `watch` as it ends.
    ///
    /// # Errors
    /// When it did not succeed, with the phase, the reason and what became of the machine.
    fn perform(&mut self, operation: Operation, watch: &mut dyn Watch) -> Result<Report, Failure>;
}

/// The phases of an operation as they end.
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

    /// The next phase has ended now.
    pub fn end(&mut self, phase: Phase) {
        debug_assert_eq!(self.phase(), Some(phase), "{}", self.operation);
        self.ended.push((phase, self.began.elapsed()));
        self.watch.ended(phase);
    }

    /// The phase that it is in; nothing once all have ended.
    pub fn phase(&self) -> Option<Phase> {
        self.operation.phases().get(self.ended.len()).copied()
    }

    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// An error once it is to be given up.
    pub fn go_on(&self) -> Result<(), VmError> {
        if self.watch.is_stopped() { Err(VmError::Stopped) } else { Ok(()) }
    }

    pub fn report(self, done: Done) -> Report {
        let Done { stood_still, copied_bytes, checked } = done;
        let (operation, requested, ended) = (self.operation, self.requested, self.ended);
        Report { operation, requested, ended, stood_still, copied_bytes, checked }
    }
}

/// What is known of an operation that succeeded, beside its times.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub stood_still: Option<Duration>,
    pub copied_bytes: u64,
    pub checked: String,
}
