//! Interface of a platform.

use crate::operation::Done;
use crate::{DeployKind, Operation, VmError};

use super::ledger::{Ledger, Made};

/// Step of an operation, as a platform performs it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    /// Make a snapshot of this name.
    Snapshot { name: &'a str },
    /// Delete the snapshot of this name.
    DeleteSnapshot { name: &'a str },
    /// Make a clone of this name, switched off.
    Clone { name: &'a str, kind: DeployKind },
    /// Start the clone of this name.
    Start { name: &'a str },
    /// Delete the clone of this name, with its disks.
    Destroy { name: &'a str },
    /// Move the disk of the running virtual machine to the other storage.
    MoveDisk,
    /// Move the running virtual machine to the other host, with its disks or without.
    Migrate { disks: bool },
}

/// Progress of a job.
#[derive(Debug)]
pub(super) enum Look {
    /// The job is under way.
    Going,
    /// Everything is copied; the job waits for the switch-over.
    Ready,
    /// The job has succeeded.
    Done(Done),
}

/// Platform of one virtual machine of the user. The virtual machine is found by its exact name
/// before each step, and the platform touches nothing else but the objects of the ledger.
pub(super) trait Platform: Send {
    /// A job on the platform.
    type Job;

    /// Name of the platform, with its version.
    fn about(&self) -> String;

    /// Checks that an operation can begin now.
    fn can(&mut self, operation: Operation) -> Result<(), VmError>;

    /// Starts a step. The object that it makes is recorded first.
    fn begin(&mut self, step: &Step<'_>, ledger: &mut Ledger) -> Result<Self::Job, VmError>;

    /// Progress of a job; an error once it has failed.
    fn look(&mut self, job: &mut Self::Job) -> Result<Look, VmError>;

    /// Switches over a job that is ready.
    fn switch_over(&mut self, _: &mut Self::Job) -> Result<(), VmError> {
        Ok(())
    }

    /// Ends a successful job: an object that it made stays in the ledger, and one that it removed
    /// is taken out.
    fn end(&mut self, job: Self::Job, ledger: &mut Ledger) -> Result<(), VmError>;

    /// Cancels a job, as far as possible.
    fn call_off(&mut self, job: &mut Self::Job);

    /// Checks that the virtual machine, or a clone of it, runs. Returns what was checked, and what
    /// could not be.
    fn check(&mut self, clone: Option<&str>) -> Result<String, VmError>;

    /// Shortens the waits for jobs, because a user has stopped the run.
    fn hurry(&mut self) {}

    /// Removes an object; success if it does not exist.
    fn undo(&mut self, made: &Made) -> Result<(), VmError>;
}
