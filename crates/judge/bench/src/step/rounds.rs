use run_store::run::Steady;
use run_store::slice::Slice;
use stats::{SteadyRule, WindowCheck};
use units::Nanos;

use crate::step::checks::services;

/// Figures of one slice for the steadiness rule.
#[derive(Debug, Clone, Copy, Default)]
struct SliceNumbers {
    width: f64,
    operations: f64,
    service_seconds: f64,
}

/// Throughput and mean service time, of I/Os and calls together, in rounds that do not overlap.
///
/// A round is a whole burst period, because bursts are load and not drift. Without bursts it is a
/// fifth of the time. Overlapping rounds would hide a drift: five averages across two periods move
/// by only an eighth of the load's change.
#[derive(Debug, Clone)]
pub struct Rounds {
    /// Number of slices in a burst period; 1 without bursts.
    slices_per_period: usize,
    seen: Vec<SliceNumbers>,
}

const ROUNDS: usize = SteadyRule::SNIA.window;

impl Rounds {
    /// Creates an empty record. `slices_per_period` is 1 without bursts.
    pub fn new(slices_per_period: usize) -> Self {
        Self { slices_per_period: slices_per_period.max(1), seen: Vec::new() }
    }

    /// Adds the figures of a slice.
    pub fn add(&mut self, slice: &Slice) {
        let (count, sum) = services(slice).fold((0_u64, 0_u128), |(count, sum), service| {
            (count + service.count(), sum + service.sum_ns)
        });
        #[expect(clippy::cast_precision_loss, reason = "only compared within per cents")]
        self.seen.push(SliceNumbers {
            width: slice.width.as_secs_f64(),
            operations: count as f64,
            service_seconds: sum as f64 / 1e9,
        });
    }

    /// Returns throughput and mean service time of the last `rounds` rounds of `slices` slices
    /// each; `None` if there are fewer slices.
    pub fn last(&self, rounds: usize, slices: usize) -> Option<(Vec<f64>, Vec<f64>)> {
        let needed = rounds.checked_mul(slices).filter(|needed| *needed > 0)?;
        let from = self.seen.len().checked_sub(needed)?;
        Some(self.seen[from..].chunks_exact(slices).map(average).unzip())
    }

    /// Applies the steadiness rule of the SNIA performance test to the last five rounds: range at
    /// most 20 % and slope at most 10 % of the mean, for throughput and for service time.
    pub fn steady(&self) -> Steady {
        let slices = match self.slices_per_period {
            1 => self.seen.len() / ROUNDS,
            period => period,
        };
        let width: f64 = self.seen.iter().take(slices).map(|seen| seen.width).sum();
        let round = Nanos::from_secs_f64(width);
        let rule = format!(
            "SNIA: {ROUNDS} separate rounds of {round}, range at most 20 %, slope at most 10 %, of \
             throughput and service time"
        );
        let check = |values: &[f64]| SteadyRule::SNIA.check(values);
        let checks = self
            .last(ROUNDS, slices)
            .and_then(|(rates, times)| Some([check(&rates)?, check(&times)?]));
        let Some(checks) = checks else {
            let detail = format!("not tested: there are fewer than {ROUNDS} rounds");
            return Steady { rule, reached: None, detail };
        };
        let reached = checks.iter().all(|check| check.steady);
        Steady { rule, reached: Some(reached), detail: detail(&checks) }
    }
}

fn detail([rate, time]: &[WindowCheck; 2]) -> String {
    format!(
        "throughput: range {:.1} %, slope {:.1} %; service time: range {:.1} %, slope {:.1} %",
        rate.range * 100.0,
        rate.slope * 100.0,
        time.range * 100.0,
        time.slope * 100.0
    )
}

/// Returns operations per second and mean service time in seconds.
fn average(seen: &[SliceNumbers]) -> (f64, f64) {
    let sum = |part: fn(&SliceNumbers) -> f64| seen.iter().map(part).sum::<f64>();
    let (width, operations) = (sum(|seen| seen.width), sum(|seen| seen.operations));
    let per = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
    (per(operations, width), per(sum(|seen| seen.service_seconds), operations))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::io_slice;

    fn rounds(period: usize, slices: u64, service_us: impl Fn(u64) -> u64) -> Steady {
        let mut rounds = Rounds::new(period);
        for number in 0..slices {
            let service = Nanos::from_micros(service_us(number));
            rounds.add(&io_slice(Nanos::from_secs(number), 1000, service));
        }
        rounds.steady()
    }

    /// Regression of 1fa88dc: a drift of 8 % per round passed, because the five averages
    /// overlapped.
    #[test]
    fn a_drift_of_eight_per_cent_a_round_is_not_steady() {
        let drift = |number: u64| 1000 + 80 * (number / 4);
        assert_eq!(rounds(4, 20, drift).reached, Some(false));
        assert_eq!(rounds(1, 20, |number| 1000 + 20 * number).reached, Some(false));
        assert_eq!(rounds(4, 20, |_| 1000).reached, Some(true));
    }

    #[test]
    fn bursts_are_load_and_not_drift() {
        let burst = |number: u64| if number.is_multiple_of(4) { 9000 } else { 500 };
        assert_eq!(rounds(4, 20, burst).reached, Some(true));
        assert_eq!(rounds(4, 16, burst).reached, None, "four rounds are too few");
    }
}
