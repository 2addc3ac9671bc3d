//! What may be overwritten or created as a file target; reads only.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, open, statat};
use rustix::io::Errno;
use units::Bytes;

use crate::device_number::DeviceNumber;
use crate::directory::{check_run_id, note_links};
use crate::file_system::{FileSystem, check_space, space_limit};
use crate::graph::{Graph, Relative};
use crate::kernel::{OpenElsewhere, open_elsewhere};
use crate::label::RESERVED;
use crate::object::{kind_word, reopen, resolved};
use crate::owner::{Marker, OwnerState};
use crate::place::{FileId, Place};
use crate::preflight::Examination;
use crate::signature::{self, Found, UNKNOWN};
use crate::{Options, Refusal, file_marker, in_use, mounts, openers, owned};

/// An examined file, or the place for one; both held open.
#[derive(Debug)]
pub(crate) struct Examined {
    pub dir: OwnedFd,
    pub name: CString,
    /// After every symbolic link.
    pub path: PathBuf,
    pub existing: Option<Existing>,
}

/// A file that exists, open for reading.
#[derive(Debug)]
pub(crate) struct Existing {
    pub file: File,
    pub stat: Stat,
    pub marker: Option<Marker>,
}

/// Looks at the file and checks every rule; writes nothing.
pub(crate) fn examine(
    path: &Path,
    options: &Options,
    examination: &mut Examination,
) -> Option<Examined> {
    check_run_id(options, examination);
    let rule = ("the target is a file, or can become one", "a regular file, or none yet");
    let examined = match locate(path, options) {
        Ok(examined) => examined,
        Err(refusal) => {
            examination.check(refusal.id(), rule, refusal.to_string(), Some(refusal));
            return None;
        }
    };
    let found = if examined.existing.is_some() { "regular file" } else { "none yet" };
    examination.check("wrong-kind", rule, found, None);
    examination.preflight.resolved = examined.path.display().to_string();
    note_links(path, &examined.path, examination);
    let file_system = match FileSystem::of(&examined.dir) {
        Ok(file_system) => file_system,
        Err(error) => {
            let refusal = Refusal::unreadable("read the file system of", path, error);
            let rule = ("the file system can be read", "readable");
            examination.check("unreadable", rule, refusal.to_string(), Some(refusal));
            return None;
        }
    };
    if options.write {
        file_system.check(examination, options);
        if let Some(existing) = &examined.existing {
            check_existing(existing, &examined.path, options, examination);
        }
        examination.preflight.write_bytes = examination.preflight.needed_bytes;
    }
    check_room(&examined, file_system, options, examination);
    Some(examined)
}

/// Finds the file or its place, without any rule but the kind.
pub(crate) fn locate(path: &Path, options: &Options) -> Result<Examined, Refusal> {
    // O_PATH: a fifo or a device must not be opened to see that it is one.
    match open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(node) => locate_existing(path, &node),
        Err(Errno::NOENT) if fs::symlink_metadata(path).is_ok() => {
            Err(Refusal::DanglingLink { path: path.to_owned() })
        }
        Err(Errno::NOENT) if !options.write => Err(Refusal::Missing { path: path.to_owned() }),
        Err(Errno::NOENT) => locate_new(path),
        Err(error) => Err(Refusal::unreadable("look at", path, error)),
    }
}

fn locate_existing(path: &Path, node: &OwnedFd) -> Result<Examined, Refusal> {
    let stat = fstat(node).map_err(|error| Refusal::unreadable("look at", path, error))?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind != FileType::RegularFile {
        return Err(Refusal::WrongKind {
            path: path.to_owned(),
            found: kind_word(kind),
            wanted: "regular file",
        });
    }
    let resolved = resolved(node, path);
    let (dir, name) = open_parent(&resolved)?;
    let named = statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW).map(|named| identity(&named));
    if named != Ok(identity(&stat)) {
        return Err(Refusal::Changed {
            path: path.to_owned(),
            what: "the file",
            was: format!("inode {}", stat.st_ino),
            is: named.map_or_else(|error| error.to_string(), |now| format!("inode {}", now.1)),
        });
    }
    let file =
        reopen(node, OFlags::RDONLY).map_err(|error| Refusal::unreadable("open", path, error))?;
    let marker = file_marker::read(&dir, &name, &file);
    Ok(Examined { dir, name, path: resolved, existing: Some(Existing { file, stat, marker }) })
}

