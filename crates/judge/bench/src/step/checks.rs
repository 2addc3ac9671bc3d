use run_store::run::{Check, Figure, Warning};
use run_store::slice::Slice;
use stats::{Compact, REPEAT_CHANGE_MAX, repeats_agree};
use units::Nanos;

use crate::rig::{Clocks, LoadOutcome};

/// Maximum deviation from Little's law that is not a bug of the measurement: 0.5 %, our choice (the
/// ends of the interval affect one in a few hundred I/Os).
const LITTLE_TOLERANCE: f64 = 0.005;

/// Both sides of Little's law over all slices of a step, from its first I/O to its last completion.
#[derive(Debug, Clone, Copy, Default)]
pub struct LittleSums {
    seconds: f64,
    service_seconds: f64,
    in_flight_seconds: f64,
    longest_seconds: f64,
    in_flight: u64,
    /// True if hosts drive the load, because a host may be lost.
    may_lose: bool,
    /// Requests that never complete, because their host was lost.
    abandoned: u64,
    has_errors: bool,
}

impl LittleSums {
    /// Creates empty sums. `may_lose` is false if only this host drives, because then no host can
    /// be lost.
    pub fn new(may_lose: bool) -> Self {
        Self { may_lose, ..Self::default() }
    }

    /// Adds a slice to both sides.
    pub fn add(&mut self, slice: &Slice) {
        self.seconds += slice.width.as_secs_f64();
        self.in_flight_seconds += slice.generator.in_flight_seconds;
        #[expect(clippy::cast_precision_loss, reason = "only compared within per cents")]
        for service in services(slice) {
            self.service_seconds += service.sum_ns as f64 / 1e9;
            let longest = service.max().map_or(0.0, Nanos::as_secs_f64);
            self.longest_seconds = self.longest_seconds.max(longest);
        }
        self.has_errors |= slice.io.iter().any(|row| row.errors > 0)
            || slice.calls.iter().any(|row| row.failed() > 0);
        let generator = &slice.generator;
        let left = (self.in_flight + generator.submitted).saturating_sub(generator.completed);
        if self.may_lose {
            self.abandoned += left.saturating_sub(generator.in_flight);
        }
        self.in_flight = generator.in_flight;
    }

    /// Checks Little's law: mean I/Os (and calls) in flight = I/Os per second x mean service time
    /// (Little 1961; as an operational law Lazowska et al. 1984, section 3.3). It is valid for
    /// every system, so a violation is a bug of the measurement. `None` without time.
    ///
    /// I/Os in flight at the end of the slices, or at the loss of their host, are only counted by
    /// one side. Each of them was in flight for at most about the maximum service time, which is
    /// added to the 0.5 %.
    pub fn check(&self) -> Option<Check> {
        if self.seconds <= 0.0 || self.service_seconds <= 0.0 {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "thousands at most")]
        let open = (self.in_flight + self.abandoned) as f64;
        let open = open * self.longest_seconds / self.service_seconds;
        let tolerance = LITTLE_TOLERANCE + open;
        let expected = self.service_seconds / self.seconds;
        let found = self.in_flight_seconds / self.seconds;
        Some(Check {
            id: "littles-law".to_owned(),
            expected: Figure::of(expected),
            found: Figure::of(found),
            unit: "requests in flight".to_owned(),
            tolerance,
            // Failed I/Os and calls have no service time in the histograms, so the law cannot be
            // checked with them.
            passed: self.has_errors || (found - expected).abs() <= tolerance * expected,
        })
    }
}

/// Returns the service times of all successful I/Os and calls, I/Os first.
pub fn services(slice: &Slice) -> impl Iterator<Item = &Compact> {
    let io = slice.io.iter().map(|row| &row.service);
    io.chain(slice.calls.iter().map(|row| &row.service))
}

/// Identifier of the check [`submitted_is_completed`].
pub const SUBMITTED_IS_COMPLETED: &str = "submitted-is-completed";

/// Checks that every submitted I/O completed.
pub fn submitted_is_completed(outcome: &LoadOutcome) -> Check {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let count = |value: u64| Figure::of(value as f64);
    Check {
        id: SUBMITTED_IS_COMPLETED.to_owned(),
        expected: count(outcome.submitted),
        found: count(outcome.completed),
        unit: "requests".to_owned(),
        tolerance: 0.0,
        passed: outcome.submitted == outcome.completed,
    }
}

