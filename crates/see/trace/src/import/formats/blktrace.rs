//! Binary block traces of Linux: one file, or one per CPU, which are merged by time.

use std::collections::HashMap;

use memchr::memmem;

use super::super::importer::Decode;
use super::super::input::{Input, wrong};
use super::super::kind::Kind;
use super::super::sink::{Bad, Moment, Sink};
use super::blocks::{Event, Matcher, Sender, TraceEvent, sectors_of};
use crate::{Flags, Operation, TraceError};

pub(in super::super) static FORMAT: Kind = Kind::binary(
    "blktrace",
    &["blkparse-binary"],
    "blktrace, binary: one file (blkparse -d) or all per-CPU files of a device",
    is_likely,
    open,
);

/// Size of an event without its payload, in bytes.
const HEADER: usize = 48;
/// Upper three bytes of the magic number; the lowest byte is the version.
const MAGIC: u32 = 0x6561_7400;
/// Version since 2006.
const VERSION: u32 = 7;
/// Buffer of a stream, in bytes: more than an event with the longest payload.
pub(in super::super) const BUFFER: usize = 128 << 10;
/// Number of events per step.
const STEP: usize = 1 << 14;
/// Maximum number of processes whose names are stored.
const PROCESSES_MAX: usize = 1 << 16;

/// Categories of an event, in the upper half of its action.
mod category {
    pub(super) const READ: u32 = 1;
    pub(super) const WRITE: u32 = 1 << 1;
    pub(super) const FLUSH: u32 = 1 << 2;
    pub(super) const SYNC: u32 = 1 << 3;
    pub(super) const PASS_THROUGH: u32 = 1 << 9;
    pub(super) const NOTIFY: u32 = 1 << 10;
    pub(super) const AHEAD: u32 = 1 << 11;
    pub(super) const META: u32 = 1 << 12;
    pub(super) const DISCARD: u32 = 1 << 13;
    pub(super) const FUA: u32 = 1 << 15;
}

/// Returns true if `head` begins with an event, in either byte order.
pub(in super::super) fn is_likely(head: &[u8]) -> bool {
    is_big(head).is_some()
}

/// Returns the byte order of an event at the beginning; true is big-endian.
fn is_big(head: &[u8]) -> Option<bool> {
    let head: [u8; 4] = head.get(..4)?.try_into().ok()?;
    let wanted = MAGIC | VERSION;
    if u32::from_le_bytes(head) == wanted {
        Some(false)
    } else if u32::from_be_bytes(head) == wanted {
        Some(true)
    } else {
        None
    }
}

fn open(input: Input, sink: &mut Sink) -> Result<Box<dyn Decode>, TraceError> {
    if !is_likely(input.bytes()) {
        return Err(wrong(input.path(), "it does not begin with blktrace's magic number"));
    }
    Ok(Box::new(Blktrace::new(vec![input], sink)))
}

/// Events of all streams of a trace.
pub(in super::super) struct Blktrace {
    streams: Vec<Stream>,
    matcher: Matcher,
    processes: HashMap<u32, Sender>,
}

impl Blktrace {
    /// Creates the decoder of these streams.
    pub(in super::super) fn new(inputs: Vec<Input>, sink: &mut Sink) -> Self {
        sink.real_times(1);
        sink.info.has_latency = true;
        let several = inputs.len() > 1;
        let stream = |input| Stream { input, big: None, next: None, is_done: false, several };
        let streams = inputs.into_iter().map(stream).collect();
        Self { streams, matcher: Matcher::default(), processes: HashMap::new() }
    }

