use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a file or device cannot be a disk.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The kernel says no.
    #[error("cannot {what} {path}: {source}", path = path.display())]
    Kernel {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is neither.
    #[error(
        "{path} is {kind}; a disk is a regular file or a block device",
        path = path.display()
    )]
    Kind {
        /// What it was to be made of.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// Somebody has it.
    #[error(
        "{path} is in use by another process",
        path = path.display()
    )]
    InUse {
        /// What is in use.
        path: PathBuf,
    },
    /// It has a size or name that cannot be offered.
    #[error("{path}: {source}", path = path.display())]
    Export {
        /// What was to be offered.
        path: PathBuf,
        /// Why it cannot.
        source: nbd::ExportError,
    },
}

impl OpenError {
    /// Way out, if there is one.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::Kind { .. } => "name one that exists: nothing is created here".into(),
            Self::InUse { .. } => "end the server or mount that has it; one that was killed holds it until its last write \
                                   has landed"
                .into(),
            Self::Export { source, .. } => return source.hint(),
            Self::Kernel { .. } => return None,
        })
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The kernel says no.
    #[error("cannot {what}: {source}")]
    Kernel {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A socket cannot be had.
    #[error("cannot listen on {place}: {source}")]
    Listen {
        /// Where.
        place: String,
        /// Why not.
        source: io::Error,
    },
    /// Another server is there.
    #[error(
        "cannot listen on {path}: a server answers there",
        path = path.display()
    )]
    Taken {
        /// Where.
        path: PathBuf,
    },
    /// This host cannot have a disk as a block device.
    #[error("cannot offer {disk:?} as {place}: {why}")]
    Device {
        /// Which disk.
        disk: String,
        /// The device.
        place: String,
        /// Why not.
        why: String,
        /// Way out, if there is one.
        hint: Option<&'static str>,
    },
    /// The path is not a socket.
    #[error(
        "cannot listen on {path}: something that is no socket is there",
        path = path.display()
    )]
    NoSocket {
        /// Where.
        path: PathBuf,
    },
    /// Open to the network, and in the clear.
    #[error(
        "cannot listen on {address} without TLS: anybody who reaches it could read and write the disks"
    )]
    Clear {
        /// Where.
        address: SocketAddr,
    },
    /// Two disks of one name.
    #[error("two disks are called {name:?}")]
    Twice {
        /// The name.
        name: String,
    },
    /// A machine is to get a disk that is not served.
    #[error("no disk is called {name:?}, and none can be had over vhost-user or ublk")]
    NoDisk {
        /// The name.
        name: String,
    },
    /// There is none to be withdrawn.
    #[error("no disk is called {name:?}")]
    Unknown {
        /// The name.
        name: String,
    },
    /// It takes no disks any more, and gives none back.
    #[error("the server ends")]
    Ended,
    /// Certificates cannot be used.
    #[error("certificates cannot be used: {0}")]
    Tls(String),
}

impl StartError {
    /// Way out, if there is one.
    pub const fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Taken { .. } => "end it, or choose another path",
            Self::NoSocket { .. } => "choose another path",
            Self::Clear { .. } => "listen on 127.0.0.1 or a Unix socket, or give certificates",
            Self::Twice { .. } => "give each a name of its own",
            Self::NoDisk { .. } => "name one that is served",
            Self::Device { hint, .. } => return *hint,
            _ => return None,
        })
    }
}
