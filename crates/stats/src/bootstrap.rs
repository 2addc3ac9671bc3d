//! Intervals by resampling.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{ContinuousCDF, Normal};
use units::{Nanos, Ratio};

use crate::histogram::Compact;
use crate::interval::Interval;
use crate::percentile::{PercentileEstimate, enough_samples, nearest_rank};

/// How an interval is taken from the resampled values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// The quantiles of the resampled values (Efron and Tibshirani 1993, chapter 13). Plain
    /// and never outside what was seen; slightly too narrow for few or skewed values.
    #[default]
    Percentile,
    /// Bias-corrected and accelerated quantiles (Efron 1987; Efron and Tibshirani 1993,
    /// chapter 14). Better for skewed statistics of about ten values or more; below, its
    /// acceleration is itself a guess, which is why it is not the default.
    BiasCorrected,
}

/// How to resample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// Confidence of the interval, between 0 and 1.
    pub confidence: Ratio,
    /// How many resamples; 1000 suffice for an interval at 95 % (Efron and Tibshirani 1993,
    /// section 13.5, say at least 1000).
    pub resamples: u32,
    /// The same seed gives the same interval, on every machine.
    pub seed: u64,
    /// How the interval is taken.
    pub method: Method,
}

impl Resampling {
    /// 95 %, 1000 resamples, percentile method.
    pub fn with_seed(seed: u64) -> Self {
        Self { confidence: Ratio::new(0.95), resamples: 1000, seed, method: Method::Percentile }
    }
}

/// Draws positions, the same for the same seed everywhere.
struct Draws(Xoshiro256PlusPlus);

impl Draws {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A position below `bound`, by multiply and shift (Lemire 2019, without the rejection
    /// step: the bias is below `bound / 2^64`).
    #[expect(clippy::cast_possible_truncation, reason = "the high word is below bound")]
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }

    fn resample<T: Clone>(&mut self, values: &[T], into: &mut Vec<T>) {
        into.clear();
        into.extend((0..values.len()).map(|_| values[self.below(values.len())].clone()));
    }
}

/// Any statistic of independent values with its bootstrap interval (Efron 1979). Values may
/// be anything that can be drawn again: runs, tiles, pairs. Nothing if there are no values,
/// no resamples, or the statistic is not a number.
pub fn bootstrap<T: Clone>(
    values: &[T],
    statistic: impl Fn(&[T]) -> f64,
    how: Resampling,
) -> Option<Interval> {
    if values.is_empty() {
        return None;
    }
    let value = statistic(values);
    let mut draws = Draws::new(how.seed);
    let mut drawn = Vec::with_capacity(values.len());
    let resampled = (0..how.resamples).map(|_| {
        draws.resample(values, &mut drawn);
        statistic(&drawn)
    });
    let resampled = sorted(resampled.collect());
    let tails = match how.method {
        Method::Percentile => plain_tails(how.confidence),
        Method::BiasCorrected => corrected_tails(values, &statistic, &resampled, value, how),
    };
    interval(value, &resampled, tails)
}

/// A statistic of two independent samples, each resampled by itself (Efron and Tibshirani
/// 1993, section 8.3), with the percentile interval whatever the method asked for.
pub fn bootstrap_two<T: Clone>(
    first: &[T],
    second: &[T],
    statistic: impl Fn(&[T], &[T]) -> f64,
    how: Resampling,
) -> Option<Interval> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let mut draws = Draws::new(how.seed);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let resampled = (0..how.resamples).map(|_| {
        draws.resample(first, &mut a);
        draws.resample(second, &mut b);
        statistic(&a, &b)
    });
    let resampled = sorted(resampled.collect());
    interval(statistic(first, second), &resampled, plain_tails(how.confidence))
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn plain_tails(confidence: Ratio) -> (f64, f64) {
    let tail = (1.0 - confidence.get()) / 2.0;
    (tail, 1.0 - tail)
}

fn interval(value: f64, resampled: &[f64], tails: (f64, f64)) -> Option<Interval> {
    if value.is_nan() || resampled.iter().any(|v| v.is_nan()) {
        return None;
    }
    let at = |share: f64| {
        let rank = nearest_rank(resampled.len() as u64, Ratio::new(share))?;
        resampled.get(usize::try_from(rank).ok()? - 1).copied()
    };
    Some(Interval { value, low: at(tails.0)?, high: at(tails.1)? })
}

