//! Location of a file that exists or is to be created. Every path is resolved only once; reads
//! only.

use std::ffi::CString;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, open, statat};
use rustix::io::Errno;

use super::marker;
use crate::device_number::DeviceNumber;
use crate::held::name_path;
use crate::object::{kind_word, reopen, resolved};
use crate::owner::Marker;
use crate::place::{DeviceOrFile, FileId};
use crate::{Options, Refusal};

/// Location of a file that exists or is to be created; directory and file are held open.
#[derive(Debug)]
pub(super) struct Located {
    pub dir: OwnedFd,
    pub name: CString,
    /// Path as given by the user.
    pub asked: PathBuf,
    /// Path after all symbolic links were resolved.
    pub path: PathBuf,
    pub existing: Option<Existing>,
}

/// Existing file, open for reading.
#[derive(Debug)]
pub(super) struct Existing {
    pub file: File,
    pub stat: Stat,
    pub marker: Option<Marker>,
}

/// Locates the file or the place for it. Checks no rule except the file type.
pub(super) fn locate(path: &Path, options: &Options) -> Result<Located, Refusal> {
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

fn locate_existing(path: &Path, node: &OwnedFd) -> Result<Located, Refusal> {
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
    let marker = marker::read(&dir, &name, &file);
    let existing = Some(Existing { file, stat, marker });
    Ok(Located { dir, name, asked: path.to_owned(), path: resolved, existing })
}

fn locate_new(path: &Path) -> Result<Located, Refusal> {
    let absolute =
        std::path::absolute(path).map_err(|error| Refusal::unreadable("resolve", path, error))?;
    let (dir, name) = open_parent(&absolute)?;
    let asked = path.to_owned();
    let path = resolved(&dir, path).join(name_path(&name));
    Ok(Located { dir, name, asked, path, existing: None })
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

/// Returns device and inode, which identify a file under any name.
pub(super) fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

impl Existing {
    /// Returns the identity of the file, for a comparison with devices and files that share its
    /// blocks.
    pub fn place(&self) -> DeviceOrFile {
        let device = DeviceNumber::from_packed(self.stat.st_dev);
        DeviceOrFile::File(FileId { device, inode: self.stat.st_ino })
    }
}
