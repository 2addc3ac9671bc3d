//! The output of biosnoop of the BPF Compiler Collection.

use super::super::fields::{Words, decimal, decimal_moment, io, number, times};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Moment, Sink};
use crate::{IoRecord, Operation};
use units::Nanos;

pub(super) static FORMAT: Kind =
    Kind::text::<Biosnoop>("biosnoop", &["bcc"], "bcc's biosnoop, with or without the QUE column");

/// Lines `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`, printed at the completion of the
/// I/O. A command's name may contain spaces, so columns are counted from the right. With `-t` the
/// first column is `TIMESTAMP`, a time of day such as `10:15:30.250`.
struct Biosnoop {
    columns: Columns,
    clock: TimeOfDay,
}

/// Columns after the command's name, as positions counted from the right; 1 is the last column.
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
const SECOND_NS: u64 = 1_000_000_000;
const DAY_NS: u64 = 86_400 * SECOND_NS;

impl Default for Biosnoop {
    fn default() -> Self {
        let latency = (1, MILLISECOND_NS);
        let columns =
            Columns { count: 6, disk: 5, direction: 4, sector: 3, bytes: 2, queue: None, latency };
        Self { columns, clock: TimeOfDay::default() }
    }
}

impl Columns {
    /// Finds the columns by the table's heading.
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

/// Returns the unit in a column's name, in nanoseconds.
fn unit(name: &[u8]) -> Option<u64> {
    let (_, unit) = name.split_at(name.iter().position(|byte| *byte == b'(')?);
    match unit {
        b"(s)" => Some(SECOND_NS),
        b"(ms)" => Some(MILLISECOND_NS),
        b"(us)" => Some(1_000),
        b"(ns)" => Some(1),
        _ => None,
    }
}

/// Returns true if a word is the first of the table's heading.
pub(in super::super) fn is_head(word: &[u8]) -> bool {
    word.starts_with(b"TIME(") || word == b"TIMESTAMP"
}

/// Converts times of day to a continuous time, across midnights.
#[derive(Default)]
struct TimeOfDay {
    last: u64,
    days: u64,
}

impl TimeOfDay {
    /// Converts `hours:minutes:seconds` to a time since the midnight before the first time.
    fn moment(&mut self, word: &[u8]) -> Result<Moment, Bad> {
        let bad = Bad::new("TIMESTAMP", "is not a time of day");
        let mut parts = word.splitn(3, |byte| *byte == b':');
        let mut part = || parts.next().ok_or(bad);
        let hours = number(part()?, "TIMESTAMP")?;
        let minutes = number(part()?, "TIMESTAMP")?;
        let seconds = decimal(part()?, SECOND_NS, "TIMESTAMP")?;
        if hours > 23 || minutes > 59 || seconds >= 61 * SECOND_NS {
            return Err(bad);
        }
        let now = (hours * 3600 + minutes * 60) * SECOND_NS + seconds;
        // A clock that is set back by less than half a day has not passed midnight.
        if now + DAY_NS / 2 < self.last {
            self.days += 1;
        }
        self.last = now;
        let ns = times(self.days, DAY_NS, "TIMESTAMP")?.checked_add(now).ok_or(bad)?;
        i64::try_from(ns).map(Moment).map_err(|_| bad)
    }
}

impl Line for Biosnoop {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
        sink.real_times(1_000);
        sink.info.has_latency = true;
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let words = Words::of(line);
        let words = words.all();
        if words.first().is_some_and(|word| is_head(word)) {
            self.columns = Columns::of(words)?;
            if words[0] == b"TIMESTAMP" {
                sink.real_times(MILLISECOND_NS);
            }
            sink.skip();
            return Ok(());
        }
        // There must be the time and at least one word of the command's name.
        let Some(end) = words.len().checked_sub(self.columns.count).filter(|end| *end >= 2) else {
            return Err(Bad::new("line", "has too few columns"));
        };
        let ended = if words[0].contains(&b':') {
            self.clock.moment(words[0])?
        } else {
            decimal_moment(words[0], SECOND_NS, "TIME")?
        };
        let Some((moment, mut record)) = self.columns.record(words, ended)? else {
            sink.skip();
            return Ok(());
        };
        record.vm = sink.vm(&words[1..end].join(&b' '));
        record.device = sink.device(words[words.len() - self.columns.disk]);
        sink.push(moment, record);
        Ok(())
    }
}

impl Columns {
    /// Returns the I/O of a row, with its time of issue; `None` for a request that moves no data.
    fn record(&self, words: &[&[u8]], end: Moment) -> Result<Option<(Moment, IoRecord)>, Bad> {
        let at = |place: usize| words[words.len() - place];
        number(at(self.count), "PID")?;
        let latency = decimal(at(self.latency.0), self.latency.1, "LAT")?;
        let queue = self.queue.map(|(place, unit)| queue(at(place), unit)).transpose()?.flatten();
        let io = Self::io(at(self.direction), at(self.sector), at(self.bytes))?;
        let Some(mut record) = io else { return Ok(None) };
        record.device_time = Some(Nanos(latency));
        record.queue = queue.map(Nanos);
        let whole = i64::try_from(latency.saturating_add(queue.unwrap_or(0)));
        let whole = whole.map_err(|_| Bad::new("LAT", "is too large"))?;
        Ok(Some((Moment(end.0.saturating_sub(whole)), record)))
    }

    /// Makes a record. A write of zero bytes is a flush, whose sector has no meaning.
    fn io(direction: &[u8], sector: &[u8], bytes: &[u8]) -> Result<Option<IoRecord>, Bad> {
        let operation = operation(direction)?;
        let bytes = number(bytes, "BYTES")?;
        let Some(operation) = operation else { return Ok(None) };
        if bytes == 0 || operation == Operation::Flush {
            let is_flush = matches!(operation, Operation::Flush | Operation::Write);
            return Ok(is_flush.then(|| IoRecord::new(Nanos::ZERO, Operation::Flush, 0, 0)));
        }
        let sector = times(number(sector, "SECTOR")?, 512, "SECTOR")?;
        io(operation, sector, bytes).map(Some)
    }
}

/// Parses the operation from the letters in `T`, which are as in the kernel's `blk_fill_rwbs`.
/// `None` for a request other than read, write, discard or flush (`N`).
fn operation(letters: &[u8]) -> Result<Option<Operation>, Bad> {
    const LETTERS: &[u8] = b"FRWDENASM";
    if letters.is_empty() || !letters.iter().all(|byte| LETTERS.contains(byte)) {
        return Err(Bad::new("T", "is not one of R, W, D, F and N"));
    }
    Ok(match letters.iter().find(|byte| b"RWDN".contains(byte)) {
        Some(b'R') => Some(Operation::Read),
        Some(b'W') => Some(Operation::Write),
        Some(b'D') => Some(Operation::Discard),
        Some(_) if !letters.contains(&b'F') => None,
        _ => Some(Operation::Flush),
    })
}

/// Parses the time before the driver got the request. `None` if biosnoop prints -1, as it does for
/// a request that it did not see inserted (NVMe without a scheduler).
fn queue(word: &[u8], unit_ns: u64) -> Result<Option<u64>, Bad> {
    if word.starts_with(b"-") {
        return match decimal(&word[1..], 1_000, "QUE")? {
            1_000 => Ok(None),
            _ => Err(Bad::new("QUE", "is below 0 and not -1")),
        };
    }
    decimal(word, unit_ns, "QUE").map(Some)
}
