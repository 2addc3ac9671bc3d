//! Mounts of all visible mount namespaces, and swap areas.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use untrusted::mountinfo::{mounts, unescape};

use crate::device_number::DeviceNumber;
use crate::place::{DeviceOrFile, block_number};

/// Line of `mountinfo` (proc(5), `/proc/pid/mountinfo`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub id: u64,
    pub device: DeviceNumber,
    pub point: String,
    pub options: String,
    pub fs_type: String,
    pub source: String,
    pub super_options: String,
}

/// Mount, and one process that sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenMount {
    pub mount: Mount,
    /// Id of a process in the mount's namespace; 0 stands for this process's own namespace.
    pub pid: u32,
}

/// Mounts of all namespaces that have a process.
#[derive(Debug, Default)]
pub(crate) struct AllMounts {
    pub mounts: Vec<SeenMount>,
    /// Number of processes whose mount table may not be read.
    pub unreadable: usize,
}

/// Returns the mounts of this process's own namespace.
pub(crate) fn own() -> std::io::Result<Vec<Mount>> {
    Ok(parse(&fs::read_to_string("/proc/self/mountinfo")?))
}

/// Returns the mounts of every namespace that has a process. A namespace that is held only by a
/// file is missed; exclusive opening finds its devices.
pub(crate) fn all() -> std::io::Result<AllMounts> {
    let mut found = AllMounts {
        mounts: own()?.into_iter().map(|mount| SeenMount { mount, pid: 0 }).collect(),
        unreadable: 0,
    };
    let mut views: BTreeSet<(PathBuf, PathBuf)> =
        view(Path::new("/proc/self")).into_iter().collect();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if view(&entry.path()).is_some_and(|view| !views.insert(view)) {
            continue;
        }
        match fs::read_to_string(entry.path().join("mountinfo")) {
            Ok(text) => {
                found.mounts.extend(parse(&text).into_iter().map(|mount| SeenMount { mount, pid }));
            }
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                found.unreadable += 1;
            }
            // The process ended, or is a zombie or kernel thread without a namespace.
            Err(_) => {}
        }
    }
    Ok(found)
}

/// Returns the namespace and root directory of a process, which decide the mounts that it sees: a
/// process in a chroot sees only mounts below its root.
fn view(process: &Path) -> Option<(PathBuf, PathBuf)> {
    let namespace = fs::read_link(process.join("ns/mnt")).ok()?;
    Some((namespace, fs::read_link(process.join("root")).ok()?))
}

impl Mount {
    /// Returns every block device that the mount is known to use: its own number, and the devices
    /// that it names as source. The sources are needed because btrfs and bcachefs report an
    /// anonymous number (`0:N`); bcachefs joins its sources with colons.
    pub fn devices(&self) -> Vec<DeviceNumber> {
        let mut devices = vec![self.device];
        for source in self.source.split(':').filter(|source| source.starts_with('/')) {
            devices.extend(block_number(Path::new(source)));
        }
        devices
    }
}

impl Mount {
    /// Returns [`Self::devices`], and the source file if an image is mounted without a loop device.
    pub fn places(&self) -> Vec<DeviceOrFile> {
        let mut places: Vec<DeviceOrFile> =
            self.devices().into_iter().map(DeviceOrFile::Device).collect();
        if self.source.starts_with('/') {
            places.extend(DeviceOrFile::of(Path::new(&self.source)));
        }
        places
    }
}

fn parse(text: &str) -> Vec<Mount> {
    mounts(text).map(Mount::from).collect()
}

impl From<untrusted::mountinfo::Mount<'_>> for Mount {
    fn from(line: untrusted::mountinfo::Mount<'_>) -> Self {
        let (major, minor) = line.device;
        Self {
            id: line.id,
            device: DeviceNumber { major, minor },
            point: line.point,
            options: line.options.to_owned(),
            fs_type: line.kind.to_owned(),
            source: line.source,
            super_options: line.super_options.to_owned(),
        }
    }
}

/// Returns the paths of the active swap areas, as the kernel names them.
pub(crate) fn swaps() -> std::io::Result<Vec<PathBuf>> {
    Ok(parse_swaps(&fs::read_to_string("/proc/swaps")?))
}

/// Parses `/proc/swaps`. A deleted swap file is shown with a suffix that is not part of the path.
fn parse_swaps(text: &str) -> Vec<PathBuf> {
    text.lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .map(|path| PathBuf::from(unescape(path)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn swap_areas_are_read_past_the_heading() {
        let text = "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1 0 -2\n/swap\\040file file 9 0 -3\n";
        assert_eq!(parse_swaps(text), [PathBuf::from("/dev/sda2"), PathBuf::from("/swap file")]);
    }

    #[test]
    fn the_own_namespace_has_a_root() {
        assert!(own().expect("mountinfo").iter().any(|mount| mount.point == "/"));
        assert!(all().expect("mountinfo").mounts.iter().any(|seen| seen.mount.point == "/"));
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parsers(text in ".*") {
            let _ = parse(&text);
            let _ = parse_swaps(&text);
        }
    }
}
