use arrow_array::RecordBatch;
use stats::Compact;
use units::{Bytes, Nanos};
use untrusted::Malformed;

use super::column::BatchColumns;
use crate::files;
use crate::gauge::{Gauge, GaugeName};
use crate::run::Phase;
use crate::slice::{Direction, GeneratorRow, SizeClass};

/// Step, repeat and phase of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepKey {
    /// Step of the ladder, from 1.
    pub step: u32,
    /// Number of tiles that ran at the same time.
    pub tiles: u32,
    /// Repeat of the step, from 1.
    pub repeat: u32,
    /// Phase of the step.
    pub phase: Phase,
}

/// Row of `series.parquet`: I/O of one VM, direction, kind and size class that completed in one
/// time slice.
#[derive(Debug, Clone, PartialEq)]
pub struct IoRecord {
    /// Step, repeat and phase of the slice.
    pub key: StepKey,
    /// Start of the slice, relative to the start of the step's load.
    pub start: Nanos,
    /// Width of the slice.
    pub width: Nanos,
    /// Tile, from 0; `None` for infrastructure operations.
    pub tile: Option<u32>,
    /// Name of the workload.
    pub workload: String,
    /// Number among the copies of this workload in the tile, from 0.
    pub copy: u32,
    /// Name of the VM, as printed.
    pub vm: String,
    /// Direction of the I/O.
    pub direction: Direction,
    /// Kind of I/O, as the workload names it.
    pub kind: String,
    /// Size class of the I/O.
    pub class: SizeClass,
    /// Number of failed I/Os; they are not in the histograms.
    pub errors: u64,
    /// Bytes moved by successful I/Os.
    pub bytes: Bytes,
    /// Service time: from submission to completion.
    pub service: Compact,
    /// Response time: from the intended start to completion.
    pub response: Compact,
}

/// Row of `actions.parquet`: actions of one instance and user group that completed in one time
/// slice.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRecord {
    /// Step, repeat and phase of the slice.
    pub key: StepKey,
    /// Start of the slice, relative to the start of the step's load.
    pub start: Nanos,
    /// Width of the slice.
    pub width: Nanos,
    /// Tile, from 0; `None` for infrastructure operations.
    pub tile: Option<u32>,
    /// Name of the workload.
    pub workload: String,
    /// Number among the copies of this workload in the tile, from 0.
    pub copy: u32,
    /// Name of the action.
    pub action: String,
    /// Name of the user group.
    pub group: String,
    /// Number of actions with a failed I/O or call; they are not in the histograms.
    pub errors: u64,
    /// Number of intended starts that were dropped in this slice.
    pub dropped: u64,
    /// Service time: from the first step to the last answer.
    pub service: Compact,
    /// Response time: from the intended start to the last answer.
    pub response: Compact,
}

/// Row of `generator.parquet`: state of the load generator in one time slice.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratorRecord {
    /// Step, repeat and phase of the slice.
    pub key: StepKey,
    /// Start of the slice, relative to the start of the step's load.
    pub start: Nanos,
    /// Width of the slice.
    pub width: Nanos,
    /// State of the load generator.
    pub row: GeneratorRow,
}

/// Row of `open.parquet`: unfinished work of one instance at the end of a time slice.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenRecord {
    /// Step, repeat and phase of the slice.
    pub key: StepKey,
    /// Start of the slice, relative to the start of the step's load.
    pub start: Nanos,
    /// Width of the slice.
    pub width: Nanos,
    /// Tile, from 0; `None` for infrastructure operations.
    pub tile: Option<u32>,
    /// Name of the workload.
    pub workload: String,
    /// Number among the copies of this workload in the tile, from 0.
    pub copy: u32,
    /// Name of the kind of I/O or call, or of the action.
    pub name: String,
    /// Kind of work that `name` refers to.
    pub on: OpenOn,
    /// Ages of the pieces of work at the end of the slice.
    pub ages: Compact,
}

/// Kind of work that is unfinished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenOn {
    /// Action that has begun.
    Action,
    /// Action that was due and has not begun.
    Start,
    /// I/O of this direction.
    Io(Direction),
    /// Call to an endpoint.
    Call,
}

