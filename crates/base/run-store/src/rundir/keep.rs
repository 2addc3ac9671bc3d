use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::{RunDirError, StoredRun};

/// What the name of the mark ends in that keeps a run from being removed.
const KEPT: &str = ".kept";

/// The mark, an empty file beside the run's directory: nothing in a finished run ever changes.
fn mark(run: &StoredRun) -> PathBuf {
    run.path().with_file_name(format!("{}{KEPT}", run.id()))
}

/// Whether a run is kept.
pub fn is_kept(run: &StoredRun) -> bool {
    mark(run).exists()
}

/// Keeps a run from being removed, or no longer.
///
/// # Errors
///
/// When the mark cannot be made or removed.
pub fn keep(run: &StoredRun, kept: bool) -> Result<(), RunDirError> {
    let path = mark(run);
    if kept {
        return fs::write(&path, "").map_err(RunDirError::io("marking", &path));
    }
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(RunDirError::io("removing", &path)(error))
        }
        _ => Ok(()),
    }
}
