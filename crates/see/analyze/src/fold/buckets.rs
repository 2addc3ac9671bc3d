//! Histograms of VMware's vscsiStats, with its bucket limits.
//!
//! Ahmad, "Easy and Efficient Disk I/O Workload Characterization in VMware ESX Server", IISWC 2007;
//! the limits are those that the tool prints. A value belongs to the first bucket whose limit is at
//! least the value, or to the last bucket, which has no limit.

use serde::{Deserialize, Serialize};

/// Limits of I/O lengths, bytes.
pub(crate) const LENGTH: &[i32] = &[
    512, 1024, 2048, 4095, 4096, 8191, 8192, 16_383, 16_384, 32_768, 49_152, 65_535, 65_536,
    81_920, 131_072, 262_144, 524_288,
];
/// Limits of distances, in sectors of 512 B from the last sector of one I/O to the first of
/// another: 1 is adjacent.
pub(crate) const SEEK: &[i32] = &[
    -500_000, -100_000, -50_000, -10_000, -5000, -1000, -500, -128, -64, -32, -16, -8, -6, -4, -2,
    -1, 0, 1, 2, 4, 6, 8, 16, 32, 64, 128, 500, 1000, 5000, 10_000, 50_000, 100_000, 500_000,
];
/// Limits of latencies and of times between arrivals, microseconds.
pub(crate) const TIME: &[i32] = &[1, 10, 100, 500, 1000, 5000, 15_000, 30_000, 50_000, 100_000];
/// Limits of outstanding I/Os, including the new one.
pub(crate) const OUTSTANDING: &[i32] = &[1, 2, 4, 6, 8, 12, 16, 20, 24, 28, 32, 64];

/// Value beyond all limits.
const FAR: i64 = 1 << 30;
/// Maximum number of buckets: the length of the longest list of limits, plus one for the last
/// bucket.
const ROOM: usize = 34;

/// Counts by bucket, with the statistics that vscsiStats prints above them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Carried", into = "Carried")]
pub struct Buckets {
    limits: &'static [i32],
    counts: [u64; ROOM],
    /// Smallest value; `max` is the largest. Both are meaningless without values.
    min: i64,
    max: i64,
    sum: i128,
}

impl Buckets {
    pub(crate) const fn new(limits: &'static [i32]) -> Self {
        assert!(limits.len() < ROOM, "more limits than room");
        Self { limits, counts: [0; ROOM], min: i64::MAX, max: i64::MIN, sum: 0 }
    }

    #[inline]
    pub(crate) fn add(&mut self, value: i64) {
        // Counting is faster than a search: no branch depends on the value, and several limits are
        // compared at once. All limits fit into 32 bits.
        let near = i32::try_from(value.clamp(-FAR, FAR)).unwrap_or(0);
        let bucket = self.limits.iter().map(|limit| i32::from(*limit < near)).sum::<i32>();
        let bucket = usize::try_from(bucket).unwrap_or(0);
        self.counts[bucket] += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += i128::from(value);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, more)| *mine += more);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
    }

    /// Returns the largest value of each bucket, except of the last bucket, which has no limit.
    pub fn limits(&self) -> &'static [i32] {
        self.limits
    }

    /// Returns the counts by limit, and then the count above the last limit.
    pub fn counts(&self) -> &[u64] {
        &self.counts[..=self.limits.len()]
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.counts().iter().sum()
    }

    pub(crate) fn range(&self) -> Option<(i64, i64)> {
        (self.min <= self.max).then_some((self.min, self.max))
    }

    /// Returns the mean, rounded towards zero as the tool prints it.
    pub(crate) fn mean(&self) -> Option<i64> {
        let count = i128::from(self.count());
        (count > 0).then(|| i64::try_from(self.sum / count).unwrap_or(i64::MAX))
    }
}

/// [`Buckets`] in messages: the length identifies the list of limits.
#[derive(Serialize, Deserialize)]
struct Carried {
    counts: Vec<u64>,
    min: i64,
    max: i64,
    sum: i128,
}

impl From<Buckets> for Carried {
    fn from(of: Buckets) -> Self {
        Self { counts: of.counts().to_vec(), min: of.min, max: of.max, sum: of.sum }
    }
}

impl TryFrom<Carried> for Buckets {
    type Error = &'static str;

    fn try_from(carried: Carried) -> Result<Self, Self::Error> {
        let is_it = |limits: &&[i32]| limits.len() + 1 == carried.counts.len();
        let limits = [LENGTH, SEEK, TIME, OUTSTANDING].into_iter().find(is_it);
        let mut buckets = Self::new(limits.ok_or("no histogram has so many buckets")?);
        buckets.counts[..carried.counts.len()].copy_from_slice(&carried.counts);
        (buckets.min, buckets.max, buckets.sum) = (carried.min, carried.max, carried.sum);
        Ok(buckets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_first_bucket_that_reaches_it() {
        let mut lengths = Buckets::new(LENGTH);
        for value in [1, 512, 513, 4095, 4096, 4097, 524_288, 524_289, 4 << 20] {
            lengths.add(value);
        }
        let used: Vec<(usize, u64)> =
            lengths.counts().iter().copied().enumerate().filter(|(_, count)| *count > 0).collect();
        assert_eq!(used, [(0, 2), (1, 1), (3, 1), (4, 1), (5, 1), (16, 1), (17, 2)]);
        assert_eq!((lengths.range(), lengths.count()), (Some((1, 4 << 20)), 9));
    }
}
