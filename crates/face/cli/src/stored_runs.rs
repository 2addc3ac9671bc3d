//! Finds stored runs by name.

use std::path::{Path, PathBuf};

use run_store::rundir::{self, RunDirError, State, StoredRun};

use crate::exit::Exit;
use crate::failure::Failure;

/// Returns the directory of stored runs.
pub fn base(out: Option<&Path>) -> Result<PathBuf, Failure> {
    match out {
        Some(path) => Ok(path.to_path_buf()),
        None => rundir::default_base().map_err(failure),
    }
}

/// Opens a stored run by directory, name, `latest`, `latest~1`, `previous` or a part of its id.
pub fn open(out: Option<&Path>, name: &str) -> Result<StoredRun, Failure> {
    rundir::open(&base(out)?, name).map_err(failure)
}

/// Opens the runs that `name` selects: one run, or with `tag:KEY=VALUE` all complete runs with the
/// tag.
pub fn open_all(out: Option<&Path>, name: &str) -> Result<Vec<StoredRun>, Failure> {
    let Some(text) = name.strip_prefix("tag:") else { return Ok(vec![open(out, name)?]) };
    let tag = run_store::run::tag(text)
        .map_err(|why| Failure::new(Exit::Usage, format!("\"{name}\": {why}")))?;
    let base = base(out)?;
    let mut found = rundir::list(&base).map_err(failure)?;
    let wanted = [tag];
    found.retain(|run| {
        run.state() == State::Complete && run.run().is_ok_and(|own| own.labels.has(&wanted))
    });
    if found.is_empty() {
        let message = format!("no complete run in {} has the tag {text}", base.display());
        return Err(Failure::new(Exit::Usage, message).hint(Some("`tilemark runs` lists them")));
    }
    Ok(found)
}

/// Makes the failure for a run directory that could not be read or written.
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