/// Row of `gauges.parquet`: value of one gauge in one time slice.
#[derive(Debug, Clone, PartialEq)]
pub struct GaugeRecord {
    /// Step, repeat and phase of the slice.
    pub key: StepKey,
    /// Start of the slice, relative to the start of the step's load.
    pub start: Nanos,
    /// Width of the slice.
    pub width: Nanos,
    /// Name, scope and value of the gauge. Gauges of later versions are skipped.
    pub gauge: Gauge,
}

/// Type of row, with the file that stores it.
pub trait Record: Sized {
    /// Name of the file in a run directory.
    const FILE: &'static str;

    /// Converts a batch to rows. The error describes what is invalid in the batch.
    fn from_batch(batch: &RecordBatch) -> Result<Vec<Self>, Malformed>;
}

pub(super) struct Common<'a> {
    pub(super) keys: Vec<StepKey>,
    pub(super) start: &'a [u64],
    pub(super) width: &'a [u64],
}

impl<'a> Common<'a> {
    pub(super) fn of(found: &'a BatchColumns<'a>) -> Result<Self, Malformed> {
        let (step, tiles) = (found.u32("step")?, found.u32("tiles")?);
        let (repeat, phase) = (found.u32("repeat")?, found.text("phase")?);
        let keys = (0..step.len())
            .map(|row| {
                Ok(StepKey {
                    step: step[row],
                    tiles: tiles[row],
                    repeat: repeat[row],
                    phase: named("phase", &Phase::ALL, Phase::name, phase.value(row))?,
                })
            })
            .collect::<Result<_, Malformed>>()?;
        Ok(Self { keys, start: found.u64("start_ns")?, width: found.u64("width_ns")? })
    }
}

fn named<T: Copy>(
    column: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
    text: &str,
) -> Result<T, Malformed> {
    all.iter()
        .copied()
        .find(|value| name(*value) == text)
        .ok_or_else(|| format!("column \"{column}\" holds \"{text}\"").into())
}

impl Record for IoRecord {
    const FILE: &'static str = files::SERIES;

    fn from_batch(batch: &RecordBatch) -> Result<Vec<Self>, Malformed> {
        let found = BatchColumns(batch);
        let common = Common::of(&found)?;
        let (tile, copy) = (found.maybe_u32("tile")?, found.u32("copy")?);
        let (workload, vm) = (found.text("workload")?, found.text("vm")?);
        let (direction, kind) = (found.text("direction")?, found.text("kind")?);
        let class = found.text("size_class")?;
        let (errors, bytes) = (found.u64("errors")?, found.u64("bytes")?);
        let histograms = found.latency("service")?.into_iter().zip(found.latency("response")?);
        histograms
            .enumerate()
            .map(|(row, (service, response))| {
                Ok(Self {
                    key: common.keys[row],
                    start: Nanos(common.start[row]),
                    width: Nanos(common.width[row]),
                    tile: tile[row],
                    workload: workload.value(row).to_owned(),
                    copy: copy[row],
                    vm: vm.value(row).to_owned(),
                    direction: named(
                        "direction",
                        &Direction::ALL,
                        Direction::name,
                        direction.value(row),
                    )?,
                    kind: kind.value(row).to_owned(),
                    class: named(
                        "size_class",
                        &SizeClass::all(),
                        SizeClass::name,
                        class.value(row),
                    )?,
                    errors: errors[row],
                    bytes: Bytes::new(bytes[row]),
                    service,
                    response,
                })
            })
            .collect()
    }
}

impl Record for ActionRecord {
    const FILE: &'static str = files::ACTIONS;

