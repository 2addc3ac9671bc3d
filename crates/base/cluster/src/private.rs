//! Directory that only this user can enter, and removal of such directories that killed processes
//! left.
//!
//! The owner holds a lock on the directory, which the kernel releases when the process ends for any
//! reason. A directory without a holder is a leftover. A process id would not be reliable, because
//! it may be reused.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

const PREFIX: &str = "tilemark-cluster-";

/// Private directory. Dropping it removes the directory.
#[derive(Debug)]
pub(crate) struct Private {
    directory: TempDir,
    _held: File,
}

impl Private {
    /// Creates a directory among temporary files, and removes the directories that killed processes
    /// of this user left there.
    pub fn make() -> io::Result<Self> {
        Self::make_in(&std::env::temp_dir())
    }

    fn make_in(parent: &Path) -> io::Result<Self> {
        remove_stale_in(parent);
        loop {
            let own = Permissions::from_mode(0o700);
            let directory =
                tempfile::Builder::new().prefix(PREFIX).permissions(own).tempdir_in(parent)?;
            // Another process that removes leftovers may have taken the lock first.
            if let Some(held) = held(directory.path()) {
                return Ok(Self { directory, _held: held });
            }
        }
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes directories that killed processes of this user left among temporary files. Returns their
/// number.
pub fn remove_stale() -> usize {
    remove_stale_in(&std::env::temp_dir())
}

fn remove_stale_in(parent: &Path) -> usize {
    let Ok(found) = fs::read_dir(parent) else { return 0 };
    let names = found
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)));
    names.filter(|entry| remove_one(&entry.path())).count()
}

/// Removes a directory of this user if no process holds its lock. Returns true if it was removed.
fn remove_one(path: &Path) -> bool {
    let is_ours = fs::symlink_metadata(path).is_ok_and(|status| {
        status.is_dir()
            && status.uid() == rustix::process::geteuid().as_raw()
            && status.mode().trailing_zeros() >= 6
    });
    let held = is_ours.then(|| held(path)).flatten();
    held.is_some() && fs::remove_dir_all(path).is_ok()
}

/// Locks an existing directory. Returns `None` if another process holds the lock.
fn held(path: &Path) -> Option<File> {
    let directory = File::open(path).ok()?;
    flock(&directory, FlockOperation::NonBlockingLockExclusive).ok()?;
    let (own, there) = (directory.metadata().ok()?, fs::symlink_metadata(path).ok()?);
    ((own.dev(), own.ino()) == (there.dev(), there.ino())).then_some(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_private_directories_are_removed_and_held_ones_stay() {
        let parent = tempfile::tempdir().expect("a directory");
        let live = Private::make_in(parent.path()).expect("made");
        let path = |name: &str| parent.path().join(name);
        let mode = fs::metadata(live.path()).expect("it is there").mode();
        assert_eq!(mode & 0o777, 0o700, "whatever the umask is");
        for name in ["tilemark-cluster-killed", "tilemark-cluster-open", "tilemark-other"] {
            fs::create_dir(path(name)).expect("made");
            fs::set_permissions(path(name), Permissions::from_mode(0o700)).expect("set");
        }
        let open = Permissions::from_mode(0o755);
        fs::set_permissions(path("tilemark-cluster-open"), open).expect("set");
        fs::write(path("tilemark-cluster-killed/p"), "secret").expect("written");
        std::os::unix::fs::symlink(path("tilemark-other"), path("tilemark-cluster-link"))
            .expect("a link");
        assert_eq!(remove_stale_in(parent.path()), 1);
        assert!(!path("tilemark-cluster-killed").exists());
        for name in ["tilemark-cluster-open", "tilemark-other", "tilemark-cluster-link"] {
            assert!(path(name).exists(), "{name}");
        }
        let own = live.path().to_owned();
        assert!(own.is_dir());
        drop(live);
        assert!(!own.exists());
    }
}
