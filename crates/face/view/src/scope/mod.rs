//! Part of a run that a lens includes: filtered rows in one resolution, with their times.

mod cells;
mod frame;
mod rates;
mod sum;

use std::borrow::Cow;

use run_store::rollup::{IoRow, Level};
use run_store::run::Phase;
use units::Nanos;

pub(crate) use analyze::{ENOUGH, ratio};
pub(crate) use cells::{Cells, Grouping};
pub(crate) use frame::{Frame, Points};
pub(crate) use rates::{Range, ranges};
pub(crate) use sum::{Ended, Sum};

use crate::request::{Breakdown, Lens};
use crate::source::Source;

/// Phases that a scope includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phases {
    /// Measured phases, unless the lens has a time; all phases if nothing was measured.
    Summary,
    /// All phases of steps.
    Course,
}

/// Requested resolution of entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Workloads summed over tiles, unless the lens or the breakdown needs tiles.
    Usual,
    /// Workloads of each tile separately.
    Tiles,
}

/// Data of a source that a lens includes.
pub(crate) struct Scope<'a> {
    pub source: &'a Source,
    pub lens: &'a Lens,
    /// Rows of the resolution.
    pub level: Cow<'a, Level>,
    /// Buckets in the lens.
    pub frame: Frame,
    /// Entities, directions and classes in the lens.
    pub cells: Cells,
    /// True if the buckets are the buckets of [`run_store::rollup::Rollup::wide`].
    pub is_wide: bool,
}

impl<'a> Scope<'a> {
    /// Applies a lens to a source. If `steps` is given, it includes only these pairs of step and
    /// repeat.
    pub fn new(
        source: &'a Source,
        lens: &'a Lens,
        detail: Detail,
        phases: Phases,
        steps: Option<&[(u32, u32)]>,
    ) -> Self {
        let rollup = source.rollup();
        let needs_tiles = detail == Detail::Tiles
            || !lens.tiles.is_empty()
            || !lens.hosts.is_empty()
            || matches!(lens.breakdown, Breakdown::Tile | Breakdown::Host);
        let level = if needs_tiles { rollup.narrow() } else { rollup.wide() };
        let frame = Frame::new(source, level.width, &wanted(source, lens, phases, steps), lens);
        Self {
            source,
            lens,
            cells: Cells::new(level, source.hosts(), lens),
            level: Cow::Borrowed(level),
            frame: match level.width.0 / rollup.wide().width.0.max(1) {
                _ if !source.has_times() => frame.untimed(),
                // Buckets shorter than those with known slices have only their length.
                0 => frame,
                each => frame.timed(rollup.slices(), u32::try_from(each).unwrap_or(u32::MAX)),
            },
            is_wide: !needs_tiles,
        }
    }

    /// Selects the measured time by workload, for summaries.
    pub fn summary(source: &'a Source, lens: &'a Lens) -> Self {
        Self::new(source, lens, Detail::Usual, Phases::Summary, None)
    }

    /// Selects all phases by workload, for drawing over time.
    pub fn course(source: &'a Source, lens: &'a Lens) -> Self {
        Self::new(source, lens, Detail::Usual, Phases::Course, None)
    }

    /// Returns the rows, ascending by time, each with the consecutive number of its bucket.
    pub fn rows(&self) -> impl Iterator<Item = (usize, &IoRow)> + '_ {
        let rows = self.level.rows.as_slice();
        self.frame.parts().flat_map(move |(span, first, end, offset)| {
            let from = rows.partition_point(|row| (row.span, row.bucket) < (span, first));
            let to = rows.partition_point(|row| (row.span, row.bucket) < (span, end));
            let here = rows[from..to].iter().filter(|row| self.cells.has(row));
            here.map(move |row| (offset + (row.bucket - first) as usize, row))
        })
    }

    /// Sums all I/O in the lens.
    pub fn sum(&self) -> Sum {
        let mut sum = Sum::default();
        self.rows().for_each(|(_, row)| sum.add(row));
        sum
    }

    /// Sums all I/O in the lens by the lines of a grouping.
    pub fn sums(&self, grouping: &Grouping) -> Vec<Sum> {
        let mut sums: Vec<Sum> = grouping.groups.iter().map(|_| Sum::default()).collect();
        for (_, row) in self.rows() {
            if let Some(group) = grouping.of(row) {
                sums[group].add(row);
            }
        }
        sums
    }

    /// Sums reads and writes by class, and flushes: `[read classes, write classes, flush]`.
    pub fn by_size(&self) -> Vec<Sum> {
        let mut sums: Vec<Sum> = (0..analyze::SLOTS).map(|_| Sum::default()).collect();
        for (_, row) in self.rows() {
            sums[size_slot(row)].add(row);
        }
        sums
    }

    /// Makes a grouping of this scope.
    pub fn grouping(&self, breakdown: Breakdown) -> Grouping {
        Grouping::new(self, breakdown)
    }

    /// Returns the begin and length of a bucket of the wide level, on the run's axis.
    pub fn place(&self, span: u32, bucket: u32) -> Option<(Nanos, Nanos)> {
        let rollup = self.source.rollup();
        rollup.spans().get(span as usize)?;
        Some(rollup.place(rollup.wide(), span, bucket))
    }

    /// Returns true for each bucket that contains only a slice that was cut short. The rate of such
    /// a slice is ignored for smallest and largest rates.
    pub fn short_buckets(&self) -> Vec<bool> {
        let rollup = self.source.rollup();
        self.frame.load.iter().map(|load| rollup.is_cut_short(*load)).collect()
    }

    /// Returns the time under load in the lens.
    pub fn time(&self) -> Nanos {
        self.frame.time()
    }
}

/// Returns the position of a row in [`Scope::by_size`].
pub(crate) fn size_slot(row: &IoRow) -> usize {
    analyze::slot(row.direction, row.class)
}

/// Returns true for each span that is in the lens.
fn wanted(source: &Source, lens: &Lens, phases: Phases, steps: Option<&[(u32, u32)]>) -> Vec<bool> {
    let spans = source.rollup().spans();
    let in_lens: Vec<bool> = spans
        .iter()
        .map(|span| {
            lens.step.is_none_or(|step| span.step == step)
                && steps.is_none_or(|steps| steps.contains(&(span.step, span.repeat)))
        })
        .collect();
    if phases == Phases::Course || lens.time.is_some() {
        return in_lens;
    }
    let is_measured = |position: &usize| spans[*position].phase == Phase::Measured;
    let measured: Vec<bool> =
        (0..spans.len()).map(|span| in_lens[span] && is_measured(&span)).collect();
    if measured.contains(&true) { measured } else { in_lens }
}
