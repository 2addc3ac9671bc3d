//! A small run for writing and reading.

use stats::{Compact, Histogram};
use tilemark_run_store::gauge::{Gauge, GaugeName};
use tilemark_run_store::run::{
    ActionResult, Answer, BrokenLimit, Check, Edge, EngineFacts, Figure, GeneratorHealth, Interval,
    IoTotal, Latency, LimitOn, LimitResult, MetricResult, Origin, PlanValue, PooledAction,
    PooledLimit, Prefill, RateFacts, ReferenceOrigin, Run, SCHEMA, ScaleFacts, Score, Statistic,
    Status, Step, TargetFacts, Throughput, TileFacts, TileScore, ToolFacts, Verdict, WarmUp,
    Warning, WorkloadResult,
};
use tilemark_run_store::slice::{
    ActionRow, Direction, GeneratorRow, InstanceEntry, InstanceId, IoRow, OpenRow, SizeClass,
    Slice, Topology, Unfinished, VmEntry, VmId,
};
use units::{Bytes, Nanos};

/// A histogram of `count` latencies that spread from 100 us upwards.
pub fn latencies(count: u64) -> Compact {
    let mut histogram = Histogram::new();
    for number in 0..count {
        histogram.record(Nanos(100_000 + number * 37_000));
    }
    histogram.compact()
}

pub fn topology() -> Topology {
    let instance = |tile| InstanceEntry {
        tile: Some(tile),
        workload: "shop".to_owned(),
        copy: 0,
        host: None,
        actions: vec!["order".to_owned(), "browse".to_owned()],
        groups: vec!["steady".to_owned(), "bursty".to_owned()],
        kinds: vec!["data-read".to_owned(), "log-append".to_owned()],
    };
    let vm = |tile: u32, name: &str| VmEntry {
        instance: InstanceId(tile),
        name: format!("tile-{tile}/shop/{name}"),
    };
    Topology {
        vms: vec![vm(0, "db"), vm(0, "web"), vm(1, "db"), vm(1, "web")],
        instances: vec![instance(0), instance(1)],
    }
}

/// Gauges beside a slice.
pub fn gauges() -> Vec<Gauge> {
    vec![
        Gauge::of_host(GaugeName::CpuOthers, 0.25),
        Gauge { name: GaugeName::DeviceBusy, scope: "sdb".to_owned(), value: 0.5 },
    ]
}

/// A slice of one second, with a row per VM and direction.
pub fn slice(second: u64) -> Slice {
    let io = (0..4).flat_map(|vm| {
        [(0, Direction::Read, 8192_u32), (1, Direction::Write, 512)].map(
            |(kind, direction, size)| IoRow {
                vm: VmId(vm),
                kind,
                direction,
                class: SizeClass::of(size),
                bytes: Bytes::new(40 * u64::from(size)),
                errors: u64::from(vm == 3),
                service: latencies(40 + second % 7),
                response: latencies(40 + second % 7),
            },
        )
    });
    let actions = (0..2).map(|instance| ActionRow {
        instance: InstanceId(instance),
        action: 1,
        group: 0,
        errors: 0,
        dropped: 2,
        service: Compact::default(),
        response: Compact::default(),
    });
    Slice {
        calls: Vec::new(),
        start: Nanos::from_secs(second),
        width: Nanos::SECOND,
        io: io.collect(),
        actions: actions.collect(),
        open: vec![OpenRow {
            instance: InstanceId(1),
            what: Unfinished::Action(0),
            ages: latencies(2),
        }],
        generator: GeneratorRow {
            submitted: 322,
            completed: 324,
            in_flight: 5,
            in_flight_seconds: 6.25,
            lateness: latencies(3),
            queued: 1,
            worker_cpu: vec![0.25, 0.5],
            away: Nanos::from_millis(70),
        },
    }
}

