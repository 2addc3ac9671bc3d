//! Summary values that are stored beside every histogram, so that common questions need no HDR
//! library.

use stats::Compact;
use units::Nanos;

/// Summary of a histogram. Percentiles follow HDR's rule: the upper bound of the first bucket at
/// which the cumulative count reaches `ceil(q * count)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Summary {
    pub count: u64,
    pub min: Nanos,
    pub mean: Nanos,
    pub p50: Nanos,
    pub p95: Nanos,
    pub p99: Nanos,
    pub p999: Nanos,
    pub max: Nanos,
}

impl Summary {
    /// Computes the summary of a histogram; `None` if it is empty.
    pub(crate) fn of(histogram: &Compact) -> Option<Self> {
        let (min, _) = histogram.buckets().next()?;
        let (count, max) = (histogram.count(), histogram.max()?);
        let [p50, p95, p99, p999] = percentiles(histogram, count, [500, 950, 990, 999]);
        let mean = u64::try_from(histogram.sum_ns / u128::from(count)).unwrap_or(u64::MAX);
        Some(Self { count, min, mean: Nanos(mean), p50, p95, p99, p999, max })
    }
}

/// Returns the percentiles of a histogram, for ascending shares in per mille.
fn percentiles<const N: usize>(histogram: &Compact, count: u64, per_mille: [u64; N]) -> [Nanos; N] {
    let mut found = [Nanos::ZERO; N];
    let (mut next, mut running) = (0, 0_u128);
    for (value, bucket) in histogram.buckets() {
        running += u128::from(bucket);
        while next < N && running * 1000 >= u128::from(count) * u128::from(per_mille[next]) {
            found[next] = value;
            next += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Histogram;

    #[test]
    fn summary_of_1_to_100_us_has_the_known_percentiles() {
        let mut histogram = Histogram::new();
        for us in 1..=100 {
            histogram.record(Nanos::from_micros(us));
        }
        let summary = Summary::of(&histogram.compact()).expect("not empty");
        assert_eq!(summary.count, 100);
        assert_eq!(summary.mean, Nanos(50_500));
        for (found, exact) in
            [(summary.p50, 50_000), (summary.p95, 95_000), (summary.p999, 100_000)]
        {
            assert!((exact..=exact + exact / 128).contains(&found.0), "{found} for {exact} ns");
        }
    }

    #[test]
    fn an_empty_histogram_has_no_summary() {
        assert_eq!(Summary::of(&Compact::default()), None);
    }
}