/// The quantiles of Efron and Tibshirani 1993, equations 14.10 (tails), 14.14 (bias) and
/// 14.15 (acceleration by the jackknife).
fn corrected_tails<T: Clone>(
    values: &[T],
    statistic: &impl Fn(&[T]) -> f64,
    resampled: &[f64],
    value: f64,
    how: Resampling,
) -> (f64, f64) {
    let normal = Normal::standard();
    let below = resampled.iter().filter(|v| **v < value).count() as f64;
    let bias = normal.inverse_cdf(below / resampled.len() as f64);
    let acceleration = acceleration(values, statistic);
    let plain = plain_tails(how.confidence);
    if !bias.is_finite() || !acceleration.is_finite() {
        return plain; // all resamples on one side, or all values equal
    }
    let corrected = |tail: f64| {
        let z = bias + normal.inverse_cdf(tail);
        normal.cdf(bias + z / (1.0 - acceleration * z))
    };
    (corrected(plain.0), corrected(plain.1))
}

fn acceleration<T: Clone>(values: &[T], statistic: &impl Fn(&[T]) -> f64) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    let left_out: Vec<f64> = (0..values.len())
        .map(|skip| {
            let mut rest = values.to_vec();
            rest.remove(skip);
            statistic(&rest)
        })
        .collect();
    let mean = left_out.iter().sum::<f64>() / left_out.len() as f64;
    let power = |exponent| left_out.iter().map(|v| (mean - v).powi(exponent)).sum::<f64>();
    power(3) / (6.0 * power(2).powf(1.5))
}

/// The `share` percentile of all slices together, with an interval that respects that
/// neighbouring slices resemble each other.
///
/// Circular block bootstrap (Politis and Romano 1992): runs of `block` consecutive slices
/// (wrapping at the end) are drawn until there are as many as measured, their histograms
/// merged and the percentile taken of the merged one; percentiles themselves are never
/// averaged. Fewer than two slices, or a block as long as the series, leave the interval
/// open (`low` zero, `high` nothing). Nothing if nothing was recorded.
pub fn block_bootstrap_percentile(
    slices: &[Compact],
    share: Ratio,
    block: usize,
    how: Resampling,
) -> Option<PercentileEstimate> {
    let total: u64 = slices.iter().map(Compact::count).sum();
    let mut all = crate::Histogram::new();
    slices.iter().for_each(|slice| all.merge_compact(slice));
    let value = all.percentile(share)?;
    let open = PercentileEstimate {
        value,
        low: Nanos::ZERO,
        high: None,
        samples: total,
        enough: enough_samples(total, share),
    };
    let block = block.max(1);
    if slices.len() < 2 || block >= slices.len() || how.resamples == 0 {
        return Some(open);
    }
    let table = Table::new(slices, share);
    let mut draws = Draws::new(how.seed);
    let mut percentiles: Vec<Nanos> =
        (0..how.resamples).filter_map(|_| table.resampled_percentile(&mut draws, block)).collect();
    percentiles.sort_unstable();
    let (low, high) = plain_tails(how.confidence);
    let at = |tail| {
        let rank = nearest_rank(percentiles.len() as u64, Ratio::new(tail))?;
        percentiles.get(usize::try_from(rank).ok()? - 1).copied()
    };
    Some(PercentileEstimate { low: at(low).unwrap_or(Nanos::ZERO), high: at(high), ..open })
}

/// Slices in a block for a series of `slices`: the cube root, rounded up, the usual rate for
/// estimating a distribution's spread (Hall, Horowitz and Jing 1995; theirs is the exponent,
/// the factor one is our choice).
pub fn block_length(slices: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small, positive")]
    let length = libm::cbrt(slices as f64).ceil() as usize;
    length.max(1)
}

/// The slices as rows of counts over those buckets that can become the percentile.
///
/// The percentile of merged histograms lies between the smallest and the largest of theirs,
/// so everything below that range needs only a sum and everything above nothing.
struct Table {
    values: Vec<Nanos>,
    share: Ratio,
    rows: Vec<Row>,
}

struct Row {
    total: u64,
    below: u64,
    /// Position in `values` and count.
    counts: Vec<(usize, u64)>,
}

