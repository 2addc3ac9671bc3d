use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use block_server::StartError;
use nbd::client::ClientError;
use nbd::{ExportError, UriError};
use serde::{Deserialize, Serialize};
use tier::{AttachError, GeometryError, OpenError};

/// Why a set is not made or opened.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// The kernel refused.
    #[error("could not {what} {}: {source}", path.display())]
    Kernel {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something is there.
    #[error("{} is there already; a set is made in a new file", path.display())]
    There {
        /// What.
        path: PathBuf,
    },
    /// It cannot be divided so.
    #[error("a set in {} cannot be made: {source}", path.display())]
    Geometry {
        /// Where.
        path: PathBuf,
        /// Why.
        source: GeometryError,
    },
    /// The set is not opened.
    #[error("the cache {} is not opened: {source}", path.display())]
    Open {
        /// Where.
        path: PathBuf,
        /// Why.
        source: OpenError,
    },
    /// One of its disks is not served.
    #[error("disk \"{name}\" is not served from the cache {}: {source}", path.display())]
    Disk {
        /// The disk.
        name: String,
        /// Where the cache is.
        path: PathBuf,
        /// Why.
        source: Box<AttachError>,
    },
    /// A file cannot be held.
    #[error(transparent)]
    Held(#[from] block_server::OpenError),
    /// Somebody uses it by another name.
    #[error(transparent)]
    Used(#[from] datastore::Refusal),
    /// More memory than there is.
    #[error("{bytes} B of memory are more than the {has} B that this machine can give")]
    MuchMemory {
        /// How much was asked for.
        bytes: u64,
        /// How much there is.
        has: u64,
    },
    /// Less than is of any use.
    #[error("{bytes} B of memory are too few to be of use: {least} B are the least, and 0 is none")]
    LittleMemory {
        /// How much was asked for.
        bytes: u64,
        /// How much it has to be.
        least: u64,
    },
    /// A disk cannot be offered.
    #[error("disk \"{name}\" cannot be offered: {source}")]
    Export {
        /// Its name.
        name: String,
        /// Why.
        source: ExportError,
    },
    /// A directory for copies has other things.
    #[error("{} has files that are no copies of logs", path.display())]
    HoldsOther {
        /// Which.
        path: PathBuf,
    },
    /// Two disks are one.
    #[error("disk \"{name}\" is named twice")]
    Twice {
        /// Its name.
        name: String,
    },
    /// Too many.
    #[error("{disks} disks are more than the {most} that the cache has room for")]
    Many {
        /// How many were asked for.
        disks: usize,
        /// How many there may be.
        most: usize,
    },
    /// A sidecar's name on what is none.
    #[error("{} is there and is no sidecar of a tier; it is left as it is", path.display())]
    Sidecar {
        /// Which.
        path: PathBuf,
    },
    /// What says which generations of a held log are over.
    #[error(
        "{} has no generation number, and says which copies of the disk are over", path.display()
    )]
    Fence {
        /// Which file.
        path: PathBuf,
    },
    /// A key for reservations is made of a machine's name.
    #[error("this machine has no name, of which its key for reservations is made")]
    NoHost,
    /// It cannot be reserved.
    #[error("{} cannot be reserved: {source}", path.display())]
    Reserve {
        /// Which device.
        path: PathBuf,
        /// Why not.
        source: block_server::ReservationError,
    },
    /// Another host may write to it.
    #[error("{} is reserved by another host", path.display())]
    ReservedElsewhere {
        /// Which device.
        path: PathBuf,
    },
    /// A host may write to it that is not the owner.
    #[error("{} is reserved by a host that its sidecar does not name, or that has the same /etc/machine-id as this one", path.display())]
    ReservedByOther {
        /// Which device.
        path: PathBuf,
    },
    /// Something else uses its reservations.
    #[error("{} knows this host by a key that is not Tilemark's", path.display())]
    OtherKey {
        /// Which device.
        path: PathBuf,
    },
    /// Its owner holds no reservation that could be taken away.
    #[error("the owner of \"{name}\" holds no reservation of {}, so taking one proves nothing", path.display())]
    NotReserved {
        /// The disk.
        name: String,
        /// Its device.
        path: PathBuf,
    },
    /// A device has nothing beside it that lasts.
    #[error("{} is a device, and needs a place for its sidecar", path.display())]
    NoSidecar {
        /// Which.
        path: PathBuf,
    },
    /// A name that none has.
    #[error(
        "disk \"{name}\" has a name that none can have; names are 1 to 64 letters, digits, dots, hyphens and underscores, no dot first"
    )]
    Name {
        /// Which.
        name: String,
    },
}

