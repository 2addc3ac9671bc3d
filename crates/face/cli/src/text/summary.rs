use std::path::Path;

use run_store::run::{
    CallErrors, Figure, Known, Prefill, RateFacts, Run, ScaleFacts, Step, WorkloadResult,
};
use units::{Bytes, Nanos, decimal_and_binary};
use view::document::FoldedWarning;
use view::{Role, interval, parts};

use super::{
    Table, count, events, hosts, latency, model, number, number_whole, power, power_of_steps,
    replay, step_line,
};

/// Formats the whole result of a run, as printed by `run` at the end and by `runs show`.
pub fn summary(run: &Run, directory: Option<&Path>) -> String {
    let mut lines = header(run);
    lines.push(String::new());
    lines.extend(ladder(&run.steps));
    if let Some(step) = step_to_show(run) {
        let parts = [
            hosts(step),
            events(step),
            limits(step),
            workloads(run, step),
            calls(step),
            replay(step),
            model(step),
            power_of_steps(&run.steps),
        ];
        for part in parts {
            if !part.is_empty() {
                lines.push(String::new());
                lines.extend(part);
            }
        }
    }
    let warnings = warnings(run);
    if !warnings.is_empty() {
        lines.push(String::new());
        lines.extend(warnings);
    }
    lines.push(String::new());
    lines.extend(power(run));
    let (details, answers): (Vec<_>, Vec<_>) =
        parts(run).into_iter().partition(|(role, _)| role.is_detail());
    let line = |(role, text): (Role, String)| match role.label() {
        "" => text,
        label => format!("{label:<10} {text}"),
    };
    lines.extend(details.into_iter().map(line));
    if let Some(directory) = directory {
        lines.push(format!("results    {}", directory.display()));
    }
    // The answer comes last, where the reader looks after the run.
    lines.push(String::new());
    lines.extend(answers.into_iter().map(line));
    lines.join("\n") + "\n"
}

fn header(run: &Run) -> Vec<String> {
    let tile = &run.tile;
    let mut lines = vec![
        format!("run        {}  (tilemark {})", run.id, run.tool.version),
        format!("{}  {}  {}", target_label(run), run.target.datastore, run.target.summary),
    ];
    let second = run.target.second.iter();
    lines.extend(second.map(|own| format!("second     {}  {}", own.datastore, own.summary)));
    lines.extend([
        format!(
            "tile       {}: {}, {}, {} of disks{}",
            tile.name,
            count(u64::from(tile.vms), "VM"),
            count(u64::from(tile.workloads), "workload"),
            Bytes::new(tile.disk_bytes),
            scale(&run.scale),
        ),
        format!("load       {} profile, {}, seed {}", run.profile, maker(run), run.seed),
    ]);
    if let Some(prefill) = &run.prefill {
        lines.push(prefill_line(prefill));
    }
    lines
}

/// Returns the label of the target. The label comes first, so that nobody takes a model for a
/// measurement.
fn target_label(run: &Run) -> &'static str {
    if run.target.is_simulated() { "array    " } else { "datastore" }
}