fn limit(measured_ns: u64, verdict: Verdict) -> LimitResult {
    LimitResult {
        on: LimitOn::Action,
        name: "order".to_owned(),
        statistic: Statistic::Percentile(95.0),
        unfinished: 0,
        chance_of_break: None,
        limit_ns: 500_000_000,
        measured_ns: Some(measured_ns),
        interval_low_ns: Some(measured_ns - 10_000_000),
        interval_high_ns: Some(measured_ns + 10_000_000),
        confidence: Some(0.95),
        samples: 1200,
        verdict,
        margin: Figure::of((500.0 - (measured_ns / 1_000_000) as f64) / 500.0),
        reason: None,
    }
}

fn workload(tile: u32, limit: LimitResult) -> WorkloadResult {
    WorkloadResult {
        tile: Some(tile),
        workload: "shop".to_owned(),
        copy: 0,
        metric: MetricResult {
            value: Figure::of(1800.0),
            unit: "orders/min".to_owned(),
            reference: Figure::of(2000.0),
            reference_origin: ReferenceOrigin::IdealStorage,
            normalised: Figure::of(0.9),
        },
        actions: vec![ActionResult {
            action: "order".to_owned(),
            count: 1200,
            errors: 0,
            dropped: 3,
            service: Latency::from(&latencies(1200)),
            response: Latency::from(&latencies(1200)),
        }],
        limits: vec![limit],
    }
}

fn step(step: u32, tiles: u32, verdict: Verdict, limit: &LimitResult) -> Step {
    Step {
        calls: Vec::new(),
        step,
        repeat: 1,
        order: step,
        tiles,
        vms: tiles * 2,
        started: "2026-11-21T18:42:17Z".parse().expect("a time"),
        verdict,
        cause: None,
        disturbances: Vec::new(),
        bottleneck: None,
        waits: Vec::new(),
        gauges: Vec::new(),
        reason: "order p95 against 500 ms".to_owned(),
        warm_up: WarmUp {
            rule: "throughput and p95 steady over five windows".to_owned(),
            reached: true,
            duration_ns: 10_000_000_000,
            detail: "steady after 10 s".to_owned(),
        },
        steady: None,
        measured_ns: 30_000_000_000,
        workloads: (0..tiles).map(|tile| workload(tile, limit.clone())).collect(),
        limits: vec![PooledLimit {
            workload: "shop".to_owned(),
            worst_tile: Some(tiles - 1),
            result: limit.clone(),
        }],
        actions: vec![PooledAction {
            workload: "shop".to_owned(),
            result: ActionResult {
                action: "order".to_owned(),
                count: 1200,
                errors: 0,
                dropped: 3,
                service: Latency::from(&latencies(1200)),
                response: Latency::from(&latencies(1200)),
            },
        }],
        io: vec![IoTotal {
            direction: Direction::Read,
            count: 1200,
            errors: 0,
            bytes: 9_830_400,
            operations_per_s: 40.0,
            bytes_per_s: 327_680.0,
            service: Latency::from(&latencies(1200)),
            response: Latency::from(&latencies(1200)),
        }],
        throughput: Throughput {
            operations_per_s: 40.0,
            bytes_per_s: 327_680.0,
            actions_per_s: 30.0,
        },
        score: Some(Score {
            definition: "sum over tiles of the geometric mean".to_owned(),
            tiles: (0..tiles)
                .map(|tile| TileScore { tile, geometric_mean: Figure::of(0.9) })
                .collect(),
            applications: Figure::of(0.9 * f64::from(tiles)),
            infrastructure: Figure::absent("absent: no infrastructure operations"),
            total: Figure::of(0.9 * f64::from(tiles)),
            interval: None,
        }),
        power: None,
        generator: GeneratorHealth {
            lateness_p99_ns: Some(40_000),
            lateness_max_ns: None,
            worker_cpu_max: Figure::of(0.25),
            cpu_user_us_per_io: Figure::of(0.5),
            cpu_system_us_per_io: Figure::of(2.5),
            queued: 0,
            in_flight_mean: Figure::of(1.5),
            saturated: false,
            reason: None,
        },
        hosts: Vec::new(),
        under_operations: None,
        events: Vec::new(),
        checks: vec![Check {
            id: "submitted-is-completed".to_owned(),
            expected: Figure::of(1200.0),
            found: Figure::of(1200.0),
            unit: "I/Os".to_owned(),
            tolerance: 0.0,
            passed: true,
        }],
        warnings: Vec::new(),
        model: None,
        replay: None,
    }
}

