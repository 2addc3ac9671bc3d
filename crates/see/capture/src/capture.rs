//! Captures I/O between a start and an end.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use trace::store::Machine;
use trace::{Clock, Device, IoRecord, Losses, TraceInfo};
use units::{Bytes, Nanos};

use crate::decode::{Decoder, Event, Kind};
use crate::devices::{Disk, Reach};
use crate::error::CaptureError;
use crate::join::{Counts, Joiner, Watched};
use crate::owner::{By, Owners, SenderFilter};
use crate::page::{self, PageLayout};
use crate::sieve::Sieve;
use crate::tally::Gap;
use crate::tracefs::{Instance, Tracefs};
use crate::window::Order;

/// Delay before events are joined. An event that another CPU began to write earlier may not be
/// readable yet.
const MARGIN_NS: u64 = 10_000_000;
const KIB: u64 = 1024;
/// Instance file with the share of a CPU's buffer, in percent, from which the buffer is readable to
/// `poll`; the kernel's default is 50. Kernels before 4.20 lack it, and wake a reader for each event.
const WAKING_SHARE: &str = "buffer_percent";
/// Maximum number of gaps listed separately.
const GAPS_MAX: usize = 1000;

/// Options of a capture.
#[derive(Debug, Clone)]
pub struct Options {
    /// Disks to capture, from [`crate::disks_of`].
    pub disks: Vec<Disk>,
    /// Kernel buffer of each CPU, 64 KiB or more. If the buffer fills between two calls of
    /// [`Capture::step`], the oldest events are lost and counted.
    pub buffer: Bytes,
    /// Property that distinguishes initiators of I/O.
    pub by: By,
    /// Initiators whose I/O is recorded.
    pub wanted: SenderFilter,
    /// Order of the records.
    pub order: Order,
}

/// Progress of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Time since the start.
    pub elapsed: Nanos,
    /// Events read for the captured disks.
    pub events: u64,
    /// Events lost because the kernel's buffer was full, as far as its pages show.
    pub lost: u64,
    /// Outcomes of the events.
    pub counts: Counts,
}

/// Result of a capture that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Final progress; here lost events are the kernel's own count.
    pub progress: Progress,
    /// CPU time of this process from start to end: reading, joining and everything else.
    pub cpu: Nanos,
    /// Times of lost events.
    pub gaps: Vec<Gap>,
    /// Unreadable entries of pages; 0 unless the kernel differs from all known ones.
    pub broken_pages: u64,
    /// Devices, initiators and losses.
    pub info: TraceInfo,
    /// Initiators that are virtual machines.
    pub machines: Vec<Machine>,
}

/// Pages of one CPU, and its events that wait for events of other CPUs.
#[derive(Debug)]
struct Cpu {
    number: u32,
    pages: File,
    waiting: VecDeque<Event>,
}

/// Capture in progress. It reads without blocking, and never blocks the kernel, which overwrites
/// unread events. Traced I/O wakes this process only in [`Capture::wait`].
#[derive(Debug)]
pub struct Capture {
    // Declared before the instance, so that its files are closed when the instance is removed.
    cpus: Vec<Cpu>,
    instance: Instance,
    /// True if the kernel can wake this process when half of a buffer is full.
    can_wake: bool,
    sieve: Sieve,
    layout: PageLayout,
    decoder: Decoder,
    joiner: Joiner,
    owners: Owners,
    disks: Vec<Disk>,
    page: Vec<u8>,
    /// Maximum number of pages read from one CPU at once: twice the CPU's buffer.
    pages_max: u64,
    batch: Vec<Event>,
    start: u64,
    /// Time up to which events have been joined.
    joined: u64,
    started_unix_ns: i64,
    cpu_start: u64,
    events: u64,
    lost: u64,
    gaps: Vec<Gap>,
    broken_pages: u64,
}

