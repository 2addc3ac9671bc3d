//! What a platform must be able to do.

use crate::operation::Done;
use crate::{DeployKind, Operation, VmError};

use super::ledger::{Ledger, Made};

/// A part of an operation, as a platform knows it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    /// A snapshot of this name.
    Snapshot { name: &'a str },
    /// It goes again.
    DeleteSnapshot { name: &'a str },
    /// A clone of this name, switched off.
    Clone { name: &'a str, kind: DeployKind },
    /// It is switched on.
    Start { name: &'a str },
    /// It goes, with its disks.
    Destroy { name: &'a str },
    /// The disk of the running machine goes to the other storage.
    MoveDisk,
    /// The running machine goes to the other host, with its disks or without.
    Migrate { disks: bool },
}

/// How a job is getting on.
#[derive(Debug)]
pub(super) enum Look {
    /// It is under way.
    Going,
    /// All is copied; it waits to be switched over.
    Ready,
    /// It has ended well.
    Done(Done),
}

/// Where one machine of the user's lives. It is found by its exact name before each step, and nothing else there is
/// touched but what the ledger has.
pub(super) trait Platform: Send {
    /// Something that takes time there.
    type Job;

    /// What it is, with its version.
    fn about(&self) -> String;

    /// Whether an operation can begin now.
    fn can(&mut self, operation: Operation) -> Result<(), VmError>;

    /// Begins a step. What it makes is written down first.
    fn begin(&mut self, step: &Step<'_>, ledger: &mut Ledger) -> Result<Self::Job, VmError>;

    /// How a job is getting on; an error once it has failed.
    fn look(&mut self, job: &mut Self::Job) -> Result<Look, VmError>;

    /// Switches over; only of a job that was ready.
    fn switch_over(&mut self, _: &mut Self::Job) -> Result<(), VmError> {
        Ok(())
    }

    /// After a job that ended well: what it made stays in the ledger, what it removed goes from it.
    fn end(&mut self, job: Self::Job, ledger: &mut Ledger) -> Result<(), VmError>;

    /// Stops a job, as far as it can be stopped.
    fn call_off(&mut self, job: &mut Self::Job);

    /// Looks at the machine, or at a clone of it: an error unless it runs. What was seen, and what could not be.
    fn check(&mut self, clone: Option<&str>) -> Result<String, VmError>;

    /// Waits for jobs no longer than somebody waits who has stopped the run.
    fn hurry(&mut self) {}

    /// Takes something back; well done if it is not there.
    fn undo(&mut self, made: &Made) -> Result<(), VmError>;
}
