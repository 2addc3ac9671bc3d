//! Conversion of a result to comma-separated values in long form, for plots.

use crate::document::{PointFigures, StudyResult};

/// Returns the result as CSV. Columns: `record` (`point`, `table` or `claim`), `name` (figure,
/// heading or claim), `configuration`, `tiles`, `repeat` (empty for means), `value` (empty if there
/// is none), `unit`.
pub fn csv(result: &StudyResult) -> String {
    let mut out = String::from("record,name,configuration,tiles,repeat,value,unit\n");
    let mut row = |cells: [&str; 5], value: Option<f64>, unit: &str| {
        let value = value.map_or_else(String::new, |value| value.to_string());
        let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
        out.push_str(&format!("{},{value},{}\n", cells.join(","), quoted(unit)));
    };
    for point in &result.points {
        let tiles = point.tiles.to_string();
        for run in &point.runs {
            let repeat = run.repeat.to_string();
            for (name, value, unit) in run.figures.iter().flat_map(figures) {
                row(["point", &name, &point.configuration, &tiles, &repeat], value, unit);
            }
            let passed = run
                .verdict
                .map(|each| f64::from(u8::from(each == run_store::run::Verdict::Passed)));
            row(["point", "passed", &point.configuration, &tiles, &repeat], passed, "");
        }
    }
    for table in &result.tables {
        let unit = table.unit.as_deref().unwrap_or_default();
        for line in &table.rows {
            let tiles = line.tiles.to_string();
            for (name, value) in table.configurations.iter().zip(&line.cells) {
                row(["table", &table.title, name, &tiles, ""], *value, unit);
            }
        }
    }
    for claim in &result.claims {
        let unit = claim.unit.as_deref().unwrap_or_default();
        row(["claim", &claim.id, "", "", ""], claim.ours, unit);
        for (value, repeat) in claim.repeats.iter().zip(1..) {
            row(["claim", &claim.id, "", "", &format!("{repeat}")], *value, unit);
        }
    }
    out
}

fn figures(figures: &PointFigures) -> Vec<(String, Option<f64>, &'static str)> {
    let mut all: Vec<(String, Option<f64>, &'static str)> = [
        ("score", figures.score, "tiles"),
        ("strain", figures.strain, ""),
        ("operations_per_s", figures.operations_per_s, "1/s"),
        ("read_share", figures.read_share, ""),
        ("bytes_per_s", figures.bytes_per_s, "B/s"),
        ("read_ms", figures.read_ms, "ms"),
        ("write_ms", figures.write_ms, "ms"),
        ("cpu", figures.cpu, ""),
    ]
    .map(|(name, value, unit)| (name.to_owned(), value, unit))
    .to_vec();
    for tier in &figures.tiers {
        for (name, value) in
            [("hit", tier.hit), ("read_hit", tier.read_hit), ("write_hit", tier.write_hit)]
        {
            all.push((format!("tier {} {name}", tier.name), value, ""));
        }
    }
    all
}

/// Quotes a cell as in RFC 4180.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
