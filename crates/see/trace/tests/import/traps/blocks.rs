//! Block traces of Linux: binary, per CPU, and as text.

use std::fs;

use tilemark_trace::{Flags, IoRecord, OpenOptions, Operation, open};
use units::Nanos;

use crate::help::{Read, drain, format, read, read_as};
use crate::samples::action::{
    BACK_MERGE, COMPLETE, DISCARD, FLUSH, FUA, GET_REQUEST, ISSUE, NOTIFY, QUEUE, READ, REMAP,
    REQUEUE, SYNC, WRITE,
};
use crate::samples::{BLKPARSE, block_event};

/// An event without payload of a little-endian host: time, sector, bytes, action.
fn event(time: u64, sector: u64, bytes: u32, action: u32) -> Vec<u8> {
    block_event(false, time, sector, bytes, action, &[])
}

/// Accounts for every event, and gives the records.
fn records(events: &[Vec<u8>]) -> Vec<IoRecord> {
    let Read { records, info } = read(events.concat());
    assert_eq!(info.format, "blktrace");
    let taken = records.len() as u64 + info.losses.skipped;
    assert_eq!(taken, events.len() as u64, "every event is accounted for");
    records
}

#[test]
fn an_io_that_is_queued_issued_and_completed_is_one_record() {
    let records = records(&[
        event(1_000, 2048, 4096, QUEUE | WRITE),
        event(1_100, 2048, 4096, GET_REQUEST | WRITE),
        event(1_200, 2048, 4096, REMAP | WRITE),
        event(3_000, 2048, 4096, ISSUE | WRITE),
        event(10_000, 2048, 4096, COMPLETE | WRITE),
    ]);
    let [record] = records[..] else { panic!("one record: {records:?}") };
    assert_eq!((record.offset, record.length), (2048 * 512, 4096));
    assert_eq!(record.queue, Some(Nanos(2_000)));
    assert_eq!(record.device_time, Some(Nanos(7_000)));
    assert_eq!(record.latency(), Some(Nanos(9_000)));
}

#[test]
fn stacked_device_without_issues_has_queue_to_end_latencies() {
    let records = records(&[event(0, 8, 512, QUEUE | READ), event(9_000, 8, 512, COMPLETE | READ)]);
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].queue, records[0].latency()), (None, Some(Nanos(9_000))));
}

#[test]
fn merged_io_counts_once() {
    let records = records(&[
        event(0, 0, 4096, QUEUE | WRITE),
        event(10, 8, 4096, QUEUE | WRITE),
        event(11, 8, 4096, BACK_MERGE | WRITE),
        event(20, 0, 8192, ISSUE | WRITE),
        event(50, 0, 8192, COMPLETE | WRITE),
    ]);
    let [record] = records[..] else { panic!("one record: {records:?}") };
    assert_eq!((record.offset, record.length, record.latency()), (0, 8192, Some(Nanos(50))));
}

#[test]
fn two_io_at_one_place_at_once_stay_two() {
    let records = records(&[
        event(0, 8, 4096, QUEUE | READ),
        event(1, 8, 4096, QUEUE | READ),
        event(2, 8, 4096, ISSUE | READ),
        event(3, 8, 4096, ISSUE | READ),
        event(12, 8, 4096, COMPLETE | READ),
        event(23, 8, 4096, COMPLETE | READ),
    ]);
    let latencies: Vec<Option<Nanos>> = records.iter().map(IoRecord::latency).collect();
    assert_eq!(latencies, [Some(Nanos(12)), Some(Nanos(22))]);
}

#[test]
fn a_completion_in_two_parts_ends_with_the_second() {
    let records = records(&[
        event(0, 0, 8192, ISSUE | READ),
        event(10, 0, 4096, COMPLETE | READ),
        event(30, 8, 4096, COMPLETE | READ),
    ]);
    let [record] = records[..] else { panic!("one record: {records:?}") };
    assert_eq!((record.length, record.latency()), (8192, Some(Nanos(30))));
}

