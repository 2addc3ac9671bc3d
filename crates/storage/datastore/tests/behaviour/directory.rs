use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use tilemark_datastore::{
    CleanupOptions, Datastore, DatastoreError, Directory, Fill, Options, OwnerState, Refusal,
    Target, cleanup, examine, find_owned, preflight,
};
use units::Bytes;

use crate::child;
use crate::rig::{Undo, anywhere, can_make_devices, disk, ids, names, roomy, run};

fn target(path: &Path) -> Target {
    Target::new(&Directory, path.to_owned())
}

#[test]
fn disks_are_new_allocated_files_and_removal_leaves_nothing() {
    let Some(dir) = roomy() else { return };
    let mut store =
        Datastore::open(&target(dir.path()), Bytes::MIB * 12, &anywhere("a")).expect("open");
    let wanted = [disk("t1/mail/data", Bytes::MIB * 8), disk("t1/mail/log", Bytes::MIB * 4)];
    let disks = store.provision(&wanted).expect("provision");
    assert_eq!(
        names(&dir.path().join(".tilemark-a")),
        ["made.jsonl", "owner.json", "state", "t1.mail.data.disk", "t1.mail.log.disk"]
    );
    for (disk, wanted) in disks.iter().zip(&wanted) {
        let found = disk.file.metadata().expect("stat");
        assert_eq!((disk.size, disk.base, found.len()), (wanted.size, 0, wanted.size.get()));
        let not_allocated = store.warnings().iter().any(|warning| warning.id == "not-allocated");
        assert!(not_allocated || found.blocks() * 512 >= wanted.size.get());
    }
    let again = store.provision(&wanted[..1]).expect("provision again");
    assert!(std::sync::Arc::ptr_eq(&again[0].file, &disks[0].file));
    store.state_dir().expect("state").create(c"disk.verify").expect("state file");
    store.remove().expect("remove");
    assert!(names(dir.path()).is_empty());
}

#[test]
fn a_preflight_writes_nothing() {
    let Some(dir) = roomy() else { return };
    let before = fs::metadata(dir.path()).expect("stat");
    let found = preflight(&target(dir.path()), Bytes::MIB, &anywhere("a")).expect("passes");
    assert!(found.checks.iter().all(|check| check.passed) && found.checks.len() >= 6);
    let after = fs::metadata(dir.path()).expect("stat");
    assert_eq!(
        (before.mtime_nsec(), before.ctime_nsec()),
        (after.mtime_nsec(), after.ctime_nsec())
    );
    assert!(names(dir.path()).is_empty());
}

#[test]
fn disks_that_do_not_fit_are_refused_with_the_numbers() {
    let Some(dir) = roomy() else { return };
    let options = Options { space_max: Some(Bytes::MIB * 8), ..anywhere("a") };
    let refusal = preflight(&target(dir.path()), Bytes::MIB * 9, &options).expect_err("too much");
    assert!(
        matches!(refusal, Refusal::Space { needed, limit, .. }
        if needed == Bytes::MIB * 9 && limit == Bytes::MIB * 8),
        "{refusal}"
    );
    let mut store = Datastore::open(&target(dir.path()), Bytes::MIB * 8, &options).expect("open");
    store.provision(&[disk("a", Bytes::MIB * 5)]).expect("fits");
    let error = store.provision(&[disk("b", Bytes::MIB * 4)]).expect_err("does not fit");
    assert!(
        matches!(error, DatastoreError::DoesNotFit { needed, available, .. }
        if needed == Bytes::MIB * 4 && available == Bytes::MIB * 3),
        "{error}"
    );
    let error = store.provision(&[disk("a", Bytes::MIB * 2)]).expect_err("another size");
    assert!(matches!(error, DatastoreError::SizeChanged { .. }), "{error}");
    // More than any host has: the free space is the limit.
    let huge = Bytes::GIB * (1 << 30);
    assert!(ids(&target(dir.path()), &anywhere("b")).is_empty());
    let found = examine(&target(dir.path()), huge, &anywhere("b"));
    assert_eq!(found.refusals.iter().map(Refusal::id).collect::<Vec<_>>(), ["space"]);
}

