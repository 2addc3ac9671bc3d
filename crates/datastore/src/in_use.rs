//! Whether a block device, or anything it shares blocks with, is used by the system.

use std::path::{Path, PathBuf};

use crate::Refusal;
use crate::device_number::DeviceNumber;
use crate::mounts::{self, AllMounts};
use crate::preflight::Examination;
use crate::sysfs::Device;

/// The devices that share blocks with `device`: itself, its partitions, the disk it is a part
/// of, and everything it is built on. Siblings of a partition share nothing with it.
fn family(device: &Device) -> Vec<Device> {
    let mut family = vec![device.clone()];
    family.extend(device.partitions());
    if device.partition().is_some() {
        family.push(device.whole());
    }
    family.extend(device.all_slaves());
    family
}

/// Checks every rule on use and relatives. There is no override for any of them.
pub(crate) fn check(device: &Device, path: &Path, examination: &mut Examination) {
    let family = family(device);
    check_mounts(&family, path, examination);
    check_swap(&family, path, examination);
    check_holders(device, &family, path, examination);
    check_partitions(device, path, examination);
}

fn member(family: &[Device], number: DeviceNumber) -> Option<&Device> {
    family.iter().find(|device| device.number == number)
}

fn check_mounts(family: &[Device], path: &Path, examination: &mut Examination) {
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
                "the mounts of {} processes may not be read by this user; exclusive use of the \
                 device is what protects against them",
                all.unreadable
            ),
        );
    }
    let hit = mounted(family, &all).map(|(used, mount_point, pid)| Refusal::Mounted {
        device: path.to_owned(),
        used,
        mount_point,
        pid,
    });
    let found = hit.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    examination.check("mounted", rule, found, hit);
}

fn mounted(family: &[Device], all: &AllMounts) -> Option<(String, String, u32)> {
    all.mounts.iter().find_map(|seen| {
        let device = seen.mount.devices().into_iter().find_map(|used| member(family, used))?;
        Some((device.name.clone(), seen.mount.point.clone(), seen.pid))
    })
}

fn check_swap(family: &[Device], path: &Path, examination: &mut Examination) {
    let rule = ("neither it nor a relative is swapped to", "none");
    let (found, refusal) = match mounts::swaps() {
        Ok(swaps) => {
            let used = swaps
                .iter()
                .filter_map(|swap| mounts::block_number(swap))
                .find_map(|number| member(family, number));
            let found = used.map_or_else(|| "none".to_owned(), |device| device.name.clone());
            (found, used.map(|_| Refusal::Swap { path: path.to_owned() }))
        }
        Err(error) => {
            let refusal = Refusal::unreadable("read", "/proc/swaps", error);
            (refusal.to_string(), Some(refusal))
        }
    };
    examination.check("swap", rule, found, refusal);
}

fn check_holders(device: &Device, family: &[Device], path: &Path, examination: &mut Examination) {
    // What a volume is built on has that volume, and perhaps its sisters, as holders.
    let slaves = device.all_slaves();
    let users = family.iter().filter(|used| !slaves.contains(used)).find_map(|used| {
        let holder = used.holders().into_iter().next()?;
        Some((used.name.clone(), holder.name))
    });
    let users = users.or_else(|| {
        Device::all_whole().into_iter().find_map(|holder| {
            let backing = PathBuf::from(holder.backing_file()?);
            let used = member(family, mounts::block_number(&backing)?)?;
            Some((used.name.clone(), holder.name))
        })
    });
    let found = users
        .as_ref()
        .map_or_else(|| "none".to_owned(), |(used, holder)| format!("{used} is held by {holder}"));
    let refusal =
        users.map(|(used, holder)| Refusal::Held { device: path.to_owned(), used, holder });
    examination.check(
        "held",
        ("no dm, md, bcache, multipath or loop device is on top of it", "none"),
        found,
        refusal,
    );
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
    use crate::mounts::{Mount, SeenMount};
    use crate::sysfs::tests::tree;

    fn at(tree: &tempfile::TempDir, name: &str) -> Device {
        Device::at(&tree.path().join("block").join(name)).expect("device")
    }

    /// The stack of LVM, LUKS and multipath, which cannot be built everywhere for real: a
    /// volume on a volume on a partition.
    #[test]
    fn everything_below_a_volume_is_held_and_the_top_is_not() {
        let tree = tree();
        for (name, holder) in [
            ("sda", Some("dm-0")),
            ("sda/sda1", Some("dm-0")),
            ("dm-0", Some("dm-1")),
            ("dm-1", None),
        ] {
            let device = at(&tree, name);
            let mut examination = Examination::new("block:x", units::Bytes::ZERO);
            check_holders(&device, &family(&device), Path::new("x"), &mut examination);
            let found = examination.refusals.first().map(|refusal| match refusal {
                Refusal::Held { holder, .. } => holder.clone(),
                other => other.to_string(),
            });
            assert_eq!(found.as_deref(), holder, "{name}");
        }
    }

    #[test]
    fn a_mounted_partition_makes_its_disk_and_what_is_built_on_it_mounted() {
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
            let found = mounted(&family(&at(&tree, name)), &all);
            assert_eq!(found, Some(("sda1".to_owned(), "/data".to_owned(), 7)), "{name}");
        }
    }
}
