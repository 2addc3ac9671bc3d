use std::fmt::Write;

use units::{Bytes, Nanos, Table};

use super::dependence::Dependence;
use super::document::{Distance, FitReport, Share};

/// Formats a report as text.
pub fn fit_text(report: &FitReport) -> String {
    let mut text = format!(
        "Workload \"{}\" fitted to {} I/Os of VM {} in {} ({}), {} starting at {}\n",
        report.workload,
        report.records,
        report.vm,
        report.trace,
        report.format,
        Nanos(report.span_ns),
        Nanos(report.first_ns),
    );
    if report.phases.len() > 1 {
        text += "\nPhases\n";
        text += &phases(report);
    }
    text += "\nLoad\n";
    for decision in &report.decisions {
        let _ = writeln!(text, "  {}: {}", decision.users, decision.why);
    }
    if let Some(dependence) = &report.dependence {
        text += &waits(dependence);
    }
    let _ = writeln!(
        text,
        "\nErrors of a run in virtual time ({} I/Os, seed {})",
        report.made, report.seed
    );
    text += &distances(&report.distances);
    text += "\n";
    text += &curves(report);
    text += "\n";
    text += &shares(&report.shares);
    text += "\nNot reproduced\n";
    for word in &report.not_reproduced {
        let _ = writeln!(text, "  {word}");
    }
    text
}

fn phases(report: &FitReport) -> String {
    let mut grid = Table::new(&[">from", ">to", "kind", ">I/Os/s"]);
    for phase in &report.phases {
        grid.row(vec![
            Nanos(phase.from_ns).to_string(),
            Nanos(phase.to_ns).to_string(),
            phase.kind.clone(),
            format!("{:.1}", phase.rate),
        ]);
    }
    grid.text("  ")
}

fn waits(own: &Dependence) -> String {
    let mut text = format!(
        "\nI/Os that wait for others: {:.0} % begin within {} after a completion, {:.0} % would by \
         chance. Chosen: {}.\n",
        own.share * 100.0,
        Nanos(own.within_ns),
        own.chance * 100.0,
        own.chosen
    );
    let mut grid = Table::new(&[
        "",
        ">outstanding",
        ">pause",
        ">order",
        ">I/Os/s",
        ">I/Os/s, storage twice as slow",
    ]);
    let distance =
        |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |it| format!("{it:.3}"));
    for row in &own.rows {
        grid.row(vec![
            row.name.clone(),
            distance(row.outstanding),
            distance(row.pause),
            distance(row.order),
            format!("{:.1}", row.rate),
            format!("{:.1}", row.rate_slow),
        ]);
    }
    text += &grid.text("  ");
    text
}

fn distances(distances: &[Distance]) -> String {
    let mut grid = Table::new(&["histogram", ">trace", ">run", ">KS distance", "furthest at"]);
    for row in distances {
        let distance = row.distance.map_or_else(|| "-".to_owned(), |it| format!("{it:.3}"));
        let at = row.at.map_or_else(String::new, |at| format!("{at} {}", row.unit));
        let (seen, made) = (row.seen.to_string(), row.made.to_string());
        grid.row(vec![row.histogram.clone(), seen, made, distance, at]);
    }
    grid.text("  ")
}

fn curves(report: &FitReport) -> String {
    let mut grid = Table::new(&["miss-ratio curve", ">largest difference", "at", ">mean"]);
    for curve in &report.curves {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bytes of a cache"
        )]
        let at = Bytes::new(curve.at_bytes as u64).round_down(Bytes::new(1024));
        grid.row(vec![
            format!("pages of {}", Bytes::new(curve.page_bytes)),
            format!("{:.3}", curve.most),
            at.to_string(),
            format!("{:.3}", curve.mean),
        ]);
    }
    grid.text("  ")
}

fn shares(shares: &[Share]) -> String {
    let mut grid = Table::new(&["", ">trace", ">run"]);
    for share in shares {
        grid.row(vec![share.name.clone(), value(share.seen, share), value(share.made, share)]);
    }
    grid.text("  ")
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes, rounded")]
fn value(value: f64, share: &Share) -> String {
    match share.unit.as_str() {
        "" => format!("{:.1} %", value * 100.0),
        "B" => Bytes::new(value as u64).round_down(Bytes::MIB).to_string(),
        unit => format!("{value:.0} {unit}"),
    }
}
