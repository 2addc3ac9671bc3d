use units::Ratio;

/// Returns the rank (from 1) of the `share` percentile of `count` sorted values: the smallest rank
/// that is at least `share * count`. This is the nearest-rank definition (Hyndman and Fan 1996,
/// type 1). `None` without values.
pub fn nearest_rank(count: u64, share: Ratio) -> Option<u64> {
    if count == 0 {
        return None;
    }
    // 0.07 * 100 is 7.000000000000001: rounding alone must not raise a rank.
    let exact = share.get() * count as f64 * (1.0 - 4.0 * f64::EPSILON);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and count"
    )]
    let rank = exact.ceil() as u64;
    Some(rank.clamp(1, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_does_not_rise_by_rounding() {
        assert_eq!(nearest_rank(100, Ratio::new(0.07)), Some(7));
        assert_eq!(nearest_rank(20, Ratio::new(0.95)), Some(19));
        assert_eq!(nearest_rank(20, Ratio::ZERO), Some(1));
        assert_eq!(nearest_rank(0, Ratio::ONE), None);
    }
}