    fn from_batch(batch: &RecordBatch) -> Result<Vec<Self>, Malformed> {
        let found = BatchColumns(batch);
        let common = Common::of(&found)?;
        let (tile, copy) = (found.maybe_u32("tile")?, found.u32("copy")?);
        let workload = found.text("workload")?;
        let (action, group) = (found.text("action")?, found.text("group")?);
        let (errors, dropped) = (found.u64("errors")?, found.u64("dropped")?);
        let histograms = found.latency("service")?.into_iter().zip(found.latency("response")?);
        let rows = histograms.enumerate().map(|(row, (service, response))| Self {
            key: common.keys[row],
            start: Nanos(common.start[row]),
            width: Nanos(common.width[row]),
            tile: tile[row],
            workload: workload.value(row).to_owned(),
            copy: copy[row],
            action: action.value(row).to_owned(),
            group: group.value(row).to_owned(),
            errors: errors[row],
            dropped: dropped[row],
            service,
            response,
        });
        Ok(rows.collect())
    }
}

/// Value in the direction column for an action. [`START`] marks an action that has not begun, and
/// [`CALL`] a call.
pub(super) const ACTION: &str = "action";
pub(super) const START: &str = "start";
pub(super) const CALL: &str = "call";

impl Record for OpenRecord {
    const FILE: &'static str = files::OPEN;

    fn from_batch(batch: &RecordBatch) -> Result<Vec<Self>, Malformed> {
        let found = BatchColumns(batch);
        let common = Common::of(&found)?;
        let (tile, copy) = (found.maybe_u32("tile")?, found.u32("copy")?);
        let (workload, name) = (found.text("workload")?, found.text("name")?);
        let on = found.text("on")?;
        let of = |text: &str| match text {
            ACTION => Ok(OpenOn::Action),
            START => Ok(OpenOn::Start),
            CALL => Ok(OpenOn::Call),
            text => named("on", &Direction::ALL, Direction::name, text).map(OpenOn::Io),
        };
        let ages = found.latency("age")?.into_iter().enumerate();
        ages.map(|(row, ages)| {
            Ok(Self {
                key: common.keys[row],
                start: Nanos(common.start[row]),
                width: Nanos(common.width[row]),
                tile: tile[row],
                workload: workload.value(row).to_owned(),
                copy: copy[row],
                name: name.value(row).to_owned(),
                on: of(on.value(row))?,
                ages,
            })
        })
        .collect()
    }
}

impl Record for GaugeRecord {
    const FILE: &'static str = files::GAUGES;

    fn from_batch(batch: &RecordBatch) -> Result<Vec<Self>, Malformed> {
        let found = BatchColumns(batch);
        let common = Common::of(&found)?;
        let (name, scope) = (found.text("name")?, found.text("scope")?);
        let value = found.f64("value")?;
        let known = |text: &str| GaugeName::ALL.iter().copied().find(|name| name.name() == text);
        let rows = (0..value.len()).filter_map(|row| {
            let (name, scope) = (known(name.value(row))?, scope.value(row).to_owned());
            Some(Self {
                key: common.keys[row],
                start: Nanos(common.start[row]),
                width: Nanos(common.width[row]),
                gauge: Gauge { name, scope, value: value[row] },
            })
        });
        Ok(rows.collect())
    }
}

impl Record for GeneratorRecord {
    const FILE: &'static str = files::GENERATOR;

    fn from_batch(batch: &RecordBatch) -> Result<Vec<Self>, Malformed> {
        let found = BatchColumns(batch);
        let common = Common::of(&found)?;
        let (submitted, completed) = (found.u64("submitted")?, found.u64("completed")?);
        let (in_flight, queued) = (found.u64("in_flight")?, found.u64("queued")?);
        let in_flight_seconds = found.f64("in_flight_seconds")?;
        // Earlier versions did not measure this column.
        let away = found.has("away_ns").then(|| found.u64("away_ns")).transpose()?;
        let latencies = found.latency("lateness")?.into_iter().zip(found.f64_lists("worker_cpu")?);
        let rows = latencies.enumerate().map(|(row, (lateness, worker_cpu))| Self {
            key: common.keys[row],
            start: Nanos(common.start[row]),
            width: Nanos(common.width[row]),
            row: GeneratorRow {
                submitted: submitted[row],
                completed: completed[row],
                in_flight: in_flight[row],
                in_flight_seconds: in_flight_seconds[row],
                lateness,
                queued: queued[row],
                worker_cpu,
                away: Nanos(away.map_or(0, |away| away[row])),
            },
        });
        Ok(rows.collect())
    }
}
