//! Percentiles and their confidence intervals, for independent samples.

use units::{Nanos, Ratio};

use crate::Histogram;

/// Percentile with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PercentileEstimate {
    /// Percentile of all recorded values.
    pub value: Nanos,
    /// Lower end of the interval; zero if the samples do not bound it.
    pub low: Nanos,
    /// Upper end of the interval; `None` if the samples do not bound it.
    pub high: Option<Nanos>,
    /// Number of samples.
    pub samples: u64,
    /// True if the number of samples suffices by [`enough_samples`].
    pub enough: bool,
}

/// Returns true if `count` samples suffice for the `share` percentile. At least ten samples must be
/// expected beyond the percentile, `n >= 10 / (1 - p)`. We chose the usual rule of ten: with fewer
/// samples, one outlier moves the percentile. Always false for 100 % (the maximum).
pub fn enough_samples(count: u64, share: Ratio) -> bool {
    let beyond = count as f64 * (1.0 - share.get());
    beyond >= 10.0 * (1.0 - 1e-9)
}

/// Ranks (from 1) of the ends of a percentile's interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankInterval {
    /// Rank of the lower end; `None` if no sample is below the percentile with this confidence.
    pub low: Option<u64>,
    /// Rank of the upper end; `None` if no sample is above the percentile with this confidence.
    pub high: Option<u64>,
}

/// Returns the order statistics that enclose the `share` percentile of the population with at least
/// `confidence`, for `count` independent samples.
///
/// The number of samples below the percentile is binomial. The lower rank is therefore the largest
/// `r` with `P(B <= r - 1) <= alpha/2`, and the upper rank is the smallest `s` with
/// `P(B <= s - 1) >= 1 - alpha/2` (Hahn and Meeker 1991, section 5.2; Conover 1999, section 3.2).
/// The method is exact for every count. It is conservative, because ranks are whole numbers.
pub fn percentile_ranks(count: u64, share: Ratio, confidence: Ratio) -> RankInterval {
    let tail = (1.0 - confidence.get()) / 2.0;
    let p = share.get();
    if count == 0 || p <= 0.0 || p >= 1.0 {
        return RankInterval { low: None, high: None };
    }
    let mut ranks = RankInterval { low: None, high: None };
    for (successes, cumulative) in binomial_cumulative(count, p) {
        if cumulative <= tail {
            ranks.low = Some(successes + 1);
        }
        if cumulative >= 1.0 - tail {
            ranks.high = (successes < count).then_some(successes + 1);
            break;
        }
    }
    ranks
}

/// Iterates over `(k, P(B <= k))` for a binomial `B` with `count` trials. It covers every `k` whose
/// probability is not negligible (below 1e-18 of the most likely one).
///
/// Weights are built outwards from the mode by the ratio of neighbouring terms and divided by their
/// sum. No factorials are needed, and the work is about ten standard deviations.
fn binomial_cumulative(count: u64, p: f64) -> impl Iterator<Item = (u64, f64)> {
    const NEGLIGIBLE: f64 = 1e-18;
    let odds = p / (1.0 - p);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to count")]
    let mode = (((count + 1) as f64 * p) as u64).min(count);
    let mut weights = std::collections::VecDeque::from([1.0_f64]);
    let mut first = mode;
    while first > 0 && weights[0] > NEGLIGIBLE {
        let below = weights[0] * first as f64 / ((count - first + 1) as f64 * odds);
        weights.push_front(below);
        first -= 1;
    }
    let mut last = mode;
    let mut weight = 1.0;
    while last < count && weight > NEGLIGIBLE {
        weight *= (count - last) as f64 * odds / (last + 1) as f64;
        weights.push_back(weight);
        last += 1;
    }
    let total: f64 = weights.iter().sum();
    let mut sum = 0.0;
    (first..=last).zip(weights).map(move |(k, weight)| {
        sum += weight;
        (k, sum / total)
    })
}

