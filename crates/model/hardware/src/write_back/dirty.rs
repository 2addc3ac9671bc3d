use units::{Bytes, Ratio};

use super::bit_tree::BitTree;
use crate::error::{Check, ParameterError};
use crate::part::Job;

/// Pages that are not on disk yet, grouped into elements that are written together, in order of
/// address.
#[derive(Debug, Clone)]
pub struct DirtyPages {
    page: u64,
    /// Number of pages in an element, 1 to 64.
    pages: u64,
    /// Dirty pages of each element, a bit each, in chunks of [`CHUNK`] elements. A chunk exists
    /// while one of its elements has a dirty page.
    chunks: Vec<Option<Box<[u64; CHUNK]>>>,
    /// Elements with dirty pages.
    elements: BitTree,
    /// Parts of the address space that are swept independently and in turn, in order; at least one.
    regions: Vec<Region>,
    /// Position in `regions` of the region whose turn is next.
    turn: usize,
}

/// Part of the address space with a sweep of its own.
#[derive(Debug, Clone, Copy)]
struct Region {
    /// First element of the region; `end` is the element after the last.
    first: u64,
    end: u64,
    /// Element after the one that was taken last.
    cursor: u64,
}

/// Elements per chunk. 64 elements take half a kilobyte, so pages written far apart, one in each
/// chunk, take no more than that each.
const CHUNK: usize = 64;

/// Consecutive dirty pages, to be written at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub offset: u64,
    pub length: u32,
    pub pages: u32,
}

impl DirtyPages {
    /// Creates an empty set with pages of this size, and elements of so many bytes.
    pub fn new(check: &Check, page: Bytes, element: Bytes) -> Result<Self, ParameterError> {
        let is_page = (512..=65536).contains(&page.get()) && page.get().is_power_of_two();
        check.that(is_page, "page", page, "a power of two, 512 B to 64 KiB")?;
        let pages = element.get() / page.get();
        let is_element = (1..=64).contains(&pages) && element.get() == pages * page.get();
        check.that(is_element, "element", element, "1 to 64 pages")?;
        Ok(Self {
            page: page.get(),
            pages,
            chunks: Vec::new(),
            elements: BitTree::default(),
            regions: vec![Region { first: 0, end: u64::MAX, cursor: 0 }],
            turn: 0,
        })
    }

    /// Divides the address space into regions that begin at these bytes, ascending. They are swept
    /// independently and in turn.
    pub fn divide(&mut self, starts: &[u64]) {
        let element = self.pages * self.page;
        let mut firsts: Vec<u64> = starts.iter().map(|start| start.div_ceil(element)).collect();
        firsts.insert(0, 0);
        firsts.sort_unstable();
        firsts.dedup();
        let ends = firsts.iter().copied().skip(1).chain([u64::MAX]);
        let region = |(first, end): (&u64, u64)| Region { first: *first, end, cursor: *first };
        self.regions = firsts.iter().zip(ends).map(region).collect();
        self.turn = 0;
    }

    /// Returns the maximum number of pages that a job of this length can touch.
    pub fn most(&self, job: &Job) -> u64 {
        u64::from(job.length) / self.page + 2
    }

    /// Returns the number of pages that a job touches and that are not dirty.
    pub fn clean_of(&self, job: &Job) -> u64 {
        let absent =
            |(element, bits): (u64, u64)| u64::from((bits & !self.bits_of(element)).count_ones());
        self.pages_of(job).map(absent).sum()
    }

    /// Returns true if every byte of a job lies in dirty pages.
    pub fn hold(&self, job: &Job) -> bool {
        self.clean_of(job) == 0
    }

    #[inline]
    fn bits_of(&self, element: u64) -> u64 {
        let (chunk, within) = place(element);
        self.chunks.get(chunk).and_then(Option::as_ref).map_or(0, |bits| bits[within])
    }

    /// Makes a job's pages dirty; returns how many already were.
    pub fn add(&mut self, job: &Job) -> u64 {
        let mut again = 0;
        for (element, bits) in self.pages_of(job) {
            let (chunk, within) = place(element);
            if chunk >= self.chunks.len() {
                self.chunks.resize(chunk + 1, None);
            }
            let chunk = self.chunks[chunk].get_or_insert_with(|| Box::new([0; CHUNK]));
            let dirty = &mut chunk[within];
            if *dirty == 0 {
                self.elements.insert(number(element));
            }
            again += u64::from((*dirty & bits).count_ones());
            *dirty |= bits;
        }
        again
    }

