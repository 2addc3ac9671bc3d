use cache::PageId;
use cache::mrc::ReuseStack;
use serde::{Deserialize, Serialize};
use state_machine::Stream;

use crate::pick::Pick;
use crate::region::{Blocks, Region};

/// Maximum number of I/Os of a run that a search looks back over.
const RUN_MAX: u64 = 256;
/// Unit of alignment in bytes. Misaligned places are offset from its multiples.
const PLACES: u64 = 4096;

/// Recently touched pages of one part of a disk, shared by the steps that use it.
///
/// The stack orders pages by the time of their last access by any step. It grows to the largest
/// depth that any step uses, and drops deeper pages.
#[derive(Debug, Clone)]
pub struct History {
    stack: ReuseStack,
    pages: Blocks,
    /// First byte after the part.
    end: u64,
    /// Maximum number of pages in the stack.
    most: u64,
    /// Offsets at which the next read and the next write continue a run; `None` outside a run.
    next: [Option<u64>; 2],
    /// Block length and continuation probability of the run of each direction, if the run has its
    /// own.
    kept: [Option<(u32, f64)>; 2],
    /// True for each direction whose last jump went to a recorded page.
    is_back: [bool; 2],
}

/// Changing state of a history: its runs, and its pages with the most recently touched one last.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedHistory {
    pages: Vec<u64>,
    next: [Option<u64>; 2],
    kept: [Option<(u32, f64)>; 2],
    is_back: [bool; 2],
}

/// Reuse parameters of one step with a history.
#[derive(Debug, Clone)]
pub struct Habit {
    /// Probability that the I/O after a jump is sequential.
    enter: f64,
    /// Probability that the I/O after a sequential one is also sequential.
    stay: f64,
    /// Mean number of I/Os of a run, if runs have their own length.
    run: f64,
    /// True if all I/Os of a run have the length of the first I/O, and this step's continuation
    /// probability.
    is_same_size: bool,
    /// Choice among `depths`. The additional last item is a page anywhere.
    pub choice: Pick,
    /// First and last depth of each entry, in pages.
    pub depths: Box<[(f64, f64)]>,
    /// Misaligned places: the cumulative share, ascending, and the distance from a multiple of 4
    /// KiB.
    misaligned: Box<[(f64, u64)]>,
}

impl Habit {
    /// Creates a habit. `again` contains shares of I/Os, and depths as ascending shares of the
    /// pages.
    pub fn new(sequential: f64, again: &[(f64, f64)], pages: &Blocks) -> Self {
        let mut weights: Vec<f64> = again.iter().map(|(io, _)| *io).collect();
        weights.push((1.0 - weights.iter().sum::<f64>()).max(0.0));
        let choice = Pick::new(&weights)
            .unwrap_or_else(|| Pick::new(&[1.0]).expect("one item has all of the weight"));
        let mut from = 1.0;
        let depth = |(_, within): &(f64, f64)| {
            #[expect(clippy::cast_precision_loss, reason = "disks have fewer than 2^53 pages")]
            let to = (pages.count as f64 * within).max(from);
            (std::mem::replace(&mut from, to), to)
        };
        let depths = again.iter().map(depth).collect();
        Self {
            enter: sequential,
            stay: sequential,
            run: 1.0,
            is_same_size: false,
            choice,
            depths,
            misaligned: Box::default(),
        }
    }

    /// Sets the mean number of sequential I/Os in a row. The states sequential and not sequential
    /// keep their shares.
    pub fn in_runs(self, run: Option<f64>) -> Self {
        let Some(run) = run else { return self };
        let enter = self.enter / ((1.0 - self.enter) * run);
        Self { enter: if enter < 1.0 { enter } else { 1.0 }, stay: 1.0 - 1.0 / run, run, ..self }
    }
}

impl Habit {
    /// Sets if all I/Os of a run that this step begins are as long as its first I/O.
    pub fn of_same_size(self, is_same_size: bool) -> Self {
        Self { is_same_size, ..self }
    }

    /// Sets misaligned places: their shares, and their distances from a multiple of 4 KiB in bytes.
    #[must_use]
    pub fn misaligned(mut self, by: &[(f64, u32)]) -> Self {
        let mut sum = 0.0;
        let up_to = |(share, by): &(f64, u32)| {
            sum += share;
            (sum, u64::from(*by))
        };
        self.misaligned = by.iter().map(up_to).collect();
        self
    }

