//! Virtual disks on plain files.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use datastore::{HeldDir, OwnDir, VirtualDisk};
use units::Bytes;

/// A disk of its own file, with `O_DIRECT` where the file system has it.
pub fn on_file(path: &Path, name: &str, size: Bytes) -> VirtualDisk {
    let open = |flags| {
        OpenOptions::new().read(true).write(true).create(true).custom_flags(flags).open(path)
    };
    let (file, direct) = match open(libc::O_DIRECT) {
        Ok(file) => (file, true),
        Err(_) => (open(0).unwrap(), false),
    };
    if file.metadata().unwrap().len() < size.get() {
        file.set_len(size.get()).unwrap();
    }
    VirtualDisk {
        file: Arc::new(file),
        base: 0,
        size,
        alignment: 4096,
        direct,
        writable: true,
        name: name.to_owned(),
    }
}

/// A directory for verification state, as one that a run made.
pub fn own(path: &Path) -> OwnDir {
    OwnDir::over(HeldDir::open(path).unwrap()).unwrap()
}
