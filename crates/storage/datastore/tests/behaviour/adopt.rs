use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, flock};
use tempfile::TempDir;
use tilemark_datastore::{
    AdoptProblem, CleanupOptions, Datastore, DatastoreError, Directory, Fill, Options, Refusal,
    SingleFile, Target, VirtualDisk, cleanup, examine, find_kept, find_owned,
};
use units::Bytes;

use crate::child;
use crate::rig::{anywhere, disk, ids, names, roomy};

const DISK: &str = "vm/data";
const SIZE: Bytes = Bytes::new(4 << 20);
const FILL: Fill = Fill { seed: 7, compressible_percent: 50, dedupable_percent: 0 };

fn target(path: &Path) -> Target {
    Target::new(&Directory, path.to_owned())
}

fn adopting(run_id: &str) -> Options {
    Options { adopt: Some(run_id.to_owned()), ..anywhere("next") }
}

/// Directory that the ended run `a` left, with one filled disk.
fn left() -> Option<(TempDir, PathBuf)> {
    let dir = roomy()?;
    let mut store = Datastore::open(&target(dir.path()), SIZE, &anywhere("a")).expect("open");
    let disk = provision(&mut store);
    let ours = dir.path().join(".tilemark-a");
    // Direct I/O wants an aligned buffer, which a second opening does without.
    let path = ours.join("vm.data.disk");
    let file = fs::OpenOptions::new().write(true).open(path).expect("disk");
    file.write_all_at(&[7; 4096], 0).expect("write");
    store.record_filled(&disk, &FILL).expect("record");
    Some((dir, ours))
}

fn provision(store: &mut Datastore) -> VirtualDisk {
    store.provision(&[disk(DISK, SIZE)]).expect("provision").remove(0)
}

fn problem(dir: &Path, run_id: &str) -> AdoptProblem {
    let found = examine(&target(dir), SIZE, &adopting(run_id));
    assert!(found.refusals.iter().any(|refusal| refusal.id() == "adopt"), "{:?}", found.refusals);
    match Datastore::open(&target(dir), SIZE, &adopting(run_id)) {
        Err(DatastoreError::Refused(Refusal::Adopt { problem, .. })) => problem,
        other => panic!("not refused as it should be: {other:?}"),
    }
}

/// Opening the disk must be refused.
fn disk_problem(dir: &Path) -> String {
    let mut store = Datastore::open(&target(dir), SIZE, &adopting("a")).expect("open");
    match store.provision(&[disk(DISK, SIZE)]) {
        Err(DatastoreError::Refused(Refusal::Adopt {
            problem: AdoptProblem::Foreign { found, .. },
            ..
        })) => found,
        other => panic!("not refused as it should be: {other:?}"),
    }
}

fn edit_marker(ours: &Path, change: impl Fn(&mut serde_json::Value)) {
    let path = ours.join("owner.json");
    let text = fs::read_to_string(&path).expect("marker");
    let mut marker = serde_json::from_str(&text).expect("JSON");
    change(&mut marker);
    fs::write(&path, marker.to_string()).expect("marker");
}

#[test]
fn disks_of_an_ended_run_are_adopted_with_their_content() {
    let Some((dir, ours)) = left() else { return };
    // Another process, which has ended: a process id that no process can have.
    edit_marker(&ours, |marker| marker["pid"] = (u32::MAX - 1).into());
    let before = find_owned(&target(dir.path())).expect("find").remove(0);
    let mut store =
        Datastore::open(&target(dir.path()), SIZE * 2, &adopting("a")).expect("taken over");
    let again = provision(&mut store);
    let mut start = [0; 4096];
    fs::File::open(ours.join("vm.data.disk"))
        .expect("disk")
        .read_exact_at(&mut start, 0)
        .expect("read");
    assert_eq!((start, again.writable), ([7; 4096], true));
    assert!(store.is_adopted(DISK) && store.is_filled(&again, &Fill { seed: 8, ..FILL }));
    assert!(!store.is_filled(&again, &Fill { dedupable_percent: 1, ..FILL }), "other data");
    let new = store.provision(&[disk("vm/new", SIZE)]).expect("a new one beside it").remove(0);
    assert!(!store.is_adopted("vm/new") && !store.is_filled(&new, &FILL));
    let now = find_owned(&target(dir.path())).expect("find").remove(0);
    assert_eq!(now.state, tilemark_datastore::OwnerState::This);
    assert_eq!((&now.run_id, &now.created), (&before.run_id, &before.created));
    drop((store, again, new));
    let kept = find_kept(&target(dir.path())).expect("find").remove(0);
    assert_eq!(kept.disks, [disk("vm/data", SIZE), disk("vm/new", SIZE)]);
    Datastore::open(&target(dir.path()), SIZE, &adopting("a"))
        .expect("once more")
        .remove()
        .expect("remove");
    assert!(names(dir.path()).is_empty());
}