    /// Returns the misalignment of a page of 4 KiB. It is always the same, so that a later access
    /// to the page reaches all of its former bytes.
    #[expect(clippy::cast_precision_loss, reason = "the upper 53 bits of a hash")]
    fn place(&self, page: u64) -> u64 {
        // Inverted, so that this number differs from the one that chooses the place of a small
        // block.
        let share = (state_machine::mix(!page) >> 11) as f64 / (1_u64 << 53) as f64;
        self.misaligned.iter().find(|(up_to, _)| share < *up_to).map_or(0, |(_, by)| *by)
    }
}

impl History {
    /// Creates an empty history. `page` is a power of two.
    pub fn new(region: Region, page: u32) -> Self {
        let pages = region.blocks(page);
        Self {
            stack: ReuseStack::new(),
            pages,
            end: region.end,
            most: 0,
            next: [None; 2],
            kept: [None; 2],
            is_back: [false; 2],
        }
    }

    /// Returns the pages of the part.
    pub fn pages(&self) -> &Blocks {
        &self.pages
    }

    /// Makes the history record at least the depths of this habit.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float casts saturate"
    )]
    pub fn remember(&mut self, habit: &Habit) {
        let deepest = habit.depths.last().map_or(0.0, |(_, to)| *to);
        self.most = self.most.max(deepest.ceil() as u64);
    }

    /// Returns the first byte and the length of the next block. The length is the given one, with
    /// places in `blocks`, or the length of the run that continues.
    #[inline]
    pub fn next(
        &mut self,
        habit: &Habit,
        blocks: &Blocks,
        (length, is_write): (u32, bool),
        stream: &mut Stream,
    ) -> (u64, u32) {
        let way = usize::from(is_write);
        let is_exact = !habit.misaligned.is_empty();
        let behind = self.next[way].map(|at| if is_exact { at } else { align(at, length) });
        let kept = self.kept[way];
        let own = length;
        let length = kept.map_or(own, |(length, _)| length);
        let behind = behind.filter(|at| at + u64::from(length) <= self.end);
        let behind = behind.filter(|at| habit.run <= 1.0 || self.may_go_on(way, *at));
        let (length, chance) = match (behind, kept) {
            (Some(_), Some((_, stay))) => (length, stay),
            (Some(_), None) => (length, habit.stay),
            (None, _) => (own, habit.enter),
        };
        let goes_on = chance > 0.0 && stream.chance(chance);
        let offset = behind.unwrap_or_else(|| {
            let (offset, is_back) = self.jump(habit, blocks, goes_on, stream);
            self.is_back[way] = is_back;
            self.kept[way] = (goes_on && habit.is_same_size).then_some((length, habit.stay));
            if is_exact { self.misplace(habit, offset, length) } else { offset }
        });
        self.next[way] = goes_on.then_some(offset + u64::from(length));
        if !goes_on {
            self.kept[way] = None;
        }
        self.touch(if is_exact { offset - offset % PLACES } else { offset }, length);
        (offset, length)
    }

    /// Shifts a block by the page's misalignment, if it still fits.
    fn misplace(&self, habit: &Habit, offset: u64, length: u32) -> u64 {
        let page = offset / PLACES;
        let moved = page * PLACES + habit.place(page);
        if moved + u64::from(length) <= self.end { moved } else { offset }
    }

    /// Returns true if a run may continue at this offset. A run over recorded pages ends where
    /// these end.
    fn may_go_on(&self, way: usize, at: u64) -> bool {
        let page = (at / self.pages.stride).saturating_sub(self.pages.first);
        !self.is_back[way] || self.stack.contains(PageId(page))
    }

    /// Jumps to a recorded page, or to any page. Returns the offset, and true for a recorded page.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a depth is a number of pages"
    )]
    fn jump(
        &self,
        habit: &Habit,
        blocks: &Blocks,
        goes_on: bool,
        stream: &mut Stream,
    ) -> (u64, bool) {
        // A run begins where the remembered run began, if that is not much longer.
        let length =
            if goes_on { blocks.stride * (habit.run as u64).min(RUN_MAX) } else { blocks.stride };
        let found = habit.depths.get(habit.choice.draw(stream)).and_then(|(from, to)| {
            // Even on a logarithmic scale, as miss-ratio curves are drawn.
            let ratio = libm::log(to / from);
            let depth = (from * libm::exp(stream.unit() * ratio)) as u64;
            Some(self.begin(depth, self.stack.page_at(depth)?.0, length))
        });
        if blocks.stride > self.pages.stride
            && let Some(page) = found
        {
            // Only where the part ends within a block does the last place lie further on.
            let last = blocks.offset(blocks.count - 1);
            return (self.pages.offset(page).clamp(blocks.offset(0).min(last), last), true);
        }
        let page = found.unwrap_or_else(|| stream.below(self.pages.count));
        let byte = self.pages.offset(page) + self.inside(page, blocks.stride);
        (blocks.covering(byte), found.is_some())
    }

    /// Returns the first page of the sequential access that ends at `page`. The access is at most
    /// `length` bytes long. Lower pages belong to it if they were touched immediately before
    /// `page`, in ascending order. `depth` is the position of `page` in the history.
    fn begin(&self, depth: u64, page: u64, length: u64) -> u64 {
        let more = (length / self.pages.stride).saturating_sub(1);
        let before = (1..=more.min(page)).take_while(|back| {
            self.stack.page_at(depth + back).is_some_and(|found| found.0 == page - back)
        });
        page - before.count() as u64
    }

    /// Returns the offset of smaller blocks in a page. It is always the same, so that a return to
    /// the page is a return to the block.
    fn inside(&self, page: u64, stride: u64) -> u64 {
        let places = self.pages.stride / stride;
        if places > 1 { state_machine::mix(page) % places * stride } else { 0 }
    }

    /// Returns the recorded pages and the runs.
    pub fn saved(&self) -> SavedHistory {
        let Self { stack, pages: _, end: _, most: _, next, kept, is_back } = self;
        let deepest = stack.pages() as u64;
        let pages = (1..=deepest).rev().filter_map(|depth| Some(stack.page_at(depth)?.0));
        SavedHistory { pages: pages.collect(), next: *next, kept: *kept, is_back: *is_back }
    }

    /// Restores a saved state.
    pub fn go_on_from(&mut self, saved: SavedHistory) {
        let SavedHistory { pages, next, kept, is_back } = saved;
        self.stack = ReuseStack::new();
        for page in pages {
            self.stack.reference(PageId(page));
        }
        (self.next, self.kept, self.is_back) = (next, kept, is_back);
    }

    /// Records the pages of a block as touched. A misaligned block counts as if it began at the
    /// previous multiple of 4 KiB, so that it has as many pages as an aligned one, and shares none
    /// with its neighbours.
    fn touch(&mut self, offset: u64, length: u32) {
        if self.most == 0 {
            return;
        }
        let first = (offset / self.pages.stride).max(self.pages.first);
        let last = (offset + u64::from(length) - 1) / self.pages.stride;
        let last = last.min(self.pages.first + self.pages.count - 1);
        for page in first..=last {
            self.stack.reference(PageId(page - self.pages.first));
        }
        while self.stack.pages() as u64 > self.most {
            let Some(oldest) = self.stack.page_at(self.stack.pages() as u64) else { return };
            self.stack.forget(oldest);
        }
    }
}

