/// A table of text: columns as wide as their widest cell; a heading that begins with `>` is
/// aligned to the right.
#[derive(Debug, Default)]
pub struct Grid {
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

impl Grid {
    /// Columns of these headings, and no rows.
    pub fn new(header: &[&str]) -> Self {
        let right = header.iter().map(|name| name.starts_with('>')).collect();
        let header = header.iter().map(|name| name.trim_start_matches('>').to_owned()).collect();
        Self { rows: vec![header], right }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// Lines, two blanks before each and none after.
    pub fn lines(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.right.len()).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(widths.iter().zip(&self.right));
            let cells: Vec<String> = cells
                .map(|(cell, (width, is_right))| match is_right {
                    true => format!("{cell:>width$}"),
                    false => format!("{cell:<width$}"),
                })
                .collect();
            text += &format!("  {}\n", cells.join("  ").trim_end()).replace("  \n", "\n");
        }
        text
    }
}

/// Values as bars of eight heights, the largest the highest; a value that is there at all has at
/// least the lowest bar.
pub(crate) fn sparkline(values: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().fold(0.0, f64::max);
    let bar = |value: &f64| {
        if *value <= 0.0 || most <= 0.0 {
            return ' ';
        }
        let height = (value / most * 8.0).ceil();
        let at = (1..8).take_while(|at| f64::from(*at) < height).count();
        BARS[at.min(7)]
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_reach_from_nothing_to_the_largest() {
        assert_eq!(sparkline(&[0.0, 0.1, 4.0, 8.0]), " ▁▄█");
        assert_eq!(sparkline(&[0.0, 0.0]), "  ");
    }
}
