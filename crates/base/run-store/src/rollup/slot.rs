//! Sums of one slice, computed before they are added to buckets.

use std::collections::BTreeMap;

use stats::Compact;
use units::Nanos;

use super::RATE_ENTITIES;
use super::rows::{ActionRow, CallRow, Group, IoRow, RateRow, SliceRow};
use crate::slice::{Direction, GeneratorRow, SizeClass};

/// Counters and histograms of one kind of I/O.
#[derive(Debug, Clone, Default)]
struct Cell {
    bytes: u64,
    errors: u64,
    service: Compact,
    response_sum_ns: u64,
}

impl Cell {
    fn add(&mut self, io: &Io) {
        // Rows of watched hosts come from elsewhere.
        self.bytes = self.bytes.saturating_add(io.bytes);
        self.errors = self.errors.saturating_add(io.errors);
        self.service.merge(io.service);
        self.response_sum_ns = self.response_sum_ns.saturating_add(io.response_sum_ns);
    }
}

/// I/O of one slice, entity, direction and class.
pub(super) struct Io<'a> {
    /// Index of the entity at each of the two levels.
    pub entity: (u32, u32),
    /// True if the I/O is part of other I/O, and left out of sums.
    pub is_below: bool,
    pub direction: Direction,
    pub class: SizeClass,
    pub bytes: u64,
    pub errors: u64,
    pub service: &'a Compact,
    pub response_sum_ns: u64,
}

type Cells = BTreeMap<(u32, Direction, SizeClass), Cell>;

/// All sums of one slice.
#[derive(Debug, Default)]
pub(super) struct Sums {
    wide: Cells,
    narrow: Cells,
    /// Number of errors, number of dropped starts, and response times, by action.
    actions: BTreeMap<u32, (u64, u64, Compact)>,
    /// Bytes, number of errors, and service times, by kind of call.
    calls: BTreeMap<u32, (u64, u64, Compact)>,
    /// Number of I/Os and their bytes, by group.
    totals: BTreeMap<Group, (u64, u64)>,
    generator: Option<GeneratorRow>,
}

impl Sums {
    pub(super) fn io(&mut self, io: &Io) {
        let (wide, narrow) = io.entity;
        let kind = |entity| (entity, io.direction, io.class);
        self.wide.entry(kind(wide)).or_default().add(io);
        self.narrow.entry(kind(narrow)).or_default().add(io);
        let own = (wide < RATE_ENTITIES).then_some(Group::Entity(wide));
        let all = [Group::All, Group::Direction(io.direction), Group::Class(io.class)];
        let all = if io.is_below { &[] } else { &all[..] };
        for group in all.iter().copied().chain(own) {
            let (count, bytes) = self.totals.entry(group).or_default();
            *count += io.service.count();
            *bytes = bytes.saturating_add(io.bytes);
        }
    }

    pub(super) fn action(&mut self, action: u32, errors: u64, dropped: u64, response: &Compact) {
        let sum = self.actions.entry(action).or_default();
        sum.0 += errors;
        sum.1 += dropped;
        sum.2.merge(response);
    }

    pub(super) fn call(&mut self, call: u32, bytes: u64, errors: u64, service: &Compact) {
        let sum = self.calls.entry(call).or_default();
        sum.0 += bytes;
        sum.1 += errors;
        sum.2.merge(service);
    }

    pub(super) fn generator(&mut self, row: GeneratorRow) {
        self.generator = Some(row);
    }

    pub(super) fn wide_rows(&self, place: (u32, u32)) -> Vec<IoRow> {
        io_rows(&self.wide, place)
    }

    pub(super) fn narrow_rows(&self, place: (u32, u32)) -> Vec<IoRow> {
        io_rows(&self.narrow, place)
    }

    pub(super) fn action_rows(&self, (span, bucket): (u32, u32)) -> Vec<ActionRow> {
        let row = |(action, (errors, dropped, response)): (&u32, &(u64, u64, Compact))| ActionRow {
            span,
            bucket,
            action: *action,
            errors: *errors,
            dropped: *dropped,
            response: response.clone(),
        };
        self.actions.iter().map(row).collect()
    }

    pub(super) fn call_rows(&self, (span, bucket): (u32, u32)) -> Vec<CallRow> {
        let row = |(call, (bytes, errors, service)): (&u32, &(u64, u64, Compact))| CallRow {
            span,
            bucket,
            call: *call,
            bytes: *bytes,
            errors: *errors,
            service: service.clone(),
        };
        self.calls.iter().map(row).collect()
    }

    pub(super) fn slice_row(&self, (span, bucket): (u32, u32), width: Nanos) -> SliceRow {
        let default = GeneratorRow::default();
        let own = self.generator.as_ref().unwrap_or(&default);
        SliceRow {
            span,
            bucket,
            slices: 1,
            time: width,
            submitted: own.submitted,
            completed: own.completed,
            queued: own.queued,
            in_flight_seconds: own.in_flight_seconds,
            worker_cpu_max: own.worker_cpu.iter().copied().fold(0.0, f64::max),
            lateness: own.lateness.clone(),
        }
    }

    /// Returns the rates by group. The group of all I/O is always present, so that an idle slice
    /// counts with rate 0.
    pub(super) fn rate_rows(&self, (span, bucket): (u32, u32), width: Nanos) -> Vec<RateRow> {
        let idle = (!self.totals.contains_key(&Group::All)).then_some((Group::All, (0, 0)));
        let totals = self.totals.iter().map(|(group, sums)| (*group, *sums));
        let row = |(group, (count, bytes)): (Group, (u64, u64))| {
            let (operations, bytes) = (per_second(count, width), per_second(bytes, width));
            RateRow {
                span,
                bucket,
                group,
                operations_min: operations,
                operations_max: operations,
                bytes_min: bytes,
                bytes_max: bytes,
            }
        };
        idle.into_iter().chain(totals).map(row).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a slice are far below 2^53")]
fn per_second(count: u64, width: Nanos) -> f64 {
    count as f64 / width.as_secs_f64()
}

fn io_rows(cells: &Cells, (span, bucket): (u32, u32)) -> Vec<IoRow> {
    let row = |((entity, direction, class), cell): (&(u32, Direction, SizeClass), &Cell)| IoRow {
        span,
        bucket,
        entity: *entity,
        direction: *direction,
        class: *class,
        bytes: cell.bytes,
        errors: cell.errors,
        service: cell.service.clone(),
        response_sum_ns: cell.response_sum_ns,
    };
    cells.iter().map(row).collect()
}
