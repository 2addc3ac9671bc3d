//! CSV of the Open CAS Telemetry Framework's iotrace.

use super::super::fields::{moment, number, sectors, times};
use super::super::lines::Line;
use super::super::sink::{Bad, Sink};
use crate::{Flags, IoRecord, Operation};
use units::Nanos;

/// A row has as many fields as [`Column`] at most.
const COLUMNS_MAX: usize = 64;

/// What iotrace prints is shown in the case study of standalone-linux-io-tracer: flags are words,
/// sectors have 512 bytes and latencies are nanoseconds, which its totals agree with.
///
/// Columns by the names of the first line, of which `header.timestamp` (ns), `io.lba` and `io.len`
/// (sectors of 512 bytes) and `io.operation` must be there.
#[derive(Default)]
pub(in super::super) struct Iotrace {
    columns: Option<Columns>,
}

struct Columns {
    time: usize,
    sector: usize,
    count: usize,
    operation: usize,
    device: Option<usize>,
    latency: Option<usize>,
    flush: Option<usize>,
    fua: Option<usize>,
    error: Option<usize>,
}

impl Columns {
    fn of(header: &[&[u8]]) -> Option<Self> {
        // Some print the unit behind the name.
        let bare = |name: &[u8]| {
            let end = name.iter().position(|byte| *byte == b'(').unwrap_or(name.len());
            name[..end].trim_ascii().to_ascii_lowercase()
        };
        let place = |wanted: &str| header.iter().position(|name| bare(name) == wanted.as_bytes());
        Some(Self {
            time: place("header.timestamp")?,
            sector: place("io.lba")?,
            count: place("io.len")?,
            operation: place("io.operation")?,
            device: place("device.name"),
            latency: place("io.latency"),
            flush: place("io.flush"),
            fua: place("io.fua"),
            error: place("io.error"),
        })
    }
}

impl Line for Iotrace {
    fn begin(&mut self, sink: &mut Sink) {
        sink.real_times(1);
        sink.nobody();
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut fields: [&[u8]; COLUMNS_MAX] = [&[]; COLUMNS_MAX];
        let count = split(line, &mut fields);
        let fields = &fields[..count];
        if let Some(columns) = Columns::of(fields) {
            sink.info.has_latency = columns.latency.is_some();
            self.columns = Some(columns);
            sink.skip();
            return Ok(());
        }
        let Some(columns) = &self.columns else {
            return Err(Bad::new("line", "comes before the names of the columns"));
        };
        columns.row(fields, sink)
    }
}

impl Columns {
    fn row(&self, fields: &[&[u8]], sink: &mut Sink) -> Result<(), Bad> {
        let at = |place: usize| fields.get(place).copied().unwrap_or_default();
        let is_set = |place: Option<usize>| place.is_some_and(|place| is_true(at(place)));
        let word = at(self.operation);
        if word.is_empty() && fields.len() > self.operation {
            // An event of a file or a device.
            sink.skip();
            return Ok(());
        }
        let count = number(at(self.count), "io.len")?;
        let is_flush = is_set(self.flush) || word.eq_ignore_ascii_case(b"flush");
        // The kernel asks for a flush with a write of nothing, which `io.flush` does not tell.
        let is_empty_write = count == 0 && word.eq_ignore_ascii_case(b"write");
        let mut record = if (is_flush && count == 0) || is_empty_write {
            IoRecord::new(Nanos::ZERO, Operation::Flush, 0, 0)
        } else {
            sectors(operation(word)?, number(at(self.sector), "io.lba")?, count)?
        };
        if is_flush && count > 0 {
            record.flags = record.flags.with(Flags::PREFLUSH);
        }
        if is_set(self.fua) {
            record.flags = record.flags.with(Flags::FUA);
        }
        if is_set(self.error) {
            record.flags = record.flags.with(Flags::ERROR);
        }
        if let Some(latency) = self.latency.map(at).filter(|field| !field.is_empty()) {
            record.device_time = Some(Nanos(times(number(latency, "io.latency")?, 1, "latency")?));
        }
        let moment = moment(number(at(self.time), "header.timestamp")?, 1, "header.timestamp")?;
        record.device = sink.device(self.device.map_or(b"disk", at));
        sink.push(moment, record);
        Ok(())
    }
}

fn operation(word: &[u8]) -> Result<Operation, Bad> {
    let is = |text: &[u8]| word.eq_ignore_ascii_case(text);
    if is(b"read") || is(b"rd") {
        Ok(Operation::Read)
    } else if is(b"write") || is(b"wr") {
        Ok(Operation::Write)
    } else if is(b"discard") || is(b"trim") {
        Ok(Operation::Discard)
    } else {
        Err(Bad::new("io.operation", "is not known"))
    }
}

fn is_true(field: &[u8]) -> bool {
    !(field.is_empty() || field == b"0" || field.eq_ignore_ascii_case(b"false"))
}

/// Fields between commas, of which those in quotes are none; quotes are taken off. How many.
fn split<'a>(line: &'a [u8], fields: &mut [&'a [u8]; COLUMNS_MAX]) -> usize {
    let (mut start, mut count, mut is_quoted) = (0, 0, false);
    for at in 0..=line.len() {
        match line.get(at) {
            Some(b'"') => is_quoted = !is_quoted,
            Some(b',') | None if at == line.len() || !is_quoted => {
                let Some(place) = fields.get_mut(count) else { break };
                let field = line[start..at].trim_ascii();
                let bare = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\""));
                *place = bare.unwrap_or(field);
                count += 1;
                start = at + 1;
            }
            _ => {}
        }
    }
    count
}
