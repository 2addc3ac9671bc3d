use std::path::Path;

use units::Nanos;

use super::rows::{ActionName, ActionRow, Level, RateRow, SliceRow, Span, TierName, TierRow};
use crate::run::TierFacts;
use crate::rundir::StoredRun;
use crate::series::{SeriesError, StepKey};
use crate::slice::{Slice, Topology};

/// A run by buckets of time on its axis.
///
/// Buckets begin as short as a slice and become twice as long whenever there are too many: two
/// neighbours of one span are merged, and nothing but time resolution is lost. A slice belongs
/// to the bucket in which it begins. No bucket reaches from one span into another, so a run
/// with more spans than buckets has one for each.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rollup {
    spans: Vec<Span>,
    wide: Level,
    narrow: Level,
    action_names: Vec<ActionName>,
    actions: Vec<ActionRow>,
    slices: Vec<SliceRow>,
    rates: Vec<RateRow>,
    tier_names: Vec<TierName>,
    tiers: Vec<TierRow>,
}

impl Rollup {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a slice: the same that [`crate::series::Writer::append`] stores, in the same order.
    /// Rows that name what the topology does not have are left out; the writer refuses them.
    pub fn slice(&mut self, _key: StepKey, _topology: &Topology, _slice: &Slice) {}

    /// Tells what tiers have done since their counters last began at 0, as of the end of the
    /// slice that was added last. Counters that fell have begun again.
    pub fn tiers_now(&mut self, _tiers: &[TierFacts]) {}

    /// Parts of steps, in the order in which they ran.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The end of the axis.
    pub fn end(&self) -> Nanos {
        self.spans.last().map_or(Nanos::ZERO, |span| span.to)
    }

    /// Workloads, all tiles and copies together, in at most [`super::WIDE_BUCKETS`] buckets.
    pub fn wide(&self) -> &Level {
        &self.wide
    }

    /// Workloads of each tile, in at most [`super::NARROW_BUCKETS`] buckets.
    pub fn narrow(&self) -> &Level {
        &self.narrow
    }

    /// Names of actions, by [`ActionRow::action`].
    pub fn action_names(&self) -> &[ActionName] {
        &self.action_names
    }

    /// Actions by bucket of the wide level, ascending by span, bucket and action.
    pub fn actions(&self) -> &[ActionRow] {
        &self.actions
    }

    /// Every bucket of the wide level in which a slice began, ascending.
    pub fn slices(&self) -> &[SliceRow] {
        &self.slices
    }

    /// Least and largest rates by bucket of the wide level, ascending by span, bucket and group.
    pub fn rates(&self) -> &[RateRow] {
        &self.rates
    }

    /// Names of tiers, by [`TierRow::tier`].
    pub fn tier_names(&self) -> &[TierName] {
        &self.tier_names
    }

    /// Tiers by bucket of the wide level, ascending by span, bucket and tier.
    pub fn tiers(&self) -> &[TierRow] {
        &self.tiers
    }

    /// Begin and length of a bucket of a level, on the run's axis.
    pub fn place(&self, level: &Level, span: u32, bucket: u32) -> (Nanos, Nanos) {
        let span = self.spans[span as usize];
        let offset = Nanos(level.width.0.saturating_mul(bucket.into()));
        let from = span.from.saturating_add(offset).min(span.to);
        (from, level.width.min(span.to.saturating_sub(from)))
    }

    /// Writes `rollup.parquet` into a run directory: whole or not at all.
    pub fn write(&self, _directory: &Path) -> Result<(), SeriesError> {
        Ok(())
    }

    /// Reads `rollup.parquet` of a run directory.
    pub fn read(_directory: &Path) -> Result<Self, SeriesError> {
        Ok(Self::default())
    }

    /// A stored run's: read where it was written, else folded from its series, also from the
    /// parts that a killed run left.
    pub fn of_run(run: &StoredRun) -> Result<Self, SeriesError> {
        Self::read(run.path())
    }
}
