//! Comparison of one part of a step with the rest: the time for the same work in each.

use run_store::run::{AgainstOthers, Figure, UnderOperations};
use run_store::slice::{Slice, Topology};
use stats::{Compact, Resampling, bootstrap};
use workload::moving::KINDS;

use crate::placed::Placed;
use crate::verdict::StepJudge;

/// Minimum number of blocks for an interval.
const BLOCKS_MIN: usize = 5;
/// Maximum number of blocks. Above it, neighbours are merged, so that memory and resampling stay
/// small.
const BLOCKS_MAX: usize = 64;

/// Number of samples of one kind, and the sum of their times in seconds.
type Cell = (f64, f64);

/// Times of each part, grouped by block of time and kind of work.
#[derive(Debug, Clone, Default)]
pub struct Sums {
    parts: usize,
    /// Position of the first kind of each workload. The last entry is the number of all kinds.
    offsets: Vec<usize>,
    slices: usize,
    /// Number of slices in which an operation did I/O.
    operated: usize,
    unit: usize,
    /// Outer index: block of time. Inner index: part x number of kinds + kind. The sums over all
    /// parts come last, as one more part.
    blocks: Vec<Vec<Cell>>,
    /// True if a part is only compared with others in the blocks in which the part was active.
    at_once: bool,
    /// Number of I/Os and calls, and bytes, by host.
    pub work: Vec<(u64, u64)>,
}

impl Sums {
    /// Creates empty sums of this many parts. `kinds` is the number of kinds by workload.
    fn new(parts: usize, kinds: impl Iterator<Item = usize>) -> Self {
        let mut offsets = vec![0];
        offsets.extend(kinds.scan(0, |sum, kinds| {
            *sum += kinds;
            Some(*sum)
        }));
        Self {
            parts,
            offsets,
            slices: 0,
            operated: 0,
            unit: 1,
            blocks: Vec::new(),
            ..Self::default()
        }
    }

    /// Creates one part per host; no parts if only this host drives.
    pub fn of_hosts(judge: &StepJudge<'_>) -> Self {
        let kinds = |position| {
            let instance = judge.members_of(position).next();
            instance.map_or(0, |(at, _)| judge.topology.instances[at].kinds.len())
        };
        let hosts = judge.placed.names().len();
        let sums = Self::new(hosts, (0..judge.tile.all().count()).map(kinds));
        Self { at_once: true, work: vec![(0, 0); hosts], ..sums }
    }

    /// Adds a slice of the measurement, split by host, with the placement at that time.
    pub fn add_hosts(&mut self, judge: &StepJudge<'_>, placed: &Placed, slice: &Slice) {
        if self.parts == 0 {
            return;
        }
        let io = slice.io.iter().map(|row| {
            let instance = judge.topology.vms[row.vm.0 as usize].instance;
            (instance, row.kind, &row.service, row.bytes)
        });
        let calls = slice.calls.iter().map(|row| (row.instance, row.kind, &row.service, row.bytes));
        let mut work = std::mem::take(&mut self.work);
        let rows = io.chain(calls).filter_map(|(instance, kind, service, bytes)| {
            let member = judge.members[instance.0 as usize];
            let host = placed.host_of(member.tile)?;
            work[host] = (work[host].0 + service.count(), work[host].1 + bytes.get());
            Some((host, (member.workload, usize::from(kind)), service))
        });
        self.add(rows);
        self.work = work;
    }

    /// Creates two parts: the time with an infrastructure operation in progress, and the time
    /// without. No parts if no operations run.
    pub fn of_operations(judge: &StepJudge<'_>) -> Self {
        let parts = if judge.tile.operations.is_empty() { 0 } else { 2 };
        let actions =
            judge.tile.workloads.iter().map(|(workload, _)| workload.actions.len().max(1));
        Self::new(parts, actions)
    }

    /// Adds a slice of the measurement: the tiles' actions, to the part with or without an active
    /// operation.
    pub fn add_operations(&mut self, judge: &StepJudge<'_>, slice: &Slice) {
        if self.parts == 0 {
            return;
        }
        let part = usize::from(!is_operated(judge, slice));
        self.operated += 1 - part;
        let rows = slice.actions.iter().filter_map(|row| {
            let member = judge.members[row.instance.0 as usize];
            let action = usize::from(row.action);
            let is_whole = action < judge.workload(member).actions.len().max(1);
            (member.tile.is_some() && is_whole).then_some((
                part,
                (member.workload, action),
                &row.response,
            ))
        });
        self.add(rows);
    }

    /// Returns the effect of operations on the tiles; `None` if no operations run.
    pub fn under_operations(&self, seed: u64) -> Option<UnderOperations> {
        #[expect(clippy::cast_precision_loss, reason = "thousands of slices at most")]
        let share_of_time = self.operated as f64 / self.slices.max(1) as f64;
        (self.parts > 0)
            .then(|| UnderOperations { share_of_time, against_rest: self.against_others(0, seed) })
    }

