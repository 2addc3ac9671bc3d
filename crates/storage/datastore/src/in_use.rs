//! Checks if the system uses a block device, or an object that shares blocks with it.

use std::path::Path;

use crate::Refusal;
use crate::claim::lasting;
use crate::graph::{Graph, Relative, Role};
use crate::mounts::{self, AllMounts};
use crate::openers::{self, Openers};
use crate::place::DeviceOrFile;
use crate::preflight::Examination;
use crate::sysfs::Device;

/// Checks every rule on use and relatives, and returns the relatives. None of these rules can be
/// overridden.
pub(crate) fn check(device: &Device, path: &Path, examination: &mut Examination) -> Vec<Relative> {
    let graph = Graph::read();
    let relatives = graph.relatives(DeviceOrFile::Device(device.number));
    check_mounts(&relatives, path, examination);
    check_swap(&relatives, path, examination);
    check_holders(&graph, &relatives, path, examination);
    check_openers(&relatives, path, examination);
    check_partitions(device, path, examination);
    warn_of_the_unseen(&graph, &relatives, examination);
    relatives
}

/// Finds the relative with this identity.
pub(crate) fn member(relatives: &[Relative], place: DeviceOrFile) -> Option<&Relative> {
    relatives.iter().find(|relative| relative.place == place)
}

fn check_mounts(relatives: &[Relative], path: &Path, examination: &mut Examination) {
    let rule = ("neither it nor a relative is mounted, in any mount namespace", "none");
    let all = match mounts::all() {
        Ok(all) => all,
        Err(error) => {
            let refusal = Refusal::unreadable("read", "/proc/self/mountinfo", error);
            return examination.check("mounted", rule, refusal.to_string(), Some(refusal));
        }
    };
    if all.unreadable > 0 {
        examination.warn(
            "namespaces-unseen",
            format!(
                "this user may not read the mounts of {} processes; only exclusive use of the \
                 device protects against them",
                all.unreadable
            ),
        );
    }
    let hit = mounted(relatives, &all).map(|(used, mount_point, pid)| Refusal::Mounted {
        device: path.to_owned(),
        used,
        mount_point,
        pid,
    });
    let found = hit.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    examination.check("mounted", rule, found, hit);
}

pub(crate) fn mounted(relatives: &[Relative], all: &AllMounts) -> Option<(String, String, u32)> {
    all.mounts.iter().find_map(|seen| {
        let used = seen.mount.places().into_iter().find_map(|used| member(relatives, used))?;
        Some((used.name.clone(), seen.mount.point.clone(), seen.pid))
    })
}

/// Finds the first relative that is used as swap space.
pub(crate) fn swapped(relatives: &[Relative]) -> std::io::Result<Option<&Relative>> {
    let swaps = mounts::swaps()?;
    Ok(swaps
        .iter()
        .filter_map(|swap| DeviceOrFile::of(swap))
        .find_map(|used| member(relatives, used)))
}

fn check_swap(relatives: &[Relative], path: &Path, examination: &mut Examination) {
    let rule = ("neither it nor a relative is swapped to", "none");
    let (found, refusal) = match swapped(relatives) {
        Ok(None) => ("none".to_owned(), None),
        Ok(Some(used)) => (used.name.clone(), Some(Refusal::Swap { path: path.to_owned() })),
        Err(error) => {
            let refusal = Refusal::unreadable("read", "/proc/swaps", error);
            (refusal.to_string(), Some(refusal))
        }
    };
    examination.check("swap", rule, found, refusal);
}

/// Finds the first device that is built on a relative. Returns the names of the relative and the
/// device.
pub(crate) fn holder(relatives: &[Relative]) -> Option<(String, String)> {
    relatives.iter().find_map(|relative| match &relative.role {
        Role::Upper(used) => Some((used.clone(), relative.name.clone())),
        _ => None,
    })
}

fn check_holders(
    graph: &Graph,
    relatives: &[Relative],
    path: &Path,
    examination: &mut Examination,
) {
    let held = holder(relatives).map(|(used, holder)| {
        let found = format!("{used} is held by {holder}");
        (found, Refusal::Held { device: path.to_owned(), used, holder })
    });
    let unknown = graph.lies_on_unknown(relatives).map(|name| {
        let found = format!("unknown: \"{name}\"");
        (found, Refusal::BackingUnknown { device: path.to_owned(), name: name.to_owned() })
    });
    let (found, refusal) = held.or(unknown).unzip();
    let id = refusal.as_ref().map_or("held", Refusal::id);
    examination.check(
        id,
        ("no dm, md, bcache, zram, multipath or loop device is on top of it or beside it", "none"),
        found.unwrap_or_else(|| "none".to_owned()),
        refusal,
    );
}