#[test]
fn looking_whether_it_may_be_taken_over_changes_nothing() {
    let Some((dir, ours)) = left() else { return };
    let before = fs::read(ours.join("owner.json")).expect("marker");
    assert!(ids(&target(dir.path()), &adopting("a")).is_empty());
    assert_eq!(fs::read(ours.join("owner.json")).expect("marker"), before);
    assert_eq!(names(&ours), ["made.jsonl", "owner.json", "state", "vm.data.disk"]);
    // Once more, as the lock must be free again.
    assert!(ids(&target(dir.path()), &adopting("a")).is_empty());
}

#[test]
fn a_live_run_is_not_taken_over_and_a_killed_one_is() {
    let Some(dir) = roomy() else { return };
    let child = child::hold(&target(dir.path()), None);
    let pid = child.id();
    assert_eq!(problem(dir.path(), "killed"), AdoptProblem::Alive { pid });
    child::kill(child);
    let mut store =
        Datastore::open(&target(dir.path()), SIZE, &adopting("killed")).expect("taken over");
    let disk = provision(&mut store);
    assert!(!store.is_filled(&disk, &FILL), "nothing says that it was filled");
}

#[test]
fn while_anyone_holds_the_lock_it_is_not_taken_over() {
    let Some((dir, ours)) = left() else { return };
    let marker = fs::File::open(ours.join("owner.json")).expect("marker");
    flock(&marker, FlockOperation::LockExclusive).expect("lock");
    assert_eq!(problem(dir.path(), "a"), AdoptProblem::Locked);
    flock(&marker, FlockOperation::Unlock).expect("unlock");
    let store = Datastore::open(&target(dir.path()), SIZE, &adopting("a")).expect("taken over");
    assert_eq!(problem(dir.path(), "a"), AdoptProblem::Locked, "two at a time");
    // Nor does a cleanup pull it away, not even one that saw it ended a moment before.
    edit_marker(&ours, |marker| marker["pid"] = (u32::MAX - 1).into());
    let cleaned = cleanup(&target(dir.path()), &CleanupOptions::default()).expect("cleanup");
    assert_eq!((cleaned.removed.len(), cleaned.kept.len()), (0, 1));
    assert!(ours.join("vm.data.disk").exists());
    drop(store);
}

#[test]
fn what_another_host_made_is_not_taken_over() {
    let Some((dir, ours)) = left() else { return };
    edit_marker(&ours, |marker| {
        marker["boot_id"] = "another".into();
        marker["host"] = "elsewhere".into();
    });
    let host = "elsewhere".to_owned();
    assert_eq!(problem(dir.path(), "a"), AdoptProblem::Elsewhere { host });
}

#[test]
fn without_a_valid_marker_of_that_run_nothing_is_taken_over() {
    let Some((dir, ours)) = left() else { return };
    assert_eq!(problem(dir.path(), "b"), AdoptProblem::Missing);
    symlink(&ours, dir.path().join(".tilemark-b")).expect("link");
    assert_eq!(problem(dir.path(), "b"), AdoptProblem::NotOurs, "a link to one of ours");
    edit_marker(&ours, |marker| marker["run_id"] = "b".into());
    assert_eq!(problem(dir.path(), "a"), AdoptProblem::NotOurs, "the marker of another run");
    let aside = dir.path().join("marker");
    edit_marker(&ours, |marker| marker["run_id"] = "a".into());
    fs::rename(ours.join("owner.json"), &aside).expect("rename");
    symlink(&aside, ours.join("owner.json")).expect("link");
    assert_eq!(problem(dir.path(), "a"), AdoptProblem::NotOurs, "a marker behind a link");
    fs::remove_file(ours.join("owner.json")).expect("remove");
    fs::hard_link(&aside, ours.join("owner.json")).expect("link");
    assert!(matches!(problem(dir.path(), "a"), AdoptProblem::Foreign { .. }), "a shared marker");
    fs::remove_file(ours.join("owner.json")).expect("remove");
    assert_eq!(problem(dir.path(), "a"), AdoptProblem::NotOurs, "no marker");
}

