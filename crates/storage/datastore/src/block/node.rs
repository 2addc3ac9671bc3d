//! Device node, held open so that a swap of its path cannot redirect the opening.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;

use crate::Refusal;
use crate::device_number::DeviceNumber;
use crate::object::kind_word;
use crate::preflight::Examination;
use crate::sysfs::Device;

/// Properties of a device that must not change between check and use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub number: DeviceNumber,
    pub sequence: Option<u64>,
    pub size: u64,
}

impl Identity {
    /// Reads the identity of an open device.
    pub fn of(file: &mut File, device: &Device) -> Self {
        let size = file.seek(SeekFrom::End(0)).unwrap_or(0);
        Self { number: device.number, sequence: device.sequence(), size }
    }
}

/// Opens the node of a block device without opening the device.
pub(super) fn open_node(path: &Path) -> Result<OwnedFd, Refusal> {
    // O_PATH: looking at a fifo, a tape or a watchdog must not open it.
    let node =
        open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|error| match error {
            Errno::NOENT => Refusal::Missing { path: path.to_owned() },
            error => Refusal::unreadable("look at", path, error),
        })?;
    let found = fstat(&node).map_err(|error| Refusal::unreadable("look at", path, error))?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::BlockDevice => Ok(node),
        other => Err(Refusal::WrongKind {
            path: path.to_owned(),
            found: kind_word(other),
            wanted: "block device",
        }),
    }
}

pub(super) fn device_of(node: impl AsFd, path: &Path) -> Result<Device, Refusal> {
    let found = fstat(node).map_err(|error| Refusal::unreadable("look at", path, error))?;
    let number = DeviceNumber::from_packed(found.st_rdev);
    Device::find(number).ok_or_else(|| Refusal::unreadable("find in sysfs", path, Errno::NODEV))
}

/// Checks that the opened device is the examined one: same number, disk sequence number and size.
pub(super) fn check_unchanged(
    identity: &Identity,
    file: &mut File,
    path: &Path,
    examination: &mut Examination,
) {
    let now = device_of(&*file, path).map(|device| Identity::of(file, &device));
    let words = |identity: &Identity| {
        format!(
            "{} (sequence {}, {} B)",
            identity.number,
            identity.sequence.map_or_else(|| "unknown".to_owned(), |number| number.to_string()),
            identity.size
        )
    };
    let (found, refusal) = match now {
        Ok(now) if now == *identity => (words(&now), None),
        Ok(now) => (
            words(&now),
            Some(Refusal::Changed {
                path: path.to_owned(),
                what: "the device",
                was: words(identity),
                is: words(&now),
            }),
        ),
        Err(refusal) => (refusal.to_string(), Some(refusal)),
    };
    let limit = words(identity);
    examination.check("changed", ("the opened device is the one checked", &limit), found, refusal);
}

/// Returns the refusal for a device that could not be opened.
pub(super) fn not_opened(attempted: &'static str, path: &Path, error: Errno) -> Refusal {
    match error {
        Errno::BUSY => {
            Refusal::Busy { device: path.to_owned(), used: "itself, or a relative".to_owned() }
        }
        error => Refusal::unreadable(attempted, path, error),
    }
}
