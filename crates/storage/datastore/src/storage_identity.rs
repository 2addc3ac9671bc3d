//! Identity of the storage behind an open file or device, which stays the same when kernel names
//! change.
//!
//! A device is named by its own properties (world wide name, serial number, the UUID of a
//! device-mapper volume), a partition by its disk and its start, a loop device by its file. A file
//! is named by its file system, inode and time of birth, because the inode number alone is reused
//! as soon as the file is removed. Other devices are named by their disk sequence number and the
//! boot of the host; that name is not lasting.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, StatxFlags, fstat, fstatfs, fstatvfs, statx};

use crate::backing;
use crate::device_number::DeviceNumber;
use crate::kernel::fs_uuid;
use crate::mounts;
use crate::owner::boot_id;
use crate::place::DeviceOrFile;
use crate::sysfs::Device;

/// Maximum depth of loop devices over files on loop devices.
const DEPTH_MAX: usize = 8;

/// Identity of the storage behind a file or device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageIdentity {
    /// Name as text without spaces, such as `wwid:eui.0025388b710116a1-part2`.
    pub name: String,
    /// True if the storage keeps this name when the host is restarted.
    pub is_lasting: bool,
}

impl StorageIdentity {
    fn lasting(name: &str) -> Self {
        let name = name.split_whitespace().collect::<Vec<_>>().join("_");
        Self { name, is_lasting: true }
    }

    fn below(self, kind: &str, place: &str) -> Self {
        Self { name: format!("{kind}{}{place}", self.name), ..self }
    }
}

/// Returns the identity of the storage behind an open file or block device.
///
/// # Errors
///
/// The error of the kernel if the file's attributes cannot be read.
pub fn storage_identity(file: impl AsFd) -> io::Result<StorageIdentity> {
    identity(file, DEPTH_MAX)
}

fn identity(file: impl AsFd, depth: usize) -> io::Result<StorageIdentity> {
    let found = fstat(&file)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::BlockDevice {
        return of_file(file, DeviceNumber::from_packed(found.st_dev), found.st_ino, depth);
    }
    let number = DeviceNumber::from_packed(found.st_rdev);
    Ok(Device::find(number)
        .map_or_else(|| in_this_boot(number), |device| of_device(&device, depth)))
}

/// Returns a name that is valid until the host is restarted.
fn in_this_boot(number: DeviceNumber) -> StorageIdentity {
    StorageIdentity { name: format!("boot:{}:device:{number}", boot_id()), is_lasting: false }
}

fn of_file(
    file: impl AsFd,
    device: DeviceNumber,
    inode: u64,
    depth: usize,
) -> io::Result<StorageIdentity> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    // Others began to tell times of birth with later versions, and a file is not to change its name by an upgrade.
    let is_told = BORN.contains(&u64::try_from(fstatfs(&file)?.f_type).unwrap_or(0));
    let born =
        statx(&file, "", flags, StatxFlags::BTIME).ok().filter(|_| is_told).map_or(0, |found| {
            let at = found.stx_btime;
            i128::from(at.tv_sec) * 1_000_000_000 + i128::from(at.tv_nsec)
        });
    Ok(of_file_system(&file, device, depth)?.below("file:", &format!(":{inode}:{born}")))
}

fn of_file_system(
    file: impl AsFd,
    device: DeviceNumber,
    depth: usize,
) -> io::Result<StorageIdentity> {
    let kind = u64::try_from(fstatfs(&file)?.f_type).unwrap_or(0);
    // All three make it of a UUID in every version; two of them with the subvolume or dataset, in which alone an inode
    // is unique (fs/ext4/super.c, fs/btrfs/super.c, module/os/linux/zfs/zfs_vfsops.c).
    let id = fstatvfs(&file)?.f_fsid;
    if matches!(kind, EXT | BTRFS | ZFS) && id != 0 {
        return Ok(StorageIdentity::lasting(&format!("fsid-{id:016x}")));
    }
    if let Some(uuid) = fs_uuid(&file).ok().filter(|uuid| uuid.iter().any(|byte| *byte != 0)) {
        let digits: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        return Ok(StorageIdentity::lasting(&digits));
    }
    if depth > 0
        && let Some(device) = Device::find(device)
    {
        return Ok(of_device(&device, depth - 1));
    }
    // A file system of other hosts is named by where it comes from.
    let mounts = mounts::own().unwrap_or_default();
    let mount = mounts.into_iter().find(|mount| mount.device == device);
    Ok(match mount.filter(|mount| REMOTE.contains(&mount.fs_type.as_str())) {
        Some(mount) => StorageIdentity::lasting(&format!("{}-{}", mount.fs_type, mount.source)),
        None => in_this_boot(device),
    })
}

