//! Network file systems with disks of VMs. The host's kernel has no block events for them, and
//! other hosts may mount the same one.
//!
//! Source: `proc_pid_mountinfo(5)`, and `nfs(5)`, `mount.cifs(8)`, `mount.ceph(8)` and
//! `mount.glusterfs(8)` for the form of mount sources.

use std::path::Path;

use untrusted::mountinfo::mounts;

/// Kinds of network file systems, each with the prefix of its identities.
const KINDS: [(&str, &str); 6] = [
    ("nfs", "nfs."),
    ("nfs4", "nfs."),
    ("cifs", "cifs."),
    ("smb3", "cifs."),
    ("ceph", "ceph."),
    ("fuse.glusterfs", "glusterfs."),
];
/// Server names that mean a different server on every host.
const OWN: [&str; 5] = ["localhost", "127.", "[::1]", "//localhost", "//127."];

/// Network file system that a file is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NetworkFiles {
    /// Source of the mount. It is the same text on every host that uses the same name for the
    /// server; `None` if the server is this host.
    pub identity: Option<String>,
}

/// Finds the network file system that a file is on, from the mounts that the file's process sees;
/// `None` for any other file system.
pub(crate) fn network_files(mountinfo: &str, file: &Path) -> Option<NetworkFiles> {
    let above = mounts(mountinfo).filter(|own| file.starts_with(&own.point));
    // Of two mounts at one place the later one is seen.
    let mount = above.max_by_key(|own| Path::new(&own.point).components().count())?;
    let (_, begin) = KINDS.into_iter().find(|(kind, _)| *kind == mount.kind)?;
    let source = mount.source.trim_end_matches('/');
    let is_own = OWN.iter().any(|own| source.starts_with(own));
    let identity = (!is_own && !source.is_empty()).then(|| format!("{begin}{source}"));
    Some(NetworkFiles { identity })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
36 1 8:2 / / rw shared:1 - ext4 /dev/sda2 rw
37 36 0:50 / /mnt/pve/nas rw shared:2 - nfs4 nas:/export/vms rw,vers=4.2
38 37 8:17 / /mnt/pve/nas/local rw - ext4 /dev/sdb1 rw
39 36 0:51 / /mnt/own rw - nfs 127.0.0.1:/x rw
40 36 0:52 / /mnt/win\\040dows rw - cifs //files/vms rw
";

    #[test]
    fn file_is_on_the_deepest_mount() {
        let of = |file: &str| network_files(MOUNTS, Path::new(file));
        let identity = |file: &str| of(file).and_then(|own| own.identity);
        let nas = Some("nfs.nas:/export/vms".to_owned());
        assert_eq!(identity("/mnt/pve/nas/images/101/a.qcow2"), nas);
        assert_eq!(identity("/mnt/win dows/a.vhdx").as_deref(), Some("cifs.//files/vms"));
        assert_eq!(of("/mnt/pve/nas/local/a.raw"), None, "the kernel sees its disk");
        assert_eq!(of("/mnt/pve/nasty/a.raw"), None);
        assert_eq!(of("/mnt/own/a.raw"), Some(NetworkFiles { identity: None }), "its own server");
    }
}
