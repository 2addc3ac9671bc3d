//! A capture from its start to its end.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};

use rustix::time::{ClockId, clock_gettime};
use trace::store::Machine;
use trace::{Clock, Device, IoRecord, Losses, TraceInfo};
use units::{Bytes, Nanos};

use crate::decode::{Decoder, Event, Kind};
use crate::devices::{Disk, Reach};
use crate::error::CaptureError;
use crate::join::{Counts, Joiner, Watched};
use crate::owner::{By, Owners, Wanted};
use crate::page::{self, PageLayout};
use crate::sieve::Sieve;
use crate::tally::Gap;
use crate::tracefs::{Instance, Tracefs};

/// Events younger than this wait for the next turn: one that another CPU began to write before
/// them may not be readable yet.
const MARGIN_NS: u64 = 10_000_000;
const KIB: u64 = 1024;
/// Gaps that are told apart.
const GAPS_MAX: usize = 1000;

/// What to capture.
#[derive(Debug, Clone)]
pub struct Options {
    /// The disks to watch, of [`crate::disks_of`].
    pub disks: Vec<Disk>,
    /// The kernel's buffer of each CPU, 64 KiB or more; when it is full between two calls of
    /// [`Capture::step`], the oldest events are lost and counted.
    pub buffer: Bytes,
    /// What those who send I/O are told apart by.
    pub by: By,
    /// Whose I/O is recorded.
    pub wanted: Wanted,
}

/// How far a capture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Since its start.
    pub elapsed: Nanos,
    /// Events read of the disks that are watched.
    pub events: u64,
    /// Events the kernel had no room for, as far as its pages tell by now.
    pub lost: u64,
    /// What became of them.
    pub counts: Counts,
}

/// A capture that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its length, its events and what became of them; lost events by the kernel's own count.
    pub progress: Progress,
    /// CPU time of this process from start to end: reading, joining, and whatever else it did.
    pub cpu: Nanos,
    /// When events were lost.
    pub gaps: Vec<Gap>,
    /// Entries of pages that could not be understood; 0 unless the kernel is unlike any known.
    pub broken_pages: u64,
    /// Devices, senders and losses.
    pub info: TraceInfo,
    /// The senders that are virtual machines.
    pub machines: Vec<Machine>,
}

/// The pages of one CPU, and its events that wait for those of others.
#[derive(Debug)]
struct Cpu {
    number: u32,
    pages: File,
    waiting: VecDeque<Event>,
}

/// A running capture. It reads without waiting and is never waited for: the kernel overwrites
/// what is not read in time, and nothing that is traced wakes us up.
#[derive(Debug)]
pub struct Capture {
    // Before the instance: its files must be closed when it is removed.
    cpus: Vec<Cpu>,
    instance: Instance,
    sieve: Sieve,
    layout: PageLayout,
    decoder: Decoder,
    joiner: Joiner,
    owners: Owners,
    disks: Vec<Disk>,
    page: Vec<u8>,
    /// Read of one CPU at once at most: twice its buffer.
    pages_max: u64,
    batch: Vec<Event>,
    start: u64,
    /// Events up to this time have been joined.
    joined: u64,
    started_unix_ns: i64,
    cpu_start: u64,
    events: u64,
    lost: u64,
    gaps: Vec<Gap>,
    broken_pages: u64,
}

impl Capture {
    /// Begins to capture.
    ///
    /// # Errors
    /// Where there is no tracefs, or it may not be used, or this kernel's events lack what is
    /// needed; [`CaptureError::hint`] says what helps.
    pub fn start(options: Options) -> Result<Self, CaptureError> {
        let instance = Tracefs::find()?.instance()?;
        instance.write("trace_clock", "mono")?;
        let kib = options.buffer.get().div_ceil(KIB).max(64);
        instance.write("buffer_size_kb", &kib.to_string())?;
        instance.write("options/overwrite", "1")?;
        let mut sieve = Sieve::new(&options.disks, now(ClockId::Monotonic));
        let decoder = enable(&instance, &options.disks, &mut sieve)?;
        let layout = page_layout(&instance)?;
        let numbers = instance.cpus()?;
        let cpu = |number| {
            let pages = instance.pages(number)?;
            Ok(Cpu { number, pages, waiting: VecDeque::new() })
        };
        let cpus: Vec<Cpu> = numbers.into_iter().map(cpu).collect::<Result<_, CaptureError>>()?;
        let start = now(ClockId::Monotonic);
        let started_unix_ns = i64::try_from(now(ClockId::Realtime)).unwrap_or(0);
        instance.write("tracing_on", "1")?;
        Ok(Self {
            cpus,
            instance,
            sieve,
            decoder,
            joiner: Joiner::new(numbers_of(&options.disks), start),
            owners: Owners::new(options.by, options.wanted),
            disks: options.disks,
            page: vec![0; layout.page_bytes()],
            pages_max: 2 * kib * KIB / layout.page_bytes() as u64,
            layout,
            batch: Vec::new(),
            start,
            joined: start,
            started_unix_ns,
            cpu_start: now(ClockId::ProcessCPUTime),
            events: 0,
            lost: 0,
            gaps: Vec::new(),
            broken_pages: 0,
        })
    }

