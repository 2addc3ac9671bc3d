use std::fmt;
use std::io;

use nfs::NfsError;
use process_home::HomeError;

/// Part of a session's life in which an error happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A private network namespace is made.
    Network,
    /// A server starts.
    Start,
    /// The files are handed to the server.
    Export,
    /// The initiator connects to the server.
    Attach,
    /// The load runs.
    Load,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "making a private network",
            Self::Start => "starting the server",
            Self::Export => "exporting the disks",
            Self::Attach => "connecting the initiator",
            Self::Load => "under load",
        })
    }
}

/// Error of a protocol below a run's disks.
#[derive(Debug, thiserror::Error)]
pub enum OverError {
    /// The protocol's server needs root.
    #[error("--over {protocol} is set up by root only: {why}")]
    NotRoot {
        /// Word of the protocol.
        protocol: &'static str,
        /// Part that an ordinary user may not do.
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
    /// A program does not tell its version.
    #[error("{program} does not tell its version; its answer is \"{said}\"")]
    NoVersion {
        /// Name of the program.
        program: &'static str,
        /// Beginning of the answer.
        said: String,
    },
    /// A program is too old.
    #[error("{program} {version} is too old: {why}; {least} or later works")]
    TooOld {
        /// Name of the program.
        program: &'static str,
        /// Version that it told.
        version: String,
        /// First version that works.
        least: &'static str,
        /// Missing ability.
        why: &'static str,
    },
    /// The storage daemon lacks a part.
    #[error("{program} has no {part}: {said}")]
    Incapable {
        /// Name of the program.
        program: &'static str,
        /// Missing part.
        part: &'static str,
        /// Package with the part.
        package: &'static str,
        /// Answer of the program.
        said: String,
    },
    /// A disk's path cannot be handed to the programs.
    #[error("{program} cannot serve the disk {path}: {why}")]
    Path {
        /// Program that would get the path.
        program: &'static str,
        /// Path of the disk.
        path: String,
        /// Obstacle.
        why: &'static str,
    },
    /// Error of the private directory.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// An existing export cannot be used.
    #[error(transparent)]
    Nfs(#[from] NfsError),
    /// Error of the system.
    #[error("cannot {attempt} {object}: {source}")]
    Io {
        /// Attempted operation, as a verb.
        attempt: &'static str,
        /// File or program.
        object: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// A program ended that must go on.
    #[error("{program} ended {phase} ({status}){}", last_words(.said))]
    Ended {
        /// Name of the program.
        program: &'static str,
        /// Time of the end.
        phase: Phase,
        /// Exit status or signal.
        status: String,
        /// Last lines of its log.
        said: String,
    },
    /// A command of a server's tool failed.
    #[error("{program} failed {phase} ({status}){}", last_words(.said))]
    Command {
        /// Name of the tool.
        program: &'static str,
        /// Time of the failure.
        phase: Phase,
        /// Exit status or signal.
        status: String,
        /// Last lines of its output.
        said: String,
    },
    /// A program is not ready in time.
    #[error("{program} was not ready within {seconds} s {phase}{}", last_words(.said))]
    NotReady {
        /// Name of the program.
        program: &'static str,
        /// Time of the wait.
        phase: Phase,
        /// Length of the wait.
        seconds: u64,
        /// Last lines of its log.
        said: String,
    },
    /// No I/O was answered for a long time.
    #[error("{program} hangs under load: no I/O was answered for {seconds} s{}", last_words(.said))]
    Hangs {
        /// Name of the program that is stopped, or of the server.
        program: &'static str,
        /// Length of the silence.
        seconds: u64,
        /// Last lines of its log.
        said: String,
    },
}

impl OverError {
    /// Advice for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotRoot { .. } => Some("run it as root, or use --over nbd".to_owned()),
            Self::Missing { package, .. } | Self::Incapable { package, .. } => {
                Some(format!("install it: apt-get install --no-install-recommends {package}"))
            }
            Self::Nfs(error) => error.hint().map(str::to_owned),
            Self::Path { .. } => Some("use a directory with a plainer path".to_owned()),
            Self::Ended { said, .. } if said.contains("Address already in use") => {
                Some("another program took the port in this moment; run it again".to_owned())
            }
            _ => None,
        }
    }
}

fn last_words(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; its last words: {said}") }
}

const _: () = assert!(size_of::<OverError>() <= 128, "errors are returned by value");
