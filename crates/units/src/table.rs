/// A table of text: columns as wide as their widest cell; a column whose heading begins with `>`
/// is of numbers and aligned to the right.
#[derive(Debug)]
pub struct Table {
    header: Vec<String>,
    right: Vec<bool>,
    lines: Vec<Line>,
}

#[derive(Debug)]
enum Line {
    Cells(Vec<String>),
    /// Words that no column has to be as wide as.
    Heading(String),
}

impl Table {
    /// A table with these headings. If all are empty there is no line of them.
    pub fn new(header: &[&str]) -> Self {
        Self {
            header: header.iter().map(|name| name.trim_start_matches('>').to_owned()).collect(),
            right: header.iter().map(|name| name.starts_with('>')).collect(),
            lines: Vec::new(),
        }
    }

    /// One more column, of numbers.
    pub fn column(&mut self, name: &str) {
        self.header.push(name.to_owned());
        self.right.push(true);
    }

    /// One more row; cells that are missing at its end are empty.
    pub fn row(&mut self, cells: Vec<String>) {
        self.lines.push(Line::Cells(cells));
    }

    /// A line of words above the rows that follow.
    pub fn heading(&mut self, words: &str) {
        self.lines.push(Line::Heading(words.to_owned()));
    }

    /// Headings of the columns.
    pub fn columns(&self) -> &[String] {
        &self.header
    }

    /// The rows.
    pub fn rows(&self) -> impl Iterator<Item = &[String]> {
        self.lines.iter().filter_map(|line| match line {
            Line::Cells(cells) => Some(&cells[..]),
            Line::Heading(_) => None,
        })
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows().next().is_none()
    }

    /// Its lines, without trailing blanks.
    pub fn lines(&self) -> Vec<String> {
        let all = || std::iter::once(&self.header[..]).chain(self.rows());
        let width = |column: usize| {
            let cells = all().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let padded = |row: &[String]| {
            let cells = row.iter().zip(&widths).zip(&self.right).map(|((cell, width), right)| {
                if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let has_header = self.header.iter().any(|name| !name.is_empty());
        let header = has_header.then(|| padded(&self.header));
        let lines = self.lines.iter().map(|line| match line {
            Line::Cells(cells) => padded(cells),
            Line::Heading(words) => words.clone(),
        });
        header.into_iter().chain(lines).collect()
    }

    /// Its lines as one text, each after `indent` unless it is empty.
    pub fn text(&self, indent: &str) -> String {
        let line = |line: String| {
            if line.is_empty() { "\n".to_owned() } else { format!("{indent}{line}\n") }
        };
        self.lines().into_iter().map(line).collect()
    }

    /// Its rows as Markdown.
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
