/// Binary logarithm of the number of buckets per doubling: a distance is off by at most one part in
/// 256.
const STEPS_LOG2: u32 = 8;

/// Histogram of weights by distance. Bucket widths grow with the distance.
#[derive(Debug, Clone, Default)]
pub(super) struct DistanceHistogram {
    weights: Vec<f64>,
}

impl DistanceHistogram {
    pub(super) fn add(&mut self, distance: u64, weight: f64) {
        let at = bucket(distance);
        if at >= self.weights.len() {
            self.weights.resize(at + 1, 0.0);
        }
        self.weights[at] += weight;
    }

    pub(super) fn total(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// Iterates over the non-empty buckets, ascending: largest distance and weight of each.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, f64)> {
        let used = self.weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        used.map(|(at, weight)| (last_of(at), *weight))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "at most 64 doublings of 256 buckets")]
fn bucket(distance: u64) -> usize {
    let shift = (63 - (distance | 1).leading_zeros()).saturating_sub(STEPS_LOG2);
    ((u64::from(shift) << STEPS_LOG2) + (distance >> shift)) as usize
}

fn last_of(bucket: usize) -> u64 {
    let shift = (bucket >> STEPS_LOG2).saturating_sub(1);
    let steps = bucket - (shift << STEPS_LOG2);
    ((steps as u64 + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_buckets_end_within_one_part_in_256() {
        let far = (10..40).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for distance in (1..100_000_u64).chain(far) {
            let last = last_of(bucket(distance));
            assert!(last >= distance && (last - distance) * 256 <= distance, "{distance}: {last}");
            assert!(bucket(last) == bucket(distance) && bucket(last + 1) > bucket(last));
        }
    }
}