#[test]
fn a_requeued_io_is_issued_again_and_counts_once() {
    let records = records(&[
        event(0, 0, 4096, QUEUE | READ),
        event(5, 0, 4096, ISSUE | READ),
        event(6, 0, 4096, REQUEUE | READ),
        event(50, 0, 4096, ISSUE | READ),
        event(60, 0, 4096, COMPLETE | READ),
    ]);
    let [record] = records[..] else { panic!("one record: {records:?}") };
    assert_eq!((record.queue, record.device_time), (Some(Nanos(50)), Some(Nanos(10))));
}

#[test]
fn the_trace_may_begin_and_end_in_the_middle_of_io() {
    let records = records(&[
        event(0, 64, 4096, COMPLETE | READ),
        event(5, 0, 4096, QUEUE | READ),
        event(6, 0, 4096, ISSUE | READ),
        event(7, 8, 4096, QUEUE | WRITE),
    ]);
    assert_eq!(records.len(), 2, "what ended at 0 began before the trace");
    assert!(records.iter().all(|record| record.latency().is_none()));
}

#[test]
fn flushes_discards_and_flags_are_told_apart() {
    let records = records(&[
        event(0, 0, 0, QUEUE | FLUSH | WRITE | SYNC),
        event(1, 8, 4096, QUEUE | FLUSH | WRITE | SYNC | FUA),
        event(2, 16, 1 << 20, QUEUE | DISCARD | WRITE),
        event(3, 0, 0, COMPLETE | FLUSH | WRITE | SYNC),
    ]);
    let operations: Vec<Operation> = records.iter().map(|record| record.operation).collect();
    assert_eq!(operations, [Operation::Flush, Operation::Write, Operation::Discard]);
    assert_eq!(records[0].latency(), Some(Nanos(3)));
    let flags = Flags::PREFLUSH.with(Flags::SYNC).with(Flags::FUA);
    assert_eq!(records[1].flags, flags);
}

#[test]
fn payloads_are_stepped_over_and_tell_names_and_the_wall_clock() {
    let mut clock = Vec::new();
    clock.extend(1_700_000_000_u32.to_le_bytes());
    clock.extend(500_u32.to_le_bytes());
    let trace = [
        block_event(false, 100, 0, 0, NOTIFY | 1, &clock),
        block_event(false, 100, 0, 0, NOTIFY, b"postgres\0\0\0\0\0\0\0\0"),
        block_event(false, 1_100, 8, 512, QUEUE | READ, &[9; 77]),
        event(1_200, 8, 512, COMPLETE | READ),
    ];
    let read = read(trace.concat());
    assert_eq!(read.info.vms[usize::from(read.records[0].vm.0)], "postgres");
    assert_eq!(read.info.devices[0].name, "8,1");
    assert_eq!(read.info.started_unix_ns, Some(1_700_000_000_000_000_500 + 1_000));
}

#[test]
fn a_trace_of_a_big_endian_machine_reads_the_same() {
    let of = |big| {
        [
            block_event(big, 1_000, 2048, 4096, QUEUE | WRITE, b"abc"),
            block_event(big, 3_000, 2048, 4096, ISSUE | WRITE, &[]),
            block_event(big, 9_000, 2048, 4096, COMPLETE | WRITE, &[]),
        ]
        .concat()
    };
    let (little, big) = (read(of(false)), read(of(true)));
    assert_eq!(big.records, little.records);
    assert_eq!(big.info, little.info);
}

#[test]
fn what_is_damaged_is_one_bad_event_and_the_next_is_found() {
    let good = |time| event(time, time * 8, 512, QUEUE | READ);
    let mut trace = good(1);
    trace.extend([7; 30]);
    trace.extend(good(2));
    trace.extend(&good(3)[..47]);
    let read = read_as(&trace, None, 2).expect("two are allowed");
    assert_eq!(read.records.len(), 2);
    assert_eq!(
        read.info.losses.examples,
        [
            "event at byte 48: event does not begin with blktrace's magic number",
            "event at byte 126: last event is cut short",
        ]
    );
}

