use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use untrusted::mountinfo::{self, Mount};

use super::block;
use super::probe::Probe;
use super::types::{FileSystem, Storage};
use crate::device_number::{device_of, major_minor};

pub(super) fn storage(probe: &Probe, target: &Path) -> Storage {
    let path = target.display().to_string();
    let device = fs::metadata(target).ok().filter(|m| m.file_type().is_block_device());
    if let Some(metadata) = device {
        let devices = block::tree(probe, &major_minor(metadata.rdev()));
        return Storage { path, file_system: None, devices };
    }
    let Some(number) = device_of(target).ok().map(major_minor) else {
        return Storage { path, ..Storage::default() };
    };
    let mounts = probe.text("/proc/self/mountinfo").unwrap_or_default();
    let file_system = find(&mounts, &number, target);
    let mut devices = block::tree(probe, &number);
    if devices.is_empty()
        && let Some(file_system) = &file_system
    {
        // Btrfs and overlay file systems have device numbers of their own, so the device is taken
        // from the mount's source.
        devices = block::tree_of_path(probe, &file_system.source);
    }
    Storage { path, file_system, devices }
}

/// Finds the mount on which a path lies (proc(5), `/proc/pid/mountinfo`): the nearest mount above
/// the path, among the mounts with the path's device number. Numbers of Btrfs subvolumes are in no
/// mount. So if no mount has the number, the nearest mount with any number is used.
fn find(mounts: &str, number: &str, target: &Path) -> Option<FileSystem> {
    let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
    let is_number = |(major, minor): (u32, u32)| format!("{major}:{minor}") == number;
    mountinfo::mounts(mounts)
        .filter(|mount| target.starts_with(&mount.point))
        .max_by_key(|mount| (is_number(mount.device), mount.point.len()))
        .map(described)
}

fn described(mount: Mount<'_>) -> FileSystem {
    let options = format!("{},{}", mount.options, mount.super_options);
    FileSystem {
        kind: mount.kind.to_owned(),
        mount_point: mount.point,
        source: mount.source,
        options: options.trim_end_matches(',').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
30 21 8:1 /a /with\\040space rw,nosuid - ext4 /dev/sda1 rw
31 21 0:25 / /tmp rw - tmpfs tmpfs rw,size=4k
";

    #[test]
    fn nearest_mount_is_found_with_both_kinds_of_options() {
        let mount = find(MOUNTS, "8:1", Path::new("/with space/x")).expect("found");
        assert_eq!(mount.mount_point, "/with space");
        let mount = find(MOUNTS, "8:1", Path::new("/other")).expect("found");
        assert_eq!((mount.kind.as_str(), mount.source.as_str()), ("ext4", "/dev/sda1"));
        assert_eq!(mount.options, "rw,relatime,rw,errors=remount-ro");
        let subvolume = find(MOUNTS, "0:99", Path::new("/with space/x")).expect("found");
        assert_eq!(subvolume.mount_point, "/with space", "the nearest mount stands in");
    }
}
