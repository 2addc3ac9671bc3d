//! A small good trace of every format, for detection and for the fuzzing of parsers.

use tilemark_trace::Format;

use crate::help::format;

/// Serial, bytes, entries, operation code, version, block, time.
fn vscsi() -> Vec<u8> {
    let record = |number: u32| {
        let mut record = Vec::new();
        for word in [number, 4096, 1] {
            record.extend(word.to_le_bytes());
        }
        record.extend(if number.is_multiple_of(3) { 0x2a_u16 } else { 0x28 }.to_le_bytes());
        record.extend(0x0104_u16.to_le_bytes());
        record.extend((u64::from(number) * 8 + 63).to_le_bytes());
        record.extend((u64::from(number) * 1_000 + 77).to_le_bytes());
        record
    };
    (0..20).flat_map(record).collect()
}

fn oracle_general() -> Vec<u8> {
    let record = |number: u32| {
        let mut record = number.to_le_bytes().to_vec();
        record.extend(u64::from(number % 5).to_le_bytes());
        record.extend(4096_u32.to_le_bytes());
        record.extend((if number < 15 { i64::from(number) + 5 } else { -1 }).to_le_bytes());
        record
    };
    (0..20).flat_map(record).collect()
}

/// An event of a block trace: byte order, time, sector, bytes, action, error.
pub fn block_event(
    big: bool,
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    payload: &[u8],
) -> Vec<u8> {
    let mut event = Vec::new();
    let u32s = |event: &mut Vec<u8>, word: u32| {
        event.extend(if big { word.to_be_bytes() } else { word.to_le_bytes() });
    };
    let u64s = |event: &mut Vec<u8>, word: u64| {
        event.extend(if big { word.to_be_bytes() } else { word.to_le_bytes() });
    };
    u32s(&mut event, 0x6561_7407);
    u32s(&mut event, 1);
    u64s(&mut event, time);
    u64s(&mut event, sector);
    for word in [bytes, action, 4242, 8 << 20 | 1, 0] {
        u32s(&mut event, word);
    }
    let length = u16::try_from(payload.len()).expect("a short payload");
    for half in [0_u16, length] {
        event.extend(if big { half.to_be_bytes() } else { half.to_le_bytes() });
    }
    event.extend(payload);
    event
}

/// Actions of block events: categories and events.
pub mod action {
    pub const READ: u32 = 1 << 16;
    pub const WRITE: u32 = 1 << 17;
    pub const FLUSH: u32 = 1 << 18;
    pub const SYNC: u32 = 1 << 19;
    pub const NOTIFY: u32 = 1 << 26;
    pub const DISCARD: u32 = 1 << 29;
    pub const FUA: u32 = 1 << 31;
    pub const QUEUE: u32 = 1 | 1 << 20;
    pub const BACK_MERGE: u32 = 2;
    pub const GET_REQUEST: u32 = 4;
    pub const REQUEUE: u32 = 6 | 1 << 21;
    pub const ISSUE: u32 = 7 | 1 << 22;
    pub const COMPLETE: u32 = 8 | 1 << 23;
    pub const REMAP: u32 = 15;
}

fn blktrace() -> Vec<u8> {
    use action::{COMPLETE, ISSUE, NOTIFY, QUEUE, READ, WRITE};
    let io = |number: u64| {
        let (time, sector) = (number * 10_000, number * 64);
        let direction = if number.is_multiple_of(2) { READ } else { WRITE };
        let event = |after: u64, what: u32| {
            block_event(false, time + after, sector, 4096, what | direction, &[])
        };
        [event(0, QUEUE), event(1_000, ISSUE), event(8_000, COMPLETE)].concat()
    };
    let name = block_event(false, 0, 0, 0, NOTIFY, b"fio\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let ios: Vec<u8> = (0..10).flat_map(io).collect();
    [name, ios].concat()
}

const VSCSI_TEXT: &str = "\
#Vscsi Cmd Trace. (Trace Format Version 1)
#Serial Number,IO Data Length,Num SG Entries,Command Type,LBN,Time Stamp (microseconds)
2147483692,4096,1,write,24048792,2756778716647
2147483693,512,1,read,63,2756778716700
";
const VSCSI_CSV: &str = "\
version,time,op,size,lbn
1,5633.898611,0x28,4096,63
1,5633.898711,2a,8192,127
";
const MSR: &str = "\
128166372003061629,hm,0,Write,7014912,4096,26
128166372016382155,hm,1,Read,2657792,4096,1000
";
pub const BLKPARSE: &str = "\
  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
  8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]
  8,0    3        3     0.000002197   697  P   N [kjournald]
  8,0    3        4     0.000003512   697  I   W 223490 + 8 [kjournald]
  8,0    3        5     0.000010000   697  D   W 223490 + 8 [kjournald]
  8,0    1        1     0.001010000     0  C   W 223490 + 8 [0]
