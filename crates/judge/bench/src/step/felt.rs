use run_store::run::{Figure, Survivors};
use run_store::slice::Slice;
use stats::{Resampling, bootstrap};
use units::Nanos;

use crate::rig::HostEvent;
use crate::verdict::StepJudge;

/// Minimum number of slices during an event for an interval. After a shorter event, the following
/// slices are also used. Our choice, as for comparisons of hosts.
const SLICES_MIN: usize = 5;

/// Maximum number of slices that are kept. Above it, slices of the older half are merged in pairs.
/// Our choice: a few megabytes for forty tiles.
const MOMENTS_MAX: usize = 2048;

/// Number of I/Os and calls of one kind of one tile, and the sum of their response times, in
/// seconds.
type Cell = (f64, f64);

/// Response times of every tile's I/Os and calls, slice by slice. They are needed because the
/// effect of an event on other tiles is only known after it. Only recorded if a plan has events or
/// restarts of tiles.
#[derive(Debug, Clone, Default)]
pub struct Felt {
    /// Position of the first kind of each instance. The last entry is the number of all kinds.
    offsets: Vec<usize>,
    slices: Vec<Moment>,
}

/// A slice of the measurement, or several merged slices.
#[derive(Debug, Clone)]
struct Moment {
    start: Nanos,
    end: Nanos,
    cells: Vec<Cell>,
}

impl Felt {
    /// Creates an empty record.
    pub fn new(judge: &StepJudge<'_>) -> Self {
        let mut offsets = vec![0];
        for (at, instance) in judge.topology.instances.iter().enumerate() {
            offsets.push(offsets[at] + instance.kinds.len());
        }
        Self { offsets, slices: Vec::new() }
    }

    /// Adds a slice of the measurement.
    pub fn add(&mut self, judge: &StepJudge<'_>, slice: &Slice) {
        let mut cells = vec![(0.0, 0.0); self.offsets.last().copied().unwrap_or(0)];
        let io = slice
            .io
            .iter()
            .map(|row| (judge.topology.vms[row.vm.0 as usize].instance, row.kind, &row.response));
        let calls = slice.calls.iter().map(|row| (row.instance, row.kind, &row.response));
        for (instance, kind, response) in io.chain(calls) {
            let cell: &mut Cell = &mut cells[self.offsets[instance.0 as usize] + usize::from(kind)];
            #[expect(clippy::cast_precision_loss, reason = "sums of a slice")]
            let (count, time) = (response.count() as f64, response.sum_ns as f64 / 1e9);
            (cell.0, cell.1) = (cell.0 + count, cell.1 + time);
        }
        self.slices.push(Moment { start: slice.start, end: slice.end(), cells });
        if self.slices.len() > MOMENTS_MAX {
            self.thin();
        }
    }

    /// Merges slices of the older half in pairs.
    fn thin(&mut self) {
        let newer = self.slices.split_off(MOMENTS_MAX / 2);
        let older = std::mem::take(&mut self.slices);
        let mut older = older.into_iter();
        while let Some(mut first) = older.next() {
            if let Some(second) = older.next() {
                first.end = second.end;
                first.cells.iter_mut().zip(second.cells).for_each(|(own, more)| {
                    (own.0, own.1) = (own.0 + more.0, own.1 + more.1);
                });
            }
            self.slices.push(first);
        }
        self.slices.extend(newer);
    }

    /// Returns the effect on the unaffected tiles; `None` if there are none.
    pub fn survivors(
        &self,
        judge: &StepJudge<'_>,
        all: &[HostEvent],
        which: usize,
        seed: u64,
    ) -> Option<Survivors> {
        let own = &all[which];
        if own.affected.is_empty() {
            return None;
        }
        let tiles = judge.members.iter().filter_map(|member| member.tile);
        let mut tiles: Vec<u32> = tiles.filter(|tile| !own.affected.contains(tile)).collect();
        tiles.dedup();
        if tiles.is_empty() || self.offsets.len() != judge.members.len() + 1 {
            return None;
        }
        let instances: Vec<usize> = (0..judge.members.len())
            .filter(|at| judge.members[*at].tile.is_some_and(|tile| tiles.contains(&tile)))
            .collect();
        let during = self.during(own);
        let from = Nanos(own.event.began_ns);
        let is_calm = |slice: &Moment| !all.iter().any(|other| touches(other, slice));
        let before: Vec<usize> = (0..self.slices.len())
            .filter(|at| self.slices[*at].end <= from && is_calm(&self.slices[*at]))
            .collect();
        Some(self.compared(&instances, tiles, (&before, &during), seed))
    }

    /// Returns the positions of the slices that an event overlaps, and of slices after it if an
    /// interval needs them.
    fn during(&self, event: &HostEvent) -> Vec<usize> {
        let all = 0..self.slices.len();
        let mut found: Vec<usize> = all.filter(|at| touches(event, &self.slices[*at])).collect();
        let next = found.last().map_or(self.slices.len(), |last| last + 1);
        found.extend((next..self.slices.len()).take(SLICES_MIN.saturating_sub(found.len())));
        found
    }

