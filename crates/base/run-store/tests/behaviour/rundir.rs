use std::os::unix::fs::symlink;
use std::path::Path;

use tilemark_run_store::rundir::{
    self, ChecksumProblem, EventKind, RunDir, RunDirError, RunId, State, files, list, open, remove,
};
use units::Nanos;

use crate::sample;

fn id(tile: &str, second: i64) -> RunId {
    let now = jiff::Timestamp::from_second(1_795_286_527 + second).expect("a time");
    RunId::new(tile, now).expect("random letters")
}

fn finished(base: &Path, second: i64) -> rundir::StoredRun {
    let dir = RunDir::create(base, &id("storage", second)).expect("creates");
    dir.write_run(&sample::run()).expect("writes");
    dir.write_text(files::PLAN, "datastore = \"dir:/mnt\"\n").expect("writes");
    let mut events = dir.events().expect("opens");
    events
        .append(Nanos::SECOND, EventKind::StepStart, &serde_json::json!({"tiles": 2}))
        .expect("appends");
    rundir::StoredRun::at(&dir.finish().expect("finishes")).expect("a run")
}

#[test]
fn a_finished_run_has_its_name_and_reads_back() {
    let base = tempfile::tempdir().expect("a directory");
    let stored = finished(base.path(), 0);
    assert_eq!(stored.state(), State::Complete);
    assert_eq!(stored.run().expect("reads"), &sample::run());
    let events = stored.events().expect("reads");
    assert_eq!((events[0].at_ns, events[0].kind.name()), (1_000_000_000, "step-start"));
    assert_eq!(events[0].fields["tiles"], 2);
    assert_eq!(stored.check().expect("sums"), []);
    assert!(!stored.path().join(files::LOCK).exists());
}

#[test]
fn sha256sum_itself_accepts_the_sums() {
    let base = tempfile::tempdir().expect("a directory");
    let stored = finished(base.path(), 0);
    let output = std::process::Command::new("sha256sum")
        .args(["--check", "--strict", files::SUMS])
        .current_dir(stored.path())
        .output();
    match output {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => eprintln!("skipped: sha256sum cannot be run: {error}"),
    }
}

#[test]
fn a_changed_missing_or_added_file_is_named() {
    let base = tempfile::tempdir().expect("a directory");
    let stored = finished(base.path(), 0);
    std::fs::write(stored.path().join(files::PLAN), "other").expect("writes");
    std::fs::remove_file(stored.path().join(files::EVENTS)).expect("removes");
    std::fs::write(stored.path().join("notes.txt"), "mine").expect("writes");
    let name = str::to_owned;
    assert_eq!(
        stored.check().expect("checks"),
        [
            ChecksumProblem::Missing { name: name(files::EVENTS) },
            ChecksumProblem::Changed { name: name(files::PLAN) },
            ChecksumProblem::Added { name: name("notes.txt") },
        ]
    );
    let error = remove(&stored).expect_err("a foreign file");
    assert!(matches!(error, RunDirError::Foreign { ref name, .. } if name == "notes.txt"));
    assert!(stored.path().join(files::RUN).exists(), "nothing is deleted after a refusal");
    std::fs::remove_file(stored.path().join("notes.txt")).expect("removes");
    remove(&stored).expect("removes");
    assert!(!stored.path().exists());
}

/// Imitates a kill -9: no unwinding, no drop, and a half-written line.
#[test]
fn a_killed_run_is_listed_as_abandoned_and_its_events_are_read() {
    let base = tempfile::tempdir().expect("a directory");
    let dir = RunDir::create(base.path(), &id("vdi", 0)).expect("creates");
    let mut events = dir.events().expect("opens");
    events.append(Nanos(5), EventKind::Other("mark".to_owned()), &()).expect("appends");
    let path = dir.path().to_owned();
    let runs = list(base.path()).expect("lists");
    assert_eq!(runs[0].state(), State::Running);
    assert!(matches!(remove(&runs[0]), Err(RunDirError::Running { .. })));

    drop(dir);
    let mut torn = std::fs::read(path.join(files::EVENTS)).expect("reads");
    torn.extend(b"{\"at_ns\":9,\"ki");
    std::fs::write(path.join(files::EVENTS), torn).expect("writes");
    let runs = list(base.path()).expect("lists");
    assert_eq!(runs[0].state(), State::Abandoned);
    assert_eq!(runs[0].events().expect("reads").len(), 1);
    remove(&runs[0]).expect("removes");
    assert_eq!(list(base.path()).expect("lists").len(), 0);
}