#[test]
fn files_of_all_cpus_are_one_trace_merged_by_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let issues = [event(10, 8, 512, ISSUE | READ), event(30, 16, 512, ISSUE | READ)].concat();
    let ends = [event(25, 8, 512, COMPLETE | READ), event(90, 16, 512, COMPLETE | READ)].concat();
    fs::write(folder.path().join("sda.blktrace.0"), issues).expect("written");
    let packed = zstd::encode_all(&ends[..], 1).expect("packed");
    fs::write(folder.path().join("sda.blktrace.1"), packed).expect("written");
    fs::write(folder.path().join("sda.blktrace.2"), []).expect("written");
    fs::write(folder.path().join("sdb.blktrace.0"), event(50, 1, 512, QUEUE | READ))
        .expect("written");
    let records = |name: &str| {
        let options = OpenOptions { max_bad: 0, ..OpenOptions::default() };
        let source = open(&folder.path().join(name), &options).expect("it opens");
        drain(source).expect("it reads").records
    };
    // Any file of the device, or the device's name, is all of the device.
    for name in ["sda.blktrace.0", "sda.blktrace.1", "sda"] {
        let latencies: Vec<_> = records(name).iter().map(IoRecord::latency).collect();
        assert_eq!(latencies, [Some(Nanos(15)), Some(Nanos(60))], "{name}");
    }
    assert_eq!(records("").len(), 3, "the folder is all devices");
    assert_eq!(records("sdb").len(), 1);
}

/// A folder from elsewhere may hold anything under such a name; a pipe was waited for.
#[test]
fn pipe_or_link_in_a_directory_of_traces_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sda.blktrace.0");
    let made = std::process::Command::new("mkfifo").arg(&file).status().expect("mkfifo");
    assert!(made.success());
    let refusal = |what: &str| {
        let error = open(folder.path(), &OpenOptions::default()).map(|_| ()).expect_err(what);
        assert!(error.to_string().contains(what), "{error}");
    };
    refusal("it is a fifo");
    fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink("/etc/passwd", &file).expect("linked");
    refusal("it is a symbolic link");
}

#[test]
fn trace_of_queue_events_only_has_a_record_for_each() {
    let many = 200_000;
    let events: Vec<u8> =
        (0..many).flat_map(|n| event(n * 10, n * 8, 4096, QUEUE | READ)).collect();
    let read = read(events);
    assert_eq!(read.records.len() as u64, many);
    assert_eq!(read.info.losses.disordered, 0);
}

#[test]
fn blkparse_text_counts_each_io_once_and_steps_over_its_summary() {
    let read = read(BLKPARSE);
    assert_eq!(read.info.format, "blkparse");
    let [record] = read.records[..] else { panic!("one record: {:?}", read.records) };
    assert_eq!((record.offset, record.length), (223_490 * 512, 8 * 512));
    assert_eq!(record.queue, Some(Nanos(10_000)));
    assert_eq!(record.device_time, Some(Nanos(1_000_000)));
    assert_eq!(read.info.vms[usize::from(record.vm.0)], "kjournald");
    assert_eq!(read.info.losses.skipped, BLKPARSE.lines().count() as u64 - 1);
}

