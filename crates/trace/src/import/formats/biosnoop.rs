//! The output of biosnoop of the BPF Compiler Collection.

use super::super::fields::{Words, decimal, decimal_moment, io, number, times};
use super::super::lines::Line;
use super::super::sink::{Bad, Moment, Sink};
use crate::{IoRecord, Operation};
use units::Nanos;

/// `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`, printed at the end of the I/O. A
/// command's name may hold spaces, so columns are counted from the right.
pub(in super::super) struct Biosnoop {
    columns: Columns,
}

/// Columns behind the command's name: places counted from the right, 1 the last.
struct Columns {
    count: usize,
    disk: usize,
    direction: usize,
    sector: usize,
    bytes: usize,
    queue: Option<(usize, u64)>,
    latency: (usize, u64),
}

const MILLISECOND_NS: u64 = 1_000_000;

impl Default for Biosnoop {
    fn default() -> Self {
        let latency = (1, MILLISECOND_NS);
        let columns =
            Columns { count: 6, disk: 5, direction: 4, sector: 3, bytes: 2, queue: None, latency };
        Self { columns }
    }
}

impl Columns {
    /// As the head of the table tells.
    fn of(header: &[&[u8]]) -> Result<Self, Bad> {
        let missing = Bad::new("head", "lacks a column");
        let comm = header.iter().position(|name| *name == b"COMM").ok_or(missing)?;
        let tail = &header[comm + 1..];
        let place = |wanted: &[u8]| {
            tail.iter().position(|name| name.starts_with(wanted)).map(|at| tail.len() - at)
        };
        let exact =
            |wanted: &[u8]| tail.iter().position(|name| *name == wanted).map(|at| tail.len() - at);
        let timed = |wanted: &[u8]| {
            place(wanted).and_then(|at| unit(tail[tail.len() - at]).map(|unit| (at, unit)))
        };
        Ok(Self {
            count: tail.len(),
            disk: place(b"DISK").ok_or(missing)?,
            direction: exact(b"T").ok_or(missing)?,
            sector: place(b"SECTOR").ok_or(missing)?,
            bytes: place(b"BYTES").ok_or(missing)?,
            queue: timed(b"QUE"),
            latency: timed(b"LAT").ok_or(missing)?,
        })
    }
}

/// Nanoseconds of the unit in a column's name.
fn unit(name: &[u8]) -> Option<u64> {
    let (_, unit) = name.split_at(name.iter().position(|byte| *byte == b'(')?);
    match unit {
        b"(s)" => Some(1_000_000_000),
        b"(ms)" => Some(MILLISECOND_NS),
        b"(us)" => Some(1_000),
        b"(ns)" => Some(1),
        _ => None,
    }
}

impl Line for Biosnoop {
    fn begin(&mut self, sink: &mut Sink) {
        sink.real_times(1_000);
        sink.info.has_latency = true;
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let words = Words::of(line);
        let words = words.all();
        if words.first().is_some_and(|word| word.starts_with(b"TIME(")) {
            self.columns = Columns::of(words)?;
            sink.skip();
            return Ok(());
        }
        // The time and at least one word of the command's name.
        let Some(end) = words.len().checked_sub(self.columns.count).filter(|end| *end >= 2) else {
            return Err(Bad::new("line", "has too few columns"));
        };
        let (moment, mut record) = self.columns.record(words)?;
        record.vm = sink.vm(&words[1..end].join(&b' '));
        record.device = sink.device(words[words.len() - self.columns.disk]);
        sink.push(moment, record);
        Ok(())
    }
}

impl Columns {
    fn record(&self, words: &[&[u8]]) -> Result<(Moment, IoRecord), Bad> {
        let at = |place: usize| words[words.len() - place];
        let end = decimal_moment(words[0], 1_000_000_000, "TIME")?;
        let latency = decimal(at(self.latency.0), self.latency.1, "LAT")?;
        let queue = self.queue.map(|(place, unit)| decimal(at(place), unit, "QUE")).transpose()?;
        let mut record = self.io(at(self.direction), at(self.sector), at(self.bytes))?;
        record.device_time = Some(Nanos(latency));
        record.queue = queue.map(Nanos);
        let whole = i64::try_from(latency.saturating_add(queue.unwrap_or(0)));
        let whole = whole.map_err(|_| Bad::new("LAT", "is too large"))?;
        Ok((Moment(end.0.saturating_sub(whole)), record))
    }

    /// Nothing written is a flush, whose sector may be anything.
    fn io(&self, direction: &[u8], sector: &[u8], bytes: &[u8]) -> Result<IoRecord, Bad> {
        let bytes = number(bytes, "BYTES")?;
        if bytes == 0 {
            return Ok(IoRecord::new(Nanos::ZERO, Operation::Flush, 0, 0));
        }
        let operation = match direction.iter().find(|byte| b"RWD".contains(byte)) {
            Some(b'R') => Operation::Read,
            Some(b'W') => Operation::Write,
            Some(_) => Operation::Discard,
            None => return Err(Bad::new("T", "is none of R, W and D")),
        };
        io(operation, times(number(sector, "SECTOR")?, 512, "SECTOR")?, bytes)
    }
}
