//! Comparison of two samples by ranks: Mann and Whitney's test, and Hodges and Lehmann's shift.

use statrs::distribution::{ContinuousCDF, Normal};
use units::Ratio;

use crate::interval::normal_quantile;
use crate::summary::median_of_sorted;

/// Maximum number of values in both samples together for which the null distribution is enumerated.
/// The cost grows with the fourth power: about ten million additions at this number.
const EXACT_MAX: usize = 60;

/// Result of Mann and Whitney's test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// Number of pairs in which the first sample's value is larger; ties count half.
    pub u: f64,
    /// Probability of a `u` at least this far from its mean, if both samples come from the same
    /// distribution.
    pub p_two_sided: f64,
    /// True if `p_two_sided` is exact; false if it is a normal approximation.
    pub exact: bool,
}

/// Runs Mann and Whitney's test (1947) of two independent samples, two-sided. `None` if a sample is
/// empty or has a NaN.
///
/// Up to 60 values in both samples together, the permutation distribution of the rank sum is
/// enumerated, including ties (mid-ranks; the conditional test of Lehmann 1975, section 1.4).
/// Above, it uses the normal approximation with continuity and tie correction (Hollander and Wolfe
/// 1999, section 4.1). The `statrs` implementation is not used: it has no exact test with ties, and
/// enumerates every combination one by one.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    let pooled = Pooled::new(first, second)?;
    let pairs = (first.len() * second.len()) as f64;
    let rank_sum: usize = pooled.doubled_ranks[..first.len()].iter().sum();
    let smallest = first.len() * (first.len() + 1) / 2;
    let u = rank_sum as f64 / 2.0 - smallest as f64;
    if first.len() + second.len() > EXACT_MAX {
        let p_two_sided = pooled.normal_p(u, pairs);
        return Some(MannWhitney { u, p_two_sided, exact: false });
    }
    let counts = subset_sums(&pooled.doubled_ranks, first.len());
    // Doubled rank sums are distributed around their mean `first * (n + 1)`.
    let centre = first.len() * (pooled.doubled_ranks.len() + 1);
    let distance = rank_sum.abs_diff(centre);
    let total: f64 = counts.iter().sum();
    let extreme: f64 = counts
        .iter()
        .enumerate()
        .filter(|(sum, _)| sum.abs_diff(centre) >= distance)
        .map(|(_, count)| count)
        .sum();
    Some(MannWhitney { u, p_two_sided: (extreme / total).min(1.0), exact: true })
}

/// Ranks of both samples together. The ranks of the first sample come first.
struct Pooled {
    /// Twice the mid-rank of every value; twice a mid-rank is a whole number.
    doubled_ranks: Vec<usize>,
    /// Sum of `t^3 - t` over groups of `t` equal values.
    ties: f64,
}

impl Pooled {
    fn new(first: &[f64], second: &[f64]) -> Option<Self> {
        let values: Vec<f64> = first.iter().chain(second).copied().collect();
        if first.is_empty() || second.is_empty() || values.iter().any(|v| v.is_nan()) {
            return None;
        }
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
        let mut doubled_ranks = vec![0; values.len()];
        let mut ties = 0.0;
        let mut below = 0;
        #[expect(clippy::float_cmp, reason = "a tie is exact equality")]
        for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
            for position in group {
                doubled_ranks[*position] = 2 * below + group.len() + 1;
            }
            let size = group.len() as f64;
            ties += size * size * size - size;
            below += group.len();
        }
        Some(Self { doubled_ranks, ties })
    }

    fn normal_p(&self, u: f64, pairs: f64) -> f64 {
        let n = self.doubled_ranks.len() as f64;
        let variance = pairs / 12.0 * (n + 1.0 - self.ties / (n * (n - 1.0)));
        if variance <= 0.0 {
            return 1.0; // all values equal
        }
        let distance = ((u - pairs / 2.0).abs() - 0.5).max(0.0);
        (2.0 * Normal::standard().sf(distance / variance.sqrt())).min(1.0)
    }
}

/// Returns the number of subsets of `size` values for each sum: entry `s` is the number of subsets
/// with sum `s`.
fn subset_sums(values: &[usize], size: usize) -> Vec<f64> {
    let mut largest = values.to_vec();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    let limit: usize = largest[..size].iter().sum();
    let mut counts = vec![vec![0.0; limit + 1]; size + 1];
    counts[0][0] = 1.0;
    for (seen, value) in values.iter().enumerate() {
        for chosen in (1..=size.min(seen + 1)).rev() {
            let (fewer, exactly) = counts.split_at_mut(chosen);
            for sum in *value..=limit {
                exactly[0][sum] += fewer[chosen - 1][sum - value];
            }
        }
    }
    counts.swap_remove(size)
}

/// Shift of one sample relative to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Median of all pairwise differences `second - first`.
    pub value: f64,
    /// Confidence interval; `None` if there are too few samples for the confidence (three against
    /// three cannot give 95 %).
    pub interval: Option<(f64, f64)>,
}

