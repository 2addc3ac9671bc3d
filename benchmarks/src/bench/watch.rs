//! Measures how much `tilemark watch` reduces a load, and how much disk space, memory and opening
//! time a year of a hundred VMs takes.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fixtures::host::{World, host, normal, uniform};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use run_store::slice::{Direction, SizeClass};
use trace::{Clock, Device, IoRecord, Losses, Operation, TraceInfo, VmIndex};
use units::{Bytes, Nanos};
use view::Source;
use watch::{Archive, Cell, Key, LEVELS, Options, Sets, Slice, Store};

use super::device::RamDevice;
use super::pairs::scratch;
use super::record::{Load, Recording, Unread, WINDOWS, fill, switch};
use super::switched::{self, Counter};
use super::{Figure, process, tilemark};

/// Time over which the watcher's own cost is measured: three slices.
const WHOLE: Duration = Duration::from_secs(30);
const VMS: usize = 100;
/// Begin of the year: a multiple of every period.
const START_S: u64 = 2_592_000 * 660;
/// Mean number of I/Os per second of a busy VM, over the day.
const RATE: f64 = 100.0;

/// Measures how much watching, and the kernel's events alone, reduce one load without a pause.
pub(crate) fn cost(name: &str) -> Result<Vec<Figure>> {
    let device = RamDevice::set_up()?;
    fill(&device.path)?;
    let out = scratch()?;
    let _load = Load::of_one_core(&device.path)?;
    let counter = Counter::of(&device.path)?;
    let watching = start(&device.path, &out.join("switched"))?;
    let events = watching.events()?;
    let whole = switched::measure(&counter, WINDOWS, |is_on| switch(&events, is_on))?;
    // It takes the filters of the events, which go with their instance.
    let unread = Unread::new(&events)?;
    watching.end()?;
    // Its own cost without a pause.
    let watching = start(&device.path, &out.join("whole"))?;
    let cpu = |id| process::times(id).map(|times| times.own.0 + times.own.1);
    let (begin, before) = (Instant::now(), cpu(watching.id())?);
    let rate = counter.rate(WHOLE)?;
    let core = (cpu(watching.id())? - before) / begin.elapsed().as_secs_f64();
    watching.end()?;
    let lost: u64 = {
        let window = Archive::open(&out.join("whole"))?.window((0, u64::MAX / 2), u64::MAX)?;
        window.slices.iter().map(|slice| slice.lost).sum()
    };
    let kernel = switched::measure(&counter, WINDOWS, |is_on| switch(&unread.events, is_on))?;
    let nothing = switched::measure(&counter, WINDOWS, |_| Ok(()))?;
    std::fs::remove_dir_all(&out)?;
    #[expect(clippy::cast_precision_loss, reason = "few")]
    let lost = lost as f64;
    Ok(vec![
        Figure::new(format!("{name}.core_percent_per_10k_iops"), 1e6 * core / rate, "%"),
        Figure::new(format!("{name}.overhead_percent"), whole.percent - kernel.percent, "%"),
        Figure::new(format!("{name}.whole_percent"), whole.percent, "%"),
        Figure::new(format!("{name}.kernel_percent"), kernel.percent, "%"),
        Figure::new(format!("{name}.error_percent"), whole.error + kernel.error, "%"),
        Figure::new(format!("{name}.nothing_percent"), nothing.percent, "%"),
        Figure::new(format!("{name}.iops"), rate, "1/s"),
        Figure::new(format!("{name}.lost_events"), lost, "count"),
    ])
}

fn start(device: &Path, store: &Path) -> Result<Recording> {
    let mut command = Command::new(tilemark::binary()?);
    Recording::spawn(command.arg("watch").arg(device).arg("--store").arg(store))
}

