//! Combines the several events that Linux's block layer traces for an I/O.
//!
//! An I/O is queued (Q), may be merged into another (M, F), is given to the driver (D) and
//! completes (C). Stacked devices have no D. Counting both Q and D would count the I/O twice. So Q,
//! D and C with the same device, sector and operation become one record: issued at Q, or at D if Q
//! was not seen.

use std::collections::{BTreeMap, VecDeque};

use units::Nanos;

use super::super::fields::sectors;
use super::super::names::Names;
use super::super::sink::{Bad, Moment, NOBODY, Sink};
use crate::{DeviceIndex, Flags, IoRecord, Operation, VmIndex};

/// Maximum number of waiting events of each kind. Beyond it, the oldest is handed out as it is.
const WAITING_MAX: usize = 1 << 13;
/// Size of a sector, in bytes.
const SECTOR: u64 = 512;

/// Kind of an I/O's event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// The block layer got the I/O.
    Queue,
    /// The block layer merged the I/O into another.
    Merge,
    /// The driver got the I/O.
    Issue,
    /// The driver returned the I/O to the block layer.
    Requeue,
    /// The I/O completed.
    Complete,
}

/// Number of a process in [`Senders`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sender(u16);

/// Processes named in events. A process becomes an initiator of the trace when the first of its own
/// I/Os is handed out. A worker that only dispatches or completes I/O of others never becomes one.
#[derive(Default)]
pub(super) struct Senders {
    numbers: Names,
    known: Vec<(Box<[u8]>, Option<VmIndex>)>,
}

impl Senders {
    /// Returns the number of the process with this name.
    pub(super) fn number(&mut self, name: &[u8]) -> Sender {
        let (number, is_new) = self.numbers.number(name);
        if is_new {
            self.known.push((name.into(), None));
        }
        Sender(number)
    }

    /// Returns the number for processes with an unknown name.
    pub(super) fn nobody(&mut self) -> Sender {
        self.number(NOBODY.as_bytes())
    }

    fn vm(&mut self, sender: Sender, sink: &mut Sink) -> VmIndex {
        match self.known.get_mut(usize::from(sender.0)) {
            Some((_, Some(vm))) => *vm,
            Some((name, vm)) => *vm.insert(sink.vm(name)),
            None => sink.vm(NOBODY.as_bytes()),
        }
    }
}

/// An event as the trace contains it.
#[derive(Debug, Clone, Copy)]
pub(super) struct TraceEvent {
    pub(super) event: Event,
    pub(super) moment: Moment,
    pub(super) device: DeviceIndex,
    pub(super) sender: Sender,
    pub(super) operation: Operation,
    pub(super) flags: Flags,
    /// Number of the first sector.
    pub(super) sector: u64,
    /// Number of sectors.
    pub(super) count: u64,
}

/// Key of an I/O in progress: device, sector, operation, and a number to distinguish I/Os with the
/// same first three.
type Key = (u16, u64, Operation, u64);

/// Converts events to records.
#[derive(Default)]
pub(super) struct Matcher {
    queued: Waiting,
    issued: Waiting,
    pub(super) senders: Senders,
}

/// An I/O in progress.
#[derive(Debug, Clone, Copy)]
struct Under {
    record: IoRecord,
    moment: Moment,
    sender: Sender,
    /// Time at which the driver got the I/O.
    issued: Option<Moment>,
    /// Sectors that are not completed yet.
    left: u64,
}

impl Matcher {
    /// Processes an event. Its row becomes a record, now or later, or counts as a skipped row.
    pub(super) fn take(&mut self, seen: &TraceEvent, sink: &mut Sink) -> Result<(), Bad> {
        match seen.event {
            Event::Queue => {
                let under = seen.under()?;
                let over = self.queued.put(seen.key(), under);
                self.hand_out(over, sink);
            }
            Event::Merge => {
                sink.skip();
                if self.queued.first(seen.key()).is_some() {
                    sink.skip();
                }
            }
            Event::Issue => self.issue(seen, sink)?,
            Event::Requeue => {
                sink.skip();
                if let Some(under) = self.issued.first(seen.key()) {
                    let over = self.queued.put(seen.key(), Under { issued: None, ..under });
                    self.hand_out(over, sink);
                }
            }
            Event::Complete => self.complete(seen, sink),
        }
        Ok(())
    }

    /// Hands out the I/Os in progress, whose completion is not in this trace.
    pub(super) fn finish(&mut self, sink: &mut Sink) {
        let queued = self.queued.take_all();
        let issued = self.issued.take_all();
        self.hand_out(queued, sink);
        self.hand_out(issued, sink);
    }

    fn hand_out(&mut self, all: impl IntoIterator<Item = Under>, sink: &mut Sink) {
        for under in all {
            let vm = self.senders.vm(under.sender, sink);
            sink.push(under.moment, IoRecord { vm, ..under.record });
        }
    }

