//! How fast a list of VMs is read: rows of a workbook, on one core.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use estate::read::Source;

use super::cpu::cpu_seconds;
use super::{Figure, median};

/// The workbooks of the tests of the import.
#[expect(dead_code, reason = "the tests have other workbooks, too")]
#[path = "../../../crates/see/estate/tests/behaviour/book.rs"]
mod book;

/// VMs of the workbook, a row each.
const ROWS: u32 = 100_000;
/// Columns of a row, as wide as those of RVTools' vInfo: what the shipped example has, and texts that nobody asks for.
const COLUMNS: usize = 80;
/// Timed readings, of which the median counts.
const ROUNDS: usize = 5;

/// A file that goes when this does.
struct Workbook(PathBuf);

impl Workbook {
    /// The shipped example, as Excel would save it.
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

/// A row of the example, filled up with texts.
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
