//! A directory as datastore: one sub-directory per run, one file per virtual disk.

use std::ffi::CString;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    Access as Permission, AtFlags, FallocateFlags, Mode, OFlags, accessat, fallocate, fstat,
    unlinkat,
};
use rustix::io::Errno;
use units::Bytes;

use crate::adopt;
use crate::direct;
use crate::disk_name::disk_file_name;
use crate::file_system::{FileSystem, check_space, space_limit};
use crate::filled::{self, Fill};
use crate::held::{self, HeldDir, name_path};
use crate::made::{OwnDir, Removal};
use crate::object::{kind_of, resolved};
use crate::owned::{self, MARKER_FILE, MARKER_NEW, OwnedDir, PREFIX, STATE};
use crate::owner::{Held, Marker, OwnerState, lock};
use crate::preflight::{Examination, Warning};
use crate::{DatastoreError, DiskRequest, Options, Refusal, VirtualDisk};

/// An examined directory, held open so that a swap of the path cannot redirect anything.
#[derive(Debug)]
pub(crate) struct Examined {
    dir: HeldDir,
    resolved: PathBuf,
    /// What is taken over.
    adopted: Option<OwnedDir>,
}

/// Looks at the directory and checks every rule; writes nothing.
pub(crate) fn examine(
    path: &Path,
    options: &Options,
    examination: &mut Examination,
) -> Option<Examined> {
    check_run_id(options, examination);
    let fd = match open_directory(path) {
        Ok(fd) => fd,
        Err(refusal) => {
            examination.check(
                refusal.id(),
                ("the target is a directory", "an existing directory"),
                refusal.to_string(),
                Some(refusal),
            );
            return None;
        }
    };
    let resolved = resolved(&fd, path);
    let fd = HeldDir::of(fd, &resolved);
    examination.preflight.resolved = resolved.display().to_string();
    examination.check(
        "wrong-kind",
        ("the target is a directory", "an existing directory"),
        "directory",
        None,
    );
    note_links(path, &resolved, examination);
    let file_system = match FileSystem::of(&fd) {
        Ok(file_system) => file_system,
        Err(error) => {
            let refusal = Refusal::unreadable("read the file system of", &resolved, error);
            let rule = ("the file system can be read", "readable");
            examination.check("unreadable", rule, refusal.to_string(), Some(refusal));
            return None;
        }
    };
    file_system.check(examination, options);
    check_beneath(&fd, &resolved, examination);
    check_writable(&fd, &resolved, examination);
    let adopted = match &options.adopt {
        Some(run_id) => adopt::check(&fd, &resolved, run_id, examination),
        None => {
            check_absent(&fd, &resolved, options, examination);
            None
        }
    };
    check_room(&fd, file_system, (options, adopted.as_ref()), examination);
    Some(Examined { dir: fd, resolved, adopted })
}

fn open_directory(path: &Path) -> Result<OwnedFd, Refusal> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::NOENT => Refusal::Missing { path: path.to_owned() },
        Errno::NOTDIR => {
            Refusal::WrongKind { path: path.to_owned(), found: kind_of(path), wanted: "directory" }
        }
        error => Refusal::unreadable("open directory", path, error),
    })
}

/// Says when the path went through a symbolic link.
pub(crate) fn note_links(path: &Path, resolved: &Path, examination: &mut Examination) {
    if std::path::absolute(path).is_ok_and(|absolute| absolute != resolved) {
        examination.warn(
            "resolved",
            format!("{} leads to {} and that is used", path.display(), resolved.display()),
        );
    }
}

/// The rule on run ids, shared by all kinds of target.
pub(crate) fn check_run_id(options: &Options, examination: &mut Examination) {
    let refusal = (!crate::options::run_id_is_valid(&options.run_id))
        .then(|| Refusal::RunId { run_id: options.run_id.clone() });
    let rule = ("the run id can be a file name", "1 to 100 of A-Z a-z 0-9 - _ .");
    examination.check("run-id", rule, options.run_id.clone(), refusal);
}

