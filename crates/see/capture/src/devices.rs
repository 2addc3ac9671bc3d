//! Finds the disks to capture.
//!
//! Source: kernel `Documentation/ABI/stable/sysfs-block`, `Documentation/admin-guide/devices`;
//! `proc_pid_mountinfo(5)`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use units::Bytes;

use crate::error::CaptureError;
use crate::holders::{HeldPart, held_parts};
use crate::moved::MovedEnds;

/// Directory in which the kernel lists disks.
const SYS_BLOCK: &str = "/sys/block";

/// Interface through which I/O reaches a disk's driver. It decides which events the disk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Requests of the multi-queue block layer.
    Requests,
    /// Bios as submitted (RAM disks, device mapper, md): there is no queue, so no queue time.
    Bios,
}

/// Whole disk, including its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Name as in `/sys/block`.
    pub name: String,
    /// Interface through which I/O reaches the driver.
    pub reach: Reach,
    /// Size of the disk.
    pub size: Bytes,
    /// Device numbers in the kernel's events: of the disk, then of its partitions.
    pub(crate) devs: Vec<u32>,
    /// Number of hardware queues.
    pub(crate) queues: usize,
    /// Parts of this disk that other disks are made of, sorted.
    pub(crate) held: Vec<HeldPart>,
    /// Completions of the disk's I/O that the kernel reports for another disk or address.
    pub(crate) moved_ends: Option<MovedEnds>,
}