impl Capture {
    /// Starts a capture.
    ///
    /// # Errors
    /// If there is no tracefs, if this user may not use it, or if this kernel's events lack a
    /// needed field; [`CaptureError::hint`] has the hint.
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
            can_wake: instance.has(WAKING_SHARE),
            instance,
            sieve,
            decoder,
            joiner: Joiner::new(numbers_of(&options.disks), start, options.order)
                .over(&options.disks),
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

    /// Reads new events and appends the complete records, in the order of the options. Must be called
    /// several times a second, so that the buffers do not fill.
    ///
    /// # Errors
    /// If the kernel's pages become unreadable.
    pub fn step(&mut self, into: &mut Vec<IoRecord>) -> Result<Progress, CaptureError> {
        let time = now(ClockId::Monotonic);
        self.sieve.look(&self.instance, time)?;
        let horizon = self.read_pages()?.min(time.saturating_sub(MARGIN_NS));
        self.join_until(horizon);
        self.joiner.take(horizon, into);
        Ok(self.progress(time))
    }

    /// Waits for `longest`, or less if half of a CPU's buffer is full before; at least `shortest`.
    ///
    /// So a disk that was idle may begin with any load during a long wait. The wake-up costs a CPU
    /// some microseconds of the traced load, once for thousands of I/Os.
    pub fn wait(&self, shortest: Duration, longest: Duration) {
        // Also bounds the number of wake-ups, if a kernel reports buffers that are not half full.
        std::thread::sleep(shortest);
        let rest = longest.saturating_sub(shortest);
        if rest.is_zero() {
            return;
        }
        let timeout = Timespec::try_from(rest).ok().filter(|_| self.can_wake);
        let is_woken = timeout.is_some_and(|timeout| {
            let half_full = |cpu| PollFd::new(cpu, PollFlags::IN);
            let mut buffers: Vec<PollFd<'_>> =
                self.cpus.iter().map(|cpu| half_full(&cpu.pages)).collect();
            // A signal ends the wait early, and its handler has set a flag of the caller.
            !matches!(poll(&mut buffers, Some(&timeout)), Err(error) if error != Errno::INTR)
        });
        if !is_woken {
            std::thread::sleep(rest);
        }
    }

    /// Returns true until another program switches the kernel's events off.
    pub fn is_on(&self) -> bool {
        self.instance.read("tracing_on").is_ok_and(|text| text.trim() == "1")
    }

    /// Stops the kernel's events and appends the remaining records, including those that
    /// [`Capture::step`] still holds back. No records come after this call.
    ///
    /// # Errors
    /// As [`Capture::step`].
    pub fn drain(&mut self, into: &mut Vec<IoRecord>) -> Result<(), CaptureError> {
        self.instance.write("tracing_on", "0")?;
        while self.read_pages()? < u64::MAX {
            self.join_all_read();
        }
        self.join_until(u64::MAX);
        self.joiner.finish(into);
        Ok(())
    }

