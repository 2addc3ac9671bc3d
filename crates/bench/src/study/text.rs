//! The result for people.

use std::fmt::Write as _;

use super::document::{ClaimResult, KindCount, Outcome, PointResult, StudyResult, TableResult};
use super::grid::Grid;
use super::number::{met, or_dash, ours, percent, published_text, tolerance_text};

/// The result as text.
pub fn text(result: &StudyResult) -> String {
    let mut out = String::new();
    let mut say = |line: &str| writeln!(out, "{line}").expect("a text grows");
    let how =
        if result.simulated { "simulated" } else { "simulated, and measured where it says so" };
    say(&format!("{}: {} ({how})", result.name, result.title));
    say(&facts(result));
    if !result.complete {
        say("INTERRUPTED: not everything was run");
    }
    if !result.points.is_empty() {
        say("");
        say(points(&result.points).text().trim_end());
        notes_on_points(&result.points).iter().for_each(|note| say(note));
    }
    for each in &result.tables {
        say("");
        say(&heading(each));
        say(table(each).text().trim_end());
    }
    say("");
    say(claims(&result.claims).text().trim_end());
    for claim in result.claims.iter().filter(|claim| claim.outcome != Outcome::Met) {
        say("");
        missed(claim).iter().for_each(|line| say(line));
    }
    for warning in &result.warnings {
        say("");
        say(&format!("warning: {}", warning.text));
        warning.hint.iter().for_each(|hint| say(&format!("hint: {hint}")));
    }
    say("");
    summary(result).iter().for_each(|line| say(line));
    out
}

/// What it was run with.
pub(super) fn facts(result: &StudyResult) -> String {
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

/// Every step.
pub(super) fn points(points: &[PointResult]) -> Grid {
    let mut names: Vec<&str> = Vec::new();
    for tier in points.iter().flat_map(|point| &point.mean.tiers) {
        if !names.contains(&tier.name.as_str()) {
            names.push(&tier.name);
        }
    }
    let mut grid = Grid::new(&[
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
            point.verdict.clone(),
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

/// Why steps have no figures.
pub(super) fn notes_on_points(points: &[PointResult]) -> Vec<String> {
    let has_none = |point: &&PointResult| {
        ["does-not-fit", "left-out", "not-simulated", "inconclusive"]
            .contains(&point.verdict.as_str())
    };
    let note = |point: &PointResult| {
        let reason = point.reason.as_deref().unwrap_or("no reason is known");
        format!("{} at {}: {reason}", point.configuration, point.tiles)
    };
    points.iter().filter(has_none).map(note).collect()
}

/// A table's heading.
pub(super) fn heading(table: &TableResult) -> String {
    match &table.unit {
        Some(unit) => format!("{} ({unit})", table.title),
        None => table.title.clone(),
    }
}

/// A table of the study.
pub(super) fn table(table: &TableResult) -> Grid {
    let mut grid = Grid::new(&[">tiles"]);
    table.configurations.iter().for_each(|name| grid.column(name));
    for row in &table.rows {
        let cells = row.cells.iter().map(|cell| or_dash(*cell));
        grid.row(std::iter::once(row.tiles.to_string()).chain(cells).collect());
    }
    grid
}

/// Every claim.
pub(super) fn claims(claims: &[ClaimResult]) -> Grid {
    let mut grid =
        Grid::new(&["claim", "kind", "published", "ours", "tolerance", "met", "what is said"]);
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

/// Why a claim is not met.
pub(super) fn missed(claim: &ClaimResult) -> Vec<String> {
    let what = match claim.outcome {
        Outcome::NotMeasured => "not measured",
        _ => "not met",
    };
    let reason = claim.reason.as_deref().map_or_else(String::new, |reason| format!(": {reason}"));
    let mut lines = vec![format!("{} {what}{reason}", claim.id)];
    let unknown = if claim.reason.is_some() { "" } else { "the study does not say why" };
    let why = claim.why.as_deref().unwrap_or(unknown);
    lines.extend(why.lines().map(|line| format!("  {line}")));
    lines
}

/// How many were met.
pub(super) fn summary(result: &StudyResult) -> Vec<String> {
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
