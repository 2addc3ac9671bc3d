//! Formats the rules of a watch as Tilemark understands them.

use serde::Serialize;
use watch::{Rule, Rules};

use super::{Table, count};

/// The document of `watch check-rules --format json`.
#[derive(Debug, Serialize)]
pub struct RulesText {
    schema: &'static str,
    /// Receivers of alarms, without their secrets.
    send: Vec<String>,
    rules: Vec<Row>,
    /// Maximum number of recordings in 24 hours.
    evidence_per_day: usize,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    vm: String,
    disk: String,
    limit: String,
    window_ns: u64,
    severity: &'static str,
    /// Length of a recording when an alarm begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence_ns: Option<u64>,
    /// Minimum number of I/Os in a window that can begin an alarm.
    begins_from: u64,
    /// Minimum number of I/Os in a window that can end an alarm.
    ends_from: u64,
}

impl Row {
    /// Formats the line about the disk that is recorded; `None` if nothing is recorded.
    fn recording(&self) -> Option<String> {
        let length = units::Nanos(self.evidence_ns?);
        Some(format!("  {}: its disk for {length}", self.name))
    }
}

impl RulesText {
    /// Makes the document of a file's rules and receivers.
    pub fn new(rules: &Rules) -> Self {
        let send = &rules.send;
        let alertmanagers = send.alertmanagers.iter().map(|own| format!("Alertmanager at {own}"));
        let webhooks = send.webhooks.iter().map(|own| format!("the web hook at {own}"));
        let program = send.command.iter().map(|own| format!("the program {}", own.path.display()));
        let row = |rule: &Rule| {
            let (begins_from, ends_from) = rule.limit.ios_needed();
            Row {
                name: rule.name.to_string(),
                vm: rule.vm.to_string(),
                disk: rule.disk.to_string(),
                limit: rule.limit.to_string(),
                window_ns: rule.window.0,
                severity: rule.severity.name(),
                evidence_ns: rule.evidence.map(|own| own.0),
                begins_from,
                ends_from,
            }
        };
        Self {
            schema: "tilemark.watch-rules/1.0",
            send: alertmanagers.chain(webhooks).chain(program).collect(),
            rules: rules.rules.iter().map(row).collect(),
            evidence_per_day: rules.evidence_per_day,
        }
    }

    /// Returns a text for people.
    pub fn text(&self) -> String {
        let to = match &self.send[..] {
            [] => "alarms are only written to standard error".to_owned(),
            all => format!("alarms go to {}", all.join(", ")),
        };
        let rules = count(self.rules.len() as u64, "rule");
        let mut lines = vec![format!("{rules}; {to}"), String::new()];
        let heads = ["rule", "VMs", "disks", "limit", ">window", "severity", ">begins", ">ends"];
        let mut table = Table::new(&heads);
        for row in &self.rules {
            let cells = [
                row.name.as_str(),
                &row.vm,
                &row.disk,
                &row.limit,
                &units::Nanos(row.window_ns).to_string(),
                row.severity,
                &row.begins_from.to_string(),
                &row.ends_from.to_string(),
            ];
            table.row(cells.map(str::to_owned).to_vec());
        }
        lines.extend(table.lines());
        let recording: Vec<_> = self.rules.iter().filter_map(Row::recording).collect();
        if !recording.is_empty() {
            let most = self.evidence_per_day;
            lines.push(String::new());
            lines.push(format!("recorded when an alarm begins, at most {most} in 24 hours:"));
            lines.extend(recording);
        }
        lines.push(String::new());
        lines.push(
            "begins, ends: minimum I/Os of a VM in a window that can begin or end an alarm"
                .to_owned(),
        );
        lines.push("its alarm".to_owned());
        lines.join("\n") + "\n"
    }
}
