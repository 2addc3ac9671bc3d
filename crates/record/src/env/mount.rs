use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

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
        // Btrfs and overlays have numbers of their own; the mount names the device.
        devices = block::tree_of_path(probe, &file_system.source);
    }
    Storage { path, file_system, devices }
}

/// The mount that holds a path (proc(5), `/proc/pid/mountinfo`): of those with the path's
/// device number the one mounted nearest above it. Btrfs subvolumes have numbers no mount
/// shows, so without any such the nearest mount stands in.
fn find(mounts: &str, number: &str, target: &Path) -> Option<FileSystem> {
    let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
    mounts
        .lines()
        .filter_map(parse)
        .filter(|(_, mount)| target.starts_with(&mount.mount_point))
        .max_by_key(|(found, mount)| (*found == number, mount.mount_point.len()))
        .map(|(_, mount)| mount)
}

/// A line's device number and its mount.
fn parse(line: &str) -> Option<(&str, FileSystem)> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(2);
    let number = before.next()?;
    let (mount_point, options) = (before.nth(1)?, before.next()?);
    let mut after = after.split(' ');
    let (kind, source) = (after.next()?, after.next()?);
    let own_options = after.next().unwrap_or_default();
    let mount = FileSystem {
        kind: kind.to_owned(),
        mount_point: unescape(mount_point),
        source: unescape(source),
        options: format!("{options},{own_options}").trim_end_matches(',').to_owned(),
    };
    Some((number, mount))
}

/// The kernel writes space, tab, newline and backslash as three octal digits.
fn unescape(text: &str) -> String {
    let replaced = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n")];
    let text = replaced.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    text.replace("\\134", "\\")
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
    fn the_mount_nearest_to_the_path_is_found_with_both_kinds_of_options() {
        let mount = find(MOUNTS, "8:1", Path::new("/with space/x")).expect("found");
        assert_eq!(mount.mount_point, "/with space");
        let mount = find(MOUNTS, "8:1", Path::new("/other")).expect("found");
        assert_eq!((mount.kind.as_str(), mount.source.as_str()), ("ext4", "/dev/sda1"));
        assert_eq!(mount.options, "rw,relatime,rw,errors=remount-ro");
        let subvolume = find(MOUNTS, "0:99", Path::new("/with space/x")).expect("found");
        assert_eq!(subvolume.mount_point, "/with space", "the nearest mount stands in");
    }
}
