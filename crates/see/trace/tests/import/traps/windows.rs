//! Disk I/O of Event Tracing for Windows.

use tilemark_trace::Operation;
use units::Nanos;

use crate::help::{format, read, read_as};

const ROW: &str = "DiskRead,     723291, p0 (11008),      12260, 0xfffffade691b3010, 0x4e5ec22e00, 0x00002000,        4388,        4, 0x000901,        4000,       0,  Unknown, 0xfffffade6bd7d7a0, \"Disk6\"\n";

#[test]
fn addresses_are_in_base_16_and_times_are_ends() {
    let early = "DiskWrite, 720000, sql server.exe (  99), 1, 0x1, 0x200, 0x1000, 10, 4, 0x0, 10, 0, Unknown, 0x0, \"a\"\n";
    let read = read(format!("{early}{ROW}"));
    assert_eq!(read.info.format, "etw");
    let row = read.records[0];
    assert_eq!((row.offset, row.length), (0x4e_5ec2_2e00, 0x2000));
    assert_eq!(row.offset % 4096, 3584, "bytes, not rounded to pages or sectors");
    assert_eq!(row.device_time, Some(Nanos(4_000_000)));
    assert_eq!(row.queue, Some(Nanos(388_000)));
    assert_eq!(read.records[1].issue, Nanos(1_087_000), "718,903 us and 719,990 us");
    assert_eq!(read.info.vms, ["sql server.exe", "p0"]);
    assert_eq!(read.info.devices[0].name, "disk 4");
}

#[test]
fn a_column_of_the_cpu_is_seen() {
    let with_cpu = ROW.replace("12260, 0x", "12260,   7, 0x");
    assert_eq!(read(with_cpu).records, read(ROW).records);
}

/// The event is `DiskIo_TypeGroup1` of Microsoft's reference: offsets in bytes from the begin of
/// the physical disk, and a response time "between I/O initiation and completion". Event timestamps
/// of the dump are microseconds ("format" in the xperf reference, previous versions).
#[test]
fn columns_are_those_that_the_header_names() {
    let header = |names: &str| {
        format!(
            "BeginHeader\n   DiskRead,  TimeStamp,  Process Name ( PID),  ThreadID,  {names}\nEndHeader\n"
        )
    };
    let usual = "IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,         FileObject, FileName";
    let with_cpu = format!("CPU,  {usual}");
    // Moved on purpose: nobody promises an order.
    let moved = "IrpPtr, DiskNum, IOSize, ByteOffset, ElapsedTime, DiskSvcTime, IrpFlags";
    let moved_row = "DiskRead, 723291, p0 (11008), 12260, 0xfffffade691b3010, 4, 0x00002000, 0x4e5ec22e00, 4388, 4000, 0x000901\n";
    let wanted = read(ROW).records;
    assert_eq!(read(header(usual) + ROW).records, wanted);
    let row_with_cpu = ROW.replace("12260, 0x", "12260,   7, 0x");
    assert_eq!(read(header(&with_cpu) + &row_with_cpu).records, wanted);
    assert_eq!(read(header(moved) + moved_row).records, wanted);
    // A header that does not name them all is not believed.
    assert_eq!(read(header("IrpPtr, ByteOffset") + ROW).records, wanted);
}

#[test]
fn names_of_columns_may_stand_without_their_header() {
    let names = "DiskWrite,  TimeStamp,     Process Name ( PID),   ThreadID, CPU,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime\n";
    let read = read(format!("{names}{ROW}{names}{ROW}"));
    assert_eq!((read.records.len(), read.info.losses.skipped, read.info.losses.bad), (2, 2, 0));
}

#[test]
fn beginnings_are_skipped_and_flushes_have_no_address() {
    let text = format!(
        "BeginHeader\n DiskRead, TimeStamp, nonsense\nEndHeader\n\
         OS Version: 5.2, Trace Start: 1\n\
         DiskReadInit,     718903, p0 (11008),      12260, 0xfffffade691b3010\n{ROW}\
         DiskFlush, 724000, p0 (11008), 12260, 0xfffffade691b3010, 600, 4, 0x000901, 600, 0\n"
    );
    let read = read(text);
    assert_eq!(read.records.len(), 2);
    assert_eq!(read.info.losses.skipped, 5);
    let flush = read.records[1];
    assert_eq!((flush.operation, flush.offset, flush.length), (Operation::Flush, 0, 0));
    assert_eq!((flush.issue, flush.latency()), (Nanos(4_497_000), Some(Nanos(600_000))));
}

#[test]
fn a_row_without_its_tail_is_bad() {
    let cut = &ROW[..90];
    let text = format!("{ROW}{cut}\n");
    let read = read_as(text.as_bytes(), Some(format("etw")), 1).expect("one is allowed");
    assert_eq!((read.records.len(), read.info.losses.bad), (1, 1));
}
