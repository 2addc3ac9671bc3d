//! Measures how fast a trace is analysed and how much memory that takes, compared with DuckDB,
//! which computes the same breakdowns in SQL from the same Parquet files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use trace::generate::{Generator, Recipe};
use trace::store::{self, Options};

use super::process::{self, Cost};
use super::{Figure, median, tilemark};

/// Number of records that the figures are stated for.
const RECORDS: u64 = 100_000_000;
/// Environment variable for fewer records, where there is no room or time; seconds are then scaled
/// up.
const RECORDS_VARIABLE: &str = "TILEMARK_BENCH_RECORDS";
/// Environment variable that names a Python interpreter with DuckDB. If it is not set, an
/// environment is made from PyPI.
const PYTHON_VARIABLE: &str = "TILEMARK_BENCH_PYTHON";
/// Number of cores for both sides.
const CORES: &str = "2";
/// Number of interleaved pairs; the median is used.
const PAIRS: usize = 3;
const SQL: &str = include_str!("analyze.py");

pub(crate) fn analyze(name: &str) -> Result<Vec<Figure>> {
    let scratch = super::pairs::scratch()?;
    let figures = measure(name, &scratch);
    fs::remove_dir_all(&scratch)?;
    figures
}

fn measure(name: &str, scratch: &Path) -> Result<Vec<Figure>> {
    let records = match std::env::var(RECORDS_VARIABLE) {
        Ok(text) => text.parse().with_context(|| format!("{RECORDS_VARIABLE}={text}"))?,
        Err(_) => RECORDS,
    };
    let trace = scratch.join("made.tmt");
    let recipe = Recipe { records, ..Recipe::default() };
    let written = store::save(&mut Generator::new(&recipe), &trace, Options::default())?;
    eprintln!("{name}: {records} records of {} bytes", written.bytes / records.max(1));
    let script = scratch.join("analyze.py");
    fs::write(&script, SQL)?;
    let python = python(scratch);
    if let Err(error) = &python {
        eprintln!("{name}: no DuckDB to compare with: {error:#}");
    }
    let (mut ours, mut ratios, mut memory) = (Vec::new(), Vec::new(), 0.0_f64);
    for _ in 0..PAIRS {
        let (seconds, cost) = once(&trace, &scratch.join("views"))?;
        eprintln!("{name}: {seconds:.1} s, {:.1} s of CPU", cost.user_s + cost.system_s);
        ours.push(seconds);
        memory = memory.max(cost.memory_bytes);
        if let Ok(python) = &python {
            let mut command = Command::new(python);
            command.arg(&script).arg(&trace).arg(CORES);
            let (text, _) = process::run(&mut command)?;
            let theirs: f64 = text.trim().parse().context("DuckDB's seconds")?;
            eprintln!("{name}: DuckDB {theirs:.1} s");
            ratios.push(theirs / seconds);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let scale = RECORDS as f64 / records as f64;
    let mut figures = vec![
        Figure::new(format!("{name}.seconds_100m"), median(&ours) * scale, "s"),
        Figure::new(format!("{name}.memory_mb"), memory / 1e6, "MB"),
    ];
    if !ratios.is_empty() {
        figures.push(Figure::new(format!("{name}.speed_vs_duckdb"), median(&ratios), "1"));
    }
    Ok(figures)
}

/// Runs one analysis with every view, as tables.
fn once(trace: &Path, out: &Path) -> Result<(f64, Cost)> {
    let mut command = Command::new(tilemark::binary()?);
    command.arg("analyze").arg(trace).args(["--view", "all", "--threads", CORES]);
    command.args(["--format", "parquet", "--out"]).arg(out);
    let start = Instant::now();
    let (_, cost) = process::run(&mut command)?;
    Ok((start.elapsed().as_secs_f64(), cost))
}

/// Returns an interpreter with DuckDB: the named one, or a new environment.
fn python(scratch: &Path) -> Result<PathBuf> {
    if let Some(python) = std::env::var_os(PYTHON_VARIABLE) {
        return Ok(python.into());
    }
    super::peers::python(scratch, "duckdb")
}
