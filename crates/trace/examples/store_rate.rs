//! How fast traces are generated, stored and read: `store_rate DIRECTORY [RECORDS]`.
//!
//! Writes one generated trace into the directory, reads it whole and by column, and removes it.
//! Rates are records per second of one core's time.

use std::path::Path;
use std::time::Instant;

use tilemark_trace::generate::{Generator, Recipe};
use tilemark_trace::store::{self, Columns, Options};
use tilemark_trace::{IoRecord, Source, TraceError};

/// What is read, and its name.
const READS: [(&str, Columns); 9] = [
    ("all", Columns::ALL),
    ("issue", Columns::ISSUE),
    ("queue", Columns::QUEUE),
    ("device_time", Columns::DEVICE_TIME),
    ("offset", Columns::OFFSET),
    ("length", Columns::LENGTH),
    ("outstanding", Columns::OUTSTANDING),
    ("vm", Columns::VM),
    ("flags", Columns::FLAGS),
];

fn main() -> Result<(), TraceError> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| ".".to_owned());
    let records = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(4 << 20);
    let path = Path::new(&directory).join("store-rate.tmt");
    let recipe = Recipe { records, ..Recipe::default() };

    let mut batch: Vec<IoRecord> = Vec::new();
    rate("generate", || drain(&mut Generator::new(&recipe), &mut batch))?;
    let mut written = None;
    rate("generate and write", || {
        let done = store::save(&mut Generator::new(&recipe), &path, Options::default())?;
        let records = done.records;
        written = Some(done);
        Ok(records)
    })?;
    if let Some(written) = &written {
        eprintln!("{} B in {} parts for {} records", written.bytes, written.parts, written.records);
    }
    let store = store::open(&path)?;
    for (name, columns) in READS {
        rate(name, || drain(&mut store.source(columns), &mut batch))?;
    }
    let failed = |source| TraceError::Io { path: path.clone(), source };
    std::fs::remove_dir_all(&path).map_err(failed)
}

fn drain(source: &mut dyn Source, batch: &mut Vec<IoRecord>) -> Result<u64, TraceError> {
    let mut count = 0;
    loop {
        source.read(batch)?;
        if batch.is_empty() {
            return Ok(count);
        }
        count += batch.len() as u64;
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn rate(name: &str, work: impl FnOnce() -> Result<u64, TraceError>) -> Result<(), TraceError> {
    let (wall, begin) = (Instant::now(), cpu_seconds());
    let count = work()?;
    let seconds = cpu_seconds() - begin;
    let millions = count as f64 / seconds / 1e6;
    eprintln!("{name:<20} {millions:8.2} M/s of CPU time, {:.2} s", wall.elapsed().as_secs_f64());
    Ok(())
}

/// This process's time on processors, in user and kernel mode.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = |field: usize| after.split(' ').nth(field).and_then(|it| it.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
}
