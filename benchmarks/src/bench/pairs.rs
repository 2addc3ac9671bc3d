//! Runs of two programs in pairs, in the order of the Thue-Morse sequence, on one RAM device or one
//! file, with one worker thread each. Both have their buffers in huge pages.

use std::borrow::Cow;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::device::{DiskFile, LoadTarget, RamDevice};
use super::huge::Pool;
use super::{Figure, fio, median, tilemark};

/// A load, in the form that both programs get.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// Tile with this load: a shipped one, or a file.
    pub tile: Cow<'static, str>,
    pub fio_rw: &'static str,
    pub block_bytes: u32,
    pub outstanding: u32,
    /// Number of our threads; fio has one.
    pub workers: u32,
    pub read_percent: u32,
    pub seconds: u32,
    pub size_bytes: u64,
}

/// Figures of one program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    pub operations_per_s: f64,
    pub bytes_per_s: f64,
    /// User and system time of the whole process, kernel workers included.
    pub cpu_us_per_io: f64,
    pub p50_ns: f64,
    pub p99_ns: f64,
}

const PAIRS: usize = 8;
/// Pause after each run: io_uring releases a file only some time after its process has ended.
const PAUSE: Duration = Duration::from_secs(1);
pub(crate) const MIXED: Job = Job {
    tile: Cow::Borrowed("micro/mixed-8k"),
    fio_rw: "randrw",
    block_bytes: 8192,
    outstanding: 64,
    workers: 1,
    read_percent: 70,
    seconds: 6,
    size_bytes: 1 << 30,
};

/// Size of fio's buffers and of its bookkeeping.
const HUGE_BYTES: u64 = 128 << 20;

/// Runs the pairs on a RAM device.
fn pairs(job: &Job) -> Result<Vec<(Outcome, Outcome)>> {
    pairs_on(&LoadTarget::Ram(RamDevice::set_up()?), job)
}

/// Runs the pairs. First, a run of the writing tile fills the place, so that reads find real data.
fn pairs_on(place: &LoadTarget, job: &Job) -> Result<Vec<(Outcome, Outcome)>> {
    let out = scratch()?;
    let _huge = Pool::with(HUGE_BYTES)?;
    tilemark::run(place, &Job { seconds: 3, ..MIXED }, &out)?;
    let (fio, ours) = (|| fio::run(place, job), || tilemark::run(place, job, &out));
    let results = in_pairs(PAIRS, fio, ours, |pair, theirs, ours| {
        eprintln!(
            "{} pair {pair}: fio {:.0} IOPS {:.2} us CPU/IO p50 {:.1} us p99 {:.1} us, \
             tilemark {:.0} IOPS {:.2} us CPU/IO p50 {:.1} us p99 {:.1} us",
            job.tile,
            theirs.operations_per_s,
            theirs.cpu_us_per_io,
            theirs.p50_ns / 1e3,
            theirs.p99_ns / 1e3,
            ours.operations_per_s,
            ours.cpu_us_per_io,
            ours.p50_ns / 1e3,
            ours.p99_ns / 1e3,
        );
    })?;
    std::fs::remove_dir_all(&out)?;
    Ok(results)
}

/// Runs two sides in pairs and reports each pair. The second side may find warmer caches, or a
/// host's I/O allowance used up, so the Thue-Morse sequence decides which side comes first.
pub(crate) fn in_pairs<T>(
    pairs: usize,
    theirs: impl Fn() -> Result<T>,
    ours: impl Fn() -> Result<T>,
    tell: impl Fn(usize, &T, &T),
) -> Result<Vec<(T, T)>> {
    let calm = |run: &dyn Fn() -> Result<T>| {
        let outcome = run();
        std::thread::sleep(PAUSE);
        outcome
    };
    let both = |pair: usize| {
        let (theirs, ours) = if pair.count_ones().is_multiple_of(2) {
            let theirs = calm(&theirs)?;
            (theirs, calm(&ours)?)
        } else {
            let ours = calm(&ours)?;
            (calm(&theirs)?, ours)
        };
        tell(pair + 1, &theirs, &ours);
        Ok((theirs, ours))
    };
    (0..pairs).map(both).collect()
}

/// Returns a new directory for run directories below the system's temporary directory. The caller
/// removes it.
pub(crate) fn scratch() -> Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("tilemark-bench-{}", std::process::id()));
    std::fs::create_dir_all(&path)?;
    Ok(path)
}