    /// Reads what has happened and appends the records that are complete, in order of issue;
    /// to be called several times a second, often enough that the buffers do not fill.
    ///
    /// # Errors
    /// Where the kernel's pages cannot be read any more.
    pub fn step(&mut self, into: &mut Vec<IoRecord>) -> Result<Progress, CaptureError> {
        let time = now(ClockId::Monotonic);
        self.sieve.look(&self.instance, time)?;
        let horizon = self.read_pages()?.min(time.saturating_sub(MARGIN_NS));
        self.join_until(horizon);
        self.joiner.take(horizon, into);
        Ok(self.progress(time))
    }

    /// Ends the capture, appends the rest of its records and removes its instance.
    ///
    /// # Errors
    /// As [`Capture::step`].
    pub fn finish(mut self, into: &mut Vec<IoRecord>) -> Result<Report, CaptureError> {
        self.instance.write("tracing_on", "0")?;
        let time = now(ClockId::Monotonic);
        while self.read_pages()? < u64::MAX {
            self.join_all_read();
        }
        self.join_until(u64::MAX);
        self.joiner.finish(into);
        let counted: u64 = self.cpus.iter().map(|cpu| self.instance.lost(cpu.number)).sum();
        self.lost = self.lost.max(counted);
        Ok(Report {
            progress: self.progress(time),
            cpu: Nanos(now(ClockId::ProcessCPUTime).saturating_sub(self.cpu_start)),
            gaps: std::mem::take(&mut self.gaps),
            broken_pages: self.broken_pages,
            info: self.info(),
            machines: self.machines().to_vec(),
        })
    }

    /// What is known of the records so far; senders are added while it runs.
    pub fn info(&self) -> TraceInfo {
        let device = |disk: &Disk| Device { name: disk.name.clone(), size: Some(disk.size) };
        let counts = self.joiner.counts();
        TraceInfo {
            format: "record",
            clock: Clock::Real { resolution: Nanos(1) },
            started_unix_ns: Some(self.started_unix_ns),
            has_latency: true,
            vms: self.owners.names().to_vec(),
            devices: self.disks.iter().map(device).collect(),
            losses: Losses {
                bad: self.broken_pages,
                dropped: self.lost,
                skipped: counts.steps + counts.unwanted,
                ..Losses::default()
            },
        }
    }

    /// When it began, by this host's monotonic clock: time zero of the records.
    pub fn began(&self) -> Nanos {
        Nanos(self.start)
    }

    /// The senders that are virtual machines.
    pub fn machines(&self) -> &[Machine] {
        self.owners.machines()
    }

    /// [`Capture::info`] when there are more senders than `known`.
    pub fn info_if_more_than(&self, known: usize) -> Option<TraceInfo> {
        (self.owners.names().len() > known).then(|| self.info())
    }

    fn progress(&self, time: u64) -> Progress {
        Progress {
            elapsed: Nanos(time.saturating_sub(self.start)),
            events: self.events,
            lost: self.lost,
            counts: self.joiner.counts(),
        }
    }

    /// Reads every CPU's pages until there are none; the time up to which nothing is missing,
    /// which is an earlier one where a CPU writes faster than we read.
    fn read_pages(&mut self) -> Result<u64, CaptureError> {
        let mut complete = u64::MAX;
        for index in 0..self.cpus.len() {
            let mut pages = 0;
            while self.read_page(index)? {
                pages += 1;
                if pages >= self.pages_max {
                    let last = self.cpus[index].waiting.back().map_or(0, |event| event.time);
                    complete = complete.min(last);
                    break;
                }
            }
        }
        Ok(complete)
    }

