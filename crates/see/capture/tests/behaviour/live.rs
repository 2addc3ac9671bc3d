use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tilemark_capture::{By, Capture, CaptureError, Options, Order, Report, SenderFilter, disks_of};
use trace::{Flags, IoRecord, Operation};
use units::Bytes;

use crate::disk::{Loop, Stat, run};
use crate::privately::has_tracefs;

fn options(target: &Path) -> Options {
    Options {
        disks: disks_of(&[target.to_owned()]).expect("a disk"),
        buffer: Bytes::new(4 << 20),
        by: By::Name,
        wanted: SenderFilter::default(),
        order: Order::Issue,
    }
}

fn recorded(options: Options, work: impl FnOnce()) -> (Vec<IoRecord>, Report) {
    let mut records = Vec::new();
    let mut capture = Capture::start(options).expect("started");
    work();
    capture.step(&mut records).expect("read");
    let report = capture.finish(&mut records).expect("ended");
    (records, report)
}

/// Counts of the records in the kernel's terms.
fn counted(records: &[IoRecord]) -> Stat {
    let of = |operation| records.iter().filter(move |record| record.operation == operation);
    let count = |operation| of(operation).count() as u64;
    let bytes = |operation| of(operation).map(|record| u64::from(record.length)).sum();
    Stat {
        reads: count(Operation::Read),
        read_bytes: bytes(Operation::Read),
        writes: count(Operation::Write),
        written_bytes: bytes(Operation::Write),
        discards: count(Operation::Discard),
        flushes: count(Operation::Flush),
    }
}

fn instances() -> Vec<String> {
    let entries = fs::read_dir("/sys/kernel/tracing/instances").expect("tracefs");
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("tilemark-")).collect()
}

fn of_this_process(name: &str) -> bool {
    name.starts_with(&format!("tilemark-{}-", std::process::id()))
}

#[test]
fn counts_and_bytes_are_those_of_the_kernel_whatever_was_done() {
    if !has_tracefs("live::counts_and_bytes_are_those_of_the_kernel_whatever_was_done") {
        return;
    }
    let Some(disk) = Loop::new(64) else { return };
    let device = disk.path.to_str().expect("plain");
    let (of, from) = (format!("of={device}"), format!("if={device}"));
    let before = disk.stat();
    let (records, report) = recorded(options(&disk.path), || {
        run("dd", &["if=/dev/zero", &of, "bs=64k", "count=200", "oflag=direct", "conv=fsync"]);
        run("dd", &["if=/dev/zero", &of, "bs=4k", "seek=5000", "count=1000", "conv=fsync"]);
        run("dd", &[&from, "of=/dev/null", "bs=4k", "count=1000", "iflag=direct"]);
        run("dd", &[&from, "of=/dev/null", "bs=4M", "count=3", "iflag=direct"]);
        run("blkdiscard", &["-o", "0", "-l", "1M", device]);
    });
    let mut by_kernel = disk.stat() - before;
    let counts = report.progress.counts;
    // The kernel counts a flush twice: the device flush, and the flush request as a write without
    // data.
    assert_eq!(counts.steps, by_kernel.flushes);
    by_kernel.writes -= counts.steps;
    assert_eq!(counted(&records), by_kernel, "{report:?}");
    assert_eq!((report.progress.lost, report.broken_pages), (0, 0));
    assert_eq!((counts.unmatched, counts.unfinished, counts.abandoned), (0, 0, 0));
    assert!(records.is_sorted_by_key(|record| record.issue));
    assert!(records.iter().all(|record| record.latency().is_some()));
    let names = &report.info.vms;
    assert!(names.iter().any(|name| name == "dd"), "{names:?}");
    let is_small_read =
        |record: &&IoRecord| record.operation == Operation::Read && record.length == 4096;
    let reads: Vec<&IoRecord> = records.iter().filter(is_small_read).collect();
    assert!(reads.iter().filter(|read| read.flags.has(Flags::SEQUENTIAL)).count() >= 990);
    let dd = |record: &&&IoRecord| names[usize::from(record.vm.0)] == "dd";
    assert!(reads.iter().filter(dd).count() >= 1000);
}

