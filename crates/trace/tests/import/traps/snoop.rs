//! biosnoop and iotrace.

use tilemark_trace::{Flags, Operation};
use units::Nanos;

use crate::help::read;

#[test]
fn biosnoop_rows_are_put_in_order_of_issue() {
    let read = read(
        "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n\
         0.010000    fast           1      sda     R 8          4096      1.00\n\
         0.011000    slow one (x)   2      sda     W 16         512      11.00\n",
    );
    assert_eq!(read.info.format, "biosnoop");
    let first = read.records[0];
    assert_eq!((first.offset, first.operation), (16 * 512, Operation::Write), "issued at 0 ms");
    assert_eq!(read.info.vms[usize::from(first.vm.0)], "slow one (x)", "spaces in a command");
    assert_eq!(read.records[1].issue, Nanos(9_000_000));
    assert_eq!(read.records[1].latency(), Some(Nanos(1_000_000)));
}

#[test]
fn biosnoop_with_a_queue_column_adds_waiting_to_the_latency() {
    let read = read(
        "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)\n\
         1.000000    a              1      sda     R 8          4096      2.00    1.00\n\
         1.000500    b              1      sdb     W -1         0         0.00    0.10\n",
    );
    let first = read.records[0];
    assert_eq!((first.queue, first.device_time), (Some(Nanos(2_000_000)), Some(Nanos(1_000_000))));
    assert_eq!(read.records[1].issue, Nanos(3_400_000), "issued at 1.0004 s, the first at 0.997 s");
    assert_eq!(read.records[1].operation, Operation::Flush, "nothing written");
}

#[test]
fn biosnoop_times_before_zero_are_moments() {
    let read = read(
        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n0.000000 a 1 sda R 8 512 5.00\n\
         0.001000 b 1 sda R 8 512 1.00\n",
    );
    let times: Vec<u64> = read.records.iter().map(|record| record.issue.0).collect();
    assert_eq!(times, [0, 5_000_000]);
}

#[test]
fn iotrace_columns_go_by_name_and_quotes_hold_commas() {
    let read = read(
        "io.lba,io.len,file.path,io.operation,header.timestamp,io.latency,io.flush,io.fua,io.error,device.name\n\
         2048,8,\"/a,b\",Write,1000,5000,0,1,0,sda\n\
         0,0,,Write,2000,9000,1,0,0,sda\n\
         64,8,,Read,3000,,1,0,1,sdb\n\
         ,,\"/c\",,4000,,,,,\n",
    );
    assert_eq!(read.info.format, "iotrace");
    let [write, flush, other] = read.records[..] else { panic!("three: {:?}", read.records) };
    assert_eq!((write.offset, write.length), (2048 * 512, 8 * 512), "sectors");
    assert_eq!((write.flags, write.latency()), (Flags::FUA, Some(Nanos(5_000))));
    assert_eq!(flush.operation, Operation::Flush);
    assert_eq!(other.flags, Flags::PREFLUSH.with(Flags::ERROR));
    assert_eq!(other.latency(), None);
    assert_eq!(read.info.losses.skipped, 2, "the names of columns and an event of a file");
}
