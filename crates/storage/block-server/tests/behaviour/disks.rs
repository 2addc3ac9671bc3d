//! Servers to try things on.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tilemark_block_server::{
    Access, Disk, FileDisk, Limits, Listen, ListenAddress, RamDisk, Running, start,
};

/// A server on a socket in a directory of its own.
pub(crate) struct Served {
    pub running: Running,
    pub directory: TempDir,
}

impl Served {
    pub fn of(disks: Vec<Box<dyn Disk>>, limits: Limits) -> Self {
        // Paths of sockets are short, and that of a build may be long.
        let directory = TempDir::new().unwrap();
        let listen = [unix(&directory.path().join("s"))];
        Self { running: start(disks, &listen, limits).unwrap(), directory }
    }

    pub fn ram(size: u64) -> Self {
        Self::of(vec![ram("vm", size)], Limits::default())
    }

    pub fn place(&self) -> &ListenAddress {
        &self.running.places()[0]
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("s")
    }

    /// Address of an export for other programs.
    pub fn uri(&self, export: &str) -> String {
        format!("nbd+unix:///{export}?socket={}", self.socket().display())
    }
}

/// On the disk of the build, not in memory: direct I/O can be had there.
pub(crate) fn directory() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

pub(crate) fn unix(path: &Path) -> Listen {
    Listen { place: ListenAddress::Unix(path.to_owned()), tls: None }
}

pub(crate) fn ram(name: &str, size: u64) -> Box<dyn Disk> {
    Box::new(RamDisk::new(name, size).unwrap())
}

/// A file of so many zeroes, and a disk of it.
pub(crate) fn file(path: &Path, size: u64, access: Access) -> Box<dyn Disk> {
    std::fs::File::create(path).unwrap().set_len(size).unwrap();
    Box::new(FileDisk::open("vm", path, access).unwrap())
}