#[test]
fn runs_are_listed_by_start_and_opened_by_the_start_of_their_id() {
    let base = tempfile::tempdir().expect("a directory");
    let (late, early) = (finished(base.path(), 3600), finished(base.path(), 0));
    std::fs::create_dir(base.path().join("not-a-run")).expect("creates");
    let ids: Vec<_> = list(base.path()).expect("lists").iter().map(|r| r.id().clone()).collect();
    assert_eq!(ids, [early.id().clone(), late.id().clone()]);
    let opened = open(base.path(), &early.id().as_str()[..14]).expect("opens");
    assert_eq!(opened.id(), early.id());
    let by_path = open(base.path(), late.path().to_str().expect("text")).expect("opens");
    assert_eq!(by_path.id(), late.id());
    assert!(matches!(open(base.path(), "2026"), Err(RunDirError::Ambiguous { .. })));
    assert!(matches!(open(base.path(), "1999"), Err(RunDirError::NotFound { .. })));
    assert_eq!(open(base.path(), "latest").expect("opens").id(), late.id());
    let none = open(&base.path().join("none"), "latest");
    assert!(matches!(none, Err(RunDirError::NothingEnded { .. })), "{none:?}");
    assert_eq!(list(&base.path().join("none")).expect("lists").len(), 0);
}

#[test]
fn run_is_opened_by_its_place_name_or_part_of_its_id() {
    let base = tempfile::tempdir().expect("a directory");
    let [first, second] = [0, 60].map(|second| finished(base.path(), second));
    let named = RunDir::create(base.path(), &id("vdi", 120)).expect("creates");
    let mut document = sample::run();
    document.labels.name = Some("storage".to_owned());
    named.write_run(&document).expect("writes");
    let third = rundir::StoredRun::at(&named.finish().expect("finishes")).expect("a run");
    let letters = |run: &rundir::StoredRun| run.id().as_str().rsplit('-').next().map(str::to_owned);
    for (asked, run) in [
        ("latest", &third),
        ("latest~0", &third),
        ("latest~1", &second),
        ("previous", &second),
        ("latest~2", &first),
        ("-vdi-", &third),
        ("storage", &third),
        (letters(&first).expect("letters").as_str(), &first),
        (letters(&second).expect("letters").as_str(), &second),
    ] {
        assert_eq!(open(base.path(), asked).expect(asked).id(), run.id(), "{asked}");
    }
    let few = open(base.path(), "latest~3").expect_err("three have ended");
    assert!(matches!(few, RunDirError::FewerEnded { ended: 3, back: 3, .. }), "{few}");
    let several = open(base.path(), "-storage-").expect_err("two are of this tile");
    assert!(matches!(several, RunDirError::Ambiguous { ref found, .. } if found.len() == 2));
    for nothing in ["", "latest~", "latest~x", "latest~-1", "nightly"] {
        let error = open(base.path(), nothing).expect_err(nothing);
        assert!(matches!(error, RunDirError::NotFound { .. }), "{nothing}: {error}");
    }
}

#[test]
fn run_in_a_renamed_directory_keeps_its_identity() {
    let base = tempfile::tempdir().expect("a directory");
    let (kept, mine) = (finished(base.path(), 0), base.path().join("before the new disks"));
    std::fs::rename(kept.path(), &mine).expect("renames");
    let own = sample::run().id;
    for asked in ["before the new disks", &own] {
        let found = open(base.path(), asked).expect("it says what it is");
        assert_eq!((found.path(), found.id().as_str()), (mine.as_path(), own.as_str()));
    }
    let named = base.path().join(&own);
    std::fs::create_dir(&named).expect("creates");
    std::fs::copy(mine.join(files::RUN), named.join(files::RUN)).expect("copies");
    let found = list(base.path()).expect("lists");
    assert_eq!(found.iter().map(|run| run.path()).collect::<Vec<_>>(), [named.as_path()]);
}

/// `/dev/full` answers every write with ENOSPC, so this is the real error of a full disk.
#[test]
fn a_full_disk_is_named_and_leaves_the_run_partial() {
    let base = tempfile::tempdir().expect("a directory");
    let dir = RunDir::create(base.path(), &id("full", 0)).expect("creates");
    symlink("/dev/full", dir.path().join("run.json.tmp")).expect("links");
    let error = dir.write_run(&sample::run()).expect_err("no space");
    let path = dir.path().to_owned();
    let text = error.to_string();
    assert!(text.starts_with(&format!("writing {}", path.join(files::RUN).display())), "{text}");
    assert!(text.contains("No space left"), "{text}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--out")));
    dir.write_run(&sample::run()).expect("there is space again");
    assert!(matches!(dir.finish(), Err(RunDirError::Broken { .. })));
    assert!(path.exists(), "still partial");
}

