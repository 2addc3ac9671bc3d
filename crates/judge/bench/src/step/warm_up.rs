use run_store::run::WarmUp;
use run_store::slice::Slice;
use stats::SteadyRule;
use units::Nanos;

use crate::step::Rounds;

/// Rule that decides when a step is warm, from its slices: throughput and mean service time of two
/// consecutive spans agree within a tenth of their mean. A span is a burst period, or half the
/// minimum warm-up if that is longer. The steadiness of the measurement is checked again during the
/// measurement ([`crate::step::Rounds`]), because waiting for five separate rounds before it would
/// double the duration of a benchmark.
#[derive(Debug, Clone)]
pub struct WarmUpRule {
    shortest: Nanos,
    longest: Nanos,
    slice: Nanos,
    /// Number of slices in one span.
    span: usize,
    rounds: Rounds,
    elapsed: Nanos,
}

/// Minimum and maximum duration of a warm-up, with the length of its slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUpBounds {
    /// Minimum duration of the warm-up.
    pub shortest: Nanos,
    /// Maximum duration of the warm-up.
    pub longest: Nanos,
    /// Length of a slice.
    pub slice: Nanos,
    /// Longest burst period of the load; zero without bursts.
    pub burst_period: Nanos,
}

/// Rule for two spans that differ by at most a tenth.
const SPANS: SteadyRule = SteadyRule { window: 2, range_max: 0.10, slope_max: 0.10 };

impl WarmUpRule {
    /// Creates a rule without slices.
    pub fn new(bounds: WarmUpBounds) -> Self {
        let span = bounds.burst_period.max(Nanos(bounds.shortest.0 / 2));
        let slices = span.0.div_ceil(bounds.slice.0.max(1)).max(1);
        Self {
            shortest: bounds.shortest,
            longest: bounds.longest,
            slice: bounds.slice,
            span: usize::try_from(slices).unwrap_or(usize::MAX),
            rounds: Rounds::new(1),
            elapsed: Nanos::ZERO,
        }
    }

    /// Adds a slice. Returns the result when the warm-up is over.
    pub fn push(&mut self, slice: &Slice) -> Option<WarmUp> {
        self.elapsed += slice.width;
        self.rounds.add(slice);
        if self.elapsed < self.shortest {
            return None;
        }
        let checks = self.checks();
        let reached = checks.as_ref().is_some_and(|checks| checks.iter().all(|c| c.steady));
        if !reached && self.elapsed < self.longest {
            return None;
        }
        let (rule, duration_ns) = (self.rule_text(), self.elapsed.0);
        Some(WarmUp { rule, reached, duration_ns, detail: self.detail(checks) })
    }

    /// Returns the time left until the maximum duration.
    pub fn left(&self) -> Nanos {
        self.longest.saturating_sub(self.elapsed)
    }

    /// Returns the checks of throughput and service time, if there are enough slices.
    fn checks(&self) -> Option<[stats::WindowCheck; 2]> {
        let (rates, times) = self.rounds.last(SPANS.window, self.span)?;
        Some([SPANS.check(&rates)?, SPANS.check(&times)?])
    }

    fn span_time(&self) -> Nanos {
        Nanos(self.slice.0.saturating_mul(self.span as u64))
    }

    fn rule_text(&self) -> String {
        format!(
            "two spans of {} within 10 % of each other, in throughput and service time; {} to {}",
            self.span_time(),
            self.shortest,
            self.longest
        )
    }

    fn detail(&self, checks: Option<[stats::WindowCheck; 2]>) -> String {
        match checks {
            None => format!(
                "not tested: the rule needs {}, but the longest warm-up is {}",
                Nanos(self.span_time().0.saturating_mul(2)),
                self.longest
            ),
            Some([rate, time]) => format!(
                "throughput {:.1} % apart, service time {:.1} %",
                rate.range * 100.0,
                time.range * 100.0
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::io_slice;

    fn bounds(shortest: u64, longest: u64, burst_period: u64) -> WarmUpBounds {
        WarmUpBounds {
            shortest: Nanos::from_secs(shortest),
            longest: Nanos::from_secs(longest),
            slice: Nanos::SECOND,
            burst_period: Nanos::from_secs(burst_period),
        }
    }

    fn run(bounds: WarmUpBounds, load: impl Fn(u32) -> (u32, Nanos)) -> WarmUp {
        let mut rule = WarmUpRule::new(bounds);
        (0..1000)
            .find_map(|second| {
                let (count, service) = load(second);
                rule.push(&io_slice(Nanos::from_secs(u64::from(second)), count, service))
            })
            .expect("every warm-up ends")
    }

    #[test]
    fn a_steady_load_is_warm_after_the_shortest_time() {
        let warm = run(bounds(8, 60, 0), |_| (1000, Nanos::from_millis(2)));
        assert!(warm.reached, "{warm:?}");
        assert_eq!(warm.duration_ns, 8_000_000_000);
    }

    #[test]
    fn filling_cache_is_not_warm_even_if_throughput_is_paced() {
        let service = |second: u32| Nanos::from_millis(u64::from(40 - second.min(30)));
        let warm = run(bounds(8, 60, 0), |second| (1000, service(second)));
        assert!(warm.reached && warm.duration_ns > 30_000_000_000, "{warm:?}");
    }

    #[test]
    fn a_load_that_never_settles_is_measured_at_the_cap_and_marked() {
        let warm = run(bounds(8, 60, 0), |second| (100 + second * second, Nanos::from_millis(2)));
        assert!(!warm.reached && warm.duration_ns == 60_000_000_000, "{warm:?}");
    }

    #[test]
    fn bursts_are_load_and_not_warming() {
        let burst = |second: u32| (if second % 10 < 6 { 2000 } else { 200 }, Nanos::from_millis(1));
        let warm = run(bounds(8, 60, 10), burst);
        assert!(warm.reached && warm.duration_ns <= 20_000_000_000, "{warm:?}");
    }

    #[test]
    fn a_cap_too_short_for_the_rule_says_so() {
        let warm = run(bounds(2, 6, 5), |_| (1000, Nanos::from_millis(2)));
        assert!(!warm.reached);
        assert!(warm.detail.contains("needs 10 s") && warm.detail.contains("6 s"), "{warm:?}");
    }
}