#[test]
fn memory_and_root_file_systems_need_permission() {
    let strict = Options { allow_root_fs: false, ..anywhere("a") };
    if Path::new("/dev/shm").is_dir() {
        assert!(ids(&Target::new(&Directory, "/dev/shm"), &strict).contains(&"fs-memory"));
    }
    let root = ids(&Target::new(&Directory, "/"), &strict);
    let named = ["fs-root", "fs-overlay", "fs-memory"];
    assert!(root.iter().any(|id| named.contains(id)), "{root:?}");
}

#[test]
fn unusable_directory_is_refused_with_its_own_reason() {
    let dir = tempfile::tempdir().expect("temporary directory");
    fs::write(dir.path().join("file"), b"x").expect("file");
    for (path, id) in [
        (dir.path().join("absent"), "missing"),
        (dir.path().join("file"), "wrong-kind"),
        (dir.path().join("file/below"), "wrong-kind"),
        ("/dev/null".into(), "wrong-kind"),
    ] {
        assert_eq!(ids(&target(&path), &anywhere("a")), [id], "{}", path.display());
    }
    let bad = Options { run_id: "../x".to_owned(), ..anywhere("a") };
    assert!(ids(&target(dir.path()), &bad).contains(&"run-id"));
}

#[test]
fn an_existing_sub_directory_of_that_name_is_never_used() {
    let Some(dir) = roomy() else { return };
    let theirs = dir.path().join(".tilemark-a");
    fs::create_dir(&theirs).expect("directory");
    fs::write(theirs.join("x.disk"), b"precious").expect("file");
    assert_eq!(ids(&target(dir.path()), &anywhere("a")), ["already-there"]);
    assert!(Datastore::open(&target(dir.path()), Bytes::MIB, &anywhere("a")).is_err());
    // A directory without a marker is not Tilemark's, whatever its name is.
    assert_eq!(find_owned(&target(dir.path())).expect("find"), []);
    cleanup(&target(dir.path()), &CleanupOptions::default()).expect("cleanup");
    assert_eq!(fs::read(theirs.join("x.disk")).expect("still there"), b"precious");
}

#[test]
fn a_path_swapped_after_the_check_cannot_redirect_a_write() {
    let Some(dir) = roomy() else { return };
    let (used, aside, trap) =
        (dir.path().join("used"), dir.path().join("aside"), dir.path().join("trap"));
    fs::create_dir(&used).expect("directory");
    fs::create_dir(&trap).expect("directory");
    let mut store = Datastore::open(&target(&used), Bytes::MIB, &anywhere("a")).expect("open");
    fs::rename(&used, &aside).expect("rename");
    symlink(&trap, &used).expect("link");
    store.provision(&[disk("d", Bytes::MIB)]).expect("provision");
    assert!(names(&trap).is_empty());
    assert!(aside.join(".tilemark-a/d.disk").exists());
    store.remove().expect("remove");
    assert!(names(&aside).is_empty() && names(&trap).is_empty());
}

#[test]
fn symlink_to_the_directory_is_followed_once_and_reported() {
    let Some(dir) = roomy() else { return };
    fs::create_dir(dir.path().join("real")).expect("directory");
    symlink(dir.path().join("real"), dir.path().join("link")).expect("link");
    let found = preflight(&target(&dir.path().join("link")), Bytes::MIB, &anywhere("a"));
    let found = found.expect("passes");
    assert!(found.resolved.ends_with("/real"));
    assert!(found.warnings.iter().any(|warning| warning.id == "resolved"));
}

#[test]
fn cleanup_removes_a_killed_run_and_keeps_a_live_one() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    fs::write(dir.path().join("bystander"), b"precious").expect("file");
    let child = child::hold(&target, None);
    let owned = find_owned(&target).expect("find");
    assert_eq!(owned.len(), 1);
    assert_eq!(owned[0].state, OwnerState::Alive { pid: child.id() });
    let kept = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert!(kept.removed.is_empty());
    assert!(kept.kept[0].reason.contains(&child.id().to_string()));
    // The live run's disks count against the next run's space.
    let found = preflight(&target, Bytes::MIB, &anywhere("next")).expect("passes");
    assert!(found.file_system.expect("facts").leftover_bytes >= 4 << 20);
    child::kill(child);
    assert_eq!(find_owned(&target).expect("find")[0].state, OwnerState::Dead);
    let done = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!((done.removed.len(), done.kept.len()), (1, 0));
    assert_eq!(names(dir.path()), ["bystander"]);
}