CPU3 (sda):
 Reads Queued:           0,        0KiB\t Writes Queued:           1,        4KiB

Events (8,0): 6 entries
Skips: 0 forward (0 -   0.0%)
";
const FIO_IOLOG_2: &str = "\
fio version 2 iolog
/dev/sdb add
/dev/sdb open
/dev/sdb write 4096 8192
/dev/sdb wait 250 0
/dev/sdb read 0 4096
/dev/sdb close
";
const FIO_IOLOG_3: &str = "\
fio version 3 iolog
37 /tmp/fio-t.bin add
192 /tmp/fio-t.bin open
203 /tmp/fio-t.bin read 61440 4096
437 /tmp/fio-t.bin write 774144 4096
440 /tmp/fio-t.bin sync 0 0
516 /tmp/fio-t.bin close
";
const FIO_LAT: &str = "0, 142277, 0, 4096, 61440, 0\n1, 64646, 1, 4096, 774144, 0\n";
const ALIBABA: &str =
    "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n";
const TENCENT: &str = "1538323200,12910952,128,0,1063\n1538323200,6338688,8,1,1627\n";
const SYSTOR: &str = "\
Timestamp,Response,IOType,LUN,Offset,Size
1455592263.796951000,0.000210761,R,4,5064581120,16384
1455592263.797012000,0.000710000,W,4,8192,4096
";
const SPC: &str = "0,20941264,8192,W,0.551706,Alpha/NT\n1, 55590, 3072, r, 0.554041\n";
const ETW: &str = "\
BeginHeader
               DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr
EndHeader
OS Version: 5.2.3790, Trace Start: 128390000000000000, Trace Length: 60 sec, PointerSize: 8
DiskReadInit,     718903, p0 (11008),      12260, 0xfffffade691b3010
DiskRead,     723291, p0 (11008),      12260, 0xfffffade691b3010, 0x4e5ec22e00, 0x00002000,        4388,        4, 0x000901,        4388,       0,  Unknown, 0xfffffade6bd7d7a0, \"Disk6\"
";
const BIOSNOOP: &str = "\
TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)
0.000004    supervise      1950    xvda1     W 13092560   4096      0.74
0.018013    kworker u4 1   22      xvda1     R 13092568   8192      1.25
";
const IOTRACE: &str = "\
device.id,device.name,device.partition,file.eventType,file.id,file.offset,file.path,file.size,header.sid,header.timestamp,io.error,io.flush,io.fua,io.ioClass,io.latency,io.lba,io.len,io.operation,io.qd,io.writeHint
1,sda,0,,0,0,\"/a,b\",0,1,1000,0,0,1,22,5000,2048,8,Write,1,0
1,sda,0,,0,0,,0,2,2000,0,1,0,22,9000,0,0,Write,1,0
";
const MQSIM: &str = "11413000 0 657728 16 1\n11565000 1 31244784 64 0\n";
const DISKSIM: &str = "0.000000 0 2312 8 1\n1.250000 0 4096 16 0\n";
const ARC: &str = "1 1 0 0\n5 4 0 1\n2 1 0 2\n";

/// Every format with a sample; the first of a format is its best known.
pub fn all() -> Vec<(Format, Vec<u8>)> {
    let text = |name, text: &str| (format(name), text.as_bytes().to_vec());
    vec![
        (format("vscsi"), vscsi()),
        (format("blktrace"), blktrace()),
        (format("oracle-general"), oracle_general()),
        text("vscsi-text", VSCSI_TEXT),
        text("vscsi-csv", VSCSI_CSV),
        text("msr", MSR),
        text("blkparse", BLKPARSE),
        text("fio-iolog", FIO_IOLOG_2),
        text("fio-iolog", FIO_IOLOG_3),
        text("fio-lat", FIO_LAT),
        text("alibaba", ALIBABA),
        text("tencent", TENCENT),
        text("systor", SYSTOR),
        text("spc", SPC),
        text("etw", ETW),
        text("biosnoop", BIOSNOOP),
        text("iotrace", IOTRACE),
        text("mqsim", MQSIM),
        text("disksim", DISKSIM),
        text("arc", ARC),
    ]
}
