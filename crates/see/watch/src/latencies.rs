use stats::Compact;
use units::Nanos;
use untrusted::Malformed;

/// Bits that select the part within each power of two: eight parts.
const PARTS_BITS: u32 = 3;
/// Values below 2^10 ns share the first bucket, because no I/O of a VM is faster.
const LOWEST_BITS: u32 = 10;

/// Histogram of latencies with eight buckets for each doubling from 1 us to an hour, so a value is
/// accurate to 12.5 %. A run's histograms have 128 buckets for each doubling, but here there are
/// tens of millions of histograms in a year.
///
/// Merging histograms loses nothing: the result is the same as recording everything into one
/// histogram. A percentile is the upper edge of its bucket, so it is never too short.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Latencies {
    /// First used bucket, then the count of each following bucket in LEB128; a run of empty buckets
    /// is a 0 and their number. A period in memory has tens of thousands of histograms, and this
    /// encoding takes a fifth of the space of pairs of bucket and count.
    bytes: Box<[u8]>,
}

#[inline]
pub(crate) fn bucket_of(latency: Nanos) -> u8 {
    let value = latency.0.max(1 << LOWEST_BITS);
    let octave = 63 - value.leading_zeros();
    let part = (value >> (octave - PARTS_BITS)) & ((1 << PARTS_BITS) - 1);
    let index = (u64::from(octave - LOWEST_BITS) << PARTS_BITS) + part;
    u8::try_from(index).unwrap_or(u8::MAX)
}

/// Returns the largest latency of a bucket.
fn highest(bucket: u8) -> Nanos {
    let octave = u32::from(bucket >> PARTS_BITS) + LOWEST_BITS;
    let part = u64::from(bucket) & ((1 << PARTS_BITS) - 1);
    Nanos((((1 << PARTS_BITS) + part + 1) << (octave - PARTS_BITS)) - 1)
}

/// Returns the exclusive lower edge of the latency's bucket, which is the largest latency of the
/// bucket below.
pub(crate) fn lower_edge(latency: Nanos) -> Nanos {
    lowest(bucket_of(latency))
}

/// Returns the exclusive lower edge of a bucket.
fn lowest(bucket: u8) -> Nanos {
    bucket.checked_sub(1).map_or(Nanos::ZERO, highest)
}

impl Latencies {
    /// Makes a histogram of counts by bucket.
    pub(crate) fn of_counts(counts: &[u32; 256]) -> Self {
        Self::of((0..=u8::MAX).zip(counts.iter().copied()))
    }

    /// Makes a histogram of ascending buckets and their counts.
    fn of(counts: impl Iterator<Item = (u8, u32)>) -> Self {
        // A store has tens of millions of histograms, of which few take more.
        let mut bytes = Vec::with_capacity(128);
        let mut next = None;
        for (bucket, count) in counts.filter(|(_, count)| *count > 0) {
            match next {
                None => bytes.push(bucket),
                Some(next) if bucket > next => bytes.extend([0, bucket - next]),
                Some(_) => {}
            }
            let mut rest = count;
            while rest >= 0x80 {
                bytes.push(u8::try_from(rest & 0x7f).unwrap_or(0) | 0x80);
                rest >>= 7;
            }
            bytes.push(u8::try_from(rest).unwrap_or(0));
            next = Some(bucket.saturating_add(1));
        }
        Self { bytes: bytes.into() }
    }

    fn counts(&self) -> [u32; 256] {
        let mut counts = [0; 256];
        self.used().for_each(|(bucket, count)| counts[usize::from(bucket)] = count);
        counts
    }

