use record::run::{LimitOn, LimitResult, Verdict};
use units::Nanos;

/// What a limit came to, as a person would say it: `the shop's orders reach 612 ms at p95
/// against a limit of 500 ms`.
pub fn sentence(workload: &str, result: &LimitResult) -> String {
    let (limit, subject) = (Nanos(result.limit_ns), subject(workload, result));
    let Some(measured) = result.measured_ns.map(Nanos) else {
        return format!("{subject} left no sample to hold against the limit of {limit}");
    };
    let statistic = match result.statistic.as_str() {
        "mean" => "on average".to_owned(),
        "max" => "at most".to_owned(),
        percentile => format!("at {percentile}"),
    };
    match result.verdict {
        Verdict::Failed => {
            format!("{subject} reach {measured} {statistic} against a limit of {limit}")
        }
        Verdict::Passed => {
            format!("{subject} take {measured} {statistic}, within the limit of {limit}")
        }
        Verdict::Inconclusive | Verdict::Interrupted => format!(
            "{} samples of {subject} are too few to hold {measured} {statistic} against the limit \
             of {limit}",
            result.samples
        ),
    }
}

fn subject(workload: &str, result: &LimitResult) -> String {
    let name = result.name.replace('-', " ");
    match result.on {
        LimitOn::Action => format!("the {workload}'s {}", plural(&name)),
        LimitOn::Io => format!("the {workload}'s {name} I/Os"),
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
