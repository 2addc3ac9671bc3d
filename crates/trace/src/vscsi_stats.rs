//! The histograms that `vscsiStats -p all -c` prints: no I/O, but what VMware counted of it.

use std::fs;
use std::path::Path;

use crate::TraceError;

/// Longest file that is read, in bytes; one virtual disk takes about 6 KiB.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// All histograms of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histograms {
    /// In the order of the file: sixteen of each virtual disk.
    pub all: Vec<Histogram>,
    /// Lines that could not be used: number and content.
    pub bad: Vec<(u64, String)>,
}

/// One histogram.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histogram {
    /// What was counted, with its unit, as vscsiStats says it.
    pub name: String,
    /// The VM's world group.
    pub world_group: String,
    /// The virtual disk: its handle and, in brackets, its name.
    pub disk: String,
    /// The smallest value.
    pub min: i64,
    /// The largest value.
    pub max: i64,
    /// The mean, in whole numbers.
    pub mean: i64,
    /// How many values there were.
    pub count: u64,
    /// The buckets, lowest first.
    pub buckets: Vec<Bucket>,
}

/// How many values were above the limit of the bucket before and at most this one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// How many.
    pub frequency: u64,
    /// The largest value that counts; none of the last bucket when it repeats the limit before
    /// it, which is how vscsiStats prints "above".
    pub limit: Option<i64>,
}

impl Histogram {
    /// All values that the buckets hold; [`Self::count`] in a whole file.
    pub fn total(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, bucket| sum.saturating_add(bucket.frequency))
    }
}

/// Reads the histograms in the file `path`.
///
/// # Errors
/// When it cannot be read, is larger than 64 MiB, or holds no histogram.
pub fn read(path: &Path) -> Result<Histograms, TraceError> {
    let failed = |source| TraceError::Io { path: path.to_owned(), source };
    let wrong = |reason: &str| TraceError::Format { path: path.to_owned(), reason: reason.into() };
    if fs::metadata(path).map_err(failed)?.len() > FILE_BYTES_MAX {
        return Err(wrong("is larger than 64 MiB, the histograms of ten thousand disks"));
    }
    let bytes = fs::read(path).map_err(failed)?;
    let histograms = parse(&String::from_utf8_lossy(&bytes));
    if histograms.all.is_empty() {
        return Err(wrong("holds no line \"Histogram: ...\", as vscsiStats -p all -c prints"));
    }
    Ok(histograms)
}

/// The histograms of a text.
pub fn parse(text: &str) -> Histograms {
    let mut histograms = Histograms::default();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with("Frequency,") {
            continue;
        }
        if let Some(head) = line.strip_prefix("Histogram: ") {
            histograms.all.push(begin(head));
            continue;
        }
        let last = histograms.all.last_mut();
        if last.and_then(|histogram| row(histogram, line)).is_none() {
            histograms.bad.push((number, line.chars().take(80).collect()));
        }
    }
    histograms.all.iter_mut().for_each(open_last);
    histograms
}

/// `name,virtual machine worldGroupID,N,virtual disk handleID,N (disk)`.
fn begin(head: &str) -> Histogram {
    let (name, rest) = head.split_once(",virtual machine worldGroupID,").unwrap_or((head, ""));
    let (group, disk) = rest.split_once(",virtual disk handleID,").unwrap_or((rest, ""));
    Histogram {
        name: name.to_owned(),
        world_group: group.to_owned(),
        disk: disk.to_owned(),
        ..Histogram::default()
    }
}

/// `min,N` and the like, or `frequency,limit`.
fn row(histogram: &mut Histogram, line: &str) -> Option<()> {
    let (first, second) = line.split_once(',')?;
    match first {
        "min" => histogram.min = second.parse().ok()?,
        "max" => histogram.max = second.parse().ok()?,
        "mean" => histogram.mean = second.parse().ok()?,
        "count" => histogram.count = second.parse().ok()?,
        _ => {
            let (frequency, limit) = (first.parse().ok()?, Some(second.parse().ok()?));
            histogram.buckets.push(Bucket { frequency, limit });
        }
    }
    Some(())
}

/// A last limit that is the one before it again means "above".
fn open_last(histogram: &mut Histogram) {
    if let [.., before, last] = &mut histogram.buckets[..]
        && before.limit == last.limit
    {
        last.limit = None;
    }
}
