//! Disk I/O of Event Tracing for Windows, as xperf's dumper prints it.

use super::super::fields::{Fields, hex, io, moment, number, times};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Moment, Sink};
use crate::{IoRecord, Operation};
use units::Nanos;

pub(super) static FORMAT: Kind = Kind::text::<Etw>(
    "etw",
    &["xperf", "diskio"],
    "Windows disk I/O (ETW) as xperf's dumper prints it: DiskRead, DiskWrite, DiskFlush",
);

/// Maximum number of fields that are examined.
const FIELDS: usize = 20;
/// First possible position of the pointer to the request: after the event, the time, the process
/// and the thread.
const POINTER_FIRST: usize = 4;

/// Lines `DiskRead, TimeStamp, Process Name ( PID), ThreadID, [CPU,] IrpPtr, ByteOffset, IOSize,
/// ElapsedTime, DiskNum, IrpFlags, DiskSvcTime, ...`: microseconds, at the completion of the I/O;
/// addresses and sizes in base 16. `DiskFlush` has no ByteOffset and no IOSize. The header of a
/// dump names the columns of each event; columns after `IrpPtr` are found by these names.
///
/// Microsoft says that event timestamps in the dump are in microseconds ("format", previous
/// versions of the xperf reference; its later edition says milliseconds, which the times of whole
/// dumps contradict), that the response time is from the begin to the end as the partition manager
/// saw it, and that offsets are from the begin of the physical disk (class `DiskIo_TypeGroup1`).
struct Etw {
    in_header: bool,
    name: Vec<u8>,
    /// Layouts of reads, writes and flushes.
    layouts: [Layout; 3],
}

/// Positions of columns, counted in fields after the pointer to the request.
#[derive(Clone, Copy)]
struct Layout {
    offset: usize,
    size: usize,
    elapsed: usize,
    disk: usize,
    service: Option<usize>,
}

impl Layout {
    /// Layout of dumps without a header.
    const DATA: Self = Self { offset: 1, size: 2, elapsed: 3, disk: 4, service: Some(6) };
    const FLUSH: Self = Self { offset: 0, size: 0, elapsed: 1, disk: 2, service: Some(4) };

    /// Finds the layout by the names of the columns; `None` if a column is missing.
    fn of(names: &[&[u8]; FIELDS], moves_data: bool) -> Option<Self> {
        let place = |wanted: &str| {
            names.iter().position(|name| name.eq_ignore_ascii_case(wanted.as_bytes()))
        };
        let pointer = place("IrpPtr")?;
        let behind = |wanted: &str| place(wanted)?.checked_sub(pointer);
        Some(Self {
            offset: if moves_data { behind("ByteOffset")? } else { 0 },
            size: if moves_data { behind("IOSize")? } else { 0 },
            elapsed: behind("ElapsedTime")?,
            disk: behind("DiskNum")?,
            service: behind("DiskSvcTime"),
        })
    }
}

impl Default for Etw {
    fn default() -> Self {
        let layouts = [Layout::DATA, Layout::DATA, Layout::FLUSH];
        Self { in_header: false, name: Vec::new(), layouts }
    }
}

