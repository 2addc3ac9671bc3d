use crate::fit;

/// Minimum width to which a cell is narrowed, in columns of the terminal.
const CELL_MIN: usize = 8;

/// Returns the width of a line with these table columns, in columns of the terminal. Two spaces
/// separate the cells.
fn whole_width(columns: &[usize], widths: &[usize]) -> usize {
    let cells: usize = columns.iter().map(|at| widths[*at]).sum();
    cells + 2 * columns.len().saturating_sub(1)
}

/// Table of text. Each column is as wide as its widest cell. A column whose heading begins with `>`
/// has numbers, and is aligned to the right.
#[derive(Debug)]
pub struct Table {
    header: Vec<String>,
    right: Vec<bool>,
    lines: Vec<Line>,
}

#[derive(Debug)]
enum Line {
    Cells(Vec<String>),
    /// Line of text above rows. It does not affect the widths of columns.
    Heading(String),
}

impl Table {
    /// Creates a table with these headings. If all headings are empty, no heading line is printed.
    pub fn new(header: &[&str]) -> Self {
        Self {
            header: header.iter().map(|name| name.trim_start_matches('>').to_owned()).collect(),
            right: header.iter().map(|name| name.starts_with('>')).collect(),
            lines: Vec::new(),
        }
    }

    /// Adds a column of numbers.
    pub fn column(&mut self, name: &str) {
        self.header.push(name.to_owned());
        self.right.push(true);
    }

    /// Adds a row. Missing cells at the end of the row are empty.
    pub fn row(&mut self, cells: Vec<String>) {
        self.lines.push(Line::Cells(cells));
    }

    /// Adds a line of text above the rows that follow.
    pub fn heading(&mut self, words: &str) {
        self.lines.push(Line::Heading(words.to_owned()));
    }

    /// Returns the headings of the columns.
    pub fn columns(&self) -> &[String] {
        &self.header
    }

    /// Iterates over the rows, without heading lines.
    pub fn rows(&self) -> impl Iterator<Item = &[String]> {
        self.lines.iter().filter_map(|line| match line {
            Line::Cells(cells) => Some(&cells[..]),
            Line::Heading(_) => None,
        })
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows().next().is_none()
    }

    /// Formats the table as lines without trailing spaces, at most as wide as the terminal.
    pub fn lines(&self) -> Vec<String> {
        self.lines_within(fit::columns())
    }

    /// Formats the table as lines of at most `most` columns of the terminal. Table columns that do
    /// not fit beside the leading text columns continue below, and the leading columns are
    /// repeated. A cell that is too wide is broken at spaces.
    pub fn lines_within(&self, most: usize) -> Vec<String> {
        let widths: Vec<usize> = (0..self.header.len()).map(|at| self.width(at)).collect();
        let every: Vec<usize> = (0..widths.len()).collect();
        if whole_width(&every, &widths) <= most {
            return self.block(&every, &widths);
        }
        let key = self.key(&widths, most);
        let mut groups: Vec<Vec<usize>> = vec![key.clone()];
        for column in key.len()..widths.len() {
            let group = groups.last_mut().expect("there is at least one group");
            let wider = [&group[..], &[column]].concat();
            if group.len() == key.len() || whole_width(&wider, &widths) <= most {
                group.push(column);
            } else {
                groups.push([&key[..], &[column]].concat());
            }
        }
        let fitted = |group: &Vec<usize>| {
            let mut widths = widths.clone();
            // The widest column is narrowed, but remains wide enough for words.
            while whole_width(group, &widths) > most {
                let widest = group.iter().copied().max_by_key(|at| widths[*at]);
                let Some(widest) = widest.filter(|at| widths[*at] > CELL_MIN) else { break };
                let over = whole_width(group, &widths) - most;
                widths[widest] = widths[widest].saturating_sub(over).max(CELL_MIN);
            }
            self.block(group, &widths)
        };
        let mut lines = Vec::new();
        for group in &groups {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            lines.extend(fitted(group));
        }
        lines
    }

    fn width(&self, column: usize) -> usize {
        let all = std::iter::once(&self.header[..]).chain(self.rows());
        all.filter_map(|row| row.get(column)).map(|cell| fit::length(cell)).max().unwrap_or(0)
    }

    /// Selects the leading text columns that identify a row: at least one, and at most half of the
    /// width.
    fn key(&self, widths: &[usize], most: usize) -> Vec<usize> {
        let words = self.right.iter().take_while(|right| !**right).count();
        let mut key: Vec<usize> = (0..words.clamp(1, widths.len().max(1))).collect();
        while key.len() > 1 && (whole_width(&key, widths) > most / 2 || key.len() == widths.len()) {
            key.pop();
        }
        key
    }

