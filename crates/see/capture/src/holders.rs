//! Finds which disks are made of which other disks, from `/sys/block`.
//!
//! Source: kernel `Documentation/ABI/testing/sysfs-block` and
//! `Documentation/ABI/stable/sysfs-block` (`size`, `start`, `partition`); `holders` lists the users
//! of a disk or partition (device mapper, md, bcache).

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Part of a disk that other disks are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldPart {
    /// Range of sectors of 512 bytes: all of the disk, or a partition.
    pub sectors: Range<u64>,
    /// Names of the disks made of this part, directly or through other disks.
    pub above: BTreeSet<String>,
}

/// Returns the parts of a disk that other disks are made of; `name` is the disk's name in
/// `sys_block`.
pub(crate) fn held_parts(sys_block: &Path, name: &str) -> Vec<HeldPart> {
    let disk = sys_block.join(name);
    let whole = (disk.clone(), 0..u64::MAX);
    let partitions = partitions(&disk).into_iter().filter_map(|partition| {
        let sectors = |file| fs::read_to_string(partition.join(file)).ok()?.trim().parse().ok();
        let (start, size): (u64, u64) = (sectors("start")?, sectors("size")?);
        Some((partition, start..start.saturating_add(size)))
    });
    let parts = [whole].into_iter().chain(partitions).map(|(path, sectors)| {
        let mut above = BTreeSet::new();
        add_above(sys_block, &path, &mut above);
        HeldPart { sectors, above }
    });
    let mut parts: Vec<HeldPart> = parts.filter(|part| !part.above.is_empty()).collect();
    parts.sort_by_key(|part| part.sectors.start);
    parts
}

/// Adds the disks made of a disk or partition, directly or through other disks.
fn add_above(sys_block: &Path, held: &Path, above: &mut BTreeSet<String>) {
    for holder in fs::read_dir(held.join("holders")).into_iter().flatten().flatten() {
        let Ok(name) = holder.file_name().into_string() else { continue };
        let disk = sys_block.join(&name);
        // A disk that was already visited is not visited again, so a cycle ends.
        if above.insert(name) {
            add_above(sys_block, &disk, above);
            partitions(&disk).iter().for_each(|own| add_above(sys_block, own, above));
        }
    }
}

fn partitions(disk: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(disk).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.join("partition").exists()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a directory like `/sys/block`: partitions with first sector and length, and their
    /// holders.
    fn sys(partitions: &[(&str, u64, u64)], holders: &[&str]) -> tempfile::TempDir {
        let sys = tempfile::tempdir().expect("a directory");
        for (partition, start, size) in partitions {
            let path = sys.path().join(partition);
            fs::create_dir_all(&path).expect("made");
            for (file, value) in [("partition", 1), ("start", *start), ("size", *size)] {
                fs::write(path.join(file), format!("{value}\n")).expect("written");
            }
        }
        for holder in holders {
            fs::create_dir_all(sys.path().join(holder)).expect("made");
        }
        sys
    }

    fn told(sys: &Path, name: &str) -> Vec<(Range<u64>, String)> {
        let names = |part: HeldPart| part.above.into_iter().collect::<Vec<_>>().join(" ");
        let parts = held_parts(sys, name).into_iter();
        parts.map(|part| (part.sectors.clone(), names(part))).collect()
    }

    #[test]
    fn held_partition_is_told_with_its_sectors() {
        let sys =
            sys(&[("sda/sda1", 2048, 100), ("sda/sda2", 4096, 1000)], &["sda/sda2/holders/dm-0"]);
        assert_eq!(told(sys.path(), "sda"), [(4096..5096, "dm-0".to_owned())]);
        assert_eq!(told(sys.path(), "dm-0"), []);
    }

    #[test]
    fn thin_volumes_are_above_all_that_their_pool_is_made_of() {
        let holders = [
            "sda/sda3/holders/dm-0",
            "sda/sda3/holders/dm-1",
            "dm-0/holders/dm-2",
            "dm-1/holders/dm-2",
            "dm-2/holders/dm-3",
            "dm-2/holders/dm-4",
        ];
        let sys = sys(&[("sda/sda3", 10, 5)], &holders);
        assert_eq!(told(sys.path(), "sda"), [(10..15, "dm-0 dm-1 dm-2 dm-3 dm-4".to_owned())]);
        assert_eq!(told(sys.path(), "dm-1"), [(0..u64::MAX, "dm-2 dm-3 dm-4".to_owned())]);
    }

    #[test]
    fn disk_with_a_partition_in_between_is_below() {
        let sys = sys(
            &[("sda/sda1", 0, 9), ("md0/md0p2", 7, 1)],
            &["sda/sda1/holders/md0", "md0/md0p2/holders/dm-0"],
        );
        assert_eq!(told(sys.path(), "sda"), [(0..9, "dm-0 md0".to_owned())]);
        assert_eq!(told(sys.path(), "md0"), [(7..8, "dm-0".to_owned())]);
    }

    #[test]
    fn circle_of_holders_ends() {
        let sys = sys(&[], &["dm-0/holders/dm-1", "dm-1/holders/dm-0"]);
        assert_eq!(told(sys.path(), "dm-0"), [(0..u64::MAX, "dm-0 dm-1".to_owned())]);
    }
}