#[test]
fn a_full_disk_under_events_leaves_the_run_partial() {
    let base = tempfile::tempdir().expect("a directory");
    let dir = RunDir::create(base.path(), &id("full", 0)).expect("creates");
    symlink("/dev/full", dir.path().join(files::EVENTS)).expect("links");
    let mut events = dir.events().expect("opens");
    let error =
        events.append(Nanos::ZERO, EventKind::Other("mark".to_owned()), &()).expect_err("no space");
    assert!(error.to_string().contains(files::EVENTS), "{error}");
    assert!(matches!(dir.finish(), Err(RunDirError::Broken { .. })));
}

const VICTIM_BASE: &str = "TILEMARK_TEST_VICTIM_BASE";

/// Process that [`kill_9_in_the_middle_of_a_run_loses_only_the_open_part`] kills.
#[test]
#[ignore = "run by another test"]
fn victim() {
    let Some(base) = std::env::var_os(VICTIM_BASE) else { return };
    let dir = RunDir::create(Path::new(&base), &id("victim", 0)).expect("creates");
    dir.write_run(&sample::run()).expect("writes");
    let mut events = dir.events().expect("opens");
    let mut writer = dir.series().expect("creates");
    for step in 1.. {
        let phase = tilemark_run_store::run::Phase::Measured;
        let key = tilemark_run_store::series::StepKey { step, tiles: 2, repeat: 1, phase };
        writer.append(key, &sample::topology(), &sample::slice(0)).expect("appends");
        events.append(Nanos(step.into()), EventKind::StepStart, &()).expect("appends");
        eprintln!("step {step}");
    }
}

#[test]
fn kill_9_in_the_middle_of_a_run_loses_only_the_open_part() {
    use std::io::BufRead;
    let base = tempfile::tempdir().expect("a directory");
    let mut child = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", "rundir::victim", "--nocapture"])
        .env(VICTIM_BASE, base.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    let lines = std::io::BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut steps = lines.map_while(Result::ok).filter(|line| line.starts_with("step "));
    // The pipe stays open: a victim that cannot print would end by itself.
    assert_eq!(steps.by_ref().take(5).count(), 5, "the victim got as far as step 5");
    assert_eq!(list(base.path()).expect("lists")[0].state(), State::Running);
    child.kill().expect("SIGKILL");
    child.wait().expect("ends");
    drop(steps);

    let run = open(base.path(), "20261121").expect("opens");
    assert_eq!(run.state(), State::Abandoned);
    assert_eq!(run.run().expect("reads"), &sample::run());
    let events = run.events().expect("reads").len();
    let rows: Vec<_> = run.series().expect("opens").map(|row| row.expect("reads")).collect();
    let steps = rows.last().expect("rows").key.step as usize;
    assert!(events >= 5 && steps >= 4, "{events} events, {steps} steps");
    assert!(steps.abs_diff(events) <= 1, "all but the open part: {steps} of {events}");
    remove(&run).expect("removes");
}

#[test]
fn only_plain_files_of_a_foreign_run_directory_are_read() {
    let base = tempfile::tempdir().expect("a directory");
    let stored = finished(base.path(), 0);
    let path = stored.path().to_owned();
    let secret = base.path().join("secret");
    std::fs::write(&secret, "root:x:0:0").expect("writes");
    std::fs::remove_file(path.join(files::PLAN)).expect("removes");
    symlink(&secret, path.join(files::PLAN)).expect("links");
    let error = stored.plan().expect_err("a link");
    assert!(format!("{error:?}").contains("symbolic link"), "{error:?}");
    assert!(stored.check().is_err() || !stored.check().expect("sums").is_empty());

    std::fs::remove_file(path.join(files::RUN)).expect("removes");
    let made = std::process::Command::new("mkfifo").arg(path.join(files::RUN)).status();
    assert!(made.expect("mkfifo").success());
    let again = rundir::StoredRun::at(&path).expect("a run");
    let error = again.run().expect_err("a pipe, and it did not wait for its writer");
    assert!(format!("{error:?}").contains("fifo"), "{error:?}");

    std::fs::remove_file(path.join(files::RUN)).expect("removes");
    symlink("/dev/zero", path.join(files::SUMS).with_extension("x")).expect("links");
    let long = std::fs::File::create(path.join(files::RUN)).expect("creates");
    long.set_len(1 << 40).expect("sparse");
    let again = rundir::StoredRun::at(&path).expect("a run");
    let error = again.run().expect_err("too long");
    assert!(format!("{error:?}").contains("1099511627776"), "{error:?}");
    std::fs::remove_file(path.join(files::EVENTS)).expect("removes");
    symlink("/dev/zero", path.join(files::EVENTS)).expect("links");
    assert!(stored.events().is_err());
}
