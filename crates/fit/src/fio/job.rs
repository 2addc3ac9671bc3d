//! What is carried over of a job.

use units::Bytes;

use super::file::{JobFile, JobSection};
use super::quantity::{KbBase, Quantity};
use super::{FioError, Note};

/// Engines that answer an I/O before they take the next one (fio says of each "queue depth will be
/// capped at 1"). `psync` is used where none is named.
const SYNCHRONOUS: [&str; 7] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap", "splice"];
/// Bytes of the smallest unit of a disk.
const SECTOR: u64 = 512;
/// Bytes of the largest I/O.
const BLOCK_MAX: u64 = 64 << 20;
/// Sizes that a range of block sizes is dealt out to.
const RANGE_MAX: u64 = 64;
/// fio's own values where a distribution names none (HOWTO, `random_distribution`).
const ZIPF_THETA: f64 = 1.1;
const PARETO_H: f64 = 0.2;
/// Shares of the disk that a pareto distribution is dealt out to.
const PARETO_STEPS: i32 = 5;

/// Without `direct`, fio's I/O is not that of a virtual machine's disk.
const BUFFERED: &str =
    "direct is not set, so fio goes through the page cache: a run here does with --buffered";

/// A direction of data.
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

/// Where on the disk.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Places {
    Sequential {
        streams: u32,
    },
    Uniform,
    /// A share of them anywhere, in percent; the others behind the one before.
    Mixed {
        random: f64,
    },
    Zipf {
        exponent: f64,
    },
    /// Shares of the I/O and of the disk, in percent.
    Hot(Vec<(f64, f64)>),
}

/// I/Os of one direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stream {
    pub direction: Direction,
    /// Its share of all I/Os where no rate is asked for, in percent.
    pub share: f64,
    /// I/Os a second, of all copies of the job together.
    pub rate: Option<f64>,
    /// Block sizes in bytes, and their weights.
    pub sizes: Vec<(u64, f64)>,
    pub places: Places,
    /// I/Os before a flush.
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

/// The data of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Data {
    /// The files that it names; jobs that name the same ones share a disk.
    pub shared: Option<String>,
    pub size: Bytes,
}

/// A job, with all of its copies.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Job {
    pub streams: Vec<Stream>,
    pub data: Data,
    /// I/Os under way at once.
    pub outstanding: u32,
    pub notes: Vec<Note>,
}

/// Reads one job.
pub(super) struct Reader<'a> {
    file: &'a JobFile,
    section: &'a JobSection,
    kb_base: KbBase,
    /// The size of jobs that say none.
    size: Option<Bytes>,
    notes: Vec<Note>,
}

impl<'a> Reader<'a> {
    pub fn new(file: &'a JobFile, section: &'a JobSection, size: Option<Bytes>) -> Self {
        Self { file, section, kb_base: KbBase::DEFAULT, size, notes: Vec::new() }
    }

    /// The job, or why it is none.
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

