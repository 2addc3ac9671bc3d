//! Real tools read the files that we make and write files that we read: blkparse and fio, where
//! they are installed.

use std::path::Path;
use std::process::Command;

use tilemark_trace::{IoRecord, OpenOptions, Operation, open};
use units::Nanos;

use crate::help::{Read, drain, read};
use crate::samples::action::{
    BACK_MERGE, COMPLETE, DISCARD, FLUSH, FUA, GET_REQUEST, ISSUE, NOTIFY, QUEUE, READ, REQUEUE,
    SYNC, WRITE,
};
use crate::samples::block_event;

/// Output of a program; `None`, with the reason printed, where it cannot be started.
fn output(program: &str, arguments: &[&str], folder: &Path) -> Option<String> {
    match Command::new(program).args(arguments).current_dir(folder).output() {
        Ok(output) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert!(output.status.success(), "{program}: {}", text(&output.stderr));
            Some(text(&output.stdout))
        }
        Err(error) => {
            eprintln!("skipped: {program}: {error}");
            None
        }
    }
}

/// Time, CPU, sector, bytes, action.
type Event = (u64, u32, u64, u32, u32);

/// Begin of the traced host's clock.
const BEGIN: u64 = 5_000_000_000_000;

/// 400 I/Os that are queued and issued on one CPU and end on another: of all operations, some
/// merged, some requeued, some with an error, up to eight at a time. In order of time.
fn events() -> Vec<Event> {
    let kinds = [
        READ,
        WRITE | SYNC,
        READ | SYNC,
        WRITE | FUA | SYNC,
        WRITE,
        DISCARD | WRITE,
        WRITE | FLUSH | SYNC,
        READ,
    ];
    let (mut events, mut random): (Vec<Event>, u64) = (Vec::new(), 7);
    let mut next = |below: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for number in 0..400_u64 {
        let begin = BEGIN + number * 100_000 + next(50_000);
        let kind = kinds[usize::try_from(number % 8).expect("small")];
        // Each has a place of its own.
        let sector = number * 4096 + next(64) * 8;
        let bytes = 4096 * (1 + u32::try_from(next(16)).expect("small"));
        let cpu = u32::try_from(next(2)).expect("small");
        let mut push = |after: u64, cpu: u32, sector: u64, bytes: u32, what: u32| {
            events.push((begin + after, cpu, sector, bytes, what | kind));
        };
        let is_flush = number % 40 == 22;
        if is_flush {
            // An empty write that asks for a flush.
            push(0, cpu, 0, 0, QUEUE);
            push(900, cpu, 0, 0, ISSUE);
            push(30_000 + next(500_000), 1 - cpu, 0, 0, COMPLETE);
            continue;
        }
        push(0, cpu, sector, bytes, QUEUE);
        push(300, cpu, sector, bytes, GET_REQUEST);
        let mut whole = bytes;
        if number % 5 == 3 {
            let behind = sector + u64::from(bytes / 512);
            push(400, cpu, behind, 4096, QUEUE);
            push(500, cpu, behind, 4096, BACK_MERGE);
            whole += 4096;
        }
        push(2_000 + next(5_000), cpu, sector, whole, ISSUE);
        if number % 50 == 9 {
            push(8_000, cpu, sector, whole, REQUEUE);
            push(9_000, cpu, sector, whole, ISSUE);
        }
        push(10_000 + next(700_000), 1 - cpu, sector, whole, COMPLETE);
    }
    events.sort_unstable();
    events
}

/// The files of two CPUs, each numbered by itself, with the name of the process.
fn write(folder: &Path, events: &[Event]) {
    for file in 0..2_u32 {
        let name = block_event(false, BEGIN, 0, 0, NOTIFY, b"postgres\0\0\0\0\0\0\0\0");
        let own = events.iter().filter(|event| event.1 == file);
        let of = |event: &Event| block_event(false, event.0, event.2, event.3, event.4, &[]);
        let mut bytes = Vec::new();
        for (number, mut event) in (1_u32..).zip(std::iter::once(name).chain(own.map(of))) {
            event[4..8].copy_from_slice(&number.to_le_bytes());
            event[40..44].copy_from_slice(&file.to_le_bytes());
            bytes.extend(event);
        }
        std::fs::write(folder.join(format!("sda.blktrace.{file}")), bytes).expect("written");
    }
}

