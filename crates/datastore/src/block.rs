//! A block device as datastore, the one kind of target where a mistake destroys a disk.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use units::Bytes;

use crate::block_content::{check_ends, check_middle};
use crate::claim::claim;
use crate::device_number::DeviceNumber;
use crate::direct::{self, Access};
use crate::directory::{check_run_id, note_links};
use crate::file_system::check_space;
use crate::graph::Relative;
use crate::label::{LABEL_LENGTH, Label, RESERVED, data_end};
use crate::layout::Carver;
use crate::object::{kind_word, reopen, resolved};
use crate::preflight::{Examination, Preflight, Warning};
use crate::sysfs::Device;
use crate::{DatastoreError, DiskRequest, Options, Refusal, VirtualDisk, in_use};

/// An examined device. The node is held, so a swap of the path cannot redirect the opening.
#[derive(Debug)]
pub(crate) struct Examined {
    node: OwnedFd,
    device: Device,
    identity: Identity,
}

/// What must be the same at the check and at the use.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    number: DeviceNumber,
    sequence: Option<u64>,
    size: u64,
}

/// Looks at the device and checks every rule; writes nothing.
pub(crate) fn examine(
    path: &Path,
    options: &Options,
    examination: &mut Examination,
) -> Option<Examined> {
    check_run_id(options, examination);
    let rule = ("the target is a block device", "an existing block device");
    let node = match open_node(path) {
        Ok(node) => node,
        Err(refusal) => {
            examination.check(refusal.id(), rule, refusal.to_string(), Some(refusal));
            return None;
        }
    };
    examination.check("wrong-kind", rule, "block device", None);
    let resolved = resolved(&node, path);
    examination.preflight.resolved = resolved.display().to_string();
    note_links(path, &resolved, examination);
    let rule = ("the device can be read", "readable");
    let device = match device_of(&node, path) {
        Ok(device) => device,
        Err(refusal) => {
            examination.check("unreadable", rule, refusal.to_string(), Some(refusal));
            return None;
        }
    };
    let relatives = check_outside(&device, path, options, examination);
    let mut file = match reopen(&node, OFlags::RDONLY) {
        Ok(file) => file,
        Err(error) => {
            let refusal = Refusal::unreadable("open", path, error);
            examination.check("unreadable", rule, refusal.to_string(), Some(refusal));
            return None;
        }
    };
    // What is in use is not read for seconds to be refused all the same.
    let look = if examination.refusals.is_empty() { Look::Whole } else { Look::Ends };
    check_inside(&mut file, look, path, options, examination);
    if options.write {
        check_exclusive(&node, &device, &relatives, path, examination);
    }
    Some(Examined { identity: identity_of(&mut file, &device), node, device })
}

fn open_node(path: &Path) -> Result<OwnedFd, Refusal> {
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

fn device_of(node: impl AsFd, path: &Path) -> Result<Device, Refusal> {
    let found = fstat(node).map_err(|error| Refusal::unreadable("look at", path, error))?;
    let number = DeviceNumber::from_packed(found.st_rdev);
    Device::find(number).ok_or_else(|| Refusal::unreadable("find in sysfs", path, Errno::NODEV))
}

fn identity_of(file: &mut File, device: &Device) -> Identity {
    let size = file.seek(SeekFrom::End(0)).unwrap_or(0);
    Identity { number: device.number, sequence: device.sequence(), size }
}

/// The rules that need no opening, so that they also speak where that is not permitted.
fn check_outside(
    device: &Device,
    path: &Path,
    options: &Options,
    examination: &mut Examination,
) -> Vec<Relative> {
    examination.preflight.device = Some(device.facts());
    if !options.write {
        return Vec::new();
    }
    let relatives = in_use::check(device, path, examination);
    let refusal =
        device.is_read_only().then(|| Refusal::ReadOnlyDevice { device: path.to_owned() });
    let found = if refusal.is_some() { "read-only" } else { "writable" };
    examination.check("device-read-only", ("it can be written", "writable"), found, refusal);
    check_identity(device, path, options, examination);
    relatives
}

/// How much of the content is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Both ends, and a sample of the middle.
    Whole,
    /// The ends alone, right after the whole.
    Ends,
}

