//! The first signal ends a run in order, the second at once.

use record::run::Status;
use record::rundir::StoredRun;
use rustix::process::Signal;

use crate::rig::Place;

fn is_interrupted(place: &Place) {
    let runs = place.runs();
    assert_eq!(runs.len(), 1);
    let stored = StoredRun::at(&runs[0]).expect("a run directory");
    assert_eq!(stored.check().expect("its checksums"), []);
    let run = stored.run().expect("run.json");
    assert_eq!(run.answer.status, Status::Interrupted);
    assert!(run.answer.sentence.starts_with("interrupted: "), "{}", run.answer.sentence);
}

#[test]
fn ctrl_c_while_measuring_stores_what_was_measured_and_removes_the_disks() {
    let Some(place) = Place::usable() else { return };
    let mut run = place.start(&[]);
    run.wait_for("measuring");
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("stopping: "), "{}", ended.stderr);
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
    is_interrupted(&place);
    assert!(ended.stdout.trim_end().ends_with("no step was finished"), "{}", ended.stdout);
}

#[test]
fn ctrl_c_while_filling_removes_the_disks() {
    let Some(place) = Place::usable() else { return };
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
    let Some(place) = Place::usable() else { return };
    let mut run = place.start(&["--format", "json"]);
    run.wait_for("measuring");
    run.signal(Signal::TERM);
    let ended = run.end();
    assert_eq!(ended.code, Some(143), "{}", ended.stderr);
    let run = record::run::parse(&ended.stdout).expect("the partial result on stdout");
    assert_eq!(run.answer.status, Status::Interrupted);
    assert!(place.names("ds").is_empty());
}

#[test]
fn ctrl_c_twice_aborts_and_what_is_left_is_found_by_cleanup() {
    let Some(place) = Place::usable() else { return };
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
