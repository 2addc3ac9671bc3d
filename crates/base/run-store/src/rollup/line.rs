//! Conversion between rows of all tables and lines of one file.

use stats::Compact;
use units::Nanos;
use untrusted::Malformed;

use super::Rollup;
use super::rows::{
    ActionRow, BehindRow, CallRow, GaugeOf, GaugeRow, Group, IoRow, RateRow, SliceRow,
};
use crate::gauge::Folded;
use crate::slice::{Direction, SizeClass};

/// Table to which a line belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Wide,
    Narrow,
    Actions,
    Calls,
    Slices,
    Rates,
    Tiers,
    Gauges,
}

impl Table {
    pub(super) const ALL: [Self; 8] = [
        Self::Wide,
        Self::Narrow,
        Self::Actions,
        Self::Calls,
        Self::Slices,
        Self::Rates,
        Self::Tiers,
        Self::Gauges,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Narrow => "narrow",
            Self::Actions => "actions",
            Self::Calls => "calls",
            Self::Slices => "slices",
            Self::Rates => "rates",
            Self::Tiers => "tiers",
            Self::Gauges => "gauges",
        }
    }
}

/// Names of the columns with whole numbers, in file order.
pub(super) const NUMBERS: [&str; 9] = [
    "bytes",
    "errors",
    "dropped",
    "io_response_sum_ns",
    "slices",
    "time_ns",
    "submitted",
    "completed",
    "queued",
];

/// Names of the columns with other numbers, in file order.
pub(super) const REALS: [&str; 8] = [
    "operations_min_per_s",
    "operations_max_per_s",
    "bytes_min_per_s",
    "bytes_max_per_s",
    "in_flight_seconds",
    "worker_cpu_max",
    "value",
    "value_max",
];

/// Names of latencies. Each has columns for its sum, its saturation and its histogram.
pub(super) const LATENCIES: [&str; 5] =
    ["service", "response", "lateness", "backing_read", "backing_write"];

/// Line of the file. Fields that the line's table does not use are absent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub table: Table,
    pub span: u32,
    pub bucket: u32,
    /// Index of the entity, action, kind of call or tier. A row of gauges has the name of its gauge
    /// instead.
    pub who: Option<u32>,
    pub direction: Option<Direction>,
    pub class: Option<SizeClass>,
    pub gauge: Option<GaugeOf>,
    pub numbers: [Option<u64>; NUMBERS.len()],
    pub reals: [Option<f64>; REALS.len()],
    pub latencies: [Option<Compact>; LATENCIES.len()],
}

impl Line {
    pub(super) fn empty(table: Table, (span, bucket): (u32, u32), who: Option<u32>) -> Self {
        Self {
            table,
            span,
            bucket,
            who,
            direction: None,
            class: None,
            gauge: None,
            numbers: [None; NUMBERS.len()],
            reals: [None; REALS.len()],
            latencies: Default::default(),
        }
    }

    fn numbers<const N: usize>(mut self, first: usize, values: [u64; N]) -> Self {
        self.numbers[first..first + N].copy_from_slice(&values.map(Some));
        self
    }

    fn io(table: Table, row: &IoRow) -> Self {
        let mut line = Self::empty(table, (row.span, row.bucket), Some(row.entity))
            .numbers(0, [row.bytes, row.errors])
            .numbers(3, [row.response_sum_ns]);
        (line.direction, line.class) = (Some(row.direction), Some(row.class));
        line.latencies[0] = Some(row.service.clone());
        line
    }

    fn action(row: &ActionRow) -> Self {
        let place = (row.span, row.bucket);
        let mut line = Self::empty(Table::Actions, place, Some(row.action))
            .numbers(1, [row.errors, row.dropped]);
        line.latencies[1] = Some(row.response.clone());
        line
    }

    fn call(row: &CallRow) -> Self {
        let place = (row.span, row.bucket);
        let mut line =
            Self::empty(Table::Calls, place, Some(row.call)).numbers(0, [row.bytes, row.errors]);
        line.latencies[0] = Some(row.service.clone());
        line
    }

    fn slice(row: &SliceRow) -> Self {
        let numbers = [row.slices.into(), row.time.0, row.submitted, row.completed, row.queued];
        let mut line = Self::empty(Table::Slices, (row.span, row.bucket), None).numbers(4, numbers);
        line.reals[4..6].copy_from_slice(&[Some(row.in_flight_seconds), Some(row.worker_cpu_max)]);
        line.latencies[2] = Some(row.lateness.clone());
        line
    }

    fn rate(row: &RateRow) -> Self {
        let mut line = Self::empty(Table::Rates, (row.span, row.bucket), None);
        match row.group {
            Group::All => {}
            Group::Direction(direction) => line.direction = Some(direction),
            Group::Class(class) => line.class = Some(class),
            Group::Entity(entity) => line.who = Some(entity),
        }
        let rates = [row.operations_min, row.operations_max, row.bytes_min, row.bytes_max];
        line.reals[..4].copy_from_slice(&rates.map(Some));
        line
    }

