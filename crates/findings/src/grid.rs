//! Tables as text and as Markdown.

/// A table; a heading that begins with `>` is aligned to the right.
#[derive(Debug)]
pub struct Grid {
    header: Vec<String>,
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// With these headings.
    pub fn new(header: &[&str]) -> Self {
        Self {
            header: header.iter().map(|name| name.trim_start_matches('>').to_owned()).collect(),
            right: header.iter().map(|name| name.starts_with('>')).collect(),
            rows: Vec::new(),
        }
    }

    /// One more column, of numbers.
    pub fn column(&mut self, name: &str) {
        self.header.push(name.to_owned());
        self.right.push(true);
    }

    /// One more row, a cell for each column.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Headings of the columns.
    pub fn columns(&self) -> &[String] {
        &self.header
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Columns as wide as their widest cell, without trailing blanks.
    pub fn text(&self) -> String {
        let all = || std::iter::once(&self.header).chain(&self.rows);
        let width = |column: usize| {
            all()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).zip(&self.right).map(|((cell, width), right)| {
                if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            let cells: Vec<String> = cells.collect();
            format!("{}\n", cells.join("  ").trim_end())
        };
        all().map(line).collect()
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = self.right.iter().map(|right| if *right { "---:|" } else { "---|" });
        let rule = format!("|{}\n", rule.collect::<String>());
        let rows: String = self.rows.iter().map(line).collect();
        format!("{}{rule}{rows}", line(&self.header))
    }
}
