//! Steady state: where the warm-up ends, and whether repeats agree.

use crate::summary::mean;

/// How many values MSER-5 puts into a batch.
const BATCH: usize = 5;

/// How many values at the start of a series belong to the warm-up, by MSER-5 (White 1997;
/// White, Cobb and Spratt 2000, "A comparison of five steady-state truncation heuristics
/// for simulation", section 2.5).
///
/// Means of batches of five are taken, and the cut that makes the standard error of what
/// remains smallest is chosen: minimise `sum (y - mean)^2 / (n - d)^2` over `d`. A minimum in
/// the second half means that the series is too short to tell (same source), which is
/// `None`, as is a series of fewer than ten values. Values after the last whole batch take
/// no part.
pub fn mser5(series: &[f64]) -> Option<usize> {
    let batches: Vec<f64> =
        series.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if batches.len() < 2 {
        return None;
    }
    let (mut best, mut best_statistic) = (batches.len(), f64::INFINITY);
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    // Backwards, so that each cut adds one batch (Welford 1962); one batch alone has no
    // spread and would always win, so at least two remain.
    for (cut, batch) in batches.iter().enumerate().rev() {
        count += 1.0;
        let before = batch - mean;
        mean += before / count;
        squares += before * (batch - mean);
        let statistic = squares / (count * count);
        if count >= 2.0 && statistic <= best_statistic {
            (best, best_statistic) = (cut, statistic);
        }
    }
    (best * 2 <= batches.len()).then_some(best * BATCH)
}

/// The warm-up that satisfies every series: the longest of their [`mser5`] cuts. Nothing if
/// one of them cannot tell, or there are none.
pub fn mser5_of_all<'a>(series: impl IntoIterator<Item = &'a [f64]>) -> Option<usize> {
    series.into_iter().map(mser5).try_fold(None, |longest, cut| Some(longest.max(Some(cut?))))?
}

/// What a window of a series must look like to count as steady.
///
/// After the SNIA Solid State Storage Performance Test Specification (PTS 2.0.1, definition
/// of steady state): five rounds, range at most 20 % of their mean, and the least-squares
/// line through them rising or falling at most 10 % of their mean from end to end. Theirs
/// are rounds of a minute; the caller chooses what one value is, which should span whole
/// bursts of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyRule {
    /// Values in the window, at least 2.
    pub window: usize,
    /// Largest `(max - min) / mean`.
    pub range_max: f64,
    /// Largest rise or fall of the fitted line over the window, divided by the mean.
    pub slope_max: f64,
}

impl SteadyRule {
    /// The values of the SNIA specification.
    pub const SNIA: Self = Self { window: 5, range_max: 0.20, slope_max: 0.10 };
}

/// How a window looked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowCheck {
    /// Mean of its values.
    pub mean: f64,
    /// `(max - min) / mean`.
    pub range: f64,
    /// Rise or fall of the fitted line over the window, divided by the mean; never negative.
    pub slope: f64,
    /// Whether both keep to the rule.
    pub steady: bool,
}

impl SteadyRule {
    /// Looks at the last `window` values. Nothing if there are fewer, or if the window is
    /// shorter than 2. A window of zeros only is steady; a mean of zero otherwise is not.
    pub fn check(&self, series: &[f64]) -> Option<WindowCheck> {
        if self.window < 2 || series.len() < self.window {
            return None;
        }
        let window = &series[series.len() - self.window..];
        let mean = mean(window)?;
        let (low, high) = window
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        let run = (self.window - 1) as f64;
        let rise = (least_squares_slope(window) * run).abs();
        let share = |part: f64| if part == 0.0 { 0.0 } else { part / mean.abs() };
        let (range, slope) = (share(high - low), share(rise));
        let steady = range <= self.range_max && slope <= self.slope_max;
        Some(WindowCheck { mean, range, slope, steady })
    }

    /// The first position after which the rule held for the window that ends there: as many
    /// values had been seen when it first became true. Nothing if it never did.
    pub fn first_steady(&self, series: &[f64]) -> Option<usize> {
        first_steady_of_all(&[(*self, series)])
    }
}

/// How many values had been seen when all series were steady at the same time, each by its
/// own rule (throughput and latency, say). Nothing if they never were, or there are none.
pub fn first_steady_of_all(series: &[(SteadyRule, &[f64])]) -> Option<usize> {
    let shortest = series.iter().map(|(_, values)| values.len()).min()?;
    (1..=shortest).find(|seen| {
        series
            .iter()
            .all(|(rule, values)| rule.check(&values[..*seen]).is_some_and(|found| found.steady))
    })
}

/// Slope of the least-squares line through values one apart; zero below two values.
pub fn least_squares_slope(values: &[f64]) -> f64 {
    let Some(mean) = mean(values) else { return 0.0 };
    let centre = (values.len() - 1) as f64 / 2.0;
    let offsets = (0..values.len()).map(|i| i as f64 - centre);
    let products: f64 = offsets.clone().zip(values).map(|(x, y)| x * (y - mean)).sum();
    let squares: f64 = offsets.map(|x| x * x).sum();
    if squares == 0.0 { 0.0 } else { products / squares }
}

/// Repeats agree when the last differs from the one before by less than this share: the
/// field's rule of repeating until results change by less than 3 %.
pub const REPEAT_CHANGE_MAX: f64 = 0.03;

/// How well repeats agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// `|last - previous| / previous`.
    pub change: f64,
    /// `(max - min) / mean` over all repeats.
    pub spread: f64,
    /// Whether `change` is below the limit.
    pub agree: bool,
}