/// Estimates how far `second` lies above `first` (Hodges and Lehmann 1963). `None` if a sample is
/// empty or has a NaN.
///
/// The interval inverts Mann and Whitney's test (Moses 1965; Hollander and Wolfe 1999, sections 4.2
/// and 4.3). It is exact up to 60 values in both samples together, if there are no ties; with ties
/// it is conservative.
pub fn shift(first: &[f64], second: &[f64], confidence: Ratio) -> Option<Shift> {
    if first.iter().chain(second).any(|v| v.is_nan()) {
        return None;
    }
    let mut differences: Vec<f64> =
        first.iter().flat_map(|a| second.iter().map(move |b| b - a)).collect();
    differences.sort_by(f64::total_cmp);
    let value = median_of_sorted(&differences)?;
    let outside = differences_outside(first.len(), second.len(), confidence);
    let interval =
        (outside > 0).then(|| (differences[outside - 1], differences[differences.len() - outside]));
    Some(Shift { value, interval })
}

/// Estimates the ratio of `second` to `first`: [`shift`] of the logarithms. `None` if a value is
/// not above zero.
pub fn ratio_shift(first: &[f64], second: &[f64], confidence: Ratio) -> Option<Shift> {
    if !first.iter().chain(second).all(|v| *v > 0.0) {
        return None;
    }
    let logs = |values: &[f64]| values.iter().map(|v| libm::log(*v)).collect::<Vec<_>>();
    let found = shift(&logs(first), &logs(second), confidence)?;
    Some(Shift {
        value: libm::exp(found.value),
        interval: found.interval.map(|(low, high)| (libm::exp(low), libm::exp(high))),
    })
}

/// Returns the number of sorted differences outside the interval on each side, plus one. It is the
/// largest `c` with `P(U <= c - 1) <= alpha / 2`, or zero if there is none.
fn differences_outside(first: usize, second: usize, confidence: Ratio) -> usize {
    let tail = (1.0 - confidence.get()) / 2.0;
    if first + second > EXACT_MAX {
        return normal_differences_outside(first as f64, second as f64, confidence);
    }
    let ranks: Vec<usize> = (1..=first + second).collect();
    let counts = subset_sums(&ranks, first);
    let total: f64 = counts.iter().sum();
    let mut sum = 0.0;
    counts[first * (first + 1) / 2..]
        .iter()
        .take_while(|count| {
            sum += **count;
            sum / total <= tail * (1.0 + 1e-12)
        })
        .count()
}

