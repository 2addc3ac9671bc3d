use run_store::run::{PlayedTrace, ReplayFacts, Step};
use units::{Bytes, Nanos};

use super::{count, latency, number_whole};

/// Describes progress and punctuality of replayed loads in a step; empty without replayed loads.
pub fn replay(step: &Step) -> Vec<String> {
    let Some(replay) = &step.replay else { return Vec::new() };
    let mut lines: Vec<String> = replay.traces.iter().flat_map(played).collect();
    lines.push(ended(replay));
    let late = &replay.submission_error;
    if late.samples > 0 {
        lines.push(format!(
            "           sent after due: {} at p50, {} at p99, {} maximum; {} by more than 1 ms",
            latency(late.p50_ns),
            latency(late.p99_ns),
            latency(late.max_ns),
            number_whole(replay.late_1ms),
        ));
    }
    lines
}

fn played(trace: &PlayedTrace) -> Vec<String> {
    let whose = trace.vm.as_ref().map_or_else(String::new, |vm| format!(", VM {vm}"));
    let mut lines = vec![format!(
        "replay     {} ({}{whose}), {} at {}: {} of {} in {}",
        trace.trace,
        trace.format,
        trace.pace,
        trace.speed,
        count(trace.ios, "I/O"),
        Bytes::new(trace.bytes),
        Nanos(trace.trace_span_ns),
    )];
    let share = |part: u64| {
        #[expect(clippy::cast_precision_loss, reason = "printed with one decimal")]
        let percent = 100.0 * part as f64 / trace.ios.max(1) as f64;
        format!("{percent:.1} %")
    };
    let mut changed = Vec::new();
    if trace.rounded > 0 {
        let unit = Bytes::new(trace.unit_bytes);
        changed.push(format!("{} of I/Os were rounded to {unit}", share(trace.rounded)));
    }
    if trace.folded > 0 {
        changed.push(format!("{} were folded into smaller disks", share(trace.folded)));
    }
    if trace.cut > 0 {
        changed.push(format!("{} were cut to 4 MiB", share(trace.cut)));
    }
    if trace.discards > 0 {
        changed.push(format!("{} left out", count(trace.discards, "discard")));
    }
    if trace.empty > 0 {
        changed.push(format!("{} of zero bytes left out", count(trace.empty, "I/O")));
    }
    if !changed.is_empty() {
        lines.push(format!("           {}", changed.join("; ")));
    }
    lines
}

fn copies(copies: u32) -> String {
    if copies == 1 { "1 copy".to_owned() } else { format!("{copies} copies") }
}

fn ended(replay: &ReplayFacts) -> String {
    let sent = format!("{} sent", count(replay.submitted, "I/O"));
    match replay.elapsed_ns {
        Some(elapsed) if replay.ended == replay.copies => format!(
            "           {} played to the end, {sent}; the last completion came after {}",
            copies(replay.copies),
            Nanos(elapsed)
        ),
        _ => format!(
            "           {} of {} played to the end; {sent}",
            replay.ended,
            copies(replay.copies),
        ),
    }
}
