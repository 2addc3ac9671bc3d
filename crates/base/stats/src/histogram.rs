use units::{Nanos, Ratio};

use crate::compact::{Compact, Entries};
use crate::layout::{BUCKETS, LONGEST, highest, index_of, lowest};
use crate::nearest::nearest_rank;

/// Maximum relative error of a recorded value. The HDR layout keeps two significant decimal digits
/// as 128 sub-buckets per power of two (1/128 = 0.8 %).
pub const RELATIVE_PRECISION: f64 = 1.0 / 128.0;

/// Mergeable latency histogram (HDR layout, two significant digits, 1 ns to 1 h).
///
/// It has its own buckets instead of those of the `hdrhistogram` crate, because it is merged,
/// cleared and stored every second for thousands of streams. It knows the lowest and highest bucket
/// in use, so the cost is proportional to the recorded range. The layout is the crate's.
///
/// Up to 16 buckets in use are a list of 8 bytes each, which suffices for most streams in one
/// second. With more, all buckets between the shortest and the longest latency are allocated: about
/// 0.5 KiB for each doubling, and 18 KiB for the whole range.
#[derive(Clone)]
pub struct Histogram {
    counts: Counts,
    /// Range of buckets that may be non-empty: `lowest_used..=highest_used`; empty if reversed.
    lowest_used: usize,
    highest_used: usize,
    count: u64,
    pub(crate) saturated: u64,
    pub(crate) sum_ns: u128,
}

/// Counts by bucket.
#[derive(Clone)]
enum Counts {
    /// Non-empty buckets with their counts, in ascending order; at most [`FEW`].
    Few(Vec<(u32, u32)>),
    /// Counts of all buckets from `first` on.
    Many { counts: Vec<u32>, first: usize },
}

const FEW: usize = 16;

impl Counts {
    const NONE: Self = Self::Few(Vec::new());

    /// Returns the counts of the buckets from `lowest` to `highest`, allocated if needed.
    #[inline]
    fn over(&mut self, lowest: usize, highest: usize) -> &mut [u32] {
        let has =
            |counts: &Vec<u32>, first: usize| lowest >= first && highest - first < counts.len();
        if !matches!(self, Self::Many { counts, first } if has(counts, *first)) {
            self.reach(lowest, highest);
        }
        match self {
            Self::Many { counts, first } => &mut counts[lowest - *first..=highest - *first],
            Self::Few(_) => unreachable!("reached above"),
        }
    }

    /// Extends the memory to include these buckets, in whole steps. It becomes [`Counts::Many`].
    #[cold]
    fn reach(&mut self, lowest: usize, highest: usize) {
        const STEP: usize = 64;
        let held = match self {
            Self::Few(few) => {
                few.first().zip(few.last()).map(|(a, z)| (a.0 as usize, z.0 as usize + 1))
            }
            Self::Many { counts, first } => Some((*first, *first + counts.len())),
        };
        let (first, end) = held.unwrap_or((lowest, highest + 1));
        let (first, end) =
            (first.min(lowest) / STEP * STEP, end.max(highest + 1).next_multiple_of(STEP));
        let mut all = vec![0; end - first];
        match self {
            Self::Few(few) => {
                few.iter().for_each(|(index, count)| all[*index as usize - first] = *count)
            }
            Self::Many { counts, first: held } => {
                all[*held - first..][..counts.len()].copy_from_slice(counts);
            }
        }
        *self = Self::Many { counts: all, first };
    }

    /// Adds to the count of one bucket; the count saturates.
    #[inline]
    fn add(&mut self, index: usize, count: u32) {
        if let Self::Few(few) = self
            && Self::add_to_few(few, index, count)
        {
            return;
        }
        let bucket = &mut self.over(index, index)[0];
        *bucket = bucket.saturating_add(count);
    }

    /// Adds to the list; returns false if the list is full.
    fn add_to_few(few: &mut Vec<(u32, u32)>, index: usize, count: u32) -> bool {
        let place = few.partition_point(|(held, _)| (*held as usize) < index);
        let is_full = few.len() == FEW;
        match few.get_mut(place) {
            Some((held, bucket)) if *held as usize == index => {
                *bucket = bucket.saturating_add(count);
            }
            _ if is_full => return false,
            _ => few.insert(place, (u32::try_from(index).unwrap_or(u32::MAX), count)),
        }
        true
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count
            && self.saturated == other.saturated
            && self.sum_ns == other.sum_ns
            && self.used().eq(other.used())
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("saturated", &self.saturated)
            .field("min", &self.min())
            .field("max", &self.max())
            .finish_non_exhaustive()
    }
}

