//! Access to files below a directory. The only way is a name in an open directory, which the kernel
//! resolves without leaving the directory and without following a link (openat2(2), Linux 5.6).

use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, mkdirat, openat2, statat,
    unlinkat,
};
use rustix::io::Errno;

use crate::object::{kind_word, reopen};

const RESOLVE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// Directory held open. Files in it are reached through the descriptor, even if the directory is
/// renamed. The path is only for messages.
#[derive(Debug, Clone)]
pub struct HeldDir {
    fd: Arc<OwnedFd>,
    path: PathBuf,
}

impl HeldDir {
    /// Opens the directory at a path. Symbolic links in this path are followed; later names follow
    /// none.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let fd = rustix::fs::open(path, DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self::of(fd, path))
    }

    pub(crate) fn of(fd: OwnedFd, path: impl Into<PathBuf>) -> Self {
        Self { fd: Arc::new(fd), path: path.into() }
    }

    /// Returns a copy of the handle that has another path in messages.
    pub(crate) fn shown_as(&self, path: &Path) -> Self {
        Self { fd: Arc::clone(&self.fd), path: path.to_owned() }
    }

    /// Returns the path that the directory had when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names in the directory, without `.` and `..`, sorted.
    pub fn names(&self) -> std::io::Result<Vec<CString>> {
        Ok(entries(self)?)
    }

    /// Opens a sub-directory.
    pub fn open_dir(&self, name: &CStr) -> std::io::Result<Self> {
        Ok(Self::of(open_dir(self, name)?, self.path.join(name_path(name))))
    }

    /// Opens a file for reading and writing: a regular file without further hard links, on the file
    /// system of the directory. Anything else is an error, and is not opened.
    pub fn open_file(&self, name: &CStr) -> std::io::Result<File> {
        open_plain(self, name, OFlags::RDWR).map_err(|found| match found {
            NotPlain::Error(error) => error.into(),
            NotPlain::Kind(found) => {
                let path = self.path.join(name_path(name));
                let text = format!(
                    "{} is a {found}, not a regular file without further hard links",
                    path.display()
                );
                std::io::Error::new(std::io::ErrorKind::InvalidInput, text)
            }
        })
    }

    /// Removes a name from the directory. The name must not lead to a directory.
    pub fn remove(&self, name: &CStr) -> std::io::Result<()> {
        Ok(unlink(self, name)?)
    }
}

/// Compares the descriptors: two openings of the same directory are different.
impl PartialEq for HeldDir {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.fd, &other.fd)
    }
}

impl AsFd for HeldDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Opens `name` beneath `dir`, following no link.
pub(crate) fn open_at(
    dir: impl AsFd,
    name: &CStr,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::io::retry_on_intr(|| openat2(&dir, name, flags, mode, RESOLVE))
}

/// Returns true if openat2 is available: the kernel has it, and no system call filter blocks it.
pub(crate) fn can_open_beneath(dir: impl AsFd) -> bool {
    !matches!(open_at(dir, c".", OFlags::PATH, Mode::empty()), Err(Errno::NOSYS | Errno::PERM))
}

pub(crate) fn open_dir(dir: impl AsFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    open_at(dir, name, DIRECTORY, Mode::empty())
}

/// Creates a directory that must not exist, accessible only for its owner, and opens it.
pub(crate) fn make_dir(dir: impl AsFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    mkdirat(&dir, single(name)?, Mode::RWXU)?;
    open_dir(dir, name)
}

/// Creates a file that must not exist, readable and writable by its owner.
pub(crate) fn create(dir: impl AsFd, name: &CStr) -> rustix::io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
    open_at(dir, single(name)?, flags, Mode::RUSR | Mode::WUSR).map(File::from)
}

pub(crate) fn unlink(dir: impl AsFd, name: &CStr) -> rustix::io::Result<()> {
    unlinkat(dir, single(name)?, AtFlags::empty())
}

/// Renames `from` to `to` in the same directory.
pub(crate) fn rename(dir: impl AsFd, from: &CStr, to: &CStr) -> rustix::io::Result<()> {
    rustix::fs::renameat(&dir, single(from)?, &dir, single(to)?)
}