fn locate_new(path: &Path) -> Result<Examined, Refusal> {
    let absolute =
        std::path::absolute(path).map_err(|error| Refusal::unreadable("resolve", path, error))?;
    let (dir, name) = open_parent(&absolute)?;
    let path = resolved(&dir, path).join(owned::name_path(&name));
    Ok(Examined { dir, name, path, existing: None })
}

fn open_parent(path: &Path) -> Result<(OwnedFd, CString), Refusal> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Refusal::WrongKind {
            path: path.to_owned(),
            found: "directory",
            wanted: "regular file",
        });
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = open(parent, flags, Mode::empty()).map_err(|error| match error {
        Errno::NOENT => Refusal::ParentMissing { path: path.to_owned(), parent: parent.to_owned() },
        error => Refusal::unreadable("open directory", parent, error),
    })?;
    let name = CString::new(name.as_bytes()).expect("a path of the system holds no NUL");
    Ok((dir, name))
}

/// Device and inode: what a file is, whatever its name.
pub(crate) fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

fn check_existing(
    existing: &Existing,
    path: &Path,
    options: &Options,
    examination: &mut Examination,
) {
    check_owner(existing, path, options, examination);
    let links = u32::try_from(existing.stat.st_nlink).unwrap_or(u32::MAX);
    let refusal = (links != 1).then(|| Refusal::HardLinks { path: path.to_owned(), links });
    examination.check("hard-links", ("the file has one name", "1"), links.to_string(), refusal);
    let relatives = Graph::read().relatives(existing.place());
    check_swap(&relatives, path, examination);
    check_users(existing, &relatives, path, examination);
    if existing.marker.is_none() {
        check_content(existing, path, examination);
    }
}

fn check_owner(existing: &Existing, path: &Path, options: &Options, examination: &mut Examination) {
    let rule = ("the file is ours, or may be overwritten", "our marker, or --overwrite-file");
    let size = Bytes::new(existing.stat.st_size.unsigned_abs());
    let (found, refusal) = match &existing.marker {
        Some(marker) => (format!("marker of run {}", marker.run_id), None),
        None if options.overwrite_file => ("no marker; overwriting is allowed".to_owned(), None),
        None => {
            let refusal = Refusal::NotOurs { path: path.to_owned(), size };
            ("no marker".to_owned(), Some(refusal))
        }
    };
    if existing.marker.is_none() && options.overwrite_file {
        examination
            .warn("overwrite", format!("the content of {} ({size}) is lost", path.display()));
    }
    examination.check("file-not-ours", rule, found, refusal);
}

fn check_swap(relatives: &[Relative], path: &Path, examination: &mut Examination) {
    let rule = ("the file is not swapped to", "none");
    let (found, refusal) = match in_use::swapped(relatives) {
        Ok(Some(_)) => ("active swap", Some(Refusal::Swap { path: path.to_owned() })),
        Ok(None) => ("none", None),
        Err(error) => ("unknown", Some(Refusal::unreadable("read", "/proc/swaps", error))),
    };
    examination.check("swap", rule, found, refusal);
}

impl Existing {
    fn place(&self) -> Place {
        let device = DeviceNumber::from_packed(self.stat.st_dev);
        Place::File(FileId { device, inode: self.stat.st_ino })
    }
}

