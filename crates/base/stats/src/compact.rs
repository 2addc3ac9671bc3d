use std::borrow::Cow;

use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::{Nanos, Ratio};

// Circle: this is the stored form of the histogram, and each of the two forms is made from the
// other.
use crate::histogram::Histogram;
use crate::layout::{BUCKETS, highest, index_of};
use crate::nearest::nearest_rank;

/// Number of bits of an entry that hold the count. The other bits hold the bucket; there are fewer
/// than 2^13 buckets.
const SHIFT: u32 = 19;
const _: () = assert!(BUCKETS <= 1 << (32 - SHIFT));

/// Maximum count of one entry: 524,287.
const FULL: u32 = (1 << SHIFT) - 1;

/// Stored form of a histogram, for slices, messages and files: four bytes for each non-empty
/// bucket. A step of many hosts keeps millions of histograms, so the bytes per bucket determine its
/// memory and most of its time.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Compact {
    /// Entries of bucket and count, in ascending order of buckets. A count above [`FULL`] takes
    /// several entries of the same bucket; all but the last are full.
    entries: Box<[u32]>,
    /// Sum of the counts. It is cached because it is read more often than any other value.
    count: u64,
    /// Number of latencies longer than one hour.
    pub saturated: u64,
    /// Sum of all latencies, exact.
    pub sum_ns: u128,
}

/// Splits an entry into bucket and count.
#[inline]
const fn parts(entry: u32) -> (usize, u32) {
    ((entry >> SHIFT) as usize, entry & FULL)
}

impl Compact {
    /// Returns the number of latencies.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns true if there are no latencies.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Iterates over the non-empty buckets in ascending order. Each item is the highest value of
    /// the bucket, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u32)> + '_ {
        let same = |one: &u32, next: &u32| parts(*one).0 == parts(*next).0;
        self.entries.chunk_by(same).map(|entries| {
            (highest(parts(entries[0]).0), entries.iter().map(|entry| parts(*entry).1).sum())
        })
    }

    /// Iterates over the indices of non-empty buckets and their counts, in ascending order. A
    /// bucket with a count above [`FULL`] comes several times.
    pub(crate) fn positions(&self) -> impl DoubleEndedIterator<Item = (usize, u32)> + '_ {
        self.entries.iter().map(|entry| parts(*entry))
    }

    /// Returns the number of entries, and the lowest and the highest bucket in use.
    pub(crate) fn extent(&self) -> (usize, Option<(usize, usize)>) {
        let ends = self.entries.first().zip(self.entries.last());
        (self.entries.len(), ends.map(|(first, last)| (parts(*first).0, parts(*last).0)))
    }

    /// Returns the longest latency, rounded up to its bucket; `None` if empty.
    pub fn max(&self) -> Option<Nanos> {
        self.positions().next_back().map(|(index, _)| highest(index))
    }

    /// Returns the sum of all latencies; it saturates at 2^64 - 1 ns.
    pub fn sum(&self) -> Nanos {
        Nanos(u64::try_from(self.sum_ns).unwrap_or(u64::MAX))
    }

    /// Returns the mean latency in nanoseconds; `None` if empty.
    #[expect(clippy::cast_precision_loss, reason = "a mean is read to a few digits")]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// Returns a percentile, like [`Histogram::percentile`].
    pub fn percentile(&self, share: Ratio) -> Option<Nanos> {
        let rank = nearest_rank(self.count, share)?;
        let mut seen = 0;
        let found = self.positions().find(|(_, count)| {
            seen += u64::from(*count);
            seen >= rank
        });
        found.map(|(index, _)| highest(index))
    }

    /// Adds all latencies of another histogram, as if all had been recorded in one.
    pub fn merge(&mut self, other: &Self) {
        self.saturated += other.saturated;
        self.sum_ns += other.sum_ns;
        if self.entries.is_empty() {
            (self.entries, self.count) = (other.entries.clone(), other.count);
            return;
        }
        let (mut missing, mut at) = (Vec::new(), 0);
        for (done, entry) in other.entries.iter().enumerate() {
            let bucket = entry >> SHIFT;
            while self.entries.get(at).is_some_and(|own| own >> SHIFT < bucket) {
                at += 1;
            }
            match self.entries.get_mut(at).filter(|own| **own >> SHIFT == bucket) {
                Some(own) if (*own & FULL) + (entry & FULL) <= FULL => *own += entry & FULL,
                Some(_) => {
                    self.insert(&missing);
                    (self.entries, self.count) = self.with(&other.entries[done..]).finish();
                    return;
                }
                None => missing.push(*entry),
            }
        }
        self.insert(&missing);
        self.count += other.count;
    }

    /// Inserts entries for buckets that are missing. It works from the back, so that entries are
    /// moved in place. Usually no bucket is missing, and no memory is allocated.
    fn insert(&mut self, missing: &[u32]) {
        if missing.is_empty() {
            return;
        }
        let mut entries = std::mem::take(&mut self.entries).into_vec();
        let mut from = entries.len();
        entries.reserve_exact(missing.len());
        entries.resize(from + missing.len(), 0);
        let mut to = entries.len();
        for entry in missing.iter().rev() {
            while from > 0 && entries[from - 1] > *entry {
                (from, to) = (from - 1, to - 1);
                entries[to] = entries[from];
            }
            to -= 1;
            entries[to] = *entry;
        }
        self.entries = entries.into_boxed_slice();
    }

    /// Converts the stored form to a [`Histogram`].
    pub fn expand(&self) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.merge_compact(self);
        histogram
    }

    /// Merges the entries with `more`, also sorted.
    fn with(&self, more: &[u32]) -> Entries {
        let mut sum = Entries::with_capacity(self.entries.len() + more.len());
        let theirs = more.iter().map(|entry| parts(*entry));
        let (mut mine, mut theirs) = (self.positions().peekable(), theirs.peekable());
        loop {
            let is_mine = match (mine.peek(), theirs.peek()) {
                (Some((a, _)), Some((b, _))) => a <= b,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => return sum,
            };
            let next = if is_mine { mine.next() } else { theirs.next() };
            if let Some((index, count)) = next {
                sum.add(index, count);
            }
        }
    }
}