/// File systems whose source is the same name on every host.
const REMOTE: [&str; 9] =
    ["nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "lustre", "fuse.glusterfs"];

/// File systems that have reported the birth time of files in all versions: ext4, XFS, btrfs, F2FS,
/// bcachefs, tmpfs, overlayfs.
const BORN: [u64; 7] =
    [EXT, 0x5846_5342, BTRFS, 0xf2f5_2010, 0xca45_1a4e, 0x0102_1994, 0x794c_7630];

// Of include/uapi/linux/magic.h, and of ZFS.
pub(crate) const EXT: u64 = 0xef53;
pub(crate) const BTRFS: u64 = 0x9123_683e;
pub(crate) const ZFS: u64 = 0x2fc1_2fc1;

fn of_device(device: &Device, depth: usize) -> StorageIdentity {
    if let Some(part) = device.partition() {
        let start = device.number_of("start").unwrap_or(0);
        return of_device(&device.whole(), depth).below("", &format!("-part{part}-at{start}"));
    }
    if let Some(lower) = below_loop(device, depth) {
        return lower;
    }
    let own = [
        device.attribute("dm/uuid").map(|uuid| format!("dm:{uuid}")),
        device.attribute("md/uuid").map(|uuid| format!("md:{uuid}")),
        device.unit().map(|unit| format!("wwid:{unit}")),
        device.serial().filter(|_| is_only_one(device)).map(|serial| format!("serial:{serial}")),
    ];
    if let Some(name) = own.into_iter().flatten().next() {
        return StorageIdentity::lasting(&name);
    }
    match device.sequence() {
        Some(sequence) => StorageIdentity {
            name: format!("boot:{}:diskseq:{sequence}", boot_id()),
            is_lasting: false,
        },
        None => in_this_boot(device.number),
    }
}

/// Returns true if no other device has the same serial number. Cheap USB bridges all share one.
fn is_only_one(device: &Device) -> bool {
    let serial = device.serial();
    !Device::all_whole()
        .into_iter()
        .any(|other| other.number != device.number && other.serial() == serial)
}

/// Returns the identity of a loop device: the identity of the object below, with the offset in it.
fn below_loop(device: &Device, depth: usize) -> Option<StorageIdentity> {
    let below = backing::below(device).filter(|_| depth > 0)?.ok()?;
    let lower = match below {
        DeviceOrFile::Device(number) => of_device(&Device::find(number)?, depth - 1),
        DeviceOrFile::File(_) => {
            let file = File::open(backing::verified_path(device)?).ok()?;
            identity(&file, depth - 1).ok()?
        }
    };
    let offset = device.number_of("loop/offset").unwrap_or(0);
    Some(lower.below("loop:", &if offset == 0 { String::new() } else { format!("+{offset}") }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tests::tree;
    use std::fs;

    #[test]
    fn file_made_anew_is_another() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let path = directory.path().join("disk");
        let name = |path: &std::path::Path| {
            storage_identity(File::open(path).expect("open")).expect("an identity").name
        };
        fs::write(&path, "1").expect("written");
        let first = name(&path);
        assert_eq!(name(&path), first);
        fs::write(&path, "2").expect("written");
        assert_eq!(name(&path), first, "content is no part of it");
        let other = directory.path().join("other");
        fs::copy(&path, &other).expect("copied");
        assert_ne!(name(&other), first);
        fs::rename(&path, directory.path().join("moved")).expect("moved");
        assert_eq!(name(&directory.path().join("moved")), first);
    }

    #[test]
    fn device_is_named_by_what_it_says_of_itself() {
        let tree = tree();
        let at = |name: &str| Device::at(&tree.path().join("block").join(name)).expect("device");
        fs::write(tree.path().join("block/sda/wwid"), "t10.ATA  QEMU  1\n").expect("wwid");
        fs::write(tree.path().join("block/sda/sda1/start"), "2048\n").expect("start");
        assert_eq!(of_device(&at("sda"), 1), StorageIdentity::lasting("wwid:t10.ATA_QEMU_1"));
        let part = of_device(&at("sda/sda1"), 1);
        assert_eq!(part, StorageIdentity::lasting("wwid:t10.ATA_QEMU_1-part1-at2048"));
    }

    #[test]
    fn device_that_says_nothing_has_no_lasting_name() {
        let tree = tree();
        fs::write(tree.path().join("block/sda/diskseq"), "14\n").expect("diskseq");
        let sda = Device::at(&tree.path().join("block/sda")).expect("device");
        let found = of_device(&sda, 1);
        assert!(!found.is_lasting && found.name.ends_with(":diskseq:14"), "{found:?}");
    }
}
