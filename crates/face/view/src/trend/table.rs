//! The table of runs, for terminal and Markdown.

use crate::document::{RunsTrend, TrendRow};

/// A column: its heading, its cell of a run, and whether it is left out if all cells are empty.
type Column = (&'static str, fn(&TrendRow) -> String, bool);

const COLUMNS: [Column; 8] = [
    ("started (UTC)", started, false),
    ("run", |row| row.name.clone().unwrap_or_else(|| row.id.clone()), false),
    ("tiles that held", |row| row.tiles.clone(), false),
    ("score", |row| row.score_text.clone().unwrap_or_else(dash), false),
    ("watts", |row| row.watts.map_or_else(dash, |watts| format!("{watts:.1}")), true),
    ("price per tile", |row| price(row, row.price_per_tile.as_ref()), true),
    ("price per VM", |row| price(row, row.price_per_vm.as_ref()), true),
    ("against the first", TrendRow::verdict_text, false),
];

fn dash() -> String {
    "-".to_owned()
}

/// Formats the start, to the minute.
fn started(row: &TrendRow) -> String {
    row.started.get(..16).unwrap_or(&row.started).replace('T', " ")
}

fn price(row: &TrendRow, per: Option<&crate::document::PricePer>) -> String {
    match (&row.price_not_read, per) {
        (Some(tag), _) => format!("\"{tag}\" is not a price"),
        (None, Some(price)) => price.text.clone(),
        (None, None) => dash(),
    }
}

impl TrendRow {
    /// Returns the verdict against the first run with its reason, as text.
    fn verdict_text(&self) -> String {
        if let Some(reason) = &self.not_compared {
            return format!("not compared: {reason}");
        }
        let reason = self.reason.as_ref().map_or_else(String::new, |own| format!(": {own}"));
        let verdict = self.against_first.as_deref().unwrap_or("-");
        match self.plan_differs.as_slice() {
            [] => format!("{verdict}{reason}"),
            facts => format!("{verdict}{reason}; differs in {}", facts.join(", ")),
        }
    }
}

impl RunsTrend {
    /// Returns the table: headings, and a row for each run. Columns for power and prices are left
    /// out if no run has any.
    pub fn table(&self) -> (Vec<&'static str>, Vec<Vec<String>>) {
        let has_cells =
            |cell: fn(&TrendRow) -> String| self.runs.iter().any(|row| cell(row) != "-");
        let columns: Vec<&Column> = COLUMNS
            .iter()
            .filter(|(_, cell, is_optional)| !is_optional || has_cells(*cell))
            .collect();
        let row = |own: &TrendRow| columns.iter().map(|(_, cell, _)| cell(own)).collect();
        (
            columns.iter().map(|(heading, ..)| *heading).collect(),
            self.runs.iter().map(row).collect(),
        )
    }
}
