//! Binary traces of VMware's vSCSI layer, versions 1 and 2.

use units::Nanos;

use super::super::fields::{length, moment, range, times};
use super::super::importer::Decode;
use super::super::input::{Input, wrong};
use super::super::kind::Kind;
use super::super::records::{Fixed, Records};
use super::super::sink::{Bad, Moment, Sink};
use crate::{IoRecord, Operation, TraceError};

pub(super) static FORMAT: Kind = Kind::binary(
    "vscsi",
    &["cloudphysics", "vscsi1", "vscsi2"],
    "VMware vSCSI trace, binary, version 1 (32 B) or 2 (40 B)",
    is_likely,
    open,
);

/// Size of a record of version 1, in bytes.
const SIZE_1: usize = 32;
/// Size of a record of version 2, in bytes.
const SIZE_2: usize = 40;
/// Number of records that detection examines.
const LOOKED_AT: usize = 64;
/// Maximum length of a command, in bytes; a larger one is a sign of another format.
const LENGTH_MAX: u32 = 1 << 30;
/// Unit of addresses, in bytes.
const SECTOR: u64 = 512;

/// Version 1: u32 serial, u32 bytes, u32 scatter-gather entries, u16 SCSI operation code, u16
/// version (high byte 1), u64 first sector, u64 microseconds; little-endian.
struct Version1;

/// Version 2: u16 SCSI operation code, u16 version (high byte 2), u32 serial, u32 bytes, u32
/// scatter-gather entries, u64 first sector, u64 microseconds, u64 microseconds of response.
struct Version2;

/// Returns the version, from the first one or two records.
fn version(head: &[u8]) -> Option<u8> {
    let is = |size: usize, at: usize, version: u8| {
        let mut records = head.chunks_exact(size).take(2).peekable();
        records.peek().is_some() && records.all(|record| record[at] == version)
    };
    // High byte of the version: bytes 14 to 16 and 2 to 4 contain it.
    if is(SIZE_1, 15, 1) {
        Some(1)
    } else if is(SIZE_2, 3, 2) {
        Some(2)
    } else {
        None
    }
}

/// Returns true if both of the first two records, and most of the first ones, have a version, an
/// operation code of one byte and a plausible length.
fn is_likely(head: &[u8]) -> bool {
    let (size, version_at, code_high, length_at) = match version(head) {
        Some(1) => (SIZE_1, 15, 13, 4),
        Some(_) => (SIZE_2, 3, 1, 8),
        None => return false,
    };
    let version = head[version_at];
    let is_record = |record: &&[u8]| {
        let length = u32_at(record, length_at);
        record[version_at] == version && record[code_high] == 0 && length <= LENGTH_MAX
    };
    let looked_at = head.chunks_exact(size).take(LOOKED_AT);
    let (count, good) = (looked_at.len(), looked_at.filter(is_record).count());
    good * 3 >= count * 2
}

fn open(input: Input, sink: &mut Sink) -> Result<Box<dyn Decode>, TraceError> {
    match version(input.bytes()) {
        Some(1) => Ok(Box::new(Records::new(input, Version1, sink))),
        Some(_) => Ok(Box::new(Records::new(input, Version2, sink))),
        None => Err(wrong(input.path(), "its first records have neither version 1 nor 2")),
    }
}

impl Fixed<SIZE_1> for Version1 {
    fn begin(&mut self, sink: &mut Sink) {
        sink.real_times(1_000);
        sink.one_disk();
    }

    #[inline]
    fn record(&mut self, bytes: &[u8; SIZE_1], sink: &mut Sink) -> Result<(), Bad> {
        if bytes[15] != 1 {
            return Err(Bad::new("version", "is not 1"));
        }
        let command = Command {
            code: u16_at(bytes, 12),
            bytes: u32_at(bytes, 4),
            sector: u64_at(bytes, 16),
            moment: moment(u64_at(bytes, 24), 1_000, "time")?,
            response: None,
        };
        command.push(sink)
    }
}

impl Fixed<SIZE_2> for Version2 {
    fn begin(&mut self, sink: &mut Sink) {
        sink.real_times(1_000);
        sink.info.has_latency = true;
        sink.one_disk();
    }

    #[inline]
    fn record(&mut self, bytes: &[u8; SIZE_2], sink: &mut Sink) -> Result<(), Bad> {
        if bytes[3] != 2 {
            return Err(Bad::new("version", "is not 2"));
        }
        let command = Command {
            code: u16_at(bytes, 0),
            bytes: u32_at(bytes, 8),
            sector: u64_at(bytes, 16),
            moment: moment(u64_at(bytes, 24), 1_000, "time")?,
            response: Some(Nanos(times(u64_at(bytes, 32), 1_000, "response time")?)),
        };
        command.push(sink)
    }
}

/// A SCSI command in the form common to the three vSCSI formats.
pub(super) struct Command {
    pub(super) code: u16,
    pub(super) bytes: u32,
    pub(super) sector: u64,
    pub(super) moment: Moment,
    pub(super) response: Option<Nanos>,
}

impl Command {
    /// Adds the command. Reads, writes and cache flushes are I/O; any other command counts as a
    /// skipped row.
    #[inline]
    pub(super) fn push(self, sink: &mut Sink) -> Result<(), Bad> {
        let Some(operation) = operation(self.code) else {
            sink.skip();
            return Ok(());
        };
        let mut record = IoRecord::new(Nanos::ZERO, operation, 0, 0);
        if operation.moves_data() {
            record.offset = times(self.sector, SECTOR, "block")?;
            record.length = length(u64::from(self.bytes))?;
            range(record.offset, record.length)?;
        }
        record.device_time = self.response;
        sink.push(self.moment, record);
        Ok(())
    }
}

/// Converts a SCSI operation code (SBC-4, table of commands): reads and writes of 6, 10, 12 and 16
/// bytes, write and verify, synchronize cache.
pub(super) fn operation(code: u16) -> Option<Operation> {
    match code {
        0x08 | 0x28 | 0x88 | 0xa8 => Some(Operation::Read),
        0x0a | 0x2a | 0x2e | 0x8a | 0x8e | 0xaa | 0xae => Some(Operation::Write),
        0x35 | 0x91 => Some(Operation::Flush),
        _ => None,
    }
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}
