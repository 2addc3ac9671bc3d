use crate::{IoRecord, TraceError, TraceInfo};

/// Number of records per batch: 4 MiB of them.
pub const BATCH: usize = 65_536;

/// A trace being read.
pub trait Source: Send {
    /// Facts about the trace so far; complete once [`Source::read`] has returned nothing.
    fn info(&self) -> &TraceInfo;

    /// Replaces `batch` with the next records, in order of issue, at most [`BATCH`] of them; it
    /// is empty at the end and only then.
    ///
    /// # Errors
    /// The trace cannot be read further: the error names the place, or the limit of bad lines.
    fn read(&mut self, batch: &mut Vec<IoRecord>) -> Result<(), TraceError>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn info(&self) -> &TraceInfo {
        (**self).info()
    }

    fn read(&mut self, batch: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        (**self).read(batch)
    }
}

/// A trace held in memory, for tests and small inputs.
#[derive(Debug, Clone)]
pub struct Memory {
    info: TraceInfo,
    records: Vec<IoRecord>,
    next: usize,
}

impl Memory {
    /// Makes a source of these records, which must be in order of issue.
    pub fn new(info: TraceInfo, records: Vec<IoRecord>) -> Self {
        debug_assert!(records.is_sorted_by_key(|record| record.issue), "not in order of issue");
        Self { info, records, next: 0 }
    }
}

impl Source for Memory {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn read(&mut self, batch: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        batch.clear();
        let end = (self.next + BATCH).min(self.records.len());
        batch.extend_from_slice(&self.records[self.next..end]);
        self.next = end;
        Ok(())
    }
}
