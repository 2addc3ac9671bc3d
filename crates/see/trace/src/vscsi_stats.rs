//! Reads histograms in the output of `vscsiStats -p all`, as text or with `-c` as CSV. They contain
//! no single I/Os, only counts made by VMware.

use std::io::Read;
use std::path::Path;

use serde::Serialize;

use crate::TraceError;
use crate::import::unpack;

/// Maximum size of a file that is read, in bytes; one virtual disk takes about 6 KiB.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Histograms of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Histograms {
    /// Histograms in the order of the file: sixteen for each virtual disk.
    pub all: Vec<Histogram>,
    /// Lines that could not be used: number and content.
    pub bad: Vec<(u64, String)>,
}

/// A histogram of a virtual disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Histogram {
    /// Name of the counted values, with their unit, as in vscsiStats.
    pub name: String,
    /// World group of the VM.
    pub world_group: String,
    /// Virtual disk: its handle and, in brackets, its name.
    pub disk: String,
    /// Smallest of the values.
    pub min: i64,
    /// Largest of the values.
    pub max: i64,
    /// Mean of the values, in whole numbers.
    pub mean: i64,
    /// Number of values.
    pub count: u64,
    /// Buckets, lowest first.
    pub buckets: Vec<Bucket>,
}

/// A bucket: values above the limit of the bucket before, up to its own limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// Number of values.
    pub frequency: u64,
    /// Largest value of the bucket. `None` for the last bucket, which has all larger values. In
    /// text the last line says so; in CSV it repeats the limit before it.
    pub limit: Option<i64>,
}

impl Histogram {
    /// Returns the number of values in the buckets; equal to [`Self::count`] in a complete file.
    pub fn total(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, bucket| sum.saturating_add(bucket.frequency))
    }

    /// Returns the bucket that contains a percentile, given in percent above 0; `None` without
    /// values.
    pub fn percentile(&self, percent: f64) -> Option<Bucket> {
        let total = self.total();
        #[expect(clippy::cast_precision_loss, reason = "a count of I/Os")]
        let wanted = (total as f64 * percent / 100.0).max(f64::MIN_POSITIVE);
        let mut sum = 0_u64;
        self.buckets.iter().copied().filter(|_| total > 0).find(|bucket| {
            sum = sum.saturating_add(bucket.frequency);
            #[expect(clippy::cast_precision_loss, reason = "a count of I/Os")]
            let sum = sum as f64;
            sum >= wanted
        })
    }
}

/// Number of bytes within which the first histogram must begin.
const BEGIN: u64 = 4096;
/// First words of each histogram.
const TITLE: &str = "Histogram: ";

/// Returns true if the file begins with such histograms.
pub fn is_likely(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = untrusted::open_named(path)
        .and_then(unpack)
        .map(|file| file.take(BEGIN).read_to_end(&mut begin));
    matches!(read, Ok(Ok(_)))
        && String::from_utf8_lossy(&begin).lines().any(|line| line.trim().starts_with(TITLE))
}

/// Reads the histograms in the file `path`, plain or compressed (zst, gz, xz).
///
/// # Errors
/// The file cannot be read, is larger than 64 MiB, or has no histogram.
pub fn read(path: &Path) -> Result<Histograms, TraceError> {
    let failed = |source| TraceError::Io { path: path.to_owned(), source };
    let wrong = |reason: &str| TraceError::Format { path: path.to_owned(), reason: reason.into() };
    let file = untrusted::open_named(path).and_then(unpack).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(wrong("is larger than 64 MiB, the histograms of ten thousand disks"));
    }
    let histograms = parse(&String::from_utf8_lossy(&bytes));
    if histograms.all.is_empty() {
        return Err(wrong("holds no line \"Histogram: ...\", as vscsiStats -p all prints"));
    }
    Ok(histograms)
}

