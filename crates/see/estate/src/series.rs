//! Reduces counters and rates over time to one number.

/// Percentile of samples that represents a rate. It includes a VM's busy hours, but not its single
/// busiest minute. Our choice, because capacity planners size by the 95th percentile.
pub(crate) const SHARE: f64 = 0.95;

/// Returns the 95th percentile by nearest rank; `None` without values.
pub(crate) fn percentile(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| value.is_finite() && *value >= 0.0);
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank below the number of samples"
    )]
    let rank = (values.len() as f64 * SHARE).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied()
}

/// Calculates rates between neighbouring samples `(seconds, count)` of a counter, each with the end
/// of its interval in seconds. A counter that falls was restarted, and its value is the count since
/// then.
pub(crate) fn rates(samples: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let between = |pair: &[(f64, f64)]| {
        let ((from, before), (to, after)) = (pair[0], pair[1]);
        let more = if after >= before { after - before } else { after };
        (to > from).then(|| (to, more / (to - from)))
    };
    samples.windows(2).filter_map(between).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_ninety_fifth_percentile_of_its_samples() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(values), Some(95.0));
        assert_eq!(percentile(vec![7.0]), Some(7.0));
        assert_eq!(percentile(vec![f64::NAN]), None);
        assert_eq!(percentile(Vec::new()), None);
    }

    #[test]
    fn a_counter_that_falls_began_anew_and_none_is_negative() {
        let samples = [(0.0, 100.0), (10.0, 300.0), (20.0, 50.0), (20.0, 60.0)];
        assert_eq!(rates(&samples), [(10.0, 20.0), (20.0, 5.0)]);
    }
}
