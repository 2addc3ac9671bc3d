//! Traces that cannot be written or read say which file and why.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tilemark_trace::store::{self, Columns, Options, Writer};
use tilemark_trace::{IoRecord, Memory, OpenOptions, Operation, Source, TraceError, VmIndex};
use units::Nanos;

use crate::round_trip::info;

fn records(count: u64) -> Vec<IoRecord> {
    let record = |n: u64| IoRecord::new(Nanos(n * 1000), Operation::Read, n * 7919 % 4096, 4096);
    (0..count).map(record).collect()
}

fn stored(directory: &Path) -> PathBuf {
    let path = directory.join("t.tmt");
    let mut source = Memory::new(info(1, 1), records(50_000));
    store::save(&mut source, &path, Options::default()).expect("storing");
    path
}

fn read(path: &Path) -> Result<u64, TraceError> {
    let mut source = store::open(path)?.source(Columns::ALL);
    let (mut count, mut batch) = (0, Vec::new());
    loop {
        source.read(&mut batch)?;
        if batch.is_empty() {
            return Ok(count);
        }
        count += batch.len() as u64;
    }
}

#[test]
fn nothing_is_overwritten() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = stored(directory.path());
    let error = Writer::create(&path, &info(1, 1), Options::default()).expect_err("it exists");
    assert!(matches!(error, TraceError::Exists { .. }), "{error}");
    assert_eq!(read(&path).expect("still whole"), 50_000);

    let file = directory.path().join("file.tmt");
    fs::write(&file, "mine").expect("writing");
    Writer::create(&file, &info(1, 1), Options::default()).expect_err("a file is there");
    assert_eq!(fs::read(&file).expect("reading"), b"mine");
}

/// Store of a writer that is killed while it writes the tenth of these parts.
fn killed(directory: &Path, records_per_part: u64) -> PathBuf {
    let path = directory.join("t.tmt");
    let options = Options { records_per_part, ..Options::default() };
    let mut writer = Writer::create(&path, &info(1, 1), options).expect("creating");
    writer.write(&records(1000)).expect("writing");
    drop(writer);
    path
}

#[test]
fn trace_of_a_killed_writer_has_all_complete_parts() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = killed(directory.path(), 100);
    let partial = directory.path().join("t.tmt.partial");
    for asked in [&path, &partial] {
        let store = store::open(asked).expect("nine parts are complete");
        assert!(store.is_unfinished());
        assert_eq!((store.records(), read(asked).expect("readable")), (900, 900));
        assert!(tilemark_trace::open(asked, &OpenOptions::default()).is_ok());
    }
    assert!(store::is_store(&partial), "it is ours all the same");
    let error = Writer::create(&path, &info(1, 1), Options::default()).expect_err("remains");
    assert!(error.to_string().contains("t.tmt.partial exists"), "{error}");
    assert!(error.hint().expect("a way out").contains("remove it"));
}

#[test]
fn trace_that_filled_its_disk_has_all_complete_parts() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = |program: &str, args: &[&str]| {
        let status = Command::new(program).args(args).arg(directory.path()).status();
        status.is_ok_and(|status| status.success())
    };
    if !run("mount", &["-t", "tmpfs", "-o", "size=64k", "none"]) {
        return eprintln!("skipped: mounting a small file system needs root");
    }
    let path = directory.path().join("t.tmt");
    let options = Options { records_per_part: 100, ..Options::default() };
    let mut writer = Writer::create(&path, &info(1, 1), options).expect("creating");
    let many = records(100_000);
    let full = many.chunks(100).find_map(|part| writer.write(part).err()).expect("no room");
    let again = writer.write(&many[99_900..]).expect_err("no more");
    drop(writer);
    let found = store::open(&path).map(|store| (store.is_unfinished(), store.records()));
    let readable = read(&path).ok();
    assert!(run("umount", &[]));
    assert!(full.to_string().contains("No space left") && full.hint().is_some(), "{full}");
    assert!(matches!(again, TraceError::Broken { .. }), "{again}");
    let (is_unfinished, stored) = found.expect("some parts are complete");
    assert!(is_unfinished && stored >= 100 && stored % 100 == 0, "{stored}");
    assert_eq!(readable, Some(stored));
}

#[test]
fn a_trace_whose_writer_was_killed_in_its_first_part_says_so() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = killed(directory.path(), 1_000_000);
    for asked in [&path, &directory.path().join("t.tmt.partial")] {
        let error = store::open(asked).expect_err("no part is complete");
        assert!(error.to_string().contains("t.tmt.partial was not finished"), "{error}");
    }
}

#[test]
fn a_finished_trace_is_not_called_unfinished() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = store::open(&stored(directory.path())).expect("opening");
    assert!(!store.is_unfinished());
    let names = fs::read_dir(directory.path().join("t.tmt")).expect("listing");
    let left = names.flatten().filter(|entry| entry.file_name() == "trace.json.next");
    assert_eq!(left.count(), 0);
}

#[test]
fn an_abandoned_trace_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("t.tmt/");
    let mut writer = Writer::create(&path, &info(1, 1), Options::default()).expect("creating");
    writer.write(&records(10)).expect("writing");
    assert!(writer.partial().ends_with("t.tmt.partial"), "{}", writer.partial().display());
    writer.abandon().expect("removing");
    assert_eq!(fs::read_dir(directory.path()).expect("listing").count(), 0);
}

