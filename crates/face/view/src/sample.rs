//! Made-up runs that are always the same, for tests and for measuring size and speed of views of
//! large runs. They say nothing about real storage.

use run_store::rollup::Rollup;
use run_store::run::{Phase, Run};
use run_store::series::StepKey;
use run_store::slice::{
    ActionRow, Direction, GeneratorRow, InstanceEntry, InstanceId, IoRow, SizeClass, Slice,
    Topology, VmEntry, VmId,
};
use serde_json::{Value, json};
use state_machine::SplitMix;
use stats::{Compact, Histogram};
use units::{Bytes, Nanos};

/// Workloads of each tile.
const WORKLOADS: [&str; 5] = ["shop", "mail", "files", "web", "batch"];
/// I/O of a workload: direction, size class and weight.
const MIX: [(Direction, u8, u32); 8] = [
    (Direction::Read, 1, 6),
    (Direction::Read, 2, 9),
    (Direction::Read, 5, 2),
    (Direction::Write, 1, 4),
    (Direction::Write, 2, 5),
    (Direction::Write, 4, 2),
    (Direction::Write, 5, 1),
    (Direction::Flush, 0, 1),
];
const LIMIT: Nanos = Nanos::from_millis(500);

/// Size of a made-up run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Number of tiles of the first step.
    pub tiles_first: u32,
    /// Number of steps; each has one more tile than the step before.
    pub steps: u32,
    /// Number of slices of each step, a sixth of them warm-up.
    pub slices: u32,
    /// Width of a slice.
    pub slice: Nanos,
    /// Seed of the random streams.
    pub seed: u64,
}

impl Sample {
    /// Sample that must fit into a report: ten steps up to ten tiles, three hours.
    pub const LADDER: Self =
        Self { tiles_first: 1, steps: 10, slices: 216, slice: Nanos::from_secs(5), seed: 1 };

    /// Sample for measuring the slowest view: 100 tiles, three hours.
    pub const LARGE: Self = Self {
        tiles_first: 100,
        steps: 1,
        slices: 2040,
        slice: Nanos::from_millis(5_294),
        seed: 1,
    };

    /// Makes the rollup of the sample's I/O.
    pub fn rollup(&self) -> Rollup {
        let mut rollup = Rollup::new();
        self.each_slice(|key, topology, slice| rollup.slice(key, topology, slice));
        rollup
    }

    /// Calls `take` with every slice, in order.
    pub fn each_slice(&self, mut take: impl FnMut(StepKey, &Topology, &Slice)) {
        for step in 0..self.steps {
            let tiles = self.tiles_first + step;
            let topology = topology(tiles);
            for number in 0..self.slices {
                let phase = if number < self.slices / 6 { Phase::WarmUp } else { Phase::Measured };
                let key = StepKey { step: step + 1, tiles, repeat: 1, phase };
                let mut random = Random(SplitMix(
                    self.seed ^ (u64::from(step) << 40) ^ (u64::from(number) << 8),
                ));
                let slow = slowness(tiles, number, self.slices);
                let slice = slice(self.slice, number, &topology, slow, &mut random);
                take(key, &topology, &slice);
            }
        }
    }

    /// Makes the document `run.json`. All steps pass; if there are several, the last step fails.
    pub fn run(&self) -> Run {
        let steps: Vec<Value> = (0..self.steps).map(|step| self.step(step)).collect();
        let last = self.tiles_first + self.steps - 1;
        let held = if self.steps > 1 { last - 1 } else { last };
        let broken = (self.steps > 1).then(|| {
            json!({"tiles": last, "repeat": 1, "tile": 2, "workload": "shop", "copy": 0,
                "limit": limit(last, true)})
        });
        let edge = if self.steps > 1 { "limit-broken" } else { "ladder-ended" };
        serde_json::from_value(json!({
            "schema": "tilemark.run/1.0", "id": "20261122T060000Z-sample-000000",
            "started": "2026-11-22T06:00:00Z", "ended": "2026-11-22T09:00:00Z",
            "tool": {"version": "0.1.0", "commit": null}, "seed": self.seed,
            "random_generator": "g/1", "profile": "standard",
            "target": {"datastore": "dir:/mnt/array", "kind": "directory",
                "summary": "ext4 on sda", "capacity_bytes": 1, "provisioned_bytes": 1},
            "tile": {"name": "sample", "sha256": "00", "vms": WORKLOADS.len(),
                "workloads": WORKLOADS.len(), "disk_bytes": 1},
            "scale": {"footprint": 1.0, "time": 1.0},
            "engine": {"backend": "io_uring", "workers": 1, "depth": 64, "buffered": false,
                "verify": false, "slice_ns": self.slice.0},
            "plan_sha256": "11", "plan": [], "prefill": null, "steps": steps,
            "answer": {"status": "complete", "tiles_held": held,
                "vms_held": held as usize * WORKLOADS.len(), "edge": edge,
                "sentence": format!("this datastore holds at least {held} tiles"),
                "first_broken": broken, "score": {"value": f64::from(held) * 0.98},
                "score_interval": null, "progress": ""},
            "warnings": []
        }))
        .expect("a valid document")
    }

