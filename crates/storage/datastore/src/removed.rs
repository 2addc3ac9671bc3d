use std::ffi::CStr;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::DatastoreError;
use crate::held::HeldDir;
use crate::made::{OwnDir, Removal};

/// Result of a removal.
#[derive(Debug, Clone, Default)]
pub struct Removed {
    /// Paths of removed directories and files, and of devices whose label was erased.
    pub removed: Vec<PathBuf>,
    /// Objects of others in a directory of Tilemark. They stay, and so does the directory.
    pub kept: Vec<PathBuf>,
    /// Objects that the file system keeps while they are open elsewhere. The directory stays with
    /// them.
    pub lingering: Vec<PathBuf>,
    /// Errors of objects that could not be removed.
    pub failed: Vec<DatastoreError>,
}

impl Removed {
    /// Returns the result of removing one object.
    pub(crate) fn one(removed: Result<Option<PathBuf>, DatastoreError>) -> Self {
        match removed {
            Ok(path) => Self { removed: path.into_iter().collect(), ..Self::default() },
            Err(error) => Self { failed: vec![error], ..Self::default() },
        }
    }

    /// Also removes a directory of Tilemark beside the target.
    pub fn outside(&mut self, dir: OwnDir, parent: &HeldDir, name: &CStr) {
        let path = dir.path().to_owned();
        self.and(Self::directory(path, dir.remove(parent, name)));
    }

    /// Adds the result of another removal.
    pub fn and(&mut self, also: Self) {
        self.removed.extend(also.removed);
        self.kept.extend(also.kept);
        self.lingering.extend(also.lingering);
        self.failed.extend(also.failed);
    }

    /// Returns the result of removing a directory of Tilemark.
    pub(crate) fn directory(path: PathBuf, removal: Removal) -> Self {
        let all = |names: Vec<PathBuf>| names.iter().map(|name| path.join(name)).collect();
        let is_complete = removal.is_complete();
        Self {
            kept: all(removal.kept),
            lingering: all(removal.lingering),
            failed: failures(&path, removal.failed),
            removed: if is_complete { vec![path] } else { Vec::new() },
        }
    }
}

/// Converts failures inside a directory into errors.
pub(crate) fn failures(path: &Path, failed: Vec<(PathBuf, Errno)>) -> Vec<DatastoreError> {
    let error = |(name, error)| DatastoreError::io("remove", path.join(name), error);
    failed.into_iter().map(error).collect()
}