fn ratio(results: &[(Outcome, Outcome)], value: fn(&Outcome) -> f64) -> f64 {
    median(&results.iter().map(|(theirs, ours)| value(ours) / value(theirs)).collect::<Vec<_>>())
}

fn ours(results: &[(Outcome, Outcome)], value: fn(&Outcome) -> f64) -> f64 {
    median(&results.iter().map(|(_, ours)| value(ours)).collect::<Vec<_>>())
}

fn operations(outcome: &Outcome) -> f64 {
    outcome.operations_per_s
}

fn bytes(outcome: &Outcome) -> f64 {
    outcome.bytes_per_s
}

fn cpu(outcome: &Outcome) -> f64 {
    outcome.cpu_us_per_io
}

pub(crate) const READ_4K: Job =
    Job { tile: Cow::Borrowed("micro/read-4k"), fio_rw: "randread", block_bytes: 4096, ..MIXED };

pub(crate) fn read_4k(name: &str) -> Result<Vec<Figure>> {
    let results = pairs(&READ_4K)?;
    Ok(vec![
        Figure::new(format!("{name}.iops_vs_fio"), ratio(&results, operations), "ratio"),
        Figure::new(format!("{name}.cpu_vs_fio"), ratio(&results, cpu), "ratio"),
        Figure::new(format!("{name}.iops"), ours(&results, operations), "1/s"),
        Figure::new(format!("{name}.cpu_us_per_io"), ours(&results, cpu), "us"),
    ])
}

pub(crate) fn mixed_8k(name: &str) -> Result<Vec<Figure>> {
    let results = pairs(&MIXED)?;
    Ok(rates(name, &results))
}

fn seq_job() -> Job {
    let tile = Cow::Borrowed("micro/seq-read-1m");
    Job { tile, fio_rw: "read", block_bytes: 1 << 20, outstanding: 8, ..MIXED }
}

pub(crate) fn seq_1m(name: &str) -> Result<Vec<Figure>> {
    Ok(throughput(name, &pairs(&seq_job())?))
}

fn throughput(name: &str, results: &[(Outcome, Outcome)]) -> Vec<Figure> {
    vec![
        Figure::new(format!("{name}.bytes_vs_fio"), ratio(results, bytes), "ratio"),
        Figure::new(format!("{name}.bytes_per_s"), ours(results, bytes), "B/s"),
    ]
}

pub(crate) const QD1: Job = Job {
    tile: Cow::Borrowed("micro/read-4k-qd1"),
    fio_rw: "randread",
    block_bytes: 4096,
    outstanding: 1,
    ..MIXED
};

pub(crate) fn qd1(name: &str) -> Result<Vec<Figure>> {
    let results = pairs(&QD1)?;
    Ok(latencies(name, &results))
}

fn latencies(name: &str, results: &[(Outcome, Outcome)]) -> Vec<Figure> {
    vec![
        Figure::new(format!("{name}.p50_vs_fio"), ratio(results, |o| o.p50_ns), "ratio"),
        Figure::new(format!("{name}.p99_vs_fio"), ratio(results, |o| o.p99_ns), "ratio"),
        Figure::new(format!("{name}.p50_ns"), ours(results, |o| o.p50_ns), "ns"),
        Figure::new(format!("{name}.p99_ns"), ours(results, |o| o.p99_ns), "ns"),
    ]
}

fn rates(name: &str, results: &[(Outcome, Outcome)]) -> Vec<Figure> {
    vec![
        Figure::new(format!("{name}.iops_vs_fio"), ratio(results, operations), "ratio"),
        Figure::new(format!("{name}.iops"), ours(results, operations), "1/s"),
    ]
}

/// Reads a file with one outstanding request.
pub(crate) fn file_qd1(name: &str) -> Result<Vec<Figure>> {
    let results = pairs_on(&LoadTarget::Disk(DiskFile::set_up()?), &QD1)?;
    Ok(rates(name, &results).into_iter().chain(latencies(name, &results)).collect())
}

/// Reads a file like [`file_qd1`], beside a process that computes without a pause.
pub(crate) fn file_qd1_busy(name: &str) -> Result<Vec<Figure>> {
    let neighbour = Neighbour::start()?;
    let results = pairs_on(&LoadTarget::Disk(DiskFile::set_up()?), &QD1)?;
    drop(neighbour);
    Ok(rates(name, &results).into_iter().chain(latencies(name, &results)).collect())
}