#[test]
fn cleanup_of_one_run_leaves_the_others() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    for run_id in ["a", "b"] {
        drop(Datastore::open(&target, Bytes::MIB, &anywhere(run_id)).expect("open"));
    }
    let only = CleanupOptions { run_id: Some("a".to_owned()), ..CleanupOptions::default() };
    let done = cleanup(&target, &only).expect("cleanup");
    assert_eq!((done.removed.len(), done.kept.len()), (1, 0), "{done:?}");
    assert_eq!(names(dir.path()), [".tilemark-b"]);
}

/// Somebody kept the disks of a run under a name of their own.
#[test]
fn a_marked_directory_that_was_renamed_is_not_ours_any_more() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    let mut store = Datastore::open(&target, Bytes::MIB, &anywhere("a")).expect("open");
    store.provision(&[disk("vm/data", Bytes::MIB)]).expect("provision");
    drop(store);
    let kept = dir.path().join(".tilemark-kept");
    fs::rename(dir.path().join(".tilemark-a"), &kept).expect("rename");
    assert_eq!(find_owned(&target).expect("find"), []);
    cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert!(kept.join("vm.data.disk").exists());
}

#[test]
fn a_directory_that_somebody_put_in_the_place_of_ours_stays() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    drop(Datastore::open(&target, Bytes::MIB, &anywhere("a")).expect("open"));
    let (other, state) = (dir.path().join("other"), dir.path().join(".tilemark-a/state"));
    fs::create_dir(&other).expect("directory");
    fs::remove_dir_all(&state).expect("state");
    fs::rename(&other, &state).expect("rename");
    let done = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert!(done.removed.is_empty() && done.kept[0].reason.contains("state"), "{done:?}");
    assert!(state.is_dir());
}

#[test]
fn cleanup_keeps_what_is_not_ours_and_follows_no_link_out() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    let outside = dir.path().join("outside");
    fs::create_dir(&outside).expect("directory");
    fs::write(outside.join("precious.disk"), b"precious").expect("file");
    let store = Datastore::open(&target, Bytes::MIB, &anywhere("a")).expect("open");
    let ours = dir.path().join(".tilemark-a");
    fs::write(ours.join("notes.txt"), b"mine").expect("file");
    symlink(&outside, ours.join("x.disk")).expect("link");
    fs::remove_dir_all(ours.join("state")).expect("state");
    symlink(&outside, ours.join("state")).expect("link");
    drop(store);
    let done = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert!(done.removed.is_empty());
    assert!(done.kept[0].reason.contains("notes.txt"), "{}", done.kept[0].reason);
    assert_eq!(fs::read(outside.join("precious.disk")).expect("still there"), b"precious");
    assert_eq!(fs::read(ours.join("notes.txt")).expect("still there"), b"mine");
    assert!(ours.join("owner.json").exists(), "still found by the next cleanup");
}

#[test]
fn foreign_files_with_names_like_ours_survive_and_are_named() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    let mut store = Datastore::open(&target, Bytes::MIB, &anywhere("a")).expect("open");
    store.provision(&[disk("vm/data", Bytes::MIB)]).expect("provision");
    store.state_dir().expect("state").create(c"vm%2Fdata.verify").expect("state file");
    let ours = dir.path().join(".tilemark-a");
    for name in ["precious.disk", "state/thesis.tex", "state/precious.verify", "owner.json.new"] {
        fs::write(ours.join(name), b"precious").expect("file");
    }
    // A listed file that was replaced: its name is on the list, but the new file is not.
    fs::remove_file(ours.join("vm.data.disk")).expect("remove");
    fs::write(dir.path().join("other"), b"precious").expect("file");
    fs::rename(dir.path().join("other"), ours.join("vm.data.disk")).expect("rename");
    let removed = store.clear();
    assert!(removed.failed.is_empty() && removed.removed.is_empty(), "{removed:?}");
    drop(removed);
    let done = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert!(done.removed.is_empty());
    assert_eq!(
        names(&ours),
        ["made.jsonl", "owner.json", "owner.json.new", "precious.disk", "state", "vm.data.disk"]
    );
    let left = names(&ours.join("state"));
    assert_eq!(left, ["made.jsonl", "precious.verify", "thesis.tex"]);
    for name in ["precious.disk", "state/thesis.tex", "owner.json.new", "vm.data.disk"] {
        assert!(done.kept[0].reason.contains(name), "{}", done.kept[0].reason);
        assert_eq!(fs::read(ours.join(name)).expect("still there"), b"precious");
    }
}