impl Histogram {
    /// Creates an empty histogram.
    pub fn new() -> Self {
        Self {
            counts: Counts::NONE,
            lowest_used: BUCKETS,
            highest_used: 0,
            count: 0,
            saturated: 0,
            sum_ns: 0,
        }
    }

    /// Records one latency. A latency above one hour is recorded as one hour and counted as
    /// saturated.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.record_n(latency, 1);
    }

    /// Returns the count of the bucket to which a latency belongs.
    #[inline]
    pub fn held(&self, latency: Nanos) -> u32 {
        let index = index_of(latency.min(LONGEST));
        let held = match &self.counts {
            Counts::Few(few) => {
                few.iter().find(|(held, _)| *held as usize == index).map(|held| &held.1)
            }
            Counts::Many { counts, first } => {
                index.checked_sub(*first).and_then(|at| counts.get(at))
            }
        };
        held.copied().unwrap_or(0)
    }

    /// Records the same latency `count` times. The count of a bucket saturates at 2^32 - 1.
    #[inline]
    pub fn record_n(&mut self, latency: Nanos, count: u32) {
        if latency > LONGEST {
            self.saturated += u64::from(count);
        }
        self.sum_ns += u128::from(latency.0) * u128::from(count);
        self.add_to_bucket(index_of(latency.min(LONGEST)), count);
    }

    #[inline]
    pub(crate) fn add_to_bucket(&mut self, index: usize, count: u32) {
        if count == 0 {
            return;
        }
        self.counts.add(index, count);
        self.count += u64::from(count);
        self.lowest_used = self.lowest_used.min(index);
        self.highest_used = self.highest_used.max(index);
    }

    /// Adds all latencies of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        match &other.counts {
            Counts::Few(few) => {
                few.iter().for_each(|(index, n)| self.counts.add(*index as usize, *n))
            }
            Counts::Many { .. } => {
                let mine = self.counts.over(other.lowest_used, other.highest_used);
                for (mine, theirs) in mine.iter_mut().zip(other.used_of_many()) {
                    *mine = mine.saturating_add(*theirs);
                }
            }
        }
        self.lowest_used = self.lowest_used.min(other.lowest_used);
        self.highest_used = self.highest_used.max(other.highest_used);
        self.count += other.count;
        self.saturated += other.saturated;
        self.sum_ns += other.sum_ns;
    }

    /// Removes all latencies. The memory is kept unless few latencies had been recorded.
    pub fn clear(&mut self) {
        match &mut self.counts {
            Counts::Few(few) => few.clear(),
            Counts::Many { .. } if self.count <= FEW as u64 => self.counts = Counts::NONE,
            Counts::Many { .. } => self.counts.over(self.lowest_used, self.highest_used).fill(0),
        }
        (self.lowest_used, self.highest_used) = (BUCKETS, 0);
        (self.count, self.saturated, self.sum_ns) = (0, 0, 0);
    }

    /// Converts the histogram to its stored form, which has the non-empty buckets only.
    pub fn compact(&self) -> Compact {
        let mut entries = Entries::with_capacity(self.used().count());
        self.used().for_each(|(index, count)| entries.add(index, count));
        entries.compact(self.saturated, self.sum_ns)
    }

    /// Adds all latencies of a histogram in stored form.
    pub fn merge_compact(&mut self, other: &Compact) {
        self.saturated += other.saturated;
        self.sum_ns += other.sum_ns;
        match other.extent() {
            (entries, Some((lowest, highest))) if entries > FEW => {
                let counts = self.counts.over(lowest, highest);
                for (index, count) in other.positions() {
                    let bucket = &mut counts[index - lowest];
                    *bucket = bucket.saturating_add(count);
                }
                self.count += other.count();
                self.lowest_used = self.lowest_used.min(lowest);
                self.highest_used = self.highest_used.max(highest);
            }
            _ => other.positions().for_each(|(index, count)| self.add_to_bucket(index, count)),
        }
    }

    /// Returns the number of recorded latencies.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns true if there are no latencies.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of latencies longer than one hour.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Returns the shortest latency, rounded down to its bucket; `None` if empty.
    pub fn min(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| lowest(self.lowest_used))
    }

    /// Returns the longest latency, rounded up to its bucket (at most [`RELATIVE_PRECISION`] too
    /// long); `None` if empty.
    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| highest(self.highest_used))
    }

    /// Returns the mean latency in nanoseconds, from the exact sum; `None` if empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// Returns the exact sum of all latencies, in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Returns the value that at least `share` of all latencies do not exceed (nearest rank),
    /// rounded up to its bucket. It is at most [`RELATIVE_PRECISION`] too long, and never too
    /// short. `None` if empty.
    pub fn percentile(&self, share: Ratio) -> Option<Nanos> {
        self.value_at_rank(nearest_rank(self.count, share)?)
    }

    /// Returns the `rank`-th shortest latency, counted from 1, rounded up to its bucket; `None` if
    /// there are fewer.
    pub fn value_at_rank(&self, rank: u64) -> Option<Nanos> {
        if rank == 0 || rank > self.count {
            return None;
        }
        let mut seen = 0;
        self.used()
            .find(|(_, count)| {
                seen += u64::from(*count);
                seen >= rank
            })
            .map(|(index, _)| highest(index))
            .or_else(|| self.max()) // a bucket that is full has lost some of its count
    }

    /// Returns the number of latencies longer than `limit`. Latencies in the same bucket as the
    /// limit (within [`RELATIVE_PRECISION`]) are not counted.
    pub fn count_above(&self, limit: Nanos) -> u64 {
        let limit = index_of(limit.min(LONGEST));
        self.used().filter(|(index, _)| *index > limit).map(|(_, count)| u64::from(count)).sum()
    }

    /// Iterates over the indices of non-empty buckets and their counts, in ascending order.
    pub(crate) fn used(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let few = match &self.counts {
            Counts::Few(few) => &few[..],
            Counts::Many { .. } => &[],
        };
        let first = self.lowest_used;
        let many = self.used_of_many().iter().enumerate().filter(|(_, count)| **count != 0);
        let few = few.iter().map(|(index, count)| (*index as usize, *count));
        few.chain(many.map(move |(offset, count)| (first + offset, *count)))
    }

    /// Returns the counts from the lowest bucket in use to the highest; empty for [`Counts::Few`].
    fn used_of_many(&self) -> &[u32] {
        match &self.counts {
            Counts::Many { counts, first } if !self.is_empty() => {
                &counts[self.lowest_used - first..=self.highest_used - first]
            }
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram as Hdr;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for value in values {
            histogram.record(Nanos(*value));
        }
        histogram
    }

    /// Returns the memory of a histogram's buckets, in bytes.
    fn memory(of: &Histogram) -> usize {
        match &of.counts {
            Counts::Few(few) => few.capacity() * size_of::<(u32, u32)>(),
            Counts::Many { counts, .. } => counts.capacity() * size_of::<u32>(),
        }
    }

    #[test]
    fn a_histogram_of_few_latencies_has_memory_for_these_alone() {
        let mut histogram = Histogram::new();
        assert_eq!(memory(&histogram), 0, "a kind that never happened");
        (0..100_000).for_each(|n| histogram.record(Nanos::from_micros(20 << (n % FEW))));
        assert!(memory(&histogram) <= FEW * 8, "{}", memory(&histogram));
        histogram.clear();
        histogram.record(Nanos::from_micros(100));
        assert!(memory(&histogram) <= FEW * 8, "{}", memory(&histogram));
    }

    #[test]
    fn histogram_allocates_only_between_min_and_max() {
        let mut histogram = Histogram::new();
        let fill = |histogram: &mut Histogram| {
            (20..20_000).for_each(|micros| histogram.record(Nanos::from_micros(micros)));
        };
        fill(&mut histogram);
        let doublings = index_of(Nanos::from_millis(20)) - index_of(Nanos::from_micros(20));
        let kept = memory(&histogram);
        assert!(kept < (doublings + 128) * 4, "{kept}");
        histogram.clear();
        fill(&mut histogram);
        assert_eq!(memory(&histogram), kept, "a slice later nothing is made anew");
        histogram.clear();
        histogram.record(Nanos::from_micros(20));
        histogram.clear();
        assert_eq!(memory(&histogram), 0, "a burst is over");
    }

    fn close(value: Option<Nanos>, exact: u64) -> bool {
        let value = value.expect("not empty").0;
        value >= exact && value as f64 <= exact as f64 * (1.0 + RELATIVE_PRECISION)
    }

    proptest! {
        #[test]
        fn a_compact_histogram_expands_to_the_one_it_came_from(
            values in proptest::collection::vec(0_u64..4_000_000_000_000, 0..200)
        ) {
            let histogram = of(&values);
            let back = histogram.compact().expand();
            prop_assert_eq!(back.compact(), histogram.compact());
            prop_assert_eq!(back.count(), values.len() as u64);
            let sent = serde_json::to_string(&histogram.compact()).expect("serialises");
            let received: Compact = serde_json::from_str(&sent).expect("reads back");
            prop_assert_eq!(received, histogram.compact());
            prop_assert_eq!(back, histogram);
        }

        #[test]
        fn every_answer_agrees_with_the_sorted_values(
            mut values in proptest::collection::vec(0_u64..4_000_000_000, 1..200),
            share in 0.0_f64..=1.0,
            limit in 0_u64..4_000_000_000,
        ) {
            let histogram = of(&values);
            values.sort_unstable();
            let rank = nearest_rank(values.len() as u64, Ratio::new(share)).expect("not empty");
            let exact = values[usize::try_from(rank).expect("small") - 1];
            prop_assert!(close(histogram.percentile(Ratio::new(share)), exact));
            prop_assert_eq!(
                histogram.compact().percentile(Ratio::new(share)),
                histogram.percentile(Ratio::new(share))
            );
            prop_assert!(close(histogram.max(), *values.last().expect("not empty")));
            prop_assert!(histogram.min().expect("not empty").0 <= values[0]);
            prop_assert_eq!(histogram.sum_ns(), values.iter().map(|v| u128::from(*v)).sum::<u128>());
            let edge = highest(index_of(Nanos(limit))).0;
            prop_assert_eq!(
                histogram.count_above(Nanos(limit)),
                values.iter().filter(|v| **v > edge).count() as u64
            );
        }

        #[test]
        fn percentiles_are_those_of_the_hdr_library(
            values in proptest::collection::vec(0_u64..3_000_000_000_000, 1..200),
            percent in 1_u32..=100, // the library rounds its 0 % down, we round all up
        ) {
            let mut model = Hdr::<u64>::new_with_bounds(1, LONGEST.0, 2).expect("valid bounds");
            values.iter().for_each(|v| model.record(*v).expect("in bounds"));
            let histogram = of(&values);
            let share = f64::from(percent) / 100.0;
            prop_assert_eq!(
                histogram.percentile(Ratio::new(share)).expect("not empty").0,
                model.value_at_quantile(share * (1.0 - 1e-12)) // it takes 0.14 * 50 for 8
            );
        }

        #[test]
        fn merging_equals_recording_everything_into_one(
            left in proptest::collection::vec(0_u64..4_000_000_000_000, 0..100),
            right in proptest::collection::vec(0_u64..4_000_000_000_000, 0..100),
        ) {
            let mut merged = of(&left);
            merged.merge(&of(&right));
            let all: Vec<u64> = left.iter().chain(&right).copied().collect();
            prop_assert_eq!(&merged, &of(&all));
            let mut at_rest = of(&left).compact();
            at_rest.merge(&of(&right).compact());
            prop_assert_eq!(at_rest, merged.compact());
            merged.clear();
            prop_assert_eq!(merged, Histogram::new());
        }
    }

    #[test]
    fn a_message_that_is_no_histogram_is_refused() {
        let told = |buckets: &str, saturated: u64, sum_ns: u128| {
            let text =
                format!(r#"{{"buckets":{buckets},"saturated":{saturated},"sum_ns":{sum_ns}}}"#);
            serde_json::from_str::<Compact>(&text)
        };
        let read = |buckets: &str| told(buckets, 0, 7);
        assert_eq!(read("[[7,1]]").expect("a histogram"), of(&[7]).compact());
        for wrong in [
            "[[7,0]]",
            "[[9,1],[7,1]]",
            "[[7,1],[7,1]]",
            "[[1025,1]]",
            "[[18446744073709551615,1]]",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let most = u128::from(u64::MAX);
        assert!(told("[[7,1]]", 1, most).is_ok());
        assert!(told("[[7,1]]", 2, 7).is_err(), "more too long ones than there are");
        assert!(told("[[7,1]]", 0, most + 1).is_err(), "more than as many can take");
        assert!(told("[]", u64::MAX, u128::MAX).is_err(), "two of them would have no sum");
    }

    #[test]
    fn an_empty_histogram_has_no_values() {
        let empty = Histogram::new();
        assert_eq!((empty.min(), empty.max(), empty.mean_ns()), (None, None, None));
        assert_eq!(empty.percentile(Ratio::new(0.5)), None);
        assert_eq!(empty.value_at_rank(1), None);
    }

    #[test]
    fn a_latency_over_an_hour_is_kept_as_an_hour_and_counted() {
        let histogram = of(&[5, LONGEST.0 * 2]);
        assert_eq!((histogram.count(), histogram.saturated()), (2, 1));
        assert!(close(histogram.max(), LONGEST.0));
    }

    #[test]
    fn a_full_bucket_stays_full_and_still_answers() {
        let mut histogram = Histogram::new();
        histogram.record_n(Nanos(7), u32::MAX);
        histogram.record_n(Nanos(7), 10);
        assert_eq!(histogram.count(), u64::from(u32::MAX) + 10);
        assert_eq!(histogram.percentile(Ratio::ONE), Some(Nanos(7)));
    }
}
