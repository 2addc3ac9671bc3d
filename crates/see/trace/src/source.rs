use crate::{Flags, IoRecord, TraceError, TraceInfo};

/// Number of records per batch: 4 MiB.
pub const BATCH: usize = 65_536;

/// A trace that is being read.
pub trait Source: Send {
    /// Returns facts about the trace so far; they are complete once [`Source::read`] has returned
    /// nothing.
    fn info(&self) -> &TraceInfo;

    /// Replaces `batch` with the next records, in order of issue, at most [`BATCH`] of them. The
    /// batch is empty only at the end.
    ///
    /// # Errors
    /// The trace cannot be read further: the error names the position, or the limit of bad lines.
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

/// Trace without I/Os that are parts of an I/O on an upper disk that is also in the trace.
#[derive(Debug, Clone)]
pub struct CountedOnce<S>(pub S);

impl<S: Source> Source for CountedOnce<S> {
    fn info(&self) -> &TraceInfo {
        self.0.info()
    }

    fn read(&mut self, batch: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        loop {
            self.0.read(batch)?;
            let is_end = batch.is_empty();
            batch.retain(|record| !record.flags.has(Flags::BELOW));
            if is_end || !batch.is_empty() {
                return Ok(());
            }
        }
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

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;
    use crate::{Clock, Losses, Operation};

    #[test]
    fn batch_of_parts_alone_is_not_the_end() {
        let record = |at: u64| IoRecord::new(Nanos(at), Operation::Read, 0, 512);
        let parts = (0..BATCH as u64).map(|at| IoRecord { flags: Flags::BELOW, ..record(at) });
        let records = parts.chain([record(BATCH as u64)]).collect();
        let info = TraceInfo {
            format: "test",
            clock: Clock::Order,
            started_unix_ns: None,
            has_latency: false,
            vms: Vec::new(),
            devices: Vec::new(),
            losses: Losses::default(),
        };
        let mut source = CountedOnce(Memory::new(info, records));
        let mut batch = Vec::new();
        source.read(&mut batch).expect("memory");
        assert_eq!(batch, [record(BATCH as u64)]);
        source.read(&mut batch).expect("memory");
        assert!(batch.is_empty());
    }
}
