use std::fmt;
use std::io;

/// Reason why a call has no usable answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The server answered with this error status (RFC 1813, 2.6).
    Status(u32),
    /// The server did not execute the call (RFC 5531, 9); the text is the reason.
    Rejected(&'static str),
    /// The answer is malformed.
    Malformed,
    /// The connection is lost.
    Lost,
}

/// Statuses of NFS 3, with the names that users know (RFC 1813, 2.6).
const STATUSES: [(u32, &str); 15] = [
    (1, "not the owner"),
    (2, "no such file or directory"),
    (5, "input/output error"),
    (13, "permission denied"),
    (17, "file exists"),
    (20, "not a directory"),
    (27, "file too large"),
    (28, "no space left"),
    (30, "read-only file system"),
    (63, "name too long"),
    (66, "directory not empty"),
    (69, "quota exceeded"),
    (70, "stale file handle"),
    (10_004, "not supported"),
    (10_008, "the server asks to wait"),
];

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => {
                let known = STATUSES.iter().find(|(own, _)| own == status);
                write!(f, "{} (status {status})", known.map_or("refused", |(_, text)| text))
            }
            Self::Rejected(why) => f.write_str(why),
            Self::Malformed => f.write_str("its answer cannot be read"),
            Self::Lost => f.write_str("the connection was lost"),
        }
    }
}

/// Reason why a connection was lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The server or this process closed the connection.
    #[error("it was closed")]
    Closed,
    /// The server was silent while an answer was expected.
    #[error("the server did not answer for {seconds} s")]
    Silent {
        /// Length of the silence, in seconds.
        seconds: u64,
    },
    /// The server sent data that is not an answer.
    #[error("the server sent an invalid answer")]
    NoAnswer,
    /// The server sent an answer above the maximum size.
    #[error("the server sent an answer larger than {most} bytes")]
    TooLong {
        /// Maximum size of an answer, in bytes.
        most: usize,
    },
    /// The system returned an error.
    #[error("{attempt} failed: {text}")]
    Io {
        /// Operation that was attempted, as a noun.
        attempt: &'static str,
        /// Text of the system's error. It is a text because several callers get a copy.
        text: String,
    },
}

/// Error of an export or its server.
#[derive(Debug, thiserror::Error)]
pub enum NfsError {
    /// The server's name cannot be resolved.
    #[error("cannot find an address of the NFS server {server}: {source}")]
    Resolve {
        /// Name of the server.
        server: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// A service of the server cannot be reached.
    #[error("cannot connect to {service} of the NFS server {server}: {source}")]
    Connect {
        /// Name of the service.
        service: &'static str,
        /// Address with the port.
        server: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The portmapper does not know a port of the service.
    #[error("the server {server} has no {service} over TCP")]
    NoService {
        /// Name of the service.
        service: &'static str,
        /// Name of the server.
        server: String,
    },
    /// The server refuses the export.
    #[error("the NFS server {server} does not let this computer mount {path}: {trouble}")]
    Mount {
        /// Name of the server.
        server: String,
        /// Path of the export.
        path: String,
        /// Error in the server's answer.
        trouble: Trouble,
    },
    /// A call failed before the export was mounted.
    #[error("the NFS server {server} did not answer {attempt}: {trouble}")]
    Call {
        /// Operation that was attempted, as a noun.
        attempt: &'static str,
        /// Name of the server.
        server: String,
        /// Error in the server's answer.
        trouble: Trouble,
    },
    /// FUSE refused the mount point.
    #[error("cannot show the export at {path}: {source}")]
    Show {
        /// Path of the mount point.
        path: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The connection was lost while the export was in use.
    #[error("the connection to the NFS server {server} was lost: {why}")]
    Lost {
        /// Name of the server.
        server: String,
        /// Reason why the connection was lost.
        why: Lost,
    },
}

impl NfsError {
    /// Returns advice for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Resolve { .. } => Some("write nfs:SERVER:/EXPORT with a name or an address"),
            Self::Connect { service: "the portmapper", .. } => Some(
                "check that an NFS 3 server is running. Without a portmapper, write \
                 nfs:SERVER:/EXPORT,port=2049,mount-port=PORT",
            ),
            Self::NoService { .. } => {
                Some("only NFS 3 over TCP is supported; mount other versions and name dir:PATH")
            }
            // Some servers tell nobody whether a path exists, and answer "permission denied".
            Self::Mount { .. } => Some(
                "showmount -e SERVER lists the paths; the server's settings decide who may mount \
                 them",
            ),
            _ => None,
        }
    }
}

const _: () = assert!(size_of::<NfsError>() <= 128, "errors are returned by value");
