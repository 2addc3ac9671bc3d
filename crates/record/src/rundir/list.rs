use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::{RunDirError, State, StoredRun};

/// All runs in a base directory, oldest first, partial ones included; of several that say they
/// are one run, that whose directory is named so. A base that does not exist holds no runs.
pub fn list(base: &Path) -> Result<Vec<StoredRun>, RunDirError> {
    let entries = match fs::read_dir(base) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(RunDirError::io("listing", base))?,
    };
    let mut runs = Vec::new();
    for entry in entries {
        let entry = entry.map_err(RunDirError::io("listing", base))?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            runs.extend(StoredRun::at(&entry.path()));
        }
    }
    runs.sort_by(|a, b| a.id().cmp(b.id()).then(a.is_renamed().cmp(&b.is_renamed())));
    runs.dedup_by(|later, first| later.is_renamed() && later.id() == first.id());
    Ok(runs)
}

/// Names the newest run that has ended.
pub const LATEST: &str = "latest";

/// The run with this path, id or unambiguous start of an id; `latest` is the newest of those
/// that have ended.
pub fn open(base: &Path, path_or_prefix: &str) -> Result<StoredRun, RunDirError> {
    let as_path = Path::new(path_or_prefix);
    if as_path.is_dir()
        && let Ok(absolute) = as_path.canonicalize()
        && let Some(run) = StoredRun::at(&absolute)
    {
        return Ok(run);
    }
    let mut found = list(base)?;
    if path_or_prefix == LATEST {
        let ended = found.into_iter().rev().find(|run| run.state() == State::Complete);
        return ended.ok_or_else(|| RunDirError::NothingEnded { base: base.to_owned() });
    }
    let has_name = |run: &StoredRun| run.path().ends_with(path_or_prefix);
    found.retain(|run| run.id().as_str().starts_with(path_or_prefix) || has_name(run));
    match (found.len(), found.pop()) {
        (1, Some(run)) => Ok(run),
        (0, _) | (_, None) => {
            Err(RunDirError::NotFound { base: base.to_owned(), prefix: path_or_prefix.to_owned() })
        }
        (_, Some(last)) => Err(RunDirError::Ambiguous {
            prefix: path_or_prefix.to_owned(),
            found: found.iter().chain([&last]).map(|run| run.id().to_string()).collect(),
        }),
    }
}