#[test]
fn somebody_else_s_io_is_counted_and_left_out() {
    if !has_tracefs("live::somebody_else_s_io_is_counted_and_left_out") {
        return;
    }
    let Some(disk) = Loop::new(8) else { return };
    let from = format!("if={}", disk.path.display());
    let wanted = SenderFilter { process: Some(u32::MAX), ..SenderFilter::default() };
    let (records, report) = recorded(Options { wanted, ..options(&disk.path) }, || {
        run("dd", &[&from, "of=/dev/null", "bs=4k", "count=100", "iflag=direct"]);
    });
    assert_eq!(records.len(), 0);
    assert!(report.progress.counts.unwanted >= 100, "{report:?}");
}

#[test]
fn events_that_do_not_fit_are_counted_and_the_rest_is_right() {
    if !has_tracefs("live::events_that_do_not_fit_are_counted_and_the_rest_is_right") {
        return;
    }
    let Some(disk) = Loop::new(64) else { return };
    let from = format!("if={}", disk.path.display());
    let buffer = Bytes::new(64 << 10);
    let before = disk.stat();
    let (records, report) = recorded(Options { buffer, ..options(&disk.path) }, || {
        run("dd", &[&from, "of=/dev/null", "bs=4k", "count=9000", "iflag=direct"]);
    });
    let done = (disk.stat() - before).reads;
    assert!(report.progress.lost > 0, "{report:?}");
    assert!(!records.is_empty() && (records.len() as u64) < done);
    assert_eq!(report.info.losses.dropped, report.progress.lost);
}

#[test]
fn wait_ends_when_half_of_a_buffer_is_full() {
    if !has_tracefs("live::wait_ends_when_half_of_a_buffer_is_full") {
        return;
    }
    if !Path::new("/sys/kernel/tracing/buffer_percent").exists() {
        eprintln!("skipped: this kernel does not wake a reader by the filling of its buffer");
        return;
    }
    let Some(disk) = Loop::new(64) else { return };
    let from = format!("if={}", disk.path.display());
    let buffer = Bytes::new(64 << 10);
    let capture = Capture::start(Options { buffer, ..options(&disk.path) }).expect("started");
    run("dd", &[&from, "of=/dev/null", "bs=4k", "count=9000", "iflag=direct"]);
    // A wait that nothing ends would be longer than any test may take.
    capture.wait(Duration::ZERO, Duration::from_secs(24 * 3600));
}

#[test]
fn nothing_is_left_of_a_capture_that_ended_or_panicked() {
    if !has_tracefs("live::nothing_is_left_of_a_capture_that_ended_or_panicked") {
        return;
    }
    let Some(disk) = Loop::new(8) else { return };
    let begin = || Capture::start(options(&disk.path)).expect("started");
    let capture = begin();
    let ours = |have: &String| of_this_process(have);
    let count = instances().iter().filter(|name| ours(name)).count();
    assert!(count >= 1);
    drop(capture);
    let result = std::panic::catch_unwind(|| {
        let _capture = begin();
        panic!("on purpose");
    });
    assert!(result.is_err());
}

#[test]
fn the_instance_of_a_killed_capture_goes_with_the_next_start() {
    if !has_tracefs("live::the_instance_of_a_killed_capture_goes_with_the_next_start") {
        return;
    }
    let Some(disk) = Loop::new(8) else { return };
    // One process has ended; the other has the id of one that ended.
    let mut child = Command::new("true").stdin(Stdio::null()).spawn().expect("started");
    let dead = child.id();
    child.wait().expect("ended");
    let left = [format!("tilemark-{dead}-1-0"), "tilemark-1-99999999999-0".to_owned()];
    for name in &left {
        fs::create_dir(Path::new("/sys/kernel/tracing/instances").join(name)).expect("made");
    }
    drop(Capture::start(options(&disk.path)).expect("started"));
    assert!(!instances().iter().any(|name| left.contains(name)), "{:?}", instances());
}

#[test]
fn without_root_it_says_how_to_get_there() {
    let error = CaptureError::NoTracefs;
    assert!(error.hint().expect("a way").contains("mount -t tracefs"));
    let error = CaptureError::NotAllowed { path: "/sys/kernel/tracing".into() };
    assert!(error.hint().expect("a way").contains("sudo tilemark record"));
}
