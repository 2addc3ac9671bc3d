use std::collections::VecDeque;

use cache::tier::{Access, Counters, Entry};
use hardware::{Array, PartId};
use state_machine::{Effects, Event, IoRequest, Machine, Operation, Token};
use units::Nanos;

use super::content::Fed;
use super::read_memory::{Pages, ReadMemory};
use super::tier_part::{TierContent, TierPart};
use crate::SimInstance;
use crate::queue::Queue;

/// Options for filling tiers before time begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Warm {
    /// Maximum number of requests of each tile, on average.
    pub accesses_per_tile_max: u64,
    /// Admission while tiers are warmed.
    pub filter: WarmFilter,
    /// Time that every request takes, above zero (default 500 us). Without it, a loop without think
    /// time would never let time pass. It also sets the share of closed classes in the load.
    pub latency: Nanos,
    /// The tiers are stable when the hit ratio of the last tenth of all requests differs from that
    /// of the tenth before by less than this (default 0.002), and the filled share of the tiers
    /// does too.
    pub tolerance: f64,
}

impl Default for Warm {
    /// Allows up to 12 million requests per tile: enough to touch a page of 64 KiB three times in a
    /// working set of 250 GiB.
    fn default() -> Self {
        Self {
            accesses_per_tile_max: 12_000_000,
            filter: WarmFilter::Bypassed,
            latency: Nanos::from_micros(500),
            tolerance: 0.002,
        }
    }
}

/// Admission while tiers are warmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmFilter {
    /// Admission counts accesses, as in measured time.
    Kept,
    /// Every page is admitted on its first access, which fills a tier faster; the policy evicts
    /// cold pages again.
    Bypassed,
}

/// Result of warming.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WarmReport {
    /// Number of requests of all tiles.
    pub accesses: u64,
    /// Hit ratio of tiers and memory in the last tenth of the requests, 0 to 1; 0 without tiers.
    pub hit_ratio: f64,
    /// Filled share of the capacity of tiers and memory, 0 to 1.
    pub filled: f64,
    /// True if warming ended because hit ratio and fill no longer changed.
    pub is_stable: bool,
    /// Virtual time that passed for the state machines.
    pub time: Nanos,
}

/// Tiers and memories, taken out of their parts.
#[derive(Debug)]
pub struct Levels {
    levels: Vec<Level>,
    entry: Entry,
    /// Reused buffers, one for each level.
    fed: Vec<Fed>,
    /// First byte of each announced access, by level.
    ahead: Vec<Vec<u64>>,
}

#[derive(Debug)]
enum Level {
    Tier(TierContent),
    Memory(Box<Pages>),
}

impl Levels {
    /// Takes the state out of these parts.
    pub fn take(array: &mut Array, parts: &[PartId], filter: WarmFilter) -> Self {
        let take = |part: &PartId| {
            if let Some(part) = array.part_mut::<TierPart>(*part) {
                return Level::Tier(part.take());
            }
            let part = array.part_mut::<ReadMemory>(*part).expect("the level is a tier or memory");
            Level::Memory(Box::new(part.pages.clone()))
        };
        let levels: Vec<Level> = parts.iter().map(take).collect();
        let entry = match filter {
            WarmFilter::Kept => Entry::Filtered,
            WarmFilter::Bypassed => Entry::Unfiltered,
        };
        let ahead = vec![Vec::new(); levels.len()];
        let fed = levels.iter().map(|_| Fed::default()).collect();
        Self { fed, ahead, levels, entry }
    }

    /// Puts the state back, with counters at zero and at most as dirty as the low mark allows.
    pub fn give_back(self, array: &mut Array, parts: &[PartId]) {
        for (part, level) in parts.iter().zip(self.levels) {
            match level {
                Level::Tier(mut tier) => {
                    tier.get_mut().settle();
                    let part = array
                        .part_mut::<TierPart>(*part)
                        .expect("the content was taken from this part");
                    part.put(tier);
                }
                Level::Memory(mut pages) => {
                    pages.counters = Counters::default();
                    let part = array
                        .part_mut::<ReadMemory>(*part)
                        .expect("the content was taken from this part");
                    part.pages = *pages;
                }
            }
        }
    }

    /// Announces an access to the levels of a chain.
    pub fn announce(&mut self, chain: &[usize], access: &Access) {
        chain.iter().for_each(|level| self.ahead[*level].push(access.offset));
    }

    /// Prefetches the memory that announced accesses will read, all at once.
    pub fn look_ahead(&mut self) {
        // Most of the time of a single access is waiting for memory.
        for (level, offsets) in self.levels.iter().zip(&mut self.ahead) {
            match level {
                Level::Memory(pages) => pages.look_ahead(offsets),
                Level::Tier(tier) => tier.get().look_ahead(offsets),
            }
            offsets.clear();
        }
    }

    /// Feeds an access through the levels of a chain, as in a timed run.
    ///
    /// Write memory is left out: writes that it would delay reach the levels behind it at once.
    pub fn feed(&mut self, chain: &[usize], access: &Access) {
        let Some((level, behind)) = chain.split_first() else { return };
        match &mut self.levels[*level] {
            Level::Memory(pages) => {
                if !pages.touch(access.operation, access.offset, access.length) {
                    self.feed(behind, access);
                }
            }
            Level::Tier(tier) => {
                let mut fed = std::mem::take(&mut self.fed[*level]);
                fed.behind.clear();
                tier.get_mut().feed(access, self.entry, &mut fed);
                if !behind.is_empty() {
                    fed.behind.iter().for_each(|access| self.feed(behind, access));
                }
                self.fed[*level] = fed;
            }
        }
    }