    /// Ends the capture, appends the remaining records and removes the tracing instance.
    ///
    /// # Errors
    /// As [`Capture::step`].
    pub fn finish(mut self, into: &mut Vec<IoRecord>) -> Result<Report, CaptureError> {
        let time = now(ClockId::Monotonic);
        self.drain(into)?;
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

    /// Returns devices, initiators and losses of the records so far. Initiators are added while the
    /// capture runs.
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

    /// Returns the start on this host's monotonic clock, which is time zero of the records.
    pub fn began(&self) -> Nanos {
        Nanos(self.start)
    }

    /// Returns the initiators that are virtual machines.
    pub fn machines(&self) -> &[Machine] {
        self.owners.machines()
    }

    /// Calls [`Capture::info`] if there are more initiators than `known`.
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

    /// Reads every CPU's pages until no page is left. Returns the time up to which events are
    /// complete. It is earlier if a CPU writes faster than this function reads.
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

    /// Reads one page of a CPU; returns true if there was a page.
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
                // Events read and joined before are older than the lost ones.
                self.joiner.lost(last, missed.before);
            }
            Ok(None) => {}
            Err(page::Broken) => self.broken_pages += 1,
        }
        Ok(true)
    }

    /// Joins events up to the last event of the CPU that is furthest behind, because that CPU has
    /// more to read.
    fn join_all_read(&mut self) {
        let last = |cpu: &Cpu| cpu.waiting.back().map(|event| event.time);
        let horizon = self.cpus.iter().filter_map(last).min().unwrap_or(u64::MAX);
        self.join_until(horizon);
    }

    /// Joins the events of all CPUs up to a time, sorted by time.
    fn join_until(&mut self, horizon: u64) {
        self.joined = self.joined.max(horizon.min(now(ClockId::Monotonic)));
        self.batch.clear();
        for cpu in &mut self.cpus {
            let count = cpu.waiting.partition_point(|event| event.time <= horizon);
            // Slices are copied at once, a drain one by one.
            let (front, back) = cpu.waiting.as_slices();
            let of_front = count.min(front.len());
            self.batch.extend_from_slice(&front[..of_front]);
            self.batch.extend_from_slice(&back[..count - of_front]);
            cpu.waiting.drain(..count);
        }
        // Each CPU's events are already in order, which makes a stable sort fast.
        self.batch.sort_by_key(|event| event.time);
        let owners = &mut self.owners;
        for event in &self.batch {
            let is_ours = self.joiner.push(event, &mut |event| owners.sender(event));
            self.events += u64::from(is_ours);
        }
    }
}

/// Nice value of the reading thread: ahead of ordinary programs, behind real-time ones.
const PRIORITY: i32 = -15;

/// Gives the calling thread a higher priority where allowed, so that buffers are read in time on a
/// busy computer.
pub fn raise_priority() {
    let _ = rustix::process::setpriority_process(None, PRIORITY);
}

/// Enables the needed events, for these disks only.
fn enable(instance: &Instance, disks: &[Disk], sieve: &mut Sieve) -> Result<Decoder, CaptureError> {
    let mut decoder = Decoder::default();
    for kind in kinds(instance, disks) {
        let directory = format!("events/block/{}", kind.name());
        let description = instance.read(&format!("{directory}/format"))?;
        decoder.learn(kind, &description).map_err(|field| CaptureError::Layout {
            path: instance.path().join(&directory).join("format"),
            reason: format!("the format has no field \"{field}\""),
        })?;
        sieve.add(instance, kind, disks)?;
        instance.write(&format!("{directory}/enable"), "1")?;
    }
    Ok(decoder)
}

/// Returns the kinds of events that these disks have on this kernel.
fn kinds(instance: &Instance, disks: &[Disk]) -> Vec<Kind> {
    let has = |reach| disks.iter().any(|disk| disk.reach == reach);
    let mut kinds = Vec::new();
    if has(Reach::Requests) {
        let is_new = instance.has("events/block/block_io_start");
        kinds.push(if is_new { Kind::Start } else { Kind::Insert });
        kinds.extend([Kind::Issue, Kind::Complete, Kind::Requeue, Kind::Merge, Kind::FrontMerge]);
        // Some kinds are newer than others. Without the last three, rare cases are counted as
        // unmatched.
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

/// Returns device numbers with the positions of their disks.
fn numbers_of(disks: &[Disk]) -> Vec<Watched> {
    let watched = |(place, disk): (u16, &Disk)| {
        let (reach, queues) = (disk.reach, disk.queues);
        disk.devs.iter().map(move |dev| Watched { dev: *dev, disk: place, reach, queues }).collect()
    };
    (0_u16..).zip(disks).flat_map::<Vec<_>, _>(watched).collect()
}

fn page_layout(instance: &Instance) -> Result<PageLayout, CaptureError> {
    let name = "events/header_page";
    PageLayout::parse(&instance.read(name)?).ok_or_else(|| CaptureError::Layout {
        path: instance.path().join(name),
        reason: "the format lacks a page's timestamp, commit or data".to_owned(),
    })
}

/// Returns the time of a clock, in nanoseconds.
fn now(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000) + u64::try_from(time.tv_nsec).unwrap_or(0)
}