    fn event(&mut self, event: &Raw, sink: &mut Sink) -> Result<(), Bad> {
        let categories = event.action >> 16;
        if categories & category::NOTIFY != 0 {
            self.notice(event, sink);
            sink.skip();
            return Ok(());
        }
        // Bit 8 means that the payload has the name of a control group.
        let kind = match event.action & 0xff {
            1 => Event::Queue,
            2 | 3 => Event::Merge,
            6 => Event::Requeue,
            7 => Event::Issue,
            8 => Event::Complete,
            _ => {
                sink.skip();
                return Ok(());
            }
        };
        let operation = operation(categories, event.bytes);
        let Some(operation) = operation.filter(|_| categories & category::PASS_THROUGH == 0) else {
            sink.skip();
            return Ok(());
        };
        let mut flags = flags(categories);
        if kind == Event::Complete && event.error != 0 {
            flags = flags.with(Flags::ERROR);
        }
        let count = sectors_of(event.bytes)?;
        let moment = Moment(i64::try_from(event.time).map_err(|_| TOO_LATE)?);
        let sender = match self.processes.get(&event.pid) {
            Some(sender) => *sender,
            None => self.matcher.senders.nobody(),
        };
        let device = format!("{},{}", event.device >> 20, event.device & 0xf_ffff);
        let device = sink.device(device.as_bytes());
        let sector = event.sector;
        let seen =
            TraceEvent { event: kind, moment, device, sender, operation, flags, sector, count };
        self.matcher.take(&seen, sink)
    }

    /// Handles an event that contains the name of a process, or a time of the wall clock.
    fn notice(&mut self, event: &Raw, sink: &mut Sink) {
        match event.action & 0xff {
            0 if self.processes.len() < PROCESSES_MAX => {
                let end = event.payload.iter().position(|byte| *byte == 0);
                let name = &event.payload[..end.unwrap_or(event.payload.len())];
                if !name.is_empty() {
                    self.processes.insert(event.pid, self.matcher.senders.number(name));
                }
            }
            1 if sink.origin_unix_ns.is_none() => {
                if let (Some((seconds, nanos)), Ok(time)) =
                    (event.wall_clock, i64::try_from(event.time))
                {
                    let wall = i64::from(seconds) * 1_000_000_000 + i64::from(nanos);
                    sink.origin_unix_ns = Some(wall.saturating_sub(time));
                }
            }
            _ => {}
        }
    }
}

const TOO_LATE: Bad = Bad::new("time", "is too large");

impl Decode for Blktrace {
    fn step(&mut self, sink: &mut Sink) -> Result<bool, TraceError> {
        for _ in 0..STEP {
            let mut first: Option<usize> = None;
            for at in 0..self.streams.len() {
                self.streams[at].advance(sink)?;
                let time = |at: usize| self.streams[at].next.as_ref().map(|event| event.time);
                if time(at).is_some() && first.is_none_or(|first| time(at) < time(first)) {
                    first = Some(at);
                }
            }
            let Some(first) = first else {
                self.matcher.finish(sink);
                return Ok(false);
            };
            let Some(event) = self.streams[first].next.take() else { continue };
            if let Err(bad) = self.event(&event, sink) {
                let place = self.streams[first].place(event.byte);
                sink.bad(place, bad, &[])?;
            }
        }
        Ok(true)
    }
}

/// An event, converted to the byte order of this host.
struct Raw {
    byte: u64,
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    pid: u32,
    device: u32,
    error: u16,
    /// Payload, up to the length of a name.
    payload: Vec<u8>,
    /// Seconds and nanoseconds since 1970, if the payload is a time.
    wall_clock: Option<(u32, u32)>,
}

/// A stream of events, from one file.
struct Stream {
    input: Input,
    big: Option<bool>,
    next: Option<Raw>,
    is_done: bool,
    /// True if there are several files, so that messages must name the file.
    several: bool,
}

impl Stream {
    /// Reads the event `next`, unless it has been read or the stream has ended.
    fn advance(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        while self.next.is_none() && !self.is_done {
            if !self.has(HEADER)? {
                return self.end(sink);
            }
            let bytes = self.input.bytes();
            let is_big_here = is_big(bytes);
            if is_big_here.is_none() || self.big.is_some_and(|big| Some(big) != is_big_here) {
                self.seek(sink)?;
                continue;
            }
            self.big = is_big_here;
            let payload = usize::from(self.u16_at(46));
            if !self.has(HEADER + payload)? {
                return self.end(sink);
            }
            let event = self.raw(payload);
            self.next = Some(event);
            self.input.consume(HEADER + payload);
        }
        Ok(())
    }

