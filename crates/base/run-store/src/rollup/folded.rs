use units::Nanos;

use super::buckets::{Bucketed, add, halve};
use super::intern::Names;
use super::rows::{ActionName, BehindRow, CallName, GaugeOf, GaugeRow, TierName};
use super::rows::{ActionRow, CallRow, Level, RateRow, SliceRow, Span};
use super::slot::Sums;
use super::{NARROW_BUCKETS, NARROW_ROWS, WIDE_BUCKETS, WIDE_ROWS};
use crate::series::StepKey;

/// Rollup of a run: its rows in time buckets on the run's time axis.
///
/// At first a bucket is as long as a slice. If there are too many buckets, adjacent buckets of one
/// span are merged in pairs. Only time resolution is lost by that. A slice belongs to the bucket in
/// which it begins. No bucket contains time of two spans, so a run with more spans than buckets has
/// one bucket per span.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rollup {
    pub(super) spans: Vec<Span>,
    pub(super) wide: Level,
    pub(super) narrow: Level,
    pub(super) action_names: Vec<ActionName>,
    pub(super) actions: Vec<ActionRow>,
    pub(super) call_names: Vec<CallName>,
    pub(super) calls: Vec<CallRow>,
    pub(super) slices: Vec<SliceRow>,
    pub(super) rates: Vec<RateRow>,
    pub(super) gauge_names: Vec<GaugeOf>,
    pub(super) gauges: Vec<GaugeRow>,
    pub(super) tier_names: Vec<TierName>,
    pub(super) behind: Vec<BehindRow>,
    pub(super) names: Names,
    /// Window on the run's time axis, if this is a rollup of a part of a run whose spans are known.
    pub(super) window: Option<(Nanos, Nanos)>,
}

impl Rollup {
    /// Creates an empty rollup.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty rollup for slices of this width. The first slice may be shorter.
    pub fn of_width(width: Nanos) -> Self {
        let mut rollup = Self::default();
        rollup.wide.width = width;
        rollup.narrow.width = width;
        rollup
    }

    /// Creates an empty rollup of a part of this run's time axis, for slices of this width.
    #[must_use]
    pub fn part(&self, window: (Nanos, Nanos), width: Nanos) -> Self {
        Self { spans: self.spans.clone(), window: Some(window), ..Self::of_width(width) }
    }

    /// Adds the sums of a slice to the buckets in which the slice begins.
    pub(super) fn add(&mut self, key: StepKey, start: Nanos, width: Nanos, sums: Sums) {
        let width = width.max(Nanos(1));
        let (span, offset) = self.advance(key, start, width);
        for level in [&mut self.wide, &mut self.narrow] {
            level.width = if level.width == Nanos::ZERO { width } else { level.width };
        }
        while self.wide.width < width {
            self.halve_wide();
        }
        while self.narrow.width < width {
            self.narrow.halve();
        }
        let in_wide = bucket(offset, &self.wide, self.slices.last(), span);
        let in_narrow = bucket(offset, &self.narrow, self.narrow.rows.last(), span);
        add(&mut self.wide.rows, sums.wide_rows((span, in_wide)));
        add(&mut self.actions, sums.action_rows((span, in_wide)));
        add(&mut self.calls, sums.call_rows((span, in_wide)));
        // The rate of a slice that was cut short is mostly noise, so it counts neither as least nor
        // as most.
        let is_cut_short = self.is_cut_short(width);
        add(&mut self.slices, vec![sums.slice_row((span, in_wide), width)]);
        if !is_cut_short {
            add(&mut self.rates, sums.rate_rows((span, in_wide), width));
        }
        add(&mut self.narrow.rows, sums.narrow_rows((span, in_narrow)));
        self.fit();
    }

    /// Returns the span of a slice, and the offset of the slice in it. A new span is added if
    /// needed.
    fn advance(&mut self, key: StepKey, start: Nanos, width: Nanos) -> (u32, Nanos) {
        if self.window.is_some() {
            return self.known(key, start);
        }
        let end = self.end();
        let last = self.spans.last();
        let of_step = last.filter(|last| (last.step, last.repeat) == (key.step, key.repeat));
        let zero = of_step.map_or(end, |last| last.zero);
        if of_step.is_none_or(|last| last.phase != key.phase) {
            let from = zero.saturating_add(start).max(end);
            self.spans.push(Span {
                step: key.step,
                repeat: key.repeat,
                tiles: key.tiles,
                phase: key.phase,
                from,
                to: from,
                zero,
            });
        }
        let number = self.spans.len() - 1;
        let span = &mut self.spans[number];
        let begin = zero.saturating_add(start).max(span.from);
        span.to = span.to.max(begin.saturating_add(width));
        (u32::try_from(number).expect("fewer spans than 2^32"), begin.saturating_sub(span.from))
    }

    /// Returns the span of a slice among the known spans, and the offset in it. Time outside all
    /// spans counts to the last span.
    pub(super) fn known(&self, key: StepKey, start: Nanos) -> (u32, Nanos) {
        let is_own =
            |span: &Span| (span.step, span.repeat, span.phase) == (key.step, key.repeat, key.phase);
        let begin = |span: &Span| span.zero.saturating_add(start);
        let number = self.spans.iter().position(|span| is_own(span) && begin(span) < span.to);
        let number = number.unwrap_or(self.spans.len().saturating_sub(1));
        let offset = self
            .spans
            .get(number)
            .map_or(Nanos::ZERO, |span| begin(span).saturating_sub(span.from));
        (u32::try_from(number).expect("fewer spans than 2^32"), offset)
    }

