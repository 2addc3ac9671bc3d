use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use block_server::StartError;
use nbd::client::ClientError;
use nbd::{ExportError, UriError};
use serde::{Deserialize, Serialize};
use tier::{AttachError, GeometryError, OpenError};

/// Error of creating or opening a set.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// A system call failed.
    #[error("could not {what} {}: {source}", path.display())]
    Kernel {
        /// Operation that was attempted, as a verb.
        what: &'static str,
        /// Path of the file or device.
        path: PathBuf,
        /// Error that the system returned.
        source: io::Error,
    },
    /// The path of a new set is in use.
    #[error("{} exists already; a set needs a new file", path.display())]
    There {
        /// Path of the new set.
        path: PathBuf,
    },
    /// The size cannot be divided into the parts of a set.
    #[error("a set in {} cannot be made: {source}", path.display())]
    Geometry {
        /// Path of the cache.
        path: PathBuf,
        /// Reason why the size cannot be divided.
        source: GeometryError,
    },
    /// The state machine refused to open the set (a cache and its disks).
    #[error("the cache {} cannot be opened: {source}", path.display())]
    Open {
        /// Path of the cache.
        path: PathBuf,
        /// Reason why the set was refused.
        source: OpenError,
    },
    /// The state machine refused one of the disks.
    #[error("disk \"{name}\" cannot be served from the cache {}: {source}", path.display())]
    Disk {
        /// Name of the disk.
        name: String,
        /// Path of the cache.
        path: PathBuf,
        /// Reason why the disk is refused.
        source: Box<AttachError>,
    },
    /// A file cannot be locked, or a device cannot be opened exclusively.
    #[error(transparent)]
    Held(#[from] block_server::OpenError),
    /// The file or device is in use under another name.
    #[error(transparent)]
    Used(#[from] datastore::Refusal),
    /// The requested memory exceeds the memory of the host.
    #[error("{bytes} B of memory are more than the {has} B that this host can give")]
    MuchMemory {
        /// Requested memory, in bytes.
        bytes: u64,
        /// Memory of the host, in bytes.
        has: u64,
    },
    /// The requested memory is too small to be useful.
    #[error("{bytes} B of memory are too few: the minimum is {least} B, or 0 for no memory")]
    LittleMemory {
        /// Requested memory, in bytes.
        bytes: u64,
        /// Minimum useful memory, in bytes.
        least: u64,
    },
    /// The front end cannot offer a disk.
    #[error("disk \"{name}\" cannot be offered: {source}")]
    Export {
        /// Name of the disk.
        name: String,
        /// Reason why the disk cannot be offered.
        source: ExportError,
    },
    /// The directory for copies contains other files.
    #[error("{} has files that are not copies of logs", path.display())]
    HoldsOther {
        /// Path of the directory.
        path: PathBuf,
    },
    /// Two disks have the same name.
    #[error("disk \"{name}\" is named twice")]
    Twice {
        /// Name of both disks.
        name: String,
    },
    /// There are more disks than a set can have.
    #[error("{disks} disks are more than the {most} that the cache has room for")]
    Many {
        /// Number of requested disks.
        disks: usize,
        /// Maximum number of disks in a set.
        most: usize,
    },
    /// The file at the path of a sidecar is not a sidecar.
    #[error("{} exists, but is not a sidecar of a tier; it is left as it is", path.display())]
    Sidecar {
        /// Path of the file.
        path: PathBuf,
    },
    /// A fence file in a directory of copies contains no generation number.
    #[error(
        "{} has no generation number, so it is unknown which copies of the disk are \
        outdated", path.display()
    )]
    Fence {
        /// Path of the fence file.
        path: PathBuf,
    },
    /// The host has no machine ID, from which the key for reservations is derived.
    #[error("this host has no name, from which its key for reservations is made")]
    NoHost,
    /// The device cannot be reserved.
    #[error("{} cannot be reserved: {source}", path.display())]
    Reserve {
        /// Path of the device.
        path: PathBuf,
        /// Error of the reservation command.
        source: block_server::ReservationError,
    },
    /// Another host holds the device's reservation.
    #[error("{} is reserved by another host", path.display())]
    ReservedElsewhere {
        /// Path of the device.
        path: PathBuf,
    },
    /// The reservation is held by a host other than the owner.
    #[error("{} is reserved by a host that its sidecar does not name, or that has the same /etc/machine-id as this one", path.display())]
    ReservedByOther {
        /// Path of the device.
        path: PathBuf,
    },
    /// Another program uses the device's reservations.
    #[error("this host is registered at {} with a key that is not Tilemark's", path.display())]
    OtherKey {
        /// Path of the device.
        path: PathBuf,
    },
    /// The take-over was to preempt the owner's reservation, but the owner has none.
    #[error("the owner of \"{name}\" holds no reservation of {}, so taking a reservation is no \
        proof that it is fenced", path.display())]
    NotReserved {
        /// Name of the disk.
        name: String,
        /// Path of the device.
        path: PathBuf,
    },
    /// A backing device needs an explicit path for its sidecar, because files in `/dev` are lost at
    /// a reboot.
    #[error("{} is a device, so its sidecar needs a place", path.display())]
    NoSidecar {
        /// Path of the device.
        path: PathBuf,
    },
    /// The name of a disk contains characters that are not allowed, or has a wrong length.
    #[error(
        "\"{name}\" is not a valid disk name; names are 1 to 64 letters, digits, dots, hyphens and \
        underscores, no dot first"
    )]
    Name {
        /// Name of the disk.
        name: String,
    },
}