#[test]
fn blkparse_rows_without_sectors_remaps_and_errors() {
    let read = read(
        "253,0 1 1 0.000000000 1 A RM 64 + 8 <- (8,1) 0\n\
         8,0 1 2 0.000000001 1 Q RM 64 + 8 [my proc]\n\
         8,0 1 3 0.000000002 1 U N [my proc] 1\n\
         8,0 1 4 0.000000003 1 UT N [swapper] 1\n\
         8,0 1 5 0.000000004 1 m N cfq schedule dispatch\n\
         8,0 1 6 0.000000005 1 Q FWS [my proc]\n\
         8,0 1 7 0.000000006 1 D R 36 (12 00 00) [udevd]\n\
         8,0 1 8 0.000000007 1 Q FWFSM 72 + 8 [my proc]\n\
         8,0 1 9 0.000000101 0 C RM 64 + 8 [65531]\n",
    );
    let operations: Vec<Operation> = read.records.iter().map(|record| record.operation).collect();
    assert_eq!(operations, [Operation::Read, Operation::Flush, Operation::Write]);
    assert_eq!(read.records[0].flags, Flags::META.with(Flags::ERROR));
    assert_eq!(read.records[0].latency(), Some(Nanos(100)));
    let flags = Flags::PREFLUSH.with(Flags::FUA).with(Flags::SYNC).with(Flags::META);
    assert_eq!(read.records[2].flags, flags);
    assert_eq!(read.info.vms[0], "my proc", "names may hold spaces");
}

#[test]
fn another_binary_is_refused_as_a_block_trace() {
    let error = read_as(&[1; 96], Some(format("blktrace")), 9).expect_err("no magic");
    assert!(error.to_string().contains("magic number"), "{error}");
}

/// Seen at e6eaf978: the worker that dispatched and the 0 in the brackets of completions were
/// counted as senders of I/O.
#[test]
fn blkparse_senders_are_those_who_queued() {
    let read = read(
        "259,0    2      101    3.000000000  5150  Q  DS 0 + 819200 [fio]\n\
         259,0    2      102    3.000007000  5150  G  DS 0 + 819200 [fio]\n\
         259,0    2      103    3.000008000  5150  P   N [fio]\n\
         259,0    2      104    3.000009000  5150 UT   N [fio] 1\n\
         259,0    2      105    3.000010000  5150  I  DS 0 + 819200 [fio]\n\
         259,0    2      106    3.000030000    88  D  DS 0 + 819200 [kworker/2:1H]\n\
         259,0    2      107    3.001200000     0  C  DS 0 + 819200 [0]\n\
         259,0    2      108    3.002000000    88  Q   N 0 + 0 [smartd]\n\
         259,0    2      109    3.002000000    88  m   N cfq88 / alloced\n",
    );
    assert_eq!(read.info.vms, ["fio"]);
    let [discard] = read.records[..] else { panic!("one: {:?}", read.records) };
    assert_eq!((discard.operation, discard.length), (Operation::Discard, 819_200 * 512));
    assert_eq!(discard.latency(), Some(Nanos(1_200_000)));
}

#[test]
fn blkparse_without_queue_events_names_who_dispatched() {
    let read = read(
        "  8,0    3        5     0.000010000   697  D   W 223490 + 8 [kworker/3:1H]\n\
         \x20 8,0    1        1     0.001010000     0  C   W 223490 + 8 [0]\n",
    );
    assert_eq!(read.info.vms, ["kworker/3:1H"], "nothing else is known");
}

#[test]
fn blktrace_senders_are_those_who_queued() {
    let name = |pid: u32, name: &[u8; 16]| {
        let mut event = block_event(false, 0, 0, 0, NOTIFY, name);
        event[32..36].copy_from_slice(&pid.to_le_bytes());
        event
    };
    let event = |pid: u32, time: u64, what: u32| {
        let mut event = block_event(false, time, 64, 4096, what | WRITE, &[]);
        event[32..36].copy_from_slice(&pid.to_le_bytes());
        event
    };
    let read = read(
        [
            name(1, b"kworker/0:1H\0\0\0\0"),
            name(2, b"fio\0\0\0\0\0\0\0\0\0\0\0\0\0"),
            event(2, 10, QUEUE),
            event(1, 20, ISSUE),
            event(0, 90, COMPLETE),
        ]
        .concat(),
    );
    assert_eq!(read.info.vms, ["fio"]);
    assert_eq!(read.records.len(), 1);
}
