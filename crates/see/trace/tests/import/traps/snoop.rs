//! biosnoop and iotrace.

use tilemark_trace::{Flags, Operation};
use units::{Bytes, Nanos};

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

#[test]
fn iotrace_flags_are_words_and_empty_writes_are_flushes() {
    let read = read(
        "device.id,device.name,device.partition,file.eventType,file.id,file.offset,file.path,file.size,header.sid,header.timestamp,io.error,io.flush,io.fua,io.ioClass,io.latency,io.lba,io.len,io.operation,io.qd,io.writeHint\n\
         8388608,sda,8388608,,,,,,31,4000100200,false,false,false,1,120000,1931072,8,Write,2,0\n\
         8388608,sda,8388608,,,,,,40,4000400000,false,false,false,0,85000,0,0,Write,1,0\n\
         8388608,sda,8388608,,,,,,42,4000500000,false,false,true,1,95000,1931080,8,Write,1,0\n\
         8388608,sda,9437184,Access,17,32,/var/lib/a,64,45,4000700000,false,false,false,13,90000,176423712,64,Read,1,0\n",
    );
    let operations: Vec<Operation> = read.records.iter().map(|record| record.operation).collect();
    assert_eq!(operations, [Operation::Write, Operation::Flush, Operation::Write, Operation::Read]);
    assert_eq!(read.records[1].latency(), Some(Nanos(85_000)));
    assert_eq!(read.records[2].flags, Flags::FUA);
    let last = read.records[3];
    assert_eq!((last.offset, last.length, last.issue), (176_423_712 * 512, 32_768, Nanos(599_800)));
    // Older versions have fewer columns.
    let older = crate::help::read(
        "device.id,device.name,file.id,file.offset,file.size,header.sid,header.timestamp,io.error,io.flush,io.fua,io.ioClass,io.latency,io.lba,io.len,io.operation,io.qd\n\
         271581185,nvme0n1,,,,23,33493819292,false,false,false,1,144925,1953524992,8,Read,1\n",
    );
    assert_eq!(older.records[0].latency(), Some(Nanos(144_925)));
}

/// Names as open-cas-telemetry-framework makes them of `ParsedEvent` (`source/octf/proto/parsedTrace.proto`
/// of October 2022, sorted as its tables are): flags have a message of their own since version 2 of the
/// events, and devices a model. That a latency of 0 is of an I/O whose end was lost is what
/// `ParsedIoTraceEventHandler::pushOutEvent` counts it as.
#[test]
fn new_iotrace_has_own_flags_and_latency_0_is_unknown() {
    let read = read(
        "device.id,device.model,device.name,device.partition,file.creationDate.nanos,file.creationDate.seconds,file.eventType,file.id,file.offset,file.path,file.size,header.sid,header.timestamp,io.error,io.flags.direct,io.flags.flush,io.flags.fua,io.flags.metadata,io.flags.readahead,io.latency,io.lba,io.len,io.operation,io.qd,io.writeHint\n\
         8388608,Model X,sda,8388608,,,,,,,,1,0,false,true,false,true,false,false,95000,2048,8,Write,1,0\n\
         8388608,Model X,sda,8388608,,,,,,,,2,1000,false,false,true,false,false,false,85000,0,0,Write,1,0\n\
         8388608,Model X,sda,8388608,,,,,,,,3,2000,false,false,true,true,false,false,0,2056,8,Write,1,0\n\
         8388608,Model X,sda,8388609,0,1653500000,Create,17,0,/a,0,4,2500,,,,,,,,,,,,\n\
         8388608,Model X,sda,8388608,,,,,,,,5,3000,true,false,false,false,false,false,50000,64,1024,Discard,1,0\n",
    );
    assert_eq!(read.info.format, "iotrace");
    let [fua, flush, both, discard] = read.records[..] else { panic!("{:?}", read.records) };
    assert_eq!((fua.operation, fua.flags), (Operation::Write, Flags::FUA));
    assert_eq!((flush.operation, flush.latency()), (Operation::Flush, Some(Nanos(85_000))));
    assert_eq!((both.flags, both.latency()), (Flags::FUA.with(Flags::PREFLUSH), None));
    assert_eq!((discard.operation, discard.flags), (Operation::Discard, Flags::ERROR));
    assert_eq!(discard.length, 1024 * 512, "bytes of a bio shifted by 9, as iotrace.bpf.c has it");
    assert_eq!(read.info.losses.skipped, 2, "the names of columns and an event of a file");
}

