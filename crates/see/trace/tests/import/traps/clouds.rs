//! Public CSV traces: Alibaba, Tencent, SYSTOR '17, SPC.

use tilemark_trace::{Clock, Operation};
use units::Nanos;

use crate::help::{format, read, read_as};

#[test]
fn tencent_counts_sectors_and_whole_seconds_and_1_is_a_write() {
    let read = read("1538323200,12910952,128,0,1063\n1538323201,8,1,1,1627\n");
    assert_eq!(read.info.format, "tencent");
    assert_eq!(
        read.info.clock,
        Clock::Real { resolution: Nanos::SECOND },
        "says nothing of queues"
    );
    assert_eq!(read.info.started_unix_ns, Some(1_538_323_200_000_000_000));
    let first = read.records[0];
    assert_eq!((first.offset, first.length), (12_910_952 * 512, 128 * 512));
    assert_eq!(first.operation, Operation::Read);
    assert_eq!(read.records[1].operation, Operation::Write);
    let names: Vec<&str> = read.info.devices.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["1063", "1627"]);
}

#[test]
fn alibaba_counts_bytes_and_microseconds() {
    let read = read("419,W,8792731648,16384,1577808144360767\n419,R,0,512,1577808144360777\n");
    assert_eq!(read.info.format, "alibaba");
    assert_eq!(read.records[0].offset, 8_792_731_648, "no sectors");
    assert_eq!(read.records[1].issue, Nanos(10_000));
    assert_eq!(read.info.started_unix_ns, Some(1_577_808_144_360_767_000));
}

#[test]
fn systor_times_are_exact_beyond_a_floating_point_number() {
    let read = read(
        "Timestamp,Response,IOType,LUN,Offset,Size\n\
         1455592263.796951123,0.000210761,R,4,5064581120,16384\n\
         1455592263.796951124,,W,4,8192,4096\n\
         1455592263.797000000,0.1,,4,8192,4096\n",
    );
    assert_eq!(read.info.format, "systor");
    assert_eq!(read.info.started_unix_ns, Some(1_455_592_263_796_951_123));
    assert_eq!(read.records[1].issue, Nanos(1));
    assert_eq!(read.records[0].latency(), Some(Nanos(210_761)));
    assert_eq!(read.records[1].latency(), None, "an empty response is unknown, not 0");
    assert_eq!((read.records.len(), read.info.losses.skipped), (2, 2), "no IOType, no I/O");
}

/// The README.txt of the data set: one file for each hour and LUN, of which there are 0 to 4 and 6; times
/// of issue, since 1970, with six digits that count; rows without a type had no answer; after lost packets
/// response times are "irregular", and are to be ignored.
#[test]
fn merged_systor_files_keep_luns_and_drop_odd_responses() {
    let header = "Timestamp,Response,IOType,LUN,Offset,Size\n";
    let read = read(format!(
        "{header}1456135200.013118000,0.000806000,R,0,899056122368,131072\n\
         1456135200.014000000,-0.000120000,W,0,512,1024\n\
         {header}1456135200.013500000,0.001000000,W,6,4096,4096\n\
         1456135200.015000000,,,6,4096,4096\n"
    ));
    let [first, other, odd] = read.records[..] else { panic!("{:?}", read.records) };
    assert_eq!((first.length, first.latency()), (131_072, Some(Nanos(806_000))), "bytes, seconds");
    assert_eq!((other.issue, odd.issue), (Nanos(382_000), Nanos(882_000)), "in order of time");
    assert_eq!((odd.operation, odd.latency()), (Operation::Write, None));
    let names: Vec<&str> = read.info.devices.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["0", "6"]);
    assert_eq!((read.info.losses.skipped, read.info.losses.bad), (3, 0));
    // Ten in the morning in Greenwich is the seven in the evening of the README's example in Japan.
    assert_eq!(read.info.started_unix_ns, Some(1_456_135_200_013_118_000));
}

#[test]
fn spc_takes_any_case_spaces_and_more_fields_and_blocks_of_512() {
    let read = read("0,20941264,8192,W,0.551706,Alpha/NT\n1, 55590, 3072, r, 0.554041\n");
    assert_eq!(read.info.format, "spc");
    assert_eq!(read.records[0].offset, 20_941_264 * 512);
    assert_eq!(read.records[1].operation, Operation::Read);
    assert_eq!(read.records[1].issue, Nanos(2_335_000));
    assert_ne!(read.records[0].device, read.records[1].device);
}

#[test]
fn numbers_that_do_not_fit_are_bad_not_wrapped() {
    let good = "419,W,0,16384,1577808144360767\n";
    for odd in [
        "419,W,18446744073709551616,1,1577808144360767",
        "419,W,18446744073709551615,512,1577808144360767",
        "419,W,0,4294967296,1577808144360767",
        "419,W,0,0,1577808144360767",
        "419,W,0,512,18446744073709551",
        "419,W,-4,512,1577808144360767",
        "419,X,0,512,1577808144360767",
        "419,W,0,512",
    ] {
        let text = format!("{good}{odd}\n");
        let read = read_as(text.as_bytes(), Some(format("alibaba")), 1).expect("one is allowed");
        assert_eq!((read.records.len(), read.info.losses.bad), (1, 1), "{odd}");
    }
}
