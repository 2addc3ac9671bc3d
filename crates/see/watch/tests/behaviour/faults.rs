use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::tempdir;
use tilemark_watch::{Archive, Store, WatchError};

use crate::model::{START, assert_alike, options, slice, sum};

/// The journal of a store with one.
fn journal_of(store: &Path) -> PathBuf {
    let mut paths = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    paths.find(|path| path.extension().is_some_and(|own| own == "journal")).unwrap()
}

#[test]
fn kill_at_any_byte_of_the_journal_keeps_all_slices_before_it() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    let pushed: Vec<_> =
        (0..5).map(|at| slice(START + 10 * at, &[("db", 3, 100), ("web", 1, 9)])).collect();
    pushed.iter().for_each(|own| store.push(own.clone()).unwrap());
    drop(store);
    let journal = fs::read(journal_of(dir.path())).unwrap();
    let name = journal_of(dir.path()).file_name().unwrap().to_owned();
    let mut kept = 0;
    for length in 0..=journal.len() {
        let cut = tempdir().unwrap();
        fs::copy(dir.path().join("watch.json"), cut.path().join("watch.json")).unwrap();
        fs::write(cut.path().join(&name), &journal[..length]).unwrap();
        let archive = Archive::open(cut.path()).unwrap();
        let window = archive.window((START, START + 100), 100).unwrap();
        assert!(window.slices.len() >= kept && window.slices.len() <= kept + 1);
        kept = window.slices.len();
        assert_alike(&sum(&window.slices), &sum(&pushed[..kept]));
    }
    assert_eq!(kept, pushed.len());
    // A broken frame, and all frames behind it, are left out.
    let mut broken = journal;
    let middle = broken.len() / 2;
    broken[middle] ^= 1;
    fs::write(journal_of(dir.path()), broken).unwrap();
    let store = Store::open(dir.path(), options()).unwrap();
    store.close().unwrap();
    let window = Archive::open(dir.path()).unwrap().window((START, START + 100), 100).unwrap();
    assert_eq!(window.slices.len(), 2);
}

#[test]
fn kill_between_segment_and_journal_counts_nothing_twice() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    store.push(slice(START, &[("db", 3, 100)])).unwrap();
    let path = journal_of(dir.path());
    let journal = fs::read(&path).unwrap();
    store.close().unwrap();
    fs::write(path, journal).unwrap();
    let counted = || {
        let window = Archive::open(dir.path()).unwrap().window((START, START + 10), 9).unwrap();
        sum(&window.slices).values().map(|cell| cell.count).sum::<u64>()
    };
    assert_eq!(counted(), 3, "while it is read");
    Store::open(dir.path(), options()).unwrap().close().unwrap();
    assert_eq!(counted(), 3, "after it was opened again");
}

#[test]
fn unfinished_segment_is_removed_and_files_of_others_stay() {
    let dir = tempdir().unwrap();
    Store::open(dir.path(), options()).unwrap().close().unwrap();
    let ours = dir.path().join(format!("10s-{START}-0.parquet.tmp"));
    let theirs = dir.path().join("letter.tmp");
    fs::write(&ours, "half").unwrap();
    fs::write(&theirs, "mine").unwrap();
    Store::open(dir.path(), options()).unwrap();
    assert!(!ours.exists());
    assert_eq!(fs::read_to_string(theirs).unwrap(), "mine");
}

#[test]
fn link_in_place_of_the_lock_is_refused() {
    let dir = tempdir().unwrap();
    Store::open(dir.path(), options()).unwrap().close().unwrap();
    let (lock, elsewhere) = (dir.path().join("lock"), dir.path().join("elsewhere"));
    fs::remove_file(&lock).unwrap();
    symlink(&elsewhere, &lock).unwrap();
    assert!(matches!(Store::open(dir.path(), options()), Err(WatchError::Io { .. })));
    assert!(!elsewhere.exists());
}

