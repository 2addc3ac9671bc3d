//! Exclusive use of a device and the devices below it, by the kernel's `O_EXCL` and by the BSD lock
//! that udev, mkfs, fdisk and others respect (systemd, "Locking Block Device Access").

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::Refusal;
use crate::backing;
use crate::graph::{Link, Relative, Role};
use crate::place::DeviceOrFile;
use crate::sysfs::Device;

/// Number of attempts at a check that may fail only for a moment: udev opens and locks a device for
/// some milliseconds whenever a writer has closed it. Our choice.
const LOOKS: u32 = 6;
const PAUSE: Duration = Duration::from_millis(100);

/// Repeats a check until it finds nothing, for at most half a second. Returns the last finding, or
/// `None`.
pub(crate) fn lasting<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    for _ in 1..LOOKS {
        look()?;
        std::thread::sleep(PAUSE);
    }
    look()
}

/// Locks the device that `file` has open. Also claims and locks every device below it that the
/// kernel leaves open to others. Claims and locks last until `file` and all returned files are
/// closed.
pub(crate) fn claim(
    file: &File,
    device: &Device,
    relatives: &[Relative],
    path: &Path,
) -> Result<Vec<File>, Refusal> {
    let mut held: Vec<File> = lock(file, device, path)?.into_iter().collect();
    for relative in relatives {
        let (DeviceOrFile::Device(number), Role::Lower(Link::Shared) | Role::Twin) =
            (relative.place, &relative.role)
        else {
            continue;
        };
        let open = Device::find(number)
            .ok_or(Errno::NODEV)
            .and_then(|lower| backing::open(&lower, OFlags::EXCL).map(|file| (lower, file)));
        let (lower, file) = open.map_err(|error| match error {
            Errno::BUSY => Refusal::Busy { device: path.to_owned(), used: relative.name.clone() },
            error => Refusal::unreadable("claim", Path::new("/dev").join(&relative.name), error),
        })?;
        held.extend(lock(&file, &lower, path)?);
        held.push(file);
    }
    Ok(held)
}

/// Locks the whole disk: exclusively for the disk itself, shared for a partition. If a partition's
/// disk cannot be opened, it is not locked.
fn lock(file: &File, device: &Device, path: &Path) -> Result<Option<File>, Refusal> {
    let whole = device.whole();
    if whole.number == device.number {
        return take(file, FlockOperation::NonBlockingLockExclusive, device, path).map(|()| None);
    }
    let Ok(disk) = backing::open(&whole, OFlags::empty()) else { return Ok(None) };
    take(&disk, FlockOperation::NonBlockingLockShared, &whole, path)?;
    Ok(Some(disk))
}

fn take(
    file: &File,
    operation: FlockOperation,
    device: &Device,
    path: &Path,
) -> Result<(), Refusal> {
    match lasting(|| flock(file, operation).err()) {
        None => Ok(()),
        Some(Errno::WOULDBLOCK) => {
            Err(Refusal::Locked { device: path.to_owned(), used: device.name.clone() })
        }
        Some(error) => Err(Refusal::unreadable("lock", path, error)),
    }
}
