use std::ops::Range;

use state_machine::Operation;
use units::Nanos;

/// Memory that each I/O of a schedule takes.
pub const STEP_BYTES: u64 = size_of::<Step>() as u64;

/// What an I/O of a schedule waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// Its time.
    ForTheClock,
    /// Another I/O's answer, and then a pause.
    ForAnswers,
}

/// One I/O to play.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// First byte on the device of the trace.
    pub offset: u64,
    /// By the clock: when, from the start. By answers: how long after the answer (or after the
    /// start, for an I/O that waits for none).
    pub after: Nanos,
    /// Bytes, 0 for a flush.
    pub length: u32,
    /// The first step that waits for this one's answer; those that do follow one another.
    pub first: u32,
    /// How many wait for it.
    pub waiting: u32,
    /// Position of its disk in the workload.
    pub disk: u16,
    /// What it does.
    pub operation: Operation,
}

/// What a schedule holds, and what of the trace was left out.
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
    /// I/Os whose end is not known, so that nothing waits for them.
    pub endless: u64,
}

/// The I/Os of a trace, ready to be played any number of times.
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
    /// I/Os to play.
    pub fn len(&self) -> u64 {
        self.steps.len() as u64
    }

    /// Whether there is nothing to play.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// What an I/O waits for.
    pub const fn waits(&self) -> Waits {
        self.waits
    }

    /// What it holds, and what was left out.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// From the first I/O's time to the last one's as it is played by the clock; not known
    /// before where answers decide (0 then).
    pub const fn span(&self) -> Nanos {
        self.span
    }

    /// From the first I/O's time to the last one's in the trace.
    pub const fn trace_span(&self) -> Nanos {
        self.trace_span
    }

    /// The first byte after every I/O, by disk.
    pub fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// Tells schedules apart: another number means another load.
    pub const fn digest(&self) -> u64 {
        self.digest
    }

    /// Memory it takes.
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
