use std::iter::Peekable;

use units::Nanos;

use super::Rollup;
use super::rows::Span;
use super::slot::{Io, Sums};
use crate::rundir::{StoredRun, files};
use crate::series::{
    ActionRecord, GeneratorRecord, IoRecord, Rows, SeriesError, StepKey, Stretch, count_between,
    read_between,
};
use crate::slice::GeneratorRow;

/// A slice of the stored series.
type Slot = (StepKey, Nanos, Nanos);

impl Rollup {
    /// A stored run's: read where it was written, else folded from its series, also from the
    /// parts that a killed run left. What tiers did is in no series.
    pub fn of_run(run: &StoredRun) -> Result<Self, SeriesError> {
        if run.path().join(files::ROLLUP).exists() {
            return Self::read(run.path());
        }
        Self::of_series(run)
    }

    /// Folds a run's series.
    pub fn of_series(run: &StoredRun) -> Result<Self, SeriesError> {
        let rows = (run.series()?, run.actions()?, run.generator()?);
        Self::new().folding(rows)
    }

    /// Slices of a time on the run's axis, as the series place them.
    pub fn stretches(&self, from: Nanos, to: Nanos) -> Vec<Stretch> {
        let overlapping = self.spans.iter().filter(|span| span.from < to && from < span.to);
        let stretch = |span: &Span| Stretch {
            step: span.step,
            repeat: span.repeat,
            from: from.max(span.from).saturating_sub(span.zero),
            to: to.min(span.to).saturating_sub(span.zero),
        };
        overlapping.map(stretch).collect()
    }

    /// A time on the axis of this run in finer buckets, from its series: the same spans, and
    /// rows of that time alone; tiers are in no series, so it has none of them. Nothing if the
    /// buckets would not be finer, or if it takes more than `rows_max` rows of the series.
    pub fn zoomed(
        &self,
        run: &StoredRun,
        (from, to): (Nanos, Nanos),
        rows_max: u64,
    ) -> Result<Option<Self>, SeriesError> {
        let stretches = self.stretches(from, to);
        let path = run.path();
        let is_fine = self.slices.iter().all(|row| row.slices <= 1);
        if is_fine || count_between::<IoRecord>(path, &stretches)? > rows_max {
            return Ok(None);
        }
        let empty = Self { spans: self.spans.clone(), window: Some((from, to)), ..Self::default() };
        let rows = (
            read_between(path, &stretches)?,
            read_between(path, &stretches)?,
            read_between(path, &stretches)?,
        );
        let zoomed = empty.folding(rows)?;
        Ok((zoomed.wide.width < self.wide.width).then_some(zoomed))
    }

    fn folding(
        self,
        (io, actions, generator): (Rows<IoRecord>, Rows<ActionRecord>, Rows<GeneratorRecord>),
    ) -> Result<Self, SeriesError> {
        let (mut io, mut actions) = (io.peekable(), actions.peekable());
        let mut generator = generator.peekable();
        let mut rollup = self;
        // Every slice has a row of the generator, but a killed run may have lost its last ones.
        loop {
            let next = match peek(&mut generator, of_generator)? {
                None => peek(&mut io, of_io)?,
                some => some,
            };
            let next = match next {
                None => peek(&mut actions, of_action)?,
                some => some,
            };
            let Some(slot) = next else { return Ok(rollup) };
            let mut sums = Sums::default();
            let row = next_of(&mut generator, of_generator, slot)?.map(|record| record.row);
            sums.generator(row.unwrap_or_else(GeneratorRow::default));
            while let Some(record) = next_of(&mut io, of_io, slot)? {
                let entity = rollup.entity(Some(record.tile), &record.workload, record.copy);
                sums.io(&Io {
                    entity,
                    direction: record.direction,
                    class: record.class,
                    bytes: record.bytes.get(),
                    errors: record.errors,
                    service: &record.service,
                    response_sum_ns: u64::try_from(record.response.sum_ns).unwrap_or(u64::MAX),
                });
            }
            while let Some(record) = next_of(&mut actions, of_action, slot)? {
                let action = rollup.action(&record.workload, &record.action);
                sums.action(action, record.errors, record.dropped, &record.response);
            }
            let (key, start, width) = slot;
            rollup.add(key, start, width, sums);
        }
    }
}

fn of_generator(record: &GeneratorRecord) -> Slot {
    (record.key, record.start, record.width)
}

fn of_io(record: &IoRecord) -> Slot {
    (record.key, record.start, record.width)
}

fn of_action(record: &ActionRecord) -> Slot {
    (record.key, record.start, record.width)
}

/// The slice that the next row belongs to; none at the end.
fn peek<R>(rows: &mut Peekable<Rows<R>>, slot: fn(&R) -> Slot) -> Result<Option<Slot>, SeriesError>
where
    Rows<R>: Iterator<Item = Result<R, SeriesError>>,
{
    match rows.peek() {
        None => Ok(None),
        Some(Ok(row)) => Ok(Some(slot(row))),
        Some(Err(_)) => rows.next().transpose().map(|_| None),
    }
}

/// The next row, if it belongs to this slice.
fn next_of<R>(
    rows: &mut Peekable<Rows<R>>,
    slot: fn(&R) -> Slot,
    of: Slot,
) -> Result<Option<R>, SeriesError>
where
    Rows<R>: Iterator<Item = Result<R, SeriesError>>,
{
    if peek(rows, slot)? == Some(of) { rows.next().transpose() } else { Ok(None) }
}
