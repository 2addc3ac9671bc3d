//! Measures how fast a list of VMs is read: rows of a workbook per second, on one core.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use estate::read::Source;

use super::cpu::cpu_seconds;
use super::{Figure, median};

/// Workbooks of the import's tests.
#[expect(dead_code, reason = "the tests have other workbooks, too")]
#[path = "../../../crates/see/estate/tests/behaviour/book.rs"]
mod book;

/// Number of VMs in the workbook, one in each row.
const ROWS: u32 = 100_000;
/// Number of columns of a row, as in RVTools' vInfo: the columns of the shipped example, and texts
/// that are not used.
const COLUMNS: usize = 80;
/// Number of timed readings; the median is used.
const ROUNDS: usize = 5;

/// A file that is removed when dropped.
struct Workbook(PathBuf);

impl Workbook {
    /// Writes the shipped example as Excel would save it.
    fn new() -> Result<Self> {
        let text = estate::example(ROWS);
        let filler: Vec<String> = (0..COLUMNS).map(|column| format!("Custom {column}")).collect();
        let rows: Vec<Vec<&str>> = text.lines().map(|line| wide(line, &filler)).collect();
        let path = std::env::temp_dir().join(format!("tilemark-bench-{}.xlsx", std::process::id()));
        fs::write(&path, book::workbook_with_shared_texts(&[("vInfo", rows)]))
            .with_context(|| format!("writing {}", path.display()))?;
        Ok(Self(path))
    }

    fn read(&self) -> Result<()> {
        let source = Source { path: self.0.clone(), vm: None, every: None };
        let inventory = estate::collect(&[source], &estate::read::Reading::default(), false)?;
        ensure!(inventory.bad.count == 0, "{:?}", inventory.bad);
        ensure!(inventory.listed() == ROWS as usize, "{} of {ROWS} rows", inventory.listed());
        Ok(())
    }
}

/// Returns a row of the example, extended with texts to full width.
fn wide<'a>(line: &'a str, filler: &'a [String]) -> Vec<&'a str> {
    let mut cells: Vec<&str> = line.split(',').collect();
    cells.extend(filler[cells.len()..].iter().map(String::as_str));
    cells
}

impl Drop for Workbook {
    fn drop(&mut self) {
        // A file left in the folder for temporary ones is no reason to fail.
        let _ = fs::remove_file(&self.0);
    }
}

pub(crate) fn rows(name: &str) -> Result<Vec<Figure>> {
    let workbook = Workbook::new()?;
    workbook.read()?;
    let mut rates = Vec::new();
    for round in 0..ROUNDS {
        let start = cpu_seconds();
        workbook.read()?;
        rates.push(f64::from(ROWS) / (cpu_seconds() - start));
        eprintln!("{name} round {round}: {:.0} rows/s", rates[round]);
    }
    Ok(vec![Figure::new(name, median(&rates), "1/s")])
}