/// Describes the load generator.
fn maker(run: &Run) -> String {
    let engine = &run.engine;
    if run.target.is_simulated() {
        return format!("simulated in {}: nothing was measured on real storage", engine.backend);
    }
    format!(
        "{} with {}{}{}",
        engine.backend,
        count(u64::from(engine.workers), "worker"),
        if engine.buffered { ", through the page cache" } else { ", O_DIRECT" },
        if engine.verify { ", every block verified" } else { "" },
    )
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

/// Formats the time and rate of filling the disks.
pub fn prefill_line(prefill: &Prefill) -> String {
    let speed = |rate: &RateFacts| decimal_and_binary(rate.bytes_per_s);
    let mut line = format!("prefill    {}", Bytes::new(prefill.bytes));
    if let Some(first) = &prefill.first_write {
        line += &format!(", first write {}", speed(first));
    }
    if let Some(reason) = &prefill.first_write_absent {
        line += &format!(", first write not measured: {reason}");
    }
    if let Some(rewrite) = &prefill.rewrite {
        line += &format!(", rewrite {}", speed(rewrite));
    }
    if prefill.prepared_before_bytes > 0 {
        line += &format!("; {} were prepared before", Bytes::new(prefill.prepared_before_bytes));
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

/// Selects the step whose workloads are listed: the first that failed, otherwise the last.
pub(super) fn step_to_show(run: &Run) -> Option<&Step> {
    let broken = run.answer.first_broken.as_ref();
    let held = run.answer.tiles_held;
    broken
        .and_then(|broken| {
            run.steps.iter().find(|step| step.tiles == broken.tiles && step.repeat == broken.repeat)
        })
        .or_else(|| run.steps.iter().rev().find(|step| Some(step.tiles) == held))
        .or(run.steps.last())
}

/// Formats the limits of a step over all its tiles.
fn limits(step: &Step) -> Vec<String> {
    let mut table =
        Table::new(&["limit", ">allowed", ">measured", "interval", ">samples", "verdict", ""]);
    for pooled in &step.limits {
        let limit = &pooled.result;
        let worst = pooled.worst_tile.filter(|_| step.tiles > 1);
        table.row(vec![
            pooled.name(),
            Nanos(limit.limit_ns).to_string(),
            latency(limit.measured_ns),
            interval(limit).unwrap_or_else(|| "-".to_owned()),
            number_whole(limit.samples),
            limit.verdict.name().to_owned(),
            worst.map_or_else(String::new, |tile| format!("worst in tile {}", tile + 1)),
        ]);
    }
    if table.is_empty() {
        return Vec::new();
    }
    let all = match step.tiles {
        1 => String::new(),
        tiles => format!(", all {tiles} tiles together"),
    };
    let confidence = step.limits.iter().find_map(|pooled| pooled.result.confidence);
    let confidence = confidence
        .map_or_else(String::new, |share| format!(" (intervals at {:.0} %)", share * 100.0));
    let tiles = count(u64::from(step.tiles), "tile");
    let mut lines = vec![format!("limits at {tiles}{all}{confidence}:")];
    lines.extend(table.lines());
    lines
}

/// Selects the tile whose workloads are listed: the tile of the first broken limit, otherwise the
/// tile closest to a limit, otherwise the first.
fn tile_to_show(run: &Run, step: &Step) -> u32 {
    let broken = run.answer.first_broken.as_ref();
    let broken = broken.filter(|broken| broken.tiles == step.tiles && broken.repeat == step.repeat);
    let closest = || {
        let limits = step.limits.iter().filter(|pooled| pooled.worst_tile.is_some());
        limits.min_by(|a, b| a.result.room().total_cmp(&b.result.room()))?.worst_tile
    };
    broken.and_then(|broken| broken.tile).or_else(closest).unwrap_or(0)
}

/// Formats the calls of a step over all its tiles.
fn calls(step: &Step) -> Vec<String> {
    let mut table =
        Table::new(&["call", ">answered", ">calls/s", ">p50", ">p95", ">p99", "failed"]);
    for calls in &step.calls {
        let service = &calls.service;
        table.row(vec![
            format!("{} {}", calls.workload, calls.kind),
            number_whole(calls.count),
            number(calls.calls_per_s),
            latency(service.p50_ns),
            latency(service.p95_ns),
            latency(service.p99_ns),
            CallErrors::told(&calls.errors),
        ]);
    }
    if table.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["calls to endpoints, from made to answered:".to_owned()];
    lines.extend(table.lines());
    lines
}

fn workloads(run: &Run, step: &Step) -> Vec<String> {
    let tile = tile_to_show(run, step);
    let of_tile: Vec<_> = step.workloads.iter().filter(|own| own.tile == Some(tile)).collect();
    let operations: Vec<_> = step.workloads.iter().filter(|own| own.tile.is_none()).collect();
    let mut lines = match table_of(&of_tile, ">of a tile") {
        None => vec![format!("no action completed at {}", count(u64::from(step.tiles), "tile"))],
        Some(table) => {
            let of = match step.tiles {
                1 => "1 tile".to_owned(),
                tiles => {
                    format!("tile {} of {tiles}, the worst; the others are in run.json", tile + 1)
                }
            };
            let title =
                "response times, from intended start to completion, percentiles within 0.8 %";
            std::iter::once(format!("{title} ({of}):")).chain(table.lines()).collect()
        }
    };
    if !operations.is_empty() {
        lines.push("infrastructure operations beside the tiles, and their stages:".to_owned());
        match table_of(&operations, ">of reference") {
            None => lines.push("  none completed in the measured time".to_owned()),
            Some(table) => lines.extend(table.lines()),
        }
    }
    lines
}

/// Formats a table of the actions; `None` if no action completed.
fn table_of(own: &[&WorkloadResult], share: &'static str) -> Option<Table> {
    if own.iter().flat_map(|own| &own.actions).all(|one| one.response.samples == 0) {
        return None;
    }
    let mut table = Table::new(&[
        "workload", ">rate", "", share, "action", ">p50", ">p95", ">p99", ">max", ">lost",
    ]);
    for workload in own {
        for (index, action) in workload.actions.iter().enumerate() {
            let first = |text: String| if index == 0 { text } else { String::new() };
            table.row(vec![
                first(workload_name(workload)),
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
    Some(table)
}

fn workload_name(workload: &WorkloadResult) -> String {
    match workload.copy {
        0 => workload.workload.clone(),
        copy => format!("{} #{}", workload.workload, copy + 1),
    }
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
    let folded = view::warnings(run);
    let told = folded.iter().map(warning);
    let mut lines: Vec<String> =
        disturbed_line(run).into_iter().chain(told).chain(failed_checks).collect();
    lines.dedup();
    lines
}

fn warning(told: &FoldedWarning) -> String {
    let hint =
        told.hint.as_ref().map_or_else(String::new, |hint| format!("\n           hint: {hint}"));
    told_line(told) + &hint
}

/// Formats the line on other work that disturbed steps, including steps that passed.
pub(super) fn disturbed_line(run: &Run) -> Option<String> {
    let said = view::disturbed(&run.steps)?;
    Some(format!("warning    {} [disturbed]", said.trim_end_matches('.')))
}

/// Formats a warning without its hint. A successful verification is good news and has another
/// label.
pub(super) fn told_line(told: &FoldedWarning) -> String {
    let text = told.placed_text();
    match told.id == Known::Verified.id() {
        true => format!("verified   {text}"),
        false => format!("warning    {text} [{}]", told.id),
    }
}