    /// Returns the number of hits so far, all levels together, and the filled share of their
    /// capacity.
    fn progress(&self) -> (u64, f64) {
        let (mut hits, mut resident, mut capacity) = (0, 0, 0);
        for level in &self.levels {
            let (counters, held, room) = match level {
                Level::Tier(tier) => {
                    let tier = tier.get();
                    (tier.counters(), tier.resident_bytes(), tier.capacity_bytes())
                }
                Level::Memory(pages) => {
                    (pages.counters, pages.resident_bytes(), pages.capacity_bytes())
                }
            };
            hits += counters.read_hits + counters.write_hits;
            resident += held;
            capacity += room;
        }
        (hits, ratio(resident, capacity))
    }
}

/// Number of notes of progress during warming, and number of notes between two checks for
/// stability.
const NOTES: u64 = 200;
const NOTES_PER_LOOK: usize = 10;

/// Allowed number of events per request on average; the bound ends state machines that only use CPU
/// time.
const EVENTS_PER_ACCESS: u64 = 100;

/// Progress of warming so far.
struct Progress {
    /// Requests, hits and filled share after each interval.
    notes: Vec<(u64, u64, f64)>,
    tolerance: f64,
}

impl Progress {
    /// Returns the hit ratio between two notes.
    fn hits(&self, from: usize, to: usize) -> f64 {
        let ((from, from_hits, _), (to, to_hits, _)) = (self.notes[from], self.notes[to]);
        ratio(to_hits - from_hits, to - from)
    }

    fn last_hits(&self) -> f64 {
        let last = self.notes.len() - 1;
        self.hits(last * 9 / 10, last)
    }

    fn is_stable(&self) -> bool {
        let last = self.notes.len() - 1;
        if last < NOTES_PER_LOOK || !last.is_multiple_of(NOTES_PER_LOOK) {
            return false;
        }
        let (before, start) = (last / 10 * 9, last / 10 * 8);
        let filled = self.notes[last].2;
        let is_full = filled > 1.0 - self.tolerance;
        (self.hits(before, last) - self.hits(start, before)).abs() < self.tolerance
            && (is_full || filled - self.notes[before].2 < self.tolerance)
    }
}

/// Number of requests that are fed together. Their order is kept, and no state machine can notice a
/// difference, since all requests take the same time.
const BATCH: usize = 64;

/// Runs state machines in virtual time on a device with one latency, until tiers are as full as
/// they become.
pub fn warm<M: Machine>(
    levels: &mut Levels,
    instances: &mut [SimInstance<M>],
    (options, goes_on): (&Warm, &dyn Fn() -> bool),
    tiles: u64,
    mut access: impl FnMut(&mut Levels, &[(usize, IoRequest)]),
) -> WarmReport {
    let most = options.accesses_per_tile_max.saturating_mul(tiles);
    if levels.levels.is_empty() || most == 0 {
        return WarmReport::default();
    }
    let latency = options.latency.max(Nanos(1));
    let every = most.div_ceil(NOTES);
    let mut progress = Progress { notes: vec![(0, 0, 0.0)], tolerance: options.tolerance };
    // With one latency for all, answers come in the order of the requests, so only timers and CPU
    // bursts need a heap.
    let mut queue: Queue<(u32, Event)> = Queue::new();
    let mut answers: VecDeque<(Nanos, u32, Token)> = VecDeque::new();
    let mut fx = Effects::default();
    let mut batch = Vec::with_capacity(BATCH);
    let (mut accesses, mut events, mut now) = (0, 0, Nanos::ZERO);
    let (mut is_stable, mut is_stopped) = (false, false);
    let count = u32::try_from(instances.len()).expect("fewer than 2^32 instances");
    (0..count).for_each(|instance| queue.push(Nanos::ZERO, (instance, Event::Start)));
    let events_max = most.saturating_mul(EVENTS_PER_ACCESS);
    while accesses < most && events < events_max && !is_stable && !is_stopped {
        let until = answers.front().map_or(Nanos::MAX, |(at, ..)| *at);
        let (instance, event) = if let Some((at, next)) = queue.pop_before(until) {
            now = at;
            next
        } else if let Some((at, instance, token)) = answers.pop_front() {
            now = at;
            (instance, Event::Done(token, Ok(())))
        } else {
            break;
        };
        events += 1;
        let of = instance as usize;
        instances[of].machine.handle(now, event, &mut fx);
        for request in fx.io.drain(..) {
            if request.operation != Operation::Flush && request.length > 0 {
                batch.push((of, request));
                accesses += 1;
                let is_noted = accesses % every == 0;
                if is_noted || batch.len() == BATCH {
                    access(levels, &batch);
                    batch.clear();
                    is_stopped = !goes_on();
                }
                if is_noted {
                    let (hits, filled) = levels.progress();
                    progress.notes.push((accesses, hits, filled));
                    is_stable |= progress.is_stable();
                }
            }
            answers.push_back((now.saturating_add(latency), instance, request.token));
        }
        let calls = fx.calls.drain(..);
        answers.extend(calls.map(|call| (now.saturating_add(latency), instance, call.token)));
        for (at, token) in fx.timers.drain(..) {
            queue.push(at.max(now), (instance, Event::Timer(token)));
        }
        for burst in fx.cpu.drain(..) {
            queue.push(now.saturating_add(burst.cost), (instance, Event::Ran(burst.token)));
        }
        fx.observations.clear();
    }
    access(levels, &batch);
    let (hits, filled) = levels.progress();
    progress.notes.push((accesses, hits, filled));
    WarmReport { accesses, hit_ratio: progress.last_hits(), filled, is_stable, time: now }
}

#[expect(clippy::cast_precision_loss, reason = "a share, not a count")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