/// The rules on content and size.
fn check_inside(
    file: &mut File,
    look: Look,
    path: &Path,
    options: &Options,
    examination: &mut Examination,
) {
    let size = file.seek(SeekFrom::End(0)).unwrap_or(0);
    if options.write {
        let label = check_ends(file, size, path, examination);
        if look == Look::Whole {
            check_middle(file, size, label.as_ref(), path, examination);
        }
        examination.preflight.write_bytes =
            examination.preflight.needed_bytes + LABEL_LENGTH as u64;
    }
    let room = Bytes::new(data_end(Bytes::new(size)).saturating_sub(RESERVED))
        .round_down(crate::layout::UNIT);
    let limit = match options.space_max {
        Some(max) if max < room => (max, format!("space-max {max}")),
        _ => (room, format!("{} less 8 MiB at each end", Bytes::new(size))),
    };
    check_space(examination, Bytes::new(size), limit);
}

/// The identity rule: the device's own name, typed by a person or a script that knows it.
fn check_identity(device: &Device, path: &Path, options: &Options, examination: &mut Examination) {
    let choices = device.identities();
    let given = options.destroy_data.as_deref();
    let bare = given.map(|given| given.strip_prefix("/dev/disk/by-id/").unwrap_or(given));
    let refusal = match (given, bare) {
        (Some(_), Some(bare)) if choices.iter().any(|choice| choice == bare) => None,
        (Some(given), _) => Some(Refusal::IdentityMismatch {
            device: path.to_owned(),
            given: given.to_owned(),
            choices: choices.clone(),
        }),
        (None, _) => {
            Some(Refusal::IdentityMissing { device: path.to_owned(), choices: choices.clone() })
        }
    };
    let id = if given.is_some() { "identity-mismatch" } else { "identity-missing" };
    let limit = if choices.is_empty() {
        "none: the device has no unique name".to_owned()
    } else {
        format!("one of \"{}\"", choices.join("\", \""))
    };
    let found = given.unwrap_or("nothing given").to_owned();
    examination.check(id, ("the device is named by identity", &limit), found, refusal);
}

/// Asks the kernel for exclusive use and gives it back: it has the last word on mounts,
/// volumes and arrays that no table shows (blkdev_get, `O_EXCL` without `O_CREAT`). The same
/// for what lies below, and for the lock.
fn check_exclusive(
    node: &OwnedFd,
    device: &Device,
    relatives: &[Relative],
    path: &Path,
    examination: &mut Examination,
) {
    let claimed = match reopen(node, OFlags::RDONLY | OFlags::EXCL) {
        Ok(file) => claim(&file, device, relatives, path).map(drop),
        Err(error) => Err(not_opened("open exclusively", path, error)),
    };
    let refusal = claimed.err();
    let found = refusal.as_ref().map_or_else(|| "granted".to_owned(), ToString::to_string);
    let id = refusal.as_ref().map_or("busy", Refusal::id);
    let rule = ("exclusive use (O_EXCL) and the lock (flock), also of what lies below", "granted");
    examination.check(id, rule, found, refusal);
}

fn not_opened(attempted: &'static str, path: &Path, error: Errno) -> Refusal {
    match error {
        Errno::BUSY => {
            Refusal::Busy { device: path.to_owned(), used: "itself, or a relative".to_owned() }
        }
        error => Refusal::unreadable(attempted, path, error),
    }
}

