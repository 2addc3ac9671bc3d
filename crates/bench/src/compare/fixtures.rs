//! Small runs for tests.
use record::gauge::GaugeName;
use record::run::{Run, Step};
use serde_json::{Value, json};

use super::Subject;

/// A run that held six tiles.
pub fn run(seed: u64, steps: Vec<Step>) -> Run {
    let score = steps.last().and_then(|step| step.score.as_ref()).and_then(|s| s.total.value);
    let mut run: Run = serde_json::from_value(json!({
        "schema": "tilemark.run/1.0", "id": format!("run-{seed}"),
        "started": "2026-11-21T10:00:00Z", "ended": "2026-11-21T10:03:00Z",
        "tool": {"version": "0.1.0", "commit": "abc"}, "seed": seed,
        "random_generator": "g/1", "profile": "quick",
        "target": {"datastore": "dir:/mnt/array", "kind": "directory", "summary": "ext4 on sda",
            "capacity_bytes": 1, "provisioned_bytes": 1},
        "tile": {"name": "general", "sha256": "00", "vms": 2, "workloads": 1, "disk_bytes": 1},
        "scale": {"footprint": 1.0, "time": 1.0},
        "engine": {"backend": "io_uring", "workers": 1, "depth": 64, "buffered": false,
            "verify": false, "slice_ns": 1_000_000_000},
        "plan_sha256": "11",
        "plan": [{"key": "seed", "value": seed, "origin": "default"},
            {"key": "measure.duration", "value": "30s", "origin": "profile"}],
        "prefill": null, "steps": [],
        "answer": {"status": "complete", "tiles_held": 6, "vms_held": 12,
            "edge": "limit-broken", "sentence": "", "first_broken": null,
            "score": {"value": score}, "score_interval": null, "progress": ""},
        "warnings": []
    }))
    .expect("a valid run");
    run.steps = steps;
    run
}

/// A step whose throughput is proportional to `level` and latency inversely so.
pub fn step(tiles: u32, level: f64) -> Step {
    let latency = |ns: f64| {
        json!({
            "samples": 1000, "mean_ns": (ns / level).round(), "p50_ns": (ns / level).round(),
            "p95_ns": (ns / level).round(), "p99_ns": (3.0 * ns / level).round(),
            "p999_ns": (4.0 * ns / level).round(), "max_ns": (5.0 * ns / level).round()
        })
    };
    let value = whole_numbers(json!({
        "step": 1, "repeat": 1, "order": 1, "tiles": tiles, "vms": 2 * tiles,
        "started": "2026-11-21T10:00:00Z", "verdict": "passed", "reason": "",
        "warm_up": {"rule": "", "reached": true, "duration_ns": 1, "detail": ""},
        "measured_ns": 30_000_000_000_u64,
        "workloads": [workload(0, level, 0.9), workload(1, level, 0.8)],
        "limits": [{"workload": "shop", "worst_tile": 1, "result": order_limit(level)}],
        "io": [{"direction": "read", "count": 1, "errors": 0, "bytes": 1,
            "operations_per_s": 1000.0 * level, "bytes_per_s": 4.096e6 * level,
            "service": latency(1e6), "response": latency(1e6)}],
        "throughput": {"operations_per_s": 1000.0 * level, "bytes_per_s": 4.096e6 * level,
            "actions_per_s": 100.0 * level},
        "score": {"definition": "", "tiles": [], "applications": {"value": level},
            "infrastructure": {"value": null, "reason": "none yet"},
            "total": {"value": f64::from(tiles) * 0.9 * level}, "interval": null},
        "generator": {"lateness_p99_ns": null, "worker_cpu_max": {"value": 0.5}, "queued": 0,
            "cpu_user_us_per_io": {"value": 5.0}, "cpu_system_us_per_io": {"value": 15.0},
            "in_flight_mean": {"value": 1.0}, "saturated": false},
        "checks": [], "warnings": []
    }));
    serde_json::from_value(value).expect("a valid step")
}

/// The same beside a program that computes.
pub fn disturbed(mut step: Step) -> Step {
    let of = json!({"by": "cc", "gauge": GaugeName::CpuOthers, "value": 0.5, "limit": 0.1});
    step.disturbances = vec![serde_json::from_value(of).expect("a disturbance")];
    step
}

fn workload(tile: u32, level: f64, normalised: f64) -> Value {
    json!({
        "tile": tile, "workload": "shop", "copy": 0,
        "metric": {"value": {"value": 300.0 * level}, "unit": "orders/min",
            "reference": {"value": 330.0}, "reference_origin": "ideal-storage",
            "normalised": {"value": normalised * level}},
        "actions": [],
        "limits": []
    })
}

fn order_limit(level: f64) -> Value {
    json!({
        "on": "action", "name": "order", "statistic": "p95", "limit_ns": 500_000_000,
        "measured_ns": (105e6 / level).round(), "interval_low_ns": null,
        "interval_high_ns": null, "confidence": null, "samples": 1000, "verdict": "passed",
        "margin": {"value": 0.5}
    })
}

/// Whole nanoseconds as JSON integers, as the documents have them.
fn whole_numbers(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| match value.as_f64() {
                Some(ns) if key.ends_with("_ns") => {
                    (key, format!("{ns:.0}").parse::<u64>().expect("not negative").into())
                }
                _ => (key, whole_numbers(value)),
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.into_iter().map(whole_numbers).collect(),
        other => other,
    }
}

/// Runs with one step of four tiles each, scattered around `level` by up to 0.4 %.
pub fn runs(first_seed: u64, count: u64, level: f64) -> Vec<Run> {
    (0..count)
        .map(|i| {
            let scatter = 1.0 + ((i * 7 + first_seed) % 5) as f64 * 0.002 - 0.004;
            run(first_seed + i, vec![step(4, level * scatter)])
        })
        .collect()
}

/// The runs without their environment.
pub fn subjects(runs: &[Run]) -> Vec<Subject<'_>> {
    runs.iter().map(|run| Subject { run, environment: None, within: None }).collect()
}
