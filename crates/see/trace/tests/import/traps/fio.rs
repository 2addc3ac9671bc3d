//! fio's logs.

use tilemark_trace::{Clock, Operation};
use units::Nanos;

use crate::help::{format, read, read_as};

#[test]
fn version_3_has_microseconds() {
    let read = read(
        "fio version 3 iolog\n37 /tmp/a b add\n192 /tmp/a b open\n203 /tmp/a b read 61440 4096\n\
         437 /tmp/a b write 774144 4096\n440 /tmp/a b sync\n516 /tmp/a b trim 0 8192\n\
         600 /tmp/a b close\n",
    );
    assert_eq!(read.info.format, "fio-iolog");
    assert_eq!(read.info.clock, Clock::Real { resolution: Nanos(1_000) });
    assert_eq!(read.info.devices[0].name, "/tmp/a b");
    assert_eq!(read.records[1].issue, Nanos(234_000));
    let operations: Vec<Operation> = read.records.iter().map(|record| record.operation).collect();
    let wanted = [Operation::Read, Operation::Write, Operation::Flush, Operation::Discard];
    assert_eq!(operations, wanted);
    assert_eq!(read.info.losses.skipped, 4);
}

#[test]
fn waits_of_version_2_add_up() {
    let read = read(
        "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb read 0 4096\n\
         /dev/sdb wait 100 0\n/dev/sdb read 4096 4096\nwait 50\n/dev/sdb write 0 512\n",
    );
    let times: Vec<u64> = read.records.iter().map(|record| record.issue.0 / 1000).collect();
    assert_eq!(times, [0, 100, 150]);
    assert_eq!(read.info.clock, Clock::Real { resolution: Nanos(1_000) });
}

#[test]
fn version_2_without_waits_has_an_order_and_no_times() {
    let read = read("fio version 2 iolog\n/d add\n/d open\n/d read 0 4096\n/d write 0 512\n");
    assert_eq!(read.info.clock, Clock::Order);
    let times: Vec<u64> = read.records.iter().map(|record| record.issue.0).collect();
    assert_eq!(times, [0, 1]);
}

#[test]
fn latency_logs_have_ends_in_ms_and_latencies_in_ns() {
    let read = read("10, 4000000, 0, 4096, 61440, 0\n10, 1000000, 1, 512, 4096, 0\n");
    assert_eq!(read.info.format, "fio-lat");
    assert_eq!(read.info.clock, Clock::Real { resolution: Nanos(1_000_000) });
    assert_eq!(read.records[0].latency(), Some(Nanos(4_000_000)));
    assert_eq!(read.records[1].issue, Nanos(3_000_000), "issued at 9 ms, the other at 6 ms");
    assert_eq!(read.records[0].offset, 61_440);
}

#[test]
fn the_fifth_of_five_columns_is_a_priority_and_no_offset() {
    let read = read("0, 129756, 0, 4096, 7\n0, 73876, 2, 4096, 7\n");
    assert!(read.records.iter().all(|record| record.offset == 0));
    assert_eq!(read.info.devices[0].name, "disk (offsets not logged)");
    assert!(read.records.iter().any(|record| record.operation == Operation::Discard));
}

#[test]
fn the_seventh_column_is_the_issue() {
    let read = read("9, 1000, 0, 4096, 0, 0x0007, 5000100\n9, 900, 1, 4096, 0, 0, 5000300\n");
    assert_eq!(read.records[1].issue, Nanos(200));
    assert_eq!(read.info.clock, Clock::Real { resolution: Nanos(1) });
}

#[test]
fn averages_are_no_io() {
    let text = "500, 142277, 0, 4096, 0, 0\n1000, 142277, 0, 0, 0, 0\n";
    let read = read_as(text.as_bytes(), Some(format("fio-lat")), 1).expect("one is allowed");
    assert_eq!(read.records.len(), 1);
    assert!(read.info.losses.examples[0].contains("log_avg_msec"), "{:?}", read.info.losses);
}