/// Measures a year of a hundred busy VMs as it is stored: every level is full.
pub(crate) fn year(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let directory = out.join("store");
    let mut store = Store::open(&directory, options())?;
    let mut vms = Vms::new();
    // Finer levels end where coarser ones do: now.
    let end_s =
        LEVELS.iter().map(|level| START_S + level.period_s * level.periods_max as u64).max();
    let end_s = end_s.context("there are levels")?;
    let mut figures = Vec::new();
    for (place, level) in LEVELS.iter().enumerate() {
        let before = Archive::open(&directory)?.state()?.bytes;
        for period in 0..level.periods_max as u64 {
            let from_s = end_s - level.period_s * (period + 1);
            let starts = (0..level.period_s / level.width_s).map(|at| from_s + at * level.width_s);
            let slices: Vec<Slice> = starts.map(|at| vms.slice(at, level.width_s)).collect();
            store.add_period(place, &slices)?;
        }
        let bytes = Archive::open(&directory)?.state()?.bytes - before;
        figures.push(Figure::new(format!("{name}.year_{}_mb", level.name), mb(bytes), "MB"));
    }
    drop(store);
    let bytes = Archive::open(&directory)?.state()?.bytes;
    figures.push(Figure::new(format!("{name}.year_mb"), mb(bytes), "MB"));
    let begin = Instant::now();
    let source = Source::open_watched(&directory)?;
    figures.push(Figure::new(format!("{name}.open_ms"), millis(begin), "ms"));
    ensure!(source.rollup().wide().entities.len() == VMS, "a VM is missing");
    let archive = Archive::open(&directory)?;
    for (title, length_s) in [("hour", 3600), ("day", 86_400), ("week", 604_800)] {
        let begin = Instant::now();
        let window = archive.window((end_s - length_s, end_s), 600)?;
        ensure!(window.slices.len() > 100, "the {title} has {} slices", window.slices.len());
        figures.push(Figure::new(format!("{name}.{title}_ms"), millis(begin), "ms"));
    }
    std::fs::remove_dir_all(&out)?;
    Ok(figures)
}

/// Measures the memory of a process that keeps a day of a hundred busy VMs: its largest resident
/// set.
pub(crate) fn memory(name: &str) -> Result<Vec<Figure>> {
    let out = scratch()?;
    let mut command = Command::new(std::env::current_exe()?);
    let (_, cost) = process::run(command.arg("watch-a-day").arg(out.join("store")))?;
    std::fs::remove_dir_all(&out)?;
    Ok(vec![Figure::new(format!("{name}.memory_mb"), cost.memory_bytes / 1e6, "MB")])
}

/// Measures two shares over two simulated days of each host: the share of hosts with a neighbour
/// that increases a VM's latency by half in which this neighbour is named, and the share of hosts
/// without such a neighbour in which some VM is named.
pub(crate) fn neighbours(name: &str) -> Result<Vec<Figure>> {
    const HOSTS: u64 = 200;
    let share = |times: f64, first_seed: u64, is_found: fn(&watch::Neighbours) -> bool| {
        let found = (0..HOSTS).filter(|seed| {
            let world = World { times, has_twin: false, days: 2 };
            is_found(&watch::neighbours(&host(world, first_seed + seed), "web1", 1))
        });
        #[expect(clippy::cast_precision_loss, reason = "few")]
        let share = found.count() as f64 / HOSTS as f64;
        share
    };
    let is_right =
        |found: &watch::Neighbours| found.named.iter().any(|own| &*own.name == "backup01");
    let power = share(1.5, 1000, is_right);
    let wrong = share(1.0, 2000, |found| !found.named.is_empty());
    Ok(vec![
        Figure::new(format!("{name}.neighbour_power"), power, "share"),
        Figure::new(format!("{name}.neighbour_false"), wrong, "share"),
    ])
}

/// Keeps a day of slices and of working sets, in a process of its own.
pub(crate) fn keep_a_day(arguments: &[String]) -> Result<()> {
    let directory = arguments.first().context("a directory")?;
    let mut store = Store::open(Path::new(directory), options())?;
    let (mut vms, mut sets, info) = (Vms::new(), Sets::new(START_S), info());
    for at in 0..8640 {
        let end_s = START_S + 10 * (at + 1);
        sets.add(&vms.pages(), &info);
        store.push(vms.slice(end_s - 10, 10))?;
        let ended = sets.pass(end_s);
        if !ended.is_empty() {
            store.push_sets(ended)?;
        }
    }
    store.close()?;
    Ok(())
}

fn info() -> TraceInfo {
    TraceInfo {
        format: "record",
        clock: Clock::Order,
        started_unix_ns: None,
        has_latency: true,
        vms: (0..VMS).map(vm_name).collect(),
        devices: vec![Device { name: "nvme0n1".to_owned(), size: None }],
        losses: Losses::default(),
    }
}

fn vm_name(vm: usize) -> String {
    format!("vm{vm:03}")
}

fn options() -> Options {
    Options { host: "year".to_owned(), bytes_max: Bytes::new(u64::MAX) }
}

#[expect(clippy::cast_precision_loss, reason = "printed with a few digits")]
fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn millis(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e3
}

/// Kinds of I/O of a VM: direction, bytes, share of the I/Os, median latency in microseconds.
const KINDS: [(Direction, u32, f64, f64); 8] = [
    (Direction::Read, 4096, 0.20, 400.0),
    (Direction::Read, 8192, 0.25, 500.0),
    (Direction::Read, 32_768, 0.08, 800.0),
    (Direction::Read, 262_144, 0.02, 3_000.0),
    (Direction::Write, 4096, 0.20, 900.0),
    (Direction::Write, 8192, 0.15, 1_000.0),
    (Direction::Write, 65_536, 0.05, 2_000.0),
    (Direction::Flush, 0, 0.05, 1_500.0),
];
/// Spread of latencies: standard deviation of their natural logarithm.
const SPREAD: f64 = 0.6;

