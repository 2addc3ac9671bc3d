//! Measures how fast other tools' traces are read on one core: from the bytes of a file in the page
//! cache to records in order of issue.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use state_machine::{Purpose, Stream};
use trace::OpenOptions;

use super::cpu::cpu_seconds;
use super::{Figure, median};

/// Number of records in each trace.
const RECORDS: u32 = 1 << 20;
/// Number of readings in a round: the kernel's account of CPU time is exact only to a few
/// milliseconds.
const READINGS: u32 = 4;
/// Number of timed rounds over a trace; the median is used.
const ROUNDS: usize = 5;
/// Number of sectors of the disk that receives the I/O: 1 TiB.
const SECTORS: u64 = 1 << 31;

pub(crate) fn formats(name: &str) -> Result<Vec<Figure>> {
    let vscsi = Trace::new("vscsi", vscsi())?;
    let msr = Trace::new("msr", msr().into_bytes())?;
    let alibaba = Trace::new("alibaba", alibaba().into_bytes())?;
    Ok(vec![
        Figure::new(
            format!("{name}.vscsi.records_per_s"),
            f64::from(RECORDS) / vscsi.seconds()?,
            "1/s",
        ),
        Figure::new(format!("{name}.csv.bytes_per_s"), msr.bytes / msr.seconds()?, "B/s"),
        Figure::new(
            format!("{name}.csv_alibaba.bytes_per_s"),
            alibaba.bytes / alibaba.seconds()?,
            "B/s",
        ),
    ])
}

/// A trace in a file of its own, which is removed when dropped.
struct Trace {
    format: &'static str,
    path: PathBuf,
    bytes: f64,
}

impl Trace {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn new(format: &'static str, content: Vec<u8>) -> Result<Self> {
        let name = format!("tilemark-bench-{}.{format}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, &content).with_context(|| format!("writing {}", path.display()))?;
        Ok(Self { format, path, bytes: content.len() as f64 })
    }

    /// Returns the CPU seconds of reading the trace completely: the median of the rounds after a
    /// warm-up round.
    fn seconds(&self) -> Result<f64> {
        read(&self.path, self.format)?;
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let start = cpu_seconds();
            for _ in 0..READINGS {
                read(&self.path, self.format)?;
            }
            rounds.push((cpu_seconds() - start) / f64::from(READINGS));
        }
        Ok(median(&rounds))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        // A file left in the folder for temporary ones is no reason to fail.
        let _ = fs::remove_file(&self.path);
    }
}

fn read(path: &Path, format: &str) -> Result<()> {
    let mut source = trace::open(path, &OpenOptions::default())?;
    ensure!(source.info().format == format, "{format} was taken for {}", source.info().format);
    let (mut batch, mut count) = (Vec::new(), 0);
    loop {
        source.read(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        count += batch.len();
    }
    ensure!(count == RECORDS as usize, "{count} records of {RECORDS}");
    Ok(())
}

/// Returns a virtual disk's commands in the format of vSCSI version 1.
fn vscsi() -> Vec<u8> {
    let mut content = Vec::new();
    for (number, io) in (0_u32..).zip(ios()) {
        for word in [number, io.bytes, 1] {
            content.extend(word.to_le_bytes());
        }
        content.extend(if io.is_read { 0x28_u16 } else { 0x2a }.to_le_bytes());
        content.extend(0x0100_u16.to_le_bytes());
        content.extend(io.sector.to_le_bytes());
        content.extend((io.time_100ns / 10).to_le_bytes());
    }
    content
}

/// Returns I/O of four disks of one host, as in the traces of MSR Cambridge.
fn msr() -> String {
    let mut text = String::new();
    for io in ios() {
        let kind = if io.is_read { "Read" } else { "Write" };
        let time = 128_166_372_000_000_000 + io.time_100ns;
        let (disk, offset, bytes) = (io.disk % 4, io.sector * 512, io.bytes);
        let _ = writeln!(text, "{time},prxy,{disk},{kind},{offset},{bytes},{}", io.latency);
    }
    text
}

/// Returns I/O of a thousand disks, as in the traces of Alibaba Cloud.
fn alibaba() -> String {
    let mut text = String::new();
    for io in ios() {
        let kind = if io.is_read { 'R' } else { 'W' };
        let time = 1_577_808_000_000_000 + io.time_100ns / 10;
        let _ = writeln!(text, "{},{kind},{},{},{time}", io.disk, io.sector * 512, io.bytes);
    }
    text
}

struct Io {
    time_100ns: u64,
    disk: u64,
    is_read: bool,
    sector: u64,
    bytes: u32,
    latency: u64,
}

fn ios() -> impl Iterator<Item = Io> {
    let mut random = Stream::derive(1, &[], Purpose::Addresses);
    let mut time_100ns = 0;
    (0..RECORDS).map(move |_| {
        time_100ns += random.below(2_000);
        Io {
            time_100ns,
            disk: random.below(1_000),
            is_read: random.below(10) < 4,
            sector: random.below(SECTORS / 8) * 8,
            bytes: 4096 << random.below(5),
            latency: random.below(100_000),
        }
    })
}
