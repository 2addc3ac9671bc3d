//! CSV of the Open CAS Telemetry Framework's iotrace.

use super::super::fields::{SECTOR, moment, number, sectors};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Sink};
use crate::{Flags, IoRecord, Operation};
use units::{Bytes, Nanos};

pub(super) static FORMAT: Kind = Kind::text::<Iotrace>(
    "iotrace",
    &["octf", "open-cas"],
    "Open CAS iotrace CSV, by the names of its columns",
);

/// Maximum number of fields in a row.
const COLUMNS_MAX: usize = 64;

/// Output of iotrace for a trace, parsed or as recorded (`--raw`). Columns are found by the names
/// in the first line; `header.timestamp` (ns), `io.lba` and `io.len` (sectors of 512 bytes) and
/// `io.operation` are required.
///
/// Names, units and meanings come from the framework's messages (open-cas-telemetry-framework,
/// `source/octf/proto/parsedTrace.proto` and `trace.proto`) and from the code that fills them in
/// (`ParsedIoTraceEventHandler.cpp`, `iotrace.bpf.c`); rows are shown in the case study of
/// standalone-linux-io-tracer.
#[derive(Default)]
struct Iotrace {
    columns: Option<Columns>,
}

struct Columns {
    /// Number of column names.
    count: usize,
    /// Position of the path column. A path may contain commas like those between fields.
    path: Option<usize>,
    time: usize,
    sector: usize,
    length: usize,
    operation: usize,
    device: Option<usize>,
    latency: Option<usize>,
    flush: Option<usize>,
    fua: Option<usize>,
    error: Option<usize>,
    raw: Option<Raw>,
}

/// Additional columns of a trace as recorded. There devices have numbers, and separate rows contain
/// the devices' names.
#[derive(Clone, Copy)]
struct Raw {
    device: usize,
    id: usize,
    name: usize,
    /// Size of a device, in sectors.
    size: Option<usize>,
}

impl Columns {
    fn of(header: &[&[u8]]) -> Option<Self> {
        // Some versions print the unit after the name.
        let bare = |name: &[u8]| {
            let end = name.iter().position(|byte| *byte == b'(').unwrap_or(name.len());
            name[..end].trim_ascii().to_ascii_lowercase()
        };
        let place = |wanted: &str| {
            let wanted = wanted.to_ascii_lowercase();
            header.iter().position(|name| bare(name) == wanted.as_bytes())
        };
        let raw = || {
            Some(Raw {
                device: place("io.deviceId")?,
                id: place("deviceDescription.id")?,
                name: place("deviceDescription.name")?,
                size: place("deviceDescription.size"),
            })
        };
        Some(Self {
            time: place("header.timestamp")?,
            count: header.len(),
            path: place("file.path"),
            sector: place("io.lba")?,
            length: place("io.len")?,
            operation: place("io.operation")?,
            device: place("device.name"),
            latency: place("io.latency"),
            // Flags have a message of their own since version 2 of the events (May 2022).
            flush: place("io.flags.flush").or_else(|| place("io.flush")),
            fua: place("io.flags.fua").or_else(|| place("io.fua")),
            error: place("io.error"),
            raw: raw(),
        })
    }
}

impl Line for Iotrace {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
        sink.real_times(1);
        sink.nobody();
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut fields: [&[u8]; COLUMNS_MAX] = [&[]; COLUMNS_MAX];
        let count = split(line, &mut fields);
        let fields = &fields[..count];
        let known = self.columns.as_ref().map(|columns| Row { columns, fields });
        if let Some(row) =
            known.filter(|row| row.at(row.columns.time).first().is_some_and(u8::is_ascii_digit))
        {
            return row.read(sink);
        }
        if let Some(columns) = Columns::of(fields) {
            sink.info.has_latency = columns.latency.is_some();
            self.columns = Some(columns);
            sink.skip();
            return Ok(());
        }
        let Some(columns) = &self.columns else {
            return Err(Bad::new("line", "comes before the names of the columns"));
        };
        Row { columns, fields }.read(sink)
    }

    /// Returns true if a line has the column names of such a trace. The trace itself may begin with
    /// many events that are not I/Os.
    fn is_header(line: &[u8]) -> bool {
        let mut fields: [&[u8]; COLUMNS_MAX] = [&[]; COLUMNS_MAX];
        let count = split(line, &mut fields);
        Columns::of(&fields[..count]).is_some()
    }
}

