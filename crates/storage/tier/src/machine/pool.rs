use std::collections::VecDeque;

use units::Nanos;

use super::io::Io;
use super::log::{GroupFacts, Log, LogId};
use super::pages::PageKey;
use super::{Fx, Tier};
use crate::format::{Flags, GROUP_RECORDS, Kind, Record};

/// Maximum capacity of empty queues that is kept, in items. Our choice.
const QUEUE_KEPT: usize = 1024;
/// Maximum number of maps in a group.
const MAPS: usize = GROUP_RECORDS / 3;

/// Item that waits to be written into the pool's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    /// Map of the slot, with its content at the time of writing.
    Map(u32),
    /// Unmap of the slot and the page that was evicted from it.
    Unmap(u32, PageKey),
    /// Start of the disk's log at this group of this chunk; earlier chunks of the log become free.
    LogStart { disk: u16, chunk: u32, seq: u64 },
}

/// Action to take when a group of the pool's log is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Mapped { slot: u32, seq: u64, bits: u16 },
    Left { slot: u32, key: PageKey },
    Started { disk: u16, seq: u64 },
    Write(u32),
}

/// Pool: the log of the slots in which pages lie.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    pub(crate) log: Log,
    pub(crate) queue: VecDeque<Item>,
    pub(super) after: VecDeque<(u64, After)>,
    /// Writes that may continue when the queued items are durable.
    pub(super) waiting: Vec<u32>,
    /// Last group whose durability a write waits for.
    pub(super) urgent_to: u64,
    /// Last group with records.
    pub(super) content: u64,
    /// Time of the oldest item that is not durable yet.
    pub(crate) since: Option<Nanos>,
    /// True if that item has waited for the maximum time.
    pub(crate) is_due: bool,
}

impl Pool {
    pub(crate) fn new(log: Log) -> Self {
        Self {
            urgent_to: log.ends().durable,
            content: log.ends().durable,
            log,
            queue: VecDeque::new(),
            after: VecDeque::new(),
            waiting: Vec::new(),
            since: None,
            is_due: false,
        }
    }
}

impl Tier {
    pub(super) fn queue(&mut self, item: Item) {
        self.pool.queue.push_back(item);
        self.pool.since.get_or_insert(self.now);
        self.time_changed();
    }

    pub(super) fn queue_map(&mut self, slot: u32) {
        if self.pages.want_map(slot) {
            self.queue(Item::Map(slot));
        }
    }

    /// Queues the unmap of an evicted page.
    pub(super) fn queue_unmap(&mut self, lost: Option<(u32, PageKey)>) {
        if let Some((slot, key)) = lost {
            self.queue(Item::Unmap(slot, key));
            // Reads alone stir nothing else, and no page is admitted while no slot is free.
            if self.pages.is_short() {
                self.stir();
            }
        }
    }

    /// Makes a write wait until all queued items are durable.
    pub(super) fn pool_wait(&mut self, write: u32, fx: &mut Fx) {
        self.pool.waiting.push(write);
        self.pool_barrier(fx);
    }

    /// Writes all queued items now, as far as there is room.
    fn pool_barrier(&mut self, fx: &mut Fx) {
        while !self.pool.queue.is_empty() && self.pool_group(fx) {}
        if self.pool.queue.is_empty() {
            let seq = self.pool.log.last();
            for write in std::mem::take(&mut self.pool.waiting) {
                self.pool.after.push_back((seq, After::Write(write)));
                self.pool.urgent_to = seq;
            }
        }
    }

    pub(super) fn pump_pool(&mut self, fx: &mut Fx) {
        if self.is_failed {
            return;
        }
        let is_short = self.pages.is_short();
        let is_full = self.pool.queue.len() >= MAPS;
        let is_urgent = is_full || is_short || !self.pool.waiting.is_empty();
        if self.pool.is_due || (is_urgent && !self.pool.queue.is_empty()) {
            self.pool_barrier(fx);
        }
        // Also if a group reached the device only now.
        if (self.pool.is_due || is_short) && self.pool.log.ends().durable < self.pool.content {
            self.flusher.want();
        }
        let (content, log) = (self.pool.content, &self.pool.log);
        if self.pool.queue.is_empty() && log.ends().durable >= content {
            let is_told = log.ends().told >= content;
            (self.pool.since, self.pool.is_due) = (None, false);
            if !is_told {
                self.seal_pool(fx);
            }
        }
    }