/// A user who may rename files in the parent directory replaces the trace's directory.
#[test]
fn replaced_directory_of_a_trace_is_neither_used_nor_removed() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("t.tmt");
    let cut = Options { records_per_part: 10, records_per_group: 10, ..Options::default() };
    let mut writer = Writer::create(&path, &info(1, 1), cut).expect("creating");
    writer.write(&records(10)).expect("writing");
    let (partial, moved) = (place.path().join("t.tmt.partial"), place.path().join("moved"));
    fs::rename(&partial, &moved).expect("renaming");
    fs::create_dir(&partial).expect("another");
    fs::write(partial.join("precious"), "of somebody").expect("a file in it");
    writer.write(&records(20)[10..]).expect("writing on");
    assert!(moved.join("part-000001.parquet").exists());
    assert_eq!(fs::read_dir(&partial).expect("listing").count(), 1);
    writer.abandon().expect_err("the name is somebody else's");
    assert_eq!(fs::read_to_string(partial.join("precious")).expect("kept"), "of somebody");
    assert_eq!(fs::read_dir(&moved).expect("listing").count(), 0);
}

#[test]
fn a_source_that_fails_leaves_nothing_and_its_error_is_told() {
    struct Failing(tilemark_trace::TraceInfo);
    impl Source for Failing {
        fn info(&self) -> &tilemark_trace::TraceInfo {
            &self.0
        }
        fn read(&mut self, _: &mut Vec<IoRecord>) -> Result<(), TraceError> {
            Err(TraceError::Format { path: "x.csv".into(), reason: "line 3 is torn".to_owned() })
        }
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("t.tmt");
    let error = store::save(&mut Failing(info(1, 1)), &path, Options::default());
    assert_eq!(error.expect_err("it failed").to_string(), "x.csv: line 3 is torn");
    assert_eq!(fs::read_dir(directory.path()).expect("listing").count(), 0);
}

#[test]
fn records_that_cannot_be_stored_are_refused_and_not_bent() {
    let directory = tempfile::tempdir().expect("a directory");
    let record = IoRecord::new(Nanos(5), Operation::Read, 0, 4096);
    let cases = [
        (vec![record, IoRecord { issue: Nanos(4), ..record }], "at 4 ns, after one at 5 ns"),
        (vec![IoRecord { vm: VmIndex(1), ..record }], "VM 1 (from 0), but only 1 exist"),
        (vec![IoRecord { offset: 1 << 63, ..record }], "the offset 9223372036854775808 B"),
    ];
    for (number, (records, said)) in cases.into_iter().enumerate() {
        let path = directory.path().join(format!("{number}.tmt"));
        let mut writer = Writer::create(&path, &info(1, 1), Options::default()).expect("creating");
        let error = writer.write(&records).expect_err(said);
        assert!(error.to_string().contains(said), "{error}");
        let error = writer.write(&[record]).expect_err("nothing follows an error");
        assert!(matches!(error, TraceError::Broken { .. }), "{error}");
        writer.finish().expect_err("half a trace is not finished");
        assert!(!path.exists());
    }
}

#[test]
fn a_damaged_or_missing_file_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = stored(directory.path());
    let part = path.join("part-000000.parquet");
    let whole = fs::read(&part).expect("reading");
    let said = |what: &str| {
        let error = read(&path).expect_err(what).to_string();
        assert!(error.contains("part-000000.parquet"), "{what}: {error}");
    };

    fs::write(&part, &whole[..whole.len() - 1]).expect("writing");
    said("cut short");
    let mut torn = whole.clone();
    let end = torn.len();
    torn[end - 200..end - 8].fill(0x5a);
    fs::write(&part, &torn).expect("writing");
    said("a torn footer");
    fs::remove_file(&part).expect("removing");
    said("gone");

    fs::write(&part, &whole).expect("writing");
    assert_eq!(read(&path).expect("whole again"), 50_000);
    fs::write(path.join("trace.json"), "{\"schema\": \"tilemark.trace/2.0\"}").expect("writing");
    let error = read(&path).expect_err("a later version").to_string();
    assert!(error.contains("trace.json") && error.contains("tilemark.trace/2.0"), "{error}");
}

/// Bytes may be wrong without anybody noticing (the checksums are for that), but never a panic.
#[test]
fn no_damage_makes_the_reader_panic() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = stored(directory.path());
    let part = path.join("part-000000.parquet");
    let whole = fs::read(&part).expect("reading");
    let file = fs::File::options().write(true).open(&part).expect("opening");
    let step = whole.len() / 300;
    for at in (0..whole.len()).step_by(step.max(1)) {
        file.write_all_at(&[whole[at] ^ 0xff], at as u64).expect("damaging");
        if let Err(error) = read(&path) {
            assert!(error.to_string().contains("part-000000.parquet"), "{error}");
        }
        file.write_all_at(&[whole[at]], at as u64).expect("mending");
    }
    assert_eq!(read(&path).expect("whole again"), 50_000);
}

#[test]
fn a_full_disk_is_told_as_one_with_the_file() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        eprintln!("skipped: there is no /dev/full");
        return;
    }
    // A part cannot be put on /dev/full by name. So only the conversion is tested.
    let error = fs::write(full, b"x").expect_err("it is full");
    let error = TraceError::Io { path: full.to_owned(), source: error };
    assert!(error.to_string().contains("/dev/full"));
    assert!(error.hint().expect("a way out").contains("free some space"));
}
