use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::shards::{MODULUS, SampleRate, sample_hash};
use crate::page::PageId;

/// Number of a period. 0 stands for never.
type Period = u32;

/// Kind of access to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The page was read.
    Read,
    /// The page was written.
    Write,
}

/// Size of a working set in pages, estimated from the sampled pages in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetSize {
    /// Pages that were read.
    pub read: f64,
    /// Pages that were written.
    pub written: f64,
    /// Pages that were read or written: at most the sum of both.
    pub used: f64,
    /// Share of the pages that was sampled, above 0. At 1 the sizes are exact.
    pub share: f64,
}

/// Sizes of the working sets (Denning, "The Working Set Model for Program Behavior", CACM 1968) for
/// several window lengths at once, with reads and writes separate, from a bounded number of pages.
///
/// Pages are sampled as by [`super::Shards`] with a fixed size: by a hash, at a rate that falls as
/// more pages appear. The time of a page's last use counts, not its stack distance. Time is counted
/// in periods. If a set becomes smaller, its rate rises again. A window is then estimated at its
/// lowest rate, because only at that rate all of its pages are known.
#[derive(Debug, Clone)]
pub struct WorkingSets {
    windows: Vec<Window>,
    /// Maximum number of sampled pages.
    limit: usize,
    /// Number of the open period, counted from 1.
    now: Period,
    /// Largest of the windows' thresholds.
    threshold: u32,
    pages: FxHashMap<PageId, Page>,
}

/// Periods of the last read and the last write of a sampled page.
#[derive(Debug, Clone, Copy)]
struct Page {
    hash: u32,
    read: Period,
    written: Period,
}

impl Page {
    fn used(&self) -> Period {
        self.read.max(self.written)
    }
}

/// Window length, with the sampling thresholds of its periods.
#[derive(Debug, Clone)]
struct Window {
    /// Length in periods.
    length: u32,
    /// Sampling thresholds: hashes below are sampled. One for each period of the window, the lowest
    /// in that period; the open period comes last.
    thresholds: VecDeque<u32>,
}

impl Window {
    fn threshold(&self) -> u32 {
        self.thresholds.back().copied().unwrap_or(MODULUS)
    }

    fn lower(&mut self, threshold: u32) {
        if let Some(last) = self.thresholds.back_mut() {
            *last = threshold.min(*last);
        }
    }

    fn holds(&self, used: Period, now: Period) -> bool {
        used > 0 && used.saturating_add(self.length) > now
    }

    fn samples(&self, page: &Page, now: Period) -> bool {
        page.hash < self.threshold() && self.holds(page.used(), now)
    }
}

impl WorkingSets {
    /// Creates windows of these lengths in periods. They share at most `limit` sampled pages (at
    /// least 8) of some 30 bytes.
    pub fn new(lengths: &[u32], limit: usize) -> Self {
        let window = |length: &u32| Window {
            length: (*length).max(1),
            thresholds: VecDeque::from([MODULUS]),
        };
        Self {
            windows: lengths.iter().map(window).collect(),
            limit: limit.max(8),
            now: 1,
            threshold: MODULUS,
            pages: FxHashMap::default(),
        }
    }

    /// Counts a use of a page in the open period.
    #[inline]
    pub fn reference(&mut self, page: PageId, of: Use) {
        let hash = sample_hash(page);
        if hash < self.threshold {
            self.sample(page, hash, of);
        }
    }

    fn sample(&mut self, page: PageId, hash: u32, of: Use) {
        let known = self.pages.entry(page).or_insert(Page { hash, read: 0, written: 0 });
        match of {
            Use::Read => known.read = self.now,
            Use::Write => known.written = self.now,
        }
        if self.pages.len() > self.limit {
            self.shrink();
        }
    }

    /// Returns the number of pages to keep when the rate is lowered. It is below the limit, so that
    /// the rate need not be lowered for every new page.
    fn kept(&self) -> usize {
        self.limit * 3 / 4
    }

    /// Lowers rates until at most [`Self::kept`] pages are left. Windows share pages, so the first
    /// try gives each window all the room.
    fn shrink(&mut self) {
        let mut room = self.kept();
        loop {
            self.lower(room);
            self.drop_unsampled();
            if self.pages.len() <= self.kept() || room == 0 {
                break;
            }
            room = room * 3 / 4;
        }
    }

    /// Lowers the threshold of each window that samples more than `room` pages.
    fn lower(&mut self, room: usize) {
        let (pages, now) = (&self.pages, self.now);
        for window in &mut self.windows {
            let sampled = pages.values().filter(|page| window.samples(page, now));
            let mut hashes: Vec<u32> = sampled.map(|page| page.hash).collect();
            if hashes.len() > room {
                let (_, threshold, _) = hashes.select_nth_unstable(room);
                window.lower(*threshold);
            }
        }
        self.threshold = self.windows.iter().map(Window::threshold).max().unwrap_or(0);
    }

