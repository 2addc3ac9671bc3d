//! Watts of a host, and the energy that follows from them.

use units::Nanos;

use super::clocking::Clocking;
use super::parameters::CpuParameters;
use crate::error::{Check, ParameterError};

/// Power that a host takes from its supply. Of `n` working threads, `min(n, cores)` have a core of
/// their own:
///
/// ```text
/// watts = idle + core * (f / nominal)^exponent * units(n) + awake * cores that idle and are not asleep
/// ```
///
/// `units(n)` is the work that `n` threads do together ([`CpuParameters`]): a second thread on a
/// core takes power in proportion to the work that it adds. A core goes to sleep when it has idled
/// for `sleep_after`. Work goes to the core that has idled for the shortest time, so that the
/// others sleep. A sleeping core works for `wake` before it begins a burst.
///
/// Cores that never sleep take `awake` at the nominal frequency and nothing at the lowest state;
/// between them, the power depends on the frequency in the same way as `core`. `idle` is therefore
/// the power of a host whose cores are asleep, or whose cores idle at their lowest state if a
/// governor saves power only by states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostPower {
    /// Watts of the whole host while nothing runs and every core is asleep, 0 or more: board,
    /// memory, fans, losses of its power supplies.
    pub idle: f64,
    /// Additional watts for each running core at the nominal frequency, 0 or more.
    pub core: f64,
    /// Exponent with which a core's watts grow with its frequency, 1 to 4. Switching takes `C V^2
    /// f`. If voltage grows with frequency the exponent is 3, if voltage is fixed it is 1; leakage
    /// lies between.
    pub exponent: f64,
    /// Watts of a core that is idle but not asleep, 0 or more.
    pub awake: f64,
    /// Time that a core is idle before it sleeps; if absent, it never sleeps.
    pub sleep_after: Option<Nanos>,
    /// True if cores sleep only all together, because they share a voltage. It falls when the last
    /// core becomes idle, and rises when the first wakes.
    pub together: bool,
    /// Time that a sleeping core needs to wake, at its nominal frequency.
    pub wake: Nanos,
}

const CHECK: Check = Check("host power");
/// Maximum value of each of the watts.
const WATTS_MAX: f64 = 1e6;

impl HostPower {
    fn check(&self) -> Result<(), ParameterError> {
        let Self { idle, core, exponent, awake, .. } = *self;
        for (name, watts) in [("idle", idle), ("core", core), ("awake", awake)] {
            let is_watts = (0.0..=WATTS_MAX).contains(&watts);
            CHECK.that(is_watts, name, format!("{watts} W"), "from 0 W to 1 MW")?;
        }
        CHECK.that((1.0..=4.0).contains(&exponent), "exponent", exponent, "from 1 to 4")
    }

    /// Returns the watts after a long time without any work.
    pub fn at_rest(&self, cores: u32) -> f64 {
        let awake = if self.sleep_after.is_none() { self.awake } else { 0.0 };
        self.idle + awake * f64::from(cores)
    }
}

/// Energy in units of 10^-15 J: microwatts times nanoseconds. It is a whole number, so that no sum
/// depends on its order.
pub type Femtojoules = u128;

/// Integrates a host's watts over all changes of running threads and frequency.
#[derive(Debug)]
pub struct EnergyMeter {
    /// Microwatts without idle cores, by level and number of running threads.
    watts: Vec<Vec<u64>>,
    /// Microwatts of a core that is idle but awake, by level.
    awake: Vec<u64>,
    sleep_after: Option<Nanos>,
    together: bool,
    /// Time at which the last core became idle, if all are idle.
    rest: Nanos,
    wake: Nanos,
    cores: u32,
    /// Time since which each idle core has been idle, latest last.
    idle: Vec<Nanos>,
    spent: Femtojoules,
}

