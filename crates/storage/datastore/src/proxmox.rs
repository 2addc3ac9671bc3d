//! Storages of Proxmox VE by their own names: `pve:local` is the directory of the storage `local`.
//!
//! Source: Proxmox VE Administration Guide, "Storage Configuration": /etc/pve/storage.cfg has
//! sections `TYPE: NAME` with indented properties, a key and a value in each line.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Word before the colon of a Proxmox VE target.
pub(crate) const WORD: &str = "pve";
const CONFIG: &str = "/etc/pve/storage.cfg";
/// Storage types that have a directory. The flag is true if Proxmox mounts the directory at
/// `/mnt/pve/NAME` by itself.
const WITH_DIRECTORY: [(&str, bool); 6] = [
    ("dir", false),
    ("btrfs", false),
    ("nfs", true),
    ("cifs", true),
    ("cephfs", true),
    ("glusterfs", true),
];

/// Reason why a storage of Proxmox VE cannot be used as a datastore.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProxmoxError {
    /// The list of storages cannot be read.
    #[error("the storages of Proxmox VE cannot be read: {CONFIG}: {reason}")]
    Config {
        /// Text of the system's error.
        reason: String,
        /// True if the file does not exist.
        is_absent: bool,
    },
    /// No storage has this name.
    #[error("Proxmox VE has no storage \"{name}\"; it has {}", known.join(", "))]
    Unknown {
        /// Name of the storage as given.
        name: String,
        /// Names of all storages.
        known: Vec<String>,
    },
    /// The storage is disabled.
    #[error("the Proxmox VE storage \"{name}\" is disabled")]
    Disabled {
        /// Name of the storage.
        name: String,
    },
    /// The storage has no directory.
    #[error("the Proxmox VE storage \"{name}\" has no directory: it is of the type {kind}")]
    NoDirectory {
        /// Name of the storage.
        name: String,
        /// Type of the storage as in storage.cfg.
        kind: String,
        /// Commands that create a directory on the storage.
        way: String,
    },
}

impl ProxmoxError {
    /// Returns advice for the user.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Config { is_absent: true, .. } => {
                "pve:NAME works only on a node of Proxmox VE; elsewhere write dir:PATH".to_owned()
            }
            Self::Config { .. } => "read it as root, or write dir:PATH".to_owned(),
            Self::Unknown { .. } => "`pvesm status` lists them".to_owned(),
            Self::Disabled { name } => format!("pvesm set {name} --disable 0"),
            Self::NoDirectory { way, .. } => way.clone(),
        }
    }
}

/// Returns the directory of a storage of this node.
pub(crate) fn directory(name: &str) -> Result<PathBuf, ProxmoxError> {
    let config = fs::read_to_string(CONFIG).map_err(|error| ProxmoxError::Config {
        reason: error.to_string(),
        is_absent: error.kind() == ErrorKind::NotFound,
    })?;
    directory_in(&config, name)
}

fn directory_in(config: &str, name: &str) -> Result<PathBuf, ProxmoxError> {
    let storages = storages(config);
    let Some(storage) = storages.iter().find(|storage| storage.name == name) else {
        let known = storages.iter().map(|storage| storage.name.to_owned()).collect();
        return Err(ProxmoxError::Unknown { name: name.to_owned(), known });
    };
    // A switch without a value is on.
    if storage.value("disable").is_some_and(|value| !matches!(value, "0" | "no" | "false")) {
        return Err(ProxmoxError::Disabled { name: name.to_owned() });
    }
    let no_directory = || ProxmoxError::NoDirectory {
        name: name.to_owned(),
        kind: storage.kind.to_owned(),
        way: storage.way(),
    };
    let known = WITH_DIRECTORY.iter().find(|(kind, _)| *kind == storage.kind);
    let (_, is_mounted_by_name) = known.ok_or_else(no_directory)?;
    match storage.value("path") {
        Some(path) if Path::new(path).is_absolute() => Ok(PathBuf::from(path)),
        None if *is_mounted_by_name => Ok(Path::new("/mnt/pve").join(name)),
        _ => Err(no_directory()),
    }
}

/// Section of storage.cfg.
struct Storage<'a> {
    kind: &'a str,
    name: &'a str,
    properties: Vec<(&'a str, &'a str)>,
}

