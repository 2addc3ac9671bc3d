use std::ops::Range;

use state_machine::Operation;
use units::Nanos;

/// Memory of each I/O of a schedule, in bytes.
pub const STEP_BYTES: u64 = size_of::<Step>() as u64;

/// Event that an I/O of a schedule waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// The time of the I/O.
    ForTheClock,
    /// The completion of another I/O, and then a pause.
    ForAnswers,
}

/// I/O to replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Offset of the first byte on the device of the trace.
    pub offset: u64,
    /// With [`Waits::ForTheClock`], time since the start. With [`Waits::ForAnswers`], pause after
    /// the completion (or since the start, for an I/O that waits for none).
    pub after: Nanos,
    /// Length in bytes, 0 for a flush.
    pub length: u32,
    /// First step that waits for this step's completion. All such steps are consecutive.
    pub first: u32,
    /// Number of steps that wait for this step.
    pub waiting: u32,
    /// Position of its disk in the workload.
    pub disk: u16,
    /// Operation to play.
    pub operation: Operation,
}

/// Number of I/Os in a schedule, and of the I/Os of the trace that it omits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Number of reads to replay.
    pub reads: u64,
    /// Number of writes to replay.
    pub writes: u64,
    /// Number of flushes to replay.
    pub flushes: u64,
    /// Number of bytes that reads and writes transfer.
    pub bytes: u64,
    /// Number of discards, which are never replayed.
    pub discards: u64,
    /// Number of empty reads and writes, which are not replayed.
    pub empty: u64,
    /// Number of I/Os without a recorded completion. No other I/O waits for them.
    pub endless: u64,
}

/// I/Os of a trace, ready to be replayed any number of times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    pub(crate) steps: Box<[Step]>,
    /// Steps that wait for no other step; with [`Waits::ForTheClock`], all steps.
    pub(crate) roots: Box<[Range<u32>]>,
    pub(crate) waits: Waits,
    pub(crate) counts: Counts,
    pub(crate) span: Nanos,
    pub(crate) trace_span: Nanos,
    pub(crate) ends: Box<[u64]>,
    pub(crate) digest: u64,
}

impl Schedule {
    /// Returns the number of I/Os to replay.
    pub fn len(&self) -> u64 {
        self.steps.len() as u64
    }

    /// Returns true if there is nothing to replay.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns the event that its I/Os wait for.
    pub const fn waits(&self) -> Waits {
        self.waits
    }

    /// Returns the number of I/Os in the schedule, and of omitted ones.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the time from the first to the last I/O with [`Waits::ForTheClock`]. Returns 0 with
    /// [`Waits::ForAnswers`], because the time depends on the storage.
    pub const fn span(&self) -> Nanos {
        self.span
    }

    /// Returns the time from the first to the last I/O in the trace.
    pub const fn trace_span(&self) -> Nanos {
        self.trace_span
    }

    /// Returns, for each disk, the first byte after all I/Os.
    pub fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// Returns a digest of the schedule. Different digests mean different loads.
    pub const fn digest(&self) -> u64 {
        self.digest
    }

    /// Returns the memory of the schedule, in bytes.
    pub fn bytes(&self) -> u64 {
        self.len() * STEP_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_half_a_cache_line() {
        assert_eq!(STEP_BYTES, 32);
    }
}
