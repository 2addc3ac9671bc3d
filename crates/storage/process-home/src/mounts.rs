//! FUSE and NFS mounts inside a private directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::mount::UnmountFlags;

/// Detaches every FUSE or NFS mount inside the directory.
pub(crate) fn unmount_inside(directory: &Path) {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    own_mounts(&table, directory).iter().for_each(|point| unmount(point));
}

/// Detaches a FUSE or NFS mount without waiting for it, because its server may be gone.
pub fn unmount(point: &Path) {
    // A link could be put in the place of the mount point, so none is followed.
    let flags = UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
    if rustix::mount::unmount(point, flags).is_err() {
        // Users without privileges detach their FUSE mounts by this program (fuse(8)).
        let mut command = Command::new("fusermount3");
        command.args(["-u", "-z", "-q", "--"]).arg(point);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = quiet.status();
    }
}

/// Returns the FUSE and NFS mount points inside a directory, parsed from `/proc/self/mountinfo` (proc(5)).
/// The fifth field is the mount point, and the type follows the separator `-`. The directory's name
/// has no character that the kernel would escape.
fn own_mounts(table: &str, directory: &Path) -> Vec<PathBuf> {
    let of_line = |line: &str| {
        let (mount, file_system) = line.split_once(" - ")?;
        let kind = file_system.split(' ').next()?;
        let point = Path::new(mount.split(' ').nth(4)?);
        let is_inside = point.starts_with(directory) && point != directory;
        let is_known = matches!(kind, "fuse" | "nfs4") || kind.starts_with("fuse.");
        (is_inside && is_known).then(|| point.to_owned())
    };
    table.lines().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fuse_and_nfs_mounts_in_the_directory_are_found() {
        let table = "\
            27 1 8:1 / / rw - ext4 /dev/sda rw\n\
            64 27 0:40 / /tmp/tilemark-x-1/disk-0 rw,nosuid shared:1 - fuse /dev/fuse rw\n\
            65 27 0:41 / /tmp/tilemark-x-1/other rw - tmpfs tmpfs rw\n\
            66 27 0:42 / /tmp/tilemark-x-12/disk-0 rw - fuse /dev/fuse rw\n\
            68 27 0:44 / /tmp/tilemark-x-1/export rw,nosuid shared:1 - nfs4 10.9.9.1:/disks rw\n\
            67 27 0:43 / /tmp/tilemark-x-1 rw - fuse.lab /dev/fuse rw\n";
        let found = own_mounts(table, Path::new("/tmp/tilemark-x-1"));
        assert_eq!(
            found,
            ["disk-0", "export"].map(|name| Path::new("/tmp/tilemark-x-1").join(name))
        );
    }
}
