/// A table of text: columns as wide as their widest cell, numbers to the right.
#[derive(Debug)]
pub struct Table {
    header: Vec<&'static str>,
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings; a heading that begins with `>` is aligned to the right.
    pub fn new(header: &[&'static str]) -> Self {
        let right = header.iter().map(|name| name.starts_with('>')).collect();
        let header = header.iter().map(|name| name.trim_start_matches('>')).collect();
        Self { header, right, rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, without trailing blanks.
    pub fn lines(&self) -> Vec<String> {
        let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
        let header: Vec<String> = self.header.iter().map(|name| (*name).to_owned()).collect();
        let all: Vec<&[String]> =
            std::iter::once(header.as_slice()).chain(self.rows.iter().map(Vec::as_slice)).collect();
        let width = |column: usize| {
            all.iter().map(|row| cell(row, column).chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.header.len()).map(width).collect();
        all.iter()
            .map(|row| {
                let cells: Vec<String> = widths
                    .iter()
                    .enumerate()
                    .map(|(column, width)| {
                        let text = cell(row, column);
                        if self.right[column] {
                            format!("{text:>width$}")
                        } else {
                            format!("{text:<width$}")
                        }
                    })
                    .collect();
                cells.join("  ").trim_end().to_owned()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_have_no_trailing_blanks() {
        let mut table = Table::new(&["name", ">count", "note"]);
        table.row(vec!["a".into(), "1".into(), String::new()]);
        table.row(vec!["long name".into(), "1,000".into(), "x".into()]);
        assert_eq!(
            table.lines(),
            ["name       count  note", "a              1", "long name  1,000  x"]
        );
    }
}
