//! Storage protocols between a run and its disks: the values of `--over`, and names of existing
//! exports.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Protocol through which the disks of a run are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverProtocol {
    /// NBD: qemu-storage-daemon serves, and the load's own client connects.
    Nbd,
    /// iSCSI: tgt serves, and libiscsi connects. Needs root.
    Iscsi,
    /// NFS 3: ganesha serves, and libnfs connects. Needs root.
    Nfs3,
    /// NFS 4.1: ganesha serves, and the kernel's client mounts. Needs root.
    Nfs4,
    /// NVMe over TCP: target and initiator of the kernel. Needs root.
    NvmeTcp,
}

impl OverProtocol {
    /// All protocols.
    pub const ALL: [Self; 5] = [Self::Nbd, Self::Iscsi, Self::Nfs3, Self::Nfs4, Self::NvmeTcp];

    /// Returns the protocol's name in `--over`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nbd => "nbd",
            Self::Iscsi => "iscsi",
            Self::Nfs3 => "nfs3",
            Self::Nfs4 => "nfs4",
            Self::NvmeTcp => "nvme-tcp",
        }
    }
}

impl fmt::Display for OverProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Protocol that a run sets up, and the link between its server and its initiator. Text form:
/// `PROTOCOL[,mtu=BYTES]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^(nbd|iscsi|nfs3|nfs4|nvme-tcp)(,mtu=[0-9]+)?$"))]
pub struct OverSetting {
    /// Protocol of the disks.
    pub protocol: OverProtocol,
    /// Largest packet on a link between two network namespaces, in bytes; `None` for loopback in
    /// one namespace.
    pub mtu: Option<u32>,
}

impl OverSetting {
    /// Smallest MTU. Every host accepts such packets of IPv4 (RFC 791, section 3.2).
    const MTU_MIN: u32 = 576;
    /// Largest MTU of a veth link of Linux.
    const MTU_MAX: u32 = 65_535;
}

impl FromStr for OverSetting {
    type Err = OverWordError;

    fn from_str(text: &str) -> Result<Self, OverWordError> {
        let (word, mtu) = match text.split_once(",mtu=") {
            Some((word, mtu)) => (word, Some(mtu)),
            None => (text, None),
        };
        let known = OverProtocol::ALL.into_iter().find(|own| own.word() == word);
        let protocol = known.ok_or_else(|| OverWordError::Unknown { text: text.to_owned() })?;
        let in_range = |mtu: &u32| (Self::MTU_MIN..=Self::MTU_MAX).contains(mtu);
        let parsed = mtu.map(|mtu| {
            let own = mtu.parse().ok().filter(in_range);
            own.ok_or_else(|| OverWordError::Mtu { text: mtu.to_owned() })
        });
        Ok(Self { protocol, mtu: parsed.transpose()? })
    }
}

impl fmt::Display for OverSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.protocol.fmt(f)?;
        self.mtu.map_or(Ok(()), |mtu| write!(f, ",mtu={mtu}"))
    }
}

impl TryFrom<String> for OverSetting {
    type Error = OverWordError;

    fn try_from(text: String) -> Result<Self, OverWordError> {
        text.parse()
    }
}

impl From<OverSetting> for String {
    fn from(own: OverSetting) -> Self {
        own.to_string()
    }
}

/// Value of `--over`: a protocol that a run sets up, or an existing export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(
    with = "String",
    extend("pattern" = "^((nbd|iscsi|nfs3|nfs4|nvme-tcp)(,mtu=[0-9]+)?|nfs:.+:/.*)$")
)]
pub enum Over {
    /// A protocol whose server a run starts.
    Protocol(OverSetting),
    /// Export of another server, `nfs:SERVER:/EXPORT`. It is the datastore.
    Export(String),
}

/// Reason why a text is not a value of `--over`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverWordError {
    /// The text is neither a protocol nor an export.
    #[error(
        "\"{text}\" is neither a protocol (nbd, iscsi, nfs3, nfs4 or nvme-tcp) nor an export \
         (nfs:SERVER:/EXPORT)"
    )]
    Unknown {
        /// The text as given.
        text: String,
    },
    /// The size of packets is no number, or no link has it.
    #[error(
        "\"{text}\" is no MTU: it must be {} to {} bytes",
        OverSetting::MTU_MIN,
        OverSetting::MTU_MAX
    )]
    Mtu {
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
    pub const fn protocol(&self) -> Option<OverSetting> {
        match self {
            Self::Protocol(setting) => Some(*setting),
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
        match text.split_once(':') {
            Some(("nfs", _)) => Ok(Self::Export(text.to_owned())),
            Some(("iscsi", _)) => Err(OverWordError::Iscsi { text: text.to_owned() }),
            _ => text.parse().map(Self::Protocol),
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
            Self::Protocol(setting) => setting.fmt(f),
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
        let setting = |protocol, mtu| Ok(Some(OverSetting { protocol, mtu }));
        assert_eq!(read("nbd").map(|own| own.protocol()), setting(OverProtocol::Nbd, None));
        let jumbo = read("iscsi,mtu=9000");
        assert_eq!(jumbo.as_ref().map(Over::to_string).as_deref(), Ok("iscsi,mtu=9000"));
        assert_eq!(jumbo.map(|own| own.protocol()), setting(OverProtocol::Iscsi, Some(9000)));
        for wrong in ["nbd,mtu=", "nbd,mtu=575", "nbd,mtu=65536", "nbd,mtu=9k"] {
            assert!(matches!(read(wrong), Err(OverWordError::Mtu { .. })), "{wrong}");
        }
        let export = read("nfs:filer:/vol/a").expect("an export");
        assert_eq!((export.export(), export.protocol()), (Some("nfs:filer:/vol/a"), None));
        assert_eq!(export.to_string(), "nfs:filer:/vol/a");
        let iscsi = read("iscsi://filer/iqn.2026-11.x/1").expect_err("not supported");
        assert!(iscsi.to_string().contains("iscsiadm"), "{iscsi}");
        assert_eq!(
            read("nvme-tcp").map(|own| own.protocol()),
            setting(OverProtocol::NvmeTcp, None)
        );
        for wrong in ["", "nfs", "nfs2", "nvme", "nfs2,mtu=1500", "nbd,mss=1500", "smb:filer:/x"] {
            assert!(matches!(read(wrong), Err(OverWordError::Unknown { .. })), "{wrong}");
        }
    }
}