impl Histogram {
    /// Estimates a percentile with the interval of [`percentile_ranks`]; `None` if the histogram is
    /// empty. The interval is valid for independent samples only. Consecutive latencies of a run
    /// are correlated; [`crate::percentile_of_blocks`] gives a valid interval for such a time
    /// series.
    pub fn percentile_estimate(
        &self,
        share: Ratio,
        confidence: Ratio,
    ) -> Option<PercentileEstimate> {
        let ranks = percentile_ranks(self.count(), share, confidence);
        Some(PercentileEstimate {
            value: self.percentile(share)?,
            low: ranks.low.and_then(|rank| self.value_at_rank(rank)).unwrap_or(Nanos::ZERO),
            high: ranks.high.and_then(|rank| self.value_at_rank(rank)),
            samples: self.count(),
            enough: enough_samples(self.count(), share),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HALF: f64 = 0.5;

    fn ranks(count: u64, share: f64, confidence: f64) -> (Option<u64>, Option<u64>) {
        let found = percentile_ranks(count, Ratio::new(share), Ratio::new(confidence));
        (found.low, found.high)
    }

    /// Published table of distribution-free intervals for the median at 95 % (for instance Conover
    /// 1999, section 3.4: sign test, table A3).
    #[test]
    fn median_intervals_are_those_of_the_printed_table() {
        for (count, low, high) in [(6, 1, 6), (10, 2, 9), (15, 4, 12), (20, 6, 15), (25, 8, 18)] {
            assert_eq!(ranks(count, HALF, 0.95), (Some(low), Some(high)), "n = {count}");
        }
        assert_eq!(ranks(5, HALF, 0.95), (None, None), "1/32 on each side is more than 2.5 %");
    }

    #[test]
    fn few_samples_do_not_bound_a_high_percentile_from_above() {
        assert_eq!(ranks(100, 0.99, 0.95).1, None);
        // P(all 368 below p99) = 0.99^368 = 0.0248: the first count that bounds it.
        assert_eq!(ranks(367, 0.99, 0.95).1, None);
        assert_eq!(ranks(368, 0.99, 0.95).1, Some(368));
    }

    #[test]
    fn a_billion_samples_agree_with_the_normal_approximation() {
        let (low, high) = ranks(1_000_000_000, 0.99, 0.95);
        let half_width = 1.959_964 * (1e9_f64 * 0.99 * 0.01).sqrt();
        assert!((low.expect("bounded") as f64 - (0.99e9 - half_width)).abs() < 3.0);
        assert!((high.expect("bounded") as f64 - (0.99e9 + half_width)).abs() < 3.0);
    }

    #[test]
    fn ten_samples_must_lie_beyond_a_percentile() {
        assert!(enough_samples(1000, Ratio::new(0.99)) && !enough_samples(999, Ratio::new(0.99)));
        assert!(enough_samples(200, Ratio::new(0.95)) && !enough_samples(199, Ratio::new(0.95)));
        assert!(!enough_samples(u64::MAX, Ratio::ONE));
    }

    #[test]
    fn an_estimate_brackets_the_percentile_and_says_when_it_cannot() {
        let mut histogram = Histogram::new();
        (1..=1000_u64).for_each(|v| histogram.record(Nanos(v * 1000)));
        let p95 =
            histogram.percentile_estimate(Ratio::new(0.95), Ratio::new(0.95)).expect("not empty");
        assert!(p95.enough && p95.low < p95.value && Some(p95.value) < p95.high);
        let p999 =
            histogram.percentile_estimate(Ratio::new(0.999), Ratio::new(0.95)).expect("not empty");
        assert!(!p999.enough && p999.high.is_none());
    }

    fn choose(n: u64, k: u64) -> f64 {
        (0..k).map(|i| (n - i) as f64 / (k - i) as f64).product()
    }

    proptest! {
        /// Sums the binomial terms one by one, and checks the definition on both sides.
        #[test]
        fn ranks_are_the_tightest_that_keep_the_confidence(
            count in 1_u64..60, share in 0.01_f64..0.99, confidence in 0.5_f64..0.999
        ) {
            let below = |r: u64| (0..r)
                .map(|k| choose(count, k) * share.powf(k as f64)
                    * (1.0 - share).powf((count - k) as f64))
                .sum::<f64>();
            let tail = (1.0 - confidence) / 2.0;
            let (low, high) = ranks(count, share, confidence);
            let near = |value: f64, edge: f64| (value - edge).abs() < 1e-9;
            let by_hand_low = (1..=count).rev().find(|r| below(*r) <= tail);
            let by_hand_high = (1..=count).find(|s| below(*s) >= 1.0 - tail);
            prop_assume!(!(0..=count + 1).any(|r| near(below(r), tail) || near(below(r), 1.0 - tail)));
            prop_assert_eq!(low, by_hand_low);
            prop_assert_eq!(high, by_hand_high);
        }
    }
}