/// Finds the disks under these block devices, files and directories, each once; all disks with a
/// size if no target is named. If one named disk is made of another, all further disks made of that
/// other disk are also included. Otherwise their I/O would be visible only on the lower disk, where
/// it could not be distinguished from I/O of the named disks.
///
/// # Errors
/// If a target does not exist, or is on no disk of this computer (a network file system).
pub fn disks_of(targets: &[PathBuf]) -> Result<Vec<Disk>, CaptureError> {
    let mut names = Vec::new();
    for target in targets {
        // As the kernel names it, where /dev has no devices (a service with a private one).
        let named = target.strip_prefix(SYS_BLOCK).ok().and_then(Path::to_str);
        let is_disk = |name: &&str| !name.contains('/') && disk(name).is_some();
        let named = named.filter(is_disk).map(str::to_owned);
        let name = named.map_or_else(|| disk_under(target), Ok)?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let disks = match targets.is_empty() {
        true => all_disks(),
        false => {
            let mut disks: Vec<Disk> = names.iter().filter_map(|name| disk(name)).collect();
            let more = unnamed_above(&disks);
            disks.extend(more.iter().filter_map(|name| disk(name)));
            disks
        }
    };
    if disks.is_empty() {
        return Err(refused(Path::new(SYS_BLOCK), "there is no disk to watch"));
    }
    Ok(disks)
}

/// Returns every disk with a size.
pub(crate) fn all_disks() -> Vec<Disk> {
    let Ok(entries) = fs::read_dir(SYS_BLOCK) else { return Vec::new() };
    let mut disks: Vec<Disk> = entries
        .flatten()
        .filter_map(|entry| disk(entry.file_name().to_str()?))
        .filter(|disk| disk.size > Bytes::ZERO)
        .collect();
    disks.sort_by(|a, b| a.name.cmp(&b.name));
    disks
}

/// Returns the disks that others in the list are made of (device mapper, md). I/O through an upper
/// disk is also I/O on them.
pub fn disks_below(disks: &[Disk]) -> Vec<&str> {
    let is_below = |disk: &&Disk| disk.held.iter().any(|part| is_above(part, disks));
    disks.iter().filter(is_below).map(|disk| disk.name.as_str()).collect()
}

/// Returns true if any of these disks is made of the part.
fn is_above(part: &HeldPart, disks: &[Disk]) -> bool {
    disks.iter().any(|disk| part.above.contains(&disk.name))
}

/// Returns disks that are not in the list but are made of the same parts as disks in the list.
fn unnamed_above(disks: &[Disk]) -> BTreeSet<String> {
    let parts = disks.iter().flat_map(|disk| &disk.held).filter(|part| is_above(part, disks));
    let above = parts.flat_map(|part| part.above.iter().cloned());
    above.filter(|name| disks.iter().all(|disk| disk.name != *name)).collect()
}

fn disk(name: &str) -> Option<Disk> {
    let path = Path::new(SYS_BLOCK).join(name);
    let sectors: u64 = fs::read_to_string(path.join("size")).ok()?.trim().parse().ok()?;
    let mut devs = vec![dev(&path)?];
    for entry in fs::read_dir(&path).ok()?.flatten() {
        if entry.path().join("partition").exists() {
            devs.extend(dev(&entry.path()));
        }
    }
    let mq = fs::read_dir(path.join("mq")).ok().map(Iterator::count);
    let reach = if mq.is_some() { Reach::Requests } else { Reach::Bios };
    let (size, queues) = (Bytes::new(sectors * 512), mq.unwrap_or(0).max(1));
    let held = held_parts(Path::new(SYS_BLOCK), name);
    let moved_ends = MovedEnds::of(&path, dev);
    Some(Disk { name: name.to_owned(), reach, size, devs, queues, held, moved_ends })
}

/// Reads a device number in the form of events, with 20 bits for the minor number
/// (`include/linux/kdev_t.h`).
fn dev(path: &Path) -> Option<u32> {
    let text = fs::read_to_string(path.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(major.parse::<u32>().ok()?.checked_shl(20)? | minor.parse::<u32>().ok()?)
}

/// Returns the name of the disk under a block device, file or directory.
fn disk_under(target: &Path) -> Result<String, CaptureError> {
    let facts = fs::metadata(target)
        .map_err(|error| refused(target, &format!("cannot be watched: {error}")))?;
    let number = if facts.file_type().is_block_device() { facts.rdev() } else { facts.dev() };
    let number = (rustix::fs::major(number), rustix::fs::minor(number));
    if let Some(name) = disk_of_number(number) {
        return Ok(name);
    }
    // File systems over several devices (btrfs) have a device number of their own.
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    match source_of(&mounts, number) {
        Some(source) if source.starts_with("/dev/") => disk_under(Path::new(&source)),
        Some(source) => {
            Err(refused(target, &format!("is on {source}, which is not a block device")))
        }
        None => Err(refused(target, "is not on a block device of this host")),
    }
}

/// Returns the whole disk of a device number.
fn disk_of_number((major, minor): (u32, u32)) -> Option<String> {
    let path = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let whole = if path.join("partition").exists() { path.parent()? } else { &path };
    Some(whole.file_name()?.to_str()?.to_owned())
}

/// Returns the source of the mount with this device number.
fn source_of(mounts: &str, number: (u32, u32)) -> Option<String> {
    untrusted::mountinfo::mounts(mounts).find(|own| own.device == number).map(|own| own.source)
}

fn refused(target: &Path, reason: &str) -> CaptureError {
    CaptureError::Target { target: target.display().to_string(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_with_the_number_tells_its_source() {
        let line = "36 35 0:31 /root /home rw,noatime shared:1 - btrfs /dev/sda2 rw,subvol=/home";
        assert_eq!(source_of(line, (0, 31)).as_deref(), Some("/dev/sda2"));
        assert_eq!(source_of(line, (0, 32)), None);
    }

    fn disk_with(name: &str, above: &[&str]) -> Disk {
        let above: BTreeSet<String> = above.iter().map(|own| (*own).to_owned()).collect();
        let held = HeldPart { sectors: 0..8, above };
        let held = if held.above.is_empty() { Vec::new() } else { vec![held] };
        let (size, devs) = (Bytes::new(4096), Vec::new());
        let (name, reach) = (name.to_owned(), Reach::Bios);
        Disk { name, reach, size, devs, queues: 1, held, moved_ends: None }
    }

    #[test]
    fn disk_is_below_those_that_are_watched_only() {
        let disks =
            [disk_with("sda", &["dm-0"]), disk_with("sdb", &["md0"]), disk_with("dm-0", &[])];
        assert_eq!(disks_below(&disks), ["sda"]);
        assert_eq!(disks_below(&disks[..2]), [""; 0]);
    }

    #[test]
    fn all_above_a_disk_are_watched_if_one_of_them_is() {
        let sda = disk_with("sda", &["dm-0", "dm-1", "dm-2"]);
        assert!(unnamed_above(std::slice::from_ref(&sda)).is_empty(), "sda is seen alone");
        let found = unnamed_above(&[sda, disk_with("dm-1", &[])]);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["dm-0", "dm-2"]);
    }

    #[test]
    fn disk_is_found_by_its_name_of_the_kernel() {
        let Some(first) = all_disks().into_iter().next() else {
            eprintln!("skipped: this machine has no disk");
            return;
        };
        let found = disks_of(&[Path::new(SYS_BLOCK).join(&first.name)]).expect("found");
        assert_eq!(found, [first]);
        assert!(disks_of(&["/sys/block/../block".into()]).is_err());
    }

    #[test]
    fn what_is_not_on_a_disk_is_refused_by_name() {
        let error = disk_under(Path::new("/proc/self/stat")).expect_err("no disk");
        assert!(error.to_string().starts_with("/proc/self/stat: is on"), "{error}");
        let error = disk_under(Path::new("/nowhere/at/all")).expect_err("not there");
        assert!(error.to_string().contains("cannot be watched"), "{error}");
    }
}