/// Cells are printed as they are (`source/octf/utils/table/Cell.h`), so that a path with commas
/// shifts the columns behind it.
#[test]
fn iotrace_paths_with_commas_move_nothing() {
    let header = "device.id,device.name,file.path,file.size,header.timestamp,io.latency,io.lba,io.len,io.operation\n";
    let read = read(format!(
        "{header}1,sda,/var/a,64,1000,500,8,16,Read\n1,sda,/var/a, b,and c,64,2000,600,24,16,Write\n"
    ));
    let [plain, commas] = read.records[..] else { panic!("{:?}", read.records) };
    assert_eq!((plain.offset, commas.offset), (8 * 512, 24 * 512));
    assert_eq!((commas.operation, commas.latency()), (Operation::Write, Some(Nanos(600))));
    assert_eq!(read.info.devices.len(), 1);
}

/// `iotrace --trace-parser --io --raw`: the messages of `source/octf/proto/trace.proto` one by one, of which
/// the device's size is in sectors. Ends are rows of their own and are not joined with the begins.
#[test]
fn iotrace_raw_has_numbers_for_devices_and_rows_that_name_them() {
    let header = "EventType,deviceDescription.id,deviceDescription.model,deviceDescription.name,deviceDescription.size,header.sid,header.timestamp,io.deviceId,io.flush,io.fua,io.id,io.lba,io.len,io.operation,ioCompletion.deviceId,ioCompletion.lba,ioCompletion.len,ioCompletion.refId\n";
    let names = ",,,,,1,5000,,,,,,,,,,,\n".repeat(40);
    let read = read(format!(
        "{header},8388608,Model X,sda,2048,1,5000,,,,,,,,,,,\n{names}\
         ,,,,,2,6000,8388608,false,true,7,8,16,Write,,,,\n\
         ,,,,,3,9000,,,,,,,,8388608,8,16,7\n\
         ,,,,,4,9500,8388624,false,false,8,0,8,Read,,,,\n"
    ));
    assert_eq!(read.info.format, "iotrace", "by the names of its columns");
    let [write, other] = read.records[..] else { panic!("{:?}", read.records) };
    assert_eq!((write.offset, write.length, write.flags), (8 * 512, 16 * 512, Flags::FUA));
    assert_eq!(other.issue, Nanos(3500));
    let devices: Vec<&str> = read.info.devices.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(devices, ["sda", "device 8388624"]);
    assert_eq!(read.info.devices[0].size, Some(Bytes::MIB));
    assert!(!read.info.has_latency);
}

/// Seen at e6eaf978: biosnoop prints -1 for a request that it never saw inserted, as every one of
/// NVMe without a scheduler, and none of these rows was read.
#[test]
fn biosnoop_queue_of_minus_1_is_unknown_and_the_latency_stays() {
    let read = read(
        "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n\
         0.000000    postgres       4101    nvme0n1 R    2048       8192     -1.000   0.512\n\
         0.010000    postgres       4101    nvme0n1 W    4096       8192      0.250   0.500\n",
    );
    let [unknown, known] = read.records[..] else { panic!("{:?}", read.records) };
    assert_eq!((unknown.queue, unknown.latency()), (None, Some(Nanos(512_000))));
    assert_eq!((known.queue, known.latency()), (Some(Nanos(250_000)), Some(Nanos(750_000))));
    assert_eq!(known.issue, Nanos(9_762_000), "9.25 ms, and the first at -0.512 ms");
}

#[test]
fn biosnoop_letters_tell_reads_writes_discards_and_flushes() {
    let read = read(
        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n1.0 a 1 sda RAM 8 4096 0.1\n\
         1.1 a 1 sda WS 8 4096 0.1\n1.2 a 1 sda FWFS 8 4096 0.1\n1.3 fstrim 2 sda DS 0 1073741824 0.1\n\
         1.4 a 1 sda DE 0 4096 0.1\n1.5 a 1 sda FF 0 0 0.1\n1.6 a 1 sda FN 0 0 0.1\n\
         1.7 smartd 3 sda N 0 512 0.1\n1.8 a 1 sda D 0 0 0.1\n",
    );
    let operations: Vec<Operation> = read.records.iter().map(|record| record.operation).collect();
    use Operation::{Discard, Flush, Read, Write};
    assert_eq!(operations, [Read, Write, Write, Discard, Discard, Flush, Flush]);
    assert_eq!(read.info.losses.skipped, 3, "the head, no data and a discard of nothing");
    assert_eq!(read.info.vms, ["a", "fstrim"], "smartd sent no I/O");
}

#[test]
fn biosnoop_with_times_of_day_goes_on_past_midnight() {
    let read = read(
        "TIMESTAMP    COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n\
         23:59:59.900 a              1       sda     R    8          4096      1.000\n\
         00:00:00.150 a              1       sda     W    8          4096      1.000\n",
    );
    assert_eq!(read.info.clock, tilemark_trace::Clock::Real { resolution: Nanos(1_000_000) });
    assert_eq!(read.records[1].issue, Nanos(250_000_000));
}
