use stats::Compact;
use units::Nanos;
use untrusted::Malformed;

/// Equal parts of each power of two.
const PARTS_BITS: u32 = 3;
/// Values below 2^10 ns share the first bucket: no I/O of a VM is faster.
const LOWEST_BITS: u32 = 10;

/// Histogram of latencies: eight buckets for each doubling from 1 us to an hour, so a value is
/// known to 12.5 %. A run has 128 buckets for each doubling; here there are tens of millions of
/// histograms in a year.
///
/// Merging and then asking is the same as recording everything into one. A percentile is the upper
/// edge of its bucket: never too short.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Latencies {
    /// Bucket and count, ascending; no count is 0.
    buckets: Vec<(u8, u32)>,
}

/// Bucket of a latency.
#[inline]
pub(crate) fn bucket_of(latency: Nanos) -> u8 {
    let value = latency.0.max(1 << LOWEST_BITS);
    let octave = 63 - value.leading_zeros();
    let part = (value >> (octave - PARTS_BITS)) & ((1 << PARTS_BITS) - 1);
    let index = (u64::from(octave - LOWEST_BITS) << PARTS_BITS) + part;
    u8::try_from(index).unwrap_or(u8::MAX)
}

/// Largest latency of a bucket.
fn highest(bucket: u8) -> Nanos {
    let octave = u32::from(bucket >> PARTS_BITS) + LOWEST_BITS;
    let part = u64::from(bucket) & ((1 << PARTS_BITS) - 1);
    Nanos((((1 << PARTS_BITS) + part + 1) << (octave - PARTS_BITS)) - 1)
}

/// Largest latency of the bucket below that of a latency: what a bucket holds is longer than this.
pub(crate) fn lower_edge(latency: Nanos) -> Nanos {
    bucket_of(latency).checked_sub(1).map_or(Nanos::ZERO, highest)
}

impl Latencies {
    /// Histogram of counts by bucket.
    pub(crate) fn of_counts(counts: &[u32; 256]) -> Self {
        let used = (0..=u8::MAX).zip(counts).filter(|(_, count)| **count > 0);
        Self { buckets: used.map(|(bucket, count)| (bucket, *count)).collect() }
    }

    /// Adds I/Os of a latency.
    pub fn record(&mut self, latency: Nanos, count: u32) {
        self.add(bucket_of(latency), count);
    }

    fn add(&mut self, bucket: u8, count: u32) {
        if count == 0 {
            return;
        }
        match self.buckets.binary_search_by_key(&bucket, |(own, _)| *own) {
            Ok(at) => self.buckets[at].1 = self.buckets[at].1.saturating_add(count),
            Err(at) => self.buckets.insert(at, (bucket, count)),
        }
    }

    /// Adds all I/Os of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, count) in &other.buckets {
            self.add(*bucket, *count);
        }
    }

    /// Number of I/Os.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// Largest latencies of the used buckets with their counts, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u32)> + '_ {
        self.buckets.iter().map(|(bucket, count)| (highest(*bucket), *count))
    }

    /// Histogram in the form of stored runs, with the sum of its latencies.
    pub fn compact(&self, sum_ns: u64) -> Compact {
        let mut compact: Compact = self.buckets().collect();
        compact.sum_ns = sum_ns.into();
        compact
    }

    /// Bytes: the first bucket, then the count of each following one in LEB128. Empty buckets are a
    /// 0 and their number.
    pub(crate) fn encode(&self, into: &mut Vec<u8>) {
        let Some((first, _)) = self.buckets.first() else { return };
        into.push(*first);
        let mut next = *first;
        for (bucket, count) in &self.buckets {
            if *bucket > next {
                into.extend([0, *bucket - next]);
            }
            let mut rest = *count;
            while rest >= 0x80 {
                into.push(u8::try_from(rest & 0x7f).unwrap_or(0) | 0x80);
                rest >>= 7;
            }
            into.push(u8::try_from(rest).unwrap_or(0));
            next = bucket.saturating_add(1);
        }
    }

    /// Histogram of these bytes.
    ///
    /// # Errors
    /// The bytes are of no histogram.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut buckets = Vec::new();
        let Some((first, mut rest)) = bytes.split_first() else { return Ok(Self { buckets }) };
        let mut bucket = u32::from(*first);
        while !rest.is_empty() {
            let (count, after) = leb128(rest)?;
            if count == 0 {
                let (gap, after) = after.split_first().ok_or("a histogram ends in a gap")?;
                bucket += u32::from(*gap);
                let (count, after) = leb128(after)?;
                rest = after;
                buckets.push((index(bucket)?, not_empty(count)?));
            } else {
                rest = after;
                buckets.push((index(bucket)?, count));
            }
            bucket += 1;
        }
        Ok(Self { buckets })
    }
}

fn index(bucket: u32) -> Result<u8, Malformed> {
    u8::try_from(bucket).map_err(|_| "a histogram has more than 256 buckets".into())
}

fn not_empty(count: u32) -> Result<u32, Malformed> {
    if count == 0 { Err("a histogram has two gaps in turn".into()) } else { Ok(count) }
}

fn leb128(bytes: &[u8]) -> Result<(u32, &[u8]), Malformed> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            let value = u32::try_from(value).map_err(|_| "a count is over 2^32")?;
            return Ok((value, &bytes[at + 1..]));
        }
    }
    Err("a count of a histogram has no end".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_follow_each_other_without_gap() {
        for bucket in 1..=u8::MAX {
            let low = highest(bucket - 1).0 + 1;
            assert_eq!(bucket_of(Nanos(low)), bucket);
            assert_eq!(bucket_of(highest(bucket)), bucket);
        }
        assert_eq!(bucket_of(Nanos::ZERO), 0);
        assert_eq!(bucket_of(Nanos::MAX), u8::MAX);
        assert!(highest(u8::MAX) > Nanos::from_secs(3600));
    }

    proptest! {
        #[test]
        fn upper_edge_is_at_most_an_eighth_too_long(value in 1024_u64..3_600_000_000_000) {
            let edge = highest(bucket_of(Nanos(value))).0;
            prop_assert!(edge >= value && edge - value <= value / 8);
            let low = lower_edge(Nanos(value)).0;
            prop_assert!(low < value && lower_edge(Nanos(edge)).0 == low);
        }

        #[test]
        fn histogram_is_the_same_after_its_bytes(
            values in proptest::collection::vec((0_u64..5_000_000_000_000, 1_u32..=u32::MAX), 0..40)
        ) {
            let mut latencies = Latencies::default();
            values.iter().for_each(|(value, count)| latencies.record(Nanos(*value), *count));
            let mut bytes = Vec::new();
            latencies.encode(&mut bytes);
            prop_assert_eq!(Latencies::decode(&bytes).expect("decodes"), latencies);
        }

        #[test]
        fn merged_histogram_equals_one_of_all(
            left in proptest::collection::vec(0_u64..10_000_000_000, 0..60),
            right in proptest::collection::vec(0_u64..10_000_000_000, 0..60),
        ) {
            let of = |values: &[u64]| {
                let mut latencies = Latencies::default();
                values.iter().for_each(|value| latencies.record(Nanos(*value), 1));
                latencies
            };
            let mut merged = of(&left);
            merged.merge(&of(&right));
            prop_assert_eq!(&merged, &of(&[left, right].concat()));
            prop_assert_eq!(merged.compact(0).count(), merged.count());
        }

        #[test]
        fn foreign_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Latencies::decode(&bytes);
        }
    }
}