/// Reads a file with 32 outstanding requests; no shipped tile has so many.
pub(crate) fn file_qd32(name: &str) -> Result<Vec<Figure>> {
    let directory = scratch()?.with_extension("tile");
    std::fs::create_dir_all(&directory)?;
    std::fs::write(directory.join("read-qd32.toml"), QD32)?;
    let tile = directory.join("tile.toml");
    std::fs::write(&tile, QD32_TILE)?;
    let tile = Cow::Owned(tile.to_string_lossy().into_owned());
    let job = Job { tile, outstanding: 32, ..QD1 };
    let results = pairs_on(&LoadTarget::Disk(DiskFile::set_up()?), &job)?;
    std::fs::remove_dir_all(&directory)?;
    Ok(rates(name, &results))
}

const QD32: &str = r#"
name = "read-qd32"
title = "4 KiB random reads, 32 outstanding"
source = "Made for a figure."
metric = { unit = "IOPS", count = "io", reference = 3200 }
vm = [{ name = "vm", disk = [{ name = "data", size = "16GiB" }] }]
users = [{ name = "stream", vm = "vm", load = { closed = { users = 32 } } }]
action = [{ name = "read", steps = [{ read = { disk = "data", size = "4k" } }] }]
"#;
const QD32_TILE: &str = "name = \"read-qd32\"\ntitle = \"4 KiB reads, 32 outstanding\"\n\
                         source = \"Made for a figure.\"\n[[workload]]\nuse = \"read-qd32.toml\"\n";

/// Maximum number of processors that one worker may use. With more, the kernel also carries out its
/// reads on other processors, and no processor would be left for a second worker.
const ONE_WORKER_MAX: f64 = 1.2;

/// Compares two workers with one on a RAM device, in pairs. Only a device that carries out reads in
/// the requesting thread gives a meaningful result: brd does, but zram hands them to workers of the
/// kernel.
pub(crate) fn scale_2_workers(name: &str) -> Result<Vec<Figure>> {
    let place = LoadTarget::Ram(RamDevice::set_up()?);
    let out = scratch()?;
    let run = |workers| tilemark::run(&place, &Job { workers, ..READ_4K }, &out);
    tilemark::run(&place, &Job { seconds: 3, ..MIXED }, &out)?;
    let processors = |one: &Outcome| one.operations_per_s * one.cpu_us_per_io / 1e6;
    let alone = processors(&run(1)?);
    ensure!(
        alone <= ONE_WORKER_MAX,
        "one worker already takes {alone:.1} processors on {}: name a device in TILEMARK_BENCH_DEVICE that \
         serves reads in the thread that asks (modprobe brd rd_nr=1 rd_size=1310720, /dev/ram0)",
        place.path().display(),
    );
    let results = in_pairs(
        PAIRS,
        || run(1),
        || run(2),
        |pair, one, two| {
            eprintln!(
                "{name} pair {pair}: one worker {:.0} IOPS {:.2} us CPU/IO, two {:.0} IOPS {:.2} us",
                one.operations_per_s, one.cpu_us_per_io, two.operations_per_s, two.cpu_us_per_io,
            );
        },
    )?;
    std::fs::remove_dir_all(&out)?;
    Ok(vec![
        Figure::new(name, ratio(&results, operations), "ratio"),
        Figure::new(format!("{name}.processors_of_one"), alone, "1"),
    ])
}

/// Reads a file sequentially, 1 MiB at a time.
pub(crate) fn file_seq_1m(name: &str) -> Result<Vec<Figure>> {
    let results = pairs_on(&LoadTarget::Disk(DiskFile::set_up()?), &seq_job())?;
    Ok(throughput(name, &results))
}

/// A process that computes; ended when dropped.
struct Neighbour(Child);

impl Neighbour {
    fn start() -> Result<Self> {
        let mut command = Command::new("sh");
        // It ends by itself when nobody is left to end it.
        command.args(["-c", "while kill -0 $PPID; do :; done"]).stderr(Stdio::null());
        Ok(Self(command.spawn().context("starting a shell")?))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        // One that has ended already is not an error.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
