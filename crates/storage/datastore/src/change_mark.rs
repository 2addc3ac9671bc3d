//! Marks that reveal a later write to a file or device by any program.
//!
//! The marks of a file are its size, its inode and the times of the last write and of the last
//! change; no program can set the latter back. The kernel's own change counter
//! (`STATX_CHANGE_COOKIE`) is not exported to programs. The marks of a device are the boot of the
//! host, the disk sequence number and the sectors that were written and discarded
//! (`/sys/block/*/stat`, Documentation/ABI/stable/sysfs-block), for this device and all devices
//! below it.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, SystemTime};

use rustix::fs::{FileType, fstat, fstatfs};

use crate::backing;
use crate::device_number::DeviceNumber;
use crate::owner::boot_id;
use crate::place::DeviceOrFile;
use crate::storage_identity::{BTRFS, EXT, ZFS};
use crate::sysfs::Device;

/// Twice the longest tick of the clock that file systems use for times (10 ms at 100 Hz). Two
/// writes within one tick get the same time.
const TICK: Duration = Duration::from_millis(20);
const DEPTH_MAX: usize = 8;

/// File systems that only this host writes to and that record changes by the nanosecond
/// (include/uapi/linux/magic.h): ext4, XFS, btrfs, ZFS, F2FS, bcachefs, tmpfs, and overlayfs, which
/// uses the times of the file below.
const LOCAL: [u64; 8] =
    [EXT, 0x5846_5342, BTRFS, ZFS, 0xf2f5_2010, 0xca45_1a4e, 0x0102_1994, 0x794c_7630];

/// Marks of a file or device at one moment. As long as they are equal, no program has written to
/// the file or device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeMark {
    /// Marks of the file or device itself.
    pub own: String,
    /// Marks of the devices below a device, which may be written without a change of this device's
    /// own marks.
    pub below: String,
    /// Time of the last change of a file, in nanoseconds since 1970; 0 for a device.
    pub changed_ns: i128,
}

/// Reads the marks of an open file or block device. `None` if a later write could remain
/// undetected: on file systems and devices that other hosts may write to, with coarse times, and if
/// the last change is less than a tick of the clock ago. `is_reserved` is true if a reservation
/// keeps other hosts from writing to the device.
///
/// # Errors
///
/// The errors of the kernel. Data in the page cache of a device is not counted yet. Flush it first,
/// unless a late detection of the write does no harm.
pub fn change_mark(file: impl AsFd, is_reserved: bool) -> io::Result<Option<ChangeMark>> {
    let found = fstat(&file)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::BlockDevice {
        return of_file(file);
    }
    let device = Device::find(DeviceNumber::from_packed(found.st_rdev));
    let mark = device.and_then(|device| {
        let below = of_stack(&device, is_reserved, DEPTH_MAX)?;
        Some(ChangeMark { own: written(&device)?, below, changed_ns: 0 })
    });
    Ok(mark)
}

fn of_file(file: impl AsFd) -> io::Result<Option<ChangeMark>> {
    let kind = u64::try_from(fstatfs(&file)?.f_type).unwrap_or(0);
    if !LOCAL.contains(&kind) {
        return Ok(None);
    }
    let found = fstat(&file)?;
    let ns = |seconds: i64, ns: u64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
    let changed_ns = ns(found.st_ctime, found.st_ctime_nsec);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = i128::try_from(now.as_nanos()).unwrap_or(0);
    let tick = i128::try_from(TICK.as_nanos()).unwrap_or(0);
    // ext4 with inodes of 128 bytes counts in seconds.
    if found.st_ctime_nsec == 0 || now - changed_ns <= tick {
        return Ok(None);
    }
    let own = format!(
        "{} {} {} {changed_ns}",
        found.st_size,
        found.st_ino,
        ns(found.st_mtime, found.st_mtime_nsec)
    );
    Ok(Some(ChangeMark { own, below: String::new(), changed_ns }))
}

/// Returns the sectors written and discarded so far, with the identity of the device in this boot
/// of the host.
fn written(device: &Device) -> Option<String> {
    // A RAM disk of the module brd counts nothing, and a queue may be told not to.
    if device.name.starts_with("ram") || device.whole().number_of("queue/iostats") == Some(0) {
        return None;
    }
    let text = device.attribute("stat")?;
    let fields: Vec<&str> = text.split_whitespace().collect();
    let (written, discarded) = (fields.get(6)?, fields.get(13).copied().unwrap_or("0"));
    Some(format!("{} {} {written} {discarded}", boot_id(), device.sequence()?))
}

/// Returns the marks of all devices below a device. `None` if other hosts may write there.
fn of_stack(device: &Device, is_reserved: bool, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let whole = device.whole();
    let mut marks = written(&whole)?;
    match backing::below(&whole) {
        Some(Ok(DeviceOrFile::Device(number))) => {
            marks += &format!("; {}", of_stack(&Device::find(number)?, false, depth)?);
        }
        Some(Ok(DeviceOrFile::File(_))) => {
            let file = File::open(backing::verified_path(&whole)?).ok()?;
            marks += &format!("; {}", of_file(&file).ok()??.own);
        }
        Some(Err(_)) => return None,
        None => {
            let slaves = whole.slaves();
            if slaves.is_empty() && !is_reserved && !whole.is_this_hosts_own() {
                return None;
            }
            for slave in slaves {
                marks += &format!("; {}", of_stack(&slave, is_reserved, depth)?);
            }
        }
    }
    Some(marks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tests::tree;
    use std::fs;

    fn mark(path: &std::path::Path) -> Option<ChangeMark> {
        let file = File::open(path).expect("open");
        // Waits until the last change is older than a tick.
        (0..500).find_map(|_| {
            change_mark(&file, false).expect("it can be asked").or_else(|| {
                std::thread::sleep(Duration::from_millis(2));
                None
            })
        })
    }

    #[test]
    fn write_is_seen_although_its_time_was_put_back() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let path = directory.path().join("disk");
        fs::write(&path, "first").expect("written");
        let Some(before) = mark(&path) else {
            eprintln!("skipped: the file system of {} notes no changes", path.display());
            return;
        };
        assert_eq!(mark(&path), Some(before.clone()));
        let modified = fs::metadata(&path).and_then(|found| found.modified()).expect("a time");
        let file = File::options().write(true).open(&path).expect("open");
        io::Write::write_all(&mut &file, b"other").expect("written");
        file.set_modified(modified).expect("put back");
        let after = mark(&path).expect("marks");
        assert_ne!(after, before);
        assert!(after.changed_ns > before.changed_ns);
    }

    #[test]
    fn device_of_other_hosts_has_marks_only_if_reserved() {
        let tree = tree();
        let dir = tree.path().join("block/sda");
        fs::write(dir.join("stat"), "1 0 8 0 2 0 16 0 0 0 0 3 0 24 0 0 0\n").expect("stat");
        fs::write(dir.join("diskseq"), "9\n").expect("diskseq");
        let sda = Device::at(&dir).expect("device");
        assert!(written(&sda).expect("counts").ends_with(" 9 16 24"));
        assert_eq!(of_stack(&sda, false, 8), None);
        assert!(of_stack(&sda, true, 8).is_some());
    }
}