/// Finds the processes that have a relative open in a way that forbids writing to it.
fn users(relatives: &[Relative]) -> Openers {
    let places: Vec<DeviceOrFile> = relatives.iter().map(|relative| relative.place).collect();
    let mut openers = openers::of(&places);
    openers.found.retain(|opener| {
        let watched = member(relatives, opener.place).is_some_and(Relative::is_watched_by_others);
        opener.writes || !watched
    });
    openers
}

fn check_openers(relatives: &[Relative], path: &Path, examination: &mut Examination) {
    let mut unreadable = 0;
    let lasting = lasting(|| {
        let mut users = users(relatives);
        unreadable = users.unreadable;
        users.found.pop()
    });
    if unreadable > 0 {
        examination.warn(
            "openers-unseen",
            format!(
                "this user may not list the open files of {unreadable} processes; only exclusive \
                 use of the device protects against them"
            ),
        );
    }
    let refusal = lasting.map(|opener| Refusal::OpenElsewhere {
        device: path.to_owned(),
        used: member(relatives, opener.place).map_or_else(String::new, |used| used.name.clone()),
        process: opener.process,
        writes: opener.writes,
    });
    let found = refusal.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    let rule = ("no other process has it or a relative open", "none");
    examination.check("open-elsewhere", rule, found, refusal);
}

/// Adds warnings for storage that this host cannot inspect.
fn warn_of_the_unseen(graph: &Graph, relatives: &[Relative], examination: &mut Examination) {
    for name in graph.unknown() {
        examination.warn(
            "backing-unseen",
            format!("a loop device is on \"{name}\", which cannot be compared with the target"),
        );
    }
    let far = ["nbd", "rbd", "drbd"];
    let remote = relatives.iter().find(|it| far.iter().any(|kind| it.name.starts_with(kind)));
    if let Some(remote) = remote {
        examination.warn(
            "far-side-unseen",
            format!("{} is on a server; other users of it there are unknown", remote.name),
        );
    }
}

fn check_partitions(device: &Device, path: &Path, examination: &mut Examination) {
    let partitions: Vec<String> =
        device.partitions().into_iter().map(|partition| partition.name).collect();
    let found = if partitions.is_empty() { "none".to_owned() } else { partitions.join(", ") };
    let refusal = (!partitions.is_empty())
        .then(|| Refusal::Partitions { device: path.to_owned(), partitions });
    examination.check("partitions", ("it has no partitions", "none"), found, refusal);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_number::DeviceNumber;
    use crate::mounts::{Mount, SeenMount};
    use crate::sysfs::tests::tree;

    fn relatives(tree: &tempfile::TempDir, name: &str) -> Vec<Relative> {
        let device = Device::at(&tree.path().join("block").join(name)).expect("device");
        let graph = Graph::of(Device::listed(&tree.path().join("block")));
        graph.relatives(DeviceOrFile::Device(device.number))
    }

    /// Checks the stack of LVM, LUKS and multipath, a volume on a volume on a partition, which
    /// cannot be built on every host.
    #[test]
    fn everything_below_a_volume_is_held_and_the_top_is_not() {
        let tree = tree();
        for (name, expected) in [
            ("sda", Some("dm-0")),
            ("sda/sda1", Some("dm-0")),
            ("dm-0", Some("dm-1")),
            ("dm-1", None),
        ] {
            let found = holder(&relatives(&tree, name)).map(|(_, holder)| holder);
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }

    /// Also checks partitions of real devices, if the test host has any.
    #[test]
    fn a_disk_with_partitions_is_refused_and_a_partition_is_not() {
        let tree = tree();
        for (name, refused) in [("sda", true), ("sda/sda1", false)] {
            let device = Device::at(&tree.path().join("block").join(name)).expect("device");
            let mut examination = Examination::new(name, units::Bytes::ZERO);
            check_partitions(&device, Path::new(name), &mut examination);
            let found: Vec<_> = examination.refusals.iter().map(Refusal::id).collect();
            assert_eq!(found, if refused { vec!["partitions"] } else { vec![] }, "{name}");
        }
    }

    #[test]
    fn mounted_partition_makes_its_disk_and_holders_mounted() {
        let tree = tree();
        let mount = Mount {
            id: 1,
            device: DeviceNumber { major: 8, minor: 1 },
            point: "/data".to_owned(),
            options: String::new(),
            fs_type: "ext4".to_owned(),
            source: "none".to_owned(),
            super_options: String::new(),
        };
        let all = AllMounts { mounts: vec![SeenMount { mount, pid: 7 }], unreadable: 0 };
        for name in ["sda", "sda/sda1", "dm-0", "dm-1"] {
            let found = mounted(&relatives(&tree, name), &all);
            assert_eq!(found, Some(("sda1".to_owned(), "/data".to_owned(), 7)), "{name}");
        }
    }
}