/// Below the directory everything is opened by openat2, and by nothing else.
pub(crate) fn check_beneath(dir: impl AsFd, resolved: &Path, examination: &mut Examination) {
    let can = held::can_open_beneath(dir);
    let refusal = (!can).then(|| Refusal::NoOpenat2 { path: resolved.to_owned() });
    let found = if can { "possible" } else { "not possible" };
    let rule = ("files can be opened without leaving the directory (openat2)", "possible");
    examination.check("no-openat2", rule, found, refusal);
}

fn check_writable(fd: &HeldDir, resolved: &Path, examination: &mut Examination) {
    let permission = Permission::WRITE_OK | Permission::EXEC_OK;
    let allowed = accessat(fd, c".", permission, AtFlags::EACCESS);
    let uid = rustix::process::geteuid().as_raw();
    let refusal = match allowed {
        // A read-only mount is refused by its own rule.
        Ok(()) | Err(Errno::ROFS) => None,
        Err(Errno::ACCESS | Errno::PERM) => {
            Some(Refusal::NotWritable { path: resolved.to_owned(), uid })
        }
        Err(error) => Some(Refusal::unreadable("check access to", resolved, error)),
    };
    let found = format!("user {uid} {}", if refusal.is_none() { "may" } else { "may not" });
    examination.check("not-writable", ("the directory may be written to", "may"), found, refusal);
}

