//! Directory of Tilemark with a list of the objects created in it: only listed objects are ever
//! removed.
//!
//! Each name is listed before the object is created, and again with its inode afterwards. If the
//! process dies in between, the name leads to nothing, to an empty file, or to an object that is
//! not Tilemark's.
//!
//! A tree is a directory that we created for other programs (a database server). All its content
//! counts as Tilemark's: it is removed whole, through no link and on no other file system.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read, Write};
use std::ops::Deref;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, OFlags, fstat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::held::{self, HeldDir, NotPlain};

/// File name of the list in every directory of Tilemark; `docs/formats/datastore.md` describes it.
pub(crate) const MADE_FILE: &CStr = c"made.jsonl";
/// Maximum size of a list that is read, in bytes: 100,000 names of the maximum length.
const LIST_MAX: u64 = 32 << 20;

/// Directory that we created, held open. Every object created in it is listed first.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnDir(HeldDir);

impl Deref for OwnDir {
    type Target = HeldDir;

    fn deref(&self) -> &HeldDir {
        &self.0
    }
}

impl AsFd for OwnDir {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl OwnDir {
    /// Creates a directory in `parent`. It must not exist.
    pub fn make(parent: &HeldDir, name: &CStr) -> std::io::Result<Self> {
        let fd = held::make_dir(parent, name)?;
        Self::over(HeldDir::of(fd, parent.path().join(held::name_path(name))))
    }

