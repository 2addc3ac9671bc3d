//! Joins the events of one I/O into one record.
//!
//! A request is identified by disk, operation and first sector, because the kernel gives it no
//! number. Order of the events: kernel `block/blk-mq.c` (`blk_mq_submit_bio`,
//! `blk_mq_start_request`, `blk_update_request`, `blk_mq_requeue_request`), `block/blk-merge.c`,
//! `block/blk-flush.c`.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use trace::{DeviceIndex, Flags, IoRecord, Operation};
use units::Nanos;

use crate::decode::{Event, Kind};
use crate::devices::{Disk, Reach};
use crate::moved::MovedEnds;
use crate::owner::Sender;
use crate::stack::{Stack, UnderWay};
use crate::window::{Order, Ticket, Window};

/// Bytes of a sector in the kernel's events.
const SECTOR: u64 = 512;
/// Longest wait for the completion of an I/O. After it the I/O is abandoned, so that later I/Os can
/// be returned. One minute is twice the time after which the kernel itself reports a hung request.
const PATIENCE_NS: u64 = 60_000_000_000;
/// Longest wait for the completion of an I/O that holds back no other I/O, so that an I/O of
/// minutes is still recorded.
// Not longer, because an I/O whose end was lost counts as outstanding until then.
const PATIENCE_UNORDERED_NS: u64 = 300_000_000_000;
/// Maximum number of I/Os in memory, including completed I/Os behind open ones.
const HELD_MAX: usize = 1 << 20;

/// Outcomes of all events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Number of records.
    pub records: u64,
    /// I/Os of initiators that are not recorded.
    pub unwanted: u64,
    /// Completions without a matching I/O: it was submitted before the capture began, its other
    /// events were lost, or it cannot be distinguished from others.
    pub unmatched: u64,
    /// I/Os that had not completed at the end of the capture.
    pub unfinished: u64,
    /// I/Os that did not complete within a minute. Also I/Os that were open when events were lost,
    /// or that cannot be distinguished from such an I/O.
    pub abandoned: u64,
    /// Requests that were merged into another request.
    pub merged: u64,
    /// Flushes that shared a device flush with another flush.
    pub shared_flushes: u64,
    /// Requests that the driver gave back and received again.
    pub requeued: u64,
    /// Bios that were split in two.
    pub split: u64,
    /// Events that arrived after later ones, because a CPU was delayed between taking the time and
    /// writing the event. An I/O that begins with such an event gets the time of the event before
    /// it.
    pub late: u64,
    /// Completions of the steps of a write with a flush or FUA, which are not separate I/Os.
    pub steps: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    disk: u16,
    operation: Operation,
    sector: u64,
}

/// I/O that has not completed.
#[derive(Debug, Clone, Copy)]
struct Open {
    ticket: Ticket,
    record: IoRecord,
    /// Time at which the device received the I/O.
    issued: Option<u64>,
    /// Sectors not yet completed.
    remaining: u32,
    is_wanted: bool,
    is_kernel: bool,
    /// Entry among the I/Os in progress on disks that are made of others.
    under_way: Option<UnderWay>,
}

/// Open I/Os of a key. Most keys have one; an empty vector costs nothing.
#[derive(Debug)]
struct Entry {
    first: Open,
    more: Vec<Open>,
}

/// State of a disk.
#[derive(Debug, Default)]
struct State {
    outstanding: u32,
    /// Flushes that wait for a device flush to begin.
    flushes: Vec<Open>,
    /// Device flushes in flight.
    flying: Vec<Open>,
    /// Initiator of the last write with FUA or PREFLUSH.
    flusher: Option<Sender>,
    /// End offsets of the last read and of the last write.
    ends: [Option<u64>; 2],
}

/// Device number of a disk or partition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watched {
    pub dev: u32,
    /// Position of the device's disk in the list.
    pub disk: u16,
    /// Kind of events that count for the disk. Bios also appear on disks with requests, and would
    /// be counted twice there.
    pub reach: Reach,
    /// Hardware queues of the disk. Each has at most one flush in flight (kernel
    /// `block/blk-flush.c`).
    pub queues: usize,
}

