//! References without I/O, and the text of simulators.

use tilemark_trace::{Clock, Operation};
use units::Nanos;

use crate::help::read;

#[test]
fn arc_has_an_order_blocks_of_512_and_no_times() {
    let read = read("7 1 0 0\n3 4 0 1\n");
    assert_eq!((read.info.format, read.info.clock), ("arc", Clock::Order));
    assert_eq!((read.records[1].offset, read.records[1].length), (3 * 512, 4 * 512));
    assert_eq!(read.records[1].issue, Nanos(1), "the reference's number");
}

#[test]
fn oracle_general_has_32_bit_seconds_and_one_page_objects() {
    let record = |time: u32, object: u64, size: u32, next: i64| {
        let mut record = time.to_le_bytes().to_vec();
        record.extend(object.to_le_bytes());
        record.extend(size.to_le_bytes());
        record.extend(next.to_le_bytes());
        record
    };
    let trace =
        [record(5, 9, 65_536, 2), record(7, 10, 512, -1), record(7, 9, 65_536, -1)].concat();
    let read = read(trace);
    assert_eq!(read.info.format, "oracle-general");
    assert_eq!(read.info.clock, Clock::Real { resolution: Nanos::SECOND });
    assert_eq!(read.records[1].issue, Nanos(2_000_000_000));
    let places: Vec<(u64, u32)> = read.records.iter().map(|r| (r.offset, r.length)).collect();
    assert_eq!(places, [(9 * 512, 512), (10 * 512, 512), (9 * 512, 512)], "objects do not overlap");
}

#[test]
fn mqsim_has_nanoseconds_and_disksim_milliseconds() {
    let mqsim = read("0 0 0 8 1\n1500000 3 657728 16 0\n");
    assert_eq!((mqsim.info.format, mqsim.records[1].issue), ("mqsim", Nanos(1_500_000)));
    let disksim = read("0.000 0 0 8 1\n1.5 3 657728 16 2\n");
    assert_eq!((disksim.info.format, disksim.records[1].issue), ("disksim", Nanos(1_500_000)));
    for read in [mqsim, disksim] {
        let operations: Vec<Operation> = read.records.iter().map(|r| r.operation).collect();
        assert_eq!(operations, [Operation::Read, Operation::Write], "1 is a read");
        assert_eq!(read.records[1].offset, 657_728 * 512);
        assert_eq!(read.info.devices[1].name, "3");
    }
}