fn check_absent(fd: &HeldDir, resolved: &Path, options: &Options, examination: &mut Examination) {
    let name = format!("{PREFIX}{}", options.run_id);
    let exists = rustix::fs::statat(fd, &name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let refusal = exists.then(|| Refusal::AlreadyThere { path: resolved.join(&name) });
    examination.check(
        "already-there",
        ("the run's own sub-directory does not exist", "absent"),
        format!("{name} {}", if exists { "exists" } else { "is absent" }),
        refusal,
    );
}

fn check_room(
    fd: &HeldDir,
    mut file_system: FileSystem,
    (options, adopted): (&Options, Option<&OwnedDir>),
    examination: &mut Examination,
) {
    let mut others = owned::scan(fd).unwrap_or_default();
    others.retain(|dir| adopted.is_none_or(|adopted| adopted.name != dir.name));
    let leftovers = owned::leftovers(&others);
    if leftovers.reserved > 0 {
        let live = others.iter().filter(|dir| dir.state != OwnerState::Dead).count();
        examination.warn(
            "leftovers",
            format!(
                "{} other tilemark directories ({live} perhaps in use) hold {} here",
                others.len(),
                Bytes::new(leftovers.reserved)
            ),
        );
    }
    file_system.facts.leftover_bytes = leftovers.reserved;
    let free = Bytes::new(file_system.facts.free_bytes);
    examination.preflight.file_system = Some(file_system.facts);
    examination.preflight.device = file_system.device.map(|device| device.facts());
    examination.preflight.write_bytes = examination.preflight.needed_bytes;
    // What is taken over is ours again: as if it were free, and at least as much as it has.
    let held = Bytes::new(adopted.map_or(0, |dir| dir.allocated));
    let (limit, rule) = space_limit(free + held, leftovers, options.space_max);
    check_space(examination, free, (limit.max(held), rule));
}

/// An open directory datastore. Dropping it leaves everything in place for `cleanup`.
#[derive(Debug)]
pub(crate) struct DirectoryStore {
    parent: HeldDir,
    name: CString,
    own: OwnDir,
    state: OwnDir,
    /// Held open and locked for as long as the run lives.
    marker: Held,
    /// Made by an earlier run: its disks are opened where they exist.
    is_adopted: bool,
    path: PathBuf,
    buffered: bool,
}

impl DirectoryStore {
    /// Creates the sub-directory, its marker and the state directory.
    pub fn create(
        examined: Examined,
        needed: Bytes,
        options: &Options,
    ) -> Result<Self, DatastoreError> {
        if let (Some(dir), Some(run_id)) = (examined.adopted, &options.adopt) {
            return Self::adopt(examined.dir, &examined.resolved, dir, (needed, run_id, options));
        }
        let name = CString::new(format!("{PREFIX}{}", options.run_id))
            .expect("a valid run id holds no NUL");
        let path = examined.resolved.join(name_path(&name));
        let fd = match held::make_dir(&examined.dir, &name) {
            Err(Errno::EXIST) => return Err(Refusal::AlreadyThere { path }.into()),
            made => made.map_err(|error| DatastoreError::io("create directory", &path, error))?,
        };
        let made = Self::furnish(HeldDir::of(fd, &path), needed, options)
            .map_err(|error| DatastoreError::io("create the marker in", &path, error));
        let (own, state, marker) = made.inspect_err(|_| {
            let _ = unlinkat(&examined.dir, &name, AtFlags::REMOVEDIR);
        })?;
        let (parent, buffered) = (examined.dir, options.buffered);
        Ok(Self { parent, name, own, state, marker, is_adopted: false, path, buffered })
    }

    fn adopt(
        parent: HeldDir,
        resolved: &Path,
        dir: OwnedDir,
        (needed, run_id, options): (Bytes, &str, &Options),
    ) -> Result<Self, DatastoreError> {
        let path = resolved.join(name_path(&dir.name));
        let (own, state, marker) = adopt::claim(&dir, needed, run_id, &path)?;
        let (name, buffered) = (dir.name, options.buffered);
        Ok(Self { parent, name, own, state, marker, is_adopted: true, path, buffered })
    }

    /// The marker first: without it nothing in here is known as ours.
    fn furnish(
        dir: HeldDir,
        needed: Bytes,
        options: &Options,
    ) -> std::io::Result<(OwnDir, OwnDir, Held)> {
        let mut marker = Held(held::create(&dir, MARKER_NEW)?);
        lock(&marker.0);
        marker.0.write_all(&Marker::new(&options.run_id, needed).to_bytes())?;
        marker.0.sync_all()?;
        held::rename(&dir, MARKER_NEW, MARKER_FILE)?;
        let own = OwnDir::over(dir)?;
        let state = own.sub(STATE)?;
        Ok((own, state, marker))
    }

    /// Where state beside the disks may be kept.
    pub fn state_dir(&self) -> &OwnDir {
        &self.state
    }

    /// Bytes that may be allocated now without touching the reserve.
    pub fn room(&self) -> Bytes {
        crate::file_system::room(&self.own)
    }

    /// The sub-directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether an earlier run made the sub-directory.
    pub const fn is_adopted(&self) -> bool {
        self.is_adopted
    }

    /// Opens a disk that an earlier run made; `None` if there is none of that name.
    pub fn adopt_disk(
        &self,
        request: &DiskRequest,
    ) -> Result<Option<(VirtualDisk, Vec<Warning>)>, DatastoreError> {
        if !self.is_adopted {
            return Ok(None);
        }
        let file_name = disk_file_name(&request.name)?;
        let path = self.path.join(name_path(&file_name));
        let Some(file) = adopt::open_disk(&self.own, &file_name, &path)? else { return Ok(None) };
        let has = fstat(&file).map_err(|error| DatastoreError::io("look at", &path, error))?;
        let has = Bytes::new(has.st_size.unsigned_abs());
        if has != request.size {
            let (disk, asked) = (request.name.clone(), request.size);
            return Err(DatastoreError::SizeChanged { disk, has, asked });
        }
        self.disk(file, request).map(Some)
    }

    /// Whether a disk of that name is in the sub-directory.
    pub fn has_disk(&self, disk: &str) -> bool {
        disk_file_name(disk).is_ok_and(|name| held::is_plain_file(&self.own, &name))
    }

    /// Whether `disk` is recorded as filled like this.
    pub fn is_filled(&self, disk: &VirtualDisk, fill: &Fill) -> bool {
        filled::read(&self.state, disk).is_some_and(|recorded| recorded.is_like(fill))
    }

    /// Records that all of `disk` is written and durable.
    pub fn record_filled(&self, disk: &VirtualDisk, fill: &Fill) -> Result<(), DatastoreError> {
        filled::write(&self.state, disk, fill).map_err(|error| {
            DatastoreError::io("record a filled disk in", self.state.path(), error)
        })
    }

    /// Creates one disk file with all its space.
    pub fn create_disk(
        &self,
        request: &DiskRequest,
    ) -> Result<(VirtualDisk, Vec<Warning>), DatastoreError> {
        let file_name = disk_file_name(&request.name)?;
        let path = self.path.join(name_path(&file_name));
        filled::erase(&self.state, &request.name);
        let file = self
            .own
            .create(&file_name)
            .map_err(|error| DatastoreError::io("create disk file", &path, error))?;
        let undo = |error| {
            let _ = held::unlink(&self.own, &file_name);
            error
        };
        let mut warnings: Vec<Warning> =
            reserve(&file, request, &path).map_err(undo)?.into_iter().collect();
        let (disk, warning) = self.disk(file, request).map_err(undo)?;
        warnings.extend(warning);
        Ok((disk, warnings))
    }

    fn disk(
        &self,
        file: File,
        request: &DiskRequest,
    ) -> Result<(VirtualDisk, Vec<Warning>), DatastoreError> {
        let (access, warning) =
            direct::choose(&file, &self.path.display().to_string(), self.buffered);
        if !request.size.get().is_multiple_of(u64::from(access.alignment)) {
            return Err(DatastoreError::SizeUnaligned {
                disk: request.name.clone(),
                size: request.size,
                alignment: access.alignment,
            });
        }
        let disk = VirtualDisk {
            file: Arc::new(file),
            base: 0,
            size: request.size,
            alignment: access.alignment,
            direct: access.direct,
            writable: true,
            name: request.name.clone(),
        };
        Ok((disk, warning.into_iter().collect()))
    }

    /// Removes everything this store created. A sub-directory that was renamed is emptied, and
    /// its new name stays.
    pub fn remove(self) -> (PathBuf, Removal) {
        drop(self.state);
        let place = (&*self.name, &*self.own);
        let removal = owned::remove(&self.parent, place, MARKER_FILE, Some(self.marker));
        (self.path, removal)
    }
}

/// Allocates the disk's space, or sets its size where the file system cannot allocate.
pub(crate) fn reserve(
    file: &File,
    request: &DiskRequest,
    path: &Path,
) -> Result<Option<Warning>, DatastoreError> {
    let size = request.size.get();
    match reserve_to(file, size) {
        Ok(warning) => Ok(warning.map(|id| {
            let place = path.parent().unwrap_or(path).display();
            let text = format!("the file system of {place} cannot allocate in advance, so it may fill up during the run");
            Warning::new(id, text)
        })),
        Err(Errno::NOSPC | Errno::DQUOT) => Err(DatastoreError::NoSpace {
            disk: request.name.clone(),
            size: request.size,
            path: path.to_owned(),
        }),
        Err(error) => Err(DatastoreError::io("allocate", path, error)),
    }
}

/// Grows `file` to `size` bytes; the id of a warning when the space is not reserved.
pub(crate) fn reserve_to(file: &File, size: u64) -> rustix::io::Result<Option<&'static str>> {
    if fstat(file)?.st_size.unsigned_abs() >= size && size > 0 {
        // Nothing is ever cut off; what exists may still be sparse.
        let allocated = fallocate(file, FallocateFlags::KEEP_SIZE, 0, size);
        return match allocated {
            Ok(()) => Ok(None),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Some("not-allocated")),
            Err(error) => Err(error),
        };
    }
    match fallocate(file, FallocateFlags::empty(), 0, size) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            rustix::fs::ftruncate(file, size)?;
            Ok(Some("not-allocated"))
        }
        other => other.map(|()| None),
    }
}
