use units::Nanos;

use crate::error::{Check, ParameterError};

/// Seek times from a data sheet, for reads, including settling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeekTimes {
    /// Seek to the next cylinder.
    pub track_to_track: Nanos,
    /// Mean seek over pairs of random cylinders.
    pub average: Nanos,
    /// Seek over all cylinders.
    pub full_stroke: Nanos,
}

/// Seek time over distance: `a + b sqrt(x) + c x` for a distance of `x` full strokes.
///
/// The square root is the arm's acceleration and braking, the linear part its coasting (Ruemmler
/// and Wilkes, IEEE Computer 1994, who switch between the two at a distance). One curve with both
/// terms meets three data-sheet figures exactly; `a + b sqrt(x)` alone misses the average of the
/// presets by 2 to 6 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeekCurve {
    /// Constant part `a` of the curve, in nanoseconds.
    fixed: f64,
    /// Factor `b` of the square root, in nanoseconds.
    root: f64,
    /// Factor `c` of the linear part, in nanoseconds.
    linear: f64,
    /// Number of cylinders of a full stroke.
    stroke: f64,
}

impl SeekCurve {
    /// Fits the curve. Distances of random pairs have the density `2 (1 - x)`, so the mean of
    /// `sqrt(x)` is 8/15 and the mean of `x` is 1/3.
    ///
    /// # Errors
    ///
    /// When no curve that increases everywhere meets the three times.
    pub fn fit(times: &SeekTimes, cylinders: u32) -> Result<Self, ParameterError> {
        let [first, mean, most] = [times.track_to_track, times.average, times.full_stroke]
            .map(|time| time.as_secs_f64() * 1e9);
        // The first cylinder is so small a part of the stroke that `a` is the time to it.
        let (gain, mean_gain) = (most - first, mean - first);
        let root = (mean_gain - gain / 3.0) / (8.0 / 15.0 - 1.0 / 3.0);
        let linear = gain - root;
        let rises = first > 0.0 && root >= 0.0 && root / 2.0 + linear >= 0.0 && gain > 0.0;
        let value = format!("{} / {}", times.average, times.full_stroke);
        let allowed = "a rising curve above 0 s: an average of 1/3 to 3/5 of the full stroke";
        let check = Check("hdd");
        check.that(rises, "seek times", value, allowed)?;
        check.that(cylinders > 1, "cylinders", cylinders, "at least 2")?;
        Ok(Self { fixed: first, root, linear, stroke: f64::from(cylinders - 1) })
    }

    /// Returns the time to move over this many cylinders; zero for none.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "nanoseconds of a seek, positive and below a second"
    )]
    pub fn time(&self, cylinders: u32) -> Nanos {
        if cylinders == 0 {
            return Nanos::ZERO;
        }
        let share = f64::from(cylinders) / self.stroke;
        Nanos((self.fixed + self.root * share.sqrt() + self.linear * share) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_meets_the_three_figures_of_the_data_sheet() {
        let ms = |ms: f64| Nanos::from_secs_f64(ms / 1e3);
        let times = SeekTimes { track_to_track: ms(0.2), average: ms(3.4), full_stroke: ms(6.6) };
        let curve = SeekCurve::fit(&times, 100_000).expect("rises");
        assert!((curve.time(1).as_millis_f64() - 0.2).abs() < 0.02);
        assert!((curve.time(99_999).as_millis_f64() - 6.6).abs() < 1e-5);
        let mean: f64 = (1..100_000_u32)
            .map(|d| curve.time(d).as_millis_f64() * 2.0 * f64::from(100_000 - d) / 1e10)
            .sum();
        assert!((mean - 3.4).abs() < 0.01, "{mean}");
        assert_eq!(curve.time(0), Nanos::ZERO);
        let flat = SeekTimes { full_stroke: ms(3.3), ..times };
        assert!(SeekCurve::fit(&flat, 100).is_err(), "the average is above the longest");
    }
}
