//! Sums over the slices of a window.

mod totals;

pub use totals::{ActionTotals, KindTotals};

use std::collections::BTreeMap;

use run_store::slice::{CallRow, Direction, InstanceId, Slice, Topology, Unfinished};
use stats::{Compact, Histogram};
use units::Nanos;

/// Number of outstanding I/Os at which a request without a slot counts as waiting for the storage.
/// With more slots it would wait there instead, and complete no sooner. Our choice, about the
/// capacity of a device queue in Linux (1023, `nr_requests` of NVMe).
pub const PLENTY_IN_FLIGHT: u64 = 1000;
const PLENTY_MEAN: f64 = 1000.0;

/// I/O of one direction over a window.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirectionTotals {
    /// Bytes transferred by successful I/Os.
    pub bytes: u64,
    /// Number of failed I/Os.
    pub errors: u64,
    /// Service time: from submission to completion.
    pub service: Compact,
    /// Response time: from the intended start to completion.
    pub response: Compact,
}

/// Totals of a workload instance over a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InstanceTotals {
    /// Totals of actions, in the workload's order.
    pub actions: Vec<ActionTotals>,
    /// Totals of kinds of I/O and calls, in the workload's order.
    pub kinds: Vec<KindTotals>,
    /// Calls of the instance, keyed by kind.
    pub calls: BTreeMap<u16, CallRow>,
    /// Ages of starts that were due and had not begun at the end of the window.
    pub not_begun: Compact,
}

/// Totals of the load generator over a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GeneratorTotals {
    /// Number of I/Os submitted.
    pub submitted: u64,
    /// Number of I/Os completed, including failed ones.
    pub completed: u64,
    /// I/Os in flight at the start and at the end of the window.
    pub in_flight_at_ends: (u64, u64),
    /// Time integral of the I/Os in flight, in seconds.
    pub in_flight_seconds: f64,
    /// Lateness: time from the due time to the handling.
    pub lateness: Compact,
    /// Number of requests that waited for a free slot of the generator.
    pub queued: u64,
    /// Number of these requests that waited while fewer than [`PLENTY_IN_FLIGHT`] I/Os were
    /// outstanding, so that the generator itself was the cause.
    pub queued_early: u64,
    /// CPU time of each worker thread, in seconds.
    pub worker_cpu_seconds: Vec<f64>,
    /// Maximum time in which a worker was stopped, or not run by the kernel.
    pub away: Nanos,
}

impl GeneratorTotals {
    /// Returns the CPU time of the busiest worker as a share of `time`; `None` without a worker.
    pub fn busiest_worker(&self, time: Nanos) -> Option<f64> {
        let share = |seconds: &f64| seconds / time.as_secs_f64();
        self.worker_cpu_seconds.iter().map(share).reduce(f64::max)
    }
}

/// Sums over consecutive slices.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Start of the window, since the start of the step.
    pub start: Nanos,
    /// Total length of the slices.
    pub duration: Nanos,
    /// Sums by instance, indexed by [`InstanceId`].
    pub instances: Vec<InstanceTotals>,
    /// Sums by direction, in the order of [`Direction::ALL`].
    pub directions: [DirectionTotals; 3],
    /// Sums of the load generator.
    pub generator: GeneratorTotals,
    vm_instances: Vec<InstanceId>,
}

impl Window {
    /// Creates an empty window, with `in_flight` outstanding I/Os at its start.
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

    /// Adds a slice to the sums.
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
        // Thousands of rows are merged into open histograms, which is cheaper than into compact
        // ones.
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
        // Unfinished work is the state of a moment, not a sum.
        self.instances.iter_mut().for_each(|own| own.not_begun = Compact::default());
        for row in slice.open.iter().filter(|row| matches!(row.what, Unfinished::Start(_))) {
            self.instances[row.instance.0 as usize].not_begun.merge(&row.ages);
        }
        self.add_generator(slice);
    }

    /// Sums of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionTotals {
        &self.directions[direction as usize]
    }

    fn add_generator(&mut self, slice: &Slice) {
        self.generator.add(slice);
    }
}

impl GeneratorTotals {
    /// Adds the generator's figures of a slice.
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