    /// Opens or creates the list in a directory that only Tilemark uses.
    pub fn over(dir: HeldDir) -> std::io::Result<Self> {
        match held::create(&dir, MADE_FILE) {
            Ok(_) | Err(Errno::EXIST) => Ok(Self(dir)),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates the sub-directory `name`, or opens it if it was created here before.
    pub fn sub(&self, name: &CStr) -> std::io::Result<Self> {
        match held::open_dir(self, name) {
            Err(Errno::NOENT) => {
                self.announce(name)?;
                let made = Self::make(self, name)?;
                self.list(name, &made)?;
                Ok(made)
            }
            found => Self::over(HeldDir::of(found?, self.path().join(held::name_path(name)))),
        }
    }

    /// Creates a directory for files of other programs. It must not exist.
    pub fn tree(&self, name: &CStr) -> std::io::Result<HeldDir> {
        if held::look(self, name).is_ok() {
            return Err(Errno::EXIST.into());
        }
        let line = Line { name: text(name)?, inode: None, is_tree: true };
        self.append(&line)?;
        let fd = held::make_dir(self, name)?;
        let inode = Some(fstat(&fd)?.st_ino);
        self.append(&Line { inode, ..line })?.sync_data()?;
        Ok(HeldDir::of(fd, self.path().join(held::name_path(name))))
    }

    /// Creates a file. It must not exist.
    pub fn create(&self, name: &CStr) -> std::io::Result<File> {
        if held::look(self, name).is_ok() {
            return Err(Errno::EXIST.into());
        }
        self.announce(name)?;
        let file = held::create(self, name)?;
        self.list(name, &file).inspect_err(|_| {
            let _ = held::unlink(self, name);
        })?;
        Ok(file)
    }

    /// Renames the open `file` from `from` to `to`. An existing file `to` is replaced.
    pub fn publish(&self, file: &File, from: &CStr, to: &CStr) -> std::io::Result<()> {
        self.list(to, file)?;
        Ok(held::rename(self, from, to)?)
    }

    /// Removes a file that was created here, that is, a file on the list. Returns an error, and
    /// keeps the file, if it is not on the list.
    pub fn unmake(&self, name: &CStr) -> std::io::Result<()> {
        match Listed::read(self)?.is_ours(self, name)? {
            Ours::File => Ok(held::unlink(self, name)?),
            Ours::Directory | Ours::Tree | Ours::No => {
                Err(std::io::Error::other("Tilemark did not make it"))
            }
        }
    }

    /// Removes the objects that were created in this directory. Removes the directory from `parent`
    /// if nothing else is in it.
    pub(crate) fn remove(self, parent: &HeldDir, name: &CStr) -> Removal {
        let mut removal = Removal::default();
        removal.directory(parent, name, &self.0, Path::new(""));
        removal
    }

    fn announce(&self, name: &CStr) -> std::io::Result<()> {
        self.append(&Line { name: text(name)?, inode: None, is_tree: false }).map(drop)
    }

    /// Lists an object with its inode, durably, so that objects with content are found after a
    /// power failure.
    fn list(&self, name: &CStr, object: impl AsFd) -> std::io::Result<()> {
        let inode = Some(fstat(object)?.st_ino);
        self.append(&Line { name: text(name)?, inode, is_tree: false })?.sync_data()
    }

    fn append(&self, line: &Line) -> std::io::Result<File> {
        let mut list = open_list(self, OFlags::WRONLY | OFlags::APPEND)?;
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        list.write_all(&bytes)?;
        Ok(list)
    }
}

fn text(name: &CStr) -> std::io::Result<String> {
    name.to_str().map(str::to_owned).map_err(|_| std::io::ErrorKind::InvalidFilename.into())
}

fn open_list(dir: impl AsFd, flags: OFlags) -> std::io::Result<File> {
    held::open_plain(dir, MADE_FILE, flags).map_err(|found| match found {
        NotPlain::Error(error) => error.into(),
        NotPlain::Kind(found) => std::io::Error::other(format!("made.jsonl is a {found}")),
    })
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    name: String,
    /// Inode of the object; absent before the object is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inode: Option<u64>,
    /// True for a directory whose entire content counts as Tilemark's.
    #[serde(default, rename = "tree", skip_serializing_if = "std::ops::Not::not")]
    is_tree: bool,
}

/// Objects that were made in a directory, by name.
#[derive(Debug, Default)]
struct Listed(HashMap<CString, MadeObject>);

#[derive(Debug, Default)]
struct MadeObject {
    inodes: Vec<u64>,
    is_tree: bool,
}

/// Maximum depth of directories that are removed in a tree; PostgreSQL's have four levels.
pub(crate) const DEPTH_MAX: u32 = 32;

/// Result of the check if we created an object.
#[derive(Debug, PartialEq, Eq)]
enum Ours {
    File,
    Directory,
    Tree,
    No,
}

impl Listed {
    fn read(dir: impl AsFd) -> std::io::Result<Self> {
        let mut bytes = Vec::new();
        match open_list(dir, OFlags::RDONLY) {
            Ok(list) => list.take(LIST_MAX).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        let mut listed = Self::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            // A line that a power failure cut off names nothing.
            let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
            let Ok(name) = CString::new(line.name) else { continue };
            if held::single(&name).is_ok() {
                let object = listed.0.entry(name).or_default();
                object.inodes.extend(line.inode);
                object.is_tree |= line.is_tree;
            }
        }
        Ok(listed)
    }

    fn is_ours(&self, dir: impl AsFd, name: &CStr) -> rustix::io::Result<Ours> {
        let Some(MadeObject { inodes, is_tree }) = self.0.get(name) else { return Ok(Ours::No) };
        let found = held::look(dir, name)?;
        let is_listed = inodes.contains(&found.st_ino);
        Ok(match FileType::from_raw_mode(found.st_mode) {
            // Without its inode it may be another's, and is removed only if it is empty.
            FileType::Directory if is_listed && *is_tree => Ours::Tree,
            FileType::Directory if is_listed || inodes.is_empty() => Ours::Directory,
            FileType::RegularFile if is_listed => Ours::File,
            FileType::RegularFile if inodes.is_empty() && found.st_size == 0 => Ours::File,
            _ => Ours::No,
        })
    }
}

/// Result of a removal.
#[derive(Debug, Default)]
pub(crate) struct Removal {
    /// Objects inside that we did not create. They stay, with all directories above them.
    pub kept: Vec<std::path::PathBuf>,
    /// Objects that were removed, but that the file system keeps under another name while they are
    /// open.
    pub lingering: Vec<std::path::PathBuf>,
    /// Objects that could not be removed, with the error.
    pub failed: Vec<(std::path::PathBuf, Errno)>,
}

impl Removal {
    /// Returns true if nothing is left.
    pub fn is_complete(&self) -> bool {
        self.kept.is_empty() && self.lingering.is_empty() && self.failed.is_empty()
    }

    /// Empties the open directory and removes it from `parent`.
    fn directory(&mut self, parent: impl AsFd, name: &CStr, dir: &HeldDir, shown: &Path) {
        if self.empty(dir, shown, &[]) && self.list_of(dir, shown) {
            self.removed_dir(parent, name, dir, shown);
        }
    }

    /// Removes the objects created in `dir`, except `last`. Returns true if nothing else is left.
    pub(crate) fn empty(&mut self, dir: &HeldDir, shown: &Path, last: &[&CStr]) -> bool {
        let before = self.count();
        match (Listed::read(dir), held::entries(dir)) {
            (Ok(listed), Ok(names)) => {
                for name in names.iter().filter(|name| !last.contains(&name.as_c_str())) {
                    if name.as_c_str() != MADE_FILE {
                        self.one(dir, name, &shown.join(held::name_path(name)), &listed);
                    }
                }
            }
            (Err(error), _) => {
                let error = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                self.failed.push((shown.join("made.jsonl"), error));
            }
            (_, Err(error)) => self.failed.push((shown.to_owned(), error)),
        }
        self.count() == before
    }

    fn one(&mut self, dir: &HeldDir, name: &CStr, shown: &Path, listed: &Listed) {
        if lingers(name) {
            return self.lingering.push(shown.to_owned());
        }
        match listed.is_ours(dir, name) {
            Ok(Ours::No) => self.kept.push(shown.to_owned()),
            Ok(Ours::File) => drop(self.gone(held::unlink(dir, name), shown)),
            Ok(Ours::Directory) => match dir.open_dir(name) {
                Ok(inner) => self.directory(dir, name, &inner, shown),
                Err(_) => self.kept.push(shown.to_owned()),
            },
            Ok(Ours::Tree) => {
                let Ok(device) = fstat(dir).map(|found| found.st_dev) else {
                    return self.kept.push(shown.to_owned());
                };
                self.tree(dir, name, (device, DEPTH_MAX), shown);
            }
            Err(error) => drop(self.gone(Err(error), shown)),
        }
    }

    /// Removes a directory with all its content. Another file system that is mounted in it stays.
    fn tree(&mut self, parent: &HeldDir, name: &CStr, limits: (u64, u32), shown: &Path) {
        let (device, depth) = limits;
        let Ok(dir) = parent.open_dir(name) else { return self.kept.push(shown.to_owned()) };
        let is_here = fstat(&dir).is_ok_and(|found| found.st_dev == device);
        let (Ok(names), true, true) = (held::entries(&dir), is_here, depth > 0) else {
            return self.kept.push(shown.to_owned());
        };
        for name in names {
            let shown = shown.join(held::name_path(&name));
            match held::look(&dir, &name) {
                Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {
                    self.tree(&dir, &name, (device, depth - 1), &shown);
                }
                Ok(_) if lingers(&name) => self.lingering.push(shown),
                Ok(_) => drop(self.gone(held::unlink(&dir, &name), &shown)),
                Err(error) => drop(self.gone(Err(error), &shown)),
            }
        }
        self.removed_dir(parent, name, &dir, shown);
    }

    /// Removes the list, as the last file of a directory.
    pub(crate) fn list_of(&mut self, dir: &HeldDir, shown: &Path) -> bool {
        self.gone(held::unlink(dir, MADE_FILE), &shown.join("made.jsonl"))
    }

    /// Removes an emptied directory, if its name still leads to it.
    pub(crate) fn removed_dir(
        &mut self,
        parent: impl AsFd,
        name: &CStr,
        dir: &HeldDir,
        shown: &Path,
    ) {
        if !held::is_named(&parent, name, dir) {
            // It was renamed: it is empty, and its new name is somebody's.
            return;
        }
        match held::single(name).and_then(|name| unlinkat(&parent, name, AtFlags::REMOVEDIR)) {
            Err(error @ (Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY)) => {
                self.rest(dir, shown, error);
            }
            result => drop(self.gone(result, shown)),
        }
    }

    /// Records the entries that kept a directory from being removed.
    fn rest(&mut self, dir: &HeldDir, shown: &Path, error: Errno) {
        let names = held::entries(dir).unwrap_or_default();
        if names.is_empty() {
            self.failed.push((shown.to_owned(), error));
        }
        let (lingering, others): (Vec<_>, Vec<_>) = names.iter().partition(|name| lingers(name));
        let shown = |name: &&CString| shown.join(held::name_path(name));
        self.lingering.extend(lingering.iter().map(shown));
        self.kept.extend(others.iter().map(shown));
    }

    /// Records the result of a removal. An object that is already gone counts as removed. Returns
    /// false on an error.
    pub(crate) fn gone(&mut self, result: rustix::io::Result<()>, shown: &Path) -> bool {
        match result {
            Ok(()) | Err(Errno::NOENT) => true,
            Err(error) => {
                self.failed.push((shown.to_owned(), error));
                false
            }
        }
    }

    fn count(&self) -> usize {
        self.kept.len() + self.lingering.len() + self.failed.len()
    }
}

/// Returns true for names under which NFS and FUSE keep a removed file that is still open: `.nfs`
/// and digits (Linux `fs/nfs/unlink.c`), `.fuse_hidden` and digits (libfuse, `hidden_name`). Such
/// files disappear when they are closed, so we never remove them.
pub(crate) fn lingers(name: &CStr) -> bool {
    let is_hex = |rest: &[u8]| !rest.is_empty() && rest.iter().all(u8::is_ascii_hexdigit);
    let name = name.to_bytes();
    [&b".nfs"[..], b".fuse_hidden"]
        .iter()
        .any(|prefix| name.strip_prefix(*prefix).is_some_and(is_hex))
}