impl Line for Etw {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
        sink.real_times(1_000);
        sink.info.has_latency = true;
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let trimmed = line.trim_ascii();
        let mut fields: [&[u8]; FIELDS] = [&[]; FIELDS];
        let mut left = Fields::commas(trimmed);
        for (place, field) in fields.iter_mut().zip(std::iter::from_fn(|| left.next())) {
            *place = field;
        }
        let event = event(fields[0]);
        // In a dump that was cut into pieces, the names of columns may be all that is left of the
        // header.
        let is_names = fields[1].eq_ignore_ascii_case(b"TimeStamp");
        if trimmed == b"BeginHeader" || self.in_header || is_names {
            self.in_header =
                (self.in_header || trimmed == b"BeginHeader") && trimmed != b"EndHeader";
            if let Some((place, operation)) = event.filter(|_| is_names)
                && let Some(layout) = Layout::of(&fields, operation.moves_data())
            {
                self.layouts[place] = layout;
            }
            sink.skip();
            return Ok(());
        }
        let Some((place, operation)) = event else {
            if fields[0].first().is_some_and(u8::is_ascii_alphabetic) {
                sink.skip();
                return Ok(());
            }
            return Err(Bad::new("event", "has no name"));
        };
        let row = Row::of(fields, operation, self.layouts[place])?;
        let (moment, mut record) = row.record()?;
        record.vm = sink.vm(row.process());
        self.name.clear();
        self.name.extend_from_slice(b"disk ");
        self.name.extend_from_slice(row.disk()?);
        record.device = sink.device(&self.name);
        sink.push(moment, record);
        Ok(())
    }

    fn is_header(first: &[u8]) -> bool {
        first.starts_with(b"BeginHeader")
    }
}

/// Returns the operation of an event that completes an I/O, with the position of its layout.
fn event(name: &[u8]) -> Option<(usize, Operation)> {
    match name {
        b"DiskRead" => Some((0, Operation::Read)),
        b"DiskWrite" => Some((1, Operation::Write)),
        b"DiskFlush" => Some((2, Operation::Flush)),
        _ => None,
    }
}

struct Row<'a> {
    fields: [&'a [u8]; FIELDS],
    operation: Operation,
    layout: Layout,
    /// Position of the pointer to the request.
    pointer: usize,
}

impl<'a> Row<'a> {
    fn of(fields: [&'a [u8]; FIELDS], operation: Operation, layout: Layout) -> Result<Self, Bad> {
        // Newer dumps have the CPU before it, and a process name with a comma moves it further.
        let is_pointer = |field: &&[u8]| field.starts_with(b"0x");
        let behind = fields[POINTER_FIRST..].iter().position(is_pointer);
        let behind = behind.ok_or(Bad::new("IrpPtr", "is not a number in base 16"))?;
        Ok(Self { fields, operation, layout, pointer: POINTER_FIRST + behind })
    }

    /// Returns the field at this position after the pointer to the request.
    fn behind(&self, after: usize) -> &'a [u8] {
        self.fields.get(self.pointer + after).copied().unwrap_or_default()
    }

    fn record(&self) -> Result<(Moment, IoRecord), Bad> {
        let end = moment(number(self.fields[1], "TimeStamp")?, 1_000, "TimeStamp")?;
        let elapsed_us = number(self.behind(self.layout.elapsed), "ElapsedTime")?;
        let elapsed = moment(elapsed_us, 1_000, "ElapsedTime")?;
        let mut record = match self.operation {
            Operation::Flush => IoRecord::new(Nanos::ZERO, Operation::Flush, 0, 0),
            operation => {
                let offset = hex(self.behind(self.layout.offset), "ByteOffset")?;
                io(operation, offset, hex(self.behind(self.layout.size), "IOSize")?)?
            }
        };
        let elapsed_ns = times(elapsed_us, 1_000, "ElapsedTime")?;
        record.device_time = Some(Nanos(elapsed_ns));
        // This is the working time of the disk itself; the rest of the elapsed time was waiting.
        if let Some(place) = self.layout.service
            && let Ok(service_us) = number(self.behind(place), "DiskSvcTime")
            && service_us <= elapsed_us
        {
            record.device_time = Some(Nanos(service_us * 1_000));
            record.queue = Some(Nanos(elapsed_ns - service_us * 1_000));
        }
        Ok((Moment(end.0 - elapsed.0), record))
    }

    fn disk(&self) -> Result<&'a [u8], Bad> {
        let disk = self.behind(self.layout.disk);
        number(disk, "DiskNum").map(|_| disk)
    }

    /// Returns the name of the process without its id.
    fn process(&self) -> &'a [u8] {
        let field = self.fields[2];
        let end = field.iter().rposition(|byte| *byte == b'(').unwrap_or(field.len());
        field[..end].trim_ascii()
    }
}
