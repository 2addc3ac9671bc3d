//! Steady state: checks whether a series has settled, and whether repeats agree.

use crate::summary::mean;

/// Rule for steady state over a window of a series.
///
/// It follows the SNIA Solid State Storage Performance Test Specification (PTS 2.0.1, definition of
/// steady state): five rounds, whose range is at most 20 % of their mean. The least-squares line
/// through them rises or falls by at most 10 % of their mean from end to end. Rounds in the
/// specification take a minute. Here the caller chooses the time of a value, which should span
/// whole bursts of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyRule {
    /// Number of values in the window, at least 2.
    pub window: usize,
    /// Largest accepted `(max - min) / mean`.
    pub range_max: f64,
    /// Largest accepted rise or fall of the fitted line over the window, divided by the mean.
    pub slope_max: f64,
}

impl SteadyRule {
    /// Parameters of the SNIA specification.
    pub const SNIA: Self = Self { window: 5, range_max: 0.20, slope_max: 0.10 };
}

/// Result of the check of a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowCheck {
    /// Mean of the values in the window.
    pub mean: f64,
    /// `(max - min) / mean`.
    pub range: f64,
    /// Rise or fall of the fitted line over the window, divided by the mean; never negative.
    pub slope: f64,
    /// True if `range` and `slope` are both within the rule.
    pub steady: bool,
}

impl SteadyRule {
    /// Checks the last `window` values. `None` if there are fewer values, or if the window is
    /// shorter than 2. A window of zeros only is steady; any other window with a mean of zero is
    /// not.
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
}

/// Returns the slope of the least-squares line through values at distance 1; zero with fewer than
/// two values.
fn least_squares_slope(values: &[f64]) -> f64 {
    let Some(mean) = mean(values) else { return 0.0 };
    let centre = (values.len() - 1) as f64 / 2.0;
    let offsets = (0..values.len()).map(|i| i as f64 - centre);
    let products: f64 = offsets.clone().zip(values).map(|(x, y)| x * (y - mean)).sum();
    let squares: f64 = offsets.map(|x| x * x).sum();
    if squares == 0.0 { 0.0 } else { products / squares }
}

/// Share by which the last repeat must differ less from the previous one for repeats to agree. In
/// the field, measurements are repeated until results change by less than 3 %.
pub const REPEAT_CHANGE_MAX: f64 = 0.03;

/// Result of the check whether repeats agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// `|last - previous| / previous`.
    pub change: f64,
    /// `(max - min) / mean` over all repeats.
    pub spread: f64,
    /// True if `change` is below the limit.
    pub agree: bool,
}

/// Checks whether the last two repeats agree within `change_max` (callers use [`REPEAT_CHANGE_MAX`]
/// by default). `None` with fewer than two repeats. A change from zero to any other value is
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
        fn the_slope_of_a_line_is_its_slope(a in -10.0_f64..10.0, b in -10.0_f64..10.0) {
            let line: Vec<f64> = (0..9).map(|i| a + b * f64::from(i)).collect();
            prop_assert!((least_squares_slope(&line) - b).abs() < 1e-9);
        }
    }
}
