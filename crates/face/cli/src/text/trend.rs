//! Many runs beside each other, each compared with the first.

use view::document::RunsTrend;

use super::Table;

/// Returns a text for people.
pub fn text(trend: &RunsTrend) -> String {
    if trend.runs.is_empty() {
        return "no complete run matches; `tilemark runs` lists all runs\n".to_owned();
    }
    let (headings, rows) = trend.table();
    let mut table = Table::new(&headings);
    rows.into_iter().for_each(|row| table.row(row));
    table.lines().join("\n") + "\n"
}

/// Returns the table in Markdown.
pub fn markdown(trend: &RunsTrend) -> String {
    let line = |cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|own| own.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let (headings, rows) = trend.table();
    let rule = format!("|{}\n", "---|".repeat(headings.len()));
    let head = line(headings.into_iter().map(str::to_owned).collect());
    head + &rule + &rows.into_iter().map(line).collect::<String>()
}
