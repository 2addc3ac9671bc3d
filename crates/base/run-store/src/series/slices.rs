use std::iter::Peekable;
use std::path::Path;

use units::Nanos;

use super::{
    ActionRecord, CallRecord, GaugeRecord, GeneratorRecord, IoRecord, OpenRecord, Record, Rows,
    SeriesError, StepKey, Stretch, read_between, read_run,
};
use crate::gauge::Gauge;
use crate::slice::GeneratorRow;

/// Slice of a stored run, with its rows of all series.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSlice {
    /// Step, repeat and phase of the slice.
    pub key: StepKey,
    /// Start of the slice, relative to the start of the step's load.
    pub start: Nanos,
    /// Width of the slice.
    pub width: Nanos,
    /// I/O that completed in the slice.
    pub io: Vec<IoRecord>,
    /// Calls that completed in the slice.
    pub calls: Vec<CallRecord>,
    /// Actions that completed in the slice.
    pub actions: Vec<ActionRecord>,
    /// Unfinished work at the end of the slice.
    pub open: Vec<OpenRecord>,
    /// State of the generator; `None` if it was lost in a killed run.
    pub generator: Option<GeneratorRow>,
    /// Gauges of the host and the device.
    pub gauges: Vec<Gauge>,
}

/// Iterator over the slices of a stored run, in the order in which they were measured.
#[derive(Debug)]
pub struct Slices {
    io: Peekable<Rows<IoRecord>>,
    calls: Peekable<Rows<CallRecord>>,
    actions: Peekable<Rows<ActionRecord>>,
    open: Peekable<Rows<OpenRecord>>,
    generator: Peekable<Rows<GeneratorRecord>>,
    gauges: Peekable<Rows<GaugeRecord>>,
}

/// Identity of a slice: its key, start and width.
type Slot = (StepKey, Nanos, Nanos);

impl Slices {
    /// Iterates over all slices of a run directory, including the parts of a killed run.
    pub fn of(directory: &Path) -> Result<Self, SeriesError> {
        Ok(Self {
            io: read_run(directory)?.peekable(),
            calls: read_run(directory)?.peekable(),
            actions: read_run(directory)?.peekable(),
            open: read_run(directory)?.peekable(),
            generator: read_run(directory)?.peekable(),
            gauges: read_run(directory)?.peekable(),
        })
    }

    /// Iterates over the slices in the given intervals.
    pub fn between(directory: &Path, stretches: &[Stretch]) -> Result<Self, SeriesError> {
        Ok(Self {
            io: read_between(directory, stretches)?.peekable(),
            calls: read_between(directory, stretches)?.peekable(),
            actions: read_between(directory, stretches)?.peekable(),
            open: read_between(directory, stretches)?.peekable(),
            generator: read_between(directory, stretches)?.peekable(),
            gauges: read_between(directory, stretches)?.peekable(),
        })
    }

    fn advance(&mut self) -> Result<Option<StoredSlice>, SeriesError> {
        // Every slice has a row of the generator, but a killed run may have lost its last ones.
        let mut next = peek(&mut self.generator, of_generator)?;
        if next.is_none() {
            next = peek(&mut self.io, of_io)?;
        }
        if next.is_none() {
            next = peek(&mut self.calls, of_call)?;
        }
        if next.is_none() {
            next = peek(&mut self.actions, of_action)?;
        }
        let Some(slot) = next else { return Ok(None) };
        let generator = next_of(&mut self.generator, of_generator, slot)?;
        let mut slice = StoredSlice {
            key: slot.0,
            start: slot.1,
            width: slot.2,
            io: Vec::new(),
            calls: Vec::new(),
            actions: Vec::new(),
            open: Vec::new(),
            gauges: Vec::new(),
            generator: generator.map(|record| record.row),
        };
        slice.io = rows_of(&mut self.io, of_io, slot)?;
        slice.calls = rows_of(&mut self.calls, of_call, slot)?;
        slice.actions = rows_of(&mut self.actions, of_action, slot)?;
        slice.open = rows_of(&mut self.open, of_open, slot)?;
        let gauges = rows_of(&mut self.gauges, of_gauge, slot)?;
        slice.gauges = gauges.into_iter().map(|record| record.gauge).collect();
        Ok(Some(slice))
    }
}

impl Iterator for Slices {
    type Item = Result<StoredSlice, SeriesError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

fn of_generator(record: &GeneratorRecord) -> Slot {
    (record.key, record.start, record.width)
}

fn of_io(record: &IoRecord) -> Slot {
    (record.key, record.start, record.width)
}

fn of_call(record: &CallRecord) -> Slot {
    (record.key, record.start, record.width)
}

fn of_open(record: &OpenRecord) -> Slot {
    (record.key, record.start, record.width)
}

fn of_gauge(record: &GaugeRecord) -> Slot {
    (record.key, record.start, record.width)
}

fn of_action(record: &ActionRecord) -> Slot {
    (record.key, record.start, record.width)
}

/// Returns the slice of the next row without consuming the row; `None` at the end.
fn peek<R: Record>(
    rows: &mut Peekable<Rows<R>>,
    slot: fn(&R) -> Slot,
) -> Result<Option<Slot>, SeriesError> {
    match rows.peek() {
        None => Ok(None),
        Some(Ok(row)) => Ok(Some(slot(row))),
        Some(Err(_)) => rows.next().transpose().map(|_| None),
    }
}

/// Consumes and returns the next row, if it belongs to this slice.
fn next_of<R: Record>(
    rows: &mut Peekable<Rows<R>>,
    slot: fn(&R) -> Slot,
    of: Slot,
) -> Result<Option<R>, SeriesError> {
    if peek(rows, slot)? == Some(of) { rows.next().transpose() } else { Ok(None) }
}

/// Maximum number of rows of one kind in one slice: ten thousand tiles with a hundred rows each. A
/// whole slice is in memory, and a few bytes of a compressed file can expand to a billion equal
/// rows.
const ROWS_MAX: usize = 1 << 20;

/// Consumes and returns all rows of this slice.
///
/// # Errors
///
/// If there are more than [`ROWS_MAX`] rows.
fn rows_of<R: Record>(
    rows: &mut Peekable<Rows<R>>,
    slot: fn(&R) -> Slot,
    of: Slot,
) -> Result<Vec<R>, SeriesError> {
    let mut found = Vec::new();
    while let Some(record) = next_of(rows, slot, of)? {
        if found.len() == ROWS_MAX {
            let reason = format!(
                "the slice of step {} from {} has more than {ROWS_MAX} rows",
                of.0.step, of.1
            );
            return Err(SeriesError::Content { path: R::FILE.into(), reason: reason.into() });
        }
        found.push(record);
    }
    Ok(found)
}