#[test]
fn a_list_that_names_something_outside_removes_nothing_there() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    let outside = dir.path().join("outside");
    fs::write(&outside, b"precious").expect("file");
    drop(Datastore::open(&target, Bytes::MIB, &anywhere("a")).expect("open"));
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(&outside).expect("stat"));
    let list = dir.path().join(".tilemark-a/made.jsonl");
    let before = fs::read_to_string(&list).expect("list");
    let line = format!("{{\"name\":\"../outside\",\"inode\":{inode}}}\n");
    fs::write(&list, before + &line).expect("list");
    let done = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!(done.removed.len(), 1, "{done:?}");
    assert_eq!(fs::read(&outside).expect("still there"), b"precious");
}

#[test]
fn announced_file_is_removed_only_while_empty() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    drop(Datastore::open(&target, Bytes::MIB, &anywhere("a")).expect("open"));
    let ours = dir.path().join(".tilemark-a");
    let list = fs::read_to_string(ours.join("made.jsonl")).expect("list");
    let both = "{\"name\":\"x.disk\"}\n{\"name\":\"y.disk\"}\n{\"name\":\"z.di";
    fs::write(ours.join("made.jsonl"), list + both).expect("list");
    fs::write(ours.join("x.disk"), b"").expect("as a kill leaves it");
    fs::write(ours.join("y.disk"), b"precious").expect("foreign");
    let done = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert!(done.removed.is_empty() && done.kept[0].reason.contains("y.disk"));
    assert!(!ours.join("x.disk").exists() && ours.join("y.disk").exists());
}

#[test]
fn silly_renamed_files_do_not_fail_removal() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    let store = Datastore::open(&target, Bytes::MIB, &anywhere("a")).expect("open");
    let ours = dir.path().join(".tilemark-a");
    let hidden = [ours.join(".nfs000000000000f00d00000001"), ours.join("state/.fuse_hidden0001")];
    hidden.iter().for_each(|path| fs::write(path, b"open elsewhere").expect("file"));
    let removed = store.clear();
    assert_eq!(removed.lingering, hidden);
    assert!(removed.failed.is_empty() && removed.kept.is_empty(), "{removed:?}");
    // The file system lets go of them.
    hidden.iter().for_each(|path| fs::remove_file(path).expect("removed"));
    let done = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!(done.removed.len(), 1, "{done:?}");
    assert!(names(dir.path()).is_empty());
}

#[test]
fn a_marker_that_reserves_more_than_there_is_keeps_nobody_out() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    let child = child::hold(&target, None);
    let path = dir.path().join(".tilemark-killed/owner.json");
    let text = fs::read_to_string(&path).expect("marker");
    let reserve = |bytes: u64| {
        let mut marker: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        marker["reserved_bytes"] = bytes.into();
        fs::write(&path, marker.to_string()).expect("marker");
        ids(&target, &anywhere("next"))
    };
    assert_eq!(reserve(1 << 63), [""; 0]);
    child::kill(child);
}

#[test]
fn unremovable_file_is_reported_and_the_rest_is_removed() {
    let Some(dir) = roomy() else { return };
    if !can_make_devices(&["mount", "umount"]) {
        return;
    }
    let target = target(dir.path());
    let mut store = Datastore::open(&target, Bytes::MIB, &anywhere("a")).expect("open");
    store.provision(&[disk("vm/data", Bytes::MIB)]).expect("provision");
    let ours = dir.path().join(".tilemark-a");
    let state = ours.join("state");
    let text = state.to_str().expect("plain");
    run("mount", &["--bind", text, text]);
    let busy = Undo("umount", vec![text.to_owned()]);
    let removed = store.clear();
    let [error] = &removed.failed[..] else { panic!("{removed:?}") };
    assert!(error.to_string().contains(text), "{error}");
    assert!(removed.removed.is_empty() && !ours.join("vm.data.disk").exists());
    let done = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!((done.failed.len(), done.kept.len()), (1, 1), "{done:?}");
    drop(busy);
    let done = cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!((done.failed.len(), done.removed.len()), (0, 1), "{done:?}");
}