/// Time in which events of some CPU were lost.
#[derive(Debug, Clone, Copy)]
struct Gap {
    from: u64,
    before: u64,
}

/// Joins events, which must come in order of time.
///
/// Around lost events no conclusions are drawn. An I/O that is open when a gap begins, or that
/// begins or ends in a gap, makes no record. Neither does a completion that may belong to such an
/// I/O.
#[derive(Debug)]
pub(crate) struct Joiner {
    /// Watched devices, sorted by device number.
    watched: Vec<Watched>,
    states: Vec<State>,
    stack: Stack,
    moved_ends: Vec<MovedEnds>,
    open: FxHashMap<Key, Entry>,
    window: Window<Key>,
    start: u64,
    /// Time of the latest event.
    latest: u64,
    /// Gaps whose end no event has passed yet.
    gaps: VecDeque<Gap>,
    /// Keys of I/Os that were open when the last gap began. The next completion with such a key may
    /// belong to that I/O.
    doubtful: FxHashSet<Key>,
    /// Time until which I/Os whose beginning was lost may be in flight.
    uncounted_until: u64,
    counts: Counts,
}

impl Joiner {
    /// Creates a joiner for these devices; times count from `start`.
    pub fn new(mut watched: Vec<Watched>, start: u64, order: Order) -> Self {
        watched.sort_unstable_by_key(|device| device.dev);
        let count = watched.iter().map(|device| usize::from(device.disk) + 1).max().unwrap_or(0);
        Self {
            watched,
            states: (0..count).map(|_| State::default()).collect(),
            stack: Stack::default(),
            moved_ends: Vec::new(),
            open: FxHashMap::default(),
            window: Window::new(order),
            start,
            latest: start,
            gaps: VecDeque::new(),
            doubtful: FxHashSet::default(),
            uncounted_until: 0,
            counts: Counts::default(),
        }
    }

