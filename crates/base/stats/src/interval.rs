//! Confidence intervals for the mean of few runs.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use units::Ratio;

use crate::summary::{mean, stdev};

/// Estimate with its two-sided confidence interval, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Estimated value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Returns the standard normal quantile that leaves `(1 - confidence) / 2` above it: 1.96 for 95 %,
/// infinite for 100 %.
pub(crate) fn normal_quantile(confidence: Ratio) -> f64 {
    Normal::standard().inverse_cdf(1.0 - (1.0 - confidence.get()) / 2.0)
}

/// Estimates the mean of independent runs with Student's t interval, `mean ± t(n-1) s / sqrt(n)`
/// ("Student" 1908). It assumes that the runs are approximately normally distributed. `None` with
/// fewer than two values, or at a confidence of 100 %.
pub fn mean_interval(values: &[f64], confidence: Ratio) -> Option<Interval> {
    if confidence >= Ratio::ONE {
        return None;
    }
    let (value, deviation) = (mean(values)?, stdev(values)?);
    let freedom = (values.len() - 1) as f64;
    let t =
        StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(1.0 - (1.0 - confidence.get()) / 2.0);
    let half = t * deviation / (values.len() as f64).sqrt();
    Some(Interval { value, low: value - half, high: value + half })
}

#[cfg(test)]
mod tests {
    use super::*;

    const P95: f64 = 0.95;

    fn near(found: f64, printed: f64, tolerance: f64) {
        assert!((found - printed).abs() < tolerance, "{found} is not {printed}");
    }

    /// Data: "Student" 1908, "The Probable Error of a Mean", sleep gained with the first drug. The
    /// expected interval is printed by R for `t.test(extra)` on group 1 of its `sleep` data.
    #[test]
    fn the_sleep_data_give_the_printed_interval() {
        let gained = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let found = mean_interval(&gained, Ratio::new(P95)).expect("ten values");
        near(found.value, 0.75, 1e-12);
        near(found.low, -0.529_780_4, 1e-6);
        near(found.high, 2.029_780_4, 1e-6);
    }

    #[test]
    fn three_runs_have_a_half_width_of_two_and_a_half_deviations() {
        // t(0.975, 2) = 4.3027, divided by sqrt(3): 2.484.
        let found = mean_interval(&[1.0, 2.0, 3.0], Ratio::new(P95)).expect("three values");
        near(found.high - found.value, 2.4841, 1e-4);
        assert_eq!(mean_interval(&[1.0], Ratio::new(P95)), None);
    }
}
