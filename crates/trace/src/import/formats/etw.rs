//! Disk I/O of Event Tracing for Windows, as xperf's dumper prints it.

use super::super::fields::{Fields, hex, io, moment, number, times};
use super::super::lines::Line;
use super::super::sink::{Bad, Moment, Sink};
use crate::{IoRecord, Operation};
use units::Nanos;

/// Fields that are looked at.
const FIELDS: usize = 12;

/// `DiskRead, TimeStamp, Process Name ( PID), ThreadID, [CPU,] IrpPtr, ByteOffset, IOSize,
/// ElapsedTime, DiskNum, IrpFlags, DiskSvcTime, ...`: microseconds, at the end of the I/O;
/// addresses and sizes in base 16. `DiskFlush` has no ByteOffset and no IOSize.
#[derive(Default)]
pub(in super::super) struct Etw {
    in_header: bool,
    name: Vec<u8>,
}

impl Line for Etw {
    fn begin(&mut self, sink: &mut Sink) {
        sink.real_times(1_000);
        sink.info.has_latency = true;
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let trimmed = line.trim_ascii();
        if trimmed == b"BeginHeader" || self.in_header {
            self.in_header = trimmed != b"EndHeader";
            sink.skip();
            return Ok(());
        }
        let mut fields: [&[u8]; FIELDS] = [&[]; FIELDS];
        let mut left = Fields::commas(trimmed);
        for (place, field) in fields.iter_mut().zip(std::iter::from_fn(|| left.next())) {
            *place = field;
        }
        let operation = match fields[0] {
            b"DiskRead" => Operation::Read,
            b"DiskWrite" => Operation::Write,
            b"DiskFlush" => Operation::Flush,
            other if other.first().is_some_and(u8::is_ascii_alphabetic) => {
                sink.skip();
                return Ok(());
            }
            _ => return Err(Bad::new("event", "has no name")),
        };
        // Newer dumps have the CPU before the pointer of the request.
        let has_cpu = !fields[4].starts_with(b"0x");
        let row = Row { fields, operation, has_cpu };
        let (moment, mut record) = row.record()?;
        record.vm = sink.vm(row.process());
        self.name.clear();
        self.name.extend_from_slice(b"disk ");
        self.name.extend_from_slice(row.disk()?);
        record.device = sink.device(&self.name);
        sink.push(moment, record);
        Ok(())
    }
}

struct Row<'a> {
    fields: [&'a [u8]; FIELDS],
    operation: Operation,
    has_cpu: bool,
}

impl<'a> Row<'a> {
    /// The field `after` that many others behind the pointer of the request.
    fn behind(&self, after: usize) -> &'a [u8] {
        let at = 4 + usize::from(self.has_cpu) + after;
        self.fields.get(at).copied().unwrap_or_default()
    }

    /// Where the elapsed time is, behind the pointer.
    fn elapsed_at(&self) -> usize {
        if self.operation == Operation::Flush { 1 } else { 3 }
    }

    fn record(&self) -> Result<(Moment, IoRecord), Bad> {
        if !self.behind(0).starts_with(b"0x") {
            return Err(Bad::new("IrpPtr", "is not a number in base 16"));
        }
        let end = moment(number(self.fields[1], "TimeStamp")?, 1_000, "TimeStamp")?;
        let at = self.elapsed_at();
        let elapsed_us = number(self.behind(at), "ElapsedTime")?;
        let elapsed = moment(elapsed_us, 1_000, "ElapsedTime")?;
        let mut record = match self.operation {
            Operation::Flush => IoRecord::new(Nanos::ZERO, Operation::Flush, 0, 0),
            operation => {
                let offset = hex(self.behind(1), "ByteOffset")?;
                io(operation, offset, hex(self.behind(2), "IOSize")?)?
            }
        };
        let elapsed_ns = times(elapsed_us, 1_000, "ElapsedTime")?;
        record.device_time = Some(Nanos(elapsed_ns));
        // The time the disk itself worked; the rest of the elapsed time was waiting.
        if let Ok(service_us) = number(self.behind(at + 3), "DiskSvcTime")
            && service_us <= elapsed_us
        {
            record.device_time = Some(Nanos(service_us * 1_000));
            record.queue = Some(Nanos(elapsed_ns - service_us * 1_000));
        }
        Ok((Moment(end.0 - elapsed.0), record))
    }

    fn disk(&self) -> Result<&'a [u8], Bad> {
        let disk = self.behind(self.elapsed_at() + 1);
        number(disk, "DiskNum").map(|_| disk)
    }

    /// The process's name without its number.
    fn process(&self) -> &'a [u8] {
        let field = self.fields[2];
        let end = field.iter().rposition(|byte| *byte == b'(').unwrap_or(field.len());
        field[..end].trim_ascii()
    }
}
