//! Marker of a file target: an extended attribute of the file, or, if the file system has none, a
//! file beside it that names the inode.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags, XattrFlags, fgetxattr, fremovexattr, fsetxattr, fstat};
use rustix::io::Errno;

use crate::held;
use crate::owner::Marker;

const ATTRIBUTE: &CStr = c"user.tilemark";
/// Suffix that is appended to the file's name for a marker beside it.
const BESIDE: &str = ".tilemark-owner.json";
const BYTES_MAX: usize = 64 << 10;

/// Reads the valid marker of the open `file` called `name` in `dir`.
pub(crate) fn read(dir: impl AsFd, name: &CStr, file: impl AsFd) -> Option<Marker> {
    let mut bytes = vec![0; BYTES_MAX];
    match fgetxattr(&file, ATTRIBUTE, &mut bytes[..]) {
        Ok(length) => Marker::parse(bytes.get(..length)?),
        Err(_) => read_beside(dir, name, file),
    }
}

fn read_beside(dir: impl AsFd, name: &CStr, file: impl AsFd) -> Option<Marker> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let beside = File::from(held::open_at(dir, &beside(name, ""), flags, Mode::empty()).ok()?);
    let mut bytes = Vec::new();
    beside.take(BYTES_MAX as u64).read_to_end(&mut bytes).ok()?;
    let marker = Marker::parse(&bytes)?;
    // A marker that was copied or outlived its file says nothing about this inode.
    (marker.inode == Some(inode(file).ok()?)).then_some(marker)
}

fn beside(name: &CStr, suffix: &str) -> CString {
    let bytes = [name.to_bytes(), BESIDE.as_bytes(), suffix.as_bytes()].concat();
    CString::new(bytes).expect("a file name holds no NUL")
}

fn inode(file: impl AsFd) -> rustix::io::Result<(u64, u64)> {
    let found = fstat(file)?;
    Ok((found.st_dev, found.st_ino))
}

/// Marks the open `file` called `name` in `dir`. An existing marker is replaced.
pub(crate) fn write(
    dir: impl AsFd,
    name: &CStr,
    file: impl AsFd,
    marker: &Marker,
) -> rustix::io::Result<()> {
    match write_attribute(&file, marker) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => {
            let marker = Marker { inode: Some(inode(file)?), ..marker.clone() };
            write_beside(dir, name, &marker)
        }
        other => other,
    }
}

/// Writes the marker like [`write()`], but only as an attribute.
pub(crate) fn write_attribute(file: impl AsFd, marker: &Marker) -> rustix::io::Result<()> {
    fsetxattr(file, ATTRIBUTE, &marker.to_bytes(), XattrFlags::empty())
}

fn write_beside(dir: impl AsFd, name: &CStr, marker: &Marker) -> rustix::io::Result<()> {
    let new = beside(name, ".new");
    let mut file = held::create(&dir, &new)?;
    file.write_all(&marker.to_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    held::rename(dir, &new, &beside(name, ""))
}

/// Removes the marker of a file that stays, or the marker file of a file that is gone.
pub(crate) fn erase(dir: impl AsFd, name: &CStr, file: impl AsFd) {
    if read_beside(&dir, name, &file).is_some() {
        let _ = held::unlink(dir, &beside(name, ""));
    }
    let _ = fremovexattr(file, ATTRIBUTE);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use units::Bytes;

    fn directory() -> (tempfile::TempDir, OwnedFd) {
        let dir = tempfile::tempdir().expect("temporary directory");
        let fd = OwnedFd::from(File::open(dir.path()).expect("open"));
        (dir, fd)
    }

    #[test]
    fn a_marker_beside_the_file_holds_only_for_that_inode() {
        let (dir, fd) = directory();
        let file = File::create(dir.path().join("disk")).expect("create");
        let marker = Marker {
            inode: Some(inode(&file).expect("inode")),
            ..Marker::new("run-1", Bytes::MIB)
        };
        write_beside(&fd, c"disk", &marker).expect("marker");
        assert_eq!(read_beside(&fd, c"disk", &file), Some(marker));
        // The file was replaced: the file there now is not Tilemark's.
        std::fs::rename(dir.path().join("disk"), dir.path().join("gone")).expect("rename");
        let other = File::create(dir.path().join("disk")).expect("create");
        assert_eq!(read_beside(&fd, c"disk", &other), None);
    }

    #[test]
    fn a_marker_is_written_read_and_erased() {
        let (dir, fd) = directory();
        let file = File::create(dir.path().join("disk")).expect("create");
        assert_eq!(read(&fd, c"disk", &file), None);
        write(&fd, c"disk", &file, &Marker::new("run-1", Bytes::MIB)).expect("marker");
        assert_eq!(read(&fd, c"disk", &file).map(|marker| marker.run_id), Some("run-1".into()));
        erase(&fd, c"disk", &file);
        assert_eq!(read(&fd, c"disk", &file), None);
        let names: Vec<_> = std::fs::read_dir(dir.path()).expect("list").collect();
        assert_eq!(names.len(), 1);
    }
}
