//! Text of a finished capture.

use capture::{Gap, Recorded, Row};
use units::{Bytes, Nanos};

use super::{Table, count, latency, number};

/// Maximum number of initiators and devices in the text; the trace has all.
const ROWS_MAX: usize = 8;

/// Formats records, initiators, losses and cost of a recording.
pub fn recorded(recorded: &Recorded) -> String {
    let mut lines = vec![format!(
        "{}: {} in {}, {}",
        recorded.trace.display(),
        count(recorded.records, "I/O"),
        Nanos(recorded.elapsed_ns),
        Bytes::new(recorded.trace_bytes),
    )];
    lines.extend(table("operation", &recorded.operations));
    if recorded.devices.len() > 1 {
        lines.extend(table("device", &recorded.devices));
    }
    lines.extend(table("sender", &recorded.senders));
    lines.push(String::new());
    lines.extend(losses(recorded));
    lines.push(cost(recorded));
    lines.join("\n") + "\n"
}

fn table(what: &'static str, rows: &[Row]) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let has_percentiles = rows.iter().any(|row| row.latency_ns_p50.is_some());
    let mut header = vec![what, ">I/Os", ">bytes", ">mean"];
    if has_percentiles {
        header.extend([">p50", ">p99"]);
    }
    header.push(">longest");
    let mut table = Table::new(&header);
    for row in rows.iter().take(ROWS_MAX) {
        let mut cells = vec![
            row.name.clone(),
            whole(row.count),
            Bytes::new(row.bytes).to_string(),
            latency(Some(row.latency_ns_mean)),
        ];
        if has_percentiles {
            cells.extend([latency(row.latency_ns_p50), latency(row.latency_ns_p99)]);
        }
        cells.push(latency(Some(row.latency_ns_max)));
        table.row(cells);
    }
    let mut lines = vec![String::new()];
    lines.extend(table.lines());
    if rows.len() > ROWS_MAX {
        lines.push(format!("and {} more", rows.len() - ROWS_MAX));
    }
    lines
}

/// Describes events that are not in the records, each with the reason.
fn losses(recorded: &Recorded) -> Vec<String> {
    let lost = match recorded.lost_events {
        0 => "lost: no events".to_owned(),
        lost => format!(
            "lost: {}{}, which did not fit into the kernel's buffer; --buffer makes it larger",
            count(lost, "event"),
            gaps(&recorded.gaps)
        ),
    };
    let counts = &recorded.not_recorded;
    let [before, end] = match recorded.lost_events {
        0 => ["sent before the recording began", "not completed within a minute"],
        _ => [
            "sent before the recording began, or whose start event was lost",
            "whose completion event was lost, or not completed within a minute",
        ],
    };
    let reasons = [
        (counts.unwanted, "of processes that were not selected"),
        (counts.unmatched, before),
        (counts.unfinished, "not completed when the recording ended"),
        (counts.abandoned, end),
    ];
    let told = reasons.iter().filter(|(number, _)| *number > 0);
    let told: Vec<String> =
        told.map(|(number, reason)| format!("{} {reason}", whole(*number))).collect();
    let mut lines = vec![lost];
    if !told.is_empty() {
        lines.push(format!("not recorded: {}", told.join(", ")));
    }
    lines
}

/// Formats the times of lost events: ` in 2 gaps (12.3 s to 12.9 s, 40 s to 41 s)`.
fn gaps(gaps: &[Gap]) -> String {
    const SHOWN: usize = 5;
    if gaps.is_empty() {
        return String::new();
    }
    let one = |gap: &Gap| format!("{} to {}", Nanos(gap.from_ns), Nanos(gap.to_ns));
    let mut shown: Vec<String> = gaps.iter().take(SHOWN).map(one).collect();
    if gaps.len() > SHOWN {
        shown.push(format!("and {} more", gaps.len() - SHOWN));
    }
    let (gaps, shown) = (count(gaps.len() as u64, "gap"), shown.join(", "));
    format!(" in {gaps} ({shown}; I/Os in flight then are not in the trace)")
}

fn cost(recorded: &Recorded) -> String {
    format!(
        "cost: {} of CPU time, {} % of one core, for {}",
        Nanos(recorded.cpu_ns),
        number(recorded.core_percent),
        count(recorded.events, "event"),
    )
}

pub(super) fn whole(value: u64) -> String {
    count(value, "").trim_end_matches(['s', ' ']).to_owned()
}
