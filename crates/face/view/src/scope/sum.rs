use analyze::ClassShare;
use run_store::rollup::{ActionRow, CallRow, IoRow};
use stats::{Compact, Histogram};
use units::Nanos;

/// I/Os, actions or calls that completed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended<'a> {
    /// Durations; for actions, since their intended start.
    pub service: &'a Compact,
    pub bytes: u64,
    pub errors: u64,
}

impl<'a> From<&'a IoRow> for Ended<'a> {
    fn from(row: &'a IoRow) -> Self {
        Self { service: &row.service, bytes: row.bytes, errors: row.errors }
    }
}

impl<'a> From<&'a ActionRow> for Ended<'a> {
    fn from(row: &'a ActionRow) -> Self {
        Self { service: &row.response, bytes: 0, errors: row.errors }
    }
}

impl<'a> From<&'a CallRow> for Ended<'a> {
    fn from(row: &'a CallRow) -> Self {
        Self { service: &row.service, bytes: row.bytes, errors: row.errors }
    }
}

/// Sum of I/Os.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sum {
    pub histogram: Histogram,
    pub bytes: u64,
    pub errors: u64,
}

impl Sum {
    pub fn add<'a>(&mut self, row: impl Into<Ended<'a>>) {
        let row = row.into();
        self.histogram.merge_compact(row.service);
        self.bytes = self.bytes.saturating_add(row.bytes);
        self.errors += row.errors;
    }

    pub fn merge(&mut self, other: &Self) {
        self.histogram.merge(&other.histogram);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.errors += other.errors;
    }

    pub fn clear(&mut self) {
        self.histogram.clear();
        (self.bytes, self.errors) = (0, 0);
    }

    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// Returns the sum of all service times, nanoseconds, at most 2^64 - 1.
    pub fn wait_ns(&self) -> u64 {
        self.part().wait_ns()
    }

    /// Returns the service times, if there are any. I/Os of a source without latencies have 0, but
    /// no real I/O takes zero time.
    pub fn times(&self) -> Option<&Histogram> {
        (self.histogram.sum_ns() > 0).then_some(&self.histogram)
    }

    /// Returns the buckets of the service times; empty without times.
    pub fn buckets(&self) -> Vec<(Nanos, u32)> {
        self.times().map_or_else(Vec::new, |times| times.compact().buckets().collect())
    }

    /// Returns a percentile of the service times, in nanoseconds.
    pub fn percentile(&self, share: f64) -> Option<u64> {
        self.part().percentile(share)
    }

    pub fn max(&self) -> Option<u64> {
        self.times()?.max().map(|value| value.0)
    }

    /// Returns the sum as input of `analyze`.
    pub fn part(&self) -> ClassShare<'_> {
        ClassShare { count: self.count(), bytes: self.bytes, times: self.times() }
    }
}
