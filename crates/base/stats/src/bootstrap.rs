//! Confidence intervals by resampling: the quantiles of the resampled values (Efron and Tibshirani
//! 1993, chapter 13). The method is simple, and never gives values outside the observed range. Its
//! intervals are slightly too narrow for few or skewed values. Corrected quantiles (chapter 14 of
//! the same book) were tried: with fewer than about ten values their acceleration is itself a
//! guess.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::Ratio;

use crate::interval::Interval;
use crate::nearest::nearest_rank;

/// Parameters of resampling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// Confidence of the interval, between 0 and 1.
    pub confidence: Ratio,
    /// Number of resamples; 1000 suffice for an interval at 95 % (Efron and Tibshirani 1993,
    /// section 13.5, recommend at least 1000).
    pub resamples: u32,
    /// Seed; the same seed gives the same interval on every computer.
    pub seed: u64,
}

impl Resampling {
    /// Returns a confidence of 95 % and 1000 resamples, with this seed.
    pub fn with_seed(seed: u64) -> Self {
        Self { confidence: Ratio::new(0.95), resamples: 1000, seed }
    }
}

/// Random generator of indices. Equal seeds give equal indices on every computer.
struct Draws(Xoshiro256PlusPlus);

impl Draws {
    fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns an index below `bound`, by multiply and shift (Lemire 2019, without the rejection
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

/// Computes a statistic of independent values, with its bootstrap interval (Efron 1979). Values may
/// be anything that can be resampled: runs, tiles, pairs. `None` if there are no values, no
/// resamples, or the statistic is not a number.
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
    interval(value, &resampled, how.confidence)
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

fn interval(value: f64, resampled: &[f64], confidence: Ratio) -> Option<Interval> {
    if value.is_nan() || resampled.iter().any(|v| v.is_nan()) {
        return None;
    }
    let at = |share: f64| {
        let rank = nearest_rank(resampled.len() as u64, Ratio::new(share))?;
        resampled.get(usize::try_from(rank).ok()? - 1).copied()
    };
    let tail = (1.0 - confidence.get()) / 2.0;
    Some(Interval { value, low: at(tail)?, high: at(1.0 - tail)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::mean;

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

    /// Compares the ideal bootstrap, which enumerates all 4^4 resamples (Efron and Tibshirani 1993,
    /// section 6.2), with many random resamples.
    #[test]
    fn many_resamples_approach_the_enumerated_bootstrap() {
        let values = [1.0, 2.0, 4.0, 8.0];
        let mut all = Vec::new();
        for code in 0..256_usize {
            let drawn = [code % 4, code / 4 % 4, code / 16 % 4, code / 64].map(|i| values[i]);
            all.push(mean_of(&drawn));
        }
        let ideal = interval(3.75, &sorted(all), Ratio::new(0.9)).expect("numbers");
        let how = Resampling {
            confidence: Ratio::new(0.9),
            resamples: 20_000,
            ..Resampling::with_seed(1)
        };
        let found = bootstrap(&values, mean_of, how).expect("numbers");
        assert!((found.low - ideal.low).abs() <= 0.25, "{found:?} {ideal:?}");
        assert!((found.high - ideal.high).abs() <= 0.25, "{found:?} {ideal:?}");
    }

    /// For a mean, the bootstrap spread approaches `sigma / sqrt(n)` (plug-in sigma).
    #[test]
    fn the_interval_of_a_mean_has_the_width_theory_says() {
        let values: Vec<f64> = (0..200).map(|i| f64::from(i * 7919 % 200)).collect();
        let centre = mean_of(&values);
        let sigma = (values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / 200.0).sqrt();
        let how = Resampling { resamples: 4000, ..Resampling::with_seed(3) };
        let half = 1.96 * sigma / 200_f64.sqrt();
        let found = bootstrap(&values, mean_of, how).expect("numbers");
        assert!(((found.high - found.low) / (2.0 * half) - 1.0).abs() < 0.06, "{found:?}");
    }

    #[test]
    fn equal_values_have_an_interval_of_no_width() {
        let how = Resampling::with_seed(1);
        let found = bootstrap(&[2.0; 5], mean_of, how).expect("numbers");
        assert_eq!((found.low, found.value, found.high), (2.0, 2.0, 2.0));
        assert_eq!(bootstrap(&[], mean_of, how), None);
        assert_eq!(bootstrap(&[f64::NAN], mean_of, how), None);
    }
}
