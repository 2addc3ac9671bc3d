use std::fs::{self, DirEntry};
use std::path::Path;

use super::{RunDirError, State, StoredRun};
use crate::files;

/// Deletes a run. Returns an error for a live run, a run with the keep mark, and a directory with
/// files that no run writes.
pub fn remove(run: &StoredRun) -> Result<(), RunDirError> {
    let path = run.path();
    if run.state() == State::Running {
        return Err(RunDirError::Running { id: run.id().to_string() });
    }
    if super::is_kept(run) {
        return Err(RunDirError::Kept { id: run.id().to_string() });
    }
    // All files are checked before the first is deleted.
    let mut ours = Vec::new();
    collect(path, &mut ours)?;
    let parts = path.join(files::PARTS);
    let has_parts = parts.is_dir();
    if has_parts {
        collect(&parts, &mut ours)?;
    }
    for entry in ours {
        let file = entry.path();
        fs::remove_file(&file).map_err(RunDirError::io("removing", &file))?;
    }
    if has_parts {
        fs::remove_dir(&parts).map_err(RunDirError::io("removing", &parts))?;
    }
    fs::remove_dir(path).map_err(RunDirError::io("removing", path))
}

fn collect(directory: &Path, ours: &mut Vec<DirEntry>) -> Result<(), RunDirError> {
    let listing = || RunDirError::io("listing", directory);
    let is_parts = directory.ends_with(files::PARTS);
    for entry in fs::read_dir(directory).map_err(listing())? {
        let entry = entry.map_err(listing())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_dir = entry.file_type().map_err(listing())?.is_dir();
        if !is_parts && is_dir && name == files::PARTS {
            continue;
        }
        let plain = name.strip_suffix(files::TEMPORARY).unwrap_or(&name);
        let known =
            if is_parts { plain.ends_with(".parquet") } else { files::ALL.contains(&plain) };
        if is_dir || !known {
            return Err(RunDirError::Foreign { path: directory.to_owned(), name });
        }
        ours.push(entry);
    }
    Ok(())
}
