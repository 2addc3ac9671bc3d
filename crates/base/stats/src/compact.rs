use serde::{Deserialize, Serialize};
use units::{Nanos, Ratio};

// Circle: this is the histogram at rest, and each of the two forms is made from the other.
use crate::histogram::Histogram;
use crate::layout::{BUCKETS, highest, index_of};
use crate::nearest::nearest_rank;

/// Bits of an entry that count. The others name the bucket, of which there are fewer than 2^13.
const SHIFT: u32 = 19;
const _: () = assert!(BUCKETS <= 1 << (32 - SHIFT));

/// Most that one entry counts: 524,287.
const FULL: u32 = (1 << SHIFT) - 1;

/// A histogram at rest, for slices, messages and files: four bytes for each bucket that holds something.
/// A step of many hosts keeps millions of them, so that bytes of a bucket are what its memory and most of
/// its time are made of.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Compact {
    /// Bucket and count, ascending by bucket. A count above [`FULL`] is several entries of the same
    /// bucket, all but the last full.
    entries: Box<[u32]>,
    /// Sum of the counts, kept because it is asked for more often than anything else.
    count: u64,
    /// How many latencies were longer than one hour.
    pub saturated: u64,
    /// Sum of all latencies, exact.
    pub sum_ns: u128,
}

/// Bucket and count of an entry.
#[inline]
const fn parts(entry: u32) -> (usize, u32) {
    ((entry >> SHIFT) as usize, entry & FULL)
}

impl Compact {
    /// How many latencies it holds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bucket values (the highest of each bucket) and counts, which are not 0, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u32)> + '_ {
        let same = |one: &u32, next: &u32| parts(*one).0 == parts(*next).0;
        self.entries.chunk_by(same).map(|entries| {
            (highest(parts(entries[0]).0), entries.iter().map(|entry| parts(*entry).1).sum())
        })
    }

    /// Positions of buckets and counts, ascending; a position whose count is large comes several times.
    pub(crate) fn positions(&self) -> impl DoubleEndedIterator<Item = (usize, u32)> + '_ {
        self.entries.iter().map(|entry| parts(*entry))
    }

    /// Entries, and the lowest and the highest bucket in use.
    pub(crate) fn extent(&self) -> (usize, Option<(usize, usize)>) {
        let ends = self.entries.first().zip(self.entries.last());
        (self.entries.len(), ends.map(|(first, last)| (parts(*first).0, parts(*last).0)))
    }

    /// The longest latency, rounded up to its bucket; nothing if empty.
    pub fn max(&self) -> Option<Nanos> {
        self.positions().next_back().map(|(index, _)| highest(index))
    }

    /// The sum of all latencies; stays at 2^64 - 1 ns.
    pub fn sum(&self) -> Nanos {
        Nanos(u64::try_from(self.sum_ns).unwrap_or(u64::MAX))
    }

    /// The mean in nanoseconds; nothing if empty.
    #[expect(clippy::cast_precision_loss, reason = "a mean is read to a few digits")]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// The same as [`Histogram::percentile`].
    pub fn percentile(&self, share: Ratio) -> Option<Nanos> {
        let rank = nearest_rank(self.count, share)?;
        let mut seen = 0;
        let found = self.positions().find(|(_, count)| {
            seen += u64::from(*count);
            seen >= rank
        });
        found.map(|(index, _)| highest(index))
    }

    /// Adds everything the other one holds, as if all had been recorded into one.
    pub fn merge(&mut self, other: &Self) {
        self.saturated += other.saturated;
        self.sum_ns += other.sum_ns;
        if self.entries.is_empty() {
            (self.entries, self.count) = (other.entries.clone(), other.count);
            return;
        }
        match self.lacking(other) {
            Some(lacking) => {
                self.insert(&other.entries, lacking);
                self.count += other.count;
            }
            None => (self.entries, self.count) = self.with(other).finish(),
        }
    }

    /// Entries of the other one whose bucket this one lacks. Nothing if a bucket of both does not fit into
    /// one entry.
    fn lacking(&self, other: &Self) -> Option<usize> {
        let (mut own, mut lacking) = (&self.entries[..], 0);
        for (index, count) in other.positions() {
            while own.first().is_some_and(|entry| parts(*entry).0 < index) {
                own = &own[1..];
            }
            match own.first().map(|entry| parts(*entry)) {
                Some((same, held)) if same == index => {
                    if held + count > FULL {
                        return None;
                    }
                }
                _ => lacking += 1,
            }
        }
        Some(lacking)
    }

    /// Adds entries, so many of which are of new buckets. From behind, so that what moves makes room in
    /// place: most often nothing is lacking, and no memory is asked for.
    fn insert(&mut self, mut more: &[u32], lacking: usize) {
        let mut entries = std::mem::take(&mut self.entries).into_vec();
        let mut from = entries.len();
        entries.reserve_exact(lacking);
        entries.resize(from + lacking, 0);
        let mut to = entries.len();
        while let Some((last, before)) = more.split_last() {
            let own = from.checked_sub(1).map(|at| entries[at]);
            to -= 1;
            entries[to] = match own {
                Some(own) if own >> SHIFT > last >> SHIFT => {
                    from -= 1;
                    own
                }
                Some(own) if own >> SHIFT == last >> SHIFT => {
                    (from, more) = (from - 1, before);
                    own + (last & FULL)
                }
                _ => {
                    more = before;
                    *last
                }
            };
        }
        self.entries = entries.into_boxed_slice();
    }

    /// The histogram it came from.
    pub fn expand(&self) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.merge_compact(self);
        histogram
    }

    /// The entries of both.
    fn with(&self, other: &Self) -> Entries {
        let mut sum = Entries::with_capacity(self.entries.len() + other.entries.len());
        let (mut mine, mut theirs) = (self.positions().peekable(), other.positions().peekable());
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

impl std::fmt::Debug for Compact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compact")
            .field("buckets", &self.buckets().collect::<Vec<_>>())
            .field("saturated", &self.saturated)
            .field("sum_ns", &self.sum_ns)
            .finish()
    }
}

