//! Pictures of added events.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Name of the subdirectory for the pictures of added events.
pub const UPLOADS: &str = "uploads";

/// Returns the file name of an uploaded picture.
pub(crate) fn name(event: u32) -> PathBuf {
    PathBuf::from(format!("{event}.picture"))
}

/// Writes a picture and makes it durable. Olio did not sync pictures, but a site that keeps its
/// users' data does.
///
/// # Errors If a step failed. The picture may exist in this case, but no row refers to it.
pub(crate) fn keep(directory: &Path, event: u32, bytes: &[u8]) -> io::Result<()> {
    let part = directory.join(format!("{event}.part"));
    let mut file = File::create_new(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&part, directory.join(name(event)))?;
    // Without this the name may be lost with the host's power though the content is durable.
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_picture_has_its_bytes_and_leaves_no_part() {
        let directory = tempfile::tempdir().expect("a directory");
        keep(directory.path(), 31, b"picture").expect("kept");
        let names: Vec<_> = fs::read_dir(directory.path()).expect("a list").flatten().collect();
        assert_eq!(names.len(), 1);
        assert_eq!(fs::read(directory.path().join(name(31))).expect("a file"), b"picture");
        assert!(keep(&directory.path().join("none"), 1, b"").is_err());
    }
}