impl Compact {
    /// Returns the histogram if its sums are consistent with its count. Sums over many messages
    /// then cannot overflow.
    fn checked(self) -> Result<Self, &'static str> {
        let sum_max = u128::from(self.count) * u128::from(u64::MAX);
        if self.saturated > self.count || self.sum_ns > sum_max {
            return Err("the sum of a histogram is larger than its counts allow");
        }
        Ok(self)
    }
}

impl std::fmt::Debug for Compact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compact")
            .field("buckets", &self.buckets().collect::<Vec<_>>())
            .field("saturated", &self.saturated)
            .field("sum_ns", &self.sum_ns)
            .finish()
    }
}

/// Collects buckets, given by any of their values in ascending order. The saturated count and the
/// sum are 0, because buckets alone do not have them.
impl FromIterator<(Nanos, u32)> for Compact {
    fn from_iter<T: IntoIterator<Item = (Nanos, u32)>>(buckets: T) -> Self {
        let mut entries = Entries::with_capacity(0);
        buckets.into_iter().for_each(|(value, count)| entries.add(index_of(value), count));
        entries.compact(0, 0)
    }
}

/// Builder of entries, in ascending order of buckets.
pub(crate) struct Entries {
    done: Vec<u32>,
    /// Index and count of the bucket that is being filled.
    open: (usize, u32),
    count: u64,
}

impl Entries {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { done: Vec::with_capacity(capacity), open: (0, 0), count: 0 }
    }

    /// Adds to a bucket that is not below the last one. A count saturates at the same value as in a
    /// [`Histogram`].
    #[inline]
    pub fn add(&mut self, index: usize, count: u32) {
        assert!(index >= self.open.0, "buckets ascend");
        if index == self.open.0 {
            self.open.1 = self.open.1.saturating_add(count);
        } else {
            self.close();
            self.open = (index, count);
        }
    }

    #[inline]
    fn close(&mut self) {
        let (index, mut rest) = self.open;
        let position = u32::try_from(index).expect("fewer than 2^13 buckets") << SHIFT;
        self.count += u64::from(rest);
        while rest > 0 {
            let part = rest.min(FULL);
            self.done.push(position | part);
            rest -= part;
        }
    }

    fn finish(mut self) -> (Box<[u32]>, u64) {
        self.close();
        (self.done.into_boxed_slice(), self.count)
    }

    pub fn compact(self, saturated: u64, sum_ns: u128) -> Compact {
        let (entries, count) = self.finish();
        Compact { entries, count, saturated, sum_ns }
    }
}