/// An open block device. Exclusive use ends when the store and all its disks are dropped.
#[derive(Debug)]
pub(crate) struct BlockStore {
    /// Opened with `O_EXCL` when it is written to; every disk shares it.
    data: Arc<File>,
    /// For the label: through the page cache, because `data` takes aligned buffers only.
    label: Option<File>,
    /// What else is held: devices below, and locks.
    claims: Vec<File>,
    path: PathBuf,
    access: Access,
    writable: bool,
    /// Whether a disk was given out, so that the middle may hold data of ours.
    used: bool,
    carver: Carver,
    warnings: Vec<Warning>,
}

impl BlockStore {
    /// Checks, claims, checks again what was claimed, and labels it.
    pub fn open(
        path: &Path,
        mut examination: Examination,
        options: &Options,
    ) -> Result<(Preflight, Self), DatastoreError> {
        let target = examination.preflight.target.clone();
        let needed = Bytes::new(examination.preflight.needed_bytes);
        let examined = examine(path, options, &mut examination);
        let mut preflight = examination.into_result()?;
        let examined = examined.expect("an examination without refusal has its object");
        let flags = if options.write { OFlags::RDWR | OFlags::EXCL } else { OFlags::RDONLY };
        let mut file = reopen(&examined.node, flags)
            .map_err(|error| DatastoreError::from(not_opened("open", path, error)))?;
        let mut again = Examination::new(&target, needed);
        again.preflight.resolved.clone_from(&preflight.resolved);
        check_unchanged(&examined, &mut file, path, &mut again);
        let relatives = check_outside(&examined.device, path, options, &mut again);
        let claims = if options.write {
            claim(&file, &examined.device, &relatives, path)?
        } else {
            Vec::new()
        };
        check_inside(&mut file, Look::Ends, path, options, &mut again);
        let again = again.into_result()?;
        preflight.capacity_bytes = again.capacity_bytes;
        let label = options
            .write
            .then(|| write_label(&examined, path, options))
            .transpose()
            .map_err(|error| DatastoreError::io("label", path, error))?;
        let (mut access, warning) =
            direct::choose(&file, &path.display().to_string(), options.buffered);
        if let Some(facts) = &preflight.device {
            access.alignment = facts.logical_sector_bytes.max(512);
        }
        let store = Self {
            data: Arc::new(file),
            label,
            claims,
            path: path.to_owned(),
            access,
            writable: options.write,
            used: false,
            carver: Carver::new(RESERVED, RESERVED + preflight.capacity_bytes),
            warnings: warning.into_iter().collect(),
        };
        Ok((preflight, store))
    }

    /// Warnings that came up while opening.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes not yet given to a disk.
    pub fn room(&self) -> Bytes {
        self.carver.available()
    }

    /// Gives the next range to a disk.
    pub fn create_disk(&mut self, request: &DiskRequest) -> Result<VirtualDisk, DatastoreError> {
        if !request.size.get().is_multiple_of(u64::from(self.access.alignment)) {
            return Err(DatastoreError::SizeUnaligned {
                disk: request.name.clone(),
                size: request.size,
                alignment: self.access.alignment,
            });
        }
        let base = self.carver.carve(request.size).ok_or_else(|| DatastoreError::DoesNotFit {
            disk: request.name.clone(),
            target: format!("block:{}", self.path.display()),
            needed: request.size,
            available: self.carver.available(),
            capacity: self.carver.available(),
        })?;
        self.used = true;
        Ok(VirtualDisk {
            file: Arc::clone(&self.data),
            base,
            size: request.size,
            alignment: self.access.alignment,
            direct: self.access.direct,
            writable: self.writable,
            name: request.name.clone(),
        })
    }

    /// Erases the label of a device on which no disk was made. Where there was one the label
    /// stays: it is what tells the next run that the data in the middle may be lost.
    pub fn remove(self) -> Result<Option<PathBuf>, DatastoreError> {
        let Some(label) = self.label.filter(|_| !self.used) else { return Ok(None) };
        erase_label(&label)
            .map_err(|error| DatastoreError::io("erase the label of", &self.path, error))?;
        drop(self.claims);
        Ok(Some(self.path))
    }
}

