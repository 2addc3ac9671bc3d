use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Reason why a file or device cannot be a disk.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The kernel refused an operation.
    #[error("cannot {what} {path}: {source}", path = path.display())]
    Kernel {
        /// Operation that was attempted.
        what: &'static str,
        /// File or device on which the operation was attempted.
        path: PathBuf,
        /// Error that the kernel returned.
        source: io::Error,
    },
    /// The path is neither a regular file nor a block device.
    #[error(
        "{path} is {kind}; a disk is a regular file or a block device",
        path = path.display()
    )]
    Kind {
        /// Path that was to be a disk.
        path: PathBuf,
        /// Kind of file at the path.
        kind: &'static str,
    },
    /// Another process uses the file or device.
    #[error(
        "{path} is in use by another process",
        path = path.display()
    )]
    InUse {
        /// File or device in use.
        path: PathBuf,
    },
    /// A disk of this size or name cannot be offered.
    #[error("{path}: {source}", path = path.display())]
    Export {
        /// File or device whose size or name is not valid.
        path: PathBuf,
        /// Reason why the export is not valid.
        source: nbd::ExportError,
    },
}

impl OpenError {
    /// Returns a hint on how to solve the problem, if there is one.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Kind { .. } => "name one that exists: nothing is created here".into(),
            Self::InUse { .. } => {
                "end the server or mount that uses it; a killed process holds it \
                                   until its last write is complete"
                    .into()
            }
            Self::Export { source, .. } => return source.hint(),
            Self::Kernel { .. } => return None,
        })
    }
}

/// Reason why a server does not start, or does not change its disks.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The kernel refused an operation.
    #[error("cannot {what}: {source}")]
    Kernel {
        /// Operation that was attempted.
        what: &'static str,
        /// Error that the kernel returned.
        source: io::Error,
    },
    /// A socket cannot be opened.
    #[error("cannot listen on {place}: {source}")]
    Listen {
        /// Address or path of the socket.
        place: String,
        /// Error that the kernel returned.
        source: io::Error,
    },
    /// Another server listens on the path.
    #[error(
        "cannot listen on {path}: a server answers there",
        path = path.display()
    )]
    Taken {
        /// Path of the socket.
        path: PathBuf,
    },
    /// The disk cannot become a block device of this host.
    #[error("cannot offer {disk:?} as {place}: {why}")]
    Device {
        /// Name of the disk.
        disk: String,
        /// Path of the device.
        place: String,
        /// Reason why the device cannot be created or taken over.
        why: String,
        /// Hint on how to solve the problem, if there is one.
        hint: Option<&'static str>,
    },
    /// The path exists and is not a socket.
    #[error(
        "cannot listen on {path}: the path exists and is not a socket",
        path = path.display()
    )]
    NoSocket {
        /// Path that was to be a socket.
        path: PathBuf,
    },
    /// The address can be reached over the network, and TLS is off.
    #[error(
        "cannot listen on {address} without TLS: anybody who can connect could read and write the \
        disks"
    )]
    Clear {
        /// Address without TLS.
        address: SocketAddr,
    },
    /// Two disks have the same name.
    #[error("two disks are called {name:?}")]
    Twice {
        /// Name of both disks.
        name: String,
    },
    /// A listener names a disk that is not served.
    #[error("no disk is called {name:?}, and none can be had over vhost-user or ublk")]
    NoDisk {
        /// Name that no disk has.
        name: String,
    },
    /// No disk of this name is offered, so none can be withdrawn.
    #[error("no disk is called {name:?}")]
    Unknown {
        /// Name that no disk has.
        name: String,
    },
    /// The server has ended, so disks cannot be added or withdrawn.
    #[error("the server ends")]
    Ended,
    /// The certificates or the key cannot be used.
    #[error("certificates cannot be used: {0}")]
    Tls(String),
}

impl StartError {
    /// Returns a hint on how to solve the problem, if there is one.
    pub const fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Taken { .. } => "end that server, or choose another path",
            Self::NoSocket { .. } => "choose another path",
            Self::Clear { .. } => "listen on 127.0.0.1 or a Unix socket, or give certificates",
            Self::Twice { .. } => "give each disk a name of its own",
            Self::NoDisk { .. } => "name a disk that is served",
            Self::Device { hint, .. } => return *hint,
            _ => return None,
        })
    }
}