/// Text form of [`Compact`]: values in plain nanoseconds.
#[derive(Serialize, Deserialize)]
struct Text {
    buckets: Vec<(u64, u32)>,
    saturated: u64,
    sum_ns: u128,
}

/// Message form of [`Compact`]: its entries as bytes, little-endian. A controller reads 10^9
/// entries in half a minute; numbers of variable length would take most of its time.
#[derive(Serialize, Deserialize)]
struct Binary<'a> {
    #[serde(borrow)]
    entries: Bytes<'a>,
    saturated: u64,
    sum_ns: u128,
}

struct Bytes<'a>(Cow<'a, [u8]>);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Bytes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(BytesVisitor).map(Self)
    }
}

struct BytesVisitor;

impl<'de> Visitor<'de> for BytesVisitor {
    type Value = Cow<'de, [u8]>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("bytes")
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(bytes))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(bytes.to_vec()))
    }
}

impl Serialize for Compact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { saturated, sum_ns, .. } = *self;
        if serializer.is_human_readable() {
            let buckets = self.buckets().map(|(value, count)| (value.0, count)).collect();
            return Text { buckets, saturated, sum_ns }.serialize(serializer);
        }
        let bytes = self.entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
        Binary { entries: Bytes(bytes), saturated, sum_ns }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Compact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = if deserializer.is_human_readable() {
            let Text { buckets, saturated, sum_ns } = Deserialize::deserialize(deserializer)?;
            of_buckets(&buckets).map(|entries| entries.compact(saturated, sum_ns))
        } else {
            let Binary { entries, saturated, sum_ns } = Deserialize::deserialize(deserializer)?;
            of_bytes(&entries.0).map(|(entries, count)| Self { entries, count, saturated, sum_ns })
        };
        read.and_then(Self::checked).map_err(D::Error::custom)
    }
}

fn of_buckets(buckets: &[(u64, u32)]) -> Result<Entries, &'static str> {
    let mut entries = Entries::with_capacity(buckets.len());
    let mut next = 0;
    for (value, count) in buckets {
        let index = index_of(Nanos(*value));
        if *count == 0 || index >= BUCKETS || highest(index).0 != *value {
            return Err("a value is not the highest of a bucket, or its count is 0");
        }
        if index < next {
            return Err("the buckets of a histogram do not ascend");
        }
        next = index + 1;
        entries.add(index, *count);
    }
    Ok(entries)
}

/// Parses entries. Returns them and the sum of their counts.
///
/// # Errors
/// If the bytes are no whole entries, or the entries are not in canonical form.
fn of_bytes(bytes: &[u8]) -> Result<(Box<[u32]>, u64), &'static str> {
    let (whole, []) = bytes.as_chunks() else {
        return Err("the entries of a histogram are incomplete");
    };
    let entries: Box<[u32]> = whole.iter().map(|entry| u32::from_le_bytes(*entry)).collect();
    if entries.last().is_some_and(|last| parts(*last).0 >= BUCKETS) {
        return Err("a histogram has a bucket that does not exist");
    }
    // Without an early exit, so that the compiler can check several at once.
    let holds = entries.iter().fold(true, |all, entry| all & (entry & FULL > 0));
    let pairs = entries.windows(2);
    let ascends = pairs.fold(true, |all, two| all & (two[0] >> SHIFT < two[1] >> SHIFT));
    if !holds || !(ascends || is_canonical(&entries)) {
        return Err("the buckets of a histogram do not ascend, or have a count of 0");
    }
    let count = entries.iter().map(|entry| u64::from(entry & FULL)).sum();
    Ok((entries, count))
}

