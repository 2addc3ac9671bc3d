use serde::{Deserialize, Serialize};
use units::{Nanos, Ratio};

use crate::histogram::{Compact, Histogram};
use crate::layout::{LONGEST, highest, index_of};
use crate::nearest::nearest_rank;

/// Most that one entry counts.
const FULL: u32 = 0xffff;

/// A histogram at rest in four bytes a bucket in use: a quarter of a [`Compact`], for the many
/// that are kept to be looked at. It holds the same and merges the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Compact", into = "Compact")]
pub struct Packed {
    /// Position of the bucket in the upper half, count in the lower; ascending. A count above
    /// 65,535 is several entries of the same bucket, all but the last full.
    entries: Box<[u32]>,
    count: u64,
    /// How many latencies were longer than one hour.
    pub saturated: u64,
    /// Sum of all latencies, exact up to 2^64 - 1 and then staying there.
    pub sum_ns: u64,
}

impl Packed {
    /// How many latencies it holds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bucket values (their highest equivalent) and counts, ascending; a value whose count is
    /// large comes several times.
    pub fn entries(&self) -> impl Iterator<Item = (Nanos, u32)> + '_ {
        self.positions().map(|(index, count)| (highest(index), count))
    }

    fn positions(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.entries.iter().map(|entry| ((entry >> 16) as usize, entry & FULL))
    }

    /// The longest latency, rounded up to its bucket; nothing if empty.
    pub fn max(&self) -> Option<Nanos> {
        self.entries().last().map(|(value, _)| value)
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
        let found = self.entries().find(|(_, count)| {
            seen += u64::from(*count);
            seen >= rank
        });
        found.map(|(value, _)| value)
    }

    /// Adds everything the other one holds.
    pub fn merge(&mut self, other: &Self) {
        if self.entries.is_empty() {
            self.entries.clone_from(&other.entries);
            self.count = other.count;
        } else if !other.entries.is_empty() {
            *self = Self { saturated: self.saturated, sum_ns: self.sum_ns, ..self.with(other) };
        }
        self.saturated += other.saturated;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }

    /// The entries of both.
    fn with(&self, other: &Self) -> Self {
        let mut sum = Entries::with_capacity(self.entries.len() + other.entries.len());
        let (mut mine, mut theirs) = (self.positions().peekable(), other.positions().peekable());
        loop {
            let is_mine = match (mine.peek(), theirs.peek()) {
                (Some((a, _)), Some((b, _))) => a <= b,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => return sum.finish(),
            };
            let next = if is_mine { mine.next() } else { theirs.next() };
            if let Some((index, count)) = next {
                sum.add(index, count);
            }
        }
    }

    /// The same with its buckets written out.
    pub fn compact(&self) -> Compact {
        let mut buckets: Vec<(Nanos, u32)> = Vec::with_capacity(self.entries.len());
        for (value, count) in self.entries() {
            match buckets.last_mut() {
                Some((last, sum)) if *last == value => *sum += count,
                _ => buckets.push((value, count)),
            }
        }
        Compact { buckets, saturated: self.saturated, sum_ns: self.sum_ns.into() }
    }
}

impl Histogram {
    /// Adds everything a packed histogram holds.
    pub fn merge_packed(&mut self, other: &Packed) {
        for (index, count) in other.positions() {
            self.add_to_bucket(index, count);
        }
        self.saturated += other.saturated;
        self.sum_ns += u128::from(other.sum_ns);
    }
}

impl From<Compact> for Packed {
    fn from(compact: Compact) -> Self {
        Self::from(&compact)
    }
}

impl From<Packed> for Compact {
    fn from(packed: Packed) -> Self {
        packed.compact()
    }
}

impl From<&Compact> for Packed {
    fn from(compact: &Compact) -> Self {
        let mut entries = Entries::with_capacity(compact.buckets.len());
        for (value, count) in &compact.buckets {
            entries.add(index_of((*value).min(LONGEST)), *count);
        }
        let sum_ns = u64::try_from(compact.sum_ns).unwrap_or(u64::MAX);
        Self { saturated: compact.saturated, sum_ns, ..entries.finish() }
    }
}

impl From<&Histogram> for Packed {
    fn from(histogram: &Histogram) -> Self {
        let mut entries = Entries::with_capacity(64);
        histogram.used().for_each(|(index, count)| entries.add(index, count));
        let sum_ns = u64::try_from(histogram.sum_ns()).unwrap_or(u64::MAX);
        Self { saturated: histogram.saturated(), sum_ns, ..entries.finish() }
    }
}

/// Entries as they are put together, ascending.
struct Entries {
    done: Vec<u32>,
    /// The bucket that is being filled.
    open: Option<(usize, u32)>,
    count: u64,
}

impl Entries {
    fn with_capacity(capacity: usize) -> Self {
        Self { done: Vec::with_capacity(capacity), open: None, count: 0 }
    }

    /// Adds to a bucket that is not below the last one. It stays full where a [`Histogram`]
    /// stays full.
    fn add(&mut self, index: usize, count: u32) {
        match &mut self.open {
            Some((open, sum)) if *open == index => *sum = sum.saturating_add(count),
            _ => {
                self.close();
                self.open = Some((index, count));
            }
        }
    }

    fn close(&mut self) {
        let Some((index, mut rest)) = self.open.take() else { return };
        let position = u32::try_from(index).expect("fewer than 2^16 buckets") << 16;
        self.count += u64::from(rest);
        while rest > 0 {
            let part = rest.min(FULL);
            self.done.push(position | part);
            rest -= part;
        }
    }

    fn finish(mut self) -> Packed {
        self.close();
        let entries = self.done.into_boxed_slice();
        Packed { entries, count: self.count, saturated: 0, sum_ns: 0 }
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
        let count = prop_oneof![1_u32..4, Just(0xffff), 0xffff_u32..300_000];
        proptest::collection::vec((value, count), 0..40)
    }

    proptest! {
        #[test]
        fn packing_keeps_everything_and_answers_the_same(
            values in samples(), share in 0.0_f64..=1.0
        ) {
            let histogram = of(&values);
            let packed = Packed::from(&histogram);
            prop_assert_eq!(&packed, &Packed::from(&histogram.compact()));
            prop_assert_eq!(packed.compact(), histogram.compact());
            prop_assert_eq!(packed.count(), histogram.count());
            prop_assert_eq!(packed.max(), histogram.max());
            let share = Ratio::new(share);
            prop_assert_eq!(packed.percentile(share), histogram.percentile(share));
        }

        #[test]
        fn merging_packed_is_merging_what_they_hold(left in samples(), right in samples()) {
            let mut packed = Packed::from(&of(&left));
            packed.merge(&Packed::from(&of(&right)));
            let mut sum = of(&left);
            sum.merge_packed(&Packed::from(&of(&right)));
            let all: Vec<_> = left.iter().chain(&right).copied().collect();
            prop_assert_eq!(&sum, &of(&all));
            prop_assert_eq!(packed, Packed::from(&sum));
        }
    }

    #[test]
    fn a_bucket_takes_four_bytes() {
        let packed = Packed::from(&of(&[(5, 1), (9_000, 2), (1_000_000, 65_535)]));
        assert_eq!(packed.entries.len(), 3);
    }
}
