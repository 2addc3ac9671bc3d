use std::collections::VecDeque;

use cache::policy::Lru;
use cache::tier::Counters;
use cache::{Outcome, PageId, Policy};
use hardware::{Component, Job, Meter, Outbox, PartId, Usage};
use state_machine::Operation;
use units::{Bytes, Nanos};

/// Pages of a read memory, without timing.
///
/// The least recently used page is replaced. Each page is divided into 64 parts, and the memory
/// knows the parts that requests covered. It reads nothing beyond a request (no prefetching, no
/// fill of a page), so only bytes that were read or written before are hits.
#[derive(Debug, Clone)]
pub struct Pages {
    lru: Lru,
    page: u64,
    /// Known parts of each page, one bit for each part, by slot, up to the largest slot in use.
    known: Vec<u64>,
    /// Counts of the accesses below this address. Data of tiers lie above: the tier counts their
    /// accesses, and a hit must not count twice.
    pub counters: Counters,
    counted: u64,
}

impl Pages {
    /// Makes pages for a memory of this size, at least one page.
    pub fn new(size: Bytes, page: Bytes) -> Self {
        let page = page.get().max(64);
        let pages = usize::try_from((size.get() / page).clamp(1, 1 << 28)).unwrap_or(1);
        let (known, counters) = (Vec::new(), Counters::default());
        Self { lru: Lru::new(pages), page, known, counters, counted: u64::MAX }
    }

    /// Counts only accesses below this address.
    #[must_use]
    pub const fn counting_below(mut self, address: u64) -> Self {
        self.counted = address;
        self
    }

    /// Returns true if page size and capacity are equal.
    pub fn is_like(&self, other: &Self) -> bool {
        self.page == other.page && self.lru.capacity() == other.lru.capacity()
    }

    pub fn capacity_bytes(&self) -> u64 {
        self.lru.capacity() as u64 * self.page
    }

    pub fn resident_bytes(&self) -> u64 {
        self.lru.len() as u64 * self.page
    }

    /// Prefetches the memory that accesses at these offsets will read, all at once.
    pub fn look_ahead(&self, offsets: &[u64]) {
        let pages: Vec<PageId> = offsets.iter().map(|at| PageId(at / self.page)).collect();
        self.lru.look_ahead(&pages, &mut Vec::with_capacity(pages.len()));
    }

    /// Includes an access; returns true for a read whose bytes are all known.
    pub fn touch(&mut self, operation: Operation, offset: u64, length: u32) -> bool {
        let end = offset + u64::from(length);
        let mut is_held = true;
        for page in offset / self.page..end.div_ceil(self.page) {
            let start = page * self.page;
            is_held &= self.touch_page(page, (offset.max(start) - start, end - start));
        }
        let (bytes, is_read) = (u64::from(length), operation == Operation::Read);
        if offset >= self.counted {
            return is_read && is_held;
        }
        let hit = u64::from(is_held);
        let counters = &mut self.counters;
        if is_read {
            counters.reads += 1;
            counters.read_hits += hit;
            counters.read_bytes += bytes;
            counters.read_hit_bytes += hit * bytes;
        } else {
            counters.writes += 1;
            counters.write_hits += hit;
            counters.write_bytes += bytes;
            counters.write_hit_bytes += hit * bytes;
        }
        is_read && is_held
    }

    /// Marks bytes `from..to` of a page as known; `to` may lie beyond the page. Returns true if all
    /// were known before.
    fn touch_page(&mut self, page: u64, (from, to): (u64, u64)) -> bool {
        let part = self.page / 64;
        let to = to.min(self.page);
        let outer = bits(from / part, to.div_ceil(part));
        let inner = bits(from.div_ceil(part), to / part);
        let outcome = self.lru.reference(PageId(page));
        let slot = outcome.slot().position();
        if slot >= self.known.len() {
            self.known.resize(slot + 1, 0);
        }
        let known = &mut self.known[slot];
        if let Outcome::Miss { evicted, .. } = outcome {
            *known = 0;
            self.counters.evicted_bytes += evicted.map_or(0, |_| self.page);
        }
        let is_held = *known & outer == outer;
        *known |= inner;
        is_held
    }
}

/// Returns the bits `from..to` of 64; none if `to` is not above `from`.
const fn bits(from: u64, to: u64) -> u64 {
    if to <= from { 0 } else { (u64::MAX >> (64 - (to - from))) << from }
}

/// Memory that answers reads of recently read or written bytes. All other requests pass to the next
/// part. Bytes that pass are known at once.
#[derive(Debug)]
pub struct ReadMemory {
    pub pages: Pages,
    hit: Nanos,
    next: PartId,
    /// Pending completions, sorted by due time, which is also their order of arrival.
    answers: VecDeque<(Nanos, Job)>,
    meter: Meter,
}

impl ReadMemory {
    pub fn new(pages: Pages, hit: Nanos, next: PartId) -> Self {
        Self { pages, hit, next, answers: VecDeque::new(), meter: Meter::new(0) }
    }
}

impl Component for ReadMemory {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        let is_data = job.operation != Operation::Flush && job.length > 0;
        if !is_data || !self.pages.touch(job.operation, job.offset, job.length) {
            return out.hand_on(self.next, job);
        }
        self.meter.enter(now);
        let at = now.saturating_add(self.hit);
        if self.answers.is_empty() {
            out.wake_at(at, 0);
        }
        self.answers.push_back((at, job));
    }

    fn wake(&mut self, now: Nanos, _tag: u32, out: &mut Outbox) {
        let (_, job) = self.answers.pop_front().expect("an alarm has its answer");
        if let Some((at, _)) = self.answers.front() {
            out.wake_at(*at, 0);
        }
        self.meter.leave(now, job.length);
        out.answer(&job, Ok(()));
    }

    /// Returns the use of the memory; jobs inside it are hits.
    fn usage(&self, now: Nanos) -> Usage {
        self.meter.usage(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Operation = Operation::Read;

    #[test]
    fn only_bytes_that_were_read_or_written_are_hits() {
        let mut pages = Pages::new(Bytes::new(2 << 16), Bytes::new(1 << 16));
        assert!(!pages.touch(READ, 0, 8192));
        assert!(pages.touch(READ, 4096, 4096));
        assert!(!pages.touch(READ, 4096, 8192), "the second half was never read");
        assert!(!pages.touch(Operation::Write, 65536, 4096), "a write is no hit");
        assert!(pages.touch(READ, 65536, 4096), "what was written can be read");
        assert!(!pages.touch(READ, 1 << 20, 512));
        assert!(!pages.touch(READ, 0, 4096), "the oldest page has left");
        assert_eq!((pages.counters.reads, pages.counters.read_hits), (6, 2));
    }
}