impl SetError {
    /// Returns advice on how to continue, if there is any.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::There { .. } => "name another file, or remove this file if its content is not \
                needed".into(),
            Self::Open { source, .. } => return source.hint(),
            Self::Disk { source, .. } => return source.hint(),
            Self::Held(error) => return error.hint(),
            Self::Export { source, .. } => return source.hint(),
            Self::Used(refusal) => return refusal.hint().map(Into::into),
            Self::HoldsOther { .. } => "name a new or an empty directory".into(),
            Self::Many { .. } => "serve fewer disks, or make a larger cache (`tilemark tier \
                init`)".into(),
            Self::Sidecar { .. } => "move it away, or name another place with --sidecar".into(),
            Self::Fence { .. } => "restore the newest one; without it a host that was fenced could \
                use its copy again".into(),
            Self::NoHost => "`systemd-machine-id-setup` makes /etc/machine-id".into(),
            Self::Reserve { .. } => "it needs root and a whole device with persistent reservations of SCSI-3 or NVMe. Else serve the disk without --reserve, and take it over by --fence-proof agent:COMMAND".into(),
            Self::ReservedElsewhere { path } => format!("release it there (`tilemark tier \
                detach`), or take the disk over: `tilemark tier takeover NAME={} --fence-proof \
                pr`", path.display()).into(),
            Self::ReservedByOther { .. } => "find the holder with `sg_persist --in -k` or `nvme \
                resv-report`, and release the reservation there".into(),
            Self::OtherKey { .. } => "end the program here that uses its reservations, such as a \
                cluster's fencing, and remove its key".into(),
            Self::NotReserved { .. } => "--fence-proof agent:COMMAND or --i-fenced HOST, and serve it with --reserve from then on".into(),
            Self::NoSidecar { .. } => "--sidecar DIR, on a file system that survives a \
                restart".into(),
            _ => return None,
        })
    }
}

/// Error of a served set in the form that is sent over the control socket: text and hint
/// separately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
#[serde(from = "Written")]
pub struct Refusal {
    /// Text of the error.
    pub text: String,
    /// Advice on how to continue, if there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Cow<'static, str>>,
}

impl Refusal {
    /// Creates a refusal with a text and a hint.
    pub(crate) fn with_hint(text: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), hint: Some(hint.into()) }
    }

    /// Creates a refusal from an error that has no hint.
    pub fn new(error: impl ToString) -> Self {
        Self { text: error.to_string(), hint: None }
    }

    /// Puts a prefix before the text.
    pub(crate) fn within(self, what: impl std::fmt::Display) -> Self {
        Self { text: format!("{what}: {}", self.text), ..self }
    }
}

impl From<&str> for Refusal {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// Implements the conversion of errors with a hint into a [`Refusal`], so that no conversion loses
/// the hint.
macro_rules! refusal_from {
    ($($error:ty),+) => {
        $(impl From<$error> for $crate::Refusal {
            fn from(error: $error) -> Self {
                Self { text: error.to_string(), hint: error.hint().map(Into::into) }
            }
        })+
    };
}

pub(crate) use refusal_from;

refusal_from!(SetError, StartError, ExportError, AttachError, OpenError, UriError);

/// Converts a connection's error, with the hint of its NBD client if the client refused.
impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        let client = error.get_ref().and_then(|inner| inner.downcast_ref::<ClientError>());
        let hint = client.and_then(ClientError::hint).map(Into::into);
        Self { text: error.to_string(), hint }
    }
}

/// Error in the form that a server writes to the control socket. Servers of earlier versions wrote
/// one text with the hint in it. Such a server may still run while the command is newer.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Parts { text: String, hint: Option<Cow<'static, str>> },
}

impl From<Written> for Refusal {
    fn from(written: Written) -> Self {
        match written {
            Written::Text(text) => Self { text, hint: None },
            Written::Parts { text, hint } => Self { text, hint },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_older_servers_are_read() {
        let read = |json| serde_json::from_str::<Refusal>(json).expect("a refusal");
        assert_eq!(read(r#""no disk is called x""#), Refusal::new("no disk is called x"));
        let refusal = Refusal::with_hint("too many", "detach a disk");
        assert_eq!(read(r#"{"text":"too many","hint":"detach a disk"}"#), refusal);
        assert_eq!(read(r#"{"text":"too many"}"#), Refusal::new("too many"));
    }
    #[test]
    fn hints_of_a_refused_connection_and_a_wrong_address_are_kept() {
        let old = || ClientError::TooOld("oldstyle handshake", "names of exports");
        let refusal = Refusal::from(io::Error::other(old()));
        assert_eq!((refusal.text, refusal.hint.as_deref()), (old().to_string(), old().hint()));
        let wrong = "vm1".parse::<nbd::Uri>().expect_err("no address");
        assert_eq!(Refusal::from(wrong.clone()).hint.as_deref(), wrong.hint());
    }
}
