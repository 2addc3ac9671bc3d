use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use run_store::gauge::{GaugeSource, Readings};
use run_store::run::{ModelFacts, TierCounts, TierFacts};
use run_store::slice::{ActionRow, Direction, GeneratorRow, InstanceId, IoRow, Slice, VmId};
use stats::Compact;
use units::{Bytes, Nanos};

use crate::error::BenchError;
use crate::fleet::{DiskNeed, Member, StepOrder, fleet};
use crate::plan::ResolvedPlan;
use crate::rig::{Clocks, Load, LoadOutcome, PrefillSoFar, Prefilled, Received, Rig};
use crate::sample::latency::{Latencies, P95, chance, idle, slowdown};
use crate::sample::template::templates;
use crate::sample::{SampleOptions, edge_of};

/// Name of the tier of a sample.
const TIER: &str = "flash";

/// Rig that generates artificial slices.
#[derive(Debug)]
pub struct SampleRig<'a> {
    plan: &'a ResolvedPlan,
    templates: Rc<Vec<Vec<Slice>>>,
    edge: u32,
    seed: u64,
    begun: Timestamp,
    now: Rc<Cell<Nanos>>,
}

impl<'a> SampleRig<'a> {
    /// Creates a rig at time 0, with its start on the wall clock.
    pub fn new(
        plan: &'a ResolvedPlan,
        options: &SampleOptions,
        begun: Timestamp,
    ) -> Result<Self, BenchError> {
        let mut templates = templates(plan)?;
        if options.is_empty {
            for slice in templates.iter_mut().flatten() {
                (slice.io, slice.actions) = (Vec::new(), Vec::new());
            }
        }
        Ok(Self {
            plan,
            templates: Rc::new(templates),
            edge: edge_of(options.tiles),
            seed: options.seed,
            begun,
            now: Rc::default(),
        })
    }
}

impl<'a> Rig for SampleRig<'a> {
    type Load = SampleLoad;

    fn clocks(&self) -> Clocks {
        let monotonic_ns = i128::from(self.now.get().0);
        Clocks { monotonic_ns, realtime_ns: self.begun.as_nanosecond() + monotonic_ns }
    }

    fn wall(&self) -> Timestamp {
        Timestamp::from_nanosecond(self.clocks().realtime_ns).unwrap_or(self.begun)
    }

    fn capacity(&self) -> Bytes {
        Bytes::new(u64::MAX)
    }

    fn prepare(
        &mut self,
        _: &[DiskNeed],
        _: &mut dyn FnMut(PrefillSoFar) -> bool,
    ) -> Result<Option<Prefilled>, BenchError> {
        Ok(None)
    }

    fn check_written(&mut self) -> Result<Option<String>, BenchError> {
        Ok(None)
    }

    fn start(&mut self, plan: &ResolvedPlan, order: &StepOrder) -> Result<SampleLoad, BenchError> {
        let tiles = order.tiles;
        let mut first_vm = 0;
        let mut all = Vec::new();
        for instance in &fleet(plan, order.clone())?.instances {
            all.push(Driven { member: instance.member, first_vm });
            first_vm += u32::try_from(instance.vms.len()).unwrap_or(u32::MAX);
        }
        let load = f64::from(tiles) / f64::from(self.edge + 1);
        Ok(SampleLoad {
            bounds: bounds(self.plan, load),
            instances: all,
            templates: Rc::clone(&self.templates),
            width: self.plan.slice,
            seed: self.seed ^ u64::from(tiles) << 32,
            // Beyond the edge, no more work is done than at the edge.
            served: (1.0 / load).min(1.0),
            slowdown: slowdown(load),
            latencies: Latencies::new(),
            done: 0,
            now: Rc::clone(&self.now),
            begun: self.now.get(),
            is_over: false,
            finished: 0,
            tier: TierFacts::default(),
            told: TierFacts::default(),
        })
    }
}

