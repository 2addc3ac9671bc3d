//! Block devices of Linux. Finds devices that count the same I/O as other devices.

use std::collections::BTreeSet;

/// How a device's I/O is counted, given the other devices of its VM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    /// Counted separately.
    Counted,
    /// Not counted: a partition or path of a counted device, or not a disk.
    Below,
    /// Made of other devices (LVM, RAID), none of which is in the list.
    Stacked,
}

/// Devices whose I/O never reaches a disk of the VM: RAM, removable media, and files on other
/// devices.
const NONE: [&str; 5] = ["loop", "ram", "zram", "sr", "fd"];
/// Devices that pass their I/O on to others.
const STACKED: [&str; 5] = ["dm-", "md", "bcache", "drbd", "zd"];

/// Decides how a device is counted, given all devices of its VM.
pub(super) fn layer(device: &str, all: &BTreeSet<String>) -> Layer {
    if is_named(device, &NONE) {
        return Layer::Below;
    }
    let is_below = |parent: Option<String>| parent.is_some_and(|own| all.contains(&own));
    if is_below(disk_of(device)) || is_below(multipath_of(device)) {
        return Layer::Below;
    }
    if !is_named(device, &STACKED) {
        return Layer::Counted;
    }
    let is_disk = |own: &String| !is_named(own, &NONE) && !is_named(own, &STACKED);
    if all.iter().any(is_disk) { Layer::Below } else { Layer::Stacked }
}

/// Returns true if the device has one of these names with a number after it.
fn is_named(device: &str, names: &[&str]) -> bool {
    let has_number = |rest: &str| rest.starts_with(|letter: char| letter.is_ascii_digit());
    names.iter().any(|name| device.strip_prefix(name).is_some_and(has_number))
}

/// Returns the disk of a partition: `vda` of `vda14`, `nvme0n1` of `nvme0n1p1`. The kernel puts a
/// `p` before the number if the disk's name ends in a digit (block/partitions/core.c).
fn disk_of(device: &str) -> Option<String> {
    let disk = device.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if disk.len() == device.len() || disk.is_empty() {
        return None;
    }
    match disk.strip_suffix('p') {
        Some(disk) if disk.ends_with(|letter: char| letter.is_ascii_digit()) => {
            Some(disk.to_owned())
        }
        _ => Some(disk.to_owned()),
    }
}

/// Returns the device of an NVMe multipath path: `nvme0n1` of `nvme0c1n1`.
fn multipath_of(device: &str) -> Option<String> {
    let numbers = device.strip_prefix("nvme")?;
    let (subsystem, rest) = numbers.split_once('c')?;
    let (_, namespace) = rest.split_once('n')?;
    Some(format!("nvme{subsystem}n{namespace}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_belong_to_their_disk() {
        let of = |device: &str, all: &[&str]| {
            layer(device, &all.iter().map(|own| (*own).to_owned()).collect())
        };
        let all = [
            "vda",
            "vda1",
            "vda14",
            "nvme0n1",
            "nvme0n1p1",
            "nvme0c0n1",
            "mmcblk0",
            "mmcblk0p2",
            "dm-0",
            "md127",
        ];
        let counted: Vec<&str> =
            all.into_iter().filter(|device| of(device, &all) == Layer::Counted).collect();
        assert_eq!(counted, ["vda", "nvme0n1", "mmcblk0"]);
        assert_eq!(of("xvda1", &["xvda1", "xvdb"]), Layer::Counted, "Xen has such without a disk");
        assert_eq!(of("sda", &["sda", "sdaa1"]), Layer::Counted);
        assert_eq!(of("dm-0", &["dm-0", "loop0"]), Layer::Stacked);
        assert_eq!(of("loop0", &["loop0"]), Layer::Below);
        assert_eq!(of("sdr", &["sdr"]), Layer::Counted);
        assert_eq!(of("md0p1", &["md0", "md0p1"]), Layer::Below);
        assert_eq!(of("", &[""]), Layer::Counted, "an exporter without devices");
    }
}