/// Only a full disk is a reason to remove data.
#[test]
fn error_that_is_no_full_disk_removes_nothing() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    store.push(slice(START, &[("db", 1, 1)])).unwrap();
    store.push(slice(START + 900, &[("db", 1, 1)])).unwrap();
    // A directory stands where the next segment is written.
    let blocked = dir.path().join(format!("10s-{}-0.parquet.tmp", START + 900));
    fs::create_dir(&blocked).unwrap();
    store.push(slice(START + 1800, &[("db", 1, 1)])).unwrap_err();
    assert!(dir.path().join(format!("10s-{START}-0.parquet")).exists());
    store.push(slice(START + 1810, &[("db", 1, 1)])).unwrap();
    drop(store);
    // The journal of the period that could not be stored was kept.
    fs::remove_dir(&blocked).unwrap();
    Store::open(dir.path(), options()).unwrap().close().unwrap();
    let window = Archive::open(dir.path()).unwrap().window((START, START + 2700), 1000).unwrap();
    assert_eq!(window.slices.len(), 4);
}

#[test]
fn name_of_a_time_beyond_all_times_is_no_segment() {
    let dir = tempdir().unwrap();
    Store::open(dir.path(), options()).unwrap().close().unwrap();
    let last = u64::MAX - u64::MAX % 900;
    fs::write(dir.path().join(format!("10s-{last}-0.parquet")), "no segment").unwrap();
    let archive = Archive::open(dir.path()).unwrap();
    assert_eq!(archive.state().unwrap().levels[0].segments, 0);
    assert_eq!(archive.bounds().unwrap(), None);
}

#[test]
fn second_writer_is_refused_and_the_first_goes_on() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    let error = Store::open(dir.path(), options()).unwrap_err();
    assert!(matches!(error, WatchError::Busy { .. }), "{error}");
    store.push(slice(START, &[("db", 1, 1)])).unwrap();
    drop(store);
    assert!(Store::open(dir.path(), options()).is_ok());
}

#[test]
fn foreign_directory_and_later_version_are_refused() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("letter.txt"), "mine").unwrap();
    let error = Store::open(dir.path(), options()).unwrap_err();
    assert!(matches!(error, WatchError::Foreign { .. }), "{error}");
    assert!(matches!(Archive::open(dir.path()), Err(WatchError::NoStore { .. })));
    let dir = tempdir().unwrap();
    let about = r#"{"schema":"tilemark.watch/2.0","host":"later"}"#;
    fs::write(dir.path().join("watch.json"), about).unwrap();
    for error in [
        Store::open(dir.path(), options()).map(drop).unwrap_err(),
        Archive::open(dir.path()).map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, WatchError::Version { .. }), "{error}");
        assert!(error.to_string().contains("tilemark.watch/2.0"), "{error}");
    }
}

#[test]
fn broken_segment_and_link_are_gaps_and_named() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    for period in 0..3 {
        store.push(slice(START + 900 * period, &[("db", 1, 1)])).unwrap();
    }
    store.close().unwrap();
    let of = |period: u64| dir.path().join(format!("10s-{}-0.parquet", START + 900 * period));
    fs::write(of(0), "PAR1 is not all of it").unwrap();
    let elsewhere = dir.path().join("elsewhere");
    fs::rename(of(1), &elsewhere).unwrap();
    symlink(&elsewhere, of(1)).unwrap();
    // The name of one period and the content of another.
    fs::copy(of(2), dir.path().join(format!("10s-{}-0.parquet", START + 2700))).unwrap();
    let archive = Archive::open(dir.path()).unwrap();
    let window = archive.window((START, START + 3600), 1000).unwrap();
    assert_eq!(window.slices.len(), 1);
    assert_eq!(window.unreadable.len(), 3, "{:?}", window.unreadable);
    // A writer goes on beside them.
    let mut store = Store::open(dir.path(), options()).unwrap();
    for at in 0..400 {
        store.push(slice(START + 5000 + 10 * at, &[("db", 1, 1)])).unwrap();
    }
}

#[test]
fn names_with_anything_in_them_come_back_as_they_were() {
    let dir = tempdir().unwrap();
    let mut store = Store::open(dir.path(), options()).unwrap();
    let names = ["", "a b\n\u{1b}[2J", "naïve/../../etc", "\u{202e}db", &"x".repeat(5000)];
    let io: Vec<(&str, u32, u64)> = names.iter().map(|name| (*name, 1, 1)).collect();
    store.push(slice(START, &io)).unwrap();
    store.close().unwrap();
    let window = Archive::open(dir.path()).unwrap().window((START, START + 10), 9).unwrap();
    let mut found: Vec<&str> = window.slices[0].io.keys().map(|key| &*key.vm).collect();
    let mut wanted = names.to_vec();
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}