    fn step(&self, step: u32) -> Value {
        let tiles = self.tiles_first + step;
        let is_last = self.steps > 1 && step + 1 == self.steps;
        let none = json!({"value": null, "reason": "made up"});
        json!({
            "step": step + 1, "repeat": 1, "order": step + 1, "tiles": tiles,
            "vms": tiles as usize * WORKLOADS.len(), "started": "2026-11-22T06:00:00Z",
            "verdict": if is_last { "failed" } else { "passed" },
            "reason": if is_last { "the shop's orders are late" } else { "every limit held" },
            "warm_up": {"rule": "", "reached": true, "duration_ns": 1, "detail": ""},
            "measured_ns": self.slice.0 * u64::from(self.slices - self.slices / 6),
            "workloads": workloads(tiles),
            "limits": [{"workload": "shop", "worst_tile": 2, "result": limit(tiles, is_last)}],
            "io": [], "score": null,
            "throughput": {"operations_per_s": 900.0 * f64::from(tiles),
                "bytes_per_s": 14e6 * f64::from(tiles), "actions_per_s": 20.0},
            "generator": {"lateness_p99_ns": null, "worker_cpu_max": none, "queued": 0,
                "cpu_user_us_per_io": none, "cpu_system_us_per_io": none,
                "in_flight_mean": none, "saturated": false},
            "checks": [], "warnings": []
        })
    }
}

fn limit(tiles: u32, is_broken: bool) -> Value {
    let measured = if is_broken { 2_870_000_000 } else { 40_000_000 * u64::from(tiles) };
    let room = 1.0 - Nanos(measured).as_secs_f64() / LIMIT.as_secs_f64();
    json!({
        "on": "action", "name": "order", "statistic": "p95", "limit_ns": LIMIT.0,
        "measured_ns": measured, "interval_low_ns": measured / 10 * 9,
        "interval_high_ns": measured / 10 * 11, "confidence": 0.95, "samples": 1234,
        "verdict": if is_broken { "failed" } else { "passed" }, "margin": {"value": room}
    })
}

fn workloads(tiles: u32) -> Vec<Value> {
    let none = json!({"value": null, "reason": "made up"});
    let one = |tile: u32| {
        json!({"tile": tile, "workload": "shop", "copy": 0,
            "metric": {"value": none, "unit": "", "reference": none,
                "reference_origin": "none", "normalised": none},
            "actions": [], "limits": [limit(tile + 1, false)]})
    };
    (0..tiles).map(one).collect()
}

fn topology(tiles: u32) -> Topology {
    let mut topology = Topology::default();
    for tile in 0..tiles {
        for workload in WORKLOADS {
            let instance = u32::try_from(topology.instances.len()).unwrap_or(u32::MAX);
            topology.vms.push(VmEntry {
                instance: InstanceId(instance),
                name: format!("tile-{}/{workload}/vm", tile + 1),
            });
            topology.instances.push(InstanceEntry {
                tile: Some(tile),
                workload: workload.to_owned(),
                copy: 0,
                host: None,
                actions: vec!["order".to_owned()],
                groups: vec!["users".to_owned()],
                kinds: vec!["io".to_owned()],
            });
        }
    }
    topology
}

/// Returns the factor of latencies. It grows with the tiles, and is six times as large for a while
/// in each step.
fn slowness(tiles: u32, number: u32, slices: u32) -> f64 {
    let is_spike = (slices / 2..slices / 2 + slices.div_ceil(50)).contains(&number);
    (1.0 + f64::from(tiles) / 8.0) * if is_spike { 6.0 } else { 1.0 }
}

fn slice(width: Nanos, number: u32, topology: &Topology, slow: f64, random: &mut Random) -> Slice {
    let mut io = Vec::with_capacity(topology.vms.len() * MIX.len());
    for (vm, entry) in (0_u32..).zip(&topology.vms) {
        let kind = entry.instance.0 % 5;
        for (direction, class, weight) in MIX.iter().skip(usize::from(kind == 4)) {
            io.push(row(VmId(vm), *direction, *class, weight + kind, slow, random));
        }
    }
    let count: u64 = io.iter().map(|row| row.service.count()).sum();
    let generator = GeneratorRow {
        submitted: count,
        completed: count,
        in_flight: count / 100,
        in_flight_seconds: slow * 4.0 * width.as_secs_f64(),
        worker_cpu: vec![0.2],
        ..GeneratorRow::default()
    };
    let actions = vec![ActionRow {
        instance: InstanceId(0),
        action: 0,
        group: 0,
        errors: 0,
        dropped: 0,
        service: samples(9, 0.02 * slow, random),
        response: samples(9, 0.02 * slow, random),
    }];
    let start = Nanos(width.0 * u64::from(number));
    Slice { start, width, io, actions, generator, ..Slice::default() }
}

fn row(
    vm: VmId,
    direction: Direction,
    class: u8,
    weight: u32,
    slow: f64,
    random: &mut Random,
) -> IoRow {
    let count = weight * 4 + random.below(weight * 2 + 1);
    let size = if direction == Direction::Flush { 0 } else { 2048_u64 << class };
    // Half a millisecond for small I/O, and more for large I/O.
    let centre = 5e-4 * slow * (1.0 + f64::from(class) * 0.6);
    let service = samples(count, centre, random);
    IoRow {
        vm,
        kind: 0,
        direction,
        class: SizeClass::from_index(class).expect("a class of the mix"),
        bytes: Bytes::new(size * u64::from(count)),
        errors: 0,
        response: service.clone(),
        service,
    }
}

/// Draws latencies around a centre in seconds; some are ten times as long.
fn samples(count: u32, centre: f64, random: &mut Random) -> Compact {
    let mut histogram = Histogram::new();
    for _ in 0..count {
        let spread =
            (f64::from(random.below(1000)) / 1000.0 + f64::from(random.below(1000)) / 1000.0 - 1.0)
                * 1.2;
        let tail = if random.below(60) == 0 { 10.0 } else { 1.0 };
        histogram.record(Nanos::from_secs_f64(centre * tail * spread.exp()));
    }
    histogram.compact()
}

struct Random(SplitMix);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        let high = self.0.next().unwrap_or_default() >> 32;
        u32::try_from((high * u64::from(end)) >> 32).unwrap_or(0)
    }
}
