use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{MemfdFlags, Mode, OFlags, fstatvfs, memfd_create, open, openat};
use units::Bytes;

use crate::error::LabError;

/// Storage of the files' bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backing {
    /// Anonymous memory of this process.
    Memory,
    /// Unnamed files in this directory.
    Directory(PathBuf),
}

/// Stores bytes in unnamed files, which need no cleanup.
#[derive(Debug)]
pub struct Files {
    /// Directory of the files; `None` for memory.
    dir: Option<OwnedFd>,
    path: PathBuf,
}

impl Files {
    /// Opens a backing and checks that files can be created in it.
    pub fn new(backing: &Backing) -> Result<Self, LabError> {
        let path = match backing {
            Backing::Memory => Path::new("memory"),
            Backing::Directory(path) => path,
        };
        let error = |found: rustix::io::Errno| LabError::Backing {
            path: path.to_owned(),
            source: found.into(),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = match backing {
            Backing::Memory => None,
            Backing::Directory(path) => Some(open(path, flags, Mode::empty()).map_err(error)?),
        };
        let files = Self { dir, path: path.to_owned() };
        files.make().map_err(|source| LabError::Backing { path: path.to_owned(), source })?;
        Ok(files)
    }

    /// Makes an empty file.
    pub fn make(&self) -> std::io::Result<File> {
        let Some(dir) = &self.dir else {
            return Ok(File::from(memfd_create("tilemark-lab", MemfdFlags::CLOEXEC)?));
        };
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(File::from(openat(dir, c".", flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Returns the available bytes: free space of the directory, or memory without swapping
    /// (`MemAvailable`).
    pub fn room(&self) -> Result<Bytes, LabError> {
        let found = match &self.dir {
            Some(dir) => fstatvfs(dir)
                .map(|space| Bytes::new(space.f_bavail.saturating_mul(space.f_frsize)))
                .map_err(std::io::Error::from),
            None => std::fs::read_to_string("/proc/meminfo").map(|text| available(&text)),
        };
        found.map_err(|source| LabError::Backing { path: self.path.clone(), source })
    }
}

/// Parses the available memory in `/proc/meminfo`; zero if absent.
fn available(text: &str) -> Bytes {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Bytes::new(kib.unwrap_or(0).saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn files_have_no_name_in_the_backing_directory() {
        let dir = tempfile::tempdir().expect("a directory");
        let files = Files::new(&Backing::Directory(dir.path().to_owned())).expect("opens");
        let file = files.make().expect("a file");
        file.write_all_at(b"bytes", 1 << 20).expect("writes");
        assert_eq!(std::fs::read_dir(dir.path()).expect("reads").count(), 0);
        assert!(files.room().expect("room") > Bytes::MIB);
    }

    #[test]
    fn what_is_no_directory_is_refused_with_its_path() {
        let error =
            Files::new(&Backing::Directory("/proc/self/status".into())).expect_err("a file");
        assert!(error.to_string().contains("/proc/self/status"), "{error}");
    }

    #[test]
    fn available_memory_is_what_the_kernel_says() {
        assert_eq!(available("MemFree: 1 kB\nMemAvailable:   2048 kB\n"), Bytes::MIB * 2);
        assert_eq!(available("MemFree: 1 kB\n"), Bytes::ZERO);
    }
}
