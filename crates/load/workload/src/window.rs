use spec::workload::Schedule;
use units::Nanos;

/// Active times of a schedule, with its times scaled.
#[derive(Debug, Clone, Copy)]
pub struct Windows {
    start: Nanos,
    shape: Shape,
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    ToTheEnd,
    Never,
    Once(u64),
    /// Active for the first number of nanoseconds in each period of the second number of
    /// nanoseconds. The first is above zero and below the second.
    Every(u64, u64),
}

impl Windows {
    /// Windows that are always active.
    pub const ALWAYS: Self = Self { start: Nanos::ZERO, shape: Shape::ToTheEnd };

    /// Creates windows from a schedule, with its times multiplied by `time_scale`.
    pub fn new(schedule: &Schedule, time_scale: f64) -> Self {
        let scaled = |time: Nanos| time.scale(time_scale).0;
        let shape = match (schedule.active.map(scaled), schedule.every.map(scaled)) {
            (None, _) => Shape::ToTheEnd,
            (Some(0), _) => Shape::Never,
            (Some(active), None) => Shape::Once(active),
            (Some(active), Some(every)) if active >= every => Shape::ToTheEnd,
            (Some(active), Some(every)) => Shape::Every(active, every),
        };
        Self { start: Nanos(scaled(schedule.start)), shape }
    }

    /// Returns true if the windows are active at this time.
    #[inline]
    pub fn is_active(&self, at: Nanos) -> bool {
        at >= self.start
            && match self.shape {
                Shape::ToTheEnd => true,
                Shape::Never => false,
                Shape::Once(active) => (at - self.start).0 < active,
                Shape::Every(active, every) => (at - self.start).0 % every < active,
            }
    }

    /// Returns the first active time at or after `at`; `None` if there is none.
    pub fn next_active(&self, at: Nanos) -> Option<Nanos> {
        if self.is_active(at) {
            return Some(at);
        }
        match self.shape {
            Shape::Never => None,
            _ if at < self.start => Some(self.start),
            Shape::ToTheEnd | Shape::Once(_) => None,
            Shape::Every(_, every) => {
                let rounds = (at - self.start).0 / every + 1;
                Some(self.start.saturating_add(Nanos(rounds.saturating_mul(every))))
            }
        }
    }

    /// Returns the time at which the windows have been active for `elapsed` in total; `None` if
    /// they never will be. A rate in active time keeps its value inside windows and pauses outside.
    #[inline]
    pub fn at_active(&self, elapsed: Nanos) -> Option<Nanos> {
        let after_start = match self.shape {
            Shape::ToTheEnd => elapsed.0,
            Shape::Never => return None,
            Shape::Once(active) if elapsed.0 >= active => return None,
            Shape::Once(_) => elapsed.0,
            Shape::Every(active, every) => {
                (elapsed.0 / active).checked_mul(every)?.checked_add(elapsed.0 % active)?
            }
        };
        self.start.0.checked_add(after_start).map(Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn minutes(minutes: u64) -> Nanos {
        Nanos::from_secs(60 * minutes)
    }

    #[test]
    fn time_scale_shrinks_windows_and_their_period() {
        let schedule =
            Schedule { start: minutes(1), active: Some(minutes(3)), every: Some(minutes(5)) };
        let windows = Windows::new(&schedule, 1.0 / 60.0);
        let active: Vec<u64> =
            (0..12).filter(|second| windows.is_active(Nanos::from_secs(*second))).collect();
        assert_eq!(active, [1, 2, 3, 6, 7, 8, 11]);
        assert_eq!(windows.next_active(Nanos::from_secs(4)), Some(Nanos::from_secs(6)));
        assert_eq!(windows.at_active(Nanos::from_secs(4)), Some(Nanos::from_secs(7)));
    }

    proptest! {
        #[test]
        fn the_active_clock_only_stands_outside_windows(
            start in 0_u64..50, active in 0_u64..20, every in 1_u64..30, elapsed in 0_u64..200
        ) {
            let schedule = Schedule {
                start: Nanos(start), active: Some(Nanos(active)), every: Some(Nanos(every))
            };
            let windows = Windows::new(&schedule, 1.0);
            // Plain model: count active nanoseconds one by one.
            let model = (0..20_000).filter(|at| windows.is_active(Nanos(*at)))
                .nth(usize::try_from(elapsed).expect("small")).map(Nanos);
            prop_assert_eq!(windows.at_active(Nanos(elapsed)), model);
            let next = (elapsed..20_000).find(|at| windows.is_active(Nanos(*at))).map(Nanos);
            prop_assert_eq!(windows.next_active(Nanos(elapsed)), next);
        }
    }
}
