//! Files in directories of the servers' user, opened by a process that may be root's.
//!
//! That user, or whoever else runs as it, may put links, pipes or devices there. None is followed or
//! opened: root would read or write a file of somebody else, or wait forever.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file to read.
///
/// # Errors
/// It is something else, a link among others, or cannot be opened.
pub fn read(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true), path)
}

/// Opens a regular file that exists, to append.
///
/// # Errors
/// As [`read`].
pub fn append(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().append(true), path)
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_pipes_are_not_opened() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("file"), "text").expect("written");
        std::os::unix::fs::symlink(path("file"), path("link")).expect("linked");
        let pipe = std::process::Command::new("mkfifo").arg(path("pipe")).status();
        assert!(pipe.expect("mkfifo").success());
        for name in ["link", "pipe", ".", "none"] {
            assert!(read(&path(name)).is_err() && append(&path(name)).is_err(), "{name}");
        }
        assert!(read(&path("file")).is_ok() && append(&path("file")).is_ok());
    }
}
