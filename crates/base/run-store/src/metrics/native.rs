use units::Nanos;

use crate::metrics::TimeBuckets;

/// Resolution of native histograms: `2^SCHEMA` buckets for each doubling, each 1.1 % wide. Wider
/// buckets would make percentiles larger, but would not reduce the number of buckets in use.
pub(super) const SCHEMA: i32 = 6;

/// Buckets of a native histogram, as spans of consecutive buckets and counts.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct NativeBuckets {
    /// Spans: number of empty buckets before each span (for the first span, the index of its first
    /// bucket), and number of buckets in the span.
    pub spans: Vec<(i32, u32)>,
    /// Count of each bucket, as its difference from the bucket before.
    pub deltas: Vec<i64>,
}

impl NativeBuckets {
    pub fn new(times: &TimeBuckets) -> Self {
        let mut native = Self::default();
        let mut counts: Vec<(i32, u64)> = Vec::with_capacity(times.buckets.len());
        for (longest, count) in times.buckets.iter().filter(|(_, count)| *count > 0) {
            let index = index_above(*longest);
            match counts.last_mut() {
                Some((last, sum)) if *last == index => *sum = sum.saturating_add(*count),
                _ => counts.push((index, *count)),
            }
        }
        let (mut next, mut before) = (0, 0);
        for (index, count) in counts {
            match native.spans.last_mut() {
                Some((_, length)) if index == next => *length += 1,
                _ => native.spans.push((index - next, 1)),
            }
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            native.deltas.push(count - before);
            (next, before) = (index + 1, count);
        }
        native
    }
}

/// Returns the index of the lowest native bucket in which every value is at least `longest`.
///
/// Bucket `i` holds values above `2^((i-1)/64)` s up to `2^(i/64)` s, and Prometheus may return any
/// value in it as a percentile. So each of our buckets is put into a native bucket that begins
/// where ours ends. A percentile is then never too small, and at most two native buckets (2.2 %)
/// above our bucket's largest time.
fn index_above(longest: Nanos) -> i32 {
    // Buckets of ours end below the next nanosecond.
    #[expect(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
    let seconds = (longest.0.max(1) as f64 + 1.0) / 1e9;
    #[expect(clippy::cast_possible_truncation, reason = "2^64 ns are 2^34 s: an index of 2,200")]
    let index = (seconds.log2() * f64::from(1 << SCHEMA)).ceil() as i32;
    index + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the lower and upper bound of a native bucket, in seconds.
    fn bounds(index: i32) -> (f64, f64) {
        let bound = |index: i32| (f64::from(index) / 64.0).exp2();
        (bound(index - 1), bound(index))
    }

    #[test]
    fn spans_and_deltas_tell_every_count() {
        let us = |us: u64| Nanos(us * 1000 - 1);
        let buckets = vec![(us(1024), 5), (us(2048), 0), (us(2080), 7), (us(2100), 9)];
        let native = NativeBuckets::new(&TimeBuckets { sum_ns: 0, buckets });
        // 2080 us and 2100 us are in neighbouring native buckets.
        let first = index_above(us(1024));
        let gap = index_above(us(2080)) - first - 1;
        assert_eq!(native.spans, [(first, 1), (gap, 2)]);
        assert_eq!(native.deltas, [5, 2, 2]);
    }

    proptest! {
        #[test]
        fn native_bucket_is_never_below_the_time(longest in 1_u64..4_000_000_000_000) {
            let (low, high) = bounds(index_above(Nanos(longest)));
            let seconds = longest as f64 / 1e9;
            prop_assert!(low >= seconds, "{low} {seconds}");
            let next = (longest + 1) as f64 / 1e9;
            prop_assert!(high <= next * 1.0220, "{high} {next}");
        }
    }
}
