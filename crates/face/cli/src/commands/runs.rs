//! Lists, shows and removes stored runs.

use std::path::Path;

use run_store::run::Run;
use run_store::rundir::{self, State, StoredRun};
use serde_json::json;
use units::{Bytes, Nanos};

use crate::args::{Format, RunsAction, RunsArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::stored_runs::open_all;
pub use crate::stored_runs::{base, failure, open};
use crate::text::{self, Table};

/// Lists, shows, keeps or removes runs.
pub fn run(args: &RunsArgs) -> Result<Exit, Failure> {
    let out = args.out.as_deref();
    match &args.action {
        None | Some(RunsAction::Ls) => list(&base(out)?, args)?,
        Some(RunsAction::Show { run, verbose }) => {
            let stored = open(out, run)?;
            let document = stored.run().map_err(failure)?;
            match args.format {
                Format::Text => {
                    output::show(&text::result(document, Some(stored.path()), *verbose))?;
                }
                Format::Json => output::print_json(document)?,
            }
        }
        Some(RunsAction::Trend { markdown }) => {
            let mut stored = chosen(&base(out)?, args)?;
            stored.retain(|run| run.state() == State::Complete);
            for (run, error) in stored.iter().filter_map(|run| Some((run, run.run().err()?))) {
                crate::say!("left out: {}: {error}", run.id());
            }
            let trend = view::trend(&stored);
            match args.format {
                Format::Json => output::print_json(&trend)?,
                Format::Text if *markdown => output::print(&text::trend::markdown(&trend))?,
                Format::Text => output::show(&text::trend::text(&trend))?,
            }
        }
        Some(RunsAction::Rm { runs }) => {
            for stored in all_of(out, runs)? {
                remove(&stored)?;
            }
        }
        Some(RunsAction::Keep { runs, off }) => {
            for stored in all_of(out, runs)? {
                rundir::keep(&stored, !off).map_err(failure)?;
                crate::say!("{} {}", if *off { "no longer keeps" } else { "keeps" }, stored.id());
            }
        }
        Some(RunsAction::Prune { older_than, keep_last, dry_run }) => {
            for stored in &old(&base(out)?, args, *older_than, *keep_last)? {
                match dry_run {
                    true => crate::say!("would remove {}", stored.path().display()),
                    false => remove(stored)?,
                }
            }
        }
    }
    Ok(Exit::Success)
}

/// Opens the runs that the names select. All are opened before any is changed.
fn all_of(out: Option<&Path>, names: &[String]) -> Result<Vec<StoredRun>, Failure> {
    let all = names.iter().map(|name| open_all(out, name));
    Ok(all.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn remove(stored: &StoredRun) -> Result<(), Failure> {
    rundir::remove(stored).map_err(failure)?;
    crate::say!("removed {}", stored.path().display());
    Ok(())
}

/// Selects runs that are complete, not protected, older than a time, and not among the newest few.
fn old(
    base: &Path,
    args: &RunsArgs,
    older_than: Option<Nanos>,
    keep_last: Option<usize>,
) -> Result<Vec<StoredRun>, Failure> {
    let mut runs = chosen(base, args)?;
    runs.retain(|run| run.state() == State::Complete);
    runs.truncate(runs.len().saturating_sub(keep_last.unwrap_or(0)));
    let now = jiff::Timestamp::now();
    let is_old = |run: &StoredRun| {
        let age = now.duration_since(run.id().started());
        older_than.is_none_or(|least| age.as_nanos() >= i128::from(least.0))
    };
    runs.retain(|run| is_old(run) && !rundir::is_kept(run));
    Ok(runs)
}

/// Returns the runs with the given name and tags, oldest first.
fn chosen(base: &Path, args: &RunsArgs) -> Result<Vec<StoredRun>, Failure> {
    let mut runs = rundir::list(base).map_err(failure)?;
    if args.name.is_some() || !args.tags.is_empty() {
        runs.retain(|run| {
            run.run().is_ok_and(|own| {
                let named = args.name.is_none() || own.labels.name == args.name;
                named && own.labels.has(&args.tags)
            })
        });
    }
    Ok(runs)
}

fn list(base: &Path, args: &RunsArgs) -> Result<(), Failure> {
    let runs = chosen(base, args)?;
    if args.format == Format::Json {
        let rows: Vec<_> = runs.iter().map(listed).collect();
        return output::print_json(&rows);
    }
    if runs.is_empty() {
        crate::say!("no runs in {}", base.display());
        return Ok(());
    }
    let mut table = Table::new(&[
        "run",
        "name",
        "state",
        "profile",
        "disks",
        ">tiles",
        ">score",
        ">size",
        "datastore",
    ]);
    for run in &runs {
        table.row(row(run));
    }
    output::show(&(table.lines().join("\n") + "\n"))
}

fn row(run: &StoredRun) -> Vec<String> {
    let document = run.run().ok();
    let answer = document.map(|document| &document.answer);
    let dash = || "-".to_owned();
    vec![
        run.id().as_str().to_owned(),
        document.and_then(|document| document.labels.name.clone()).unwrap_or_else(dash),
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

/// Returns a run as JSON; unknown values are null.
fn listed(run: &StoredRun) -> serde_json::Value {
    let document = run.run().ok();
    let answer = document.map(|document| &document.answer);
    json!({
        "id": run.id().as_str(),
        "state": state(run),
        "kept": rundir::is_kept(run),
        "labels": document.map(|document| &document.labels),
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

/// Formats the number of tiles held, as `26 to 29` or `at least 8`.
fn tiles(document: Option<&Run>) -> Option<String> {
    let answer = &document?.answer;
    answer.tiles_held?;
    let text = answer.tiles_text();
    Some(text.trim_end_matches(" tiles").trim_end_matches(" tile").to_owned())
}

/// Describes the scale of the disks, as `1/512` or `full`.
fn disks(run: &Run) -> String {
    match run.scale.footprint {
        small if small > 0.0 && small < 1.0 => format!("1/{:.0}", 1.0 / small),
        _ => "full".to_owned(),
    }
}

/// Counts the steps that other work disturbed.
fn disturbed(run: &Run) -> usize {
    run.steps.iter().filter(|step| !step.disturbances.is_empty()).count()
}

/// Returns how the run ended, or the run's state if it has not ended.
fn state(run: &StoredRun) -> &'static str {
    match (run.state(), run.run().map(|document| document.answer.ending())) {
        (State::Complete, Ok(ending)) => ending,
        (State::Complete, Err(_)) => "damaged",
        (state, _) => state.name(),
    }
}
