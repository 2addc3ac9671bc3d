//! Conversion of a fio job.

use units::Bytes;

use super::file::{JobFile, JobSection};
use super::quantity::{KbBase, Quantity};
use super::{FioError, Note};

/// Engines that complete an I/O before the next one (fio prints for each "queue depth will be
/// capped at 1"). `psync` is the default.
const SYNCHRONOUS: [&str; 7] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap", "splice"];
/// Smallest unit of a disk in bytes.
pub(super) const SECTOR: u64 = 512;

/// Note on jobs without `direct`. fio's I/O then differs from the I/O of a virtual machine's disk.
const BUFFERED: &str =
    "direct is not set, so fio uses the page cache; --buffered does the same here";

/// Direction of a data transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

impl Direction {
    pub const ALL: [Self; 2] = [Self::Read, Self::Write];

    pub const fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Places of I/Os on the disk.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Places {
    Sequential {
        streams: u32,
    },
    Uniform,
    /// Partly random places. `random` is their percentage; the other I/Os follow the previous one.
    Mixed {
        random: f64,
    },
    Zipf {
        exponent: f64,
    },
    /// Hot zones: share of the I/O and share of the disk, in percent.
    Hot(Vec<(f64, f64)>),
}

/// I/Os of one direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stream {
    pub direction: Direction,
    /// Share of this direction in all I/Os if no rate is given, in percent.
    pub share: f64,
    /// IOPS over all copies of the job.
    pub rate: Option<f64>,
    /// Block sizes in bytes, with their weights.
    pub sizes: Vec<(u64, f64)>,
    pub places: Places,
    /// Number of I/Os before a flush.
    pub flush_every: Option<u32>,
}

impl Stream {
    fn mean_size(&self) -> f64 {
        let weights: f64 = self.sizes.iter().map(|(_, weight)| weight).sum();
        #[expect(clippy::cast_precision_loss, reason = "at most 64 MiB")]
        let sum: f64 = self.sizes.iter().map(|(size, weight)| *size as f64 * weight).sum();
        sum / weights
    }
}

/// Files of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Data {
    /// Names of the files that the job specifies. Jobs with the same files share a disk.
    pub shared: Option<String>,
    pub size: Bytes,
}

/// Job with all of its copies.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Job {
    pub streams: Vec<Stream>,
    pub data: Data,
    /// Number of outstanding I/Os.
    pub outstanding: u32,
    pub notes: Vec<Note>,
}

/// Converter of one job.
pub(super) struct Reader<'a> {
    file: &'a JobFile,
    section: &'a JobSection,
    pub(super) kb_base: KbBase,
    /// Size of jobs without a size.
    size: Option<Bytes>,
    notes: Vec<Note>,
}

impl<'a> Reader<'a> {
    pub fn new(file: &'a JobFile, section: &'a JobSection, size: Option<Bytes>) -> Self {
        Self { file, section, kb_base: KbBase::DEFAULT, size, notes: Vec::new() }
    }

    /// Converts the job. The error is the reason why it cannot be converted.
    pub fn job(mut self) -> Result<Job, FioError> {
        self.kb_base = match self.get(&["kb_base"]) {
            None | Some("1024") => KbBase::DEFAULT,
            Some("1000") => KbBase(1000),
            Some(other) => return Err(self.wrong("kb_base", other, "is neither 1000 nor 1024")),
        };
        let copies = self.number("numjobs", &["numjobs"], 1, 65_536)?.unwrap_or(1);
        let (data, streams) = self.data(copies)?;
        let outstanding = self.depth()?.saturating_mul(copies);
        let streams = self.streams(copies, streams)?;
        let largest = streams.iter().flat_map(|stream| &stream.sizes).map(|(size, _)| *size).max();
        if largest.is_some_and(|largest| largest > data.size.get()) {
            let size = data.size.to_text();
            return Err(self.wrong("size", &size, "is smaller than a block"));
        }
        if self.get(&["direct", "buffered"]).is_none() {
            self.note(BUFFERED.to_owned());
        }
        Ok(Job { streams, data, outstanding, notes: self.notes })
    }

