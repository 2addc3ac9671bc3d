//! Measures how exactly energy is counted. A meter whose watts are known at every moment is read in
//! real time through all stages: a program's lines, two clocks, the log, and the energy of an exact
//! time span.

use std::f64::consts::TAU;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use meter::{Panel, Span, monotonic};
use units::Nanos;

use super::Figure;

/// Length of the measured time.
const MEASURED: Duration = Duration::from_secs(30);
/// Time between two samples, as with common power analysers.
const PERIOD: Duration = Duration::from_secs(1);

/// Returns the power of a server under a load that swings by 80 W every 20 s.
fn power(second: f64) -> f64 {
    200.0 + 80.0 * (TAU * second / 20.0).sin()
}

/// Returns the integral of the watts: the energy used up to this second.
fn used(second: f64) -> f64 {
    200.0 * second - 80.0 * 20.0 / TAU * (TAU * second / 20.0).cos()
}

pub(crate) fn energy(name: &str) -> Result<Vec<Figure>> {
    let directory = std::env::temp_dir().join(format!("tilemark-meter-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let measured = measured(&directory.join("watts"));
    let removed = std::fs::remove_dir_all(&directory);
    let (counted, expected) = measured?;
    removed?;
    let error = (counted / expected - 1.0).abs() * 100.0;
    Ok(vec![
        Figure::new(format!("{name}.energy_error_percent"), error, "%"),
        Figure::new(format!("{name}.energy_expected"), expected, "J"),
    ])
}

/// Returns the energy counted by the meter, and the energy used.
fn measured(fifo: &std::path::Path) -> Result<(f64, f64)> {
    ensure!(Command::new("mkfifo").arg(fifo).status()?.success(), "mkfifo failed");
    let over = Arc::new(AtomicBool::new(false));
    let (path, end) = (fifo.to_owned(), Arc::clone(&over));
    let begun = monotonic();
    let writer = std::thread::spawn(move || write(&path, begun, &end));
    let spec = format!("command:cat {}", fifo.display());
    let panel = Panel::open(&[spec.parse()?])?;
    std::thread::sleep(PERIOD * 3);
    let from = monotonic();
    std::thread::sleep(MEASURED);
    let to = monotonic();
    panel.settle(to, &|| true);
    let found = panel.energy(Span { from, to });
    over.store(true, Ordering::Relaxed);
    writer.join().ok().context("the writer died")??;
    panel.close();
    let counted = found[0].joules.value.with_context(|| format!("{:?}", found[0]))?;
    let second = |at: Nanos| at.saturating_sub(begun).as_secs_f64();
    Ok((counted, used(second(to)) - used(second(from))))
}

/// Writes a line every second, with a time and the power at that time.
fn write(fifo: &std::path::Path, begun: Nanos, over: &AtomicBool) -> Result<()> {
    let mut lines = OpenOptions::new().write(true).open(fifo)?;
    while !over.load(Ordering::Relaxed) {
        let (now, wall) = (monotonic(), SystemTime::now().duration_since(UNIX_EPOCH)?);
        let watts = power(now.saturating_sub(begun).as_secs_f64());
        writeln!(lines, "{} {watts}", wall.as_nanos())?;
        std::thread::sleep(PERIOD);
    }
    Ok(())
}
