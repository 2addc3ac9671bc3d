use run_store::run::{AgainstOthers, HostStep, PooledLimit};

use crate::placed::Placed;
use crate::rig::HostLoad;
use crate::step::against::Sums;
use crate::verdict::{StepJudge, generator_health};
use crate::window::Window;

/// What each host's part of a step came to.
pub struct HostParts<'a> {
    /// Who drove what.
    pub placed: &'a Placed,
    /// The tiles of the step.
    pub tiles: u32,
    /// The judge of the step.
    pub judge: &'a StepJudge<'a>,
    /// The measured window.
    pub window: &'a Window,
    /// The limits of each host.
    pub limits: &'a [Vec<PooledLimit>],
    /// How long I/Os took.
    pub sums: &'a Sums,
    /// Of each host, what its load knows.
    pub loads: &'a [HostLoad],
    /// Seed for resampling.
    pub seed: u64,
}

impl HostParts<'_> {
    /// One entry for each host; none where nobody but this machine drove.
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

/// A host is told of when its I/Os surely take this many times as long as the others'. Our choice: what
/// five hosts of one kind on one storage differ by chance is far less, and a path with half the
/// bandwidth is more.
pub const SLOW_MIN: f64 = 1.5;

/// What to know of hosts, in words: whose I/Os take longer than the others'.
pub fn slow_hosts(hosts: &[HostStep]) -> Vec<String> {
    let slow = hosts.iter().filter_map(|host| {
        let AgainstOthers { samples, times, low, high } = &host.against_others;
        let (times, low, high) = (times.value?, low.value?, high.value?);
        (low > SLOW_MIN).then(|| {
            format!(
                "the I/Os of host {} take {times:.1} times as long as the same of the others \
                 ({low:.1} to {high:.1}, {samples} of them)",
                host.host
            )
        })
    });
    slow.collect()
}
