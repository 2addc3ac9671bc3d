use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::{RunDirError, State, StoredRun};

/// Lists all runs in a base directory, oldest first, including partial ones. If several directories
/// contain the same run, the directory with the run's name is used. A missing base directory
/// contains no runs.
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

/// Name that selects the newest run that has ended.
pub const LATEST: &str = "latest";
/// Name that selects the run before the newest; the same as `latest~1`.
pub const PREVIOUS: &str = "previous";

/// Opens the run with this path, identifier, name or unambiguous part of an identifier. `latest` is
/// the newest run that has ended; `latest~1` or `previous` is the one before it.
///
/// Exact matches have priority. The order is: a whole identifier or directory name, the name of a
/// run (`--name`), the start of an identifier, any part of an identifier.
pub fn open(base: &Path, name: &str) -> Result<StoredRun, RunDirError> {
    let as_path = Path::new(name);
    if as_path.is_dir()
        && let Ok(absolute) = as_path.canonicalize()
        && let Some(run) = StoredRun::at(&absolute)
    {
        return Ok(run);
    }
    let found = list(base)?;
    if let Some(back) = steps_back(name) {
        return nth_newest(base, found, back);
    }
    let not_found = || RunDirError::NotFound { base: base.to_owned(), name: name.to_owned() };
    if name.is_empty() {
        return Err(not_found());
    }
    let is_named = |run: &StoredRun| {
        run.run().is_ok_and(|document| document.labels.name.as_deref() == Some(name))
    };
    let ways: [&dyn Fn(&StoredRun) -> bool; 4] = [
        &|run| run.id().as_str() == name || run.path().ends_with(name),
        &is_named,
        &|run| run.id().as_str().starts_with(name),
        &|run| run.id().as_str().contains(name),
    ];
    for fits in ways {
        let fitting: Vec<&StoredRun> = found.iter().filter(|run| fits(run)).collect();
        match fitting.as_slice() {
            [] => {}
            // Opened again, because `found` owns the other one.
            [run] => return StoredRun::at(run.path()).ok_or_else(not_found),
            several => {
                return Err(RunDirError::Ambiguous {
                    name: name.to_owned(),
                    found: several.iter().map(|run| run.id().to_string()).collect(),
                });
            }
        }
    }
    Err(not_found())
}

/// Parses `latest`, `previous` and `latest~N`. Returns the number of newer ended runs: 1 for
/// `previous` and `latest~1`. `None` for any other name.
pub fn steps_back(name: &str) -> Option<usize> {
    match name {
        LATEST => Some(0),
        PREVIOUS => Some(1),
        _ => name.strip_prefix(LATEST)?.strip_prefix('~')?.parse().ok(),
    }
}

fn nth_newest(
    base: &Path,
    mut runs: Vec<StoredRun>,
    back: usize,
) -> Result<StoredRun, RunDirError> {
    runs.retain(|run| run.state() == State::Complete);
    let ended = runs.len();
    runs.into_iter().rev().nth(back).ok_or_else(|| match ended {
        0 => RunDirError::NothingEnded { base: base.to_owned() },
        _ => RunDirError::FewerEnded { base: base.to_owned(), ended, back },
    })
}
