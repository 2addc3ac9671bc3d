//! `verify`: reads back what verified runs left, and names wrong blocks.

use datastore::open_leftovers;
use engine::verify::{DiskReport, Mismatch, Report, Unreadable, check_all};
use serde_json::{Value, json};

use crate::args::{Format, VerifyArgs};
use crate::commands::runs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::target;
use crate::text::count;
use crate::{exports, output};

/// Verifies every block whose write was acknowledged.
pub fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let base = runs::base(args.out.as_deref())?;
    let (target, _export) = exports::target(&args.target)?;
    let leftovers = open_leftovers(&target, &base).map_err(target::failure)?;
    let mut reports = Vec::new();
    for leftover in &leftovers {
        let Some(state) = &leftover.state_dir else { continue };
        let report = check_all(&leftover.disks, state)
            .map_err(|error| Failure::from_error(Exit::Failure, &error))?;
        if !report.disks.is_empty() {
            reports.push((leftover.run_id.as_str(), report));
        }
    }
    if reports.is_empty() {
        let message = format!("there is nothing to verify at {}", args.target);
        let hint = "run with --verify --keep, or list the leftovers of a killed run with tilemark \
            cleanup --dry-run";
        return Err(Failure::new(Exit::Failure, message).hint(Some(hint)));
    }
    match args.format {
        Format::Text => output::show(&text(&reports))?,
        Format::Json => output::print_json(&reports.iter().map(document).collect::<Vec<_>>())?,
    }
    let is_passed = reports.iter().all(|(_, report)| report.passed());
    Ok(if is_passed { Exit::Success } else { Exit::ObjectiveFailed })
}

fn text(reports: &[(&str, Report)]) -> String {
    let mut lines = Vec::new();
    for (run, report) in reports {
        let bytes: u64 = report.disks.iter().map(|disk| disk.bytes_judged).sum();
        let wrong: u64 = report.disks.iter().map(|disk| disk.mismatches_total).sum();
        let unreadable: u64 = report.disks.iter().map(|disk| disk.unreadable_total).sum();
        lines.push(format!(
            "{run}: {} acknowledged on {} re-read, {}",
            units::Bytes::new(bytes),
            count(report.disks.len() as u64, "disk"),
            match (wrong, unreadable) {
                (0, 0) => "every block is right".to_owned(),
                (wrong, 0) => format!("{wrong} wrong"),
                (wrong, unreadable) => format!("{wrong} wrong, {unreadable} cannot be read"),
            },
        ));
        let bad: Vec<String> = report.disks.iter().flat_map(DiskReport::bad).collect();
        let more = (wrong + unreadable).saturating_sub(bad.len() as u64);
        lines.extend(bad.iter().map(|bad| format!("  {bad}")));
        lines.extend((more > 0).then(|| format!("  and {more} more blocks")));
        lines.extend(report.missing.iter().map(|disk| format!("  disk {disk} is gone")));
    }
    lines.join("\n") + "\n"
}

fn document((run, report): &(&str, Report)) -> Value {
    json!({
        "schema": "tilemark.verify/1.0",
        "run": run,
        "passed": report.passed(),
        "disks": report.disks.iter().map(disk).collect::<Vec<_>>(),
        "unverified_disks": report.unverified,
        "missing_disks": report.missing,
    })
}

fn disk(disk: &DiskReport) -> Value {
    json!({
        "name": disk.name,
        "judged_bytes": disk.bytes_judged,
        "mismatches": disk.mismatches_total,
        "first_mismatches": disk.mismatches.iter().map(mismatch).collect::<Vec<_>>(),
        "unreadable": disk.unreadable_total,
        "first_unreadable": disk.unreadable.iter().map(unreadable).collect::<Vec<_>>(),
    })
}

fn mismatch(mismatch: &Mismatch) -> Value {
    json!({
        "disk": mismatch.disk,
        "offset_bytes": mismatch.offset,
        "length_bytes": mismatch.length,
        "kind": mismatch.kind.name(),
        "text": mismatch.to_string(),
    })
}

fn unreadable(block: &Unreadable) -> Value {
    json!({
        "disk": block.disk,
        "offset_bytes": block.offset,
        "text": block.to_string(),
    })
}
