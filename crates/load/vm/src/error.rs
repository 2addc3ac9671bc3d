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
    #[error("machine {machine} answered `{command}` with what is no answer to it")]
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
    /// A machine of the user's that is not there by its exact name.
    #[error("there is no machine \"{machine}\" at {at}{alike}")]
    Missing {
        /// Which.
        machine: String,
        /// Where it was looked for.
        at: String,
        /// What there is instead, in words; or nothing.
        alike: String,
    },
    /// A workload whose operations are for a machine of the user's, and none is left for it.
    #[error(
        "workload \"{workload}\" carries operations out on a machine of yours, and none is named for it ({named} named)"
    )]
    Unnamed {
        /// Which.
        workload: String,
        /// How many machines are named.
        named: usize,
    },
    /// A machine that is named for nothing.
    #[error(
        "machine {machine} is named, and no workload is left that takes it ({takers} take one)"
    )]
    Unused {
        /// Which.
        machine: String,
        /// How many workloads take a machine.
        takers: usize,
    },
    /// A plan file names what only whoever runs it may name.
    #[error("the machine {machine}: a plan cannot name {what}")]
    Plan {
        /// As it was named.
        machine: String,
        /// What it names.
        what: &'static str,
    },
    /// It is there, and not as it must be.
    #[error("machine {machine} is \"{seen}\", and must be \"{wanted}\"")]
    State {
        /// Which.
        machine: String,
        /// As it is.
        seen: String,
        /// As it must be.
        wanted: &'static str,
    },
    /// Something would have been removed that was not made here.
    #[error("{what} was not made by Tilemark, and stays")]
    NotOurs {
        /// What.
        what: String,
    },
    /// A platform that does not answer, or not as it should.
    #[error("asking {at} for `{command}` of machine {machine}: {source}")]
    Remote {
        /// Which.
        machine: String,
        /// Where.
        at: String,
        /// What was asked.
        command: String,
        /// Why there is no answer.
        #[source]
        source: http_client::RemoteError,
    },
    /// Whoever asked for it gave it up.
    #[error("it was stopped")]
    Stopped,
}

impl VmError {
    /// What helps.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Image(error) => Some(error.hint()),
            Self::Missing { .. } => {
                Some("names are exact, and no machine of another name is touched")
            }
            Self::Unnamed { .. } => Some(
                "--machine KIND:NAME for each such workload, in their order; or a group with one: \
                 --operations=named-snapshot",
            ),
            Self::Unused { .. } => Some(
                "--operations=named-snapshot, named-move, named-storage, named-unified and named-deploy take one \
                 machine each",
            ),
            Self::Plan { .. } => Some("give it on the command line, with --machine"),
            _ => None,
        }
    }
}

fn last_words(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; the last it said: {said}") }
}