    fn add<'a>(&mut self, rows: impl Iterator<Item = (usize, (usize, usize), &'a Compact)>) {
        if self.slices == BLOCKS_MAX * self.unit {
            self.unit *= 2;
            self.blocks = self.blocks.chunks(2).map(sum).collect();
        }
        let kinds = self.offsets.last().copied().unwrap_or(0);
        if self.slices.is_multiple_of(self.unit) {
            self.blocks.push(vec![(0.0, 0.0); (self.parts + 1) * kinds]);
        }
        self.slices += 1;
        let Some(block) = self.blocks.last_mut() else { return };
        for (part, (workload, kind), times) in rows {
            #[expect(clippy::cast_precision_loss, reason = "sums of a window of minutes")]
            let (count, time) = (times.count() as f64, times.sum_ns as f64 / 1e9);
            for of in [part, self.parts] {
                let cell = &mut block[of * kinds + self.offsets[workload] + kind];
                (cell.0, cell.1) = (cell.0 + count, cell.1 + time);
            }
        }
    }

    /// Compares one part with all others together.
    pub fn against_others(&self, part: usize, seed: u64) -> AgainstOthers {
        let kinds = self.offsets.last().copied().unwrap_or(0);
        let absent = |why: &str| Figure::absent(why);
        let positions: Vec<usize> = (0..self.blocks.len()).collect();
        let all = self.compared(part, kinds, &positions);
        let mut found = AgainstOthers {
            samples: all.map_or(0, |(count, _)| count),
            times: absent("the other hosts did no I/O of the same kinds"),
            low: absent("too few blocks of time"),
            high: absent("too few blocks of time"),
        };
        let Some((_, times)) = all else { return found };
        found.times = Figure::of(times);
        let times_of =
            |drawn: &[usize]| self.compared(part, kinds, drawn).map_or(1.0, |(_, times)| times);
        if self.blocks.len() >= BLOCKS_MIN
            && let Some(interval) = bootstrap(&positions, times_of, Resampling::with_seed(seed))
        {
            (found.low, found.high) = (Figure::of(interval.low), Figure::of(interval.high));
        }
        found
    }

    /// Returns the number of the part's samples that are compared, and the ratio of their time to
    /// the time of the same mix with the others' means.
    fn compared(&self, part: usize, kinds: usize, drawn: &[usize]) -> Option<(u64, f64)> {
        let (mut count, mut own_time, mut expected) = (0.0, 0.0, 0.0);
        // Blocks in which a host had no tile are left out of the comparison.
        let cells = |block: &usize| &self.blocks[*block][part * kinds..(part + 1) * kinds];
        let is_there =
            |block: &&usize| !self.at_once || cells(block).iter().any(|cell| cell.0 > 0.0);
        let drawn: Vec<usize> = drawn.iter().filter(is_there).copied().collect();
        for kind in 0..kinds {
            let cell = |of: usize| {
                let cells = drawn.iter().map(|block| self.blocks[*block][of * kinds + kind]);
                cells.fold((0.0, 0.0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1))
            };
            let own = cell(part);
            if own.0 == 0.0 {
                continue;
            }
            // The sum over all hosts is kept, so that a thousand hosts need not be added up for
            // each of them. Counts are whole numbers, so the difference is exact, and 0 if there
            // are no others.
            let all = cell(self.parts);
            let others = (all.0 - own.0, all.1 - own.1);
            if others.0 > 0.0 {
                count += own.0;
                own_time += own.1;
                expected += own.0 * others.1 / others.0;
            }
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let count = count as u64;
        (count > 0 && expected > 0.0).then_some((count, own_time / expected))
    }
}

fn sum(blocks: &[Vec<Cell>]) -> Vec<Cell> {
    let mut sum = blocks[0].clone();
    for block in &blocks[1..] {
        sum.iter_mut().zip(block).for_each(|(own, more)| {
            (own.0, own.1) = (own.0 + more.0, own.1 + more.1);
        });
    }
    sum
}

/// Returns true if an infrastructure operation did I/O in a slice. This can be its own I/O, or I/O
/// of a move in the instance whose disk moves.
fn is_operated(judge: &StepJudge<'_>, slice: &Slice) -> bool {
    // Of real virtual machines, only the end of a phase is visible.
    let ended = |instance: usize| judge.members[instance].tile.is_none();
    slice.calls.iter().any(|row| ended(row.instance.0 as usize))
        || slice.io.iter().any(|row| {
            let at = judge.topology.vms[row.vm.0 as usize].instance.0 as usize;
            judge.members[at].tile.is_none() || is_of_a_move(judge.topology, at, row.kind)
        })
}

/// Returns true if an instance has this kind only because its disk can move.
fn is_of_a_move(topology: &Topology, instance: usize, kind: u16) -> bool {
    let name = topology.instances[instance].kinds.get(usize::from(kind));
    name.is_some_and(|name| KINDS.iter().any(|(own, _)| own == name))
}