    fn get(&self, names: &[&str]) -> Option<&'a str> {
        self.file.get(self.section, names)
    }

    fn wrong(&self, option: &'static str, value: &str, why: impl Into<String>) -> FioError {
        let (job, value) = (self.section.name.clone(), value.to_owned());
        FioError::Value { job, option, value, why: why.into() }
    }

    fn note(&mut self, text: String) {
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

    /// I/Os that one copy has under way.
    fn depth(&mut self) -> Result<u32, FioError> {
        let depth = self.number("iodepth", &["iodepth"], 1, 65_536)?.unwrap_or(1);
        let named = self.get(&["ioengine"]);
        let engine = named.unwrap_or(SYNCHRONOUS[0]);
        if depth > 1 && SYNCHRONOUS.contains(&engine) {
            let whose = if named.is_none() { "fio's default engine" } else { "this engine" };
            self.note(format!(
                "iodepth={depth} is 1: {engine}, {whose}, answers one I/O before it takes the next"
            ));
            return Ok(1);
        }
        Ok(depth)
    }

    /// Bytes of an option.
    fn bytes(&mut self, option: &'static str, text: &str) -> Result<u64, FioError> {
        match self.kb_base.parse(text) {
            Some(Quantity::Count(bytes)) => {
                if self.kb_base.is_odd(text) {
                    self.note(format!(
                        "{option}={text} is {bytes} B: prefixes with iB are powers of 1,000 to fio \
                         unless kb_base=1000"
                    ));
                }
                Ok(bytes)
            }
            Some(Quantity::Percent(_)) => {
                Err(self.wrong(option, text, "is a share of a file that is not known here"))
            }
            None => {
                let known = "is no size: a whole number, with k, m, g, t or p behind it";
                Err(self.wrong(option, text, known))
            }
        }
    }

    /// The size and the streams of sequential I/O of all copies.
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
                self.note(format!("its {copies} copies use the same files: one disk for all"));
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

    /// Bytes of the files of one copy: each of `filesize`, or all of them together of `size`.
    fn size_of_one(&mut self, files: u32) -> Result<u64, FioError> {
        if let Some(text) = self.get(&["filesize", "file_size"]) {
            let each = self.bytes("filesize", text)?;
            let all = each.checked_mul(u64::from(files));
            return all.ok_or_else(|| self.wrong("filesize", text, "is too large"));
        }
        let Some(text) = self.get(&["size"]) else {
            let given = self.size.map(Bytes::get);
            return given
                .ok_or_else(|| self.wrong("size", "", "is absent: how large is the disk?"));
        };
        match (self.kb_base.parse(text), self.size) {
            (Some(Quantity::Percent(percent)), Some(whole)) => {
                self.note(format!("size={text} is of {whole}"));
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
                    "is none of read, write, randread, randwrite, rw, randrw: no step here discards",
                ));
            }
            _ => {
                let known = "is none of read, write, randread, randwrite, rw, randrw";
                return Err(self.wrong("rw", text, known));
            }
        };
        let runs = self.runs(text, behind, is_random)?;
        // Sequential jobs have no use for a distribution, and fio refuses a wrong one of them, too.
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

    /// I/Os in a row behind each random place (`rw=randread:8`); none if it is not said.
    fn runs(&mut self, text: &str, behind: &str, is_random: bool) -> Result<Option<u64>, FioError> {
        if behind.is_empty() {
            return Ok(None);
        }
        if !is_random {
            let why = "leaves gaps between I/Os, which no address here does";
            return Err(self.wrong("rw", text, why));
        }
        match self.kb_base.parse(behind) {
            Some(Quantity::Count(1)) => Ok(None),
            Some(Quantity::Count(runs @ 2..=1_000_000)) => {
                self.note(format!("rw={text}: {runs} I/Os in a row are so many on average here"));
                Ok(Some(runs))
            }
            _ => Err(self.wrong("rw", text, "has no number from 1 to 1000000 behind the colon")),
        }
    }

    /// Random places of a direction.
    fn random(
        &mut self,
        direction: Direction,
        runs: Option<u64>,
        distribution: &Places,
    ) -> Result<Places, FioError> {
        let option = "percentage_random";
        let percent = match self.of_direction(&[option], direction) {
            None => 100.0,
            Some(text) => match text.trim_end_matches('%').parse::<u32>() {
                Ok(percent @ 0..=100) => f64::from(percent),
                _ => return Err(self.wrong(option, text, "is not from 0 to 100")),
            },
        };
        let percent = match runs {
            #[expect(clippy::cast_precision_loss, reason = "at most a million")]
            Some(runs) => percent / runs as f64,
            None => percent,
        };
        if percent >= 100.0 {
            return Ok(distribution.clone());
        }
        if *distribution != Places::Uniform {
            self.note("places in runs are uniform here, whatever random_distribution says".into());
        }
        Ok(if percent > 0.0 {
            Places::Mixed { random: percent }
        } else {
            Places::Sequential { streams: 1 }
        })
    }

    fn distribution(&mut self) -> Result<Places, FioError> {
        const OPTION: &str = "random_distribution";
        let Some(text) = self.get(&[OPTION]) else { return Ok(Places::Uniform) };
        let (kind, value) = text.split_once(':').unwrap_or((text, ""));
        // The middle of the popular places is the end of the value.
        let (value, centre) = value.split_once('/').unwrap_or((value, ""));
        let number = |usual: f64| {
            if value.is_empty() { Some(usual) } else { value.parse::<f64>().ok() }
        };
        match kind {
            "zipf" => {
                let theta = number(ZIPF_THETA).filter(|theta| (0.0..=3.0).contains(theta));
                let theta = theta.ok_or_else(|| self.wrong(OPTION, text, "is not from 0 to 3"))?;
                if !centre.is_empty() {
                    self.note(format!("{OPTION}={text}: popular places are scattered here"));
                }
                Ok(Places::Zipf { exponent: theta })
            }
            "pareto" => {
                let h = number(PARETO_H).filter(|h| 0.0 < *h && *h < 0.5).ok_or_else(|| {
                    self.wrong(OPTION, text, "is not above 0 and below 0.5, which would be uniform")
                })?;
                self.note(format!(
                    "{OPTION}={text} is dealt out to {PARETO_STEPS} parts of the disk"
                ));
                Ok(Places::Hot(pareto(h)))
            }
            "zoned" if !text.contains(',') => {
                let zones = zones(text.split_once(':').map_or("", |(_, zones)| zones));
                zones.map(Places::Hot).ok_or_else(|| {
                    self.wrong(OPTION, text, "is no list IO/DISK:IO/DISK of percents up to 100")
                })
            }
            _ => Ok(Places::Uniform),
        }
    }

    /// The part of a value for a direction: reads, writes and trims stand between commas. One part
    /// is of all directions; an empty part says nothing.
    fn of_direction(&self, names: &[&str], direction: Direction) -> Option<&'a str> {
        let parts: Vec<&str> = self.get(names)?.split(',').map(str::trim).collect();
        let part = match direction {
            Direction::Write if parts.len() > 1 => parts.get(1),
            _ => parts.first(),
        };
        part.copied().filter(|part| !part.is_empty())
    }

    /// I/Os a second of one copy. Each direction has the rate, as in fio.
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

    /// Block sizes of a direction and their weights.
    fn sizes(&mut self, direction: Direction) -> Result<Vec<(u64, f64)>, FioError> {
        let sizes = if let Some(text) = self.of_direction(&["bssplit"], direction) {
            self.split(text)?
        } else if let Some(text) = self.of_direction(&["bsrange", "blocksize_range"], direction) {
            self.range(text)?
        } else {
            let text = self.of_direction(&["bs", "blocksize"], direction).unwrap_or("4k");
            vec![(self.block("bs", text)?, 1.0)]
        };
        let mut merged: Vec<(u64, f64)> = Vec::new();
        for (size, weight) in sizes {
            match merged.iter_mut().find(|(known, _)| *known == size) {
                Some((_, sum)) => *sum += weight,
                None => merged.push((size, weight)),
            }
        }
        Ok(merged)
    }

    /// A block size, in whole sectors.
    fn block(&mut self, option: &'static str, text: &str) -> Result<u64, FioError> {
        let bytes = self.bytes(option, text)?;
        if bytes == 0 || bytes > BLOCK_MAX {
            return Err(self.wrong(option, text, "is not from 1 B to 64 MiB"));
        }
        let whole = bytes.next_multiple_of(SECTOR);
        if whole != bytes {
            self.note(format!(
                "{option}={text} is {bytes} B: rounded up to {whole} B, a whole number of 512 B"
            ));
        }
        Ok(whole)
    }

    /// `SIZE/PERCENT:SIZE/PERCENT`; those without a percent share what is left.
    fn split(&mut self, text: &'a str) -> Result<Vec<(u64, f64)>, FioError> {
        let mut all: Vec<(u64, Option<f64>)> = Vec::new();
        for entry in text.split(':') {
            let (size, percent) = entry.split_once('/').unwrap_or((entry, ""));
            let percent = match percent.trim() {
                "" => None,
                percent => match percent.parse::<u32>() {
                    Ok(percent @ 0..=100) => Some(f64::from(percent)),
                    _ => return Err(self.wrong("bssplit", text, "has a share above 100 percent")),
                },
            };
            all.push((self.block("bssplit", size)?, percent));
        }
        let told: f64 = all.iter().filter_map(|(_, percent)| *percent).sum();
        let untold = all.iter().filter(|(_, percent)| percent.is_none()).count();
        if told > 100.0 {
            return Err(self.wrong("bssplit", text, "adds up to more than 100 percent"));
        }
        #[expect(clippy::cast_precision_loss, reason = "as many as stand in a line")]
        let each = (100.0 - told) / untold.max(1) as f64;
        let weights = all.into_iter().map(|(size, percent)| (size, percent.unwrap_or(each)));
        let weights: Vec<_> = weights.filter(|(_, weight)| *weight > 0.0).collect();
        if weights.is_empty() {
            return Err(self.wrong("bssplit", text, "has no share above 0"));
        }
        Ok(weights)
    }

    /// `LEAST-MOST`: multiples of the least, all alike.
    fn range(&mut self, text: &'a str) -> Result<Vec<(u64, f64)>, FioError> {
        let ends = text.split_once('-').or_else(|| text.split_once(':'));
        let Some((least, most)) = ends else {
            return Err(self.wrong("bsrange", text, "is no range LEAST-MOST"));
        };
        let (least, most) = (self.block("bsrange", least)?, self.block("bsrange", most)?);
        if most < least {
            return Err(self.wrong("bsrange", text, "ends below its beginning"));
        }
        let count = most / least;
        if count > RANGE_MAX {
            let why = format!("has {count} sizes, and a mix here at most {RANGE_MAX}");
            return Err(self.wrong("bsrange", text, why));
        }
        Ok((1..=count).map(|times| (times * least, 1.0)).collect())
    }
}

