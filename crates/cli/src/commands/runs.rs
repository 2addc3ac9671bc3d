//! Stored runs: list, show, remove.

use std::path::{Path, PathBuf};

use record::run::{Run, Status};
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
    let exit = match error {
        RunDirError::NotFound { .. }
        | RunDirError::NothingEnded { .. }
        | RunDirError::Ambiguous { .. } => Exit::Usage,
        _ => Exit::Failure,
    };
    Failure::from_error(exit, &error).hint(hint)
}

/// Lists, shows or removes.
pub fn run(args: &RunsArgs) -> Result<Exit, Failure> {
    let out = args.out.as_deref();
    match &args.action {
        None | Some(RunsAction::Ls) => list(&base(out)?, args.format)?,
        Some(RunsAction::Show { run, verbose }) => {
            let stored = open(out, run)?;
            let document = stored.run().map_err(failure)?;
            match args.format {
                Format::Text => {
                    output::print(&text::result(document, Some(stored.path()), *verbose))?;
                }
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
        let rows: Vec<_> = runs.iter().map(listed).collect();
        return output::print_json(&rows);
    }
    if runs.is_empty() {
        crate::say!("no runs in {}", base.display());
        return Ok(());
    }
    let mut table =
        Table::new(&["run", "state", "profile", "disks", ">tiles", ">score", ">size", "datastore"]);
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
        document.map_or_else(dash, |document| document.profile.clone()),
        document.map_or_else(dash, disks),
        tiles(document).unwrap_or_else(dash),
        answer
            .and_then(|answer| answer.score.value)
            .map_or_else(dash, |score| format!("{score:.2}")),
        run.size_bytes().map_or_else(|_| dash(), |bytes| Bytes::new(bytes).to_string()),
        document.map_or_else(dash, |document| document.target.datastore.clone()),
    ]
}

/// A run in JSON; what is not known of it is null.
fn listed(run: &StoredRun) -> serde_json::Value {
    let document = run.run().ok();
    let answer = document.map(|document| &document.answer);
    json!({
        "id": run.id().as_str(),
        "state": state(run),
        "path": run.path(),
        "profile": document.map(|document| &document.profile),
        "scale": document.map(|document| &document.scale),
        "tile": document.map(|document| &document.tile.name),
        "datastore": document.map(|document| &document.target.datastore),
        "tiles": tiles(document),
        "tiles_held": answer.and_then(|answer| answer.tiles_held),
        "tiles_interval": answer.and_then(|answer| answer.tiles_interval),
        "capacity": answer.and_then(|answer| answer.capacity),
        "score": answer.and_then(|answer| answer.score.value),
        "disturbed_steps": document.map(disturbed),
    })
}

/// `26 to 29`, `at least 8`.
fn tiles(document: Option<&Run>) -> Option<String> {
    let answer = &document?.answer;
    answer.tiles_held?;
    let text = answer.tiles_text();
    Some(text.trim_end_matches(" tiles").trim_end_matches(" tile").to_owned())
}

/// `1/512`, or `full`.
fn disks(run: &Run) -> String {
    match run.scale.footprint {
        small if small > 0.0 && small < 1.0 => format!("1/{:.0}", 1.0 / small),
        _ => "full".to_owned(),
    }
}

/// Steps in which others were in the way.
fn disturbed(run: &Run) -> usize {
    run.steps.iter().filter(|step| !step.disturbances.is_empty()).count()
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