/// Reason why a file is not opened.
pub(crate) enum NotPlain {
    /// The entry is not a regular file; text of its type.
    Kind(&'static str),
    /// The system returned an error.
    Error(Errno),
}

/// Opens a file after checking that it is a regular file without further hard links, on the file
/// system of its directory. Any other object with this name is never opened.
pub(crate) fn open_plain(dir: impl AsFd, name: &CStr, flags: OFlags) -> Result<File, NotPlain> {
    let node = open_at(&dir, name, OFlags::PATH, Mode::empty()).map_err(|error| match error {
        Errno::LOOP => NotPlain::Kind(kind_word(FileType::Symlink)),
        error => NotPlain::Error(error),
    })?;
    let found = fstat(&node).map_err(NotPlain::Error)?;
    is_plain(&found).map_err(NotPlain::Kind)?;
    if found.st_dev != fstat(&dir).map_err(NotPlain::Error)?.st_dev {
        return Err(NotPlain::Kind("file of another file system"));
    }
    reopen(node, flags).map_err(NotPlain::Error)
}

/// Checks that the object is a regular file without further hard links. The error is a text of its
/// type.
pub(crate) fn is_plain(found: &Stat) -> Result<(), &'static str> {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile if found.st_nlink == 1 => Ok(()),
        FileType::RegularFile => Err("file with several hard links"),
        FileType::Symlink => Err("symbolic link"),
        other => Err(kind_word(other)),
    }
}

/// Returns the status of the entry with this name. Links are not followed.
pub(crate) fn look(dir: impl AsFd, name: &CStr) -> rustix::io::Result<Stat> {
    statat(dir, single(name)?, AtFlags::SYMLINK_NOFOLLOW)
}

pub(crate) fn is_plain_file(dir: impl AsFd, name: &CStr) -> bool {
    look(dir, name)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
}

/// Returns true if `name` leads to the open `object`.
pub(crate) fn is_named(dir: impl AsFd, name: &CStr, object: impl AsFd) -> bool {
    matches!((look(dir, name), fstat(object)), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}

/// Returns the names in a directory, without `.` and `..`.
pub(crate) fn entries(dir: impl AsFd) -> rustix::io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Converts a name into a path, for messages.
pub(crate) fn name_path(name: &CStr) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()))
}

/// Checks that a name has only one component. Calls without resolve flags follow no link in the
/// last component, so such a name cannot lead out of the directory.
pub(crate) fn single(name: &CStr) -> rustix::io::Result<&CStr> {
    match name.to_bytes() {
        b"" | b"." | b".." => Err(Errno::INVAL),
        bytes if bytes.contains(&b'/') => Err(Errno::INVAL),
        _ => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn neither_a_link_nor_a_way_out_is_followed() {
        let outside = tempfile::tempdir().expect("temporary directory");
        std::fs::write(outside.path().join("f"), "foreign").expect("file");
        let dir = tempfile::tempdir().expect("temporary directory");
        symlink(outside.path(), dir.path().join("way")).expect("link");
        symlink(outside.path().join("f"), dir.path().join("f")).expect("link");
        let held = HeldDir::open(dir.path()).expect("open");
        for name in [c"f", c"way/f", c"../f", c"/etc/passwd"] {
            assert!(held.open_file(name).is_err(), "{name:?}");
            assert!(create(&held, name).is_err(), "{name:?}");
        }
        assert!(held.open_dir(c"way").is_err() && held.open_dir(c"..").is_err());
        assert!(held.remove(c"way/f").is_err());
        assert_eq!(std::fs::read(outside.path().join("f")).expect("read"), b"foreign");
    }

    #[test]
    fn a_fifo_or_a_second_name_is_refused_without_being_opened() {
        let dir = tempfile::tempdir().expect("temporary directory");
        std::fs::write(dir.path().join("f"), "x").expect("file");
        std::fs::hard_link(dir.path().join("f"), dir.path().join("g")).expect("link");
        let held = HeldDir::open(dir.path()).expect("open");
        rustix::fs::mknodat(&held, c"p", FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("fifo");
        for (name, what) in [(c"g", "several hard links"), (c"p", "fifo")] {
            let error = held.open_file(name).expect_err("refused").to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
