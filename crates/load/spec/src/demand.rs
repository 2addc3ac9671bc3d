//! Mean demand of a definition on the storage, computed without running it.
//!
//! The computation uses means only. It is exact for paced and open loads, and for closed loops
//! whose response times are known. Bursts and phases are averaged over their period. It is used to
//! compare the shipped tiles with the numbers that they are made from, and gives a first idea of a
//! tile's size.

use std::ops::AddAssign;

use indexmap::IndexMap;
use units::{Bytes, Nanos};

use crate::check::size_mix;
use crate::tile::ResolvedTile;
use crate::workload::{
    Action, Address, Load, RandomTime, Schedule, Size, Step, Time, UserGroup, Workload,
};

/// Expected demand, averaged over bursts and phases.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Demand {
    /// Completed actions per second.
    pub actions_per_s: f64,
    /// Number of reads per second.
    pub reads_per_s: f64,
    /// Writes per second, appends included.
    pub writes_per_s: f64,
    /// Number of flushes per second.
    pub flushes_per_s: f64,
    /// Bytes read per second.
    pub read_bytes_per_s: f64,
    /// Bytes written per second.
    pub written_bytes_per_s: f64,
}

impl Demand {
    /// Returns the share of reads in reads and writes, 0 to 1; 0 if there are none.
    pub fn read_share(&self) -> f64 {
        let all = self.io_per_s();
        if all > 0.0 { self.reads_per_s / all } else { 0.0 }
    }

    /// Returns the number of reads and writes per second.
    pub fn io_per_s(&self) -> f64 {
        self.reads_per_s + self.writes_per_s
    }

    fn times(self, factor: f64) -> Self {
        Self {
            actions_per_s: self.actions_per_s * factor,
            reads_per_s: self.reads_per_s * factor,
            writes_per_s: self.writes_per_s * factor,
            flushes_per_s: self.flushes_per_s * factor,
            read_bytes_per_s: self.read_bytes_per_s * factor,
            written_bytes_per_s: self.written_bytes_per_s * factor,
        }
    }
}

impl AddAssign for Demand {
    fn add_assign(&mut self, other: Self) {
        self.actions_per_s += other.actions_per_s;
        self.reads_per_s += other.reads_per_s;
        self.writes_per_s += other.writes_per_s;
        self.flushes_per_s += other.flushes_per_s;
        self.read_bytes_per_s += other.read_bytes_per_s;
        self.written_bytes_per_s += other.written_bytes_per_s;
    }
}

/// Computes the demand of a workload if every I/O and flush takes `service`. `None` if the demand
/// is infinite (a closed loop without think time on storage that takes no time).
pub fn of_workload(workload: &Workload, service: Nanos) -> Option<Demand> {
    let mut total = Demand::default();
    for group in &workload.groups {
        total += of_group(workload, group, service)?;
    }
    Some(total)
}

/// Computes the demand of a tile if every I/O and flush takes `service`; `None` if it is infinite.
pub fn of_tile(tile: &ResolvedTile, service: Nanos) -> Option<Demand> {
    let mut total = Demand::default();
    for (workload, count) in &tile.workloads {
        total += of_workload(workload, service)?.times(f64::from(*count));
    }
    Some(total)
}

/// Returns the total full size of a workload's disks.
pub fn footprint(workload: &Workload) -> Bytes {
    workload.vms.iter().flat_map(|vm| &vm.disks).map(|disk| disk.size).sum()
}

/// Returns the full size of the hot spots and drifting working sets on a workload's disks. If
/// several steps use the same part of a disk, the largest counts.
pub fn working_set(workload: &Workload) -> Bytes {
    let mut parts: IndexMap<(&str, u64, u64), f64> = IndexMap::new();
    for_each_address(workload, &mut |disk, address| {
        let (start, length, hot) = hot_part(address);
        let share = parts.entry((disk, start.to_bits(), length.to_bits())).or_default();
        *share = share.max(hot);
    });
    let size_of = |name: &str| {
        let disk = workload.vms.iter().flat_map(|vm| &vm.disks).find(|disk| disk.name == name);
        disk.map_or(Bytes::ZERO, |disk| disk.size)
    };
    parts.iter().map(|((disk, ..), share)| size_of(disk).scale(*share)).sum()
}

fn for_each_address<'a>(workload: &'a Workload, visit: &mut impl FnMut(&'a str, &'a Address)) {
    fn steps<'a>(list: &'a [Step], visit: &mut impl FnMut(&'a str, &'a Address)) {
        for step in list {
            match step {
                Step::Read(access) | Step::Write(access) => visit(&access.disk, &access.address),
                other => steps(other.inner(), visit),
            }
        }
    }
    for action in &workload.actions {
        steps(&action.steps, visit);
    }
}

/// Returns the start and length of the addressed part of the disk, and the hot share of the disk in
/// it.
fn hot_part(address: &Address) -> (f64, f64, f64) {
    match address {
        Address::Hot(spots) => (0.0, 1.0, spots.iter().map(|spot| spot.space.get()).sum()),
        Address::Drift(drift) => (0.0, 1.0, drift.working_set.get()),
        Address::Reuse(reuse) => {
            (0.0, 1.0, reuse.again.last().map_or(0.0, |again| again.within.get()))
        }
        Address::Within(within) => {
            let (start, length, hot) = hot_part(&within.address);
            let outer = within.length.get();
            (within.start.get() + start * outer, length * outer, hot * outer)
        }
        _ => (0.0, 1.0, 0.0),
    }
}