impl EnergyMeter {
    /// Creates the meter of a host that is at rest at time 0.
    pub fn new(
        power: &HostPower,
        cpu: &CpuParameters,
        clocking: &Clocking,
    ) -> Result<Self, ParameterError> {
        power.check()?;
        let of = |level: f64, threads: u32| {
            let ghz = clocking.ghz(level, threads.min(cpu.cores));
            let core = power.core * clocking.cycles(ghz).powf(power.exponent);
            micro(core.mul_add(cpu.unlimited(threads), power.idle))
        };
        // Cores that sleep are awake at the nominal frequency for a moment only.
        let lowest = clocking.states.first().map(|state| clocking.cycles(*state));
        let lowest = lowest.filter(|_| power.sleep_after.is_none());
        let part = |level: f64| {
            lowest.map_or(1.0, |lowest| {
                let [own, lowest] =
                    [clocking.cycles(level), lowest].map(|share| share.powf(power.exponent));
                (own - lowest) / (1.0 - lowest)
            })
        };
        let threads = cpu.threads_max();
        let watts = clocking.levels().into_iter().map(|level| {
            let all = (0..=threads).map(|threads| of(level, threads));
            all.collect()
        });
        Ok(Self {
            watts: watts.collect(),
            awake: clocking
                .levels()
                .into_iter()
                .map(|level| micro(power.awake * part(level)))
                .collect(),
            sleep_after: power.sleep_after,
            together: power.together,
            rest: Nanos::ZERO,
            wake: power.wake,
            cores: cpu.cores,
            idle: vec![Nanos::ZERO; usize_of(cpu.cores)],
            spent: 0,
        })
    }

    /// Adds an interval in which this many threads were running at a level.
    pub fn pass(&mut self, (from, to): (Nanos, Nanos), level: usize, threads: usize) {
        let span = u128::from(to.saturating_sub(from).0);
        self.spent += span * u128::from(self.watts[level][threads]);
        let idle = usize_of(self.cores).saturating_sub(threads);
        let Some(after) = self.sleep_after else {
            self.spent += span * idle as u128 * u128::from(self.awake[level]);
            return;
        };
        let awake = self.awake[level];
        if self.together {
            let until =
                if threads == 0 { self.rest.saturating_add(after).clamp(from, to) } else { to };
            self.spent += u128::from((until - from).0) * idle as u128 * u128::from(awake);
            if threads > 0 {
                self.rest = to;
            }
            return;
        }
        if awake == 0 && self.wake == Nanos::ZERO {
            return;
        }
        while self.idle.len() > idle {
            let since = self.idle.pop().unwrap_or(from);
            self.spent += awake_for((since, from), after, awake);
        }
        while self.idle.len() < idle {
            self.idle.push(from);
        }
    }

    /// Returns the time that the next core needs to wake when this many threads are running; zero
    /// if that core is not asleep.
    pub fn wake(&self, now: Nanos, threads: usize) -> Nanos {
        let Some(after) = self.sleep_after.filter(|_| self.wake > Nanos::ZERO) else {
            return Nanos::ZERO;
        };
        if self.together {
            let sleeps = threads == 0 && now.saturating_sub(self.rest) >= after;
            return if sleeps { self.wake } else { Nanos::ZERO };
        }
        let next = usize_of(self.cores).checked_sub(threads + 1);
        match next.and_then(|place| self.idle.get(place)) {
            Some(since) if now.saturating_sub(*since) >= after => self.wake,
            _ => Nanos::ZERO,
        }
    }

    /// Returns the total up to `now`. All changes up to `now` must have been added.
    pub fn total(&self, now: Nanos) -> Femtojoules {
        let after = self.sleep_after.filter(|_| !self.together);
        let (Some(after), Some(awake)) = (after, self.awake.last()) else {
            return self.spent;
        };
        let idle = self.idle.iter().map(|since| awake_for((*since, now), after, *awake));
        self.spent + if *awake == 0 { 0 } else { idle.sum() }
    }
}

/// Returns the energy that a core used while it was idle during an interval, beyond the energy of a
/// sleeping core.
fn awake_for((since, until): (Nanos, Nanos), after: Nanos, awake: u64) -> Femtojoules {
    u128::from(until.saturating_sub(since).min(after).0) * u128::from(awake)
}

/// Converts an energy to joules.
#[expect(clippy::cast_precision_loss, reason = "15 digits of it stay")]
pub fn joules(energy: Femtojoules) -> f64 {
    energy as f64 / 1e15
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "watts are from 0 to some megawatts"
)]
fn micro(watts: f64) -> u64 {
    (watts * 1e6).round() as u64
}

fn usize_of(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