/// Parses the histograms of a text.
pub fn parse(text: &str) -> Histograms {
    let mut histograms = Histograms::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line, number) in text.lines().zip(1..) {
        // In the text form, braces enclose a histogram and its buckets.
        let line = line.trim().trim_end_matches(['{', '}']).trim();
        if line.is_empty() || line.starts_with("Frequency,") {
            continue;
        }
        if let Some(head) = line.strip_prefix(TITLE) {
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

/// Text before the number of the virtual machine and the number of the disk.
const GROUP: &str = "virtual machine worldGroupID";
const DISK: &str = "virtual disk handleID";

/// Parses the heading `name,virtual machine worldGroupID,N,virtual disk handleID,N (disk)`, or
/// `name for virtual machine worldGroupID : N, virtual disk handleID : N (disk)`.
fn begin(head: &str) -> Histogram {
    let (name, rest) = head.split_once(GROUP).unwrap_or((head, ""));
    let (group, disk) = rest.split_once(DISK).unwrap_or((rest, ""));
    let name = name.trim().trim_end_matches(',');
    let name = name.strip_suffix(" for").unwrap_or(name).trim();
    Histogram {
        name: name.to_owned(),
        world_group: bare(group),
        disk: bare(disk),
        ..Histogram::default()
    }
}

/// Removes the punctuation around a value.
fn bare(text: &str) -> String {
    text.trim_matches([',', ':', ' ', '\t']).to_owned()
}

/// Parses a number of the histogram, or a bucket.
fn row(histogram: &mut Histogram, line: &str) -> Option<()> {
    if line.starts_with(GROUP) || line.starts_with(DISK) {
        return continued(histogram, line);
    }
    if let Some((frequency, limit)) = line.split_once('(') {
        return bucket(histogram, frequency, limit.trim().strip_suffix(')')?);
    }
    let (first, second) = line.split_once([',', ':'])?;
    let second = second.trim();
    match first.trim() {
        "min" => histogram.min = second.parse().ok()?,
        "max" => histogram.max = second.parse().ok()?,
        "mean" => histogram.mean = second.parse().ok()?,
        "count" => histogram.count = second.parse().ok()?,
        first => {
            let (frequency, limit) = (first.parse().ok()?, Some(second.parse().ok()?));
            histogram.buckets.push(Bucket { frequency, limit });
        }
    }
    Some(())
}

/// Parses a heading that continues on separate lines.
fn continued(histogram: &mut Histogram, line: &str) -> Option<()> {
    let (group, disk) = line.split_once(DISK).map_or((line, None), |(a, b)| (a, Some(b)));
    if let Some(group) = group.trim().strip_prefix(GROUP) {
        histogram.world_group = bare(group);
    }
    if let Some(disk) = disk {
        histogram.disk = bare(disk);
    }
    Some(())
}

/// Parses `frequency (<= limit)`, or `frequency (> limit)` for the last bucket.
fn bucket(histogram: &mut Histogram, frequency: &str, limit: &str) -> Option<()> {
    let frequency = frequency.trim().parse().ok()?;
    let number = |text: &str| text.trim().parse::<i64>().ok();
    let limit = match limit.trim().strip_prefix("<=") {
        Some(limit) => Some(number(limit)?),
        None => {
            number(limit.trim().strip_prefix('>')?)?;
            None
        }
    };
    histogram.buckets.push(Bucket { frequency, limit });
    Some(())
}

/// Removes the limit of the last bucket if it repeats the limit before it, because such a limit
/// means "above".
fn open_last(histogram: &mut Histogram) {
    if let [.., before, last] = &mut histogram.buckets[..]
        && before.limit == last.limit
    {
        last.limit = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "\
Histogram: latency of IOs in Microseconds (us),virtual machine worldGroupID,2099979,virtual disk handleID,8194 (scsi0:0)
min,120
max,90000
mean,800
count,10
Frequency,Histogram Bucket Limit
0,100
7,500
2,1000
0,5000
1,5000
";
    const TEXT: &str = "\
Histogram: latency of IOs in Microseconds (us) for virtual machine worldGroupID : 2099979, virtual disk handleID : 8194 (scsi0:0) {
 min : 120
 max : 90000
 mean : 800
 count : 10
   {
      0               (<=                100)
      7               (<=                500)
      2               (<=               1000)
      0               (<=               5000)
      1               (>                5000)
   }
}
";

    #[test]
    fn text_and_csv_of_vscsistats_are_the_same() {
        let csv = parse(CSV);
        assert_eq!((csv.all.len(), csv.bad.len()), (1, 0));
        assert_eq!(parse(TEXT), csv);
        assert_eq!(parse(&CSV.replace('\n', "\r\n")), csv);
        let apart = TEXT.replace(" for virtual", ",\n virtual").replace(", virtual", ",\n virtual");
        assert_eq!(parse(&apart), csv, "the head in lines of its own");
    }

    #[test]
    fn percentiles_are_buckets() {
        let all = parse(TEXT).all;
        let limit = |percent| all[0].percentile(percent).map(|bucket| bucket.limit);
        assert_eq!(limit(50.0), Some(Some(500)));
        assert_eq!((limit(90.0), limit(99.0)), (Some(Some(1000)), Some(None)));
        assert_eq!(Histogram::default().percentile(50.0), None);
    }
}