/// Returns the medians of actions and kinds of I/O that have a limit. They stay below the limit
/// while the load is below the edge, and exceed it beyond the edge.
fn bounds(plan: &ResolvedPlan, load: f64) -> Vec<Vec<(String, Nanos)>> {
    let reached = if load < 1.0 { 0.15 + 0.7 * load * load } else { 1.3 };
    let workloads = plan.tile_set.workloads.iter();
    let of_workload = |workload: &spec::workload::Workload| {
        let limits = workload.limits.iter();
        let bound = limits.filter_map(|limit| {
            let name = limit.action.as_ref().or(limit.io.as_ref())?;
            let allowed = limit.limit.or(limit.mean).or(limit.max)?;
            let scale = if limit.max.is_some() { 20.0 } else { P95 };
            Some((name.clone(), allowed.scale(reached / scale)))
        });
        bound.collect()
    };
    workloads.map(|(workload, _)| of_workload(workload)).collect()
}

#[derive(Debug, Clone, Copy)]
struct Driven {
    member: Member,
    first_vm: u32,
}

/// An artificial load, which does no I/O.
#[derive(Debug)]
pub struct SampleLoad {
    /// Medians by workload.
    bounds: Vec<Vec<(String, Nanos)>>,
    instances: Vec<Driven>,
    templates: Rc<Vec<Vec<Slice>>>,
    width: Nanos,
    seed: u64,
    served: f64,
    slowdown: f64,
    latencies: Latencies,
    /// Number of slices so far.
    done: u64,
    now: Rc<Cell<Nanos>>,
    begun: Nanos,
    is_over: bool,
    finished: u64,
    /// Counters of the tier since the start of the measurement.
    tier: TierFacts,
    /// Counters of the tier since the last call.
    told: TierFacts,
}

impl SampleLoad {
    fn slice(&mut self) -> Slice {
        let start = Nanos(self.width.0 * self.done);
        let templates = Rc::clone(&self.templates);
        let mut slice = Slice { start, width: self.width, ..Slice::default() };
        for number in 0..self.instances.len() {
            let Driven { member, first_vm } = self.instances[number];
            let own = &templates[member.workload];
            // Bursts of different tiles come at different times.
            let place = (self.done + u64::from(member.tile.unwrap_or(0)) * 7) % own.len() as u64;
            let template = &own[usize::try_from(place).unwrap_or(0)];
            let id = u64::try_from(number).unwrap_or(0);
            for row in &template.io {
                slice.io.extend(self.io(row, (id, first_vm), member, start));
            }
            for row in &template.actions {
                slice.actions.extend(self.action(row, id, member));
            }
        }
        self.done += 1;
        self.now.set(self.begun + start + self.width);
        slice.generator = self.generator(&slice);
        self.fill(&slice);
        slice
    }

    fn draw(&self, id: u64, what: u64) -> f64 {
        chance([self.seed ^ 1, self.done, id, what])
    }