    /// Merges buckets until their number and the number of rows are within the limits.
    fn fit(&mut self) {
        while self.is_over(&self.wide, (WIDE_BUCKETS, WIDE_ROWS)) {
            self.halve_wide();
        }
        while self.is_over(&self.narrow, (NARROW_BUCKETS, NARROW_ROWS)) {
            self.narrow.halve();
        }
    }

    fn is_over(&self, level: &Level, (most, rows): (usize, usize)) -> bool {
        let (from, to) = self.window.unwrap_or((Nanos::ZERO, Nanos::MAX));
        let (mut buckets, mut spans) = (0, 0);
        for span in &self.spans {
            let length = span.to.min(to).saturating_sub(span.from.max(from));
            buckets += length.0.div_ceil(level.width.0);
            spans += u64::from(length > Nanos::ZERO);
        }
        let can_halve = buckets > spans;
        can_halve && (buckets > most as u64 || level.rows.len() > rows)
    }

    fn halve_wide(&mut self) {
        self.wide.halve();
        halve(&mut self.actions);
        halve(&mut self.calls);
        halve(&mut self.slices);
        halve(&mut self.rates);
        halve(&mut self.gauges);
        halve(&mut self.behind);
    }

    /// Returns the spans: parts of steps, in the order in which they ran.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Returns the end of the run's time axis.
    pub fn end(&self) -> Nanos {
        self.spans.last().map_or(Nanos::ZERO, |span| span.to)
    }

    /// Returns I/O by workload, all tiles and copies together, in at most [`super::WIDE_BUCKETS`]
    /// buckets.
    pub fn wide(&self) -> &Level {
        &self.wide
    }

    /// Returns I/O by workload and tile, in at most [`super::NARROW_BUCKETS`] buckets.
    pub fn narrow(&self) -> &Level {
        &self.narrow
    }

    /// Returns the names of actions, indexed by [`ActionRow::action`].
    pub fn action_names(&self) -> &[ActionName] {
        &self.action_names
    }

    /// Returns the rows of actions in the buckets of the wide level, ascending by span, bucket and
    /// action.
    pub fn actions(&self) -> &[ActionRow] {
        &self.actions
    }

    /// Returns the kinds of calls, indexed by [`CallRow::call`].
    pub fn call_names(&self) -> &[CallName] {
        &self.call_names
    }

    /// Returns the rows of calls in the buckets of the wide level, ascending by span, bucket and
    /// kind.
    pub fn calls(&self) -> &[CallRow] {
        &self.calls
    }

    /// Returns all buckets of the wide level in which a slice began, ascending.
    pub fn slices(&self) -> &[SliceRow] {
        &self.slices
    }

    /// Returns the smallest and largest rates in the buckets of the wide level, ascending by span,
    /// bucket and group.
    pub fn rates(&self) -> &[RateRow] {
        &self.rates
    }

    /// Returns true if a slice of this width ended early: it is shorter than half of the first
    /// slices. Our choice.
    pub fn is_cut_short(&self, width: Nanos) -> bool {
        let usual = self.slices.first().map(|first| first.time.0 / u64::from(first.slices.max(1)));
        usual.is_some_and(|usual| width.0 < usual / 2)
    }

    /// Returns the begin and the length of a bucket of a level, on the run's time axis.
    pub fn place(&self, level: &Level, span: u32, bucket: u32) -> (Nanos, Nanos) {
        let span = self.spans[span as usize];
        let offset = Nanos(level.width.0.saturating_mul(bucket.into()));
        let from = span.from.saturating_add(offset).min(span.to);
        (from, level.width.min(span.to.saturating_sub(from)))
    }

    /// Returns the indexes of a workload in the entities of both levels; a new workload is added.
    pub(super) fn entity(&mut self, tile: Option<u32>, workload: &str, copy: u32) -> (u32, u32) {
        let Self { names, wide, narrow, .. } = self;
        names.entity(&mut wide.entities, &mut narrow.entities, (tile, workload, copy))
    }

    pub(super) fn action(&mut self, workload: &str, action: &str) -> u32 {
        self.names.action(&mut self.action_names, workload, action)
    }

    pub(super) fn call(&mut self, workload: &str, kind: &str) -> u32 {
        self.names.call(&mut self.call_names, workload, kind)
    }
}

impl Level {
    fn halve(&mut self) {
        self.width = Nanos(self.width.0.saturating_mul(2));
        halve(&mut self.rows);
    }
}

/// Returns the bucket of an offset in a span. If time goes backwards, returns the last bucket.
fn bucket(offset: Nanos, level: &Level, last: Option<&impl Bucketed>, span: u32) -> u32 {
    let bucket = u32::try_from(offset.0 / level.width.0).unwrap_or(u32::MAX);
    let last = last.map(Bucketed::place).filter(|(of, _)| *of == span);
    last.map_or(bucket, |(_, last)| bucket.max(last))
}
