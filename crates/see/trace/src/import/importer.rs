//! Source for all formats: fills a window from a decoder, sorts the window, and hands records out.

use super::sink::{Moment, Sink};
use crate::{BATCH, IoRecord, Source, TraceError, TraceInfo};
use units::Nanos;

/// Number of records that are sorted by issue before the earliest is handed out. A trace that logs
/// completions is put in order, unless an I/O completes after this many later ones.
pub(super) const WINDOW: usize = 1 << 14;

/// Decoder of one format's bytes.
pub(super) trait Decode: Send {
    /// Adds some records to `sink`; returns true if there may be more. It adds a bounded number.
    /// Before it returns false, it also hands out all records that it held back.
    fn step(&mut self, sink: &mut Sink) -> Result<bool, TraceError>;
}

/// A trace with the decoder of its format.
pub(super) struct Importer {
    decode: Box<dyn Decode>,
    sink: Sink,
    base: Option<Nanos>,
    last: Nanos,
    is_done: bool,
    /// Number of records in the sink that are known to be in order.
    sorted: usize,
}

impl Importer {
    pub(super) fn new(decode: Box<dyn Decode>, sink: Sink) -> Self {
        Self { decode, sink, base: None, last: Nanos::ZERO, is_done: false, sorted: 0 }
    }

    /// Fills the window to twice its size, so that half can be handed out while the other half
    /// stays.
    fn fill(&mut self) -> Result<(), TraceError> {
        while !self.is_done && self.sink.records.len() < 2 * WINDOW {
            // After an error the trace is over: no later record is handed out.
            self.is_done = true;
            self.is_done = !self.decode.step(&mut self.sink)?;
        }
        if self.is_done { self.sink.check_any() } else { Ok(()) }
    }

    fn set_base(&mut self, first: Nanos) {
        self.base = Some(first);
        let origin = self.sink.origin_unix_ns;
        self.sink.info.started_unix_ns =
            origin.and_then(|origin| origin.checked_add(Moment::of_raw(first).0));
    }

    /// Converts the time to the time since the trace's begin, but never before the last record
    /// returned.
    fn place(&mut self, base: Nanos, record: &mut IoRecord) {
        let issue = record.issue.saturating_sub(base);
        if record.issue < base || issue < self.last {
            self.sink.info.losses.disordered += 1;
            record.issue = self.last;
        } else {
            record.issue = issue;
            self.last = issue;
        }
    }
}

impl Source for Importer {
    fn info(&self) -> &TraceInfo {
        &self.sink.info
    }

    fn read(&mut self, batch: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        batch.clear();
        self.fill()?;
        let records = &mut self.sink.records;
        if !records[self.sorted.saturating_sub(1)..].is_sorted_by_key(|record| record.issue) {
            records.sort_by_key(|record| record.issue);
        }
        let kept = if self.is_done { 0 } else { WINDOW };
        let count = records.len().saturating_sub(kept).min(BATCH);
        batch.extend(records.drain(..count));
        self.sorted = records.len();
        self.sink.taken += count as u64;
        let Some(first) = batch.first() else { return Ok(()) };
        if self.base.is_none() {
            self.set_base(first.issue);
        }
        let base = self.base.unwrap_or_default();
        for record in batch {
            self.place(base, record);
        }
        Ok(())
    }
}
