use record::run::{AgainstOthers, Figure, HostStep, PooledLimit};
use record::slice::Slice;
use stats::{Resampling, bootstrap};

use crate::placed::Placed;
use crate::rig::HostLoad;
use crate::verdict::{StepJudge, generator_health};
use crate::window::Window;

/// Fewer blocks than this give no interval.
const BLOCKS_MIN: usize = 5;
/// Blocks are put together when there are more, so that memory and resampling stay small.
const BLOCKS_MAX: usize = 64;

/// I/Os and calls of one kind, and the time they took together, in seconds.
type Cell = (f64, f64);

/// How long each host's I/Os and calls took, block by block and kind by kind.
#[derive(Debug, Clone, Default)]
pub struct HostSums {
    hosts: usize,
    /// Where a workload's kinds begin; the last is the number of all.
    offsets: Vec<usize>,
    slices: usize,
    unit: usize,
    /// By block, by host and kind.
    blocks: Vec<Vec<Cell>>,
}

impl HostSums {
    /// None yet, of these hosts.
    pub fn new(judge: &StepJudge<'_>) -> Self {
        let hosts = judge.placed.names().len();
        let mut offsets = vec![0];
        for position in 0..judge.tile.workloads.len() {
            let instance = judge.members_of(position).next();
            let kinds = instance.map_or(0, |(at, _)| judge.topology.instances[at].kinds.len());
            offsets.push(offsets[position] + kinds);
        }
        Self { hosts, offsets, slices: 0, unit: 1, blocks: Vec::new() }
    }

    /// Adds a slice of the measured time.
    pub fn add(&mut self, judge: &StepJudge<'_>, slice: &Slice) {
        if self.hosts == 0 {
            return;
        }
        if self.slices == BLOCKS_MAX * self.unit {
            self.unit *= 2;
            self.blocks = self.blocks.chunks(2).map(sum).collect();
        }
        let kinds = self.offsets.last().copied().unwrap_or(0);
        if self.slices.is_multiple_of(self.unit) {
            self.blocks.push(vec![(0.0, 0.0); self.hosts * kinds]);
        }
        self.slices += 1;
        let io = slice
            .io
            .iter()
            .map(|row| (judge.topology.vms[row.vm.0 as usize].instance, row.kind, &row.service));
        let calls = slice.calls.iter().map(|row| (row.instance, row.kind, &row.service));
        let Some(block) = self.blocks.last_mut() else { return };
        for (instance, kind, service) in io.chain(calls) {
            let member = judge.members[instance.0 as usize];
            let Some(host) = judge.placed.host_of(member.tile) else { continue };
            let cell = &mut block[host * kinds + self.offsets[member.workload] + usize::from(kind)];
            #[expect(clippy::cast_precision_loss, reason = "sums of a window of minutes")]
            let (count, time) = (service.count() as f64, service.sum_ns as f64 / 1e9);
            (cell.0, cell.1) = (cell.0 + count, cell.1 + time);
        }
    }

    /// One host against all others together.
    pub fn against_others(&self, host: usize, seed: u64) -> AgainstOthers {
        let kinds = self.offsets.last().copied().unwrap_or(0);
        let absent = |why: &str| Figure::absent(why);
        let positions: Vec<usize> = (0..self.blocks.len()).collect();
        let all = self.compared(host, kinds, &positions);
        let mut found = AgainstOthers {
            samples: all.map_or(0, |(count, _)| count),
            times: absent("no other host did the same kinds of I/O"),
            low: absent("too few blocks of time"),
            high: absent("too few blocks of time"),
        };
        let Some((_, times)) = all else { return found };
        found.times = Figure::of(times);
        let times_of =
            |drawn: &[usize]| self.compared(host, kinds, drawn).map_or(1.0, |(_, times)| times);
        if self.blocks.len() >= BLOCKS_MIN
            && let Some(interval) = bootstrap(&positions, times_of, Resampling::with_seed(seed))
        {
            (found.low, found.high) = (Figure::of(interval.low), Figure::of(interval.high));
        }
        found
    }

    /// How many I/Os and calls of a host are compared, and how many times as long they took as the
    /// same would have taken with the others' means.
    fn compared(&self, host: usize, kinds: usize, drawn: &[usize]) -> Option<(u64, f64)> {
        let (mut count, mut own_time, mut expected) = (0.0, 0.0, 0.0);
        for kind in 0..kinds {
            let cell = |of: usize| {
                let cells = drawn.iter().map(|block| self.blocks[*block][of * kinds + kind]);
                cells.fold((0.0, 0.0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1))
            };
            let own = cell(host);
            let others = (0..self.hosts).filter(|of| *of != host).map(cell);
            let others = others.fold((0.0, 0.0), |sum: Cell, c| (sum.0 + c.0, sum.1 + c.1));
            if own.0 > 0.0 && others.0 > 0.0 {
                count += own.0;
                own_time += own.1;
                expected += own.0 * others.1 / others.0;
            }
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let count = count as u64;
        (count > 0 && expected > 0.0).then_some((count, own_time / expected))
    }
}

fn sum(blocks: &[Vec<Cell>]) -> Vec<Cell> {
    let mut sum = blocks[0].clone();
    for block in &blocks[1..] {
        sum.iter_mut().zip(block).for_each(|(own, more)| {
            (own.0, own.1) = (own.0 + more.0, own.1 + more.1);
        });
    }
    sum
}

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
    pub sums: &'a HostSums,
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
        let (mut count, mut bytes) = (0, 0);
        for (member, totals) in self.judge.members.iter().zip(&self.window.instances) {
            if self.placed.host_of(member.tile) == Some(at) {
                count += totals.kinds.iter().map(|kind| kind.count()).sum::<u64>();
                bytes += totals.kinds.iter().map(|kind| kind.bytes).sum::<u64>();
            }
        }
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
