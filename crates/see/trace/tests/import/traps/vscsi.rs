//! VMware's vSCSI traces.

use tilemark_trace::{Clock, Flags, IoRecord, Operation};
use units::Nanos;

use crate::help::{format, read, read_as};

fn version1(code: u16, sector: u64, bytes: u32, us: u64) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(7_u32.to_le_bytes());
    record.extend(bytes.to_le_bytes());
    record.extend(1_u32.to_le_bytes());
    record.extend(code.to_le_bytes());
    record.extend(0x0101_u16.to_le_bytes());
    record.extend(sector.to_le_bytes());
    record.extend(us.to_le_bytes());
    record
}

fn version2(code: u16, sector: u64, bytes: u32, us: u64, response_us: u64) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(code.to_le_bytes());
    record.extend(0x0200_u16.to_le_bytes());
    record.extend(7_u32.to_le_bytes());
    record.extend(bytes.to_le_bytes());
    record.extend(1_u32.to_le_bytes());
    record.extend(sector.to_le_bytes());
    record.extend(us.to_le_bytes());
    record.extend(response_us.to_le_bytes());
    record
}

#[test]
fn version_1_counts_sectors_bytes_and_microseconds() {
    let trace = [version1(0x28, 63, 4096, 1_000_000), version1(0x2a, 64, 512, 1_000_007)].concat();
    let read = read(trace);
    let first = IoRecord::new(Nanos(0), Operation::Read, 63 * 512, 4096);
    let second = IoRecord::new(Nanos(7_000), Operation::Write, 64 * 512, 512);
    assert_eq!(read.records, [first, second]);
    assert_eq!(read.info.format, "vscsi");
    assert_eq!(read.info.clock, Clock::Real { resolution: Nanos(1_000) });
    assert!(!read.info.has_latency);
    assert_eq!(read.info.started_unix_ns, None, "microseconds since boot");
}

#[test]
fn version_2_is_told_apart_and_has_response_times() {
    let trace = [version2(0x88, 8, 4096, 50, 300), version2(0x8a, 16, 512, 60, 1)].concat();
    let read = read(trace);
    assert!(read.info.has_latency);
    assert_eq!(read.records[0].operation, Operation::Read);
    assert_eq!(read.records[0].latency(), Some(Nanos(300_000)));
    assert_eq!(read.records[1].operation, Operation::Write);
    assert_eq!(read.records[1].issue, Nanos(10_000));
}

#[test]
fn commands_of_6_12_and_16_bytes_are_io_and_others_are_skipped() {
    let codes = [0x08, 0x28, 0xa8, 0x88, 0x0a, 0x2a, 0xaa, 0x8a, 0x35, 0x12, 0x00];
    let trace: Vec<u8> = codes.iter().flat_map(|code| version1(*code, 8, 512, 5)).collect();
    let read = read(trace);
    let of = |operation| read.records.iter().filter(|r| r.operation == operation).count();
    assert_eq!((of(Operation::Read), of(Operation::Write), of(Operation::Flush)), (4, 4, 1));
    assert_eq!(read.info.losses.skipped, 2);
    assert!(read.records.iter().all(|record| record.flags == Flags::NONE));
}

#[test]
fn a_torn_last_record_and_one_of_another_version_are_named() {
    let mut trace = [version1(0x28, 1, 512, 1), version1(0x28, 2, 512, 2)].concat();
    let mut odd = version1(0x28, 3, 512, 3);
    odd[15] = 9;
    trace.extend(odd);
    trace.extend(&version1(0x28, 4, 512, 4)[..17]);
    let read = read_as(&trace, None, 2).expect("two are allowed");
    assert_eq!(read.records.len(), 2);
    assert_eq!(
        read.info.losses.examples,
        [
            "record at byte 64: version is not 1",
            "record at byte 96, 17 of 32 bytes: last record is cut short",
        ]
    );
}

#[test]
fn addresses_and_times_beyond_64_bits_are_bad_not_wrapped() {
    let good = version1(0x28, 1, 512, 1);
    for odd in [
        version1(0x28, u64::MAX / 512 + 1, 512, 1),
        version1(0x28, u64::MAX / 512, 4096, 1),
        version1(0x28, 1, 512, u64::MAX),
        version1(0x28, 1, 0, 1),
    ] {
        let trace = [good.clone(), odd].concat();
        let read = read_as(&trace, None, 1).expect("one is allowed");
        assert_eq!((read.records.len(), read.info.losses.bad), (1, 1));
    }
}

#[test]
fn a_trace_of_neither_version_is_refused_when_named() {
    let error = read_as(&[0; 64], Some(format("vscsi")), 9).expect_err("zeroes");
    assert!(error.to_string().contains("neither version 1 nor 2"), "{error}");
}