#[test]
fn a_disk_that_is_not_a_plain_file_of_ours_is_never_opened() {
    let Some((dir, ours)) = left() else { return };
    let (path, precious) = (ours.join("vm.data.disk"), dir.path().join("precious"));
    fs::rename(&path, &precious).expect("rename");
    let before = fs::metadata(&precious).expect("stat").modified().expect("time");

    symlink(&precious, &path).expect("link");
    assert_eq!(disk_problem(dir.path()), "symbolic link");
    fs::remove_file(&path).expect("remove");

    fs::hard_link(&precious, &path).expect("link");
    assert_eq!(disk_problem(dir.path()), "file with several hard links");
    fs::remove_file(&path).expect("remove");

    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR, 0)
        .expect("fifo");
    assert_eq!(disk_problem(dir.path()), "fifo", "and it did not block");
    fs::remove_file(&path).expect("remove");

    fs::create_dir(&path).expect("directory");
    assert_eq!(disk_problem(dir.path()), "directory");
    fs::remove_dir(&path).expect("remove");
    assert_eq!(fs::metadata(&precious).expect("stat").modified().expect("time"), before);
}

#[test]
fn state_that_leads_elsewhere_is_not_taken_over() {
    let Some((dir, ours)) = left() else { return };
    let outside = dir.path().join("outside");
    fs::write(&outside, b"precious").expect("file");
    symlink(&outside, ours.join("state/vm%2Fdata.verify")).expect("link");
    assert!(matches!(problem(dir.path(), "a"), AdoptProblem::Foreign { .. }));
    fs::remove_dir_all(ours.join("state")).expect("state");
    fs::create_dir(dir.path().join("elsewhere")).expect("directory");
    symlink(dir.path().join("elsewhere"), ours.join("state")).expect("link");
    assert!(matches!(problem(dir.path(), "a"), AdoptProblem::Foreign { .. }));
    assert_eq!(fs::read(&outside).expect("still there"), b"precious");
}

#[test]
fn a_disk_of_another_size_is_not_used_and_not_changed() {
    let Some((dir, ours)) = left() else { return };
    let mut store = Datastore::open(&target(dir.path()), SIZE, &adopting("a")).expect("open");
    let error = store.provision(&[disk(DISK, SIZE * 2)]).expect_err("another size");
    assert!(matches!(error, DatastoreError::SizeChanged { has, .. } if has == SIZE), "{error}");
    assert_eq!(fs::metadata(ours.join("vm.data.disk")).expect("stat").len(), SIZE.get());
}

#[test]
fn a_record_is_believed_only_for_the_very_file_that_was_filled() {
    let Some((dir, ours)) = left() else { return };
    let path = ours.join("vm.data.disk");
    let is_filled = || {
        let mut store = Datastore::open(&target(dir.path()), SIZE, &adopting("a")).expect("open");
        let disk = provision(&mut store);
        store.is_filled(&disk, &FILL)
    };
    assert!(is_filled());
    let copy = dir.path().join("copy");
    fs::copy(&path, &copy).expect("copy");
    fs::rename(&copy, &path).expect("rename");
    assert!(!is_filled(), "a copy may have holes");
    fs::remove_file(&path).expect("remove");
    assert!(!is_filled(), "a new disk");
    assert_eq!(names(&ours.join("state")), ["made.jsonl"], "the record went with its disk");
}

#[test]
fn a_file_cannot_be_taken_over_and_says_so() {
    let Some(dir) = roomy() else { return };
    let target = Target::new(&SingleFile, dir.path().join("disk"));
    assert!(ids(&target, &adopting("a")).contains(&"adopt"));
    let error = Datastore::open(&target, SIZE, &adopting("a")).expect_err("refused");
    assert!(error.hint().is_some(), "{error}");
    assert!(names(dir.path()).is_empty());
}