/// Whether the last two repeats agree within `change_max` ([`REPEAT_CHANGE_MAX`] by default
/// of the caller). Nothing below two repeats. A change from zero to anything else is
/// infinite.
pub fn repeats_agree(values: &[f64], change_max: f64) -> Option<Agreement> {
    let [.., previous, last] = values else { return None };
    let share = |part: f64, whole: f64| if part == 0.0 { 0.0 } else { part / whole.abs() };
    let change = share((last - previous).abs(), *previous);
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let spread = share(high - low, mean(values)?);
    Some(Agreement { change, spread, agree: change < change_max })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, straight from the paper.
    fn brute_force_mser5(series: &[f64]) -> Option<usize> {
        let batches: Vec<f64> =
            series.chunks_exact(5).map(|b| b.iter().sum::<f64>() / 5.0).collect();
        if batches.len() < 2 {
            return None;
        }
        let statistic = |cut: usize| {
            let rest = &batches[cut..];
            let m = mean(rest).expect("not empty");
            rest.iter().map(|y| (y - m).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
        };
        let best = (0..=batches.len() - 2)
            .min_by(|a, b| statistic(*a).total_cmp(&statistic(*b)))
            .expect("not empty");
        (best * 2 <= batches.len()).then_some(best * 5)
    }

    #[test]
    fn a_ramp_before_a_plateau_is_cut_where_it_ends() {
        let series: Vec<f64> =
            (0..100).map(|i| f64::from(i.min(20)) * 10.0 + f64::from(i % 3)).collect();
        assert_eq!(mser5(&series), Some(20));
        let flat: Vec<f64> = (0..100).map(|i| 200.0 + f64::from(i % 5)).collect();
        assert_eq!(mser5(&flat), Some(0));
    }

    #[test]
    fn a_series_that_never_settles_has_no_cut() {
        let rising: Vec<f64> = (0..100).map(|i| f64::from(i * i)).collect();
        assert_eq!(mser5(&rising), None);
        assert_eq!(mser5(&[1.0; 9]), None);
    }

    #[test]
    fn the_longest_warm_up_counts_for_all() {
        let early: Vec<f64> = (0..100).map(|i| f64::from(i.min(10)) + f64::from(i % 3)).collect();
        let late: Vec<f64> =
            (0..100).map(|i| f64::from(i.min(30)) * 10.0 + f64::from(i % 3)).collect();
        let rising: Vec<f64> = (0..100).map(|i| f64::from(i * i)).collect();
        let cut = mser5_of_all([early.as_slice(), late.as_slice()]);
        assert_eq!(cut, mser5(&late));
        assert_eq!(mser5_of_all([early.as_slice(), rising.as_slice()]), None);
        assert_eq!(mser5_of_all([]), None);
    }

    #[test]
    fn the_snia_rule_holds_at_its_limits_and_not_beyond() {
        let rule = SteadyRule::SNIA;
        let found = rule.check(&[100.0, 110.0, 90.0, 110.0, 100.0]).expect("five values");
        assert!((found.mean - 102.0).abs() < 1e-12 && found.steady, "{found:?}");
        let found = rule.check(&[89.0, 110.0, 100.0, 100.0, 101.0]).expect("five values");
        assert!(!found.steady && found.range > 0.2, "{found:?}");
        // A straight rise of 10.5 % end to end keeps the range but not the slope.
        let rising = [94.75, 97.375, 100.0, 102.625, 105.25];
        let found = rule.check(&rising).expect("five values");
        assert!(!found.steady && (found.slope - 0.105).abs() < 1e-12, "{found:?}");
        assert_eq!(rule.check(&[1.0; 4]), None);
    }

    #[test]
    fn idle_is_steady_and_a_start_from_nothing_is_not() {
        assert!(SteadyRule::SNIA.check(&[0.0; 5]).expect("five values").steady);
        assert!(!SteadyRule::SNIA.check(&[0.0, 0.0, 0.0, 0.0, 1.0]).expect("five").steady);
    }

    #[test]
    fn all_series_must_be_steady_together() {
        let throughput = [1.0, 5.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0];
        let latency = [9.0, 9.0, 9.0, 5.0, 5.0, 5.0, 5.0, 5.0];
        let rule = SteadyRule::SNIA;
        assert_eq!(rule.first_steady(&throughput), Some(7));
        assert_eq!(first_steady_of_all(&[(rule, &throughput), (rule, &latency)]), Some(8));
        assert_eq!(first_steady_of_all(&[]), None);
    }

    #[test]
    fn repeats_agree_below_three_per_cent() {
        let agree = |values: &[f64]| repeats_agree(values, REPEAT_CHANGE_MAX).map(|a| a.agree);
        assert_eq!(agree(&[100.0, 102.9]), Some(true));
        assert_eq!(agree(&[100.0, 103.0]), Some(false));
        assert_eq!(agree(&[50.0, 100.0, 101.0]), Some(true));
        assert_eq!(agree(&[100.0]), None);
        assert_eq!(agree(&[0.0, 0.0]), Some(true));
        assert_eq!(agree(&[0.0, 1.0]), Some(false));
    }

    proptest! {
        #[test]
        fn mser_finds_the_minimum_of_its_definition(
            series in proptest::collection::vec(0.0_f64..100.0, 0..120)
        ) {
            prop_assert_eq!(mser5(&series), brute_force_mser5(&series));
        }

        #[test]
        fn the_slope_of_a_line_is_its_slope(a in -10.0_f64..10.0, b in -10.0_f64..10.0) {
            let line: Vec<f64> = (0..9).map(|i| a + b * f64::from(i)).collect();
            prop_assert!((least_squares_slope(&line) - b).abs() < 1e-9);
        }
    }
}
