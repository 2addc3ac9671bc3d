//! Figures of I/O by direction and size class, from a run's counts or from single I/Os.

use run_store::slice::{Direction, SizeClass};
use stats::Histogram;
use units::{Nanos, Ratio};

/// Minimum number of I/Os that support a sentence: a percentile of fewer I/Os depends on single
/// ones. This is the usual size of a small sample; our choice for all views.
pub const ENOUGH: u64 = 30;
/// Default limit for 99th percentiles: Microsoft's requirement for Exchange's databases (on
/// average), and the default `max_latency` of Oracle's CALIBRATE_IO. Applying it to the 99th
/// percentile is our choice.
pub const USUAL_LIMIT: Nanos = Nanos::from_millis(20);
/// Source of [`USUAL_LIMIT`].
pub const USUAL_LIMIT_SOURCE: &str = "usual for databases (Exchange, Oracle CALIBRATE_IO)";
/// Upper ends of the rows of the latency matrix, nanoseconds: 24, evenly on a logarithmic scale
/// from 20 us to 10 s, rounded to two digits. Longer latencies have a separate row.
pub const ROWS_NS: [u64; 24] = {
    let mut rows = [
        20, 35, 62, 110, 200, 350, 610, 1100, 1900, 3300, 5800, 10_000, 18_000, 32_000, 56_000,
        99_000, 170_000, 310_000, 540_000, 960_000, 1_700_000, 3_000_000, 5_200_000, 10_000_000,
    ];
    let mut at = 0;
    while at < rows.len() {
        rows[at] *= 1000;
        at += 1;
    }
    rows
};
/// Number of slots of [`slot`].
pub const SLOTS: usize = 2 * SizeClass::COUNT + 1;

/// Returns the slot of a direction and class: reads by class, writes by class, and flushes, which
/// have no size.
pub fn slot(direction: Direction, class: SizeClass) -> usize {
    match direction {
        Direction::Read => class.index().into(),
        Direction::Write => SizeClass::COUNT + usize::from(class.index()),
        Direction::Flush => SLOTS - 1,
    }
}

/// Returns the ratio `part / whole`, 0 if the whole is 0.
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// I/Os of one direction and class, or all flushes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassShare<'a> {
    /// Number of I/Os.
    pub count: u64,
    /// Bytes of the I/Os.
    pub bytes: u64,
    /// Latencies; `None` if unknown.
    pub times: Option<&'a Histogram>,
}

impl ClassShare<'_> {
    /// Returns a percentile in nanoseconds; `share` is 0 to 1.
    pub fn percentile(&self, share: f64) -> Option<u64> {
        self.times?.percentile(Ratio::new(share)).map(|value| value.0)
    }

    /// Returns the sum of all latencies in nanoseconds, saturating.
    pub fn wait_ns(&self) -> u64 {
        self.times.map_or(0, |times| u64::try_from(times.sum_ns()).unwrap_or(u64::MAX))
    }

    /// Returns true if there are at least [`ENOUGH`] latencies and their 99th percentile is above a
    /// limit.
    pub fn is_over(&self, limit: Nanos) -> bool {
        self.times.is_some_and(|times| times.count() >= ENOUGH)
            && self.percentile(0.99).is_some_and(|p99| p99 > limit.0)
    }

    /// Counts I/Os by row of [`ROWS_NS`], and in a last row above. A row contains latencies above
    /// the previous row's end and up to its own end.
    pub fn rows(&self) -> [u64; ROWS_NS.len() + 1] {
        let mut counts = [0; ROWS_NS.len() + 1];
        for (value, count) in
            self.times.into_iter().flat_map(|times| times.compact().buckets().collect::<Vec<_>>())
        {
            counts[ROWS_NS.partition_point(|end| *end < value.0)] += u64::from(count);
        }
        counts
    }
}

/// Returns the position of the first part whose 99th percentile is above the limit.
pub fn first_over<'a>(
    parts: impl IntoIterator<Item = ClassShare<'a>>,
    limit: Nanos,
) -> Option<usize> {
    parts.into_iter().position(|part| part.is_over(limit))
}

/// Totals of reads, writes and flushes, from which shares are computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Whole {
    count: u64,
    bytes: u64,
    wait_ns: u64,
}

/// Shares of a part, 0 to 1, and its latencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// Share of all I/Os.
    pub share_of_count: f64,
    /// Share of all bytes.
    pub share_of_bytes: f64,
    /// Share of all waiting.
    pub share_of_wait: f64,
    /// Sum of all latencies, nanoseconds.
    pub wait_ns: u64,
    /// Median, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Longest latency, nanoseconds.
    pub max_ns: Option<u64>,
}

impl Whole {
    /// Returns the totals of these parts.
    pub fn of<'a>(parts: impl IntoIterator<Item = ClassShare<'a>>) -> Self {
        parts.into_iter().fold(Self::default(), |sum, part| Self {
            count: sum.count.saturating_add(part.count),
            bytes: sum.bytes.saturating_add(part.bytes),
            wait_ns: sum.wait_ns.saturating_add(part.wait_ns()),
        })
    }

    /// Returns true if any I/O has a latency.
    pub fn waits(&self) -> bool {
        self.wait_ns > 0
    }

    /// Calculates the figures of a part of this whole.
    pub fn figures(&self, part: ClassShare<'_>) -> Figures {
        Figures {
            share_of_count: ratio(part.count, self.count),
            share_of_bytes: ratio(part.bytes, self.bytes),
            share_of_wait: ratio(part.wait_ns(), self.wait_ns),
            wait_ns: part.wait_ns(),
            p50_ns: part.percentile(0.5),
            p95_ns: part.percentile(0.95),
            p99_ns: part.percentile(0.99),
            max_ns: part.times.and_then(Histogram::max).map(|max| max.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(each_ms: u64, count: u32) -> Histogram {
        let mut times = Histogram::new();
        times.record_n(Nanos::from_millis(each_ms), count);
        times
    }

    #[test]
    fn shares_of_reads_writes_and_flushes_add_up() {
        let (reads, flushes) = (times(1, 30), times(9, 10));
        let read = ClassShare { count: 30, bytes: 300, times: Some(&reads) };
        let flush = ClassShare { count: 10, bytes: 0, times: Some(&flushes) };
        let whole = Whole::of([read, flush]);
        let (read, flush) = (whole.figures(read), whole.figures(flush));
        assert!((read.share_of_count + flush.share_of_count - 1.0).abs() < 1e-12);
        assert!((read.share_of_wait - 0.25).abs() < 1e-12, "{read:?}");
        assert!((flush.share_of_wait - 0.75).abs() < 1e-12, "{flush:?}");
    }

    #[test]
    fn fewer_than_thirty_break_no_limit() {
        let (few, many) = (times(50, 29), times(50, 30));
        let part = |times| ClassShare { count: 100, bytes: 0, times: Some(times) };
        let found = first_over([part(&few), part(&many)], USUAL_LIMIT);
        assert_eq!(found, Some(1));
        assert_eq!(first_over([part(&few)], USUAL_LIMIT), None);
    }

    #[test]
    fn what_is_longer_than_every_row_is_in_the_last() {
        let (short, long) = (times(0, 3), times(20_000, 4));
        let part = |times| ClassShare { count: 0, bytes: 0, times: Some(times) };
        assert_eq!(part(&short).rows()[0], 3);
        assert_eq!(part(&long).rows()[ROWS_NS.len()], 4);
    }
}
