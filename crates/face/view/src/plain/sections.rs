use run_store::run::{
    AgainstOthers, CallErrors, Expected, Figure, Latency, LimitResult, Origin, Run, Score, Step,
    TargetFacts, Verdict, listed, told,
};
use units::print::{bytes_per_second, iops, number, percent, whole};
use units::{Bytes, Nanos};

use super::html::{Cell, Page, escape};

pub fn answer(page: &mut Page, run: &Run) {
    let sentence = capital(&run.answer.sentence);
    match run.plan_text() {
        Some(plan) => {
            page.title(&plan);
            page.paragraph(&escape(&sentence));
        }
        None => page.title(&sentence),
    }
    let target = match run.target.is_simulated() {
        true => format!("{} (a model; nothing was measured)", run.target.summary),
        false => format!("{}, {}", run.target.datastore, run.target.summary),
    };
    let ended = run.ended.map_or_else(|| "not ended".to_owned(), |ended| ended.to_string());
    page.paragraph(&format!(
        "<span class=\"soft\">Run {}, {} to {}. Tile {} on {}. {}.</span>",
        escape(&run.id),
        escape(&run.started.to_string()),
        escape(&ended),
        escape(&run.tile.name),
        escape(&target),
        escape(&run.answer.progress),
    ));
    let score = match (run.answer.score.value, &run.answer.score_interval) {
        (Some(score), Some(interval)) => format!(
            "Score {score:.2} tiles' worth of work, {} interval {:.2} to {:.2} ({}).",
            percent(interval.confidence),
            interval.low,
            interval.high,
            escape(&interval.method)
        ),
        (Some(score), None) => format!("Score {score:.2} tiles' worth of work, without interval."),
        (None, _) => format!("No score: {}.", escape(&reason(&run.answer.score))),
    };
    page.paragraph(&score);
}

/// What was expected; nothing where nothing was.
pub fn expectations(page: &mut Page, run: &Run) {
    if run.expectations.is_empty() {
        return;
    }
    page.heading("Expectations");
    let word = |verdict: Verdict| match verdict {
        Verdict::Passed => "met",
        Verdict::Failed => "missed",
        Verdict::Inconclusive | Verdict::Interrupted => "not decided",
    };
    let row = |own: &Expected| {
        let found = capital(&own.reason);
        vec![Cell::text(own.text.clone()), Cell::text(word(own.verdict)), Cell::text(found)]
    };
    let rows = run.expectations.iter().map(row).collect();
    page.table("They change nothing of what was run.", &["expected", "", "found"], rows);
}

pub fn steps(page: &mut Page, run: &Run) {
    page.heading("Steps");
    let row = |step: &Step| {
        vec![
            Cell::number(step.order.to_string()),
            Cell::number(format!("{}, {}", step.step, step.repeat)),
            Cell::number(step.tiles.to_string()),
            Cell::number(step.vms.to_string()),
            Cell::text(step.verdict.name()),
            Cell::text(capital(&step.reason)),
            Cell::number(iops(step.throughput.operations_per_s)),
            Cell::number(bytes_per_second(step.throughput.bytes_per_s)),
            Cell::number(format!("{}/s", number(step.throughput.actions_per_s))),
            Cell::number(score(step.score.as_ref())),
            Cell::number(Nanos(step.warm_up.duration_ns).to_string()),
            Cell::number(Nanos(step.measured_ns).to_string()),
        ]
    };
    let head = [
        "order",
        "step, repeat",
        "tiles",
        "VMs",
        "verdict",
        "why",
        "I/O",
        "throughput",
        "actions",
        "score",
        "warm-up",
        "measured",
    ];
    page.table("In the order in which they ran.", &head, run.steps.iter().map(row).collect());
}

