//! The first signal ends a run in order, the second at once.

use std::time::Duration;

use run_store::run::{Status, Verdict};
use run_store::rundir::StoredRun;
use rustix::process::Signal;

use crate::rig::{Running, Workspace, write_arrivals};

fn is_interrupted(place: &Workspace) {
    let runs = place.runs();
    assert_eq!(runs.len(), 1);
    let stored = StoredRun::at(&runs[0]).expect("a run directory");
    assert_eq!(stored.check().expect("its checksums"), []);
    let run = stored.run().expect("run.json");
    assert_eq!(run.answer.status, Status::Interrupted);
    assert!(run.answer.sentence.starts_with("Interrupted: "), "{}", run.answer.sentence);
}

#[test]
fn ctrl_c_while_measuring_stores_results_and_removes_disks() {
    let Some(place) = Workspace::usable() else { return };
    let mut run = place.start(&[]);
    run.wait_for("measuring");
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("stopping: "), "{}", ended.stderr);
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
    is_interrupted(&place);
    assert!(ended.stdout.trim_end().ends_with("no step was finished."), "{}", ended.stdout);
}

#[test]
fn ctrl_c_while_filling_removes_the_disks() {
    let Some(place) = Workspace::usable() else { return };
    let mut run = place.start(&["--footprint", "0.02"]);
    run.wait_for("prefill: 0 B of");
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
    is_interrupted(&place);
}

#[test]
fn sigterm_ends_as_ctrl_c_does_with_its_own_code() {
    let Some(place) = Workspace::usable() else { return };
    let mut run = place.start(&["--format", "json"]);
    run.wait_for("measuring");
    run.signal(Signal::TERM);
    let ended = run.end();
    assert_eq!(ended.code, Some(143), "{}", ended.stderr);
    let run = run_store::run::parse(&ended.stdout).expect("the partial result on stdout");
    assert_eq!(run.answer.status, Status::Interrupted);
    assert!(place.names("ds").is_empty());
}

#[test]
fn ctrl_c_twice_aborts_and_what_is_left_is_found_by_cleanup() {
    let Some(place) = Workspace::usable() else { return };
    let mut run = place.start(&[]);
    run.wait_for("measuring");
    run.signal(Signal::INT);
    run.wait_for("stopping: ");
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(place.output(&["cleanup", "ds"]).status.code(), Some(0));
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

/// A run once blamed the storage for ten seconds of SIGSTOP (seen at 1fa88dc).
#[test]
fn program_stopped_while_measuring_does_not_blame_storage() {
    let Some(place) = Workspace::usable() else { return };
    // Half of the reads are late when the limit is broken.
    write_arrivals(&place, 60, 95, "500ms");
    let options = ["--tile", "arrivals-tile.toml", "--duration", "6s", "--live", "line"];
    let mut run = Running::new(place.run_command(&options));
    run.wait_for("measuring");
    run.signal(Signal::STOP);
    std::thread::sleep(Duration::from_secs(3));
    run.signal(Signal::CONT);
    let ended = run.end();
    let stored = StoredRun::at(&place.runs()[0]).expect("a run directory");
    let run = stored.run().expect("run.json");
    let first = &run.steps[0];
    assert_eq!(first.verdict, Verdict::Inconclusive, "{}\n{}", first.reason, ended.stderr);
    assert!(first.reason.contains("did not run for"), "{}", first.reason);
    let failed = run.steps.iter().filter(|step| step.verdict == Verdict::Failed).count();
    assert_eq!(failed, 0, "{}", ended.stderr);
}
