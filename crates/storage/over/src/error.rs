use std::io;

use nfs::NfsError;
use process_home::{HomeError, ProcessError};

/// Error of the storage protocol that carries the I/O of a run's disks.
#[derive(Debug, thiserror::Error)]
pub enum OverError {
    /// The protocol's server needs root.
    #[error("only root can set up --over {protocol}: {why}")]
    NotRoot {
        /// Word of the protocol.
        protocol: &'static str,
        /// Action for which root is needed.
        why: &'static str,
    },
    /// A program is not installed.
    #[error("--over {protocol} needs the program {program}, which is neither in PATH nor in sbin")]
    Missing {
        /// Word of the protocol.
        protocol: &'static str,
        /// Name of the program.
        program: &'static str,
        /// Debian's package of the program.
        package: &'static str,
    },
    /// The kernel lacks a part.
    #[error("--over {protocol} needs {part}")]
    Kernel {
        /// Word of the protocol.
        protocol: &'static str,
        /// Part that is missing.
        part: String,
        /// Advice for the user.
        hint: &'static str,
    },
    /// A program does not report its version.
    #[error("{program} does not report its version; it answered \"{said}\"")]
    NoVersion {
        /// Name of the program.
        program: &'static str,
        /// Beginning of the program's output.
        said: String,
    },
    /// A program is too old.
    #[error("{program} {version} is too old: {why}; it must be {least} or later")]
    TooOld {
        /// Name of the program.
        program: &'static str,
        /// Version that the program reported.
        version: String,
        /// Oldest version that works.
        least: &'static str,
        /// Feature that is missing in older versions.
        why: &'static str,
    },
    /// The storage daemon lacks a part.
    #[error("{program} has no {part}: {said}")]
    Incapable {
        /// Name of the program.
        program: &'static str,
        /// Part that is missing.
        part: &'static str,
        /// Debian's package with the part.
        package: &'static str,
        /// Output of the program.
        said: String,
    },
    /// The path of a disk's file cannot be passed to the programs.
    #[error("{program} cannot serve the disk {path}: {why}")]
    Path {
        /// Program to which the path would be passed.
        program: &'static str,
        /// Path of the disk's file.
        path: String,
        /// Reason why the path cannot be passed.
        why: &'static str,
    },
    /// The private directory cannot be created or marked.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// An existing export cannot be used.
    #[error(transparent)]
    Nfs(#[from] NfsError),
    /// The system returned an error.
    #[error("cannot {attempt} {object}: {source}")]
    Io {
        /// Operation that was attempted, as a verb.
        attempt: &'static str,
        /// File or program on which it was attempted.
        object: String,
        /// Error that the system returned.
        #[source]
        source: io::Error,
    },
    /// A program cannot be started, ended by itself, failed, or was not ready in time.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The kernel's initiator lost its connection.
    #[error(
        "{target} closed its connection or does not answer: controller {controller} is {state}"
    )]
    Lost {
        /// Name of the target.
        target: &'static str,
        /// Kernel's name of the controller.
        controller: String,
        /// State of the controller.
        state: String,
    },
    /// I/Os were outstanding, but none completed for a long time.
    #[error("{program} hangs under load: no I/O completed for {seconds} s{}", last_words(.said))]
    Hangs {
        /// Name of the program that is stopped by a signal, or of the server if none is.
        program: String,
        /// Time without a completion, in seconds.
        seconds: u64,
        /// Last lines of the program's log.
        said: String,
    },
}

impl OverError {
    /// Returns advice for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotRoot { .. } => Some("run it as root, or use --over nbd".to_owned()),
            Self::Missing { package, .. } | Self::Incapable { package, .. } => {
                Some(format!("install it: apt-get install --no-install-recommends {package}"))
            }
            Self::Kernel { hint, .. } => Some((*hint).to_owned()),
            Self::Nfs(error) => error.hint().map(str::to_owned),
            Self::Path { .. } => {
                Some("use a directory whose path has no special characters".to_owned())
            }
            Self::Process(error) if error.log().contains("Address already in use") => {
                Some("another program has just taken the port; run again".to_owned())
            }
            _ => None,
        }
    }
}

fn last_words(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; its last output: {said}") }
}

const _: () = assert!(size_of::<OverError>() <= 128, "errors are returned by value");
