//! What the slices of a window add up to.

mod totals;

pub use totals::{ActionTotals, KindTotals};

use std::collections::BTreeMap;

use run_store::slice::{CallRow, Direction, InstanceId, Slice, Topology, Unfinished};
use stats::{Compact, Histogram};
use units::Nanos;

/// A request that waits for a slot while the storage has this many I/Os unanswered waits for
/// the storage: with more slots it would wait there instead, and respond no sooner. Our
/// choice, about what Linux lets one queue of a device hold (1023, `nr_requests` of NVMe).
pub const PLENTY_IN_FLIGHT: u64 = 1000;
const PLENTY_MEAN: f64 = 1000.0;

/// All I/O of one direction over a window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirectionTotals {
    /// Bytes moved by I/Os that succeeded.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Submitted to done.
    pub service: Compact,
    /// Intended start to done.
    pub response: Compact,
}

/// One workload instance over a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InstanceTotals {
    /// Its actions, in the workload's order.
    pub actions: Vec<ActionTotals>,
    /// Its kinds of I/O and calls, in the workload's order.
    pub kinds: Vec<KindTotals>,
    /// Its calls, by kind.
    pub calls: BTreeMap<u16, CallRow>,
    /// Ages of its starts that were due and had not begun when the window ended.
    pub not_begun: Compact,
}

/// How the generator fared over a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GeneratorTotals {
    /// I/Os handed to the storage.
    pub submitted: u64,
    /// I/Os answered, failed ones included.
    pub completed: u64,
    /// I/Os in flight when the window began and when it ended.
    pub in_flight_at_ends: (u64, u64),
    /// Time integral of the I/Os in flight.
    pub in_flight_seconds: f64,
    /// Due time to handling.
    pub lateness: Compact,
    /// Requests that waited for a free slot of the generator itself.
    pub queued: u64,
    /// Those of them that waited while the storage had fewer than [`PLENTY_IN_FLIGHT`] I/Os
    /// to answer: the generator's own doing.
    pub queued_early: u64,
    /// CPU seconds of each worker thread.
    pub worker_cpu_seconds: Vec<f64>,
    /// Time in which a worker was stopped, or kept by the kernel.
    pub away: Nanos,
}

impl GeneratorTotals {
    /// CPU time of the busiest worker as a share of `time`; absent without a worker.
    pub fn busiest_worker(&self, time: Nanos) -> Option<f64> {
        let share = |seconds: &f64| seconds / time.as_secs_f64();
        self.worker_cpu_seconds.iter().map(share).reduce(f64::max)
    }
}

/// What a run of slices adds up to.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Start, from the start of the step.
    pub start: Nanos,
    /// Sum of the slices' widths.
    pub duration: Nanos,
    /// By [`InstanceId`].
    pub instances: Vec<InstanceTotals>,
    /// By position in [`Direction::ALL`].
    pub directions: [DirectionTotals; 3],
    /// The generator.
    pub generator: GeneratorTotals,
    vm_instances: Vec<InstanceId>,
}

impl Window {
    /// An empty window; `in_flight` I/Os are under way at its start.
    pub fn new(topology: &Topology, start: Nanos, in_flight: u64) -> Self {
        let instances = topology
            .instances
            .iter()
            .map(|instance| InstanceTotals {
                actions: vec![ActionTotals::default(); instance.actions.len()],
                kinds: vec![KindTotals::default(); instance.kinds.len()],
                calls: BTreeMap::new(),
                not_begun: Compact::default(),
            })
            .collect();
        let generator = GeneratorTotals {
            in_flight_at_ends: (in_flight, in_flight),
            ..GeneratorTotals::default()
        };
        Self {
            start,
            duration: Nanos::ZERO,
            instances,
            directions: Default::default(),
            generator,
            vm_instances: topology.vms.iter().map(|vm| vm.instance).collect(),
        }
    }

    /// Adds a slice.
    pub fn add(&mut self, slice: &Slice) {
        self.duration += slice.width;
        for row in &slice.actions {
            self.instances[row.instance.0 as usize].actions[usize::from(row.action)].add(row);
        }
        for row in &slice.calls {
            let instance = &mut self.instances[row.instance.0 as usize];
            instance.kinds[usize::from(row.kind)].add_calls(row);
            let calls = instance.calls.entry(row.kind);
            calls.and_modify(|sum| sum.merge(row)).or_insert_with(|| row.clone());
        }
        // Adding thousands of rows to one that is open takes no look at what it holds.
        let mut open: [[Histogram; 2]; 3] = Default::default();
        for row in &slice.io {
            let instance = self.vm_instances[row.vm.0 as usize];
            self.instances[instance.0 as usize].kinds[usize::from(row.kind)].add(row);
            let total = &mut self.directions[row.direction as usize];
            total.bytes += row.bytes.get();
            total.errors += row.errors;
            let [service, response] = &mut open[row.direction as usize];
            service.merge_compact(&row.service);
            response.merge_compact(&row.response);
        }
        for (total, [service, response]) in self.directions.iter_mut().zip(open) {
            total.service.merge(&service.compact());
            total.response.merge(&response.compact());
        }
        // What is open is the state of a moment, not a sum.
        self.instances.iter_mut().for_each(|own| own.not_begun = Compact::default());
        for row in slice.open.iter().filter(|row| matches!(row.what, Unfinished::Start(_))) {
            self.instances[row.instance.0 as usize].not_begun.merge(&row.ages);
        }
        self.add_generator(slice);
    }

    /// The totals of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionTotals {
        &self.directions[direction as usize]
    }

    fn add_generator(&mut self, slice: &Slice) {
        self.generator.add(slice);
    }
}

impl GeneratorTotals {
    /// Adds what it did in a slice.
    pub fn add(&mut self, slice: &Slice) {
        let (sum, row) = (self, &slice.generator);
        sum.submitted += row.submitted;
        sum.completed += row.completed;
        sum.in_flight_at_ends.1 = row.in_flight;
        sum.in_flight_seconds += row.in_flight_seconds;
        sum.queued += row.queued;
        let mean = row.in_flight_seconds / slice.width.as_secs_f64().max(f64::MIN_POSITIVE);
        if row.in_flight < PLENTY_IN_FLIGHT && mean < PLENTY_MEAN {
            sum.queued_early += row.queued;
        }
        sum.lateness.merge(&row.lateness);
        sum.away += row.away;
        let workers = sum.worker_cpu_seconds.len().max(row.worker_cpu.len());
        sum.worker_cpu_seconds.resize(workers, 0.0);
        for (seconds, share) in sum.worker_cpu_seconds.iter_mut().zip(&row.worker_cpu) {
            *seconds += share * slice.width.as_secs_f64();
        }
    }
}