    /// Removes pages that no window samples any more.
    fn drop_unsampled(&mut self) {
        let (windows, now) = (&self.windows, self.now);
        self.pages.retain(|_, page| windows.iter().any(|window| window.samples(page, now)));
    }

    /// Ends the open period. The new open period is `periods` later (at least 1).
    pub fn advance(&mut self, periods: u32) {
        let periods = periods.max(1);
        self.now = self.now.saturating_add(periods);
        self.drop_unsampled();
        let has_room = self.pages.len() < self.limit / 4;
        let (pages, now) = (&self.pages, self.now);
        for window in &mut self.windows {
            let is_empty = !pages.values().any(|page| window.samples(page, now));
            let threshold = match window.threshold() {
                _ if is_empty => MODULUS,
                low if has_room => low.saturating_mul(2).clamp(1, MODULUS),
                same => same,
            };
            // Periods in which nothing was looked at cost no sample.
            for _ in 1..periods.min(window.length) {
                window.thresholds.push_back(MODULUS);
            }
            window.thresholds.push_back(threshold);
            while window.thresholds.len() > window.length as usize {
                window.thresholds.pop_front();
            }
        }
        self.threshold = self.windows.iter().map(Window::threshold).max().unwrap_or(0);
    }

    /// Returns true if no page is in any window.
    pub fn is_empty(&self) -> bool {
        let is_in =
            |page: &Page| self.windows.iter().any(|window| window.holds(page.used(), self.now));
        !self.pages.values().any(is_in)
    }

    /// Estimates the sizes of the sets up to and including the open period, in the order of the
    /// lengths. `None` for a set that was too large for a sample: above some 2^24 times the limit.
    pub fn sizes(&self) -> Vec<Option<SetSize>> {
        let size = |window: &Window| {
            let threshold = window.thresholds.iter().copied().min().unwrap_or(MODULUS);
            let share = SampleRate::of_threshold(threshold)?.share();
            let sampled = self.pages.values().filter(|page| page.hash < threshold);
            let (mut read, mut written, mut used) = (0_u32, 0_u32, 0_u32);
            for page in sampled {
                read += u32::from(window.holds(page.read, self.now));
                written += u32::from(window.holds(page.written, self.now));
                used += u32::from(window.holds(page.used(), self.now));
            }
            let all = |sampled: u32| f64::from(sampled) / share;
            Some(SetSize { read: all(read), written: all(written), used: all(used), share })
        };
        self.windows.iter().map(size).collect()
    }
}

/// Saved state of [`WorkingSets`], for a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SavedSets {
    /// Number of the open period.
    pub now: u32,
    /// Thresholds of each window, in the order of the lengths.
    pub thresholds: Vec<Vec<u32>>,
    /// Pages with the periods of their last read and write, 0 for never.
    pub pages: Vec<(u64, u32, u32)>,
}

impl WorkingSets {
    /// Copies the state of the sets.
    pub fn save(&self) -> SavedSets {
        let mut pages: Vec<_> =
            self.pages.iter().map(|(id, page)| (id.0, page.read, page.written)).collect();
        pages.sort_unstable();
        let thresholds = self.windows.iter().map(|own| own.thresholds.iter().copied().collect());
        SavedSets { now: self.now, thresholds: thresholds.collect(), pages }
    }

    /// Restores saved sets of the same lengths and limit. `None` if sets with these lengths and
    /// this limit cannot have saved this state.
    pub fn restore(lengths: &[u32], limit: usize, saved: SavedSets) -> Option<Self> {
        let mut sets = Self::new(lengths, limit);
        let fits = |(own, saved): (&Window, &Vec<u32>)| {
            let length = own.length as usize;
            !saved.is_empty() && saved.len() <= length && saved.iter().all(|own| *own <= MODULUS)
        };
        let SavedSets { now, thresholds, pages } = saved;
        let is_same = thresholds.len() == sets.windows.len() && pages.len() <= sets.limit;
        if now == 0 || !is_same || !sets.windows.iter().zip(&thresholds).all(fits) {
            return None;
        }
        for (window, thresholds) in sets.windows.iter_mut().zip(thresholds) {
            window.thresholds = thresholds.into();
        }
        sets.now = now;
        sets.threshold = sets.windows.iter().map(Window::threshold).max().unwrap_or(0);
        for (id, read, written) in pages {
            let hash = sample_hash(PageId(id));
            if hash >= MODULUS || read > now || written > now || read.max(written) == 0 {
                return None;
            }
            sets.pages.insert(PageId(id), Page { hash, read, written });
        }
        Some(sets)
    }
}

impl SetSize {
    /// Returns the standard error of `used`, relative to `used`. It is the error of a count of
    /// sampled pages (Poisson, reduced by the share that was sampled). 0 if every page was sampled,
    /// or if none was found.
    pub fn error(&self) -> f64 {
        let sampled = self.used * self.share;
        if sampled > 0.0 { ((1.0 - self.share) / sampled).sqrt() } else { 0.0 }
    }
}