/// A run with every field set once.
pub fn run() -> Run {
    let (held, broken) = (limit(412_000_000, Verdict::Passed), limit(612_000_000, Verdict::Failed));
    Run {
        schema: SCHEMA.to_owned(),
        id: "20261121T184207Z-datacenter-abcdef".to_owned(),
        labels: Default::default(),
        started: "2026-11-21T18:42:07Z".parse().expect("a time"),
        ended: Some("2026-11-21T18:45:07Z".parse().expect("a time")),
        tool: ToolFacts { version: "0.1.0".to_owned(), commit: Some("a081dcc".to_owned()) },
        seed: 42,
        random_generator: "xoshiro256++/splitmix64/1".to_owned(),
        profile: "quick".to_owned(),
        target: TargetFacts {
            datastore: "dir:/mnt/array".to_owned(),
            kind: "directory".to_owned(),
            summary: "ext4 on nvme0n1".to_owned(),
            capacity_bytes: Some(1 << 40),
            provisioned_bytes: Some(1 << 33),
            array_sha256: None,
            second: None,
            tier: None,
            over: None,
        },
        tile: TileFacts {
            operations: None,
            name: "datacenter".to_owned(),
            sha256: "00".repeat(32),
            vms: 2,
            workloads: 1,
            disk_bytes: 1 << 32,
            endpoints: Vec::new(),
            estate: None,
        },
        scale: ScaleFacts { footprint: 0.01, time: 1.0 },
        engine: EngineFacts {
            backend: "io_uring".to_owned(),
            workers: 2,
            depth: 256,
            buffered: false,
            verify: false,
            slice_ns: 1_000_000_000,
        },
        hosts: Vec::new(),
        meters: Vec::new(),
        power_policies: None,
        plan_sha256: "11".repeat(32),
        plan: vec![PlanValue {
            key: "measure.duration".to_owned(),
            value: "30s".into(),
            origin: Origin::Profile,
        }],
        prefill: Some(Prefill {
            bytes: 1 << 33,
            first_write: Some(RateFacts {
                bytes: 1 << 33,
                duration_ns: 8_000_000_000,
                bytes_per_s: 1_073_741_824.0,
                service: None,
            }),
            rewrite: None,
            prepared_before_bytes: 0,
            first_write_absent: None,
        }),
        steps: vec![step(1, 1, Verdict::Passed, &held), step(2, 2, Verdict::Failed, &broken)],
        answer: Answer {
            status: Status::Complete,
            tiles_held: Some(1),
            vms_held: Some(2),
            tiles_interval: None,
            tiles_max: None,
            capacity: None,
            edge: Edge::LimitBroken,
            sentence: "this datastore holds 1 tile (2 VMs)".to_owned(),
            first_broken: Some(BrokenLimit {
                tiles: 2,
                repeat: 1,
                tile: Some(0),
                workload: "shop".to_owned(),
                copy: 0,
                limit: broken,
            }),
            bottleneck: None,
            score: Figure::of(0.9),
            score_interval: Interval::new(0.85, 0.95, 0.95, "bootstrap, 2000 resamples, seed 42"),
            per_kilowatt: Vec::new(),
            progress: "2 of 2 steps".to_owned(),
            climb: None,
        },
        resized: None,
        expectations: Vec::new(),
        warnings: vec![Warning {
            id: "same-device".to_owned(),
            text: "results are written to the device under test".to_owned(),
            value: Some("8:1".to_owned()),
            limit: None,
            hint: Some("choose another device with --out".to_owned()),
        }],
    }
}
