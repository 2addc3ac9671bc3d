use std::path::Path;

use record::run::{Answer, Figure, Prefill, RateFacts, Run, ScaleFacts, Step, Warning};
use units::{Bytes, Nanos, decimal_and_binary};

use super::{Table, count, latency, number, step_line};

/// The whole result of a run, as `run` prints it at the end and `runs show` prints it again.
pub fn summary(run: &Run, directory: Option<&Path>) -> String {
    let mut lines = header(run);
    lines.push(String::new());
    lines.extend(ladder(&run.steps));
    if let Some(step) = step_to_show(run) {
        lines.push(String::new());
        lines.extend(workloads(step));
    }
    let warnings = warnings(run);
    if !warnings.is_empty() {
        lines.push(String::new());
        lines.extend(warnings);
    }
    lines.push(String::new());
    lines.extend(answer(&run.answer, &run.steps));
    if let Some(directory) = directory {
        lines.push(format!("run directory  {}", directory.display()));
    }
    lines.join("\n") + "\n"
}

fn header(run: &Run) -> Vec<String> {
    let tile = &run.tile;
    let mut lines = vec![
        format!("run        {}  (tilemark {})", run.id, run.tool.version),
        format!("datastore  {}  {}", run.target.datastore, run.target.summary),
        format!(
            "tile       {}: {}, {}, {} of disks{}",
            tile.name,
            count(u64::from(tile.vms), "VM"),
            count(u64::from(tile.workloads), "workload"),
            Bytes::new(tile.disk_bytes),
            scale(&run.scale),
        ),
        format!(
            "load       {} profile, {} with {}{}{}, seed {}",
            run.profile,
            run.engine.backend,
            count(u64::from(run.engine.workers), "worker"),
            if run.engine.buffered { ", through the page cache" } else { ", O_DIRECT" },
            if run.engine.verify { ", every block verified" } else { "" },
            run.seed,
        ),
    ];
    if let Some(prefill) = &run.prefill {
        lines.push(prefill_line(prefill));
    }
    lines
}

fn scale(scale: &ScaleFacts) -> String {
    let factor = |value: f64| {
        if value < 1.0 { format!("1/{}", number_short(1.0 / value)) } else { number_short(value) }
    };
    #[expect(clippy::float_cmp, reason = "1 is exact: nothing was scaled")]
    let is_full = scale.footprint == 1.0 && scale.time == 1.0;
    if is_full {
        return ", full size, real time".to_owned();
    }
    format!(" (footprint x {}, schedule times x {})", factor(scale.footprint), factor(scale.time))
}

fn number_short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn prefill_line(prefill: &Prefill) -> String {
    let speed = |rate: &RateFacts| decimal_and_binary(rate.bytes_per_s);
    let mut line = format!("prefill    {}", Bytes::new(prefill.bytes));
    if let Some(first) = &prefill.first_write {
        line += &format!(", first write {}", speed(first));
    }
    if let Some(rewrite) = &prefill.rewrite {
        line += &format!(", rewrite {}", speed(rewrite));
    }
    line
}

fn ladder(steps: &[Step]) -> Vec<String> {
    let mut table = Table::new(&[
        ">tiles",
        ">VMs",
        ">repeat",
        "verdict",
        ">IOPS",
        ">MiB/s",
        ">score",
        "closest to its limit",
    ]);
    for step in steps {
        table.row(step_line(step));
    }
    table.lines()
}

/// The step whose workloads are listed: the first that failed, else the last one.
fn step_to_show(run: &Run) -> Option<&Step> {
    let broken = run.answer.first_broken.as_ref();
    let held = run.answer.tiles_held;
    broken
        .and_then(|broken| {
            run.steps.iter().find(|step| step.tiles == broken.tiles && step.repeat == broken.repeat)
        })
        .or_else(|| run.steps.iter().rev().find(|step| Some(step.tiles) == held))
        .or(run.steps.last())
}

fn workloads(step: &Step) -> Vec<String> {
    let mut table = Table::new(&[
        "tile/workload",
        ">rate",
        "unit",
        ">of one tile",
        "action",
        ">p50",
        ">p95",
        ">p99",
        ">max",
        ">lost",
    ]);
    for workload in step.workloads.iter().filter(|workload| !workload.actions.is_empty()).take(12) {
        for (index, action) in workload.actions.iter().enumerate() {
            let first = |text: String| if index == 0 { text } else { String::new() };
            table.row(vec![
                first(format!("{}/{}", workload.tile + 1, workload.workload)),
                first(figure(&workload.metric.value)),
                first(workload.metric.unit.clone()),
                first(
                    workload
                        .metric
                        .normalised
                        .value
                        .map_or("-".into(), |n| format!("{:.0} %", n * 100.0)),
                ),
                action.action.clone(),
                latency(action.response.p50_ns),
                latency(action.response.p95_ns),
                latency(action.response.p99_ns),
                latency(action.response.max_ns),
                (action.errors + action.dropped).to_string(),
            ]);
        }
    }
    let mut lines = vec![format!(
        "step of {}, response times (intended start to done, percentiles within 0.8 %):",
        count(u64::from(step.tiles), "tile")
    )];
    lines.extend(table.lines());
    let shown = step.workloads.iter().filter(|workload| !workload.actions.is_empty()).count();
    if shown > 12 {
        lines.push(format!("... and {} more; see run.json", shown - 12));
    }
    lines
}

fn figure(figure: &Figure) -> String {
    figure.value.map_or_else(|| "-".to_owned(), number)
}

fn warnings(run: &Run) -> Vec<String> {
    let failed_checks = run.steps.iter().flat_map(|step| {
        step.checks.iter().filter(|check| !check.passed).map(move |check| {
            format!(
                "check      {} at {}: expected {} {}, found {}",
                check.id,
                count(u64::from(step.tiles), "tile"),
                figure(&check.expected),
                check.unit,
                figure(&check.found),
            )
        })
    });
    let of_steps = run.steps.iter().flat_map(|step| {
        step.warnings.iter().map(move |warning| {
            format!("warning    at {}: {}", count(u64::from(step.tiles), "tile"), text(warning))
        })
    });
    let of_run = run.warnings.iter().map(|warning| format!("warning    {}", text(warning)));
    let mut lines: Vec<String> = of_run.chain(of_steps).chain(failed_checks).collect();
    lines.dedup();
    lines
}

fn text(warning: &Warning) -> String {
    let hint = warning.hint.as_ref().map_or_else(String::new, |hint| format!("\n  hint: {hint}"));
    format!("{} [{}]{hint}", warning.text, warning.id)
}

fn answer(answer: &Answer, steps: &[Step]) -> Vec<String> {
    let mut lines = vec![answer.sentence.clone()];
    if let Some(score) = answer.score.value {
        let interval = answer.score_interval.as_ref().map_or_else(String::new, |interval| {
            format!(
                " ({:.2} to {:.2} at {:.0} %)",
                interval.low,
                interval.high,
                interval.confidence * 100.0
            )
        });
        lines.push(format!(
            "score          {score:.2}{interval}: tiles' worth of work, applications only; infrastructure operations are absent"
        ));
    }
    let measured: u64 = steps.iter().map(|step| step.measured_ns).sum();
    lines.push(format!(
        "measured       {} in {}; {}",
        Nanos(measured),
        count(steps.len() as u64, "step"),
        answer.progress
    ));
    lines
}
