//! Storage that fills up, fails or vanishes during a run.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use run_store::rundir::StoredRun;
use rustix::process::Signal;

use crate::rig::{Running, Workspace, err, out};

/// File system in memory, unmounted at the end.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn new(at: &'a Path, size: &str) -> Option<Self> {
        let size = format!("size={size}");
        let arguments = ["-t", "tmpfs", "-o", &size, "none"];
        match Command::new("mount").args(arguments).arg(at).output() {
            Ok(output) if output.status.success() => Some(Self(at)),
            _ => {
                eprintln!("skipped: mounting a small file system needs root");
                None
            }
        }
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn small_datastore_is_refused_with_needed_and_free_bytes() {
    let place = Workspace::new();
    let ds = place.path("ds");
    let Some(_mounted) = Mounted::new(&ds, "64m") else { return };
    let output = place.run_command(&[]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    let text = err(&output);
    assert!(
        text.contains("33 MiB") || text.contains("32.77 MiB") || text.contains("34 MiB"),
        "{text}"
    );
    assert!(text.contains("hint: ") && out(&output).is_empty(), "{text}");
    assert!(place.names("ds").is_empty() && place.names("runs").is_empty());
}

#[test]
fn full_results_directory_ends_the_run_and_removes_disks() {
    let Some(place) = Workspace::usable() else { return };
    let runs = place.path("runs");
    let Some(_mounted) = Mounted::new(&runs, "12k") else { return };
    let output = place.run_command(&[]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let text = err(&output);
    assert!(text.contains("No space left on device") && text.contains("/runs/"), "{text}");
    assert!(text.contains("--out"), "a way out: {text}");
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

#[test]
fn unstorable_results_are_still_printed() {
    let Some(place) = Workspace::usable() else { return };
    let runs = place.path("runs");
    let Some(_mounted) = Mounted::new(&runs, "100k") else { return };
    let output = place.run_command(&["--tiles", "1..30", "--live", "off"]).output();
    let output = output.expect("it starts");
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("No space left on device"), "{}", err(&output));
    assert!(err(&output).contains("hint: free space there"), "{}", err(&output));
    assert!(out(&output).contains("tiles  verdict"), "{}", out(&output));
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

#[test]
fn datastore_removed_under_a_run_still_stores_results() {
    let Some(place) = Workspace::usable() else { return };
    let mut run = place.start(&[]);
    run.wait_for("measuring");
    std::fs::remove_dir_all(place.path("ds")).expect("it is ours");
    run.signal(Signal::INT);
    let ended = run.end();
    assert!(matches!(ended.code, Some(1 | 130)), "{:?}:\n{}", ended.code, ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    let stored = StoredRun::at(&place.runs()[0]).expect("a run directory");
    assert!(stored.run().is_ok(), "what was measured is stored");
}

#[test]
fn failing_step_setup_ends_the_run_and_stores_earlier_steps() {
    let Some(place) = Workspace::usable() else { return };
    let mut run = Running::new(place.run_command(&["--live", "line", "--tiles", "1..50"]));
    run.wait_for("measuring");
    std::fs::remove_dir_all(place.path("ds")).expect("it is ours");
    let ended = run.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("tilemark: ") && ended.stderr.contains(".disk"),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.contains("Ended by an error"), "{}", ended.stdout);
    let stored = StoredRun::at(&place.runs()[0]).expect("a run directory");
    let run = stored.run().expect("what was measured is stored");
    assert!(!run.steps.is_empty(), "{}", run.answer.sentence);
}

/// Makes a directory's entries irremovable, or undoes that; for root permissions are not enough.
fn lock(directory: &Path, is_locked: bool) -> bool {
    if rustix::process::geteuid().is_root() {
        let change = if is_locked { "+i" } else { "-i" };
        let changed = Command::new("chattr").arg(change).arg(directory).output();
        return changed.is_ok_and(|output| output.status.success());
    }
    let mode = Permissions::from_mode(if is_locked { 0o555 } else { 0o755 });
    std::fs::set_permissions(directory, mode).is_ok()
}

#[test]
fn unremovable_disk_is_named_after_the_answer_with_exit_code_6() {
    let Some(place) = Workspace::usable() else { return };
    let mut run = Running::new(place.run_command(&["--live", "line", "--duration", "3s"]));
    run.wait_for("measuring");
    let made = place.path("ds").join(&place.names("ds")[0]);
    if !lock(&made, true) {
        eprintln!("skipped: this file system has no immutable directories (chattr +i)");
        return;
    }
    let ended = run.end();
    assert!(lock(&made, false), "{}", made.display());
    assert_eq!(ended.code, Some(6), "{}", ended.stderr);
    assert!(ended.stdout.contains("datastore holds"), "{}", ended.stdout);
    assert!(ended.stderr.contains(&place.names("ds")[0]), "{}", ended.stderr);
    assert_eq!(place.output(&["cleanup", "ds"]).status.code(), Some(0));
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}
