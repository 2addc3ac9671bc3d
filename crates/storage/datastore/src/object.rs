//! File types, resolved paths and reopening of file system objects.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, open, stat};

/// Returns the type of the object at a path, in words.
pub(crate) fn kind_of(path: &Path) -> &'static str {
    match stat(path) {
        Ok(found) => kind_word(FileType::from_raw_mode(found.st_mode)),
        Err(_) => "path through a file",
    }
}

pub(crate) fn kind_word(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "regular file",
        FileType::Directory => "directory",
        FileType::BlockDevice => "block device",
        FileType::CharacterDevice => "character device",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::Symlink => "symbolic link",
        FileType::Unknown => "file of unknown type",
    }
}

/// Returns the path of an open object after all symbolic links, as the kernel reports it.
pub(crate) fn resolved(object: impl AsFd, path: &Path) -> PathBuf {
    let link = format!("/proc/self/fd/{}", object.as_fd().as_raw_fd());
    std::fs::read_link(link).unwrap_or_else(|_| path.to_owned())
}

/// Opens the inode that `node` holds, even if its path now leads elsewhere.
pub(crate) fn reopen(node: impl AsFd, flags: OFlags) -> rustix::io::Result<File> {
    let path = format!("/proc/self/fd/{}", node.as_fd().as_raw_fd());
    open(path, flags | OFlags::CLOEXEC, Mode::empty()).map(File::from)
}