fn check_users(
    existing: &Existing,
    relatives: &[Relative],
    path: &Path,
    examination: &mut Examination,
) {
    let owner = existing.marker.as_ref().map(|marker| marker.state(&existing.file));
    let user = match owner {
        Some(OwnerState::Alive { pid }) => Some(format!("tilemark process {pid}")),
        Some(OwnerState::Elsewhere { host }) => Some(format!("a tilemark run on host {host}")),
        _ => in_use::holder(relatives)
            .map(|(_, device)| format!("block device {device}"))
            .or_else(|| mounted(relatives, examination))
            .or_else(|| opened(existing, path, examination)),
    };
    let refusal = user.map(|user| Refusal::FileInUse { path: path.to_owned(), user });
    let found = if refusal.is_some() { "in use" } else { "not in use" };
    examination.check("file-in-use", ("nobody else uses the file", "nobody"), found, refusal);
}

/// Where the file is mounted without a loop device.
fn mounted(relatives: &[Relative], examination: &mut Examination) -> Option<String> {
    let all = mounts::all().map_err(|error| {
        let text = format!("what is mounted cannot be read: {error}");
        examination.warn("mounts-unseen", text);
    });
    let (_, point, _) = in_use::mounted(relatives, &all.ok()?)?;
    Some(format!("the mount at {point}"))
}

/// Who has the file open: the kernel says whether anybody, `/proc` who.
fn opened(existing: &Existing, path: &Path, examination: &mut Examination) -> Option<String> {
    let openers = || openers::of(&[existing.place()]).found.pop();
    let process = |opener: openers::Opener| format!("process {}", opener.process);
    match open_elsewhere(&existing.file) {
        OpenElsewhere::Yes => Some(openers().map_or_else(|| "another process".to_owned(), process)),
        OpenElsewhere::No => None,
        OpenElsewhere::Unknown(why) => {
            let found = openers().map(process);
            if found.is_none() {
                examination.warn(
                    "lease-unavailable",
                    format!("whether {} is open elsewhere is not known: {why}", path.display()),
                );
            }
            found
        }
    }
}

fn check_content(existing: &Existing, path: &Path, examination: &mut Examination) {
    let rule = ("the file holds no image and no file system", "none");
    let size = existing.stat.st_size.unsigned_abs();
    match read_content(&existing.file, size) {
        Ok(found) => {
            let found = found.filter(|found| found.name != UNKNOWN);
            let words = found.as_ref().map_or("none", |found| found.name);
            let refusal = found.as_ref().map(|found| Refusal::FileContent {
                path: path.to_owned(),
                signature: found.name.to_owned(),
                offset: found.offset,
            });
            examination.check("file-content", rule, words, refusal);
        }
        Err(error) => {
            let refusal = Refusal::unreadable("read", path, error);
            examination.check("unreadable", rule, refusal.to_string(), Some(refusal));
        }
    }
}

fn read_content(file: &File, size: u64) -> std::io::Result<Option<Found>> {
    let length = usize::try_from(size.min(RESERVED)).expect("at most 8 MiB");
    let mut first = vec![0; length];
    file.read_exact_at(&mut first, 0)?;
    let mut last = vec![0; length];
    file.read_exact_at(&mut last, size - length as u64)?;
    Ok(signature::recognise(&first, &last, size))
}

fn check_room(
    examined: &Examined,
    mut file_system: FileSystem,
    options: &Options,
    examination: &mut Examination,
) {
    let stat = examined.existing.as_ref().map(|existing| &existing.stat);
    let size = Bytes::new(stat.map_or(0, |stat| stat.st_size.unsigned_abs()));
    let allocated = stat.map_or(0, |stat| u64::try_from(stat.st_blocks).unwrap_or(0) * 512);
    let leftovers = owned::leftovers(&owned::scan(&examined.dir).unwrap_or_default());
    file_system.facts.leftover_bytes = leftovers.reserved;
    let free = Bytes::new(file_system.facts.free_bytes);
    examination.preflight.file_system = Some(file_system.facts);
    examination.preflight.device = file_system.device.map(|device| device.facts());
    let limit = if options.write {
        let (more, rule) = space_limit(free, leftovers, None);
        let limit = more + Bytes::new(allocated);
        match options.space_max {
            Some(max) if max < limit => (max, format!("space-max {max}")),
            _ => (limit, rule),
        }
    } else {
        (size, format!("the file's size {size}"))
    };
    check_space(examination, free, limit);
}
