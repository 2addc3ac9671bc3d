use hdrhistogram::Histogram as Hdr;
use units::Nanos;

/// Largest relative error of a recorded value: two significant decimal digits, which the
/// HDR layout keeps as 128 sub-buckets per power of two (1/128 = 0.8 %).
pub const RELATIVE_PRECISION: f64 = 1.0 / 128.0;

/// Longest latency that is kept apart; longer ones are recorded as this and counted.
const LONGEST: Nanos = Nanos::from_secs(3600);

/// A mergeable latency histogram (HDR layout, two significant digits, 1 ns to 1 h).
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    inner: Hdr<u32>,
    saturated: u64,
    sum_ns: u128,
}

/// Why stored bytes are not a histogram.
#[derive(Debug, thiserror::Error)]
#[error("these {length} bytes are not a histogram: {reason}")]
pub struct HistogramError {
    /// How many bytes there were.
    pub length: usize,
    /// What is wrong with them.
    pub reason: String,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        let inner = Hdr::new_with_bounds(1, LONGEST.0, 2).expect("constant bounds are valid");
        Self { inner, saturated: 0, sum_ns: 0 }
    }

    /// Records one latency.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.record_n(latency, 1);
    }

    /// Records the same latency several times.
    #[inline]
    pub fn record_n(&mut self, latency: Nanos, count: u32) {
        if latency > LONGEST {
            self.saturated += u64::from(count);
        }
        self.sum_ns += u128::from(latency.0) * u128::from(count);
        self.inner.saturating_record_n(latency.0.min(LONGEST.0), count);
    }

    /// Adds everything the other histogram holds.
    pub fn merge(&mut self, other: &Self) {
        self.saturated += other.saturated;
        self.sum_ns += other.sum_ns;
        self.inner.add(&other.inner).expect("all histograms share their bounds");
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.inner.reset();
        self.saturated = 0;
        self.sum_ns = 0;
    }

    /// The same histogram at rest: only the buckets that hold something.
    pub fn compact(&self) -> Compact {
        Compact {
            buckets: self
                .inner
                .iter_recorded()
                .map(|bucket| (Nanos(bucket.value_iterated_to()), bucket.count_at_value()))
                .collect(),
            saturated: self.saturated,
            sum_ns: self.sum_ns,
        }
    }

    /// Adds everything a histogram at rest holds.
    pub fn merge_compact(&mut self, other: &Compact) {
        for (value, count) in &other.buckets {
            self.inner.saturating_record_n(value.0, *count);
        }
        self.saturated += other.saturated;
        self.sum_ns += other.sum_ns;
    }

    /// How many latencies were recorded.
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// How many latencies were longer than one hour.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }
}

/// A histogram at rest: a few bytes per bucket that holds something, for slices, messages
/// and files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compact {
    /// Bucket value (its highest equivalent, in nanoseconds) and count, ascending.
    pub buckets: Vec<(Nanos, u32)>,
    /// How many latencies were longer than one hour.
    pub saturated: u64,
    /// Sum of all latencies, exact.
    pub sum_ns: u128,
}

impl Compact {
    /// How many latencies it holds.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// The histogram it came from.
    pub fn expand(&self) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.merge_compact(self);
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_compact_histogram_expands_to_the_one_it_came_from(
            values in proptest::collection::vec(0_u64..4_000_000_000_000, 0..200)
        ) {
            let mut histogram = Histogram::new();
            for value in &values {
                histogram.record(Nanos(*value));
            }
            let back = histogram.compact().expand();
            prop_assert_eq!(back.compact(), histogram.compact());
            prop_assert_eq!(back.count(), values.len() as u64);
        }
    }
}