    fn compared(
        &self,
        instances: &[usize],
        tiles: Vec<u32>,
        (before, during): (&[usize], &[usize]),
        seed: u64,
    ) -> Survivors {
        let count = |slices: &[usize]| {
            let cells = slices.iter().flat_map(|at| self.cells(*at, instances));
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let count = cells.map(|(_, cell)| cell.0).sum::<f64>() as u64;
            count
        };
        let few = || Figure::absent("too few slices before or during it");
        let mut found = Survivors {
            tiles,
            samples_before: count(before),
            samples_during: count(during),
            times: Figure::absent("one kind of work was not done both before and during it"),
            low: few(),
            high: few(),
        };
        let Some(times) = self.times(instances, before, during) else { return found };
        found.times = Figure::of(times);
        let drawn_from: Vec<(usize, bool)> = before
            .iter()
            .map(|at| (*at, false))
            .chain(during.iter().map(|at| (*at, true)))
            .collect();
        let times_of = |drawn: &[(usize, bool)]| {
            let of = |is_during| {
                let own = drawn.iter().filter(move |(_, during)| *during == is_during);
                own.map(|(at, _)| *at).collect::<Vec<_>>()
            };
            self.times(instances, &of(false), &of(true)).unwrap_or(times)
        };
        if before.len() >= SLICES_MIN
            && during.len() >= SLICES_MIN
            && let Some(interval) = bootstrap(&drawn_from, times_of, Resampling::with_seed(seed))
        {
            (found.low, found.high) = (Figure::of(interval.low), Figure::of(interval.high));
        }
        found
    }

    /// Returns the cells of these instances in a slice, each with its position.
    fn cells<'a>(
        &'a self,
        slice: usize,
        instances: &'a [usize],
    ) -> impl Iterator<Item = (usize, Cell)> + 'a {
        let cells = &self.slices[slice].cells;
        let kinds = |at: &usize| self.offsets[*at]..self.offsets[*at + 1];
        instances.iter().flat_map(kinds).map(|at| (at, cells[at]))
    }

    /// Returns the time during the event, divided by the time that the same mix would have taken
    /// before it.
    fn times(&self, instances: &[usize], before: &[usize], during: &[usize]) -> Option<f64> {
        let sums = |slices: &[usize]| {
            let mut sums = vec![(0.0, 0.0); self.offsets.last().copied().unwrap_or(0)];
            for (at, cell) in slices.iter().flat_map(|slice| self.cells(*slice, instances)) {
                let sum: &mut Cell = &mut sums[at];
                (sum.0, sum.1) = (sum.0 + cell.0, sum.1 + cell.1);
            }
            sums
        };
        let (mut own_time, mut expected) = (0.0, 0.0);
        for (before, during) in sums(before).into_iter().zip(sums(during)) {
            if before.0 > 0.0 && during.0 > 0.0 {
                own_time += during.1;
                expected += during.0 * before.1 / before.0;
            }
        }
        (expected > 0.0).then_some(own_time / expected)
    }
}

/// Returns true if an event was in progress in a slice.
fn touches(event: &HostEvent, slice: &Moment) -> bool {
    let (from, to) = (event.event.began_ns, event.event.ended_ns.unwrap_or(u64::MAX));
    slice.end.0 > from && slice.start.0 <= to
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_store::run::{StepEvent, StepEventKind};

    /// Creates a record of one instance with one kind. Each second has a number of I/Os and the
    /// time of each.
    fn felt(seconds: impl Iterator<Item = (f64, f64)>) -> Felt {
        let moment = |(at, (count, each)): (u64, (f64, f64))| {
            let start = Nanos::from_secs(at);
            let end = start + Nanos::SECOND;
            Moment { start, end, cells: vec![(count, count * each)] }
        };
        Felt { offsets: vec![0, 1], slices: (0..).zip(seconds).map(moment).collect() }
    }

    fn event(from_s: f64, to_s: f64) -> HostEvent {
        let began = Nanos::from_secs_f64(from_s).0;
        let event = StepEvent {
            ended_ns: Some(Nanos::from_secs_f64(to_s).0),
            ..StepEvent::begun(StepEventKind::StopHost, began)
        };
        HostEvent { event, affected: Vec::new() }
    }

    #[test]
    fn effect_on_others_compares_event_with_calm_before() {
        // Twice as long from second 20 to 30; during another event, from 5 to 6, ten times as long.
        let seconds = (0..40).map(|at| match at {
            5 => (100.0, 0.010),
            20..30 => (100.0, 0.002),
            _ => (100.0, 0.001),
        });
        let felt = felt(seconds);
        let (first, own) = (event(5.2, 5.8), event(20.1, 29.5));
        let during = felt.during(&own);
        assert_eq!(during, (20..30).collect::<Vec<_>>());
        let before: Vec<usize> = (0..20).filter(|at| !touches(&first, &felt.slices[*at])).collect();
        assert_eq!(before.len(), 19, "a time of another event is not calm");
        let found = felt.compared(&[0], vec![0], (&before, &during), 1);
        assert_eq!((found.samples_before, found.samples_during), (1900, 1000));
        let close = |figure: &Figure| (figure.value.expect("a number") - 2.0).abs() < 1e-9;
        assert!(close(&found.times) && close(&found.low) && close(&found.high), "{found:?}");
    }

    #[test]
    fn short_event_counts_five_slices_and_fewer_at_the_end() {
        let felt = felt((0..40).map(|_| (10.0, 0.001)));
        assert_eq!(felt.during(&event(20.1, 20.2)), [20, 21, 22, 23, 24]);
        let late = felt.during(&event(38.1, 38.2));
        assert_eq!(late, [38, 39]);
        let found = felt.compared(&[0], vec![0], (&[0, 1, 2, 3, 4, 5], &late), 1);
        assert!(found.times.value.is_some() && found.low.value.is_none(), "{found:?}");
    }

    #[test]
    fn long_step_takes_little_memory_and_loses_nothing() {
        let mut felt = felt((0..MOMENTS_MAX).map(|_| (10.0, 0.001)));
        felt.thin();
        assert_eq!(felt.slices.len(), MOMENTS_MAX * 3 / 4);
        let count: f64 = felt.slices.iter().map(|own| own.cells[0].0).sum();
        assert!((count - 20_480.0).abs() < 1e-6, "{count}");
        assert!(felt.slices.windows(2).all(|pair| pair[0].end == pair[1].start), "no gap");
    }
}