    fn behind(row: &BehindRow) -> Self {
        let mut line = Self::empty(Table::Tiers, (row.span, row.bucket), Some(row.tier));
        line.latencies[3] = Some(row.read.clone());
        line.latencies[4] = Some(row.write.clone());
        line
    }

    fn gauge(row: &GaugeRow, names: &[GaugeOf]) -> Self {
        let place = (row.span, row.bucket);
        let mut line = Self::empty(Table::Gauges, place, None).numbers(5, [row.folded.time.0]);
        line.gauge = names.get(row.gauge as usize).cloned();
        line.reals[6..].copy_from_slice(&[Some(row.folded.value), Some(row.folded.most)]);
        line
    }

    fn number(&self, at: usize) -> u64 {
        self.numbers[at].unwrap_or(0)
    }

    fn real(&self, at: usize) -> f64 {
        self.reals[at].unwrap_or(0.0)
    }

    fn latency(&mut self, at: usize) -> Compact {
        self.latencies[at].take().unwrap_or_default()
    }

    fn who(&self, count: usize) -> Result<u32, Malformed> {
        let who = self.who.filter(|who| (*who as usize) < count);
        who.ok_or_else(|| format!("a row of {} has an unknown name", self.table.name()).into())
    }
}

impl Rollup {
    /// Iterates over the lines of all tables, one table after the other.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line> + '_ {
        let wide = self.wide.rows.iter().map(|row| Line::io(Table::Wide, row));
        wide.chain(self.narrow.rows.iter().map(|row| Line::io(Table::Narrow, row)))
            .chain(self.actions.iter().map(Line::action))
            .chain(self.calls.iter().map(Line::call))
            .chain(self.slices.iter().map(Line::slice))
            .chain(self.rates.iter().map(Line::rate))
            .chain(self.behind.iter().map(Line::behind))
            .chain(self.gauges.iter().map(|row| Line::gauge(row, &self.gauge_names)))
    }

    /// Adds a line to its table. The error describes an invalid line.
    pub(super) fn put(&mut self, mut line: Line) -> Result<(), Malformed> {
        let (span, bucket) = (line.span, line.bucket);
        if span as usize >= self.spans.len() {
            return Err(format!("a row of {} has no span {span}", line.table.name()).into());
        }
        match line.table {
            Table::Wide => {
                let row = io_row(&mut line, self.wide.entities.len())?;
                self.wide.rows.push(row);
            }
            Table::Narrow => {
                let row = io_row(&mut line, self.narrow.entities.len())?;
                self.narrow.rows.push(row);
            }
            Table::Actions => self.actions.push(ActionRow {
                span,
                bucket,
                action: line.who(self.action_names.len())?,
                errors: line.number(1),
                dropped: line.number(2),
                response: line.latency(1),
            }),
            Table::Calls => self.calls.push(CallRow {
                span,
                bucket,
                call: line.who(self.call_names.len())?,
                bytes: line.number(0),
                errors: line.number(1),
                service: line.latency(0),
            }),
            Table::Slices => self.slices.push(SliceRow {
                span,
                bucket,
                slices: u32::try_from(line.number(4)).unwrap_or(u32::MAX),
                time: Nanos(line.number(5)),
                submitted: line.number(6),
                completed: line.number(7),
                queued: line.number(8),
                in_flight_seconds: line.real(4),
                worker_cpu_max: line.real(5),
                lateness: line.latency(2),
            }),
            Table::Rates => self.rates.push(RateRow {
                span,
                bucket,
                group: group(&line, self.wide.entities.len())?,
                operations_min: line.real(0),
                operations_max: line.real(1),
                bytes_min: line.real(2),
                bytes_max: line.real(3),
            }),
            Table::Tiers => self.behind.push(BehindRow {
                span,
                bucket,
                tier: line.who(self.tier_names.len())?,
                read: line.latency(3),
                write: line.latency(4),
            }),
            Table::Gauges => {
                let Some(of) = &line.gauge else {
                    return Err("a row of gauges has no gauge".into());
                };
                let folded =
                    Folded { time: Nanos(line.number(5)), value: line.real(6), most: line.real(7) };
                let row = self.gauge_row((span, bucket), (of.name, &of.scope), folded);
                self.gauges.push(row);
            }
        }
        Ok(())
    }
}

fn io_row(line: &mut Line, entities: usize) -> Result<IoRow, Malformed> {
    let (Some(direction), Some(class)) = (line.direction, line.class) else {
        return Err(format!("a row of {} has no direction or no class", line.table.name()).into());
    };
    Ok(IoRow {
        span: line.span,
        bucket: line.bucket,
        entity: line.who(entities)?,
        direction,
        class,
        bytes: line.number(0),
        errors: line.number(1),
        service: line.latency(0),
        response_sum_ns: line.number(3),
    })
}

fn group(line: &Line, entities: usize) -> Result<Group, Malformed> {
    match (line.direction, line.class, line.who) {
        (None, None, None) => Ok(Group::All),
        (Some(direction), ..) => Ok(Group::Direction(direction)),
        (None, Some(class), _) => Ok(Group::Class(class)),
        (None, None, Some(_)) => line.who(entities).map(Group::Entity),
    }
}
