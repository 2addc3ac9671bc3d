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
    /// The answer to another I/O, and then a pause.
    ForAnswers,
}

/// I/O to play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Offset of the first byte on the device of the trace.
    pub offset: u64,
    /// By the clock: time from the start. By answers: pause after the answer (or after the start,
    /// for an I/O that waits for none).
    pub after: Nanos,
    /// Length in bytes, 0 for a flush.
    pub length: u32,
    /// First step that waits for this step's answer; all such steps follow one another.
    pub first: u32,
    /// Number of steps that wait for it.
    pub waiting: u32,
    /// Position of its disk in the workload.
    pub disk: u16,
    /// Operation to play.
    pub operation: Operation,
}

/// Counts of what a schedule holds and of what it leaves out of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Reads to play.
    pub reads: u64,
    /// Writes to play.
    pub writes: u64,
    /// Flushes to play.
    pub flushes: u64,
    /// Bytes that reads and writes move.
    pub bytes: u64,
    /// Discards, which are never played.
    pub discards: u64,
    /// Reads and writes of no bytes, which are not played.
    pub empty: u64,
    /// I/Os without a known end, so that nothing waits for them.
    pub endless: u64,
}

/// I/Os of a trace, ready to be played any number of times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    pub(crate) steps: Box<[Step]>,
    /// Steps that wait for no other; by the clock, all of them.
    pub(crate) roots: Box<[Range<u32>]>,
    pub(crate) waits: Waits,
    pub(crate) counts: Counts,
    pub(crate) span: Nanos,
    pub(crate) trace_span: Nanos,
    pub(crate) ends: Box<[u64]>,
    pub(crate) digest: u64,
}

impl Schedule {
    /// Number of I/Os to play.
    pub fn len(&self) -> u64 {
        self.steps.len() as u64
    }

    /// Returns true if there is nothing to play.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Event that its I/Os wait for.
    pub const fn waits(&self) -> Waits {
        self.waits
    }

    /// Counts of what it holds and what it leaves out.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Time from the first I/O to the last one when played by the clock; 0 if answers decide,
    /// because it is not known before.
    pub const fn span(&self) -> Nanos {
        self.span
    }

    /// Time from the first I/O to the last one in the trace.
    pub const fn trace_span(&self) -> Nanos {
        self.trace_span
    }

    /// First byte behind all I/Os, by disk.
    pub fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// Digest of the schedule: another number means another load.
    pub const fn digest(&self) -> u64 {
        self.digest
    }

    /// Memory of the schedule, in bytes.
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
