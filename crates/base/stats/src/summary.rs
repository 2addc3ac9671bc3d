//! Summaries of few values: median, mean, standard deviation, geometric mean.

/// Returns the median, which is the mean of the two middle values for an even count. `None` if
/// empty. Values must not be NaN.
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

/// Returns the arithmetic mean; `None` if empty.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the sample standard deviation (divided by n - 1); `None` with fewer than two values.
pub fn stdev(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Returns the geometric mean, computed from logarithms so that it cannot overflow. It is zero if
/// any value is zero. `None` if there are no values, or if one is negative or NaN.
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
        assert_eq!(stdev(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some((32.0_f64 / 7.0).sqrt()));
    }

    #[test]
    fn geometric_mean_handles_zero_empty_and_negative() {
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
