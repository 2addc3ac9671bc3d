use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use process_home::{Phase, ProcessError};
use state_machine::CallError;

/// Server program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Receives mail over SMTP and keeps the queue.
    Exim,
    /// Delivers into mailboxes, and serves them over IMAP.
    Dovecot,
}

impl Program {
    /// Returns `exim` or `dovecot`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exim => "exim",
            Self::Dovecot => "dovecot",
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Error of a mail server.
#[derive(Debug, thiserror::Error)]
pub enum MailServerError {
    /// A program is missing.
    #[error("no program {names} in {searched}")]
    Missing {
        /// Names that were tried.
        names: &'static str,
        /// Directories that were searched.
        searched: String,
    },
    /// A program has a version whose settings this crate does not know.
    #[error("{path} is {program} \"{seen}\", but the supported versions are {known}")]
    Version {
        /// Server program.
        program: Program,
        /// Path of the program.
        path: PathBuf,
        /// Version as the program prints it.
        seen: String,
        /// Versions whose settings are known.
        known: &'static str,
    },
    /// A path cannot be used in settings or sockets.
    #[error("the directory {path} cannot be a mail server's: {why}")]
    Path {
        /// Path of the directory.
        path: PathBuf,
        /// Fault of the path.
        why: &'static str,
    },
    /// An amount is out of range.
    #[error("{what} is {seen}, but must be {allowed}")]
    Amount {
        /// Name of the amount.
        what: &'static str,
        /// Value as given.
        seen: u64,
        /// Allowed values.
        allowed: &'static str,
    },
    /// An operation on a file, directory or process failed.
    #[error("cannot {attempt} {path}: {source}")]
    Io {
        /// Attempted operation, as a verb, for the message.
        attempt: &'static str,
        /// Path of the file or directory, or name of the program.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// A server cannot be started, ended by itself, or was not ready in time.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A process of a server crashed. The server may have started a new one.
    #[error("a process of {program} crashed {phase}: {log}")]
    Crashed {
        /// Server program.
        program: Program,
        /// Phase in which it crashed.
        phase: Phase,
        /// Log line that reports the crash.
        log: String,
    },
    /// The caller wanted no more mails.
    #[error("the making of mailboxes was stopped")]
    Stopped,
    /// A call failed.
    #[error("the call \"{ask}\" to port {port} failed: {cause}")]
    Call {
        /// Request text of the call.
        ask: String,
        /// Port of the service.
        port: u16,
        /// Reason of the failure.
        cause: CallError,
    },
}

impl MailServerError {
    /// Returns advice on how to solve the problem, if there is any.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Missing { .. } => Some(
                "on Debian: apt-get install exim4-daemon-light dovecot-imapd dovecot-lmtpd; their \
                 own services need not run",
            ),
            Self::Process(
                ProcessError::NotReady { .. } | ProcessError::Ended { phase: Phase::Start, .. },
            ) => Some(
                "the end of the log gives the reason; the server's user needs access to each \
                 directory above its own",
            ),
            _ => None,
        }
    }
}

/// Returns a function that creates the error of an operation on a path.
pub(crate) fn failed(attempt: &'static str, path: &Path) -> impl Fn(io::Error) -> MailServerError {
    let path = path.to_owned();
    move |source| MailServerError::Io { attempt, path: path.clone(), source }
}
