use units::Nanos;

use super::parameters::CpuParameters;

/// Work of one thread, in parts of 2^-32 ns on a core of the host's own pace: whole numbers, so
/// that no sum depends on its order.
pub type Work = u128;

const POINT: u32 = 32;
/// A core's pace, in work per nanosecond.
const FULL: u64 = 1 << POINT;

/// Work of a span at full pace.
pub fn work(span: Nanos) -> Work {
    u128::from(span.0) << POINT
}

/// How much work every thread that has been running since the start would have done. All
/// threads go at the same pace, so the order in which bursts end does not change when the pace
/// does.
#[derive(Debug)]
pub struct WorkClock {
    /// Pace of each thread, by the number of threads at work.
    paces: Vec<u64>,
    pub now: Work,
    since: Nanos,
}

impl WorkClock {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a pace is above 0 and at most 1"
    )]
    pub fn new(parameters: &CpuParameters) -> Self {
        let pace = |count| ((parameters.pace(count) * FULL as f64) as u64).clamp(1, FULL);
        let paces = (0..=parameters.threads_max()).map(pace).collect();
        Self { paces, now: 0, since: Nanos::ZERO }
    }

    /// Lets time pass with this many threads at work and says what each of them did.
    pub fn advance(&mut self, now: Nanos, threads: usize) -> Work {
        let span = now.saturating_sub(self.since);
        self.since = now;
        if threads == 0 {
            return 0;
        }
        let done = u128::from(span.0) * u128::from(self.paces[threads]);
        self.now += done;
        done
    }

    /// When the clock will show `end`, as long as this many threads, more than none, are at
    /// work.
    pub fn time_of(&self, end: Work, threads: usize) -> Nanos {
        let (left, pace) = (end.saturating_sub(self.now), self.paces[threads]);
        // Almost always four seconds of a core at most, which one division of 64 bits tells.
        let nanos = match u64::try_from(left) {
            Ok(left) => left.div_ceil(pace),
            Err(_) => u64::try_from(left.div_ceil(u128::from(pace))).unwrap_or(u64::MAX),
        };
        self.since.saturating_add(Nanos(nanos))
    }
}