impl Table {
    fn new(slices: &[Compact], share: Ratio) -> Self {
        let own = || slices.iter().filter_map(|slice| slice.percentile(share));
        let low = own().min().unwrap_or(Nanos::ZERO);
        let high = own().max().unwrap_or(Nanos::ZERO);
        let inside = |value: &Nanos| (low..=high).contains(value);
        let mut values: Vec<Nanos> = slices
            .iter()
            .flat_map(|slice| slice.buckets.iter().map(|(value, _)| *value).filter(inside))
            .collect();
        values.sort_unstable();
        values.dedup();
        let row = |slice: &Compact| Row {
            total: slice.count(),
            below: slice
                .buckets
                .iter()
                .filter(|(value, _)| *value < low)
                .map(|(_, count)| u64::from(*count))
                .sum(),
            counts: slice
                .buckets
                .iter()
                .filter_map(|(value, count)| {
                    values.binary_search(value).ok().map(|at| (at, u64::from(*count)))
                })
                .collect(),
        };
        let rows = slices.iter().map(row).collect();
        Self { values, share, rows }
    }

    /// Nothing if only empty slices were drawn.
    fn resampled_percentile(&self, draws: &mut Draws, block: usize) -> Option<Nanos> {
        let mut counts = vec![0_u64; self.values.len()];
        let (mut total, mut seen) = (0, 0);
        for drawn in 0..self.rows.len().div_ceil(block) {
            let start = draws.below(self.rows.len());
            let wanted = block.min(self.rows.len() - drawn * block);
            for row in self.rows.iter().cycle().skip(start).take(wanted) {
                total += row.total;
                seen += row.below;
                row.counts.iter().for_each(|(at, count)| counts[*at] += count);
            }
        }
        let rank = nearest_rank(total, self.share)?;
        let position = counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(self.values[position])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;
    use crate::summary::{mean, median};
    use proptest::prelude::*;

    fn mean_of(values: &[f64]) -> f64 {
        mean(values).expect("not empty")
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let values: Vec<f64> = (1..20).map(|i| f64::from(i).powf(1.37)).collect();
        let once = bootstrap(&values, mean_of, Resampling::with_seed(7));
        assert_eq!(once, bootstrap(&values, mean_of, Resampling::with_seed(7)));
        assert_ne!(once, bootstrap(&values, mean_of, Resampling::with_seed(8)));
    }

    /// Every one of the 4^4 resamples, so the ideal bootstrap (Efron and Tibshirani 1993,
    /// section 6.2), against many random ones.
    #[test]
    fn many_resamples_approach_the_enumerated_bootstrap() {
        let values = [1.0, 2.0, 4.0, 8.0];
        let mut all = Vec::new();
        for code in 0..256_usize {
            let drawn = [code % 4, code / 4 % 4, code / 16 % 4, code / 64].map(|i| values[i]);
            all.push(mean_of(&drawn));
        }
        let ideal = interval(3.75, &sorted(all), plain_tails(Ratio::new(0.9))).expect("numbers");
        let how = Resampling {
            confidence: Ratio::new(0.9),
            resamples: 20_000,
            ..Resampling::with_seed(1)
        };
        let found = bootstrap(&values, mean_of, how).expect("numbers");
        assert!((found.low - ideal.low).abs() <= 0.25, "{found:?} {ideal:?}");
        assert!((found.high - ideal.high).abs() <= 0.25, "{found:?} {ideal:?}");
    }

    /// For a mean, the bootstrap spread tends to `sigma / sqrt(n)` (plug-in sigma).
    #[test]
    fn the_interval_of_a_mean_has_the_width_theory_says() {
        let values: Vec<f64> = (0..200).map(|i| f64::from(i * 7919 % 200)).collect();
        let centre = mean_of(&values);
        let sigma = (values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / 200.0).sqrt();
        let how = Resampling { resamples: 4000, ..Resampling::with_seed(3) };
        let half = 1.96 * sigma / 200_f64.sqrt();
        for method in [Method::Percentile, Method::BiasCorrected] {
            let found = bootstrap(&values, mean_of, Resampling { method, ..how }).expect("numbers");
            assert!(((found.high - found.low) / (2.0 * half) - 1.0).abs() < 0.06, "{found:?}");
        }
    }

    /// For the mean of exponential values the exact interval is known (chi-squared), and it
    /// reaches further up than down; BCa must lean that way more than the plain interval.
    #[test]
    fn the_corrected_interval_leans_towards_the_long_tail() {
        let values: Vec<f64> = (0..20).map(|i| -(1.0 - (f64::from(i) + 0.5) / 20.0).ln()).collect();
        let lean = |method| {
            let how = Resampling { resamples: 4000, method, ..Resampling::with_seed(5) };
            let found = bootstrap(&values, mean_of, how).expect("numbers");
            (found.high - found.value) / (found.value - found.low)
        };
        assert!(lean(Method::BiasCorrected) > lean(Method::Percentile) * 1.05);
    }

    /// Acceleration of a mean is a sixth of the skewness over the root of n (Efron and
    /// Tibshirani 1993, section 14.3).
    #[test]
    fn acceleration_of_a_mean_is_its_skewness() {
        let values = [94.0, 197.0, 16.0, 38.0, 99.0, 141.0, 23.0];
        let centre = mean_of(&values);
        let moment = |k| values.iter().map(|v: &f64| (v - centre).powi(k)).sum::<f64>();
        let expected = moment(3) / moment(2).powf(1.5) / 6.0;
        assert!((acceleration(&values, &mean_of) - expected).abs() < 1e-12);
    }

    #[test]
    fn equal_values_have_an_interval_of_no_width() {
        let how = Resampling { method: Method::BiasCorrected, ..Resampling::with_seed(1) };
        let found = bootstrap(&[2.0; 5], mean_of, how).expect("numbers");
        assert_eq!((found.low, found.value, found.high), (2.0, 2.0, 2.0));
        assert_eq!(bootstrap(&[], mean_of, how), None);
        assert_eq!(bootstrap(&[f64::NAN], mean_of, how), None);
    }

    #[test]
    fn a_ratio_of_two_samples_is_bracketed() {
        let first = [10.0, 10.2, 9.8, 10.1, 9.9];
        let second = first.map(|v| v * 1.5);
        let ratio =
            |a: &[f64], b: &[f64]| median(b).expect("not empty") / median(a).expect("not empty");
        let found =
            bootstrap_two(&first, &second, ratio, Resampling::with_seed(2)).expect("numbers");
        assert!(found.low < 1.5 && 1.5 < found.high && found.high < 1.6, "{found:?}");
    }

    fn slice(values: &[u64]) -> Compact {
        let mut histogram = Histogram::new();
        values.iter().for_each(|v| histogram.record(Nanos(*v)));
        histogram.compact()
    }

    /// 60 slices whose level wanders in blocks of ten: neighbours are alike.
    fn wandering() -> Vec<Compact> {
        (0..60_u64)
            .map(|i| {
                let level = 1_000_000 + (i / 10 * 7 % 6) * 200_000;
                slice(&(0..100).map(|k| level + k * 1000).collect::<Vec<_>>())
            })
            .collect()
    }

    #[test]
    fn alike_neighbours_make_a_wider_interval() {
        let width = |block| {
            let found = block_bootstrap_percentile(
                &wandering(),
                Ratio::new(0.5),
                block,
                Resampling::with_seed(9),
            )
            .expect("not empty");
            assert!(found.low <= found.value && Some(found.value) <= found.high);
            found.high.expect("bounded").0 - found.low.0
        };
        assert!(width(10) > width(1), "{} {}", width(10), width(1));
    }

    #[test]
    fn one_slice_has_a_percentile_but_no_interval() {
        let found = block_bootstrap_percentile(
            &[slice(&[1, 2, 3])],
            Ratio::new(0.5),
            1,
            Resampling::with_seed(1),
        )
        .expect("not empty");
        assert_eq!((found.value, found.low, found.high), (Nanos(2), Nanos::ZERO, None));
        assert!(!found.enough);
        let nothing = block_bootstrap_percentile(
            &[slice(&[]), slice(&[])],
            Ratio::new(0.5),
            1,
            Resampling::with_seed(1),
        );
        assert_eq!(nothing, None);
    }

    #[test]
    fn blocks_grow_with_the_cube_root() {
        assert_eq!([1, 8, 27, 60, 300].map(block_length), [1, 2, 3, 4, 7]);
    }

    proptest! {
        /// The table's shortcut against merging whole histograms.
        #[test]
        fn the_resampled_percentile_is_that_of_the_merged_histograms(
            slices in proptest::collection::vec(
                proptest::collection::vec(0_u64..100_000, 0..20), 2..8),
            share in 0.01_f64..1.0,
            seed: u64,
            block in 1_usize..3,
        ) {
            let slices: Vec<Compact> = slices.iter().map(|values| slice(values)).collect();
            let share = Ratio::new(share);
            let found =
                Table::new(&slices, share).resampled_percentile(&mut Draws::new(seed), block);
            let mut draws = Draws::new(seed);
            let mut merged = Histogram::new();
            let mut left = slices.len();
            while left > 0 {
                let start = draws.below(slices.len());
                for offset in 0..block.min(left) {
                    merged.merge_compact(&slices[(start + offset) % slices.len()]);
                }
                left -= block.min(left);
            }
            prop_assert_eq!(found, merged.percentile(share));
        }
    }
}