/// A hundred VMs, each with its own rate, with a day and a night, and with bursts.
struct Vms {
    names: Vec<(Arc<str>, f64)>,
    disk: Arc<str>,
    rng: Xoshiro256PlusPlus,
}

impl Vms {
    fn new() -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let names = (0..VMS).map(|vm| {
            let rate = RATE * (0.8 * normal(&mut rng)).exp();
            (vm_name(vm).into(), rate)
        });
        let names = names.collect();
        Self { names, disk: "nvme0n1".into(), rng }
    }

    /// Returns a read of each VM at a random place on its disk. Over a day, the number of pages is
    /// large enough to fill any sample.
    fn pages(&mut self) -> Vec<IoRecord> {
        let offset = |rng: &mut Xoshiro256PlusPlus| u64::from(rng.next_u32()) * 4096;
        let vms = 0..u16::try_from(VMS).unwrap_or(u16::MAX);
        let record = |vm| IoRecord {
            vm: VmIndex(vm),
            ..IoRecord::new(Nanos::ZERO, Operation::Read, offset(&mut self.rng), 4096)
        };
        vms.map(record).collect()
    }

    fn slice(&mut self, start_s: u64, width_s: u64) -> Slice {
        #[expect(clippy::cast_precision_loss, reason = "seconds of a day")]
        let day = (start_s % 86_400) as f64 / 86_400.0;
        let daily = 1.0 + 0.8 * (std::f64::consts::TAU * day).sin();
        let mut io = BTreeMap::new();
        for (vm, rate) in &self.names {
            // A burst of one VM lasts a slice.
            let burst = (0.5 * normal(&mut self.rng)).exp();
            for (direction, bytes, share, median_us) in KINDS {
                #[expect(clippy::cast_precision_loss, reason = "seconds of a slice")]
                let mean = rate * daily * burst * share * width_s as f64;
                let slower = 1.0 + 0.2 * normal(&mut self.rng).abs() + 0.3 * daily;
                let cell = cell(&mut self.rng, mean, bytes, median_us * slower);
                if cell.count > 0 {
                    let class = Some(SizeClass::of(bytes));
                    let (vm, disk) = (Arc::clone(vm), Arc::clone(&self.disk));
                    io.insert(Key { vm, disk, direction, class, is_below: false }, cell);
                }
            }
        }
        let watched = Nanos::from_secs(width_s);
        Slice { watched, io, ..Slice::new(start_s, width_s) }
    }
}

/// Returns I/Os of one kind, with a random number of them in each bucket of latency.
fn cell(rng: &mut Xoshiro256PlusPlus, mean: f64, bytes: u32, median_us: f64) -> Cell {
    /// Width of a step: an eighth of a doubling, about as wide as a bucket. The steps cover the
    /// range from 4 deviations below the median to 5 above it.
    const STEP: f64 = 0.0866;
    let (mut latencies, mut sum_ns, mut count) = (Vec::new(), 0.0, 0_u64);
    let mut at = -4.0 * SPREAD;
    while at < 5.0 * SPREAD {
        let deviations = at / SPREAD;
        let density = (-0.5 * deviations * deviations).exp() / (SPREAD * 2.506_628_274_631);
        let number = poisson(rng, mean * density * STEP);
        if number > 0 {
            let latency_ns = 1e3 * median_us * at.exp();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "far below"
            )]
            latencies.push((Nanos(latency_ns as u64), number));
            sum_ns += latency_ns * f64::from(number);
            count += u64::from(number);
        }
        at += STEP;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "sums far below 2^53"
    )]
    Cell {
        count,
        errors: 0,
        bytes: count * u64::from(bytes),
        latency_ns: sum_ns as u64,
        queue_ns: Some((sum_ns * (0.02 + 0.01 * uniform(rng))) as u64),
        outstanding: Some((count as f64 * (2.0 + uniform(rng))) as u64),
        outstanding_max: Some(4 + rng.next_u32() % 12),
        latencies: latencies.into_iter().collect(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, not negative"
)]
fn poisson(rng: &mut Xoshiro256PlusPlus, mean: f64) -> u32 {
    if mean > 20.0 {
        return (mean + mean.sqrt() * normal(rng)).round().max(0.0) as u32;
    }
    let (limit, mut product, mut number) = ((-mean).exp(), uniform(rng), 0);
    while product > limit {
        product *= uniform(rng);
        number += 1;
    }
    number
}
