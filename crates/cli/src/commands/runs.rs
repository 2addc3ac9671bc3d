//! Stored runs: list, show, remove.

use std::path::{Path, PathBuf};

use record::run::Status;
use record::rundir::{self, RunDirError, State, StoredRun};
use serde_json::json;
use units::Bytes;

use crate::args::{Format, RunsAction, RunsArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::text::{self, Table};

/// Where run directories are kept.
pub fn base(out: Option<&Path>) -> Result<PathBuf, Failure> {
    match out {
        Some(path) => Ok(path.to_path_buf()),
        None => rundir::default_base().map_err(failure),
    }
}

/// A stored run by directory or by the beginning of its id.
pub fn open(out: Option<&Path>, name: &str) -> Result<StoredRun, Failure> {
    rundir::open(&base(out)?, name).map_err(failure)
}

/// A run directory that could not be read or written.
pub fn failure(error: RunDirError) -> Failure {
    let hint = error.hint();
    Failure::from_error(Exit::Failure, &error).hint(hint)
}

/// Lists, shows or removes.
pub fn run(args: &RunsArgs) -> Result<Exit, Failure> {
    let out = args.out.as_deref();
    match &args.action {
        None | Some(RunsAction::Ls) => list(&base(out)?, args.format)?,
        Some(RunsAction::Show { run }) => {
            let stored = open(out, run)?;
            let document = stored.run().map_err(failure)?;
            match args.format {
                Format::Text => output::print(&text::summary(document, Some(stored.path())))?,
                Format::Json => output::print_json(document)?,
            }
        }
        Some(RunsAction::Rm { run }) => {
            let stored = open(out, run)?;
            rundir::remove(&stored).map_err(failure)?;
            crate::say!("removed {}", stored.path().display());
        }
    }
    Ok(Exit::Success)
}

fn list(base: &Path, format: Format) -> Result<(), Failure> {
    let runs = rundir::list(base).map_err(failure)?;
    if format == Format::Json {
        let rows: Vec<_> = runs
            .iter()
            .map(|run| json!({ "id": run.id().as_str(), "state": state(run), "path": run.path() }))
            .collect();
        return output::print_json(&rows);
    }
    if runs.is_empty() {
        crate::say!("no runs in {}", base.display());
        return Ok(());
    }
    let mut table = Table::new(&["run", "state", ">tiles", ">score", ">size", "datastore"]);
    for run in &runs {
        table.row(row(run));
    }
    output::print(&(table.lines().join("\n") + "\n"))
}

fn row(run: &StoredRun) -> Vec<String> {
    let document = run.run().ok();
    let answer = document.map(|document| &document.answer);
    let dash = || "-".to_owned();
    vec![
        run.id().as_str().to_owned(),
        state(run).to_owned(),
        answer.and_then(|answer| answer.tiles_held).map_or_else(dash, |tiles| tiles.to_string()),
        answer
            .and_then(|answer| answer.score.value)
            .map_or_else(dash, |score| format!("{score:.2}")),
        run.size_bytes().map_or_else(|_| dash(), |bytes| Bytes::new(bytes).to_string()),
        document.map_or_else(dash, |document| document.target.datastore.clone()),
    ]
}

/// How it ended, or what became of it if it did not.
fn state(run: &StoredRun) -> &'static str {
    match (run.state(), run.run().map(|document| document.answer.status)) {
        (State::Complete, Ok(Status::Interrupted)) => "interrupted",
        (State::Complete, Ok(Status::Inconclusive)) => "inconclusive",
        (State::Complete, Err(_)) => "damaged",
        (state, _) => state.name(),
    }
}