pub fn limits(page: &mut Page, run: &Run) {
    page.heading("Limits");
    let mut rows = Vec::new();
    for step in &run.steps {
        for limit in &step.limits {
            let worst =
                limit.worst_tile.map_or_else(|| "none".to_owned(), |tile| (tile + 1).to_string());
            let mut row = vec![
                Cell::number(format!("{}, {}", step.step, step.repeat)),
                Cell::number(step.tiles.to_string()),
                Cell::text(format!("{} {}", limit.workload, limit.result.name)),
            ];
            row.extend(limit_cells(&limit.result));
            row.push(Cell::number(worst));
            rows.push(row);
        }
    }
    let head = [
        "step, repeat",
        "tiles",
        "limit on",
        "statistic",
        "allowed",
        "measured",
        "interval",
        "samples",
        "verdict",
        "room",
        "worst tile",
    ];
    page.table(
        "All tiles together, which decides a step. An interval covers the true value with the \
         confidence beside it.",
        &head,
        rows,
    );
}

pub fn hosts(page: &mut Page, run: &Run) {
    let mut rows = Vec::new();
    for step in &run.steps {
        for host in &step.hosts {
            let AgainstOthers { samples, times, low, high } = &host.against_others;
            let interval = low.value.zip(high.value);
            let limits = host.limits.iter().map(|limit| &limit.result);
            let limits = limits.map(|own| {
                let measured =
                    own.measured_ns.map_or_else(|| "none".to_owned(), |ns| Nanos(ns).to_string());
                let (name, statistic, verdict) = (&own.name, own.statistic, own.verdict.name());
                format!("{name} {statistic} {measured} of {}: {verdict}", Nanos(own.limit_ns))
            });
            rows.push(vec![
                Cell::number(format!("{}, {}", step.step, step.repeat)),
                Cell::text(&host.host),
                Cell::number(host.tiles.len().to_string()),
                Cell::number(iops(host.operations_per_s)),
                Cell::number(
                    times.value.map_or_else(|| reason(times), |times| format!("{times:.2}")),
                ),
                Cell::number(
                    interval
                        .map_or_else(String::new, |(low, high)| format!("{low:.2} to {high:.2}")),
                ),
                Cell::number(whole(*samples)),
                Cell::text(limits.collect::<Vec<_>>().join("; ")),
                Cell::number(Nanos(host.began_late_ns).to_string()),
                Cell::number(host.slices_fetched.to_string()),
            ]);
        }
    }
    if rows.is_empty() {
        return;
    }
    page.heading("Hosts");
    let head = [
        "step, repeat",
        "host",
        "tiles",
        "I/Os and calls",
        "times the others'",
        "interval",
        "samples",
        "limits of its tiles together",
        "began late",
        "slices asked for again",
    ];
    page.table(
        "How long I/Os of a host took against the same kinds of all others: 1 is equal. A host that \
         breaks a limit fails the step.",
        &head,
        rows,
    );
}

fn limit_cells(limit: &LimitResult) -> Vec<Cell> {
    let time = |value: Option<u64>| value.map(|ns| Nanos(ns).to_string());
    let interval = match (time(limit.interval_low_ns), time(limit.interval_high_ns)) {
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("{low} and more"),
        _ => "none".to_owned(),
    };
    let confidence =
        limit.confidence.map_or_else(String::new, |own| format!(" ({})", percent(own)));
    let verdict = match &limit.reason {
        Some(reason) => format!("{}: {reason}", limit.verdict.name()),
        None => limit.verdict.name().to_owned(),
    };
    vec![
        Cell::text(limit.statistic),
        Cell::number(Nanos(limit.limit_ns).to_string()),
        Cell::number(time(limit.measured_ns).unwrap_or_else(|| "none".to_owned())),
        Cell::number(format!("{interval}{confidence}")),
        Cell::number(whole(limit.samples)),
        Cell::text(verdict),
        Cell::number(limit.margin.value.map_or_else(|| "none".to_owned(), percent)),
    ]
}

pub fn io(page: &mut Page, run: &Run) {
    page.heading("I/O of the measured time");
    let mut rows = Vec::new();
    for step in &run.steps {
        for total in &step.io {
            let mut row = vec![
                Cell::number(format!("{}, {}", step.step, step.repeat)),
                Cell::number(step.tiles.to_string()),
                Cell::text(total.direction.name()),
                Cell::number(whole(total.count)),
                Cell::number(whole(total.errors)),
                Cell::number(iops(total.operations_per_s)),
                Cell::number(bytes_per_second(total.bytes_per_s)),
            ];
            row.extend(latency_cells(&total.service));
            rows.push(row);
        }
    }
    let head = [
        "step, repeat",
        "tiles",
        "direction",
        "I/Os",
        "failed",
        "rate",
        "throughput",
        "median",
        "p95",
        "p99",
        "p99.9",
        "longest",
    ];
    page.table(
        "Service time: from submitted to done. Percentiles are at most 0.8 % too long.",
        &head,
        rows,
    );
}

