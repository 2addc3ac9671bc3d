//! Finds the disks to capture.
//!
//! Source: kernel `Documentation/ABI/stable/sysfs-block`, `Documentation/admin-guide/devices`;
//! `proc_pid_mountinfo(5)`.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use units::Bytes;

use crate::error::CaptureError;

/// Way of I/O to a disk's driver, which decides the events that the disk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Requests of the multi-queue block layer.
    Requests,
    /// Bios as sent (RAM disks, device mapper, md): no queue, so no time in one.
    Bios,
}

/// Whole disk, including its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// Name as in `/sys/block`.
    pub name: String,
    /// Way of I/O to the driver.
    pub reach: Reach,
    /// Size of the disk.
    pub size: Bytes,
    /// Device numbers as in the kernel's events: of the disk, then of its partitions.
    pub(crate) devs: Vec<u32>,
    /// Hardware queues.
    pub(crate) queues: usize,
}

/// Disks under these block devices, files and directories, each once; all disks with a size if none
/// is named.
///
/// # Errors
/// If a target does not exist, or is on no disk of this computer (a network file system).
pub fn disks_of(targets: &[PathBuf]) -> Result<Vec<Disk>, CaptureError> {
    let mut names = Vec::new();
    for target in targets {
        // As the kernel names it, where /dev has no devices (a service with a private one).
        let named = target.strip_prefix("/sys/block").ok().and_then(Path::to_str);
        let is_disk = |name: &&str| !name.contains('/') && disk(name).is_some();
        let named = named.filter(is_disk).map(str::to_owned);
        let name = named.map_or_else(|| disk_under(target), Ok)?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if targets.is_empty() {
        names = all_disks().into_iter().map(|disk| disk.name).collect();
    }
    let disks: Vec<Disk> = names.iter().filter_map(|name| disk(name)).collect();
    if disks.is_empty() {
        return Err(refused(Path::new("/sys/block"), "no disk is there to be watched"));
    }
    Ok(disks)
}

/// Every disk with a size.
pub(crate) fn all_disks() -> Vec<Disk> {
    let Ok(entries) = fs::read_dir("/sys/block") else { return Vec::new() };
    let mut disks: Vec<Disk> = entries
        .flatten()
        .filter_map(|entry| disk(entry.file_name().to_str()?))
        .filter(|disk| disk.size > Bytes::ZERO)
        .collect();
    disks.sort_by(|a, b| a.name.cmp(&b.name));
    disks
}

/// Disks that others of these are made of (device mapper, md): an I/O through
/// a disk above is one of them, too.
pub fn disks_below(disks: &[Disk]) -> Vec<&str> {
    below(Path::new("/sys/block"), disks.iter().map(|disk| disk.name.as_str()))
}

fn below<'a>(sys_block: &Path, names: impl Iterator<Item = &'a str> + Clone) -> Vec<&'a str> {
    // The kernel lists what a disk is made of, which may be a partition.
    let parts =
        |name: &str| fs::read_dir(sys_block.join(name).join("slaves")).into_iter().flatten();
    let all = names.clone().flat_map(parts).flatten();
    let made_of: Vec<_> = all.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let is_below = |name: &&str| {
        let disk = sys_block.join(name);
        made_of.iter().any(|part| part == name || disk.join(part).join("partition").exists())
    };
    names.filter(is_below).collect()
}

fn disk(name: &str) -> Option<Disk> {
    let path = Path::new("/sys/block").join(name);
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
    Some(Disk { name: name.to_owned(), reach, size, devs, queues })
}

/// Device number as in events: 20 bits for the minor one (`include/linux/kdev_t.h`).
fn dev(path: &Path) -> Option<u32> {
    let text = fs::read_to_string(path.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(major.parse::<u32>().ok()?.checked_shl(20)? | minor.parse::<u32>().ok()?)
}

/// Name of the disk that holds a block device, file or directory.
fn disk_under(target: &Path) -> Result<String, CaptureError> {
    let facts = fs::metadata(target)
        .map_err(|error| refused(target, &format!("cannot be seen: {error}")))?;
    let number = if facts.file_type().is_block_device() { facts.rdev() } else { facts.dev() };
    let number = (rustix::fs::major(number), rustix::fs::minor(number));
    if let Some(name) = disk_of_number(number) {
        return Ok(name);
    }
    // File systems over several devices (btrfs) have a device number of their own.
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    match source_of(&mounts, number) {
        Some(source) if source.starts_with("/dev/") => disk_under(Path::new(&source)),
        Some(source) => Err(refused(target, &format!("is on {source}, which is no block device"))),
        None => Err(refused(target, "is on no block device of this machine")),
    }
}

/// Whole disk of a device number.
fn disk_of_number((major, minor): (u32, u32)) -> Option<String> {
    let path = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let whole = if path.join("partition").exists() { path.parent()? } else { &path };
    Some(whole.file_name()?.to_str()?.to_owned())
}

/// Source of the mount with this device number.
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

    #[test]
    fn disk_is_below_another_also_by_a_partition() {
        let sys = tempfile::tempdir().expect("a directory");
        for directory in ["sda/sda3", "sdb", "sdc", "dm-0/slaves/sda3", "md0/slaves/sdb"] {
            fs::create_dir_all(sys.path().join(directory)).expect("made");
        }
        fs::write(sys.path().join("sda/sda3/partition"), "3").expect("written");
        let of = |names: &'static [&'static str]| below(sys.path(), names.iter().copied());
        assert_eq!(of(&["dm-0", "md0", "sda", "sdb", "sdc"]), ["sda", "sdb"]);
        assert_eq!(of(&["sda", "sdb", "sdc"]), [""; 0], "nothing above is among them");
    }

    #[test]
    fn disk_is_found_by_its_name_of_the_kernel() {
        let Some(first) = all_disks().into_iter().next() else {
            eprintln!("skipped: this machine has no disk");
            return;
        };
        let found = disks_of(&[Path::new("/sys/block").join(&first.name)]).expect("found");
        assert_eq!(found, [first]);
        assert!(disks_of(&["/sys/block/../block".into()]).is_err());
    }

    #[test]
    fn what_is_not_on_a_disk_is_refused_by_name() {
        let error = disk_under(Path::new("/proc/self/stat")).expect_err("no disk");
        assert!(error.to_string().starts_with("/proc/self/stat: is on"), "{error}");
        let error = disk_under(Path::new("/nowhere/at/all")).expect_err("not there");
        assert!(error.to_string().contains("cannot be seen"), "{error}");
    }
}