/// Aligns an offset: to whole 4 KiB pages for lengths from 4 KiB up, and to sectors for shorter
/// ones.
fn align(at: u64, length: u32) -> u64 {
    at.next_multiple_of(crate::cursor::alignment(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use state_machine::Purpose;

    const PAGE: u32 = 4096;

    fn history(pages: u64) -> (History, Stream) {
        let region = Region::whole(pages * u64::from(PAGE));
        (History::new(region, PAGE), Stream::derive(11, &[], Purpose::User))
    }

    /// Returns shares of I/Os by their distance in an independent LRU stack: sequential, up to each
    /// of the limits, and beyond the last.
    fn found(habit: &Habit, pages: u64, limits: &[usize]) -> Vec<f64> {
        let (mut history, mut stream) = history(pages);
        history.remember(habit);
        let blocks = Region::whole(pages * u64::from(PAGE)).blocks(PAGE);
        let mut recent: Vec<u64> = Vec::new();
        let (mut counts, mut last) = (vec![0_u32; limits.len() + 2], None);
        for number in 0..60_000 {
            let (offset, _) = history.next(habit, &blocks, (PAGE, true), &mut stream);
            let page = offset / u64::from(PAGE);
            let at = recent.iter().position(|other| *other == page);
            let class = match at {
                _ if last == Some(offset) => 0,
                Some(at) => limits.iter().filter(|limit| at + 1 > **limit).count() + 1,
                None => limits.len() + 1,
            };
            // The first ones find an empty memory.
            counts[class] += u32::from(number >= 10_000);
            last = Some(offset + u64::from(PAGE));
            at.map(|at| recent.remove(at));
            recent.insert(0, page);
            recent.truncate(limits[limits.len() - 1]);
        }
        counts.iter().map(|count| f64::from(*count) / 50_000.0).collect()
    }

    #[test]
    fn blocks_come_back_at_the_depths_that_were_asked_for() {
        let pages = 1 << 20;
        let share = |depth: f64| depth / f64::from(1 << 20);
        let blocks = Region::whole(pages * u64::from(PAGE)).blocks(PAGE);
        let habit = Habit::new(0.25, &[(0.2, share(50.0)), (0.4, share(500.0))], &blocks);
        let found = found(&habit, pages, &[50, 500]);
        // Sequential ones, and of the other three quarters: 20 %, 40 %, and the rest.
        for (found, wanted) in found.iter().zip([0.25, 0.15, 0.3, 0.3]) {
            // The tolerance is five standard errors, plus hits that runs through recorded pages
            // make by chance.
            assert!((found - wanted).abs() < 0.02, "{found} for {wanted}");
        }
    }

    #[test]
    fn reads_go_on_where_reads_ended_and_not_writes() {
        let (mut history, mut stream) = history(1 << 16);
        let habit = Habit::new(1.0, &[], history.pages());
        let blocks = *history.pages();
        let (first, _) = history.next(&habit, &blocks, (PAGE, false), &mut stream);
        history.next(&habit, &blocks, (PAGE, true), &mut stream);
        let (second, _) = history.next(&habit, &blocks, (PAGE, false), &mut stream);
        assert_eq!(second, first + u64::from(PAGE));
    }

    #[test]
    fn runs_have_their_length_and_their_share() {
        let (mut history, mut stream) = history(1 << 20);
        let habit = Habit::new(0.5, &[], history.pages()).in_runs(Some(20.0));
        let blocks = *history.pages();
        let (mut behind, mut runs, mut last, mut was_behind) = (0.0, 0.0, 0, false);
        for _ in 0..200_000 {
            let (offset, _) = history.next(&habit, &blocks, (PAGE, false), &mut stream);
            let is_behind = offset == last;
            behind += if is_behind { 1.0 } else { 0.0 };
            runs += if is_behind && !was_behind { 1.0 } else { 0.0 };
            (last, was_behind) = (offset + u64::from(PAGE), is_behind);
        }
        let (share, length): (f64, f64) = (behind / 200_000.0, behind / runs);
        // 5,000 runs: three standard errors of their mean length are 4 %.
        assert!((share - 0.5).abs() < 0.03 && (length - 20.0).abs() < 1.0, "{share} {length}");
    }

    #[test]
    fn memory_ends_with_the_largest_depth() {
        let (mut history, mut stream) = history(1 << 16);
        let blocks = *history.pages();
        let habit = Habit::new(0.0, &[(0.1, 100.0 / f64::from(1 << 16))], &blocks);
        history.remember(&habit);
        for _ in 0..10_000 {
            history.next(&habit, &blocks, (PAGE, false), &mut stream);
        }
        assert_eq!(history.stack.pages(), 100);
    }

    #[test]
    fn every_block_is_inside_however_small_the_part() {
        for (disk, length) in [(1 << 20, 512), (1 << 20, 262_144), (3 << 20, 1 << 20)] {
            let region = Region::whole(disk).part(0.1, 0.8);
            let mut history = History::new(region, 65_536);
            let habit = Habit::new(0.5, &[(0.5, 0.5)], history.pages());
            history.remember(&habit);
            let blocks = region.blocks(length);
            let mut stream = Stream::derive(1, &[], Purpose::User);
            for _ in 0..2000 {
                let (offset, _) = history.next(&habit, &blocks, (length, false), &mut stream);
                assert!(offset + u64::from(length) <= disk);
            }
        }
    }
}
