//! Measures how fast traces are stored and read again on one core, and how large they are.
//!
//! A generated trace is written to a temporary directory in the build's target directory. It is
//! read completely, and by the columns that most analyses need.

use std::path::{Path, PathBuf};

use anyhow::Result;
use trace::generate::{Generator, Recipe};
use trace::store::{self, Columns, Options, Store};
use trace::{IoRecord, Memory, Source};

use super::cpu::cpu_seconds;
use super::{Figure, median};

/// I/Os of the trace: four row groups.
const RECIPE: Recipe = Recipe { records: 1 << 22, seed: 1, vms: 8, iops: 5000 };
/// Number of timed readings; the median is used.
const ROUNDS: usize = 5;

pub(crate) fn rates(name: &str) -> Result<Vec<Figure>> {
    let mut records = Vec::new();
    let mut generator = Generator::new(&RECIPE);
    let mut batch = Vec::new();
    while drain(&mut generator, &mut batch, Some(&mut records))? > 0 {}
    let place = ScratchDirectory::new();
    let mut memory = Memory::new(generator.info().clone(), records);
    let begin = cpu_seconds();
    let written = store::save(&mut memory, &place.0, Options::default())?;
    let write = cpu_seconds() - begin;
    let store = store::open(&place.0)?;
    let latency = Columns::LATENCY | Columns::VM | Columns::OPERATION | Columns::LENGTH;
    let (records, bytes) = (f64_of(written.records), f64_of(written.bytes));
    Ok(vec![
        Figure::new(format!("{name}.write.records_per_s"), records / write, "1/s"),
        Figure::new(format!("{name}.read.records_per_s"), reading(&store, Columns::ALL)?, "1/s"),
        Figure::new(format!("{name}.read_latency.records_per_s"), reading(&store, latency)?, "1/s"),
        Figure::new(format!("{name}.bytes_per_record"), bytes / records, "B"),
    ])
}

/// Returns the number of records read per second of this thread's CPU time.
fn reading(store: &Store, columns: Columns) -> Result<f64> {
    let mut seconds = Vec::new();
    let mut batch = Vec::new();
    for _ in 0..ROUNDS {
        let begin = cpu_seconds();
        let mut source = store.source(columns);
        while drain(&mut source, &mut batch, None)? > 0 {}
        seconds.push(cpu_seconds() - begin);
    }
    Ok(f64_of(store.records()) / median(&seconds))
}

/// Reads a batch, keeps its records if requested, and returns their number.
fn drain(
    source: &mut dyn Source,
    batch: &mut Vec<IoRecord>,
    kept: Option<&mut Vec<IoRecord>>,
) -> Result<usize> {
    source.read(batch)?;
    if let Some(kept) = kept {
        kept.extend_from_slice(batch);
    }
    Ok(batch.len())
}

/// A directory that is removed when dropped.
struct ScratchDirectory(PathBuf);

impl ScratchDirectory {
    fn new() -> Self {
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tmp");
        let name = format!("bench-store-{}.tmt", std::process::id());
        let path = match std::fs::create_dir_all(&target) {
            Ok(()) => target.join(name),
            Err(_) => std::env::temp_dir().join(name),
        };
        Self(path)
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn f64_of(count: u64) -> f64 {
    count as f64
}