    fn raw(&self, payload: usize) -> Raw {
        let payload = &self.input.bytes()[HEADER..HEADER + payload];
        Raw {
            byte: self.input.offset(),
            time: self.u64_at(8),
            sector: self.u64_at(16),
            bytes: self.u32_at(24),
            action: self.u32_at(28),
            pid: self.u32_at(32),
            device: self.u32_at(36),
            error: self.u16_at(44),
            wall_clock: (payload.len() >= 8).then(|| (self.u32_at(48), self.u32_at(52))),
            payload: payload[..payload.len().min(16)].to_vec(),
        }
    }

    /// Reads more bytes if needed; returns true if `count` bytes are available.
    fn has(&mut self, count: usize) -> Result<bool, TraceError> {
        if self.input.bytes().len() < count {
            self.input.fill()?;
        }
        Ok(self.input.bytes().len() >= count)
    }

    /// Skips to the next magic number. The skipped bytes count as one bad record.
    fn seek(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        let place = self.place(self.input.offset());
        sink.bad(place, Bad::new("event", "does not begin with blktrace's magic number"), &[])?;
        let little = (MAGIC | VERSION).to_le_bytes();
        let big = (MAGIC | VERSION).to_be_bytes();
        // At least one byte is skipped at the first try.
        self.input.consume(1);
        loop {
            let bytes = self.input.bytes();
            let found = match self.big {
                Some(false) => memmem::find(bytes, &little),
                Some(true) => memmem::find(bytes, &big),
                None => [little, big].iter().filter_map(|magic| memmem::find(bytes, magic)).min(),
            };
            if let Some(at) = found {
                self.input.consume(at);
                return Ok(());
            }
            // The last three bytes may begin a magic number.
            self.input.consume(bytes.len().saturating_sub(3));
            if !self.input.fill()? {
                self.input.consume(self.input.bytes().len());
                return Ok(());
            }
        }
    }

    /// Handles the end of the stream, which may cut an event short.
    fn end(&mut self, sink: &mut Sink) -> Result<(), TraceError> {
        self.is_done = true;
        let rest = self.input.bytes().len();
        let place = self.place(self.input.offset());
        if rest > 0 {
            sink.bad(&place, Bad::new("last event", "is cut short"), &[])?;
        }
        if self.input.is_cut() {
            sink.bad(&place, Bad::new("compressed trace", "is cut short here"), &[])?;
        }
        Ok(())
    }

    fn place(&self, byte: u64) -> String {
        if self.several {
            let path = self.input.path();
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            format!("{name}, event at byte {byte}")
        } else {
            format!("event at byte {byte}")
        }
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut array = [0; N];
        array.copy_from_slice(&self.input.bytes()[at..at + N]);
        if self.big == Some(true) {
            array.reverse();
        }
        array
    }

    fn u16_at(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.array(at))
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    fn u64_at(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }
}

/// Returns the operation of an event, by its categories; `None` for an event without data or flush.
fn operation(categories: u32, bytes: u32) -> Option<Operation> {
    let is = |category: u32| categories & category != 0;
    if is(category::FLUSH) && bytes == 0 {
        Some(Operation::Flush)
    } else if bytes == 0 {
        None
    } else if is(category::DISCARD) {
        Some(Operation::Discard)
    } else if is(category::WRITE) {
        Some(Operation::Write)
    } else if is(category::READ) {
        Some(Operation::Read)
    } else {
        None
    }
}

fn flags(categories: u32) -> Flags {
    let pairs = [
        (category::FLUSH, Flags::PREFLUSH),
        (category::FUA, Flags::FUA),
        (category::SYNC, Flags::SYNC),
        (category::AHEAD, Flags::READAHEAD),
        (category::META, Flags::META),
    ];
    pairs
        .iter()
        .filter(|(category, _)| categories & category != 0)
        .fold(Flags::NONE, |flags, (_, flag)| flags.with(*flag))
}