/// Identifier of the check [`repeats_within_3_percent`].
pub const REPEATS_AGREE: &str = "repeats-agree";

/// Checks the common rule that repeats agree within 3 %; `None` for fewer than two repeats.
pub fn repeats_within_3_percent(scores: &[f64]) -> Option<Check> {
    let [.., previous, last] = scores else { return None };
    let agreement = repeats_agree(scores, REPEAT_CHANGE_MAX)?;
    Some(Check {
        id: REPEATS_AGREE.to_owned(),
        expected: Figure::of(*previous),
        found: Figure::of(*last),
        unit: "tiles' worth of work".to_owned(),
        tolerance: REPEAT_CHANGE_MAX,
        passed: agreement.agree,
    })
}

/// Returns a warning if the wall clock moved against the monotonic clock by more than slewing can
/// explain.
///
/// NTP slews by at most 500 parts per million. The additional 50 ms are far above the time between
/// reading the two clocks, and far below a step by a person or `ntpd` (128 ms and more).
pub fn clock_step(before: Clocks, after: Clocks) -> Option<Warning> {
    let elapsed = after.monotonic_ns - before.monotonic_ns;
    let moved = (after.realtime_ns - before.realtime_ns) - elapsed;
    let allowed = 50_000_000 + elapsed / 2000;
    #[expect(clippy::cast_precision_loss, reason = "only shown")]
    let seconds = |ns: i128| format!("{:.3} s", ns as f64 / 1e9);
    (moved.abs() > allowed).then(|| Warning {
        id: "clock-step".to_owned(),
        text: "the wall clock was set while the step ran; times of day in this result are wrong, \
               measured times are correct"
            .to_owned(),
        value: Some(seconds(moved)),
        limit: Some(seconds(allowed)),
        hint: Some("let the clock settle before a run (chronyc makestep)".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use run_store::slice::{CallRow, GeneratorRow, InstanceId};
    use stats::Histogram;
    use units::{Bytes, Nanos};

    use super::*;

    /// Returns a slice of one second with this many submitted and completed I/Os, each after 100
    /// ms, and this many in flight at its end.
    fn second(submitted: u64, completed: u64, in_flight: u64, in_flight_seconds: f64) -> Slice {
        let mut slice = Slice { width: Nanos::SECOND, ..Slice::default() };
        let mut service = Histogram::new();
        (0..completed).for_each(|_| service.record(Nanos::from_millis(100)));
        slice.calls.push(CallRow {
            instance: InstanceId(0),
            kind: 0,
            bytes: Bytes::ZERO,
            errors: [0; 5],
            response: service.compact(),
            service: service.compact(),
        });
        slice.generator = GeneratorRow {
            submitted,
            completed,
            in_flight,
            in_flight_seconds,
            ..GeneratorRow::default()
        };
        slice
    }

    #[test]
    fn io_of_a_lost_host_breaks_no_law_but_lost_time_does() {
        let judged = |may_lose, last: Slice| {
            let mut sums = LittleSums::new(may_lose);
            sums.add(&second(104, 100, 4, 10.2));
            sums.add(&last);
            sums.check().expect("it has time").passed
        };
        assert!(judged(true, second(100, 100, 0, 10.2)), "four are gone with their host");
        assert!(!judged(false, second(100, 100, 0, 10.2)), "nobody else took them along");
        assert!(!judged(true, second(96, 100, 0, 10.6)), "all were answered: who waited?");
    }

    #[test]
    fn a_clock_that_jumps_is_told_from_one_that_is_slewed() {
        let at = |monotonic_ns, realtime_ns| Clocks { monotonic_ns, realtime_ns };
        let minute = 60_000_000_000;
        assert_eq!(clock_step(at(0, 5), at(minute, minute + 30_000_000)), None);
        let found = clock_step(at(0, 0), at(minute, minute - 1_000_000_000)).expect("a step");
        assert_eq!(found.value.as_deref(), Some("-1.000 s"));
    }

    #[test]
    fn repeats_three_per_cent_apart_are_marked() {
        assert!(repeats_within_3_percent(&[1.0]).is_none());
        assert!(repeats_within_3_percent(&[1.0, 1.02]).expect("two").passed);
        assert!(!repeats_within_3_percent(&[1.0, 1.04]).expect("two").passed);
    }
}