    /// Makes the joiner mark I/Os that are parts of an I/O on an upper disk, by how the disks are
    /// made of each other.
    pub fn over(self, disks: &[Disk]) -> Self {
        let moved_ends = disks.iter().filter_map(|disk| disk.moved_ends).collect();
        Self { stack: Stack::new(disks), moved_ends, ..self }
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Adds a gap: events between `from` and `before` were lost.
    pub fn lost(&mut self, from: u64, before: u64) {
        self.gaps.push_back(Gap { from, before });
    }

    /// Enters and leaves gaps; returns true if the time is in a gap.
    fn is_in_gap(&mut self, time: u64) -> bool {
        if self.gaps.iter().any(|gap| gap.from < time) {
            self.drop_all();
        }
        self.gaps.retain(|gap| {
            let is_over = gap.from < time && gap.before <= time;
            if is_over {
                let until = gap.before.saturating_add(PATIENCE_NS);
                self.uncounted_until = self.uncounted_until.max(until);
            }
            !is_over
        });
        self.gaps.iter().any(|gap| gap.from < time)
    }

    /// Drops all open I/Os without records.
    fn drop_all(&mut self) {
        let mut doubtful = FxHashSet::default();
        for (key, entry) in std::mem::take(&mut self.open) {
            doubtful.insert(key);
            for open in entry.more.iter().chain([&entry.first]) {
                self.window.gone(open.ticket);
                self.counts.abandoned += 1;
            }
        }
        for (disk, state) in (0..).zip(&mut self.states) {
            for open in state.flushes.iter().chain(&state.flying) {
                doubtful.insert(Key { disk, operation: Operation::Flush, sector: 0 });
                self.window.gone(open.ticket);
                self.counts.abandoned += 1;
            }
            *state = State::default();
        }
        self.stack.clear();
        self.doubtful.extend(doubtful);
    }

    /// Processes the next event; `sender` finds the event's initiator. Returns true if the event
    /// belongs to a captured disk.
    pub fn push(&mut self, event: &Event, sender: &mut dyn FnMut(&Event) -> Sender) -> bool {
        let mut moved = self.moved_ends.iter().filter_map(|own| event.moved_back(own));
        let moved = moved.find(|own| self.has_begun(own));
        let event = moved.as_ref().unwrap_or(event);
        let Ok(place) = self.watched.binary_search_by_key(&event.dev, |device| device.dev) else {
            return false;
        };
        let Watched { disk, reach, queues, .. } = self.watched[place];
        if event.kind.reach() != reach {
            return false;
        }
        self.counts.late += u64::from(event.time < self.latest);
        self.latest = self.latest.max(event.time);
        if !self.gaps.is_empty() && self.is_in_gap(event.time) {
            self.counts.unmatched += u64::from(event.kind.is_end());
            return true;
        }
        match event.kind {
            // The scheduler inserts again a request that the driver gave back.
            Kind::Insert if self.open.contains_key(&key(disk, event)) => {}
            Kind::Start | Kind::Insert => self.begin(disk, event, sender(event)),
            Kind::Issue if event.operation == Operation::Flush => {
                self.drop_lost_flushes(disk, queues);
                self.issue_flush(disk, event, sender);
            }
            Kind::Issue => self.issue(disk, event, sender),
            Kind::Complete if event.operation == Operation::Flush => self.end_flush(disk, event),
            Kind::Complete => self.complete(disk, event),
            Kind::Requeue if event.operation == Operation::Flush => self.requeue_flush(disk),
            Kind::Requeue => self.requeue(disk, event),
            Kind::Merge => self.merge(disk, event),
            Kind::FrontMerge => self.front_merge(disk, event),
            Kind::BioQueue => self.queue_bio(disk, event, sender(event)),
            Kind::BioComplete => self.complete_bio(disk, event),
            Kind::BioSplit => self.split_bio(disk, event),
        }
        true
    }

    /// Returns true if an I/O is open that this event may complete.
    fn has_begun(&self, end: &Event) -> bool {
        let Ok(place) = self.watched.binary_search_by_key(&end.dev, |device| device.dev) else {
            return false;
        };
        let disk = self.watched[place].disk;
        match end.sectors {
            0 => !self.states[usize::from(disk)].flying.is_empty(),
            _ => self.open.contains_key(&key(disk, end)),
        }
    }

    /// Appends the records that are next in order; abandons I/Os whose completion is overdue at
    /// `now`.
    pub fn take(&mut self, now: u64, into: &mut Vec<IoRecord>) {
        loop {
            let from = into.len();
            self.window.take(into);
            for record in &mut into[from..] {
                self.states[usize::from(record.device.0)].mark_sequential(record);
            }
            self.counts.records += (into.len() - from) as u64;
            match self.window.oldest() {
                Some((ticket, since)) if self.is_overdue(since, now) => self.give_up(ticket),
                _ => return,
            }
        }
    }

    /// Ends the joining and appends the remaining records.
    pub fn finish(&mut self, into: &mut Vec<IoRecord>) {
        if !self.gaps.is_empty() {
            self.drop_all();
        }
        self.take(0, into);
        while let Some((ticket, _)) = self.window.oldest() {
            self.give_up(ticket);
            self.counts.abandoned -= 1;
            self.counts.unfinished += 1;
            self.take(0, into);
        }
    }

    fn is_overdue(&self, since: u64, now: u64) -> bool {
        let patience = match self.window.order() {
            Order::Issue => PATIENCE_NS,
            Order::End => PATIENCE_UNORDERED_NS,
        };
        now.saturating_sub(since) > patience || self.window.len() > HELD_MAX
    }

    fn begin(&mut self, disk: u16, event: &Event, sender: Sender) {
        let state = &mut self.states[usize::from(disk)];
        if event.flags.has(Flags::PREFLUSH) || event.flags.has(Flags::FUA) {
            state.flusher = Some(sender);
        }
        if event.sectors == 0 {
            // Passed-through commands have no sectors either, but no flush.
            if event.flags.has(Flags::PREFLUSH) || event.operation == Operation::Flush {
                let open = self.open(disk, event, Operation::Flush, sender);
                self.states[usize::from(disk)].flushes.push(open);
            }
            return;
        }
        let open = self.open(disk, event, event.operation, sender);
        self.insert(key(disk, event), open);
    }

    /// Handles the issue of a request, which may have grown since its creation.
    fn issue(&mut self, disk: u16, event: &Event, sender: &mut dyn FnMut(&Event) -> Sender) {
        if event.sectors == 0 {
            return;
        }
        let key = key(disk, event);
        let mut open = match self.remove(key, |open| open.issued.is_none()) {
            Some(open) => self.waited(open, event),
            None => self.open(disk, event, event.operation, sender(event)),
        };
        open.issued = Some(event.time);
        open.remaining = event.sectors;
        open.record.length = length(event.sectors);
        self.insert(key, open);
    }

    /// Sets the queue time of an I/O that is being issued.
    fn waited(&self, mut open: Open, event: &Event) -> Open {
        let since = self.start + open.record.issue.0;
        open.record.queue = Some(Nanos(event.time.saturating_sub(since)));
        open
    }

    fn complete(&mut self, disk: u16, event: &Event) {
        if event.sectors == 0 {
            self.counts.steps += 1;
            return;
        }
        let key = key(disk, event);
        let Some(open) = self.find_ended(key, event.sectors) else {
            self.counts.unmatched += 1;
            return;
        };
        self.end(disk, open, event, key);
    }

    /// Finds the completed I/O, if it is certain which one completed. If the key belongs to an I/O
    /// that was open when events were lost, that I/O may have completed here. Then all issued I/Os
    /// with this key are abandoned.
    fn find_ended(&mut self, key: Key, sectors: u32) -> Option<Open> {
        if !self.doubtful.is_empty() && self.doubtful.remove(&key) {
            while let Some(open) = self.remove(key, |open| open.issued.is_some()) {
                self.drop_open(key.disk, &open);
                self.counts.abandoned += 1;
            }
            return None;
        }
        self.remove(key, |open| open.issued.is_some() && open.remaining >= sectors)
    }

    /// Completes an I/O, or a part of it.
    fn end(&mut self, disk: u16, mut open: Open, event: &Event, key: Key) {
        if event.flags.has(Flags::ERROR) {
            open.record.flags = open.record.flags.with(Flags::ERROR);
        }
        open.remaining = open.remaining.saturating_sub(event.sectors);
        if open.remaining > 0 {
            let sector = key.sector + u64::from(event.sectors);
            self.move_to(Key { sector, ..key }, open);
            return;
        }
        let since = open.issued.unwrap_or(self.start + open.record.issue.0);
        open.record.device_time = Some(Nanos(event.time.saturating_sub(since)));
        self.stack.see_end(disk);
        self.close(disk, &open);
        if open.is_wanted {
            self.window.done(open.ticket, open.record);
        } else {
            self.counts.unwanted += 1;
            self.window.gone(open.ticket);
        }
    }

    fn requeue(&mut self, disk: u16, event: &Event) {
        let key = key(disk, event);
        if let Some(mut open) = self.remove(key, |open| open.issued.is_some()) {
            self.counts.requeued += 1;
            open.issued = None;
            self.insert(key, open);
        }
    }

    /// Returns the flush that was issued last to the waiting flushes, because the driver's queue
    /// was full.
    fn requeue_flush(&mut self, disk: u16) {
        let state = &mut self.states[usize::from(disk)];
        if let Some(open) = state.flying.pop() {
            self.counts.requeued += 1;
            state.flushes.insert(0, Open { issued: None, ..open });
        }
    }

    /// Drops flushes that must have completed, because the queues accept another one. Otherwise
    /// every later flush would get the completion of the flush before it, and latencies would grow
    /// without end.
    fn drop_lost_flushes(&mut self, disk: u16, queues: usize) {
        let flying = &mut self.states[usize::from(disk)].flying;
        let lost: Vec<Open> = flying.drain(..(flying.len() + 1).saturating_sub(queues)).collect();
        for open in lost {
            self.counts.abandoned += 1;
            self.drop_open(disk, &open);
        }
    }

    fn merge(&mut self, disk: u16, event: &Event) {
        if let Some(open) = self.remove(key(disk, event), |open| open.issued.is_none()) {
            self.counts.merged += 1;
            self.drop_open(disk, &open);
        }
    }

    /// Extends the waiting request that begins where this bio ends.
    fn front_merge(&mut self, disk: u16, event: &Event) {
        let to = key(disk, event);
        let from = Key { sector: to.sector + u64::from(event.sectors), ..to };
        if let Some(mut open) = self.remove(from, |open| open.issued.is_none()) {
            open.record.offset = event.sector.saturating_mul(SECTOR);
            open.record.length = open.record.length.saturating_add(length(event.sectors));
            self.move_to(to, open);
        }
    }

    fn queue_bio(&mut self, disk: u16, event: &Event, sender: Sender) {
        let is_flush = event.sectors == 0;
        let operation = if is_flush { Operation::Flush } else { event.operation };
        let mut open = self.open(disk, event, operation, sender);
        open.issued = Some(event.time);
        if is_flush {
            self.states[usize::from(disk)].flying.push(open);
        } else {
            self.insert(key(disk, event), open);
        }
    }

    fn complete_bio(&mut self, disk: u16, event: &Event) {
        if event.sectors == 0 {
            self.end_flush(disk, event);
        } else {
            self.complete(disk, event);
        }
    }

    fn split_bio(&mut self, disk: u16, event: &Event) {
        let key = key(disk, event);
        let Some(first) = event.second.checked_sub(event.sector) else { return };
        let Ok(sectors) = u32::try_from(first) else { return };
        let Some(mut open) = self.remove(key, |open| open.remaining > sectors) else { return };
        self.counts.split += 1;
        let rest = Event { sector: event.second, sectors: open.remaining - sectors, ..*event };
        let sender =
            Sender { vm: open.record.vm, is_wanted: open.is_wanted, is_kernel: open.is_kernel };
        open.remaining = sectors;
        open.record.length = length(sectors);
        self.insert(key, open);
        self.queue_bio(disk, &rest, sender);
    }

    /// Handles a device flush, which completes all waiting flushes. If no flush is waiting, the
    /// device flush belongs to a write with FUA or PREFLUSH, and to that write's initiator.
    fn issue_flush(&mut self, disk: u16, event: &Event, sender: &mut dyn FnMut(&Event) -> Sender) {
        let waiting = std::mem::take(&mut self.states[usize::from(disk)].flushes);
        let mut waiting = waiting.into_iter();
        let mut open = match waiting.next() {
            Some(open) => self.waited(open, event),
            None => {
                let known = self.states[usize::from(disk)].flusher;
                let sender = known.unwrap_or_else(|| sender(event));
                self.open(disk, event, Operation::Flush, sender)
            }
        };
        for shared in waiting {
            self.counts.shared_flushes += 1;
            self.drop_open(disk, &shared);
        }
        open.issued = Some(event.time);
        self.states[usize::from(disk)].flying.push(open);
    }

    fn end_flush(&mut self, disk: u16, event: &Event) {
        let key = Key { disk, operation: Operation::Flush, sector: 0 };
        let is_doubtful = self.doubtful.remove(&key);
        let flying = &mut self.states[usize::from(disk)].flying;
        if flying.is_empty() {
            self.counts.unmatched += 1;
            return;
        }
        let open = flying.remove(0);
        if is_doubtful {
            self.counts.unmatched += 1;
            self.counts.abandoned += 1;
            return self.drop_open(disk, &open);
        }
        self.end(disk, Open { remaining: 0, ..open }, event, key);
    }

    fn open(&mut self, disk: u16, event: &Event, operation: Operation, sender: Sender) -> Open {
        let state = &mut self.states[usize::from(disk)];
        let outstanding = u16::try_from(state.outstanding).unwrap_or(u16::MAX);
        let outstanding = (self.latest >= self.uncounted_until).then_some(outstanding);
        state.outstanding += 1;
        // Records are in order of issue, whatever the order of events.
        let issue = Nanos(self.latest - self.start);
        let is_flush = operation == Operation::Flush;
        let offset = if is_flush { 0 } else { event.sector.saturating_mul(SECTOR) };
        let is_part = self.stack.is_part(disk, (!is_flush).then_some(event.sector), &sender);
        let flags = if is_part { event.flags.with(Flags::BELOW) } else { event.flags };
        let record = IoRecord {
            outstanding,
            vm: sender.vm,
            device: DeviceIndex(disk),
            flags,
            ..IoRecord::new(issue, operation, offset, length(event.sectors))
        };
        let ticket = self.window.open(self.latest, Key { disk, operation, sector: event.sector });
        let under_way = self.stack.begin(disk, sender.vm);
        let Sender { is_wanted, is_kernel, .. } = sender;
        let remaining = event.sectors;
        Open { ticket, record, issued: None, remaining, is_wanted, is_kernel, under_way }
    }

    fn move_to(&mut self, key: Key, open: Open) {
        self.window.set_key(open.ticket, key);
        self.insert(key, open);
    }

    fn insert(&mut self, key: Key, open: Open) {
        self.open
            .entry(key)
            .and_modify(|entry| entry.more.push(open))
            .or_insert_with(|| Entry { first: open, more: Vec::new() });
    }

    /// Removes the first I/O of a key that `is_it` accepts.
    fn remove(&mut self, key: Key, is_it: impl Fn(&Open) -> bool) -> Option<Open> {
        let entry = self.open.get_mut(&key)?;
        if !is_it(&entry.first) {
            let place = entry.more.iter().position(is_it)?;
            return Some(entry.more.remove(place));
        }
        let found = entry.first;
        if entry.more.is_empty() {
            self.open.remove(&key);
        } else {
            entry.first = entry.more.remove(0);
        }
        Some(found)
    }

    /// Drops an I/O without a record.
    fn drop_open(&mut self, disk: u16, open: &Open) {
        self.close(disk, open);
        self.window.gone(open.ticket);
    }

    fn close(&mut self, disk: u16, open: &Open) {
        self.states[usize::from(disk)].ended();
        self.stack.end(disk, open.record.vm, open.under_way);
    }

    fn give_up(&mut self, ticket: Ticket) {
        self.counts.abandoned += 1;
        let Some(key) = self.window.key(ticket) else { return };
        let is_it = |open: &Open| open.ticket == ticket;
        let state = &mut self.states[usize::from(key.disk)];
        let flush = [&mut state.flushes, &mut state.flying].into_iter().find_map(|flushes| {
            let place = flushes.iter().position(is_it)?;
            Some(flushes.remove(place))
        });
        match flush.or_else(|| self.remove(key, is_it)) {
            Some(open) => self.drop_open(key.disk, &open),
            None => {
                self.states[usize::from(key.disk)].ended();
                self.window.gone(ticket);
            }
        }
    }
}

impl State {
    fn ended(&mut self) {
        self.outstanding = self.outstanding.saturating_sub(1);
    }

    fn mark_sequential(&mut self, record: &mut IoRecord) {
        let end = match record.operation {
            Operation::Read => &mut self.ends[0],
            Operation::Write => &mut self.ends[1],
            Operation::Flush | Operation::Discard => return,
        };
        if *end == Some(record.offset) {
            record.flags = record.flags.with(Flags::SEQUENTIAL);
        }
        *end = Some(record.end_offset());
    }
}

fn key(disk: u16, event: &Event) -> Key {
    Key { disk, operation: event.operation, sector: event.sector }
}

/// Converts a length to bytes; a longer discard is cut to the largest value of a record.
fn length(sectors: u32) -> u32 {
    u32::try_from(u64::from(sectors) * SECTOR).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
