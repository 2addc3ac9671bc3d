use units::{Nanos, Table};

use super::plain::{number, text};
use crate::hosts::HostsAnalysis;
use crate::material::View;

/// Formats the answer as text: all hosts together, then each host.
pub fn hosts_text(answer: &HostsAnalysis, views: &[View]) -> String {
    let mut all = String::from("== all hosts ==\n");
    let mut table = Table::new(&[
        "host",
        ">I/Os",
        ">lost events",
        ">clock known to",
        "its trace, which stays there",
    ]);
    for host in &answer.hosts {
        table.row(vec![
            host.host.clone(),
            number(host.analysis.source.records),
            number(host.lost_events),
            Nanos(host.clock_known_to_ns).to_string(),
            host.trace.clone(),
        ]);
    }
    table.lines().iter().for_each(|line| all += &format!("{line}\n"));
    all += &machines(answer);
    all += "\n";
    all += &text(&answer.all, views);
    for host in &answer.hosts {
        all += &format!("\n== host {} ==\n", host.host);
        all += &text(&host.analysis, views);
    }
    all
}

/// Formats a table of the hosts that saw each virtual machine, with times.
fn machines(answer: &HostsAnalysis) -> String {
    if answer.machines.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["VM", "host", ">I/Os", ">from", ">to", ""]);
    for row in &answer.machines {
        table.row(vec![
            row.vm.clone(),
            row.host.clone(),
            number(row.count),
            Nanos(row.from_ns).to_string(),
            Nanos(row.to_ns).to_string(),
            if row.moved {
                "moved: other hosts saw I/O of this VM, too".to_owned()
            } else {
                String::new()
            },
        ]);
    }
    let lines: String = table.lines().iter().map(|line| format!("{line}\n")).collect();
    format!("\n{lines}")
}