    fn count(&self, count: u64, id: u64) -> u64 {
        let wobble = 0.95 + 0.1 * chance([self.seed, self.done, id, count]);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "counts of a slice, and not negative"
        )]
        let served = (count as f64 * self.served * wobble).round() as u64;
        served
    }

    fn io(
        &mut self,
        row: &IoRow,
        (id, first_vm): (u64, u32),
        member: Member,
        at: Nanos,
    ) -> Option<IoRow> {
        let before = row.service.count();
        let count = self.count(before, id);
        if count == 0 {
            return None;
        }
        let wobble = 0.9 + 0.2 * chance([self.seed, self.done, id, u64::from(row.vm.0)]);
        let wobble = wobble * (1.0 + 0.001 * f64::from(member.tile.unwrap_or(0)));
        let median = idle(row.direction, row.class, at).scale(self.slowdown * wobble);
        let service = self.latencies.around(median, count, self.draw(id, u64::from(row.kind)));
        Some(IoRow {
            vm: VmId(first_vm + row.vm.0),
            bytes: Bytes::new(row.bytes.get() / before.max(1) * count),
            response: service.clone(),
            service,
            ..row.clone()
        })
    }

    fn action(&mut self, row: &ActionRow, id: u64, member: Member) -> Option<ActionRow> {
        let count = self.count(row.response.count(), id);
        if count == 0 {
            return None;
        }
        let bounds = &self.bounds[member.workload];
        // Actions are in the order of the workload, and so are limits; actions without a limit need
        // no exact median.
        let bound = bounds.get(usize::from(row.action)).or(bounds.first());
        let median = bound.map_or(Nanos::from_millis(8), |(_, median)| *median);
        let wobble = 0.95 + 0.1 * chance([self.seed, self.done, id, 1 << 40]);
        let draw = self.draw(id, 1 << 41 | u64::from(row.action));
        let response = self.latencies.around(median.scale(wobble), count, draw);
        Some(ActionRow {
            instance: InstanceId(u32::try_from(id).unwrap_or(u32::MAX)),
            service: response.clone(),
            response,
            ..row.clone()
        })
    }

    fn generator(&mut self, slice: &Slice) -> GeneratorRow {
        let count: u64 = slice.io.iter().map(|row| row.service.count()).sum();
        self.finished += count;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let in_flight_seconds =
            slice.io.iter().map(|row| row.service.sum_ns as f64 / 1e9).sum::<f64>();
        let lateness = if count == 0 {
            Compact::default()
        } else {
            self.latencies.around(Nanos::from_micros(30), count.min(1000), 0.5)
        };
        let busy = if count == 0 { 0.0 } else { 0.2 + 0.1 * chance([self.seed, self.done, 3, 5]) };
        GeneratorRow {
            submitted: count,
            completed: count,
            in_flight: 0,
            in_flight_seconds,
            lateness,
            queued: 0,
            worker_cpu: vec![busy, busy * 0.8],
            away: Nanos::ZERO,
        }
    }

    /// Fills a tier gradually: it holds an increasing share of the data that is read.
    fn fill(&mut self, slice: &Slice) {
        let minutes = Nanos(self.width.0 * self.done).as_secs_f64() / 60.0;
        let share = 0.45 + 0.45 * (1.0 - (-minutes / 3.0).exp());
        let sums = |direction| {
            let rows = slice.io.iter().filter(|row| row.direction == direction);
            rows.fold((0, 0), |(count, bytes), row| {
                (count + row.service.count(), bytes + row.bytes.get())
            })
        };
        let ((reads, read_bytes), (writes, write_bytes)) =
            (sums(Direction::Read), sums(Direction::Write));
        let part = |value: u64, share: f64| Nanos(value).scale(share).0;
        let capacity_bytes = 200 << 30;
        let filled_bytes = part(read_bytes, 1.0 - share);
        for facts in [&mut self.tier, &mut self.told] {
            facts.name = TIER.to_owned();
            facts.capacity_bytes = capacity_bytes;
            let counts = &mut facts.counts;
            *counts = counts.and_then(TierCounts {
                resident_bytes: part(capacity_bytes, 0.2 + 0.8 * (share - 0.45) / 0.45),
                dirty_bytes: part(write_bytes, 0.3),
                dirty_bytes_max: part(write_bytes, 0.3),
                reads,
                read_hits: part(reads, share),
                read_bytes,
                read_hit_bytes: read_bytes - filled_bytes,
                writes,
                write_hits: part(writes, 0.6),
                write_bytes,
                write_hit_bytes: part(write_bytes, 0.6),
                writes_absorbed: part(writes, 0.97),
                remote_hits: 0,
                filled_bytes,
                placed_bytes: part(write_bytes, 0.4),
                evicted_bytes: part(filled_bytes, 0.5),
                destaged_bytes: write_bytes,
                tier_written_bytes: filled_bytes + write_bytes,
                ..TierCounts::default()
            });
            let alone = counts.read_hits + counts.writes_absorbed;
            let all = counts.reads + counts.writes;
            #[expect(clippy::cast_precision_loss, reason = "a rate")]
            let rate = (all > 0).then(|| alone as f64 / all as f64);
            facts.acceleration_rate = rate;
        }
    }
}

impl GaugeSource for SampleLoad {
    fn read(&mut self) -> Readings {
        Readings::of_tiers(vec![std::mem::take(&mut self.told)])
    }
}

impl Load for SampleLoad {
    fn next(&mut self, _: Duration) -> Received {
        if self.is_over { Received::Ended } else { Received::Slice(self.slice()) }
    }

    fn mark(&mut self) {
        self.tier = TierFacts::default();
    }

    fn model(&mut self) -> Option<ModelFacts> {
        Some(ModelFacts { tiers: vec![self.tier.clone()], ..ModelFacts::default() })
    }

    fn stop(&mut self) {
        self.is_over = true;
    }

    fn finish(self) -> Result<LoadOutcome, BenchError> {
        Ok(LoadOutcome {
            submitted: self.finished,
            completed: self.finished,
            depth: 256,
            backend: "made up".to_owned(),
            elapsed: Nanos(self.width.0 * self.done),
            ..LoadOutcome::default()
        })
    }

    fn abandon(self) {}
}
