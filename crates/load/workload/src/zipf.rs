use state_machine::Stream;

/// Random ranks whose popularity decreases with the rank to the power of an exponent.
///
/// The method is rejection-inversion for monotone discrete distributions (Hörmann and Derflinger
/// 1996, "Rejection-inversion to generate variates from monotone discrete distributions", ACM
/// TOMACS 6(3), algorithm ZRI). It needs no table, so 10^9 blocks cost as much as ten, and about
/// 1.1 rounds per rank. The approximation of Gray et al. (1994, section 3.2) is not used, because
/// it needs a sum over all ranks and fails at exponent 1. Logarithms come from `libm`, so a seed
/// gives the same ranks on every host.
#[derive(Debug, Clone, Copy)]
pub struct Zipf {
    ranks: f64,
    exponent: f64,
    /// Bounds of the inverted area: at the first rank, and (next field) after the last rank.
    area_first: f64,
    area_last: f64,
    /// Distance to the rank below which a point is accepted without another test.
    squeeze: f64,
}

impl Zipf {
    /// Creates the distribution of ranks 0 to `ranks - 1`. `ranks` is at least 1, and `exponent` is
    /// not negative.
    #[expect(clippy::cast_precision_loss, reason = "disks have fewer than 2^53 blocks")]
    pub fn new(ranks: u64, exponent: f64) -> Self {
        let mut zipf =
            Self { ranks: ranks as f64, exponent, area_first: 0.0, area_last: 0.0, squeeze: 0.0 };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_last = zipf.area(zipf.ranks + 0.5);
        zipf.squeeze = 2.0 - zipf.area_inverse(zipf.area(2.5) - zipf.height(2.0));
        zipf
    }

    /// Draws a rank; 0 is the most popular.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank is a whole number between 0 and the number of ranks"
    )]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        loop {
            let area = self.area_last + stream.unit() * (self.area_first - self.area_last);
            let point = self.area_inverse(area);
            let rank = libm::floor(point + 0.5).clamp(1.0, self.ranks);
            if rank - point <= self.squeeze || area >= self.area(rank + 0.5) - self.height(rank) {
                return rank as u64 - 1;
            }
        }
    }

    /// Returns the popularity of a rank, not normalised: x^-q. Ranks are counted from 1.
    fn height(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// Returns the integral of the popularity: (x^(1-q) - 1) / (1 - q), which is ln x at q = 1.
    fn area(&self, x: f64) -> f64 {
        let log = libm::log(x);
        log * expm1_over((1.0 - self.exponent) * log)
    }

    fn area_inverse(&self, area: f64) -> f64 {
        // Rounding may step over the pole at -1.
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        libm::exp(area * log1p_over(t))
    }
}

/// Returns (e^t - 1) / t, and its limit at 0.
fn expm1_over(t: f64) -> f64 {
    if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + t / 2.0 }
}

/// Returns ln(1 + t) / t, and its limit at 0.
fn log1p_over(t: f64) -> f64 {
    if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - t / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use state_machine::Purpose;

    const DRAWS: u32 = 200_000;

    #[test]
    fn ranks_come_in_the_shares_the_law_gives() {
        for exponent in [0.0, 0.5, 0.99, 1.0, 1.2, 3.0] {
            let ranks = 50_i32;
            let zipf = Zipf::new(50, exponent);
            let mut stream = Stream::derive(3, &[], Purpose::User);
            let mut counts = vec![0_u32; 50];
            for _ in 0..DRAWS {
                counts[usize::try_from(zipf.draw(&mut stream)).expect("below 50")] += 1;
            }
            let total: f64 = (1..=ranks).map(|rank| f64::from(rank).powf(-exponent)).sum();
            for (rank, count) in (1..=ranks).zip(&counts) {
                let share = f64::from(rank).powf(-exponent) / total;
                let seen = f64::from(*count) / f64::from(DRAWS);
                let error = 5.0 * (share * (1.0 - share) / f64::from(DRAWS)).sqrt();
                assert!((seen - share).abs() <= error, "{exponent} {rank}: {seen} for {share}");
            }
        }
    }

    #[test]
    fn a_billion_ranks_need_no_table_and_stay_in_range() {
        let ranks = 1_000_000_000;
        for exponent in [0.0, 1.0, 1.1, 3.0] {
            let zipf = Zipf::new(ranks, exponent);
            let mut stream = Stream::derive(3, &[], Purpose::User);
            assert!((0..10_000).all(|_| zipf.draw(&mut stream) < ranks));
        }
    }

    #[test]
    fn a_single_rank_is_always_drawn() {
        let mut stream = Stream::derive(3, &[], Purpose::User);
        assert_eq!(Zipf::new(1, 1.0).draw(&mut stream), 0);
    }
}
