use run_store::run::{AgainstOthers, HostStep, Step};
use units::Nanos;

use super::{Table, number};

/// Formats a table of each host's part of a step; empty if this host ran the step alone.
pub(super) fn hosts(step: &Step) -> Vec<String> {
    if step.hosts.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&[
        "host",
        ">tiles",
        ">IOPS",
        ">began late",
        "its I/Os compared with the others",
    ]);
    for host in &step.hosts {
        table.row(vec![
            host.host.clone(),
            host.tiles.len().to_string(),
            number(host.operations_per_s),
            Nanos(host.began_late_ns).to_string(),
            against(host),
        ]);
    }
    table.lines()
}

/// Formats the comparison of a host with the other hosts: `1.10 times as long (1.08 to 1.11)`.
fn against(host: &HostStep) -> String {
    let AgainstOthers { times, low, high, .. } = &host.against_others;
    match (times.value, low.value.zip(high.value)) {
        (Some(times), Some((low, high))) => {
            format!("{times:.2} times as long ({low:.2} to {high:.2})")
        }
        (Some(times), None) => format!("{times:.2} times as long"),
        (None, _) => "-".to_owned(),
    }
}