/// The trace in the folder, read by us.
fn ours(folder: &Path) -> Read {
    let options = OpenOptions { max_bad: 0, ..OpenOptions::default() };
    drain(open(&folder.join("sda"), &options).expect("it opens")).expect("it reads")
}

fn letter(action: u32) -> Option<&'static str> {
    let known = [
        (QUEUE, "Q"),
        (BACK_MERGE, "M"),
        (GET_REQUEST, "G"),
        (REQUEUE, "R"),
        (ISSUE, "D"),
        (COMPLETE, "C"),
    ];
    known.iter().find(|(code, _)| code & 0xff == action & 0xff).map(|(_, letter)| *letter)
}

#[test]
fn blkparse_reads_our_binary_events_as_they_were_meant() {
    let folder = tempfile::tempdir().expect("a folder");
    let events = events();
    write(folder.path(), &events);
    let Some(text) = output("blkparse", &["-q", "-i", "sda"], folder.path()) else { return };
    // It also names its input files.
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.first().is_some_and(|word| word.contains(',')))
        .collect();
    assert_eq!(rows.len(), events.len());
    for (row, (time, cpu, sector, bytes, action)) in rows.iter().zip(&events) {
        assert_eq!((row[0], row[1]), ("8,1", cpu.to_string().as_str()), "{row:?}");
        let (seconds, nanos) = row[3].split_once('.').expect("a time");
        let at: u64 = seconds.parse::<u64>().expect("one") * 1_000_000_000
            + nanos.parse::<u64>().expect("nine digits");
        // Counted from the first event, as we count from the first I/O.
        assert_eq!(at, time - events[0].0, "{row:?}");
        assert_eq!(Some(row[5]), letter(*action), "{row:?}");
        if *bytes > 0 {
            let count = (bytes / 512).to_string();
            assert_eq!(row[7..10], [sector.to_string().as_str(), "+", &count], "{row:?}");
        }
    }
}

#[test]
fn blkparse_s_text_and_its_binary_are_the_same_trace_to_us() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), &events());
    let arguments = ["-i", "sda", "-d", "merged.blktrace"];
    let Some(text) = output("blkparse", &arguments, folder.path()) else { return };
    let binary = ours(folder.path());
    let as_text = read(&text);
    assert_eq!(as_text.info.format, "blkparse");
    assert_eq!(as_text.info.devices, binary.info.devices);
    assert_eq!(as_text.records, binary.records);
    let names = |read: &Read| -> Vec<String> {
        let name = |io: &IoRecord| read.info.vms[usize::from(io.vm.0)].clone();
        read.records.iter().map(name).collect()
    };
    assert_eq!(names(&as_text), names(&binary));
    assert!(names(&binary).iter().all(|name| name == "postgres"));
    // The events of both CPUs in one file, as blkparse has put them in order.
    let merged = std::fs::read(folder.path().join("merged.blktrace")).expect("written");
    assert_eq!(read(merged).records, binary.records);
    assert_eq!(totals(&text), counted(&binary.records));
}

/// Reads and writes that were completed, with KiB, of all CPUs.
fn totals(text: &str) -> [u64; 4] {
    let total = &text[text.find("Total (").expect("a sum of all CPUs")..];
    let line = total.lines().find(|line| line.contains("Completed")).expect("a line of it");
    let numbers: Vec<u64> = line
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    numbers.try_into().expect("four numbers")
}

/// Counts records as blkparse does: discards and flushes are writes.
fn counted(records: &[IoRecord]) -> [u64; 4] {
    let of = |is_read: bool| {
        let own = records.iter().filter(move |io| (io.operation == Operation::Read) == is_read);
        own.fold((0, 0), |(count, kib), io| (count + 1, kib + u64::from(io.length) / 1024))
    };
    let ((reads, read_kib), (writes, written_kib)) = (of(true), of(false));
    [reads, read_kib, writes, written_kib]
}

/// Records that fio logs of each I/O that it plays or does.
fn logged(folder: &Path, name: &str) -> Vec<IoRecord> {
    let path = folder.join(format!("{name}_lat.1.log"));
    let options = OpenOptions { max_bad: 0, ..OpenOptions::default() };
    drain(open(&path, &options).expect("it opens")).expect("it reads").records
}

/// Operation, first byte, length: all that does not depend on how fast it was played. In the
/// order of the log, which is that of ends; at one outstanding that is that of issues.
fn places(records: &[IoRecord]) -> Vec<(Operation, u64, u32)> {
    records.iter().map(|io| (io.operation, io.offset, io.length)).collect()
}

