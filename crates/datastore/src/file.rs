//! One file as datastore, divided between the virtual disks.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fstat, linkat, open, openat, statat, unlinkat,
};
use rustix::io::Errno;
use units::Bytes;

use crate::block::reopen;
use crate::direct::{self, Access};
use crate::directory::{check_run_id, kind_word, note_links, reserve_to, resolved};
use crate::file_system::{FileSystem, check_space, room, space_limit};
use crate::label::RESERVED;
use crate::layout::Carver;
use crate::lease::{OpenElsewhere, open_elsewhere};
use crate::owner::{Marker, OwnerState, lock};
use crate::preflight::{Examination, Preflight, Warning};
use crate::signature::{self, Found, UNKNOWN};
use crate::sysfs::Device;
use crate::{
    DatastoreError, DiskRequest, Options, Refusal, VirtualDisk, file_marker, mounts, owned,
};

/// An examined file, or the place for one; both held open.
#[derive(Debug)]
pub(crate) struct Examined {
    dir: OwnedFd,
    name: CString,
    path: PathBuf,
    existing: Option<Existing>,
}

#[derive(Debug)]
struct Existing {
    file: File,
    stat: Stat,
    marker: Option<Marker>,
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

fn locate(path: &Path, options: &Options) -> Result<Examined, Refusal> {
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

fn identity(stat: &Stat) -> (u64, u64) {
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
    check_swap(existing, path, examination);
    check_users(existing, path, examination);
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

fn check_swap(existing: &Existing, path: &Path, examination: &mut Examination) {
    let rule = ("the file is not swapped to", "none");
    let (found, refusal) = match mounts::swaps() {
        Ok(swaps) if swaps.iter().any(|swap| names(swap, existing)) => {
            ("active swap", Some(Refusal::Swap { path: path.to_owned() }))
        }
        Ok(_) => ("none", None),
        Err(error) => ("unknown", Some(Refusal::unreadable("read", "/proc/swaps", error))),
    };
    examination.check("swap", rule, found, refusal);
}

fn names(path: &Path, existing: &Existing) -> bool {
    fs::metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == identity(&existing.stat))
}

fn check_users(existing: &Existing, path: &Path, examination: &mut Examination) {
    let used = |user: String| Some(Refusal::FileInUse { path: path.to_owned(), user });
    let owner = existing.marker.as_ref().map(|marker| marker.state(&existing.file));
    let loop_device = Device::all_whole().into_iter().find(|device| {
        device.backing_file().is_some_and(|backing| names(Path::new(&backing), existing))
    });
    let refusal = match (owner, loop_device) {
        (Some(OwnerState::Alive { pid }), _) => used(format!("tilemark process {pid}")),
        (Some(OwnerState::Elsewhere { host }), _) => used(format!("a tilemark run on host {host}")),
        (_, Some(device)) => used(format!("block device {}", device.name)),
        (_, None) => match open_elsewhere(&existing.file) {
            OpenElsewhere::Yes => used(openers(existing)),
            OpenElsewhere::No => None,
            OpenElsewhere::Unknown(why) => {
                examination.warn(
                    "lease-unavailable",
                    format!("whether {} is open elsewhere is not known: {why}", path.display()),
                );
                None
            }
        },
    };
    let found = if refusal.is_some() { "in use" } else { "not in use" };
    examination.check("file-in-use", ("nobody else uses the file", "nobody"), found, refusal);
}

/// The processes that have the file open, as far as this user may see.
fn openers(existing: &Existing) -> String {
    let own = std::process::id().to_string();
    let found = fs::read_dir("/proc").into_iter().flatten().flatten().find_map(|process| {
        let pid = process.file_name().into_string().ok()?;
        let _: u32 = pid.parse().ok()?;
        let mut open = fs::read_dir(process.path().join("fd")).ok()?.flatten();
        let hit = open.any(|fd| {
            let ours = pid == own
                && fd.file_name().to_str() == Some(&existing.file.as_raw_fd().to_string());
            !ours && names(&fd.path(), existing)
        });
        hit.then_some(pid)
    });
    found.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
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

/// An open file datastore. Dropping it leaves the file for `cleanup`.
#[derive(Debug)]
pub(crate) struct FileStore {
    dir: OwnedFd,
    name: CString,
    path: PathBuf,
    data: Arc<File>,
    access: Access,
    writable: bool,
    /// The file existed before us and stays.
    keep: bool,
    size_before: u64,
    carver: Carver,
    warnings: Vec<Warning>,
}

impl FileStore {
    /// Creates and marks the file, or claims the examined one.
    pub fn open(
        examined: Examined,
        preflight: &Preflight,
        options: &Options,
    ) -> Result<Self, DatastoreError> {
        let Examined { dir, name, path, existing } = examined;
        let mut marker = Marker::new(&options.run_id, Bytes::new(preflight.needed_bytes));
        let size_before =
            existing.as_ref().map_or(0, |existing| existing.stat.st_size.unsigned_abs());
        let file = match existing {
            Some(existing) if !options.write => existing.file,
            Some(existing) => {
                marker.keep = existing.marker.as_ref().is_none_or(|marker| marker.keep);
                claim(existing, &dir, &name, &path, &marker)?
            }
            None => create(&dir, &name, &path, &marker)?,
        };
        let (access, warning) =
            direct::choose(&file, &path.display().to_string(), options.buffered);
        Ok(Self {
            dir,
            name,
            path,
            data: Arc::new(file),
            access,
            writable: options.write,
            keep: marker.keep,
            size_before,
            carver: Carver::new(0, preflight.capacity_bytes),
            warnings: warning.into_iter().collect(),
        })
    }

    /// Warnings that came up while opening.
    pub fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    /// Bytes that may be given out now without touching the file system's reserve.
    pub fn room(&self) -> Bytes {
        if !self.writable {
            return self.carver.available();
        }
        let inside = self.size_before.saturating_sub(self.carver.given());
        self.carver.available().min(room(&*self.data) + Bytes::new(inside))
    }

    /// Gives the next range to a disk and reserves its space.
    pub fn create_disk(
        &mut self,
        request: &DiskRequest,
    ) -> Result<(VirtualDisk, Vec<Warning>), DatastoreError> {
        if !request.size.get().is_multiple_of(u64::from(self.access.alignment)) {
            return Err(DatastoreError::SizeUnaligned {
                disk: request.name.clone(),
                size: request.size,
                alignment: self.access.alignment,
            });
        }
        let available = self.carver.available();
        let mut carver = self.carver;
        let base = carver.carve(request.size).ok_or_else(|| DatastoreError::DoesNotFit {
            disk: request.name.clone(),
            target: format!("file:{}", self.path.display()),
            needed: request.size,
            available,
            capacity: available,
        })?;
        let mut warnings = Vec::new();
        if self.writable {
            match reserve_to(&self.data, base + request.size.get()) {
                Ok(id) => warnings.extend(id.map(|id| {
                    let text = format!(
                        "the file system of {} cannot allocate in advance, so it may fill up during the run",
                        self.path.display()
                    );
                    Warning::new(id, text)
                })),
                Err(Errno::NOSPC | Errno::DQUOT) => {
                    return Err(DatastoreError::NoSpace {
                        disk: request.name.clone(),
                        size: request.size,
                        path: self.path.clone(),
                    });
                }
                Err(error) => return Err(DatastoreError::io("allocate", &self.path, error)),
            }
        }
        self.carver = carver;
        let disk = VirtualDisk {
            file: Arc::clone(&self.data),
            base,
            size: request.size,
            alignment: self.access.alignment,
            direct: self.access.direct,
            writable: self.writable,
            name: request.name.clone(),
        };
        Ok((disk, warnings))
    }

    /// Removes the file if we created it; takes our marker off one that existed before.
    pub fn remove(self) -> Result<Option<PathBuf>, DatastoreError> {
        if !self.writable {
            return Ok(None);
        }
        remove_marked(&self.dir, &self.name, &self.data, self.keep)
            .map_err(|error| DatastoreError::io("remove", &self.path, error))
            .map(|gone| gone.then_some(self.path))
    }
}

/// Opens an examined file for writing: the same inode, checked once more, then marked.
fn claim(
    existing: Existing,
    dir: &OwnedFd,
    name: &CString,
    path: &Path,
    marker: &Marker,
) -> Result<File, DatastoreError> {
    let file = reopen(&existing.file, OFlags::RDWR)
        .map_err(|error| DatastoreError::io("open for writing", path, error))?;
    let before = existing.stat;
    drop(existing.file);
    let now = fstat(&file).map_err(|error| DatastoreError::io("look at", path, error))?;
    let links = u32::try_from(now.st_nlink).unwrap_or(u32::MAX);
    if links != 1 {
        return Err(Refusal::HardLinks { path: path.to_owned(), links }.into());
    }
    if (identity(&now), now.st_size) != (identity(&before), before.st_size) {
        return Err(Refusal::Changed {
            path: path.to_owned(),
            what: "the size",
            was: before.st_size.to_string(),
            is: now.st_size.to_string(),
        }
        .into());
    }
    if open_elsewhere(&file) == OpenElsewhere::Yes {
        let user = "another process".to_owned();
        return Err(Refusal::FileInUse { path: path.to_owned(), user }.into());
    }
    lock(&file);
    file_marker::write(dir, name, &file, marker)
        .map_err(|error| DatastoreError::io("mark", path, error))?;
    Ok(file)
}

/// Creates the file with its marker. Where the file system can, it appears under its name
/// with the marker already in place; elsewhere a kill in between leaves an empty file.
fn create(
    dir: &OwnedFd,
    name: &CString,
    path: &Path,
    marker: &Marker,
) -> Result<File, DatastoreError> {
    let mode = Mode::RUSR | Mode::WUSR;
    let nameless = openat(dir, c".", OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode);
    let result = match nameless {
        Ok(fd) if file_marker::write_attribute(&fd, marker).is_ok() => {
            let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
            linkat(rustix::fs::CWD, link, dir, name, AtFlags::SYMLINK_FOLLOW).map(|()| fd)
        }
        _ => {
            let flags =
                OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            openat(dir, name, flags, mode).and_then(|fd| {
                file_marker::write(dir, name, &fd, marker)
                    .inspect_err(|_| {
                        let _ = unlinkat(dir, name, AtFlags::empty());
                    })
                    .map(|()| fd)
            })
        }
    };
    match result {
        Ok(fd) => {
            lock(&fd);
            Ok(File::from(fd))
        }
        Err(Errno::EXIST) => Err(Refusal::AlreadyThere { path: path.to_owned() }.into()),
        Err(error) => Err(DatastoreError::io("create", path, error)),
    }
}

/// Removes a file of ours by name, if the name still leads to it; `false` when it stays.
fn remove_marked(
    dir: &OwnedFd,
    name: &CString,
    file: &File,
    keep: bool,
) -> rustix::io::Result<bool> {
    let named = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(named) => identity(&named) == identity(&fstat(file)?),
        Err(Errno::NOENT) => false,
        Err(error) => return Err(error),
    };
    if named && !keep {
        unlinkat(dir, name, AtFlags::empty())?;
    }
    file_marker::erase(dir, name, file);
    Ok(named && !keep)
}

/// A marked file, its marker and its owner's state, for `cleanup`.
pub(crate) struct Marked {
    examined: Examined,
    pub marker: Marker,
    pub state: OwnerState,
    pub allocated: u64,
}

/// Looks for our marker on a file; reads only.
pub(crate) fn find_marked(path: &Path) -> Result<Option<Marked>, DatastoreError> {
    let options = Options { write: false, ..Options::default() };
    let mut examined = locate(path, &options)?;
    let Some(existing) = &mut examined.existing else { return Ok(None) };
    let Some(marker) = existing.marker.take() else { return Ok(None) };
    let state = marker.state(&existing.file);
    let allocated = u64::try_from(existing.stat.st_blocks).unwrap_or(0) * 512;
    Ok(Some(Marked { examined, marker, state, allocated }))
}

impl Marked {
    /// Removes the file, or only its marker when it existed before; whether it is gone.
    pub fn remove(self) -> Result<bool, DatastoreError> {
        let Examined { dir, name, path, existing } = self.examined;
        let existing = existing.expect("a marked file exists");
        let links = u32::try_from(existing.stat.st_nlink).unwrap_or(u32::MAX);
        if links != 1 {
            return Err(Refusal::HardLinks { path, links }.into());
        }
        remove_marked(&dir, &name, &existing.file, self.marker.keep)
            .map_err(|error| DatastoreError::io("remove", path, error))
    }
}