    /// Reads one page of a CPU; whether there was one.
    fn read_page(&mut self, index: usize) -> Result<bool, CaptureError> {
        let cpu = &mut self.cpus[index];
        let length = match cpu.pages.read(&mut self.page) {
            Ok(0) => return Ok(false),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(source) => return Err(CaptureError::io(self.instance.path(), source)),
        };
        let last = cpu.waiting.back().map_or(self.joined, |event| event.time);
        let (decoder, waiting) = (&self.decoder, &mut cpu.waiting);
        let missed = page::read(&self.layout, &self.page[..length], |time, data| {
            if let Some(event) = decoder.decode(time, data) {
                waiting.push_back(event);
            }
        });
        match missed {
            Ok(Some(missed)) => {
                let events = missed.count.unwrap_or(1);
                self.lost += events;
                let since = |time: u64| time.saturating_sub(self.start);
                let gap = Gap { from_ns: since(last), to_ns: since(missed.before), events };
                gap.add_to(&mut self.gaps, GAPS_MAX);
                // What was read and joined before is older than anything that was lost.
                self.joiner.lost(last, missed.before);
            }
            Ok(None) => {}
            Err(page::Broken) => self.broken_pages += 1,
        }
        Ok(true)
    }

    /// Joins what all CPUs have told, when one of them still has more to tell.
    fn join_all_read(&mut self) {
        let last = |cpu: &Cpu| cpu.waiting.back().map(|event| event.time);
        let horizon = self.cpus.iter().filter_map(last).min().unwrap_or(u64::MAX);
        self.join_until(horizon);
    }

    /// Joins the events up to a time, those of all CPUs in order of time.
    fn join_until(&mut self, horizon: u64) {
        self.joined = self.joined.max(horizon.min(now(ClockId::Monotonic)));
        self.batch.clear();
        for cpu in &mut self.cpus {
            let count = cpu.waiting.partition_point(|event| event.time <= horizon);
            // Slices are copied as they are, a drain one by one.
            let (front, back) = cpu.waiting.as_slices();
            let of_front = count.min(front.len());
            self.batch.extend_from_slice(&front[..of_front]);
            self.batch.extend_from_slice(&back[..count - of_front]);
            cpu.waiting.drain(..count);
        }
        // Each CPU's events are in order already, which a stable sort makes use of.
        self.batch.sort_by_key(|event| event.time);
        let owners = &mut self.owners;
        for event in &self.batch {
            let is_ours = self.joiner.push(event, &mut |event| owners.sender(event));
            self.events += u64::from(is_ours);
        }
    }
}

/// Switches on the events that the disks need, for these disks only.
fn enable(instance: &Instance, disks: &[Disk], sieve: &mut Sieve) -> Result<Decoder, CaptureError> {
    let mut decoder = Decoder::default();
    for kind in kinds(instance, disks) {
        let directory = format!("events/block/{}", kind.name());
        let description = instance.read(&format!("{directory}/format"))?;
        decoder.learn(kind, &description).map_err(|field| CaptureError::Layout {
            path: instance.path().join(&directory).join("format"),
            reason: format!("no field \"{field}\" is described"),
        })?;
        sieve.add(instance, kind, disks)?;
        instance.write(&format!("{directory}/enable"), "1")?;
    }
    Ok(decoder)
}

/// The kinds of events these disks have on this kernel.
fn kinds(instance: &Instance, disks: &[Disk]) -> Vec<Kind> {
    let has = |reach| disks.iter().any(|disk| disk.reach == reach);
    let mut kinds = Vec::new();
    if has(Reach::Requests) {
        let is_new = instance.has("events/block/block_io_start");
        kinds.push(if is_new { Kind::Start } else { Kind::Insert });
        kinds.extend([Kind::Issue, Kind::Complete, Kind::Requeue, Kind::Merge, Kind::FrontMerge]);
        // Some were added later than others; without the last three rare cases are counted
        // as unmatched.
        kinds.retain(|kind| {
            matches!(kind, Kind::Issue | Kind::Complete)
                || instance.has(&format!("events/block/{}", kind.name()))
        });
    }
    if has(Reach::Bios) {
        kinds.extend([Kind::BioQueue, Kind::BioComplete, Kind::BioSplit]);
    }
    kinds
}

/// Every device number with its disk's position.
fn numbers_of(disks: &[Disk]) -> Vec<Watched> {
    let watched = |(place, disk): (u16, &Disk)| {
        let reach = disk.reach;
        disk.devs.iter().map(move |dev| Watched { dev: *dev, disk: place, reach }).collect()
    };
    (0_u16..).zip(disks).flat_map::<Vec<_>, _>(watched).collect()
}

fn page_layout(instance: &Instance) -> Result<PageLayout, CaptureError> {
    let name = "events/header_page";
    PageLayout::parse(&instance.read(name)?).ok_or_else(|| CaptureError::Layout {
        path: instance.path().join(name),
        reason: "a page's timestamp, commit and data are not described".to_owned(),
    })
}

/// A clock in nanoseconds.
fn now(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000) + u64::try_from(time.tv_nsec).unwrap_or(0)
}