#[test]
fn fio_plays_our_binary_events_as_the_same_reads_and_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    // fio replays the queued I/Os, so nothing is merged or flushed here.
    let begin = |events: Vec<Event>| -> Vec<Event> {
        let plain = |event: &Event| event.4 & (FLUSH | DISCARD) == 0 && event.3 > 0;
        let merges = events.iter().filter(|event| event.4 & 0xff == 2);
        let merged: Vec<u64> = merges.map(|event| event.2).collect();
        let is_own = |event: &Event| plain(event) && !merged.contains(&event.2);
        events.into_iter().filter(is_own).filter(|event| event.4 & 0xff == 1).collect()
    };
    let queued = begin(events());
    write(folder.path(), &queued);
    let merge = ["-q", "-i", "sda", "-d", "merged.blktrace", "-O"];
    if output("blkparse", &merge, folder.path()).is_none() {
        return;
    }
    let target = folder.path().join("target").display().to_string();
    let redirect = format!("--replay_redirect={target}");
    let arguments = [
        "--name=played",
        "--ioengine=null",
        "--size=1g",
        "--read_iolog=merged.blktrace",
        &redirect,
        "--replay_no_stall=1",
        "--write_lat_log=played",
        "--log_offset=1",
    ];
    if output("fio", &arguments, folder.path()).is_none() {
        return;
    }
    let binary = ours(folder.path());
    assert_eq!(binary.records.len(), queued.len());
    let mut played = places(&logged(folder.path(), "played"));
    let mut wanted = places(&binary.records);
    // A log of milliseconds has no order within one.
    played.sort_unstable_by_key(|(_, offset, _)| *offset);
    wanted.sort_unstable_by_key(|(_, offset, _)| *offset);
    assert_eq!(played, wanted);
}

#[test]
fn fio_s_logs_of_one_job_are_the_same_trace_to_us() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [
        "--name=w",
        "--ioengine=psync",
        "--filename=file",
        "--size=4m",
        "--bs=4k,8k",
        "--rw=randrw",
        "--number_ios=300",
        "--fsync=16",
        "--write_iolog=w.iolog",
        "--write_lat_log=w",
        "--log_offset=1",
    ];
    if output("fio", &arguments, folder.path()).is_none() {
        return;
    }
    let options = OpenOptions { max_bad: 0, ..OpenOptions::default() };
    let source = open(&folder.path().join("w.iolog"), &options).expect("it opens");
    let log = drain(source).expect("it reads");
    assert_eq!(log.info.format, "fio-iolog");
    let flushes = log.records.iter().filter(|io| io.operation == Operation::Flush).count();
    assert!(flushes > 0, "--fsync=16");
    let moves: Vec<IoRecord> =
        log.records.iter().filter(|io| io.operation.moves_data()).copied().collect();
    let (mut ours, mut theirs) = (places(&moves), places(&logged(folder.path(), "w")));
    ours.sort_unstable_by_key(|(operation, offset, _)| (*offset, *operation as u8));
    theirs.sort_unstable_by_key(|(operation, offset, _)| (*offset, *operation as u8));
    assert_eq!(ours, theirs);
}

#[test]
fn fio_plays_a_log_with_times_at_the_times_we_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("target").display().to_string();
    let mut text = "fio version 3 iolog\n".to_owned();
    for row in [
        "10 F add",
        "20 F open",
        "100 F write 4096 8192",
        "150100 F read 0 4096",
        "250100 F read 8192 4096",
        "400100 F write 12288 4096",
        "450100 F close",
    ] {
        text += &format!("{}\n", row.replace('F', &target));
    }
    std::fs::write(folder.path().join("made.iolog"), &text).expect("written");
    let arguments = [
        "--name=played",
        "--ioengine=null",
        "--size=4m",
        "--read_iolog=made.iolog",
        "--write_lat_log=played",
        "--log_offset=1",
    ];
    if output("fio", &arguments, folder.path()).is_none() {
        return;
    }
    let (ours, played) = (read(&text).records, logged(folder.path(), "played"));
    assert_eq!(places(&ours), places(&played));
    // Each I/O may be late on a busy host, the first one, too; microseconds they are.
    let span = |records: &[IoRecord]| records[3].issue.saturating_sub(records[0].issue);
    assert_eq!(span(&ours), Nanos::from_millis(400));
    let played = span(&played);
    assert!(played >= Nanos::from_millis(200) && played < Nanos::from_secs(40), "{played}");
}
