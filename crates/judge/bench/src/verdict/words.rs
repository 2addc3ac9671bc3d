use run_store::run::{LimitOn, LimitResult, Statistic, Verdict};
use units::Nanos;

/// Returns the text of a limit's result: `the shop's orders reach 612 ms at p95 against a limit of
/// 500 ms`.
pub fn sentence(workload: &str, result: &LimitResult) -> String {
    let (limit, subject) = (Nanos(result.limit_ns), subject(workload, result));
    let Some(measured) = result.measured_ns.map(Nanos) else {
        return format!("{subject} have no samples to compare with the limit of {limit}");
    };
    let statistic = match result.statistic {
        Statistic::Mean => "on average".to_owned(),
        Statistic::Max => "at most".to_owned(),
        percentile @ Statistic::Percentile(_) => format!("at {percentile}"),
    };
    let open = match result.unfinished {
        0 => String::new(),
        1 => " (1 was not finished)".to_owned(),
        count => format!(" ({count} were not finished)"),
    };
    match result.verdict {
        Verdict::Failed => {
            format!("{subject} reach {measured} {statistic} against a limit of {limit}{open}")
        }
        Verdict::Passed => {
            format!("{subject} take {measured} {statistic}, within the limit of {limit}")
        }
        Verdict::Inconclusive | Verdict::Interrupted => format!(
            "{} samples of {subject} are not enough: {measured} {statistic}{}, against a limit of \
             {limit}",
            result.samples,
            interval(result)
        ),
    }
}

/// Returns the text of an interval, ` (480 ms to 610 ms)`, as far as it is known.
fn interval(result: &LimitResult) -> String {
    let low = result.interval_low_ns.map(Nanos);
    match (low, result.interval_high_ns.map(Nanos)) {
        (Some(low), Some(high)) => format!(" ({low} to {high})"),
        (Some(low), None) => format!(" ({low} or more)"),
        _ => String::new(),
    }
}

fn subject(workload: &str, result: &LimitResult) -> String {
    if let (LimitOn::Action, Some((_, stage))) = (result.on, result.name.split_once('/')) {
        return format!("the {workload}'s {stage} stages");
    }
    let name = result.name.replace('-', " ");
    match result.on {
        LimitOn::Action => format!("the {workload}'s {}", plural(&name)),
        LimitOn::Io => format!("the {workload}'s {name} I/Os"),
        LimitOn::Call => format!("the {workload}'s {name} calls"),
    }
}

fn plural(name: &str) -> String {
    if let Some((head, rest)) = name.split_once(" of ") {
        return format!("{} of {rest}", plural(head));
    }
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&["s", "x", "ch", "sh"]) {
        format!("{name}es")
    } else if name.ends_with('y') && !ends(&["ay", "ey", "oy", "uy"]) {
        format!("{}ies", &name[..name.len() - 1])
    } else {
        format!("{name}s")
    }
}
