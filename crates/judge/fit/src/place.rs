//! Classification of the places of I/Os: after the previous one, at data that was accessed before,
//! or elsewhere.

use cache::PageId;
use cache::mrc::ReuseStack;
use trace::{IoRecord, Operation};

/// Minimum unit of recorded data; the next constant is the maximum that the language allows.
const PAGE: u64 = 4 << 10;
const PAGE_MAX: u64 = 1 << 20;
/// Maximum number of pages that a fitted workload records: about 30 MB.
const PAGES_MAX: usize = 1 << 19;
/// Maximum number of entries in a list of depths; the next constant is the minimum number of I/Os
/// of each.
const ENTRIES: usize = 10;
const ENTRY_LEAST: usize = 20;

/// Minimum share of places that is kept.
const RARE: f64 = 0.001;

/// Classification of an I/O's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// The I/O transfers no data.
    None,
    /// The I/O starts at the end of the previous I/O of its direction. The value is the depth of
    /// its last page in pages, if that page was accessed before.
    Behind(Option<u64>),
    /// The first page was accessed before, at this depth in pages, counting the page itself.
    Again(u64),
    /// The first page was not accessed before.
    Fresh,
}

/// Classified places of I/Os.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) page: u64,
    pub(crate) ways: Vec<Placement>,
}

/// Classifies I/Os with the smallest page size that keeps the number of accessed pages within the
/// limit.
pub(crate) fn of(records: &[IoRecord], devices: usize) -> Places {
    let mut page = PAGE;
    loop {
        let (ways, most) = with_page(records, devices, page);
        if most <= PAGES_MAX || page == PAGE_MAX {
            return Places { page, ways };
        }
        page *= 2;
    }
}

/// Returns the classified places, and the maximum number of pages of a device.
fn with_page(records: &[IoRecord], devices: usize, page: u64) -> (Vec<Placement>, usize) {
    let mut stacks = vec![ReuseStack::new(); devices];
    let mut next: Vec<[Option<u64>; 2]> = vec![[None; 2]; devices];
    let ways = records.iter().map(|record| {
        let device = usize::from(record.device.0);
        let way = usize::from(record.operation == Operation::Write);
        if !record.operation.moves_data() || record.length == 0 {
            return Placement::None;
        }
        let is_behind = next[device][way].replace(record.end_offset()) == Some(record.offset);
        let depth = touch(&mut stacks[device], record, page);
        match depth {
            (_, last) if is_behind => Placement::Behind(last),
            (Some(first), _) => Placement::Again(first),
            (None, _) => Placement::Fresh,
        }
    });
    let ways = ways.collect();
    (ways, stacks.iter().map(ReuseStack::pages).max().unwrap_or(0))
}

/// Returns the depths of the first and the last page of an I/O. A block that begins after a
/// multiple of 4 KiB counts as if it began there, as in the language. On a disk of such blocks
/// every block then has its own pages, and a neighbour of an accessed block does not count as
/// accessed.
fn touch(stack: &mut ReuseStack, record: &IoRecord, page: u64) -> (Option<u64>, Option<u64>) {
    let begin = record.offset - record.offset % PAGE;
    let (first, last) = (begin / page, (begin + u64::from(record.length) - 1) / page);
    let begin = stack.reference(PageId(first));
    let end = (first + 1..=last).map(|at| stack.reference(PageId(at))).last();
    (begin, end.unwrap_or(begin))
}

/// Reuse parameters: shares of the places of I/Os.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Habit {
    /// Share of sequential I/Os in all I/Os.
    pub(crate) sequential: f64,
    /// Mean length of sequential runs, if longer than by chance.
    pub(crate) run: Option<f64>,
    /// Repeated accesses among the others: share, and depth in pages, ascending. The remaining I/Os
    /// are random.
    pub(crate) again: Vec<(f64, u64)>,
}

