use units::Nanos;

use super::clocking::Clocking;
use super::parameters::CpuParameters;

/// Work of one thread, in units of 2^-32 ns on a core of the host's own pace. It is a whole number,
/// so that no sum depends on its order.
pub type Work = u128;

const POINT: u32 = 32;
/// Pace of a whole core, in work per nanosecond.
const FULL: u64 = 1 << POINT;

/// Returns the work of a span at full pace.
pub fn work(span: Nanos) -> Work {
    u128::from(span.0) << POINT
}

/// Clock that shows the work done by a thread that has been running since the start. All threads
/// run at the same pace, so a change of the pace does not change the order in which bursts end.
#[derive(Debug)]
pub struct WorkClock {
    /// Pace of each thread at the nominal frequency, by the number of running threads.
    paces: Vec<u64>,
    /// Paces and cycles at each frequency level, also by the number of running threads; empty if
    /// there is only one frequency.
    levels: Vec<Level>,
    /// Present frequency level, counted from the lowest.
    pub level: usize,
    pub now: Work,
    since: Nanos,
}

#[derive(Debug)]
struct Level {
    paces: Vec<u64>,
    cycles: Vec<u64>,
}

/// Time that each running thread got in a span, as returned by [`WorkClock::advance`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    /// Time that the thread had a core, whatever the core's speed.
    pub busy: Work,
    /// Cycles in that time, expressed as time of a core at its nominal frequency.
    pub cycles: Work,
}

impl WorkClock {
    /// Creates a clock at the highest level.
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

    /// Returns true if there is only one frequency.
    pub const fn is_plain(&self) -> bool {
        self.levels.is_empty()
    }

    /// Returns the time up to which the clock was advanced.
    pub const fn since(&self) -> Nanos {
        self.since
    }

    fn pace(&self, threads: usize) -> u64 {
        self.levels.get(self.level).map_or(self.paces[threads], |own| own.paces[threads])
    }

    /// Advances the clock with this many running threads, and returns the work of each.
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

    /// Returns the time at which the clock will show `end` if this number of threads, at least one,
    /// stays running.
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

/// Converts a pace to a whole number, at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a pace is above 0 and far below 2^32"
)]
fn fixed(pace: f64) -> u64 {
    ((pace * FULL as f64) as u64).max(1)
}
