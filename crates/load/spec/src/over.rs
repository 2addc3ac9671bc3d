//! Storage protocols below a run's disks: the words of `--over`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Protocol through which the disks of a run are reached.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum OverProtocol {
    /// NBD: qemu-storage-daemon serves, the load's own client connects.
    Nbd,
    /// iSCSI: tgt serves, libiscsi connects. For root only.
    Iscsi,
    /// NFS 3: ganesha serves, libnfs connects. For root only.
    Nfs3,
}

impl OverProtocol {
    /// All protocols.
    pub const ALL: [Self; 3] = [Self::Nbd, Self::Iscsi, Self::Nfs3];

    /// Word of the protocol.
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