/// Buckets by any of their values, ascending. Saturation and sum are 0: what is put together from
/// buckets alone does not know them.
impl FromIterator<(Nanos, u32)> for Compact {
    fn from_iter<T: IntoIterator<Item = (Nanos, u32)>>(buckets: T) -> Self {
        let mut entries = Entries::with_capacity(0);
        buckets.into_iter().for_each(|(value, count)| entries.add(index_of(value), count));
        entries.compact(0, 0)
    }
}

/// Entries as they are put together, ascending.
pub(crate) struct Entries {
    done: Vec<u32>,
    /// The bucket that is being filled.
    open: (usize, u32),
    count: u64,
}

impl Entries {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { done: Vec::with_capacity(capacity), open: (0, 0), count: 0 }
    }

    /// Adds to a bucket that is not below the last one. It stays full where a [`Histogram`]
    /// stays full.
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

/// A [`Compact`] in messages: values in plain nanoseconds.
#[derive(Serialize, Deserialize)]
struct Wire {
    buckets: Vec<(u64, u32)>,
    saturated: u64,
    sum_ns: u128,
}

impl From<Compact> for Wire {
    fn from(of: Compact) -> Self {
        let buckets = of.buckets().map(|(value, count)| (value.0, count)).collect();
        Self { buckets, saturated: of.saturated, sum_ns: of.sum_ns }
    }
}

impl TryFrom<Wire> for Compact {
    type Error = &'static str;

    fn try_from(wire: Wire) -> Result<Self, Self::Error> {
        let mut entries = Entries::with_capacity(wire.buckets.len());
        let mut next = 0;
        for (value, count) in wire.buckets {
            let index = index_of(Nanos(value));
            if count == 0 || index >= BUCKETS || highest(index).0 != value {
                return Err("a value is not the highest of a bucket, or counts nothing");
            }
            if index < next {
                return Err("the buckets of a histogram do not ascend");
            }
            next = index + 1;
            entries.add(index, count);
        }
        let read = entries.compact(wire.saturated, wire.sum_ns);
        // Sums of many such messages stay within their types then.
        let sum_max = u128::from(read.count) * u128::from(u64::MAX);
        if read.saturated > read.count || read.sum_ns > sum_max {
            return Err("a histogram sums up more than it counts");
        }
        Ok(read)
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
            prop_assert_eq!(serde_json::from_str::<Compact>(&sent).expect("reads"), compact);
        }
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
