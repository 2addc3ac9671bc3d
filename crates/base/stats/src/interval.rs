//! Intervals for means of few runs.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use units::Ratio;

use crate::summary::{mean, stdev};

/// An estimate with its two-sided confidence interval, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Estimated value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Standard normal quantile that leaves `(1 - confidence) / 2` above it, 1.96 for 95 %. Infinite at
/// 100 %.
pub(crate) fn normal_quantile(confidence: Ratio) -> f64 {
    Normal::standard().inverse_cdf(1.0 - (1.0 - confidence.get()) / 2.0)
}

/// Mean of independent runs with Student's t interval, `mean ± t(n-1) s / sqrt(n)` ("Student"
/// 1908). Assumes approximately normal scatter of runs. `None` below two values or at a confidence
/// of 100 %.
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

    /// "Student" 1908, "The Probable Error of a Mean", sleep gained with the first drug;
    /// interval as R prints it for `t.test(extra)` of its `sleep` data, group 1.
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