    pub(super) fn get(&self, names: &[&str]) -> Option<&'a str> {
        self.file.get(self.section, names)
    }

    pub(super) fn wrong(
        &self,
        option: &'static str,
        value: &str,
        why: impl Into<String>,
    ) -> FioError {
        let (job, value) = (self.section.name.clone(), value.to_owned());
        FioError::Value { job, option, value, why: why.into() }
    }

    pub(super) fn note(&mut self, text: String) {
        let note = Note { section: self.section.name.clone(), text };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn number(
        &self,
        option: &'static str,
        names: &[&str],
        least: u32,
        most: u32,
    ) -> Result<Option<u32>, FioError> {
        let Some(text) = self.get(names) else { return Ok(None) };
        let number = match self.kb_base.parse(text) {
            Some(Quantity::Count(number)) => u32::try_from(number).ok(),
            _ => None,
        };
        match number.filter(|number| (least..=most).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(option, text, format!("is not from {least} to {most}"))),
        }
    }

    /// Returns the number of outstanding I/Os of one copy.
    fn depth(&mut self) -> Result<u32, FioError> {
        let depth = self.number("iodepth", &["iodepth"], 1, 65_536)?.unwrap_or(1);
        let named = self.get(&["ioengine"]);
        let engine = named.unwrap_or(SYNCHRONOUS[0]);
        if depth > 1 && SYNCHRONOUS.contains(&engine) {
            let whose = if named.is_none() { "fio's default engine" } else { "this engine" };
            self.note(format!(
                "iodepth={depth} becomes 1: {engine}, {whose}, completes each I/O before it takes \
                the next"
            ));
            return Ok(1);
        }
        Ok(depth)
    }

    /// Parses the value of an option as a number of bytes.
    pub(super) fn bytes(&mut self, option: &'static str, text: &str) -> Result<u64, FioError> {
        match self.kb_base.parse(text) {
            Some(Quantity::Count(bytes)) => {
                if self.kb_base.is_odd(text) {
                    self.note(format!(
                        "{option}={text} becomes {bytes} B: prefixes with iB are powers of 1,000 \
                         in fio unless kb_base=1000"
                    ));
                }
                Ok(bytes)
            }
            Some(Quantity::Percent(_)) => {
                Err(self.wrong(option, text, "is a percentage of a file of unknown size"))
            }
            None if text.contains(['$', '*', '(']) => {
                let why = "uses a variable or an expression: replace it by its value";
                Err(self.wrong(option, text, why))
            }
            None => {
                let known = "is not a size: write a whole number, followed by k, m, g, t or p";
                Err(self.wrong(option, text, known))
            }
        }
    }

    /// Returns the files of the job, and the number of sequential streams over all copies.
    fn data(&mut self, copies: u32) -> Result<(Data, u32), FioError> {
        let named = self.get(&["filename"]).filter(|name| !name.is_empty());
        let files = match named {
            Some(names) => u32::try_from(names.split(':').count()).unwrap_or(u32::MAX),
            None => self.number("nrfiles", &["nrfiles", "nr_files"], 1, 1_000_000)?.unwrap_or(1),
        };
        let of_one = self.size_of_one(files)?;
        if of_one < SECTOR {
            let text = self.get(&["size", "filesize"]).unwrap_or_default();
            return Err(self.wrong("size", text, "is less than 512 B"));
        }
        if named.is_some() {
            if copies > 1 {
                self.note(format!(
                    "its {copies} copies use the same files, so they share one disk"
                ));
            }
            let data = Data { shared: named.map(str::to_owned), size: Bytes::new(of_one) };
            return Ok((data, files));
        }
        let size = of_one.checked_mul(u64::from(copies));
        let size = size.filter(|size| *size < 1 << 60).ok_or_else(|| {
            self.wrong("size", self.get(&["size"]).unwrap_or_default(), "is too large")
        })?;
        Ok((Data { shared: None, size: Bytes::new(size) }, files.saturating_mul(copies)))
    }

    /// Returns the size of one copy's files in bytes: `filesize` for each file, or `size` for all
    /// together.
    fn size_of_one(&mut self, files: u32) -> Result<u64, FioError> {
        if let Some(text) = self.get(&["filesize", "file_size"]) {
            let each = self.bytes("filesize", text)?;
            let all = each.checked_mul(u64::from(files));
            return all.ok_or_else(|| self.wrong("filesize", text, "is too large"));
        }
        let Some(text) = self.get(&["size"]) else {
            let given = self.size.map(Bytes::get);
            return given.ok_or_else(|| {
                self.wrong("size", "", "is absent, so the size of the disk is unknown")
            });
        };
        match (self.kb_base.parse(text), self.size) {
            (Some(Quantity::Percent(percent)), Some(whole)) => {
                self.note(format!("size={text} is a percentage of {whole}"));
                Ok(whole.scale(percent / 100.0).get())
            }
            _ => self.bytes("size", text),
        }
    }

    fn streams(&mut self, copies: u32, streams: u32) -> Result<Vec<Stream>, FioError> {
        let text = self.get(&["rw", "readwrite"]).unwrap_or("read");
        let (pattern, behind) = text.split_once(':').unwrap_or((text, ""));
        let mixed = || -> Result<u32, FioError> {
            let reads = self.number("rwmixread", &["rwmixread"], 0, 100)?;
            let writes = self.number("rwmixwrite", &["rwmixwrite"], 0, 100)?;
            Ok(reads.or(writes.map(|writes| 100 - writes)).unwrap_or(50))
        };
        let (reads, is_random) = match pattern {
            "read" => (100, false),
            "write" => (0, false),
            "randread" => (100, true),
            "randwrite" => (0, true),
            "rw" | "readwrite" => (mixed()?, false),
            "randrw" => (mixed()?, true),
            "trim" | "randtrim" | "trimwrite" | "randtrimwrite" => {
                return Err(self.wrong(
                    "rw",
                    text,
                    "is not one of read, write, randread, randwrite, rw and randrw; discards are \
                    not supported",
                ));
            }
            _ => {
                let known = "is not one of read, write, randread, randwrite, rw and randrw";
                return Err(self.wrong("rw", text, known));
            }
        };
        let runs = self.runs(text, behind, is_random)?;
        // A sequential job ignores a distribution, but fio refuses a wrong one there, too.
        let notes = self.notes.len();
        let distribution = self.distribution()?;
        if !is_random {
            self.notes.truncate(notes);
        }
        if !is_random && self.get(&["percentage_random"]).is_some_and(|text| text != "0") {
            let text = self.get(&["percentage_random"]).unwrap_or_default();
            self.note(format!("percentage_random={text} changes random jobs only, as in fio"));
        }
        let flush_every = self.number("fsync", &["fsync", "fdatasync"], 0, 1_000_000)?;
        let mut all = Vec::new();
        for direction in Direction::ALL {
            let share = if direction == Direction::Read { reads } else { 100 - reads };
            if share == 0 {
                continue;
            }
            let places = if is_random {
                self.random(direction, runs, &distribution)?
            } else {
                Places::Sequential { streams }
            };
            let mut stream = Stream {
                direction,
                share: f64::from(share),
                rate: None,
                sizes: self.sizes(direction)?,
                places,
                flush_every: flush_every
                    .filter(|every| *every > 0 && direction == Direction::Write),
            };
            let each = self.rate(direction, stream.mean_size())?;
            stream.rate = each.map(|rate| rate * f64::from(copies));
            all.push(stream);
        }
        Ok(all)
    }

    /// Returns the number of sequential I/Os after each random place (`rw=randread:8`); `None` if
    /// not given.
    fn runs(&mut self, text: &str, behind: &str, is_random: bool) -> Result<Option<u64>, FioError> {
        if behind.is_empty() {
            return Ok(None);
        }
        if !is_random {
            let why = "leaves gaps between I/Os, which is not supported here";
            return Err(self.wrong("rw", text, why));
        }
        match self.kb_base.parse(behind) {
            Some(Quantity::Count(1)) => Ok(None),
            Some(Quantity::Count(runs @ 2..=1_000_000)) => {
                self.note(format!("rw={text}: here {runs} I/Os in a row are an average"));
                Ok(Some(runs))
            }
            _ => Err(self.wrong("rw", text, "has no number from 1 to 1000000 after the colon")),
        }
    }

    /// Returns the part of a value for a direction. Reads, writes and trims are separated by
    /// commas. A single part applies to all directions, and an empty part sets nothing.
    pub(super) fn of_direction(&self, names: &[&str], direction: Direction) -> Option<&'a str> {
        let parts: Vec<&str> = self.get(names)?.split(',').map(str::trim).collect();
        let part = match direction {
            Direction::Write if parts.len() > 1 => parts.get(1),
            _ => parts.first(),
        };
        part.copied().filter(|part| !part.is_empty())
    }

    /// Returns the IOPS of one copy. As in fio, the rate applies to each direction.
    fn rate(&mut self, direction: Direction, size: f64) -> Result<Option<f64>, FioError> {
        if let Some(text) = self.of_direction(&["rate_iops"], direction) {
            return match self.kb_base.parse(text) {
                #[expect(clippy::cast_precision_loss, reason = "at most ten million")]
                Some(Quantity::Count(rate @ 1..=10_000_000)) => Ok(Some(rate as f64)),
                _ => Err(self.wrong("rate_iops", text, "is not from 1 to 10000000")),
            };
        }
        if self.get(&["rate_iops"]).is_some() {
            return Ok(None);
        }
        let Some(text) = self.of_direction(&["rate"], direction) else { return Ok(None) };
        let bytes = self.bytes("rate", text)?;
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let rate = bytes as f64 / size;
        if !(0.001..=1e7).contains(&rate) {
            return Err(self.wrong("rate", text, "is not from 0.001 to 10000000 I/Os a second"));
        }
        self.note(format!("rate={text} is {rate:.3} I/Os a second of {}", direction.verb()));
        Ok(Some(rate))
    }
}
