//! Histogram small enough for a cell of a table: 16 buckets per power of two.

use serde::{Deserialize, Serialize};
use units::Nanos;

/// Number of lowest bits of a latency that are ignored, which gives steps of 64 ns.
const GRAIN_BITS: u32 = 6;
const SUB_BITS: u32 = 4;
/// Longest latency with a bucket of its own; longer latencies are counted in that bucket.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Number of buckets.
pub(crate) const BUCKETS: usize = bucket_of(LONGEST_NS) + 1;

/// Returns the bucket of a latency in nanoseconds, at most an hour.
#[inline]
const fn bucket_of(ns: u64) -> usize {
    let value = ns >> GRAIN_BITS;
    let shift = 63 - (value | 0x1f).leading_zeros() - SUB_BITS;
    ((shift as usize) << SUB_BITS) + (value >> shift) as usize
}

/// Returns the bucket of any latency.
#[inline]
pub(crate) fn bucket(latency: Nanos) -> usize {
    bucket_of(latency.0.min(LONGEST_NS))
}

pub(crate) fn middle(bucket: usize) -> Nanos {
    let (shift, part) = match bucket {
        0..32 => (0, bucket as u64),
        _ => ((bucket >> SUB_BITS) - 1, ((bucket & 0xf) | 0x10) as u64),
    };
    let lowest = (part << shift) << GRAIN_BITS;
    Nanos(lowest + (1 << (GRAIN_BITS as usize + shift)) / 2)
}

/// Histogram of latencies within 3.2 % (64 ns below 2 us); it takes about 4 KiB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u16, u64)>", into = "Vec<(u16, u64)>")]
pub(crate) struct Slim {
    counts: Box<[u64; BUCKETS]>,
}

impl Default for Slim {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]) }
    }
}

impl From<Slim> for Vec<(u16, u64)> {
    /// Returns the non-empty buckets.
    fn from(slim: Slim) -> Self {
        let held = (0..).zip(slim.counts.iter().copied());
        held.filter(|(_, count)| *count > 0).collect()
    }
}

impl TryFrom<Vec<(u16, u64)>> for Slim {
    type Error = &'static str;

    fn try_from(held: Vec<(u16, u64)>) -> Result<Self, Self::Error> {
        let mut slim = Self::default();
        for (bucket, count) in held {
            let cell = slim.counts.get_mut(usize::from(bucket)).ok_or("there is no such bucket")?;
            *cell += count;
        }
        Ok(slim)
    }
}

impl Slim {
    #[inline]
    pub(crate) fn record(&mut self, latency: Nanos) {
        self.counts[bucket(latency)] += 1;
    }

    pub(crate) fn add(&mut self, bucket: usize, count: u64) {
        self.counts[bucket] += count;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts.iter()).for_each(|(mine, more)| *mine += more);
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns a percentile by nearest rank, as the middle of its bucket; `None` if empty.
    pub(crate) fn percentile(&self, share: f64) -> Option<Nanos> {
        let rank = stats::nearest_rank(self.count(), units::Ratio::new(share))?;
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        found.map(middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_is_no_wider_than_it_says(ns in 0..=LONGEST_NS) {
            let middle = middle(bucket(Nanos(ns))).0;
            prop_assert!(middle.abs_diff(ns) <= (ns / 31).max(64), "{ns}: {middle}");
        }

        #[test]
        fn percentiles_are_those_of_the_sorted_values(
            mut values in proptest::collection::vec(0_u64..10_000_000_000, 1..200), share in 0.0..1.0,
        ) {
            let mut slim = Slim::default();
            values.iter().for_each(|value| slim.record(Nanos(*value)));
            values.sort_unstable();
            let rank = stats::nearest_rank(values.len() as u64, units::Ratio::new(share));
            let exact = values[usize::try_from(rank.expect("not empty")).expect("small") - 1];
            let found = slim.percentile(share).expect("not empty").0;
            prop_assert!(found.abs_diff(exact) <= (exact / 31).max(64), "{found} for {exact}");
        }
    }
}