fn of_group(workload: &Workload, group: &UserGroup, service: Nanos) -> Option<Demand> {
    let weights = mean_mix(workload, group);
    let all: f64 = weights.iter().sum();
    if all <= 0.0 {
        return Some(Demand::default());
    }
    let mut one = Demand::default();
    let mut seconds = 0.0;
    for (action, weight) in workload.actions.iter().zip(weights) {
        let cost = of_action(action, service);
        one += cost.demand.times(weight / all);
        seconds += cost.seconds * weight / all;
    }
    let most = |users: u32| if seconds > 0.0 { f64::from(users) / seconds } else { f64::INFINITY };
    let rate = match &group.load {
        Load::Closed { users, think } => f64::from(*users) / (mean_time(think) + seconds),
        Load::Paced { users, rate, .. } => rate.get().min(most(*users)),
        Load::Open { rate, outstanding_max, .. } => rate.get().min(most(*outstanding_max)),
    };
    let active = group.schedule.as_ref().map_or(1.0, share_active);
    rate.is_finite().then(|| one.times(rate * active))
}

/// Returns the weights of all actions, averaged over the group's repeating phases.
fn mean_mix(workload: &Workload, group: &UserGroup) -> Vec<f64> {
    let shares = |mix: &dyn Fn(&Action) -> f64| {
        let weights: Vec<f64> = workload.actions.iter().map(mix).collect();
        let all: f64 = weights.iter().sum();
        weights.into_iter().map(move |weight| if all > 0.0 { weight / all } else { 0.0 })
    };
    let named = |mix: &IndexMap<String, f64>, action: &Action| {
        mix.get(&action.name).copied().unwrap_or(0.0)
    };
    let mut rest = 1.0;
    let mut total = vec![0.0; workload.actions.len()];
    for phase in group.phases.iter().filter(|phase| phase.schedule.every.is_some()) {
        let share = share_active(&phase.schedule).min(rest);
        rest -= share;
        let mix = |action: &Action| named(&phase.mix, action);
        total.iter_mut().zip(shares(&mix)).for_each(|(sum, weight)| *sum += share * weight);
    }
    let base = |action: &Action| group.mix.as_ref().map_or(action.weight, |mix| named(mix, action));
    total.iter_mut().zip(shares(&base)).for_each(|(sum, weight)| *sum += rest * weight);
    total
}

/// Returns the share of time in which a repeating schedule is active; 1 for a schedule that does
/// not repeat.
fn share_active(schedule: &Schedule) -> f64 {
    match (schedule.active, schedule.every) {
        (Some(active), Some(every)) => active.as_secs_f64() / every.as_secs_f64(),
        _ => 1.0,
    }
}

/// Work and duration of one action.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    demand: Demand,
    seconds: f64,
}

fn of_action(action: &Action, service: Nanos) -> Cost {
    let mut cost = in_a_row(&action.steps, service);
    cost.demand.actions_per_s = 1.0;
    cost
}

fn in_a_row(steps: &[Step], service: Nanos) -> Cost {
    let mut sum = Cost::default();
    for step in steps {
        let cost = of_step(step, service);
        sum.demand += cost.demand;
        sum.seconds += cost.seconds;
    }
    sum
}

fn of_step(step: &Step, service: Nanos) -> Cost {
    let io = |count: u32, demand: Demand| {
        let count = f64::from(count);
        Cost { demand: demand.times(count), seconds: count * service.as_secs_f64() }
    };
    match step {
        Step::Read(access) => {
            let read_bytes_per_s = mean_size(&access.size);
            io(access.count, Demand { reads_per_s: 1.0, read_bytes_per_s, ..Demand::default() })
        }
        Step::Write(access) => io(access.count, write(&access.size)),
        Step::Append(append) => io(append.count, write(&append.size)),
        Step::Call(call) => io(call.count, Demand::default()),
        Step::Flush(_) => io(1, Demand { flushes_per_s: 1.0, ..Demand::default() }),
        Step::Cpu(time) | Step::Wait(time) => Cost { seconds: mean_time(time), ..Cost::default() },
        Step::Parallel(steps) => {
            let sum = in_a_row(steps, service);
            let longest = steps.iter().map(|step| of_step(step, service).seconds);
            Cost { seconds: longest.fold(0.0, f64::max), ..sum }
        }
        Step::Repeat(repeat) => {
            let once = in_a_row(&repeat.steps, service);
            let times = f64::from(repeat.times);
            Cost { demand: once.demand.times(times), seconds: once.seconds * times }
        }
        Step::Stage(stage) => in_a_row(&stage.steps, service),
        // As if nobody shared a commit: how many do depends on the storage.
        Step::Commit(commit) => in_a_row(&commit.steps, service),
        // Operations are no part of a tile's demand.
        Step::Copy(_)
        | Step::Move(_)
        | Step::Link(_)
        | Step::Destroy(_)
        | Step::Check(_)
        | Step::Snapshot(_) => Cost::default(),
    }
}

fn write(size: &Size) -> Demand {
    Demand { writes_per_s: 1.0, written_bytes_per_s: mean_size(size), ..Demand::default() }
}

/// Returns the mean block size in bytes.
fn mean_size(size: &Size) -> f64 {
    let mix = size_mix(size);
    let all: f64 = mix.iter().map(|(_, weight)| weight).sum();
    mix.iter().map(|(block, weight)| f64::from(block.get()) * weight / all).sum()
}

/// Returns the mean of a time in seconds.
pub fn mean_time(time: &Time) -> f64 {
    match time {
        Time::Fixed(time) | Time::Random(RandomTime::Exponential(time)) => time.as_secs_f64(),
        Time::Random(RandomTime::Uniform(low, high)) => {
            f64::midpoint(low.as_secs_f64(), high.as_secs_f64())
        }
    }
}