impl SetError {
    /// Way out, if there is one.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            Self::There { .. } => "name another file, or remove this one if nothing of it is needed".into(),
            Self::Open { source, .. } => return source.hint(),
            Self::Disk { source, .. } => return source.hint(),
            Self::Held(error) => return error.hint(),
            Self::Export { source, .. } => return source.hint(),
            Self::Used(refusal) => return refusal.hint().map(Into::into),
            Self::HoldsOther { .. } => "name a directory that is not there yet, or is empty".into(),
            Self::Many { .. } => "serve fewer, or make a larger cache (`tilemark tier init`)".into(),
            Self::Sidecar { .. } => "move it away, or name another place with --sidecar".into(),
            Self::Fence { .. } => "put the newest one back; without it a host that was fenced could use its copy again".into(),
            Self::NoHost => "`systemd-machine-id-setup` makes /etc/machine-id".into(),
            Self::Reserve { .. } => "a whole device that does persistent reservations of SCSI-3 or NVMe is needed, and root; without one, serve it without --reserve and take it over by --fence-proof agent:COMMAND".into(),
            Self::ReservedElsewhere { path } => format!("have it let go there (`tilemark tier detach`), or take the disk over: `tilemark tier takeover NAME={} --fence-proof pr`", path.display()).into(),
            Self::ReservedByOther { .. } => "see who it is with `sg_persist --in -k` or `nvme resv-report`, and have it let go there".into(),
            Self::OtherKey { .. } => "end what uses reservations of it here, as a cluster's fencing does, and take its key away".into(),
            Self::NotReserved { .. } => "--fence-proof agent:COMMAND or --i-fenced HOST, and serve it with --reserve from then on".into(),
            Self::NoSidecar { .. } => "--sidecar DIR, on a file system that stays".into(),
            _ => return None,
        })
    }
}

/// Error of a served set as it crosses the control socket: its text, and the way out apart from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
#[serde(from = "Written")]
pub struct Refusal {
    /// The error in words.
    pub text: String,
    /// Way out, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Cow<'static, str>>,
}

impl Refusal {
    /// Refuses with words and a way out.
    pub(crate) fn with_hint(text: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), hint: Some(hint.into()) }
    }

    /// Takes the text of an error that has no way out.
    pub fn new(error: impl ToString) -> Self {
        Self { text: error.to_string(), hint: None }
    }

    /// Puts words before the text.
    pub(crate) fn within(self, what: impl std::fmt::Display) -> Self {
        Self { text: format!("{what}: {}", self.text), ..self }
    }
}

impl From<&str> for Refusal {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// The text and the hint of an error, so that no conversion forgets the hint.
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

/// Of a connection, with the hint of its client if that one refused.
impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        let client = error.get_ref().and_then(|inner| inner.downcast_ref::<ClientError>());
        let hint = client.and_then(ClientError::hint).map(Into::into);
        Self { text: error.to_string(), hint }
    }
}

/// Error as a server writes it to the control socket. A server that was started before hints were
/// apart from texts writes one text with both; it may run on while the command is a newer one.
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
        let refusal = Refusal::with_hint("too many", "detach one");
        assert_eq!(read(r#"{"text":"too many","hint":"detach one"}"#), refusal);
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
