//! Finds stored runs by name.

use std::path::{Path, PathBuf};

use run_store::rundir::{self, RunDirError, StoredRun};

use crate::exit::Exit;
use crate::failure::Failure;

/// Directory of stored runs.
pub fn base(out: Option<&Path>) -> Result<PathBuf, Failure> {
    match out {
        Some(path) => Ok(path.to_path_buf()),
        None => rundir::default_base().map_err(failure),
    }
}

/// A stored run by directory, name, `latest`, `latest~1`, `previous` or a part of its id.
pub fn open(out: Option<&Path>, name: &str) -> Result<StoredRun, Failure> {
    rundir::open(&base(out)?, name).map_err(failure)
}

/// Failure for a run directory that could not be read or written.
pub fn failure(error: RunDirError) -> Failure {
    let hint = error.hint();
    let exit = match error {
        RunDirError::NotFound { .. }
        | RunDirError::NothingEnded { .. }
        | RunDirError::FewerEnded { .. }
        | RunDirError::Ambiguous { .. } => Exit::Usage,
        _ => Exit::Failure,
    };
    Failure::from_error(exit, &error).hint(hint)
}