    /// Begins one group. Returns false if there is no room.
    fn pool_group(&mut self, fx: &mut Fx) -> bool {
        if !self.pool_room(fx) {
            return false;
        }
        let seq = self.pool.log.ends().seq;
        let (mut records, mut places) = (Vec::new(), 0);
        while let Some(item) = self.pool.queue.front().copied() {
            let Some((record, after)) = self.pool_record(item, seq) else {
                self.pool.queue.pop_front();
                if let Item::Map(slot) = item {
                    self.pages.map_taken(slot);
                }
                continue;
            };
            if places + record.places() > GROUP_RECORDS {
                break;
            }
            self.pool.queue.pop_front();
            places += record.places();
            if let After::Mapped { slot, bits, .. } = after {
                self.pages.map_written(slot, bits, seq);
            }
            records.push(record);
            self.pool.after.push_back((seq, after));
        }
        if records.is_empty() {
            return true;
        }
        self.pool.content = seq;
        self.write_pool(Flags::default(), records, fx);
        true
    }

    fn write_pool(&mut self, flags: Flags, records: Vec<Record>, fx: &mut Fx) {
        let io = self.start_io(Io::Group { log: LogId::Pool, seq: self.pool.log.ends().seq });
        let facts = GroupFacts { flags, unix_ns: self.now.0, ..GroupFacts::default() };
        fx.push(self.pool.log.write(&self.geometry, facts, records, Vec::new(), io));
        self.counters.groups += 1;
    }

    /// Writes a seal, because after a crash only groups that a head records as durable are used.
    fn seal_pool(&mut self, fx: &mut Fx) {
        if self.pool_room(fx) {
            self.write_pool(Flags::SEAL, Vec::new(), fx);
        }
    }

    /// Returns true if there is room for a group and a link, in this chunk or a new one.
    fn pool_room(&mut self, fx: &mut Fx) -> bool {
        if self.pool.log.room(&self.geometry).is_some() {
            return true;
        }
        let Some(chunk) = self.chunks.take() else { return false };
        let io = self.start_io(Io::Group { log: LogId::Pool, seq: self.pool.log.ends().seq });
        let facts = GroupFacts { unix_ns: self.now.0, ..GroupFacts::default() };
        fx.push(self.pool.log.link(&self.geometry, facts, chunk, io));
        true
    }

    /// Returns the record of an item, and the action once the record is durable. `None` if the item
    /// is no longer needed.
    fn pool_record(&self, item: Item, seq: u64) -> Option<(Record, After)> {
        let record = |kind, disk, offset, place| Record {
            kind,
            disk,
            bytes: 0,
            offset,
            sum: 0,
            place,
            tag: 0,
            sums: None,
        };
        match item {
            Item::Unmap(slot, key) => {
                Some((record(Kind::Unmap, key.disk, key.page, slot), After::Left { slot, key }))
            }
            Item::LogStart { disk, chunk, seq } => {
                let tag = self.disks[usize::from(disk)].as_ref()?.entry.tag();
                let start = Record { bytes: chunk, tag, ..record(Kind::LogStart, disk, seq, 0) };
                Some((start, After::Started { disk, seq }))
            }
            Item::Map(slot) => {
                let key = self.pages.key(slot)?;
                let disk = self.disks[usize::from(key.disk)].as_ref()?;
                let bits = self.pages.mappable(slot, disk.flushed)?;
                let map = Record {
                    bytes: bits.into(),
                    sum: disk.true_to(),
                    tag: disk.entry.tag(),
                    sums: Some(self.pages.sums(slot)),
                    ..record(Kind::Map, key.disk, key.page, slot)
                };
                Some((map, After::Mapped { slot, seq, bits }))
            }
        }
    }

    /// Frees the memory of empty queues that were long.
    fn shrink_pool(&mut self) {
        let pool = &mut self.pool;
        if pool.after.is_empty() && pool.after.capacity() > QUEUE_KEPT {
            pool.after = VecDeque::new();
        }
        if pool.queue.is_empty() && pool.queue.capacity() > QUEUE_KEPT {
            pool.queue = VecDeque::new();
        }
    }

    /// Executes the actions of durable groups of the pool's log.
    pub(super) fn pool_durable(&mut self, fx: &mut Fx) {
        while let Some((seq, after)) = self.pool.after.front().copied() {
            if seq > self.pool.log.ends().durable {
                break;
            }
            self.pool.after.pop_front();
            match after {
                After::Left { slot, key } => self.pages.left(key, slot),
                After::Started { disk, seq } => self.log_started(disk, seq),
                After::Write(write) => self.through_allowed(write, fx),
                After::Mapped { slot, seq, bits } => self.pages.map_durable(slot, seq, bits),
            }
        }
        self.shrink_pool();
    }
}
