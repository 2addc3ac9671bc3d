//! Where I/Os go: behind the one before, back to what was touched, or anywhere else.

use cache::PageId;
use cache::mrc::ReuseStack;
use trace::{IoRecord, Operation};

/// Smallest unit in which data is remembered, and the largest that the language has.
const PAGE: u64 = 4 << 10;
const PAGE_MAX: u64 = 1 << 20;
/// Pages that a fitted workload remembers at most: about 30 MB.
const PAGES_MAX: usize = 1 << 19;
/// Entries of a list of depths, and I/Os for each of them at least.
const ENTRIES: usize = 10;
const ENTRY_LEAST: usize = 20;

/// Share of places that is worth a word.
const RARE: f64 = 0.001;

/// How one I/O found its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It moves no data.
    None,
    /// It began where the one before of its direction ended, and its last page was touched so
    /// many pages ago, if it was.
    Behind(Option<u64>),
    /// Its first page was touched before, so many pages ago, counting itself.
    Again(u64),
    /// Its first page was not touched before.
    Fresh,
}

/// How each of some I/Os found its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) page: u64,
    pub(crate) ways: Vec<Way>,
}

/// With the smallest page at which not too many are touched.
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

/// The ways, and the most pages of a device.
fn with_page(records: &[IoRecord], devices: usize, page: u64) -> (Vec<Way>, usize) {
    let mut stacks = vec![ReuseStack::new(); devices];
    let mut next: Vec<[Option<u64>; 2]> = vec![[None; 2]; devices];
    let ways = records.iter().map(|record| {
        let device = usize::from(record.device.0);
        let way = usize::from(record.operation == Operation::Write);
        if !record.operation.moves_data() || record.length == 0 {
            return Way::None;
        }
        let is_behind = next[device][way].replace(record.end_offset()) == Some(record.offset);
        let depth = touch(&mut stacks[device], record, page);
        match depth {
            (_, last) if is_behind => Way::Behind(last),
            (Some(first), _) => Way::Again(first),
            (None, _) => Way::Fresh,
        }
    });
    let ways = ways.collect();
    (ways, stacks.iter().map(ReuseStack::pages).max().unwrap_or(0))
}

/// The depths of its first and last page. A block that begins behind a multiple of 4 KiB counts as if it
/// began there, as it does in the language: on a disk of such blocks every block has pages of its own
/// then, and a block beside one that was touched is not taken for one that comes back.
fn touch(stack: &mut ReuseStack, record: &IoRecord, page: u64) -> (Option<u64>, Option<u64>) {
    let begin = record.offset - record.offset % PAGE;
    let (first, last) = (begin / page, (begin + u64::from(record.length) - 1) / page);
    let begin = stack.reference(PageId(first));
    let end = (first + 1..=last).map(|at| stack.reference(PageId(at))).last();
    (begin, end.unwrap_or(begin))
}

/// Shares of some I/Os.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Habit {
    /// Of all.
    pub(crate) sequential: f64,
    /// How many of these follow each other, if not by chance.
    pub(crate) run: Option<f64>,
    /// Of the others: share, and depth in pages, ascending. The rest goes anywhere.
    pub(crate) again: Vec<(f64, u64)>,
}

/// Counts, and divides the depths into parts of equal weight. Sequential I/Os count with the depth
/// they are at themselves: long runs then weigh as much in where runs begin as they do in the
/// miss-ratio curve, although the language begins short and long ones alike.
pub(crate) fn habit(ways: impl Iterator<Item = Way>) -> Habit {
    let (mut behind, mut fresh, mut depths) = (0_usize, 0_usize, Vec::new());
    for way in ways {
        behind += usize::from(matches!(way, Way::Behind(_)));
        match way {
            Way::None => {}
            Way::Fresh | Way::Behind(None) => fresh += 1,
            Way::Again(depth) | Way::Behind(Some(depth)) => depths.push(depth),
        }
    }
    depths.sort_unstable();
    let all = (fresh + depths.len()).max(1) as f64;
    let entries = (depths.len() / ENTRY_LEAST).clamp(1, ENTRIES);
    let mut again: Vec<(f64, u64)> = Vec::new();
    let mut from = 0;
    for entry in 1..=entries {
        let Some(last) = (depths.len() * entry / entries).checked_sub(1) else { break };
        // All of one depth belong to one entry.
        let to = depths.partition_point(|depth| *depth <= depths[last]);
        if to > from {
            again.push(((to - from) as f64 / all, depths[last]));
            from = to;
        }
    }
    Habit { sequential: behind as f64 / all, run: None, again }
}

/// The share of sequential I/Os of one direction, and how many of them follow each other if that
/// is at least half more than chance would have.
pub(crate) fn runs(ways: impl Iterator<Item = Way>) -> Option<(f64, f64)> {
    let (mut all, mut behind, mut runs, mut was_behind) = (0.0, 0.0, 0.0, false);
    for way in ways.filter(|way| *way != Way::None) {
        let is_behind = matches!(way, Way::Behind(_));
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

/// Of places that are not sequential: shares by bytes behind a multiple of 4 KiB, those of a
/// thousandth and more.
pub(crate) fn misaligned(places: impl Iterator<Item = (u64, Way)>) -> Vec<(f64, u32)> {
    let (mut counts, mut all) = ([0.0_f64; 8], 0.0);
    for (offset, way) in places {
        if matches!(way, Way::Again(_) | Way::Fresh) {
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
            // Two pages of its own, and two pairs after it.
            [Way::Fresh, Way::Behind(None), Way::Fresh, Way::Again(6), Way::None, Way::Fresh]
        );
    }

    /// The partition of a disk begins at sector 63. A block next to one that was touched has a page in
    /// common with it and is new all the same.
    #[test]
    fn neighbours_on_a_misaligned_disk_are_new() {
        let io =
            |block: u64| IoRecord::new(Nanos(0), Operation::Write, block * 4096 + 63 * 512, 4096);
        let places = of(&[io(5), io(8), io(6), io(4), io(6), io(5)], 1);
        let fresh = [Way::Fresh; 4];
        assert_eq!(places.ways[..4], fresh);
        assert_eq!(places.ways[4..], [Way::Again(2), Way::Again(4)]);
    }

    #[test]
    fn depths_are_divided_into_parts_of_equal_weight() {
        let depths = (1..=1000).map(Way::Again);
        let others = std::iter::repeat_n(Way::Behind(None), 1000);
        let habit = habit(depths.chain(others).chain(std::iter::repeat_n(Way::Fresh, 1000)));
        assert!((habit.sequential - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(habit.again.len(), ENTRIES);
        assert_eq!(habit.again[0].1, 100);
        assert!(habit.again.iter().all(|(share, _)| (share - 1.0 / 30.0).abs() < 1e-9));
    }
}