/// Counts the classified places, and divides the depths into parts of equal weight. Sequential I/Os
/// count with their own depth. So long runs have the same weight in the starts of runs as in the
/// miss-ratio curve, although the language starts short and long runs alike.
pub(crate) fn habit(ways: impl Iterator<Item = Placement>) -> Habit {
    let (mut behind, mut fresh, mut depths) = (0_usize, 0_usize, Vec::new());
    for way in ways {
        behind += usize::from(matches!(way, Placement::Behind(_)));
        match way {
            Placement::None => {}
            Placement::Fresh | Placement::Behind(None) => fresh += 1,
            Placement::Again(depth) | Placement::Behind(Some(depth)) => depths.push(depth),
        }
    }
    depths.sort_unstable();
    let all = (fresh + depths.len()).max(1) as f64;
    let entries = (depths.len() / ENTRY_LEAST).clamp(1, ENTRIES);
    let mut again: Vec<(f64, u64)> = Vec::new();
    let mut from = 0;
    for entry in 1..=entries {
        let Some(last) = (depths.len() * entry / entries).checked_sub(1) else { break };
        // Equal depths belong to one entry.
        let to = depths.partition_point(|depth| *depth <= depths[last]);
        if to > from {
            again.push(((to - from) as f64 / all, depths[last]));
            from = to;
        }
    }
    Habit { sequential: behind as f64 / all, run: None, again }
}

/// Returns the share of sequential I/Os of one direction, and the mean length of runs. `None`
/// unless runs are at least half longer than by chance.
pub(crate) fn runs(ways: impl Iterator<Item = Placement>) -> Option<(f64, f64)> {
    let (mut all, mut behind, mut runs, mut was_behind) = (0.0, 0.0, 0.0, false);
    for way in ways.filter(|way| *way != Placement::None) {
        let is_behind = matches!(way, Placement::Behind(_));
        all += 1.0;
        behind += if is_behind { 1.0 } else { 0.0 };
        runs += if is_behind && !was_behind { 1.0 } else { 0.0 };
        was_behind = is_behind;
    }
    let share = behind / f64::max(all, 1.0);
    let run = behind / f64::max(runs, 1.0);
    let is_enough = behind >= ENTRY_LEAST as f64 && share < 1.0;
    (is_enough && run > 1.5 / (1.0 - share)).then_some((share, run))
}

/// Returns, for I/Os that are not sequential, the share at each distance from a multiple of 4 KiB,
/// in bytes. Shares below 0.001 are left out.
pub(crate) fn misaligned(places: impl Iterator<Item = (u64, Placement)>) -> Vec<(f64, u32)> {
    let (mut counts, mut all) = ([0.0_f64; 8], 0.0);
    for (offset, way) in places {
        if matches!(way, Placement::Again(_) | Placement::Fresh) {
            counts[usize::try_from(offset % 4096 / 512).unwrap_or(0)] += 1.0;
            all += 1.0;
        }
    }
    let shares = (0_u32..).zip(counts).skip(1).map(|(sector, count)| (count / all, sector * 512));
    shares.filter(|(share, _)| *share >= RARE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    #[test]
    fn what_continues_comes_back_or_is_new_is_told_apart() {
        let io = |operation, offset| IoRecord::new(Nanos(0), operation, offset, 8192);
        let records = [
            io(Operation::Read, 0),
            io(Operation::Read, 8192),
            io(Operation::Write, 16_384),
            io(Operation::Read, 0),
            io(Operation::Flush, 0),
            io(Operation::Read, 1 << 20),
        ];
        let places = of(&records, 1);
        assert_eq!(
            places.ways,
            // Two own pages, and two pairs after it.
            [
                Placement::Fresh,
                Placement::Behind(None),
                Placement::Fresh,
                Placement::Again(6),
                Placement::None,
                Placement::Fresh
            ]
        );
    }

    /// Checks a disk whose partition begins at sector 63. A block next to an accessed one shares a
    /// page with it and still counts as new.
    #[test]
    fn neighbours_on_a_misaligned_disk_are_new() {
        let io =
            |block: u64| IoRecord::new(Nanos(0), Operation::Write, block * 4096 + 63 * 512, 4096);
        let places = of(&[io(5), io(8), io(6), io(4), io(6), io(5)], 1);
        let fresh = [Placement::Fresh; 4];
        assert_eq!(places.ways[..4], fresh);
        assert_eq!(places.ways[4..], [Placement::Again(2), Placement::Again(4)]);
    }

    #[test]
    fn depths_are_divided_into_parts_of_equal_weight() {
        let depths = (1..=1000).map(Placement::Again);
        let others = std::iter::repeat_n(Placement::Behind(None), 1000);
        let habit = habit(depths.chain(others).chain(std::iter::repeat_n(Placement::Fresh, 1000)));
        assert!((habit.sequential - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(habit.again.len(), ENTRIES);
        assert_eq!(habit.again[0].1, 100);
        assert!(habit.again.iter().all(|(share, _)| (share - 1.0 / 30.0).abs() < 1e-9));
    }
}
