//! What goes wrong with real machines.

use std::io;
use std::time::Duration;

use crate::image::ImageError;

/// Why something with a machine did not go as it must.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// No program, or none that answers.
    #[error("{program} cannot be run: {source}")]
    Program {
        /// The path or name that was tried.
        program: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It said something else than its version.
    #[error("{program} is no QEMU that tells its version: \"{said}\"")]
    NoVersion {
        /// The path or name.
        program: String,
        /// The first line it printed.
        said: String,
    },
    /// A version that is known to corrupt what it moves, or too old to be known.
    #[error(
        "QEMU {version} {why}; {works} or later works (the guide on operations on real machines says \
         where to get it)"
    )]
    Version {
        /// What there is.
        version: String,
        /// What is wrong with it.
        why: &'static str,
        /// The first version that does.
        works: &'static str,
    },
    /// The guest's image is not as it was built.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The private directory.
    #[error("cannot {attempt} {path}: {source}")]
    Home {
        /// What was tried.
        attempt: &'static str,
        /// On what.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A machine's process has ended.
    #[error("machine {machine} has ended ({status}){}", last_words(.said))]
    Ended {
        /// Which.
        machine: String,
        /// How.
        status: String,
        /// The last that it printed.
        said: String,
    },
    /// QMP was not answered in time.
    #[error("machine {machine} did not answer `{command}` within {within:?}")]
    Silent {
        /// Which.
        machine: String,
        /// The command, or what was waited for.
        command: String,
        /// For how long.
        within: Duration,
    },
    /// QMP answered with an error.
    #[error("machine {machine} refused `{command}`: {said}")]
    Refused {
        /// Which.
        machine: String,
        /// The command.
        command: String,
        /// QEMU's words.
        said: String,
    },
    /// Something else than QMP came.
    #[error("machine {machine} answered `{command}` with what is no QMP")]
    Garbage {
        /// Which.
        machine: String,
        /// The command.
        command: String,
    },
    /// A job or a migration ended otherwise than well.
    #[error("{what} of machine {machine} ended: {said}")]
    NotDone {
        /// Which.
        machine: String,
        /// The job.
        what: &'static str,
        /// QEMU's words.
        said: String,
    },
    /// It took longer than is waited for.
    #[error("{what} of machine {machine} was not over within {within:?}")]
    TooLong {
        /// Which.
        machine: String,
        /// What was waited for.
        what: &'static str,
        /// For how long.
        within: Duration,
    },
    /// The guest is silent.
    #[error("the guest of machine {machine} gave no {what} within {within:?}{}", last_words(.said))]
    NoBeat {
        /// Which.
        machine: String,
        /// What was waited for.
        what: &'static str,
        /// For how long.
        within: Duration,
        /// The last that its kernel printed.
        said: String,
    },
    /// The guest or the host found something else than must be there.
    #[error("the guest of machine {machine} is damaged: {what}")]
    Damaged {
        /// Which.
        machine: String,
        /// What does not agree.
        what: String,
    },
    /// Reading a disk to compare it.
    #[error("reading disk {disk} to compare it: {source}")]
    Disk {
        /// Its name.
        disk: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// No disk is left for what is to be made.
    #[error("{needed} disks are needed and {free} are free")]
    NoDisk {
        /// How many the operation makes.
        needed: usize,
        /// How many there are.
        free: usize,
    },
    /// This way of carrying operations out has no such operation, or not with these parameters.
    #[error("{0}")]
    Unsupported(String),
    /// Whoever asked for it gave it up.
    #[error("it was stopped")]
    Stopped,
}

fn last_words(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; the last it said: {said}") }
}