/// Shares of I/O and disk of a self-similar distribution, of which the share `1 - h` goes to `h` of
/// the disk, and so again inside it (Gray et al. 1994, section 3.1): the smallest part first, what
/// is behind the last is the rest.
fn pareto(h: f64) -> Vec<(f64, f64)> {
    let within = |steps: i32| ((1.0 - h).powi(steps), h.powi(steps));
    let (mut io_before, mut space_before) = (0.0, 0.0);
    let mut all = Vec::new();
    for steps in (1..PARETO_STEPS).rev() {
        let (io, space) = within(steps);
        all.push(((io - io_before) * 100.0, (space - space_before) * 100.0));
        (io_before, space_before) = (io, space);
    }
    all
}

/// The zones of `zoned:IO/DISK:IO/DISK`, without the last one if they are all of the disk.
fn zones(text: &str) -> Option<Vec<(f64, f64)>> {
    let zone = |text: &str| {
        let (io, space) = text.split_once('/')?;
        let percent = |text: &str| {
            text.trim().parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share))
        };
        percent(io).zip(percent(space)).filter(|(_, space)| *space > 0.0)
    };
    let mut all: Vec<(f64, f64)> = text.split(':').map(zone).collect::<Option<_>>()?;
    let (io, space) = all.iter().fold((0.0, 0.0), |sum, zone| (sum.0 + zone.0, sum.1 + zone.1));
    if io > 100.001 || space > 100.001 || (io < 99.999 && space > 99.999) {
        return None;
    }
    if space > 99.999 && all.len() > 1 {
        all.pop();
    }
    Some(all)
}