pub fn calls(page: &mut Page, run: &Run) {
    let mut rows = Vec::new();
    for step in &run.steps {
        for total in &step.calls {
            let mut row = vec![
                Cell::number(format!("{}, {}", step.step, step.repeat)),
                Cell::number(step.tiles.to_string()),
                Cell::text(format!("{} of {}", total.kind, total.workload)),
                Cell::number(whole(total.count)),
                Cell::text(CallErrors::told(&total.errors)),
                Cell::number(format!("{}/s", number(total.calls_per_s))),
                Cell::number(Bytes::new(total.bytes).to_string()),
            ];
            row.extend(latency_cells(&total.service));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return;
    }
    page.heading("Calls of the measured time");
    let head = [
        "step, repeat",
        "tiles",
        "call",
        "answered",
        "failed",
        "rate",
        "bytes",
        "median",
        "p95",
        "p99",
        "p99.9",
        "longest",
    ];
    page.table("Service time: from made to answered. Calls that failed have none.", &head, rows);
}

fn latency_cells(latency: &Latency) -> Vec<Cell> {
    let values = [latency.p50_ns, latency.p95_ns, latency.p99_ns, latency.p999_ns, latency.max_ns];
    let cell = |value: Option<u64>| {
        Cell::number(value.map_or_else(|| "none".to_owned(), |ns| Nanos(ns).to_string()))
    };
    values.map(cell).into()
}

pub fn workloads(page: &mut Page, run: &Run) {
    page.heading("Work of each workload");
    let mut rows = Vec::new();
    for step in &run.steps {
        for own in &step.workloads {
            let value = |figure: &Figure, unit: &str| match figure.value {
                Some(value) => {
                    Cell::number(format!("{} {unit}", number(value)).trim_end().to_owned())
                }
                None => Cell::text(reason(figure)),
            };
            rows.push(vec![
                Cell::number(format!("{}, {}", step.step, step.repeat)),
                own.tile.map_or_else(
                    || Cell::text("none".to_owned()),
                    |at| Cell::number((at + 1).to_string()),
                ),
                Cell::text(match own.copy {
                    0 => own.workload.clone(),
                    copy => format!("{} {}", own.workload, copy + 1),
                }),
                value(&own.metric.value, &own.metric.unit),
                value(&own.metric.reference, &own.metric.unit),
                value(&own.metric.normalised, ""),
            ]);
        }
    }
    let head = ["step, repeat", "tile", "workload", "did", "one tile's worth", "of it"];
    page.table(
        "A step's score is the sum over its tiles of the geometric mean of the last column.",
        &head,
        rows,
    );
}

pub fn checks(page: &mut Page, run: &Run) {
    page.heading("Checks of the measurement against itself");
    let mut rows = Vec::new();
    for step in &run.steps {
        for check in &step.checks {
            let value = |figure: &Figure| match figure.value {
                Some(value) => Cell::number(format!("{} {}", number(value), check.unit)),
                None => Cell::text(reason(figure)),
            };
            rows.push(vec![
                Cell::number(format!("{}, {}", step.step, step.repeat)),
                Cell::text(check.id.clone()),
                value(&check.expected),
                value(&check.found),
                Cell::number(percent(check.tolerance)),
                Cell::text(if check.passed { "passed" } else { "failed" }),
            ]);
        }
    }
    let head = ["step, repeat", "check", "expected", "found", "tolerance", "result"];
    page.table("Each must pass, or the step says so.", &head, rows);
}

pub fn warnings(page: &mut Page, run: &Run) {
    page.heading("Warnings");
    let all = told(run);
    if all.is_empty() {
        return page.paragraph("None.");
    }
    let rows = all.iter().map(|told| {
        let warning = told.first;
        let place = Some(told.place()).filter(|place| !place.is_empty());
        vec![
            Cell::text(place.unwrap_or_else(|| "run".to_owned())),
            Cell::text(warning.id.clone()),
            Cell::text(capital(&told.text())),
            Cell::text(listed(&told.values)),
            Cell::text(listed(&told.limits)),
            Cell::text(warning.hint.clone().unwrap_or_default()),
        ]
    });
    let head = ["where", "identifier", "what", "value", "limit", "what to try"];
    page.table("What a reader should know before trusting the numbers.", &head, rows.collect());
}

pub fn facts(page: &mut Page, run: &Run) {
    page.heading("What was run");
    let unknown = || "unknown".to_owned();
    let optional_bytes =
        |bytes: Option<u64>| bytes.map_or_else(unknown, |bytes| Bytes::new(bytes).to_string());
    let rows = [
        ("tool", format!("tilemark {}", run.tool.version)),
        ("source commit", run.tool.commit.clone().unwrap_or_else(unknown)),
        ("format", run.schema.clone()),
        ("seed", run.seed.to_string()),
        ("random generator", run.random_generator.clone()),
        ("profile", run.profile.clone()),
        ("target", format!("{} ({})", run.target.datastore, run.target.kind)),
        ("target is", both(&run.target)),
        ("room on the target", optional_bytes(run.target.capacity_bytes)),
        ("provisioned", optional_bytes(run.target.provisioned_bytes)),
        ("array's SHA-256", run.target.array_sha256.clone().unwrap_or_else(|| "none".to_owned())),
        ("tile", run.tile.name.clone()),
        ("tile's SHA-256", run.tile.sha256.clone()),
        (
            "one tile",
            format!(
                "{} VMs, {} workloads, {} of disks",
                run.tile.vms,
                run.tile.workloads,
                Bytes::new(run.tile.disk_bytes)
            ),
        ),
        ("scale", format!("footprint {}, time {}", run.scale.footprint, run.scale.time)),
        (
            "what moved the data",
            format!(
                "{}, {} workers, {} I/Os each, {}, {}",
                run.engine.backend,
                run.engine.workers,
                run.engine.depth,
                if run.engine.buffered { "through the page cache" } else { "past the page cache" },
                if run.engine.verify { "every block checked" } else { "blocks not checked" },
            ),
        ),
        ("slice of the series", Nanos(run.engine.slice_ns).to_string()),
        ("plan's SHA-256", run.plan_sha256.clone()),
    ];
    let row = |(name, value): (&str, String)| vec![Cell::text(name), Cell::text(value)];
    page.table("Needed to repeat it.", &["what", "value"], rows.map(row).into());
}

pub fn plan(page: &mut Page, run: &Run) {
    page.heading("Values of the plan");
    let rows = run.plan.iter().map(|value| {
        let text = value.value.as_str().map_or_else(|| value.value.to_string(), str::to_owned);
        vec![Cell::text(value.key.clone()), Cell::text(text), Cell::text(origin(value.origin))]
    });
    page.table("Each with who gave it.", &["key", "value", "origin"], rows.collect());
}

const fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Flag => "command line",
        Origin::Env => "environment",
        Origin::Plan => "plan",
        Origin::Config => "config.toml",
        Origin::Profile => "profile",
        Origin::Default => "default",
    }
}

fn score(score: Option<&Score>) -> String {
    let Some(score) = score else { return "none".to_owned() };
    let Some(value) = score.value() else { return "none".to_owned() };
    match &score.interval {
        Some(interval) => format!("{value:.2} ({:.2} to {:.2})", interval.low, interval.high),
        None => format!("{value:.2}"),
    }
}

fn reason(figure: &Figure) -> String {
    figure.reason.clone().unwrap_or_else(|| "absent".to_owned())
}

fn capital(text: &str) -> String {
    crate::words::capital(text)
}

/// What a target is, and what the second one is.
fn both(target: &TargetFacts) -> String {
    target.second.as_ref().map_or_else(
        || target.summary.clone(),
        |second| format!("{}; second: {}, {}", target.summary, second.datastore, second.summary),
    )
}
