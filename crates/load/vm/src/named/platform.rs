//! Interface of a platform.

use crate::operation::Done;
use crate::{DeployKind, Operation, VmError};

use super::ledger::{Ledger, Made};

/// Step of an operation, as a platform performs it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    /// Create a snapshot with this name.
    Snapshot { name: &'a str },
    /// Delete the snapshot with this name.
    DeleteSnapshot { name: &'a str },
    /// Create a clone with this name, switched off.
    Clone { name: &'a str, kind: DeployKind },
    /// Start the clone with this name.
    Start { name: &'a str },
    /// Delete the clone with this name, with its disks.
    Destroy { name: &'a str },
    /// Move the disk of the running virtual machine to the other storage.
    MoveDisk,
    /// Move the running virtual machine to the other host, with or without its disks.
    Migrate { disks: bool },
}

/// Progress of a job.
#[derive(Debug)]
pub(super) enum Look {
    /// The job is in progress.
    Going,
    /// Everything is copied, and the job waits for the switch-over.
    Ready,
    /// The job has succeeded.
    Done(Done),
}

/// Platform of one virtual machine of the user. The virtual machine is found by its exact name
/// before each step. The platform touches only it and the objects of the ledger.
pub(super) trait Platform: Send {
    /// A job on the platform.
    type Job;

    /// Returns the name of the platform, with its version.
    fn about(&self) -> String;

    /// Checks that an operation can begin now.
    fn can(&mut self, operation: Operation) -> Result<(), VmError>;

    /// Starts a step. The object that it creates is recorded first.
    fn begin(&mut self, step: &Step<'_>, ledger: &mut Ledger) -> Result<Self::Job, VmError>;

    /// Returns the progress of a job. Fails if the job has failed.
    fn look(&mut self, job: &mut Self::Job) -> Result<Look, VmError>;

    /// Switches over a job that is ready.
    fn switch_over(&mut self, _: &mut Self::Job) -> Result<(), VmError> {
        Ok(())
    }

    /// Updates the ledger after a successful job: an object that it created stays, and an object
    /// that it removed is taken out.
    fn end(&mut self, job: Self::Job, ledger: &mut Ledger) -> Result<(), VmError>;

    /// Cancels a job, as far as possible.
    fn call_off(&mut self, job: &mut Self::Job);

    /// Checks that the virtual machine, or a clone of it, runs. Returns a description of the check
    /// and of its gaps.
    fn check(&mut self, clone: Option<&str>) -> Result<String, VmError>;

    /// Shortens the waits for jobs, because a user has stopped the run.
    fn hurry(&mut self) {}

    /// Removes an object. Succeeds if it does not exist.
    fn undo(&mut self, made: &Made) -> Result<(), VmError>;
}
