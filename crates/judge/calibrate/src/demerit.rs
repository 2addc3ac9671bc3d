use stats::Compact;

/// Returns the distance of a model's latency distribution from the measured one: the root mean
/// square of the horizontal distance between the two cumulative curves, as a share of the measured
/// mean. `None` if either is empty.
///
/// With quantile functions `M` (measured) and `S` (simulated): `sqrt(integral over p from 0 to 1 of
/// (M(p) - S(p))^2 dp) / mean(M)`.
///
/// Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994, call
/// it the demerit figure; the DiskSim 4 manual, section 6, reports it in this relative form. Both
/// curves have steps at the buckets of their histograms, so differences below the histogram's
/// precision (0.8 %) count as zero.
///
/// Distances are squared: one slow request in ten thousand has as much weight as all the others if
/// its error is a hundred times as large.
pub fn demerit(measured: &Compact, model: &Compact) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "counts and sums are far below 2^53")]
    let mean = measured.sum_ns as f64 / measured.count() as f64;
    let square = mean_square_distance(&steps(measured), &steps(model))?;
    (mean > 0.0).then(|| square.sqrt() / mean)
}

/// Returns the demerit of the fastest 99 % of both, as a share of the mean of the fastest 99 %
/// measured. It is the error without the tail. This is not the demerit of the literature, and must
/// be labelled.
pub fn demerit_p99(measured: &Compact, model: &Compact) -> Option<f64> {
    let (measured, model) = (below(steps(measured), P99), below(steps(model), P99));
    let mut seen = 0.0;
    let sum = |sum: f64, (value, share): &(f64, f64)| {
        let weight = share - seen;
        seen = *share;
        sum + value * weight
    };
    let mean = measured.iter().fold(0.0, sum) / P99;
    let square = mean_square_distance(&measured, &model)? / P99;
    (mean > 0.0).then(|| square.sqrt() / mean)
}

const P99: f64 = 0.99;

/// Returns the steps up to this share.
fn below(mut steps: Vec<(f64, f64)>, share: f64) -> Vec<(f64, f64)> {
    let kept = steps.iter().take_while(|(_, until)| *until < share).count();
    steps.truncate(kept + 1);
    if let Some((_, until)) = steps.last_mut() {
        *until = share;
    }
    steps
}

/// Returns the values in nanoseconds, ascending, each with the cumulative share of values up to it.
fn steps(histogram: &Compact) -> Vec<(f64, f64)> {
    let mut seen = 0;
    let whole = histogram.count();
    let step = |(value, count): (units::Nanos, u32)| {
        seen += u64::from(count);
        #[expect(clippy::cast_precision_loss, reason = "counts and latencies are below 2^53")]
        let step = (value.0 as f64, seen as f64 / whole as f64);
        step
    };
    histogram.buckets().map(step).collect()
}

fn mean_square_distance(left: &[(f64, f64)], right: &[(f64, f64)]) -> Option<f64> {
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    left.peek()?;
    right.peek()?;
    let (mut below, mut sum) = (0.0, 0.0);
    while let (Some((a, a_share)), Some((b, b_share))) = (left.peek(), right.peek()) {
        let share = a_share.min(*b_share);
        sum += (share - below) * (a - b) * (a - b);
        below = share;
        if *a_share <= share {
            left.next();
        }
        if *b_share <= share {
            right.next();
        }
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use stats::Histogram;
    use units::Nanos;

    use super::*;

    fn of(values: &[(u64, u32)]) -> Compact {
        let mut of: Compact = values.iter().map(|(v, n)| (Nanos(*v), *n)).collect();
        of.sum_ns = values.iter().map(|(v, n)| u128::from(*v) * u128::from(*n)).sum();
        of
    }

    fn close(found: Option<f64>, wanted: f64) {
        let found = found.expect("both hold something");
        assert!((found - wanted).abs() < 1e-9, "{found}, wanted {wanted}");
    }

    /// With a mean of 25, a shift by 3 in either direction is 12 %. Values this small have separate
    /// buckets.
    #[test]
    fn a_shift_by_d_gives_exactly_d() {
        let measured = of(&[(10, 1), (20, 1), (30, 1), (40, 1)]);
        let later = of(&[(13, 2), (23, 2), (33, 2), (43, 2)]);
        let sooner = of(&[(7, 7), (17, 7), (27, 7), (37, 7)]);
        close(demerit(&measured, &later), 0.12);
        close(demerit(&measured, &sooner), 0.12);
        close(demerit(&measured, &measured), 0.0);
    }

    /// One sample of four has an error of 40 and the mean is 10: sqrt(40^2 / 4) / 10.
    #[test]
    fn a_tail_weighs_by_the_square_of_its_distance() {
        let measured = of(&[(10, 4)]);
        close(demerit(&measured, &of(&[(10, 3), (50, 1)])), 2.0);
    }

    /// The 60 odd numbers below 120 are compared with their mean of 60. The result is their
    /// standard deviation, sqrt((60^2 - 1) / 3).
    #[test]
    fn demerit_of_a_constant_is_the_relative_deviation() {
        let even: Vec<(u64, u32)> = (0..60).map(|v| (v * 2 + 1, 1)).collect();
        close(demerit(&of(&even), &of(&[(60, 1)])), (3599.0_f64 / 3.0).sqrt() / 60.0);
    }

    #[test]
    fn demerit_is_zero_for_different_sample_counts() {
        let mut few = Histogram::new();
        let mut many = Histogram::new();
        for value in 1..=1000_u64 {
            few.record(Nanos(value * 977));
            many.record_n(Nanos(value * 977), 13);
        }
        close(demerit(&few.compact(), &many.compact()), 0.0);
    }

    /// The curves differ only in the slowest 1 %, which is left out.
    #[test]
    fn up_to_p99_the_slowest_do_not_count_and_all_others_do() {
        let measured = of(&[(1000, 990), (2_000_000, 10)]);
        let other = of(&[(1000, 995), (9_000_000, 5)]);
        assert!(demerit(&measured, &other).is_some_and(|whole| whole > 10.0));
        assert!(demerit_p99(&measured, &other).is_some_and(|most| most.abs() < 1e-9));
        let later = of(&[(1300, 99), (2_000_000, 1)]);
        assert!(demerit_p99(&measured, &later).is_some_and(|most| (most - 0.3).abs() < 0.01));
        // A fiftieth of the answers is within the fastest 99 %.
        let slow = of(&[(1000, 98), (5000, 2)]);
        assert!(demerit_p99(&measured, &slow).is_some_and(|most| most > 0.3));
    }

    #[test]
    fn nothing_measured_has_no_demerit() {
        assert_eq!(demerit(&Compact::default(), &of(&[(1, 1)])), None);
        assert_eq!(demerit(&of(&[(1, 1)]), &Compact::default()), None);
    }
}
