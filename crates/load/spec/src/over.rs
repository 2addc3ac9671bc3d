//! Storage protocols between a run and its disks: the values of `--over`, and names of existing
//! exports.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Protocol through which the disks of a run are reached.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum OverProtocol {
    /// NBD: qemu-storage-daemon serves, and the load's own client connects.
    Nbd,
    /// iSCSI: tgt serves, and libiscsi connects. Needs root.
    Iscsi,
    /// NFS 3: ganesha serves, and libnfs connects. Needs root.
    Nfs3,
}

impl OverProtocol {
    /// All protocols.
    pub const ALL: [Self; 3] = [Self::Nbd, Self::Iscsi, Self::Nfs3];

    /// Returns the protocol's name in `--over`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nbd => "nbd",
            Self::Iscsi => "iscsi",
            Self::Nfs3 => "nfs3",
        }
    }
}

impl fmt::Display for OverProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Value of `--over`: a protocol that a run sets up, or an existing export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^(nbd|iscsi|nfs3|nfs:.+:/.*)$"))]
pub enum Over {
    /// A protocol whose server a run starts.
    Protocol(OverProtocol),
    /// Export of another server, `nfs:SERVER:/EXPORT`. It is the datastore.
    Export(String),
}

/// Reason why a text is not a value of `--over`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverWordError {
    /// The text is neither a protocol nor an export.
    #[error(
        "\"{text}\" is neither a protocol (nbd, iscsi or nfs3) nor an export (nfs:SERVER:/EXPORT)"
    )]
    Unknown {
        /// The text as given.
        text: String,
    },
    /// The text names a unit of an existing iSCSI target.
    #[error(
        "\"{text}\" names an existing iSCSI unit, but Tilemark does not log in to it: log in with \
         iscsiadm, and name its device as block:/dev/disk/by-id/NAME"
    )]
    Iscsi {
        /// The text as given.
        text: String,
    },
}

impl Over {
    /// Returns the protocol that a run sets up, if the value is a protocol.
    pub const fn protocol(&self) -> Option<OverProtocol> {
        match self {
            Self::Protocol(protocol) => Some(*protocol),
            Self::Export(_) => None,
        }
    }

    /// Returns the name of the export, if the value is an export.
    pub fn export(&self) -> Option<&str> {
        match self {
            Self::Protocol(_) => None,
            Self::Export(name) => Some(name),
        }
    }
}

impl FromStr for Over {
    type Err = OverWordError;

    fn from_str(text: &str) -> Result<Self, OverWordError> {
        if let Some(protocol) = OverProtocol::ALL.into_iter().find(|own| own.word() == text) {
            return Ok(Self::Protocol(protocol));
        }
        let text = text.to_owned();
        match text.split_once(':') {
            Some(("nfs", _)) => Ok(Self::Export(text)),
            Some(("iscsi", _)) => Err(OverWordError::Iscsi { text }),
            _ => Err(OverWordError::Unknown { text }),
        }
    }
}

impl TryFrom<String> for Over {
    type Error = OverWordError;

    fn try_from(text: String) -> Result<Self, OverWordError> {
        text.parse()
    }
}

impl From<Over> for String {
    fn from(over: Over) -> Self {
        over.to_string()
    }
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(protocol) => protocol.fmt(f),
            Self::Export(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_exports_and_what_is_neither_are_told_apart() {
        let read = |text: &str| text.parse::<Over>();
        assert_eq!(read("nbd").map(|own| own.protocol()), Ok(Some(OverProtocol::Nbd)));
        let export = read("nfs:filer:/vol/a").expect("an export");
        assert_eq!((export.export(), export.protocol()), (Some("nfs:filer:/vol/a"), None));
        assert_eq!(export.to_string(), "nfs:filer:/vol/a");
        let iscsi = read("iscsi://filer/iqn.2026-11.x/1").expect_err("not supported");
        assert!(iscsi.to_string().contains("iscsiadm"), "{iscsi}");
        for wrong in ["", "nfs", "nfs4", "smb:filer:/x"] {
            assert!(matches!(read(wrong), Err(OverWordError::Unknown { .. })), "{wrong}");
        }
    }
}