    /// Returns the used buckets with their counts, ascending; no count is 0.
    fn used(&self) -> Used<'_> {
        match self.bytes.split_first() {
            Some((first, rest)) => Used { bucket: (*first).into(), rest },
            None => Used { bucket: 0, rest: &[] },
        }
    }

    /// Adds all I/Os of another histogram.
    pub fn merge(&mut self, other: &Self) {
        let mut counts = self.counts();
        for (bucket, count) in other.used() {
            let own = &mut counts[usize::from(bucket)];
            *own = own.saturating_add(count);
        }
        *self = Self::of_counts(&counts);
    }

    /// Returns the number of I/Os.
    pub fn count(&self) -> u64 {
        self.used().map(|(_, count)| u64::from(count)).sum()
    }

    /// Returns the largest latencies of the used buckets with their counts, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u32)> + '_ {
        self.used().map(|(bucket, count)| (highest(bucket), count))
    }

    /// Converts the histogram to the form of stored runs, with the sum of its latencies.
    pub fn compact(&self, sum_ns: u64) -> Compact {
        let mut compact: Compact = self.buckets().collect();
        compact.sum_ns = sum_ns.into();
        compact
    }

    /// Counts the I/Os that certainly took at least as long as a limit: those whose whole pair of
    /// buckets is above the limit. A stored segment has only pairs of buckets.
    pub fn surely_over(&self, limit: Nanos) -> u64 {
        let slow = self.used().filter(|(bucket, _)| lowest(*bucket & !1) >= limit);
        slow.map(|(_, count)| u64::from(count)).sum()
    }

    /// Returns the exact bytes, from which [`Latencies::decode`] restores the histogram.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Restores a histogram from bytes.
    ///
    /// # Errors
    /// The bytes are not a histogram.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut counts = [0; 256];
        let Some((first, mut rest)) = bytes.split_first() else { return Ok(Self::default()) };
        let mut bucket = u32::from(*first);
        while !rest.is_empty() {
            let (count, gap, after) = next_count(rest)?;
            bucket += gap;
            let own = usize::try_from(bucket).ok().and_then(|bucket| counts.get_mut(bucket));
            *own.ok_or("a histogram has more than 256 buckets")? = count;
            rest = after;
            bucket += 1;
        }
        Ok(Self::of_counts(&counts))
    }

    /// Appends the rounded form that a segment stores: four buckets for each doubling, and counts
    /// of two significant bits (1, 2, 3, 4, 6, 8, 12, 16 ...). Exact counts would be four fifths of
    /// a store, and most of their digits would only show random variation: a count of 100 varies by
    /// 10.
    pub(crate) fn append_rounded(&self, into: &mut Vec<u8>) {
        let counts = self.counts();
        let pairs = counts.chunks(2).map(|pair| pair[0].saturating_add(pair[1]));
        let codes: Vec<u8> = pairs.map(code_of).collect();
        let Some(first) = codes.iter().position(|code| *code > 0) else { return };
        let last = codes.iter().rposition(|code| *code > 0).unwrap_or(first);
        into.push(u8::try_from(first).expect("128 pairs"));
        into.extend(&codes[first..=last]);
    }

    /// Returns the histogram with the shortest latencies that could have been rounded to this one
    /// by [`Latencies::of_rounded`].
    pub(crate) fn lowered(&self) -> Self {
        let mut counts = self.counts();
        for pair in counts.chunks_mut(2) {
            (pair[0], pair[1]) = (pair[0].saturating_add(pair[1]), 0);
        }
        Self::of_counts(&counts)
    }

    /// Restores a histogram of `count` I/Os from the bytes of [`Latencies::append_rounded`]. I/Os
    /// are put in the upper bucket of their pair, so that no percentile is too short.
    ///
    /// # Errors
    /// The bytes are not a histogram.
    pub(crate) fn of_rounded(bytes: &[u8], count: u64) -> Result<Self, Malformed> {
        let mut counts = [0; 128];
        let Some((first, codes)) = bytes.split_first() else { return Ok(Self::default()) };
        let first = usize::from(*first);
        let own = counts.get_mut(first..first + codes.len());
        let own = own.ok_or("a histogram has more than 128 pairs of buckets")?;
        for (own, code) in own.iter_mut().zip(codes) {
            *own = count_of(*code).ok_or("a count of a histogram is over 2^32")?;
        }
        scale(own, count);
        let upper = (1..=u8::MAX).step_by(2).skip(first);
        Ok(Self::of(upper.zip(own.iter().copied())))
    }
}

/// Makes a histogram of latencies, each with a number of I/Os.
impl FromIterator<(Nanos, u32)> for Latencies {
    fn from_iter<I: IntoIterator<Item = (Nanos, u32)>>(latencies: I) -> Self {
        let mut counts = [0_u32; 256];
        for (latency, count) in latencies {
            let own = &mut counts[usize::from(bucket_of(latency))];
            *own = own.saturating_add(count);
        }
        Self::of_counts(&counts)
    }
}

/// Encodes a count, rounded to two significant bits.
fn code_of(count: u32) -> u8 {
    let Some(octave) = count.checked_ilog2() else { return 0 };
    // In halves of the leading bit, to the nearest: 2 is the power of two itself, 4 the next one.
    let halves = (u64::from(count) * 4 + (1 << octave)) >> (octave + 1);
    u8::try_from(u64::from(octave) * 2 + halves).unwrap_or(u8::MAX) - 1
}

/// Decodes a count; `None` if the code is too large.
fn count_of(code: u8) -> Option<u32> {
    let Some(place) = code.checked_sub(1) else { return Some(0) };
    // The last one is 2^32, to which counts just below are rounded.
    let value = (place <= 64).then(|| ((2 + u64::from(place % 2)) << (place / 2)) >> 1);
    value.map(|value| u32::try_from(value).unwrap_or(u32::MAX))
}

/// Largest count that rounding never changes.
const EXACT_MAX: u32 = 4;

/// Scales rounded counts so that their sum is `sum` again. Small counts stay exact, because a
/// single slow I/O must not vanish.
fn scale(counts: &mut [u32], sum: u64) {
    let exact = counts.iter().filter(|own| **own <= EXACT_MAX).map(|own| u64::from(*own));
    let left = sum.saturating_sub(exact.sum());
    let rounded = counts.iter().filter(|own| **own > EXACT_MAX).map(|own| u64::from(*own));
    let all = rounded.sum::<u64>().max(1);
    let (mut before, mut given) = (0_u64, 0);
    for own in counts.iter_mut().filter(|own| **own > EXACT_MAX) {
        before += u64::from(*own);
        let until = u128::from(before) * u128::from(left) / u128::from(all);
        let until = u64::try_from(until).unwrap_or(u64::MAX);
        *own = u32::try_from(until.saturating_sub(given)).unwrap_or(u32::MAX).max(1);
        given = until;
    }
}