impl Storage<'_> {
    fn value(&self, key: &str) -> Option<&str> {
        self.properties.iter().find(|(have, _)| *have == key).map(|(_, value)| *value)
    }

    /// Returns the commands that create a directory on a storage without one.
    fn way(&self) -> String {
        let or = |key: &str, absent: &'static str| self.value(key).unwrap_or(absent).to_owned();
        let mounted = |device: &str| {
            format!(
                "mkfs.xfs {device} && mount --mkdir {device} /mnt/tilemark; then dir:/mnt/tilemark"
            )
        };
        match self.kind {
            "lvmthin" => {
                let (group, pool) = (or("vgname", "VG"), or("thinpool", "POOL"));
                let device = mounted(&format!("/dev/{group}/tilemark"));
                format!("lvcreate -V 100G -T {group}/{pool} -n tilemark && {device}")
            }
            "lvm" => {
                let group = or("vgname", "VG");
                let device = mounted(&format!("/dev/{group}/tilemark"));
                format!("lvcreate -L 100G -n tilemark {group} && {device}")
            }
            "zfspool" => {
                let pool = or("pool", "POOL");
                format!(
                    "zfs create -o mountpoint=/mnt/tilemark {pool}/tilemark; then dir:/mnt/tilemark"
                )
            }
            "rbd" => {
                let pool = or("pool", "rbd");
                let device = mounted(&format!("/dev/rbd/{pool}/tilemark"));
                format!(
                    "rbd create --size 100G {pool}/tilemark && rbd map {pool}/tilemark && {device}"
                )
            }
            _ => "measure inside a virtual machine that has a disk on this storage".to_owned(),
        }
    }
}

fn storages(config: &str) -> Vec<Storage<'_>> {
    let mut storages: Vec<Storage<'_>> = Vec::new();
    for line in config.lines() {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            let (key, value) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
            if let Some(storage) = storages.last_mut() {
                storage.properties.push((key, value.trim()));
            }
        } else if let Some((kind, name)) = text.split_once(':') {
            let (kind, name) = (kind.trim(), name.trim());
            storages.push(Storage { kind, name, properties: Vec::new() });
        }
    }
    storages
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE_UP: &str = "\
# made up
dir: local
\tpath /var/lib/vz
\tcontent iso,vztmpl,backup

lvmthin: local-lvm
\tthinpool data
\tvgname pve
\tcontent rootdir,images

nfs: filer
\texport /vol/vms
\tpath /mnt/pve/filer
\tserver 192.0.2.10

cifs: share
        server 192.0.2.11
        share vms

zfspool: tank
\tpool rpool/data
\tsparse

rbd: ceph
\tpool vms

iscsi: san
\tportal 192.0.2.12

dir: old
\tdisable
\tpath /mnt/old
dir: off-no-more
\tdisable 0
\tpath /mnt/with a blank
";

    #[test]
    fn storage_with_a_directory_gives_its_path() {
        for (name, path) in [
            ("local", "/var/lib/vz"),
            ("filer", "/mnt/pve/filer"),
            ("share", "/mnt/pve/share"),
            ("off-no-more", "/mnt/with a blank"),
        ] {
            assert_eq!(directory_in(MADE_UP, name), Ok(PathBuf::from(path)), "{name}");
        }
    }

    #[test]
    fn storage_without_a_directory_says_how_to_make_one() {
        for (name, kind, command) in [
            ("local-lvm", "lvmthin", "lvcreate -V 100G -T pve/data -n tilemark"),
            ("tank", "zfspool", "zfs create -o mountpoint=/mnt/tilemark rpool/data/tilemark"),
            ("ceph", "rbd", "rbd map vms/tilemark"),
            ("san", "iscsi", "inside a virtual machine"),
        ] {
            let error = directory_in(MADE_UP, name).expect_err(name);
            assert!(error.to_string().ends_with(&format!("of the type {kind}")), "{error}");
            assert!(error.hint().contains(command), "{name}: {}", error.hint());
        }
    }

    #[test]
    fn unknown_and_disabled_storages_are_refused() {
        let error = directory_in(MADE_UP, "locale").expect_err("unknown");
        assert!(error.to_string().contains("it has local, local-lvm, filer"), "{error}");
        let error = directory_in(MADE_UP, "old").expect_err("disabled");
        assert_eq!(error, ProxmoxError::Disabled { name: "old".to_owned() });
        assert_eq!(error.hint(), "pvesm set old --disable 0");
        assert!(directory_in("", "local").is_err());
    }
}