/// Returns true if the entries are in canonical form: sorted, and several entries of a bucket are
/// all full but the last.
fn is_canonical(entries: &[u32]) -> bool {
    let mut kept = Entries::with_capacity(entries.len());
    let ascends = entries.is_sorted_by_key(|entry| entry >> SHIFT);
    ascends && {
        entries.iter().for_each(|entry| kept.add(parts(*entry).0, entry & FULL));
        *kept.finish().0 == *entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[(u64, u32)]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|(value, count)| histogram.record_n(Nanos(*value), *count));
        histogram
    }

    fn samples() -> impl Strategy<Value = Vec<(u64, u32)>> {
        let value = prop_oneof![0_u64..300, 0_u64..10_000_000, 0_u64..4_000_000_000_000];
        let count = prop_oneof![1_u32..4, Just(FULL), FULL..3_000_000];
        proptest::collection::vec((value, count), 0..40)
    }

    proptest! {
        #[test]
        fn compact_histogram_answers_as_the_open_one(values in samples(), share in 0.0_f64..=1.0) {
            let histogram = of(&values);
            let compact = histogram.compact();
            prop_assert_eq!(compact.count(), histogram.count());
            prop_assert_eq!(compact.max(), histogram.max());
            prop_assert_eq!(compact.mean_ns(), histogram.mean_ns());
            let counted: u64 = compact.buckets().map(|(_, count)| u64::from(count)).sum();
            prop_assert_eq!(counted, histogram.count());
            let share = Ratio::new(share);
            prop_assert_eq!(compact.percentile(share), histogram.percentile(share));
        }

        #[test]
        fn merging_compact_histograms_equals_recording_into_one(
            left in samples(), right in samples()
        ) {
            let mut compact = of(&left).compact();
            compact.merge(&of(&right).compact());
            let mut sum = of(&left);
            sum.merge_compact(&of(&right).compact());
            let all: Vec<_> = left.iter().chain(&right).copied().collect();
            prop_assert_eq!(&sum, &of(&all));
            prop_assert_eq!(compact, sum.compact());
        }

        #[test]
        fn compact_histogram_is_the_same_after_a_message(values in samples()) {
            let compact = of(&values).compact();
            let sent = serde_json::to_string(&compact).expect("serialises");
            prop_assert_eq!(&serde_json::from_str::<Compact>(&sent).expect("reads"), &compact);
            let sent = postcard::to_stdvec(&compact).expect("serialises");
            prop_assert_eq!(postcard::from_bytes::<Compact>(&sent).expect("reads"), compact);
        }
    }

    /// Returns the result of reading a message with these entries, each a bucket and a count.
    fn read(entries: &[(u32, u32)]) -> Option<Compact> {
        let entries = entries.iter().map(|(bucket, count)| bucket << SHIFT | count);
        let bytes: Vec<u8> = entries.flat_map(u32::to_le_bytes).collect();
        let sent = Binary { entries: Bytes(bytes.into()), saturated: 0, sum_ns: 0 };
        postcard::from_bytes(&postcard::to_stdvec(&sent).expect("serialises")).ok()
    }

    #[test]
    fn message_with_entries_that_no_histogram_has_is_refused() {
        let last = u32::try_from(BUCKETS).expect("few") - 1;
        assert_eq!(read(&[(3, FULL), (3, 1), (last, 2)]).expect("one").count(), 0x8_0002);
        let wrong: [&[(u32, u32)]; 6] = [
            &[(4, 1), (3, 1)],
            &[(4, 0)],
            &[(3, 1), (3, 1)],
            &[(3, 1), (3, FULL)],
            &[(3, 1), (last + 1, 1)],
            // More than 2^32 - 1 in one bucket.
            &[(3, FULL); 8193],
        ];
        for entries in wrong {
            assert_eq!(read(entries), None, "{} entries", entries.len());
        }
        let uneven = Binary { entries: Bytes([0; 7][..].into()), saturated: 0, sum_ns: 0 };
        let sent = postcard::to_stdvec(&uneven).expect("serialises");
        assert!(postcard::from_bytes::<Compact>(&sent).is_err());
    }

    #[test]
    fn compact_bucket_takes_four_bytes() {
        let compact = of(&[(5, 1), (9_000, 2), (1_000_000, FULL)]).compact();
        assert_eq!(compact.entries.len(), 3);
    }

    #[test]
    fn full_bucket_stays_full_when_merged() {
        let mut compact = of(&[(7, u32::MAX)]).compact();
        compact.merge(&of(&[(7, 10)]).compact());
        assert_eq!(compact.count(), u64::from(u32::MAX));
        assert_eq!(compact.buckets().collect::<Vec<_>>(), [(Nanos(7), u32::MAX)]);
    }
}