#[test]
fn state_directory_swapped_for_a_symlink_takes_no_write() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    let mut store = Datastore::open(&target, Bytes::MIB, &anywhere("a")).expect("open");
    let disks = store.provision(&[disk("vm/data", Bytes::MIB)]).expect("provision");
    let (ours, outside) = (dir.path().join(".tilemark-a"), dir.path().join("outside"));
    fs::create_dir(&outside).expect("directory");
    fs::write(outside.join("full.new"), b"precious").expect("file");
    fs::rename(ours.join("state"), ours.join("aside")).expect("rename");
    symlink(&outside, ours.join("state")).expect("link");
    let fill = Fill { seed: 1, compressible_percent: 0, dedupable_percent: 0 };
    store.record_filled(&disks[0], &fill).expect("in the directory that was made");
    store.state_dir().expect("state").create(c"x.verify").expect("in the same");
    assert_eq!(names(&ours.join("aside")), ["made.jsonl", "vm.data.full", "x.verify"]);
    drop(disks);
    let removed = store.clear();
    assert!(removed.kept.contains(&ours.join("state")), "{removed:?}");
    assert_eq!(names(&outside), ["full.new"]);
    assert_eq!(fs::read(outside.join("full.new")).expect("still there"), b"precious");
}

#[test]
fn a_run_killed_before_its_marker_is_found_once_it_is_old() {
    let Some(dir) = roomy() else { return };
    let target = target(dir.path());
    let half = dir.path().join(".tilemark-half");
    fs::create_dir(&half).expect("directory");
    fs::write(half.join("owner.json.new"), b"{").expect("file");
    assert_eq!(find_owned(&target).expect("find"), []);
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(120);
    let age = |dir: &Path| fs::File::open(dir)?.set_modified(old);
    age(&half).expect("set time");
    // As old, and with something that no kill leaves.
    let theirs = [(".tilemark-notes", "owner.json.new"), (".tilemark-thesis", "thesis.tex")];
    let theirs = theirs.map(|(name, file)| (dir.path().join(name), file));
    for (path, file) in &theirs {
        fs::create_dir(path).expect("directory");
        fs::write(path.join(file), b"precious").expect("file");
        age(path).expect("set time");
    }
    assert_eq!(find_owned(&target).expect("find").len(), 1);
    cleanup(&target, &CleanupOptions::default()).expect("cleanup");
    assert_eq!(names(dir.path()), [".tilemark-notes", ".tilemark-thesis"]);
    for (path, file) in &theirs {
        assert_eq!(fs::read(path.join(file)).expect("still there"), b"precious");
    }
}

#[test]
fn read_only_mounts_are_refused() {
    if !can_make_devices(&["mount"]) {
        return;
    }
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().to_str().expect("plain");
    run("mount", &["-t", "tmpfs", "-o", "ro,size=1m", "tilemark-test", path]);
    let _undo = Undo("umount", vec![path.to_owned()]);
    assert!(ids(&target(dir.path()), &anywhere("a")).contains(&"fs-read-only"));
}

