//! Parts of a result as text and tables.

use crate::document::{ClaimResult, KindCount, Outcome, PointResult, StudyResult, TableResult};
use crate::number::{met, or_dash, ours, percent, published_text, tolerance_text};
use units::Table;

/// Returns the text about program, seed and definitions.
pub fn facts(result: &StudyResult) -> String {
    let commit =
        result.tool.commit.as_ref().map_or_else(String::new, |commit| format!(" ({commit})"));
    format!(
        "tilemark {}{commit}, seed {}, {}, definitions {}",
        result.tool.version,
        result.seed,
        if result.repeats == 1 {
            "1 run a step".to_owned()
        } else {
            format!("{} runs a step", result.repeats)
        },
        result.sha256.get(..12).unwrap_or_default()
    )
}

/// Returns the table of all steps.
pub fn points(points: &[PointResult]) -> Table {
    let mut names: Vec<&str> = Vec::new();
    for tier in points.iter().flat_map(|point| &point.mean.tiers) {
        if !names.contains(&tier.name.as_str()) {
            names.push(&tier.name);
        }
    }
    let mut grid = Table::new(&[
        "configuration",
        ">tiles",
        "verdict",
        ">score",
        ">limit used",
        ">IOPS",
        ">reads",
        ">read ms",
        ">write ms",
        ">CPU",
    ]);
    names.iter().for_each(|name| grid.column(&format!("{name} hits")));
    for point in points {
        let mean = &point.mean;
        let mut row = vec![
            point.configuration.clone(),
            point.tiles.to_string(),
            point.verdict.name().to_owned(),
            mean.score.map_or_else(|| "-".to_owned(), |score| format!("{score:.2}")),
            percent(mean.strain),
            or_dash(mean.operations_per_s),
            percent(mean.read_share),
            or_dash(mean.read_ms),
            or_dash(mean.write_ms),
            percent(mean.cpu),
        ];
        for name in &names {
            let tier = mean.tiers.iter().find(|tier| tier.name == *name);
            row.push(percent(tier.and_then(|tier| tier.hit)));
        }
        grid.row(row);
    }
    grid
}

/// Returns the reasons for steps without figures.
pub fn notes_on_points(points: &[PointResult]) -> Vec<String> {
    let note = |point: &PointResult| {
        let reason = point.reason.as_deref().unwrap_or("the reason is unknown");
        format!("{} at {}: {reason}", point.configuration, point.tiles)
    };
    points.iter().filter(|point| point.verdict.needs_a_reason()).map(note).collect()
}

/// Returns the heading of a table.
pub fn heading(table: &TableResult) -> String {
    match &table.unit {
        Some(unit) => format!("{} ({unit})", table.title),
        None => table.title.clone(),
    }
}

/// Returns the table of the study.
pub fn table(table: &TableResult) -> Table {
    let mut grid = Table::new(&[">tiles"]);
    table.configurations.iter().for_each(|name| grid.column(name));
    for row in &table.rows {
        let cells = row.cells.iter().map(|cell| or_dash(*cell));
        grid.row(std::iter::once(row.tiles.to_string()).chain(cells).collect());
    }
    grid
}

/// Returns the table of all claims.
pub fn claims(claims: &[ClaimResult]) -> Table {
    let mut grid =
        Table::new(&["claim", "kind", "published", "ours", "tolerance", "met", "what is said"]);
    for claim in claims {
        grid.row(vec![
            claim.id.clone(),
            claim.kind.name().to_owned(),
            published_text(&claim.published, claim.unit.as_deref()),
            ours(claim),
            tolerance_text(claim.tolerance),
            met(claim),
            claim.text.clone(),
        ]);
    }
    grid
}

/// Returns lines with the reasons for a missed claim.
pub fn missed(claim: &ClaimResult) -> Vec<String> {
    let what = match claim.outcome {
        Outcome::NotMeasured => "not measured",
        _ => "not met",
    };
    let reason = claim.reason.as_deref().map_or_else(String::new, |reason| format!(": {reason}"));
    let mut lines = vec![format!("{} {what}{reason}", claim.id)];
    lines.extend(why(claim).lines().map(|line| format!("  {line}")));
    lines
}

/// Returns the study's reason for a missed claim; empty if the claim was not measured for another
/// reason.
pub fn why(claim: &ClaimResult) -> &str {
    let unknown = if claim.reason.is_some() { "" } else { "the study gives no reason" };
    claim.why.as_deref().unwrap_or(unknown)
}

/// Returns lines about the number of met claims.
pub fn summary(result: &StudyResult) -> Vec<String> {
    let mut lines = vec![result.summary.sentence.clone()];
    let others: Vec<String> = result
        .summary
        .kinds
        .iter()
        .filter(|count| count.kind != spec::study::Kind::Predicted)
        .map(other)
        .collect();
    if !others.is_empty() {
        lines.push(format!("Not counted as reproduced: {}", others.join("; ")));
    }
    lines
}

fn other(count: &KindCount) -> String {
    let all = count.met + count.not_met + count.not_measured;
    let unknown = match count.not_measured {
        0 => String::new(),
        unknown => format!(" ({unknown} not measured)"),
    };
    format!("{} of {all} {} met{unknown}", count.met, count.kind.name())
}
