use std::io;
use std::path::PathBuf;

use mail_server::MailServerError;
use process_home::{AccountError, HomeError, Phase, ProcessError};
use units::Bytes;
use web_site::SiteError;

/// Failure of a real application.
#[derive(Debug, thiserror::Error)]
pub enum ApplicationError {
    /// A program is not installed.
    #[error("{program} was not found (searched {looked})")]
    Missing {
        /// Name of the program.
        program: &'static str,
        /// Places that were searched.
        looked: String,
        /// Package that has the program.
        package: &'static str,
    },
    /// A program has a version whose settings this crate does not know.
    #[error("{program} has version \"{version}\", but supported are {known}")]
    Version {
        /// Path of the program.
        program: String,
        /// Version as the program prints it.
        version: String,
        /// Known versions.
        known: &'static str,
    },
    /// There is no unprivileged user for the servers.
    #[error("servers do not run as root, but there is no other user for them")]
    NoUser {
        /// Reason why the user cannot be used.
        #[source]
        source: AccountError,
    },
    /// The run was to stop while data was made.
    #[error("the run was stopped while the data of its servers was made")]
    Stopped,
    /// A program of the mail server is missing or of an unknown version.
    #[error(transparent)]
    MailPrograms(Box<MailServerError>),
    /// A mail server failed.
    #[error("{name}, {phase}: {source}")]
    Server {
        /// Name of the application.
        name: String,
        /// Phase in which it failed.
        phase: Phase,
        /// Failure of the server.
        source: Box<MailServerError>,
    },
    /// Files of a web site cannot be made.
    #[error("{name}, {phase}: {source}")]
    Site {
        /// Name of the application.
        name: String,
        /// Phase in which it failed.
        phase: Phase,
        /// Failure of the site.
        source: Box<SiteError>,
    },
    /// The servers' user cannot run this program, which serves the web site.
    #[error("the servers' user \"{user}\" cannot run {}, which serves the web site", path.display())]
    NoProgram {
        /// Name of the user.
        user: String,
        /// Executable file of this program.
        path: PathBuf,
    },
    /// The private directory for settings and sockets cannot be made.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The servers' user cannot enter a directory.
    #[error("the servers' user \"{user}\" cannot enter and write {}", path.display())]
    NoEntry {
        /// Name of the user.
        user: String,
        /// Directory of the applications.
        path: PathBuf,
    },
    /// The host has no memory control groups.
    #[error(
        "this host has no memory control groups. The page cache of the whole host would answer the \
         reads of the servers, and the storage would see none of them"
    )]
    NoMemoryGroups,
    /// A memory control group cannot be made.
    #[error("limiting the memory of a server with {}", path.display())]
    MemoryGroup {
        /// Directory of the group.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// An operation on a file or process of an application failed.
    #[error("{name}, {phase}: {what}")]
    Io {
        /// Name of the application.
        name: String,
        /// Phase in which it failed.
        phase: Phase,
        /// Action that failed, with its object, for the message.
        what: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The kernel killed a process of an application because its memory limit was reached.
    #[error("{name}, {phase}: its memory of {memory} was full, so the kernel killed a process")]
    OutOfMemory {
        /// Name of the application.
        name: String,
        /// Phase in which the process was killed.
        phase: Phase,
        /// Memory limit of the application.
        memory: Bytes,
    },
    /// A server answers no calls, although its processes neither run nor wait for storage.
    #[error(
        "{name}: {server} hangs {phase}: it answered no call for {seconds} s, and none of its \
         processes ran or waited for the storage"
    )]
    Hangs {
        /// Name of the application.
        name: String,
        /// Name and version of the server.
        server: String,
        /// Phase in which it hangs.
        phase: Phase,
        /// Time without an answer.
        seconds: u64,
    },
    /// A server cannot be started, or it or a program that creates its data ended.
    #[error("{name}: {source}")]
    Process {
        /// Name of the application.
        name: String,
        /// Error of the server or program.
        #[source]
        source: ProcessError,
    },
}

impl ApplicationError {
    /// Returns advice on what to do, if there is any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { package, .. } => Some(format!(
                "install the package {package}, or name your own service with --endpoint"
            )),
            Self::Version { .. } => Some("name your own service with --endpoint".to_owned()),
            Self::MailPrograms(error) => error
                .hint()
                .map(|hint| format!("{hint}; or name your own services with --endpoint")),
            Self::Server { source, .. } => source.hint().map(str::to_owned),
            Self::Site { source, .. } => source.hint().map(str::to_owned),
            Self::NoProgram { .. } => {
                Some("copy the program to a directory that all users can enter".to_owned())
            }
            Self::NoUser { .. } => {
                Some("run as a user other than root, or by sudo as such a user".to_owned())
            }
            Self::NoEntry { user, .. } => Some(format!(
                "let \"{user}\" enter all directories above (chmod o+x), or use a datastore elsewhere"
            )),
            Self::NoMemoryGroups | Self::MemoryGroup { .. } => {
                Some("run as root, or name your own service with --endpoint".to_owned())
            }
            Self::Process { source, .. } if source.log().contains("No space left") => {
                Some("use a smaller --footprint, or a datastore with more room".to_owned())
            }
            Self::OutOfMemory { .. } => Some(
                "requests wait in memory while the storage is slow: use fewer tiles, or a larger \
                 --footprint (the memory grows by a tenth of it)"
                    .to_owned(),
            ),
            Self::Stopped
            | Self::Io { .. }
            | Self::Process { .. }
            | Self::Hangs { .. }
            | Self::Home(_) => None,
        }
    }
}