#[test]
fn disks_lent_by_another_host_are_used_and_stay_its_own() {
    let Some(dir) = roomy() else { return };
    let wanted = [disk("t1/data", Bytes::MIB)];
    let open = |part| Datastore::open(&target(dir.path()), Bytes::MIB, &anywhere(part));
    let mut owner = open("run-a").expect("open");
    let own = owner.provision(&wanted).expect("provision");
    owner.state_dir().expect("state").create(c"t1.verify").expect("state file");
    let other = open("run-b").expect("open");

    let lent = other.lent("run-a", &wanted).expect("it is seen");
    assert_eq!((lent.disks[0].size, lent.disks[0].name.as_str()), (Bytes::MIB, "t1/data"));
    let inode = |disk: &tilemark_datastore::VirtualDisk| disk.file.metadata().expect("stat").ino();
    assert_eq!(inode(&lent.disks[0]), inode(&own[0]));
    lent.state_dir.open_file(c"t1.verify").expect("what is known of it is beside it");
    assert_eq!(other.disks().len(), 0, "it does not count here");

    let missing = [disk("t2/data", Bytes::MIB)];
    for (run_id, disks) in [("run-c", &wanted), ("run-a", &missing)] {
        let error = other.lent(run_id, disks).expect_err("not there");
        assert!(matches!(error, DatastoreError::NoPart { .. }), "{error}");
    }
    let larger = [disk("t1/data", Bytes::MIB * 2)];
    let error = other.lent("run-a", &larger).expect_err("of another size");
    assert!(matches!(error, DatastoreError::SizeChanged { .. }), "{error}");
    symlink("/etc/hostname", dir.path().join(".tilemark-run-a/t3.data.disk")).expect("a link");
    let link = [disk("t3/data", Bytes::MIB)];
    assert!(other.lent("run-a", &link).is_err(), "no link is followed");
    fs::remove_file(dir.path().join(".tilemark-run-a/t3.data.disk")).expect("removed");

    drop(lent);
    other.remove().expect("remove");
    assert_eq!(names(dir.path()), [".tilemark-run-a"], "the other part's stay");
    owner.remove().expect("remove");
    assert!(names(dir.path()).is_empty());
}

#[test]
fn tree_of_programs_is_removed_whole_and_nothing_beyond() {
    let Some(around) = roomy() else { return };
    let outside = tempfile::tempdir().expect("a directory");
    fs::write(outside.path().join("foreign"), "x").expect("a file");
    let store =
        Datastore::open(&target(around.path()), Bytes::MIB, &anywhere("tree")).expect("open");
    let tree = store.tree(c"applications").expect("a directory").expect("a tree");
    let path = tree.path().to_owned();
    fs::create_dir_all(path.join("data/base/1")).expect("directories");
    fs::write(path.join("data/base/1/2"), "rows").expect("a file");
    symlink(outside.path(), path.join("data/link")).expect("a link");
    assert!(store.tree(c"applications").expect("a directory").is_err(), "made twice");
    let removed = store.clear();
    assert!(removed.failed.is_empty() && removed.kept.is_empty(), "{removed:?}");
    assert!(names(around.path()).is_empty());
    assert_eq!(fs::read(outside.path().join("foreign")).expect("a file"), b"x");
}

#[test]
fn size_of_an_owned_directory_counts_its_trees_and_nothing_beyond() {
    let Some(around) = roomy() else { return };
    let outside = tempfile::tempdir().expect("a directory");
    fs::write(outside.path().join("foreign"), vec![1; 8 << 20]).expect("a file");
    let target = target(around.path());
    let store = Datastore::open(&target, Bytes::MIB, &anywhere("tree")).expect("open");
    let tree = store.tree(c"applications").expect("a directory").expect("a tree");
    let deep = tree.path().join("data/base/1");
    fs::create_dir_all(&deep).expect("directories");
    fs::write(deep.join("2"), vec![1; 2 << 20]).expect("a file");
    let rows = fs::File::open(deep.join("2")).expect("opened");
    rows.sync_all().expect("allocated");
    symlink(outside.path(), deep.join("link")).expect("a link");
    let bytes = find_owned(&target).expect("found")[0].bytes.get();
    assert!((2 << 20..4 << 20).contains(&bytes), "{bytes}");
    store.clear();
}

#[test]
fn directory_in_place_of_a_tree_stays() {
    let Some(around) = roomy() else { return };
    let store =
        Datastore::open(&target(around.path()), Bytes::MIB, &anywhere("tree")).expect("open");
    let tree = store.tree(c"applications").expect("a directory").expect("a tree");
    let (path, moved) = (tree.path().to_owned(), around.path().join("moved"));
    fs::rename(&path, &moved).expect("renamed");
    fs::create_dir(&path).expect("another");
    fs::write(path.join("theirs"), "x").expect("a file");
    let removed = store.clear();
    assert_eq!(fs::read(path.join("theirs")).expect("a file"), b"x");
    assert!(!removed.kept.is_empty(), "{removed:?}");
}
