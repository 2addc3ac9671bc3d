//! After `kill -9` `cleanup` finds everything that is left, and touches nothing else.

use run_store::run::Status;
use run_store::rundir::{State, StoredRun};
use rustix::process::Signal;

use crate::rig::{Workspace, err, out};

fn killed_at(moment: &str, more: &[&str]) {
    let Some(place) = Workspace::usable() else { return };
    place.write("ds/mine", "not to be touched");
    std::fs::create_dir(place.path("ds/.tilemark-mine")).expect("a directory like ours");
    place.write("ds/.tilemark-mine/owner.json", "{}");
    let mut run = place.start(more);
    run.wait_for(moment);
    run.signal(Signal::KILL);
    assert_eq!(run.end().code, None, "a signal ended it");

    let listed = place.output(&["cleanup", "ds", "--dry-run"]);
    assert_eq!(listed.status.code(), Some(0), "{}", err(&listed));
    let listed = out(&listed);
    assert!(listed.starts_with("would remove ") && listed.lines().count() == 1, "{listed}");
    assert_eq!(place.names("ds").len(), 3, "looking changes nothing");

    let cleaned = place.output(&["cleanup", "ds"]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", err(&cleaned));
    assert!(out(&cleaned).starts_with("removed "), "{}", out(&cleaned));
    let mut left = place.names("ds");
    left.sort();
    assert_eq!(left, [".tilemark-mine", "mine"]);
    let again = out(&place.output(&["cleanup", "ds"]));
    assert_eq!(again, "no files of Tilemark are there\n");

    let runs = out(&place.output(&["runs"]));
    assert!(runs.contains("  abandoned  "), "{runs}");
    let runs = place.runs();
    let id = runs[0].file_name().and_then(|name| name.to_str()).expect("a name");
    let id = id.strip_suffix(".partial").expect("it stays partial");
    let shown = place.output(&["runs", "show", id]);
    assert_eq!(shown.status.code(), Some(1), "{}", err(&shown));
    assert!(err(&shown).starts_with("tilemark: "), "{}", err(&shown));
    let removed = place.output(&["runs", "rm", id]);
    assert_eq!(removed.status.code(), Some(0), "{}", err(&removed));
    assert!(place.runs().is_empty());
}

#[test]
fn while_filling() {
    killed_at("prefill: 0 B of", &["--footprint", "0.02"]);
}

#[test]
fn while_measuring() {
    killed_at("measuring", &[]);
}

/// The page of a running run reads the same file. It once said "Nothing held so far" after steps
/// had held.
#[test]
fn finished_steps_are_stored_before_kill_9() {
    let Some(place) = Workspace::usable() else { return };
    let mut run = place.start(&["--tiles", "1..2"]);
    run.wait_for("step: 2 tiles");
    run.signal(Signal::KILL);
    run.end();
    let stored = StoredRun::at(&place.runs()[0]).expect("a run directory");
    assert_eq!(stored.state(), State::Abandoned);
    let run = stored.run().expect("what it had found");
    assert!(!run.steps.is_empty() && run.steps.iter().all(|step| step.tiles == 1));
    assert_eq!(run.answer.status, Status::Interrupted);
    let shown = place.output(&["runs", "show", run.id.as_str()]);
    assert_eq!(shown.status.code(), Some(0), "{}", err(&shown));
    assert!(out(&shown).contains("\nSo far: "), "{}", out(&shown));
}

#[test]
fn what_was_acknowledged_on_a_file_is_verified_after_kill_9() {
    let Some(place) = Workspace::usable() else { return };
    let mut run = place.start_on("file:ds/one", &["--verify"]);
    run.wait_for("measuring");
    run.signal(Signal::KILL);
    assert_eq!(run.end().code, None, "a signal ended it");
    let verified = place.output(&["verify", "file:ds/one"]);
    assert_eq!(verified.status.code(), Some(0), "{}{}", out(&verified), err(&verified));
    assert!(out(&verified).contains("every block is right"), "{}", out(&verified));
    let file = std::fs::File::options().write(true).open(place.path("ds/one")).expect("the file");
    let length = file.metadata().expect("stat").len();
    let zeros = vec![0; usize::try_from(length).expect("small")];
    std::os::unix::fs::FileExt::write_all_at(&file, &zeros, 0).expect("overwritten");
    let verified = place.output(&["verify", "file:ds/one"]);
    assert_eq!(verified.status.code(), Some(4), "{}{}", out(&verified), err(&verified));
    assert!(out(&verified).contains(" wrong"), "{}", out(&verified));
}

#[test]
fn a_live_run_is_kept_by_cleanup() {
    let Some(place) = Workspace::usable() else { return };
    let mut run = place.start(&[]);
    run.wait_for("measuring");
    let cleaned = place.output(&["cleanup", "ds"]);
    assert_eq!(cleaned.status.code(), Some(1));
    assert!(out(&cleaned).contains("in use by process"), "{}", out(&cleaned));
    let runs = out(&place.output(&["runs"]));
    assert!(runs.contains("  running  "), "{runs}");
    run.signal(Signal::INT);
    assert_eq!(run.end().code, Some(130));
    assert!(place.names("ds").is_empty());
}
