use run_store::run::{AgainstOthers, HostStep, PooledLimit};

use crate::placed::Placed;
use crate::rig::HostLoad;
use crate::step::against::Sums;
use crate::verdict::{StepJudge, generator_health};
use crate::window::Window;

/// Inputs for the results of each host's share of a step.
pub struct HostParts<'a> {
    /// Placement of tiles on hosts.
    pub placed: &'a Placed,
    /// Number of tiles of the step.
    pub tiles: u32,
    /// Judge of the step's limits.
    pub judge: &'a StepJudge<'a>,
    /// Measurement window.
    pub window: &'a Window,
    /// Limits of each host.
    pub limits: &'a [Vec<PooledLimit>],
    /// Times of I/Os and calls.
    pub sums: &'a Sums,
    /// Facts about each host's load.
    pub loads: &'a [HostLoad],
    /// Seed of the resampling.
    pub seed: u64,
}

impl HostParts<'_> {
    /// Returns the results of the hosts, with one entry each; empty if only this host drove.
    pub fn steps(&self) -> Vec<HostStep> {
        self.placed.names().iter().enumerate().map(|(at, name)| self.step(at, name)).collect()
    }

    fn step(&self, at: usize, name: &str) -> HostStep {
        let load = self.loads.get(at).cloned().unwrap_or_default();
        let (count, bytes) = self.sums.work.get(at).copied().unwrap_or_default();
        let seconds = self.window.duration.as_secs_f64().max(f64::MIN_POSITIVE);
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let per_second = |count: u64| if count == 0 { 0.0 } else { count as f64 / seconds };
        let tightest = self.judge.tightest_limit();
        let tiles = 0..self.tiles;
        HostStep {
            host: name.to_owned(),
            tiles: tiles.filter(|tile| self.placed.host_of(*tile) == Some(at)).collect(),
            began_late_ns: load.began_late.0,
            clock_uncertainty_ns: load.clock_uncertainty.0,
            slices_fetched: load.slices_fetched,
            slice_late_max_ns: load.slice_late_max.0,
            operations_per_s: per_second(count),
            bytes_per_s: per_second(bytes),
            against_others: self.sums.against_others(at, self.seed),
            limits: self.limits.get(at).cloned().unwrap_or_default(),
            generator: generator_health(&load.generator, self.window.duration, tightest),
        }
    }
}

/// Minimum ratio at which a host is reported as slow: its I/Os surely take this many times as long
/// as the I/Os of the others. Our choice: five equal hosts on one storage differ by far less, and a
/// path with half the bandwidth by more.
pub const SLOW_MIN: f64 = 1.5;

/// Returns warnings about hosts whose I/Os take longer than the I/Os of the others.
pub fn slow_hosts(hosts: &[HostStep]) -> Vec<String> {
    let slow = hosts.iter().filter_map(|host| {
        let AgainstOthers { samples, times, low, high } = &host.against_others;
        let (times, low, high) = (times.value?, low.value?, high.value?);
        (low > SLOW_MIN).then(|| {
            format!(
                "the I/Os of host {} take {times:.1} times as long as the same kinds on the other \
                 hosts ({low:.1} to {high:.1}, {samples} of them)",
                host.host
            )
        })
    });
    slow.collect()
}