    fn issue(&mut self, seen: &TraceEvent, sink: &mut Sink) -> Result<(), Bad> {
        let mut under = seen.under()?;
        if let Some(queued) = self.queued.first(seen.key()) {
            sink.skip();
            under.moment = queued.moment.min(seen.moment);
            under.sender = queued.sender;
            under.record.flags = under.record.flags.with(queued.record.flags);
            under.record.queue = Some(between(under.moment, seen.moment));
        }
        under.issued = Some(seen.moment);
        let over = self.issued.put(seen.key(), under);
        self.hand_out(over, sink);
        Ok(())
    }

    /// Completes an issued I/O, or a queued I/O on a device without a driver. If the I/O began
    /// before the trace, the row only counts as skipped.
    fn complete(&mut self, seen: &TraceEvent, sink: &mut Sink) {
        sink.skip();
        let key = seen.key();
        let found = self.issued.first(key).or_else(|| self.queued.first(key));
        let Some(mut under) = found else { return };
        under.record.flags = under.record.flags.with(seen.flags);
        under.left = under.left.saturating_sub(seen.count);
        if under.left > 0 && seen.count > 0 {
            // The rest completes by itself, and its end is that of the I/O.
            let rest = TraceEvent { sector: seen.sector.saturating_add(seen.count), ..*seen };
            let over = self.issued.put(rest.key(), under);
            self.hand_out(over, sink);
            return;
        }
        let began = under.issued.unwrap_or(under.moment);
        under.record.device_time = Some(between(began, seen.moment));
        self.hand_out([under], sink);
    }
}

impl TraceEvent {
    fn under(&self) -> Result<Under, Bad> {
        let mut record = match self.operation {
            Operation::Flush => IoRecord::new(Nanos::ZERO, Operation::Flush, 0, 0),
            operation => sectors(operation, self.sector, self.count)?,
        };
        (record.device, record.flags) = (self.device, self.flags);
        let (moment, sender) = (self.moment, self.sender);
        Ok(Under { record, moment, sender, issued: None, left: self.count })
    }

    fn key(&self) -> Key {
        let sector = if self.operation == Operation::Flush { 0 } else { self.sector };
        (self.device.0, sector, self.operation, 0)
    }
}

fn between(from: Moment, to: Moment) -> Nanos {
    Nanos(u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0))
}

/// Waiting I/Os, by key and by age.
#[derive(Default)]
struct Waiting {
    by_place: BTreeMap<Key, Under>,
    by_age: VecDeque<Key>,
    number: u64,
}

impl Waiting {
    /// Adds an I/O, and returns the oldest ones if there are too many.
    fn put(&mut self, (device, sector, operation, _): Key, under: Under) -> Vec<Under> {
        let mut over = Vec::new();
        self.number += 1;
        let key = (device, sector, operation, self.number);
        self.by_place.insert(key, under);
        self.by_age.push_back(key);
        while self.by_place.len() > WAITING_MAX {
            let Some(eldest) = self.by_age.pop_front() else { break };
            if let Some(under) = self.by_place.remove(&eldest) {
                over.push(under);
            }
        }
        if self.by_age.len() > 4 * WAITING_MAX {
            self.by_age.retain(|key| self.by_place.contains_key(key));
        }
        over
    }

    /// Takes the oldest I/O with this device, sector and operation.
    fn first(&mut self, (device, sector, operation, _): Key) -> Option<Under> {
        let from = (device, sector, operation, 0);
        let to = (device, sector, operation, u64::MAX);
        let key = *self.by_place.range(from..=to).next()?.0;
        self.by_place.remove(&key)
    }

    /// Takes all I/Os, sorted by key.
    fn take_all(&mut self) -> Vec<Under> {
        self.by_age.clear();
        std::mem::take(&mut self.by_place).into_values().collect()
    }
}

/// Parses flags and operation from blkparse's letters; `None` for a request that neither moves data
/// nor flushes. An `F` before the direction is a flush before the I/O; after the direction it is
/// force unit access.
pub(super) fn of_letters(letters: &[u8], count: u64) -> Option<(Operation, Flags)> {
    let mut flags = Flags::NONE;
    let mut operation = None;
    for letter in letters {
        match letter {
            b'F' if operation.is_none() => flags = flags.with(Flags::PREFLUSH),
            b'F' => flags = flags.with(Flags::FUA),
            b'R' => operation = Some(Operation::Read),
            b'W' => operation = Some(Operation::Write),
            // The letters "DE" are a secure erase.
            b'D' | b'E' => operation = Some(Operation::Discard),
            b'S' => flags = flags.with(Flags::SYNC),
            b'A' => flags = flags.with(Flags::READAHEAD),
            b'M' => flags = flags.with(Flags::META),
            _ => {}
        }
    }
    let is_flush = flags.has(Flags::PREFLUSH) && count == 0;
    Some((if is_flush { Operation::Flush } else { operation? }, flags))
}

/// Converts `bytes` to a number of sectors.
pub(super) fn sectors_of(bytes: u32) -> Result<u64, Bad> {
    let bytes = u64::from(bytes);
    if bytes.is_multiple_of(SECTOR) {
        Ok(bytes / SECTOR)
    } else {
        Err(Bad::new("length", "is not a multiple of 512 B"))
    }
}
