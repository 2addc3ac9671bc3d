//! Intervals by resampling.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{ContinuousCDF, Normal};
use units::Ratio;

use crate::interval::Interval;
use crate::nearest::nearest_rank;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{mean, median};

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
}