/// That the opened device is the examined one: number, disk sequence number and size.
fn check_unchanged(
    examined: &Examined,
    file: &mut File,
    path: &Path,
    examination: &mut Examination,
) {
    let now = device_of(&*file, path).map(|device| identity_of(file, &device));
    let words = |identity: &Identity| {
        format!(
            "{} (sequence {}, {} B)",
            identity.number,
            identity.sequence.map_or_else(|| "unknown".to_owned(), |number| number.to_string()),
            identity.size
        )
    };
    let (found, refusal) = match now {
        Ok(now) if now == examined.identity => (words(&now), None),
        Ok(now) => (
            words(&now),
            Some(Refusal::Changed {
                path: path.to_owned(),
                what: "the device",
                was: words(&examined.identity),
                is: words(&now),
            }),
        ),
        Err(refusal) => (refusal.to_string(), Some(refusal)),
    };
    let limit = words(&examined.identity);
    examination.check("changed", ("the opened device is the one checked", &limit), found, refusal);
}

fn write_label(examined: &Examined, path: &Path, options: &Options) -> std::io::Result<File> {
    debug_assert!(options.write, "{} is only read", path.display());
    let file = reopen(&examined.node, OFlags::RDWR)?;
    let size = Bytes::new(examined.identity.size);
    file.write_all_at(&Label::new(size, &options.run_id).encode(), 0)?;
    file.sync_data()?;
    Ok(file)
}

fn erase_label(file: &File) -> std::io::Result<()> {
    file.write_all_at(&[0; LABEL_LENGTH], 0)?;
    file.sync_data()
}

/// The valid label on a device; reads only.
pub(crate) fn find_label(path: &Path) -> Result<Option<Label>, DatastoreError> {
    let node = open_node(path)?;
    let mut file =
        reopen(&node, OFlags::RDONLY).map_err(|error| DatastoreError::io("open", path, error))?;
    label_in(&mut file).map_err(|error| DatastoreError::io("read", path, error))
}

fn label_in(file: &mut File) -> std::io::Result<Option<Label>> {
    let size = file.seek(SeekFrom::End(0))?;
    let mut first = vec![0; LABEL_LENGTH];
    if size < LABEL_LENGTH as u64 {
        return Ok(None);
    }
    file.read_exact_at(&mut first, 0)?;
    Ok(Label::decode(&first, Bytes::new(size)))
}

/// Erases our label from a device that is named by identity and not in use; `None` when it has
/// no valid label. Nothing else on the device is touched.
pub(crate) fn cleanup(
    path: &Path,
    destroy_data: Option<&str>,
) -> Result<Option<Label>, DatastoreError> {
    let Some(label) = find_label(path)? else { return Ok(None) };
    let node = open_node(path)?;
    let device = device_of(&node, path)?;
    let mut examination = Examination::new(&format!("block:{}", path.display()), Bytes::ZERO);
    let options = Options {
        write: true,
        destroy_data: destroy_data.map(str::to_owned),
        ..Options::default()
    };
    let relatives = in_use::check(&device, path, &mut examination);
    check_identity(&device, path, &options, &mut examination);
    examination.into_result()?;
    let mut file = reopen(&node, OFlags::RDWR | OFlags::EXCL)
        .map_err(|error| DatastoreError::from(not_opened("open", path, error)))?;
    let _claims = claim(&file, &device, &relatives, path)?;
    let now = label_in(&mut file).map_err(|error| DatastoreError::io("read", path, error))?;
    if now.as_ref() != Some(&label) {
        return Err(DatastoreError::from(Refusal::Changed {
            path: path.to_owned(),
            what: "the label",
            was: label.run_id,
            is: now.map_or_else(|| "none".to_owned(), |label| label.run_id),
        }));
    }
    erase_label(&file).map_err(|error| DatastoreError::io("erase the label of", path, error))?;
    Ok(Some(label))
}
