//! Safe access to files in directories of the servers' user, for a process that may run as root.
//!
//! The servers' user may put links, pipes or devices there. They are neither followed nor opened.
//! Otherwise root could read or write another user's file, or wait forever.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file for reading.
///
/// # Errors
/// It is not a regular file (for example a link), or cannot be opened.
pub fn read(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().read(true), path)
}

/// Opens a regular file for appending, and creates it for its owner alone if it does not exist.
///
/// # Errors
/// As [`read`].
pub fn append(path: &Path) -> io::Result<File> {
    open(OpenOptions::new().append(true).create(true).mode(0o600), path)
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
        for name in ["link", "pipe", "."] {
            assert!(read(&path(name)).is_err() && append(&path(name)).is_err(), "{name}");
        }
        assert!(read(&path("none")).is_err());
        for name in ["file", "none"] {
            assert!(append(&path(name)).is_ok() && read(&path(name)).is_ok(), "{name}");
        }
    }
}