struct Row<'a> {
    columns: &'a Columns,
    fields: &'a [&'a [u8]],
}

impl<'a> Row<'a> {
    /// Returns the field at a position; fields after a path with commas are counted from the end.
    fn at(&self, place: usize) -> &'a [u8] {
        let more = self.fields.len().saturating_sub(self.columns.count);
        let is_behind = self.columns.path.is_some_and(|path| place > path);
        let place = if is_behind { place + more } else { place };
        self.fields.get(place).copied().unwrap_or_default()
    }

    fn is_set(&self, place: Option<usize>) -> bool {
        place.is_some_and(|place| is_true(self.at(place)))
    }

    fn read(&self, sink: &mut Sink) -> Result<(), Bad> {
        let columns = self.columns;
        let word = self.at(columns.operation);
        if word.is_empty() && self.fields.len() > columns.operation {
            // Event of a file or a device, or the end of an I/O.
            columns.raw.into_iter().for_each(|raw| self.describe(raw, sink));
            sink.skip();
            return Ok(());
        }
        let mut record = self.record(word)?;
        if let Some(latency) = columns.latency.map(|place| self.at(place)) {
            // A latency of 0 means that the end of the I/O was not seen.
            let latency = if latency.is_empty() { 0 } else { number(latency, "io.latency")? };
            record.device_time = (latency > 0).then_some(Nanos(latency));
        }
        let moment = moment(number(self.at(columns.time), "header.timestamp")?, 1, "timestamp")?;
        record.device = match (columns.raw, columns.device) {
            (Some(raw), _) => {
                sink.device_as(self.at(raw.device), |number| format!("device {number}"))
            }
            (None, device) => sink.device(device.map_or(b"disk", |place| self.at(place))),
        };
        sink.push(moment, record);
        Ok(())
    }

    fn record(&self, word: &[u8]) -> Result<IoRecord, Bad> {
        let columns = self.columns;
        let count = number(self.at(columns.length), "io.len")?;
        let is_flush = self.is_set(columns.flush) || word.eq_ignore_ascii_case(b"flush");
        // The kernel asks for a flush with a write of zero bytes, which older versions do not mark.
        let is_empty_write = count == 0 && word.eq_ignore_ascii_case(b"write");
        let mut record = if (is_flush && count == 0) || is_empty_write {
            IoRecord::new(Nanos::ZERO, Operation::Flush, 0, 0)
        } else {
            sectors(operation(word)?, number(self.at(columns.sector), "io.lba")?, count)?
        };
        if is_flush && count > 0 {
            record.flags = record.flags.with(Flags::PREFLUSH);
        }
        if self.is_set(columns.fua) {
            record.flags = record.flags.with(Flags::FUA);
        }
        if self.is_set(columns.error) {
            record.flags = record.flags.with(Flags::ERROR);
        }
        Ok(record)
    }

    /// Stores the name of a device, if the row contains one.
    fn describe(&self, raw: Raw, sink: &mut Sink) {
        let (id, name) = (self.at(raw.id), self.at(raw.name));
        if id.is_empty() || name.is_empty() {
            return;
        }
        let named = String::from_utf8_lossy(name).into_owned();
        let device = sink.device_as(id, |_| named);
        let sectors = raw.size.and_then(|place| number(self.at(place), "size").ok());
        let size = sectors.filter(|sectors| *sectors > 0).and_then(|it| it.checked_mul(SECTOR));
        if let Some(known) = sink.info.devices.get_mut(usize::from(device.0)) {
            known.size = known.size.or(size.map(Bytes::new));
        }
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

/// Splits fields at commas outside of quotes, and removes the quotes. Returns the number of fields.
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