/// Returns the number of differences outside by the normal approximation (Hollander and Wolfe 1999,
/// equation 4.41), rounded down. Rounding down is conservative.
fn normal_differences_outside(first: f64, second: f64, confidence: Ratio) -> usize {
    let pairs = first * second;
    let deviation = (pairs * (first + second + 1.0) / 12.0).sqrt();
    let outside = pairs / 2.0 - normal_quantile(confidence) * deviation;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "zero to half the pairs"
    )]
    let outside = outside.max(0.0) as usize;
    outside
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn p95() -> Ratio {
        Ratio::new(0.95)
    }

    /// Permeability of the human chorioamnion (Hollander and Wolfe 1999, table 4.1), at term. The
    /// other sample is from 12 to 26 weeks.
    const TERM: [f64; 10] = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    const WEEKS: [f64; 5] = [1.15, 0.88, 0.90, 0.74, 1.21];

    #[test]
    fn the_chorioamnion_example_gives_the_printed_p() {
        // Hollander and Wolfe: W = 30 for the second sample, one-sided P = 0.1272.
        let found = mann_whitney(&TERM, &WEEKS).expect("valid");
        assert_eq!((found.u, found.exact), (35.0, true));
        assert!((found.p_two_sided - 2.0 * 0.127_206_127).abs() < 1e-6, "{}", found.p_two_sided);
    }

    #[test]
    fn the_chorioamnion_example_gives_the_printed_shift() {
        // R's wilcox.test(x, y, conf.int = TRUE) prints 0.305 and -0.15 to 0.76.
        let found = shift(&WEEKS, &TERM, p95()).expect("valid");
        assert!((found.value - 0.305).abs() < 1e-9, "{}", found.value);
        let (low, high) = found.interval.expect("enough values");
        assert!((low + 0.15).abs() < 1e-9 && (high - 0.76).abs() < 1e-9, "{low} {high}");
    }

    /// Example from the documentation of `scipy.stats.mannwhitneyu`: ages at diagnosis.
    #[test]
    fn mann_whitney_matches_scipy_example_exact_and_normal() {
        let (males, females) = ([19.0, 22.0, 16.0, 29.0, 24.0], [20.0, 11.0, 17.0, 12.0]);
        let found = mann_whitney(&males, &females).expect("valid");
        assert_eq!(found.u, 17.0);
        assert!((found.p_two_sided - 1.0 / 9.0).abs() < 1e-12);
        let approximate = Pooled::new(&males, &females).expect("valid").normal_p(17.0, 20.0);
        assert!((approximate - 0.111_346_886_533_140_41).abs() < 1e-9, "{approximate}");
    }

    #[test]
    fn significance_needs_four_samples_a_side() {
        let apart = |n: u32| {
            let low: Vec<f64> = (0..n).map(f64::from).collect();
            let high: Vec<f64> = (0..n).map(|v| f64::from(v) + 100.0).collect();
            (mann_whitney(&low, &high).expect("valid").p_two_sided, shift(&low, &high, p95()))
        };
        let (p, shift) = apart(3);
        assert!((p - 0.1).abs() < 1e-12 && shift.expect("valid").interval.is_none());
        let (p, shift) = apart(4);
        assert!((p - 2.0 / 70.0).abs() < 1e-12);
        assert_eq!(shift.expect("valid").interval, Some((97.0, 103.0)));
    }

    #[test]
    fn equal_samples_are_not_different() {
        assert_eq!(mann_whitney(&[5.0; 4], &[5.0; 4]).expect("valid").p_two_sided, 1.0);
        assert_eq!(mann_whitney(&[5.0; 40], &[5.0; 40]).expect("valid").p_two_sided, 1.0);
        assert_eq!(shift(&[5.0; 4], &[5.0; 4], p95()).expect("valid").interval, Some((0.0, 0.0)));
    }

    #[test]
    fn a_doubling_is_a_ratio_of_two() {
        let first = [1.0, 1.1, 0.9, 1.05, 0.95];
        let second = first.map(|v| v * 2.0);
        let found = ratio_shift(&first, &second, p95()).expect("positive");
        assert!((found.value - 2.0).abs() < 1e-12);
        assert!(ratio_shift(&[0.0], &[1.0], p95()).is_none());
    }

    #[test]
    fn empty_samples_and_nan_have_no_answer() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[f64::NAN], &[1.0]), None);
        assert_eq!(shift(&[1.0], &[], p95()), None);
    }

    /// Computes the probability by enumerating all ways to choose the first sample from the pooled
    /// values.
    fn brute_force_p(first: &[f64], second: &[f64]) -> f64 {
        let u = |a: &[f64], b: &[f64]| {
            a.iter()
                .flat_map(|x| b.iter().map(move |y| (x, y)))
                .map(|(x, y)| {
                    if x > y {
                        1.0
                    } else if x < y {
                        0.0
                    } else {
                        0.5
                    }
                })
                .sum::<f64>()
        };
        let centre = (first.len() * second.len()) as f64 / 2.0;
        let distance = (u(first, second) - centre).abs();
        let pooled: Vec<f64> = first.iter().chain(second).copied().collect();
        let (mut extreme, mut all) = (0.0, 0.0);
        for mask in 0_u32..1 << pooled.len() {
            if mask.count_ones() as usize != first.len() {
                continue;
            }
            let side = |bit: u32| {
                let chosen = pooled.iter().enumerate().filter(|(i, _)| mask >> i & 1 == bit);
                chosen.map(|(_, v)| *v).collect::<Vec<_>>()
            };
            all += 1.0;
            if (u(&side(1), &side(0)) - centre).abs() >= distance - 1e-9 {
                extreme += 1.0;
            }
        }
        extreme / all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn p_is_the_share_of_permutations_ties_or_not(
            first in proptest::collection::vec(0_u8..8, 1..6),
            second in proptest::collection::vec(0_u8..8, 1..6),
        ) {
            let first: Vec<f64> = first.into_iter().map(f64::from).collect();
            let second: Vec<f64> = second.into_iter().map(f64::from).collect();
            let found = mann_whitney(&first, &second).expect("valid");
            prop_assert!((found.p_two_sided - brute_force_p(&first, &second)).abs() < 1e-9);
        }

        #[test]
        fn the_interval_holds_the_shifts_the_test_does_not_reject(
            first in proptest::collection::vec(0.0_f64..10.0, 4..8),
            second in proptest::collection::vec(0.0_f64..10.0, 4..8),
            moved in -12.0_f64..12.0,
        ) {
            let found = shift(&first, &second, p95()).expect("valid");
            let (low, high) = found.interval.expect("four against four is enough");
            let back: Vec<f64> = second.iter().map(|v| v - moved).collect();
            let accepted = mann_whitney(&first, &back).expect("valid").p_two_sided > 0.05;
            prop_assert_eq!(accepted, low < moved && moved < high);
        }

    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]
        #[test]
        fn the_normal_approximation_is_near_the_exact_one_at_the_border(
            first in proptest::collection::vec(0.0_f64..10.0, 28..30),
            second in proptest::collection::vec(0.0_f64..10.0, 28..30),
        ) {
            let exact = mann_whitney(&first, &second).expect("valid");
            let pooled = Pooled::new(&first, &second).expect("valid");
            let pairs = (first.len() * second.len()) as f64;
            prop_assert!((exact.p_two_sided - pooled.normal_p(exact.u, pairs)).abs() < 0.01);
            let outside = differences_outside(first.len(), second.len(), p95());
            let normal =
                normal_differences_outside(first.len() as f64, second.len() as f64, p95());
            prop_assert!(outside.abs_diff(normal) <= 1);
        }
    }
}