    /// Takes the next element of the region whose turn it is, in order of address and then from the
    /// first again. Appends the element's runs to `runs`; returns false if there is no dirty page.
    pub fn take(&mut self, runs: &mut Vec<Run>) -> bool {
        for _ in 0..self.regions.len() {
            let turn = self.turn;
            self.turn = (turn + 1) % self.regions.len();
            let region = &mut self.regions[turn];
            let next = |from: u64| {
                let element = self.elements.next(number(from))? as u64;
                (element < region.end).then_some(element)
            };
            let Some(element) = next(region.cursor).or_else(|| next(region.first)) else {
                continue;
            };
            region.cursor = element + 1;
            let bits = self.remove(element);
            self.cut(element, bits, runs);
            return true;
        }
        false
    }

    /// Takes the dirty pages of an element.
    fn remove(&mut self, element: u64) -> u64 {
        let (chunk, within) = place(element);
        self.elements.remove(number(element));
        let bits = self.chunks[chunk].as_mut().map_or(0, |bits| std::mem::take(&mut bits[within]));
        if self.elements.is_word_empty(number(element)) {
            self.chunks[chunk] = None;
        }
        bits
    }

    fn cut(&self, element: u64, mut bits: u64, runs: &mut Vec<Run>) {
        while bits != 0 {
            let from = bits.trailing_zeros();
            let pages = (bits >> from).trailing_ones();
            bits &= !((u64::MAX >> (64 - pages)) << from);
            let offset = (element * self.pages + u64::from(from)) * self.page;
            let length = u64::from(pages) * self.page;
            let length = u32::try_from(length).expect("an element is at most 4 MiB");
            runs.push(Run { offset, length, pages });
        }
    }

    /// Returns the elements of a job, each with the bits of the pages that the job touches.
    fn pages_of(&self, job: &Job) -> impl Iterator<Item = (u64, u64)> + use<> {
        let pages = self.pages;
        let (first, end) = (job.offset / self.page, job.end().div_ceil(self.page));
        (first / pages..=(end - 1) / pages).map(move |element| {
            let from = first.max(element * pages) - element * pages;
            let to = end.min((element + 1) * pages) - element * pages;
            (element, (u64::MAX >> (64 - (to - from))) << from)
        })
    }
}

fn number(element: u64) -> usize {
    usize::try_from(element).expect("a disk has fewer than 2^36 elements")
}

/// Returns the chunk of an element, and the element's position in it.
#[inline]
fn place(element: u64) -> (usize, usize) {
    (number(element) / CHUNK, number(element) % CHUNK)
}

/// Numbers of pages: destaging begins at `high` and ends at `low`; `all` is the total.
#[derive(Debug)]
pub struct Marks {
    pub low: u64,
    pub high: u64,
    pub all: u64,
}

impl Marks {
    pub fn new(
        check: &Check,
        (low, high): (Ratio, Ratio),
        all: u64,
    ) -> Result<Self, ParameterError> {
        let is_share = low > Ratio::ZERO && high <= Ratio::ONE;
        check.that(is_share && low <= high, "low", low, "above 0 % and at most high")?;
        let share = |ratio: Ratio| Bytes::new(all).scale(ratio.get()).get();
        Ok(Self { low: share(low), high: share(high), all })
    }

    /// Returns `held` as a share of all pages, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "pages of a memory")]
    pub fn fill(&self, held: u64) -> f64 {
        held as f64 / self.all as f64
    }
}

#[cfg(test)]
mod tests {
    use state_machine::Operation;

    use super::*;
    use crate::part::{Class, PartId, StreamId, Ticket};

    fn dirty(offsets: &[u64]) -> DirtyPages {
        let kib = |kib: u64| Bytes::new(kib << 10);
        let mut pages = DirtyPages::new(&Check("memory"), kib(8), kib(64)).expect("in range");
        for offset in offsets {
            let (from, ticket, stream) = (PartId::HOST, Ticket(0), StreamId(0));
            let operation = Operation::Write;
            pages.add(&Job {
                from,
                ticket,
                operation,
                offset: *offset,
                length: 8192,
                stream,
                class: Class::Foreground,
            });
        }
        pages
    }

    fn order(mut pages: DirtyPages) -> Vec<u64> {
        let mut runs = Vec::new();
        while pages.take(&mut runs) {}
        runs.iter().map(|run| run.offset >> 20).collect()
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn one_region_is_swept_in_the_order_of_addresses() {
        assert_eq!(order(dirty(&[5 * MIB, MIB, 9 * MIB, 3 * MIB])), [1, 3, 5, 9]);
    }

    #[test]
    fn regions_take_turns_and_an_empty_one_gives_its_turn_away() {
        let mut pages = dirty(&[MIB, 2 * MIB, 3 * MIB, 20 * MIB, 21 * MIB]);
        pages.divide(&[0, 10 * MIB, 15 * MIB]);
        assert_eq!(order(pages), [1, 20, 2, 21, 3]);
    }
}
