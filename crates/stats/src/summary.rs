//! Robust summaries of few values: median, MAD, outliers, geometric mean.

/// The median; the middle of the two middle values for an even count. Nothing if empty.
/// Values must not be NaN.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some(f64::midpoint(sorted[half - 1], sorted[half])),
    }
}

/// The arithmetic mean; nothing if empty.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sample standard deviation (divided by n - 1); nothing below two values.
pub fn stdev(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The median absolute deviation from the median, not scaled to a standard deviation.
/// Nothing if empty.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    median(&values.iter().map(|v| (v - centre).abs()).collect::<Vec<_>>())
}

/// Above this absolute modified Z score a value is an outlier (Iglewicz and Hoaglin 1993).
pub const OUTLIER_SCORE: f64 = 3.5;

/// The modified Z score of every value, `0.6745 (x - median) / MAD` (Iglewicz and Hoaglin
/// 1993, "How to Detect and Handle Outliers", section 3; NIST handbook 1.3.5.17).
///
/// Where more than half of the values are equal the MAD is zero and the mean absolute
/// deviation takes its place, `(x - median) / (1.253314 MeanAD)` (same source); where all
/// are equal every score is zero.
pub fn modified_z_scores(values: &[f64]) -> Vec<f64> {
    let (Some(centre), Some(mad)) = (median(values), median_absolute_deviation(values)) else {
        return Vec::new();
    };
    let mean_deviation =
        values.iter().map(|v| (v - centre).abs()).sum::<f64>() / values.len() as f64;
    let scale = if mad > 0.0 {
        mad / 0.6745
    } else if mean_deviation > 0.0 {
        1.253_314 * mean_deviation
    } else {
        1.0
    };
    values.iter().map(|v| (v - centre) / scale).collect()
}

/// Positions of the values whose modified Z score is beyond [`OUTLIER_SCORE`].
pub fn outliers(values: &[f64]) -> Vec<usize> {
    modified_z_scores(values)
        .iter()
        .enumerate()
        .filter(|(_, score)| score.abs() > OUTLIER_SCORE)
        .map(|(position, _)| position)
        .collect()
}

/// The geometric mean, from logarithms so that it cannot overflow. Zero if any value is
/// zero; nothing if there are no values or one is negative or NaN.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|v| v.is_nan() || *v < 0.0) {
        return None;
    }
    if values.contains(&0.0) {
        return Some(0.0);
    }
    let logs: f64 = values.iter().map(|v| libm::log(*v)).sum();
    Some(libm::exp(logs / values.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn medians_are_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn the_textbook_deviation_is_found() {
        // 1 1 2 2 4 6 9: median 2, deviations 1 1 0 0 2 4 7, so the MAD is 1.
        let values = [1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0];
        assert_eq!(median_absolute_deviation(&values), Some(1.0));
        assert_eq!(stdev(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some((32.0_f64 / 7.0).sqrt()));
    }

    #[test]
    fn one_wild_run_is_an_outlier_and_steady_ones_are_not() {
        let values = [100.0, 101.0, 99.0, 100.5, 100.2, 160.0];
        assert_eq!(outliers(&values), [5]);
        let scores = modified_z_scores(&values);
        let mad = median_absolute_deviation(&values).expect("not empty");
        assert!((scores[5] - 0.6745 * (160.0 - 100.35) / mad).abs() < 1e-9);
        assert_eq!(outliers(&[5.0, 5.0, 5.0]), [] as [usize; 0]);
        assert_eq!(outliers(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 900.0]), [7]);
    }

    #[test]
    fn the_geometric_mean_of_a_zero_is_zero_and_of_nothing_is_nothing() {
        assert_eq!(geometric_mean(&[3.0, 0.0]), Some(0.0));
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[1.0, -1.0]), None);
        assert!((geometric_mean(&[1.0, 3.0, 9.0]).expect("positive") - 3.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_geometric_mean_is_the_root_of_the_product(
            values in proptest::collection::vec(0.01_f64..100.0, 1..20)
        ) {
            let root = values.iter().product::<f64>().powf(1.0 / values.len() as f64);
            let found = geometric_mean(&values).expect("positive");
            prop_assert!((found / root - 1.0).abs() < 1e-9);
        }
    }
}
