//! Speed of a host's cores: frequencies, turbo, memory, and the governor that chooses a frequency.

use units::{Nanos, Ratio};

use super::parameters::CpuParameters;
use crate::error::{Check, ParameterError};

/// Frequencies of a host's cores. All cores of a host run at one frequency at a time, as active
/// cores of a Xeon E5-2600 or E5-2600 v2 do: they share frequency and voltage, and the highest
/// state that one of them requests is used (Intel, data sheets of these processors, volume 1,
/// section 4.2.1). Processors of one host are not told apart.
///
/// A burst is work at the nominal frequency with memory at full speed. In that case a share
/// `memory_bound` of its time waits for memory, and no core frequency shortens this. At frequency
/// `f` and memory speed `m` the burst takes `(1 - memory_bound) * nominal / f + memory_bound / m`
/// times as long. This split of a program's time in two is the basis of models of frequency
/// scaling: Eyerman and Eeckhout, ACM TACO 8(1), 2011; Keramidas et al., e-Energy 2010.
#[derive(Debug, Clone, PartialEq)]
pub struct Clocking {
    /// Nominal frequency in GHz, to which [`CpuParameters::speed`] refers; above 0.
    pub nominal: f64,
    /// States below the nominal frequency, in GHz, ascending.
    pub states: Vec<f64>,
    /// Turbo frequency in GHz with 1, 2, ... running cores, descending, at least `nominal`; the
    /// last value is for all higher numbers. Turbo exists only in the nominal state.
    pub turbo: Vec<f64>,
    /// Highest allowed state, as a share of the nominal frequency. Below 100 % there is no turbo,
    /// and the next lower state is used (vSphere 5.5 describes its `Power.MaxFreqPct` so).
    pub limit: Ratio,
    /// Governor that chooses among the states; without one, the highest state is always used.
    pub governor: Option<Governor>,
    /// Speed of memory, as a multiple of the speed to which [`CpuParameters::speed`] refers; above
    /// 0.
    pub memory_speed: f64,
    /// Share of a burst's time that waits for memory, at nominal frequency and full memory speed.
    pub memory_bound: Ratio,
}

impl Default for Clocking {
    /// Returns cores with a single frequency: no other states and no turbo.
    fn default() -> Self {
        Self {
            nominal: 1.0,
            states: Vec::new(),
            turbo: Vec::new(),
            limit: Ratio::ONE,
            governor: None,
            memory_speed: 1.0,
            memory_bound: Ratio::ZERO,
        }
    }
}

/// Chooses a state from the past use of the cores. At a fixed interval it takes the share of the
/// time in which cores ran since the last decision. It chooses the lowest state at which the same
/// work would have kept them running for `target` of the time. Work that comes before the next
/// decision runs in the state chosen before: that is the governor's lag.
///
/// Linux' `schedutil` has the same proportional rule (kernel documentation, "Schedutil": `1.25 *
/// f_max * util / max`, a target of 80 %); the rule of a server's firmware is not published.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Governor {
    /// Interval between two decisions, above 0.
    pub every: Nanos,
    /// Target share of the time in which cores run, above 0.
    pub target: Ratio,
}

const CHECK: Check = Check("host frequency");

impl Clocking {
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let Self { nominal, states, turbo, limit, governor, memory_speed, memory_bound } = self;
        let is_speed = |value: f64| value.is_finite() && value > 0.0;
        CHECK.that(is_speed(*nominal), "nominal", nominal, "above 0 and finite")?;
        let rises = states.is_sorted_by(|a, b| a < b);
        let is_below = states.iter().all(|state| is_speed(*state) && state < nominal);
        let told = format!("{states:?}");
        CHECK.that(rises && is_below, "states", told, "ascending, above 0 and below nominal")?;
        let falls = turbo.is_sorted_by(|a, b| a >= b);
        let is_above = turbo.iter().all(|bin| bin.is_finite() && bin >= nominal);
        let told = format!("{turbo:?}");
        CHECK.that(falls && is_above, "turbo", told, "descending, from nominal up")?;
        let is_share = *limit > Ratio::ZERO && *limit <= Ratio::ONE;
        CHECK.that(is_share, "limit", limit, "above 0 % and at most 100 %")?;
        CHECK.that(is_speed(*memory_speed), "memory_speed", memory_speed, "above 0 and finite")?;
        CHECK.that(*memory_bound <= Ratio::ONE, "memory_bound", memory_bound, "at most 100 %")?;
        let Some(Governor { every, target }) = governor else { return Ok(()) };
        CHECK.that(*every > Nanos::ZERO, "every", every, "above 0 s")?;
        let is_share = *target > Ratio::ZERO && *target <= Ratio::ONE;
        CHECK.that(is_share, "target", target, "above 0 % and at most 100 %")
    }

    /// Returns the allowed states in GHz, without turbo, lowest first; at least one.
    pub(super) fn levels(&self) -> Vec<f64> {
        let most = self.nominal * self.limit.get();
        let all = self.states.iter().copied().chain([self.nominal]);
        let allowed: Vec<f64> = all.clone().filter(|ghz| *ghz <= most).collect();
        if allowed.is_empty() { all.take(1).collect() } else { allowed }
    }

    /// Returns the frequency in GHz of a state with this many running cores.
    pub(super) fn ghz(&self, level: f64, cores: u32) -> f64 {
        if level < self.nominal || self.turbo.is_empty() {
            return level;
        }
        let bin = usize::try_from(cores.max(1) - 1).unwrap_or(usize::MAX);
        self.turbo[bin.min(self.turbo.len() - 1)]
    }

    /// Returns the work done at a frequency, as a multiple of the work at the nominal frequency.
    pub(super) fn rate(&self, ghz: f64) -> f64 {
        let bound = self.memory_bound.get();
        1.0 / ((1.0 - bound) * self.nominal / ghz + bound / self.memory_speed)
    }

    /// Returns the cycles at a frequency, as a multiple of the cycles at the nominal frequency.
    pub(super) fn cycles(&self, ghz: f64) -> f64 {
        ghz / self.nominal
    }
}

/// State of a governor during a simulation.
#[derive(Debug)]
pub struct Governing {
    governor: Governor,
    /// Time of the governor's next decision.
    pub next: Nanos,
    /// Running time of cores since the last decision, summed over cores.
    pub busy: u128,
}

impl Governing {
    pub fn new(governor: Governor) -> Self {
        Self { governor, next: governor.every, busy: 0 }
    }

    /// Decides and returns the next level.
    #[expect(clippy::cast_precision_loss, reason = "a share of a time")]
    pub fn look(&mut self, cpu: &CpuParameters, levels: &[f64], level: usize) -> usize {
        let time = u128::from(self.governor.every.0) * u128::from(cpu.cores);
        let share = self.busy as f64 / time as f64;
        self.busy = 0;
        self.next = self.next.saturating_add(self.governor.every);
        let needed = share * levels[level] / self.governor.target.get();
        levels.iter().position(|ghz| *ghz >= needed).unwrap_or(levels.len() - 1)
    }

    /// Skips decisions up to `now`, because no core was running and they would change nothing.
    pub fn skip_to(&mut self, now: Nanos) {
        let every = self.governor.every.0;
        let behind = now.saturating_sub(self.next).0 / every;
        self.next = self.next.saturating_add(Nanos(behind.saturating_mul(every)));
    }
}