    /// Formats some of the columns. A cell that is wider than its column continues on the next
    /// line.
    fn block(&self, columns: &[usize], widths: &[usize]) -> Vec<String> {
        let empty = String::new();
        let rows = |row: &[String]| -> Vec<String> {
            let cells: Vec<Vec<String>> = columns
                .iter()
                .map(|at| fit::filled(row.get(*at).unwrap_or(&empty), widths[*at].max(1), 0))
                .collect();
            let high = cells.iter().map(Vec::len).max().unwrap_or(1);
            let line = |at: usize| {
                let parts = columns.iter().zip(&cells).map(|(column, cell)| {
                    let (part, width) = (cell.get(at).unwrap_or(&empty), widths[*column]);
                    match self.right[*column] {
                        true => format!("{part:>width$}"),
                        false => format!("{part:<width$}"),
                    }
                });
                parts.collect::<Vec<_>>().join("  ").trim_end().to_owned()
            };
            (0..high).map(line).collect()
        };
        let has_header = self.header.iter().any(|name| !name.is_empty());
        let header = if has_header { rows(&self.header) } else { Vec::new() };
        let lines = self.lines.iter().flat_map(|line| match line {
            Line::Cells(cells) => rows(cells),
            Line::Heading(words) => vec![words.clone()],
        });
        header.into_iter().chain(lines).collect()
    }

    /// Formats the table as one text. Each line that is not empty begins with `indent`.
    pub fn text(&self, indent: &str) -> String {
        let line = |line: String| {
            if line.is_empty() { "\n".to_owned() } else { format!("{indent}{line}\n") }
        };
        let most = fit::columns().saturating_sub(fit::length(indent));
        self.lines_within(most).into_iter().map(line).collect()
    }

    /// Formats the table as Markdown.
    pub fn markdown(&self) -> String {
        let line = |row: &[String]| {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = self.right.iter().map(|right| if *right { "---:|" } else { "---|" });
        let rule = format!("|{}\n", rule.collect::<String>());
        let rows: String = self.rows().map(line).collect();
        format!("{}{rule}{rows}", line(&self.header))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_have_no_trailing_blanks() {
        let mut table = Table::new(&["name", ">count", "note"]);
        table.row(vec!["a".into(), "1".into()]);
        table.heading("a heading that is wider than its column");
        table.row(vec!["long name".into(), "1,000".into(), "x".into()]);
        assert_eq!(
            table.lines(),
            [
                "name       count  note",
                "a              1",
                "a heading that is wider than its column",
                "long name  1,000  x"
            ]
        );
        assert!(table.text("  ").starts_with("  name "), "{table:?}");
    }

    #[test]
    fn wide_table_goes_on_below_and_nothing_is_cut() {
        let mut table = Table::new(&["sender", ">I/Os", ">reads", ">bytes", ">p50", ">p99", "why"]);
        let why = "the storage answered later than its limit allows, again and again";
        let cells = ["database-01", "1,234,567", "89.2 %", "123.4 GiB", "1.23 ms", "45.6 ms", why];
        table.row(cells.map(str::to_owned).to_vec());
        table.heading("at 4 tiles");
        table.row(cells.map(str::to_owned).to_vec());
        for most in [40, 60, 80] {
            let lines = table.lines_within(most);
            assert!(lines.iter().all(|line| fit::length(line) <= most), "{lines:#?}");
            let text = lines.join("\n");
            for cell in &cells[..6] {
                assert!(text.matches(cell).count() >= 2, "{cell} is gone:\n{text}");
            }
            assert!(text.matches("database-01").count() > 2, "each part names its row:\n{text}");
            for word in why.split(' ') {
                assert!(text.contains(word), "{word} is gone:\n{text}");
            }
        }
        assert_eq!(table.lines_within(usize::MAX), table.lines_within(500), "{table:?}");
    }

    #[test]
    fn a_table_without_headings_has_no_line_of_them() {
        let mut table = Table::new(&["", ">"]);
        assert!(table.is_empty() && table.lines().is_empty());
        table.row(vec!["a".into(), "1".into()]);
        table.row(vec!["b".into(), "10".into()]);
        assert_eq!(table.lines(), ["a   1", "b  10"]);
    }

    #[test]
    fn markdown_keeps_bars_in_cells_apart_from_those_of_the_table() {
        let mut table = Table::new(&["claim", ">ours"]);
        table.row(vec!["a|b".into(), "1".into()]);
        assert_eq!(table.markdown(), "| claim | ours |\n|---|---:|\n| a\\|b | 1 |\n");
    }
}
