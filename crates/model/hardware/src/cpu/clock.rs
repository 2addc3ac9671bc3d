use units::Nanos;

use super::clocking::Clocking;
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

/// A clock that shows the work a thread would have done that has been running since the start. All
/// threads go at the same pace, so the order in which bursts end does not change when the pace
/// does.
#[derive(Debug)]
pub struct WorkClock {
    /// Pace of each thread at the nominal frequency, by the number of threads at work.
    paces: Vec<u64>,
    /// Paces and cycles at each level of frequency, also by the number of threads at work; empty if
    /// there is only one frequency.
    levels: Vec<Level>,
    /// Number of the present level, counted from the lowest.
    pub level: usize,
    pub now: Work,
    since: Nanos,
}

#[derive(Debug)]
struct Level {
    paces: Vec<u64>,
    cycles: Vec<u64>,
}

/// Time that each thread at work had in a span, as [`WorkClock::advance`] returns it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    /// Time that it had of a core, whatever the core's speed.
    pub busy: Work,
    /// Cycles in that time, counted as time of a core at its nominal frequency.
    pub cycles: Work,
}

impl WorkClock {
    /// At the highest level.
    pub fn new(parameters: &CpuParameters, clocking: &Clocking) -> Self {
        let counts = 0..=parameters.threads_max();
        let table = |factor: &dyn Fn(f64) -> f64, level: f64| -> Vec<u64> {
            let pace = |count: u32| {
                let ghz = clocking.ghz(level, count.min(parameters.cores));
                fixed(parameters.pace(count) * factor(ghz))
            };
            counts.clone().map(pace).collect()
        };
        let levels: Vec<Level> = clocking
            .levels()
            .into_iter()
            .map(|level| Level {
                paces: table(&|ghz| clocking.rate(ghz), level),
                cycles: table(&|ghz| clocking.cycles(ghz), level),
            })
            .collect();
        let paces = table(&|_| 1.0, clocking.nominal);
        let is_plain = |own: &Level| own.paces == paces && own.cycles == paces;
        let level = levels.len() - 1;
        let levels = if levels.iter().all(is_plain) { Vec::new() } else { levels };
        Self { paces, levels, level, now: 0, since: Nanos::ZERO }
    }

    /// True if there is only one frequency.
    pub const fn is_plain(&self) -> bool {
        self.levels.is_empty()
    }

    /// Up to when it was moved.
    pub const fn since(&self) -> Nanos {
        self.since
    }

    fn pace(&self, threads: usize) -> u64 {
        self.levels.get(self.level).map_or(self.paces[threads], |own| own.paces[threads])
    }

    /// Lets time pass with this many threads at work and says what each of them did.
    pub fn advance(&mut self, now: Nanos, threads: usize) -> Done {
        let span = u128::from(now.saturating_sub(self.since).0);
        self.since = now;
        if threads == 0 {
            return Done::default();
        }
        let busy = span * u128::from(self.paces[threads]);
        let Some(level) = self.levels.get(self.level) else {
            self.now += busy;
            return Done { busy, cycles: busy };
        };
        self.now += span * u128::from(level.paces[threads]);
        Done { busy, cycles: span * u128::from(level.cycles[threads]) }
    }

    /// Time at which the clock will show `end`, as long as this many threads, more than none, are
    /// at work.
    pub fn time_of(&self, end: Work, threads: usize) -> Nanos {
        let (left, pace) = (end.saturating_sub(self.now), self.pace(threads));
        // Almost always four seconds of a core at most, which one division of 64 bits tells.
        let nanos = match u64::try_from(left) {
            Ok(left) => left.div_ceil(pace),
            Err(_) => u64::try_from(left.div_ceil(u128::from(pace))).unwrap_or(u64::MAX),
        };
        self.since.saturating_add(Nanos(nanos))
    }
}

/// A pace as a whole number, more than none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a pace is above 0 and far below 2^32"
)]
fn fixed(pace: f64) -> u64 {
    ((pace * FULL as f64) as u64).max(1)
}
