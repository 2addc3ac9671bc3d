use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use super::{RunDirError, StoredRun};

/// Suffix of the mark that protects a run from removal.
const KEPT: &str = ".kept";

/// Returns the path of the mark. The mark is an empty file beside the run's directory, because a
/// finished run is never changed.
fn mark(run: &StoredRun) -> PathBuf {
    run.path().with_file_name(format!("{}{KEPT}", run.id()))
}

/// Returns true if the run has the mark.
pub fn is_kept(run: &StoredRun) -> bool {
    mark(run).exists()
}

/// Sets or removes the mark that protects a run from removal.
///
/// # Errors
///
/// If the mark cannot be created or removed.
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