/// Iterator over the used buckets in a histogram's bytes.
struct Used<'a> {
    bucket: u32,
    rest: &'a [u8],
}

impl Iterator for Used<'_> {
    type Item = (u8, u32);

    fn next(&mut self) -> Option<(u8, u32)> {
        // The bytes are our own, so they end before anything is malformed.
        let (count, gap, rest) = next_count(self.rest).ok()?;
        let bucket = u8::try_from(self.bucket + gap).ok()?;
        *self = Self { bucket: u32::from(bucket) + 1, rest };
        Some((bucket, count))
    }
}

/// Reads the next count. Also returns the number of empty buckets before it, and the remaining
/// bytes.
fn next_count(bytes: &[u8]) -> Result<(u32, u32, &[u8]), Malformed> {
    let (count, after) = leb128(bytes)?;
    if count > 0 {
        return Ok((count, 0, after));
    }
    let (gap, after) = after.split_first().ok_or("a histogram ends in a gap")?;
    let (count, after) = leb128(after)?;
    if count == 0 {
        return Err("a histogram has two gaps in turn".into());
    }
    Ok((count, (*gap).into(), after))
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

    #[test]
    fn counts_are_rounded_to_two_significant_bits() {
        let rounded = |count| count_of(code_of(count)).expect("a code");
        let counts: Vec<u32> = (0..=20).map(rounded).collect();
        let expected = [0, 1, 2, 3, 4, 6, 6, 8, 8, 8, 12, 12, 12, 12, 16, 16, 16, 16, 16, 16, 24];
        assert_eq!(counts, expected);
        assert_eq!(rounded(u32::MAX), u32::MAX);
        for code in 3..=u8::MAX {
            if let Some(count) = count_of(code) {
                assert_eq!(code_of(count), code, "{count}");
            }
        }
    }

    #[test]
    fn only_ios_that_were_surely_slower_are_over_a_limit() {
        let ms = Nanos::from_millis;
        let all: Latencies = [(ms(17), 1), (ms(20), 2), (ms(22), 4)].into_iter().collect();
        let mut bytes = Vec::new();
        all.append_rounded(&mut bytes);
        let stored = Latencies::of_rounded(&bytes, 7).expect("decodes");
        for own in [&all, &stored] {
            assert_eq!((own.surely_over(ms(20)), own.surely_over(ms(16))), (4, 7));
            assert_eq!((own.surely_over(ms(18)), own.surely_over(ms(26))), (4, 0), "one pair");
        }
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
            let latencies: Latencies =
                values.iter().map(|(value, count)| (Nanos(*value), *count)).collect();
            prop_assert_eq!(Latencies::decode(latencies.bytes()).expect("decodes"), latencies);
        }

        #[test]
        fn rounded_histogram_keeps_counts_and_nearly_the_percentiles(
            values in proptest::collection::vec((2_000_u64..5_000_000_000, 1_u32..100_000), 1..40),
            share in 0.01_f64..1.0,
        ) {
            let latencies: Latencies =
                values.iter().map(|(value, count)| (Nanos(*value), *count)).collect();
            let mut bytes = Vec::new();
            latencies.append_rounded(&mut bytes);
            let rounded = Latencies::of_rounded(&bytes, latencies.count()).expect("decodes");
            prop_assert_eq!(rounded.count(), latencies.count());
            // Each count is known to a fifth, so the share of I/Os up to a latency is, too; latencies
            // are known to a quarter.
            let edge = |own: &Latencies, share: f64| {
                let mut left = share * own.count() as f64;
                own.buckets()
                    .find(|(_, count)| {
                        left -= f64::from(*count);
                        left <= 1e-6
                    })
                    .map_or(highest(u8::MAX).0, |(edge, _)| edge.0)
            };
            let found = edge(&rounded, share);
            let odds = share / (1.0 - share).max(1e-9);
            let of = |odds: f64| odds / (1.0 + odds);
            let (low, high) = (edge(&latencies, of(odds / 2.0)), edge(&latencies, of(odds * 2.0)));
            prop_assert!(found >= low, "{found} {low}");
            prop_assert!(found as f64 <= high as f64 * 1.25, "{found} {high}");
        }

        #[test]
        fn merged_histogram_equals_one_of_all(
            left in proptest::collection::vec(0_u64..10_000_000_000, 0..60),
            right in proptest::collection::vec(0_u64..10_000_000_000, 0..60),
        ) {
            let of = |values: &[u64]| -> Latencies {
                values.iter().map(|value| (Nanos(*value), 1)).collect()
            };
            let mut merged = of(&left);
            merged.merge(&of(&right));
            prop_assert_eq!(&merged, &of(&[left, right].concat()));
            prop_assert_eq!(merged.compact(0).count(), merged.count());
        }

        #[test]
        fn foreign_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Latencies::decode(&bytes);
            let _ = Latencies::of_rounded(&bytes, 1000);
        }
    }
}
