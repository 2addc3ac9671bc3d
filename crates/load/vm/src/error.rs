//! Errors of real virtual machines.

use std::io;
use std::time::Duration;

use crate::image::ImageError;

/// Error of an operation on a virtual machine.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// The program is missing, or does not respond.
    #[error("{program} cannot be run: {source}")]
    Program {
        /// The path or name that was tried.
        program: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The program printed no version.
    #[error("{program} does not report a version of QEMU: \"{said}\"")]
    NoVersion {
        /// Path or name of the program.
        program: String,
        /// The first line it printed.
        said: String,
    },
    /// The version is known to corrupt migrated guests, or is too old to be known.
    #[error(
        "QEMU {version} {why}; {works} or later works (the guide on operations on real machines says \
         where to get it)"
    )]
    Version {
        /// Version that was found.
        version: String,
        /// Problem with the version.
        why: &'static str,
        /// First version without the problem.
        works: &'static str,
    },
    /// The guest's image differs from the built one.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// Error of the private directory.
    #[error(transparent)]
    Home(#[from] process_home::HomeError),
    /// The process of the virtual machine has ended.
    #[error("machine {machine} has ended ({status}){}", last_words(.said))]
    Ended {
        /// Name of the virtual machine.
        machine: String,
        /// Exit status, in words.
        status: String,
        /// Last line that the process printed.
        said: String,
    },
    /// QMP did not respond in time.
    #[error("machine {machine} did not answer `{command}` within {within:?}")]
    Silent {
        /// Name of the virtual machine.
        machine: String,
        /// Command without a response, or the awaited event.
        command: String,
        /// Time limit of the wait.
        within: Duration,
    },
    /// QMP answered with an error.
    #[error("machine {machine} refused `{command}`: {said}")]
    Refused {
        /// Name of the virtual machine.
        machine: String,
        /// Command that was sent.
        command: String,
        /// Message of QEMU.
        said: String,
    },
    /// The connection carried data that is not QMP.
    #[error("machine {machine} gave an invalid answer to `{command}`")]
    Garbage {
        /// Name of the virtual machine.
        machine: String,
        /// Command that was sent.
        command: String,
    },
    /// A job or a migration ended with an error.
    #[error("{what} of machine {machine} ended: {said}")]
    NotDone {
        /// Name of the virtual machine.
        machine: String,
        /// Kind of the job.
        what: &'static str,
        /// Message of QEMU.
        said: String,
    },
    /// An operation exceeded its time limit.
    #[error("{what} of machine {machine} did not finish within {within:?}")]
    TooLong {
        /// Name of the virtual machine.
        machine: String,
        /// Description of the awaited event.
        what: &'static str,
        /// Time limit of the wait.
        within: Duration,
    },
    /// The guest sends no heartbeats.
    #[error("the guest of machine {machine} sent no {what} within {within:?}{}", last_words(.said))]
    NoBeat {
        /// Name of the virtual machine.
        machine: String,
        /// Description of the awaited event.
        what: &'static str,
        /// Time limit of the wait.
        within: Duration,
        /// Last line of the guest's kernel.
        said: String,
    },
    /// The guest or the host found wrong content.
    #[error("the guest of machine {machine} is damaged: {what}")]
    Damaged {
        /// Name of the virtual machine.
        machine: String,
        /// Description of the wrong content.
        what: String,
    },
    /// A disk could not be read for a comparison.
    #[error("reading disk {disk} to compare it: {source}")]
    Disk {
        /// Name of the disk.
        disk: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// No disk is left for a new virtual machine.
    #[error("{needed} disks are needed, but only {free} are free")]
    NoDisk {
        /// Number of disks that the operation needs.
        needed: usize,
        /// Number of free disks.
        free: usize,
    },
    /// This implementation does not support the operation, or not with these parameters.
    #[error("{0}")]
    Unsupported(String),
    /// No virtual machine of the user has this exact name.
    #[error("there is no machine \"{machine}\" at {at}{alike}")]
    Missing {
        /// Name of the virtual machine.
        machine: String,
        /// Place that was searched.
        at: String,
        /// Similar names, in words; may be empty.
        alike: String,
    },
    /// A workload's operations need a virtual machine of the user, but all named ones are taken.
    #[error(
        "workload \"{workload}\" runs operations on your own machine, but none is named for it \
        ({named} named)"
    )]
    Unnamed {
        /// Name of the workload.
        workload: String,
        /// Number of named virtual machines.
        named: usize,
    },
    /// No workload needs a virtual machine that was named.
    #[error(
        "machine {machine} is named, but no workload is left that needs it ({takers} need one)"
    )]
    Unused {
        /// Name of the virtual machine.
        machine: String,
        /// Number of workloads that use a virtual machine.
        takers: usize,
    },
    /// A plan file contains a setting that is only allowed on the command line.
    #[error("the machine {machine}: a plan may not name {what}")]
    Plan {
        /// Text that names the virtual machine.
        machine: String,
        /// Kind of the forbidden setting.
        what: &'static str,
    },
    /// The virtual machine exists, but its state is wrong.
    #[error("machine {machine} is \"{seen}\", but must be \"{wanted}\"")]
    State {
        /// Name of the virtual machine.
        machine: String,
        /// State that was found.
        seen: String,
        /// State that is needed.
        wanted: &'static str,
    },
    /// The operation would have removed an object that this program did not create.
    #[error("{what} was not made by Tilemark, so it is kept")]
    NotOurs {
        /// Name of the object.
        what: String,
    },
    /// A platform does not respond, or responds incorrectly.
    #[error("asking {at} for `{command}` of machine {machine}: {source}")]
    Remote {
        /// Name of the virtual machine.
        machine: String,
        /// Address of the platform.
        at: String,
        /// Request that was sent.
        command: String,
        /// Reason of the failure.
        #[source]
        source: http_client::RemoteError,
    },
    /// The caller stopped the operation.
    #[error("it was stopped")]
    Stopped,
}

impl VmError {
    /// Returns advice on how to solve the problem, if there is any.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Image(error) => Some(error.hint()),
            Self::Missing { .. } => {
                Some("names must match exactly; machines with other names are never touched")
            }
            Self::Unnamed { .. } => Some(
                "--machine KIND:NAME for each such workload, in their order; or a group with one: \
                 --operations=named-snapshot",
            ),
            Self::Unused { .. } => Some(
                "--operations=named-snapshot, named-move, named-storage, named-unified and \
                 named-deploy need one machine each",
            ),
            Self::Plan { .. } => Some("give it on the command line, with --machine"),
            _ => None,
        }
    }
}

fn last_words(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; the last it said: {said}") }
}
