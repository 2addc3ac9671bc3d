mod drives;
mod formula;
mod model;
mod played;
#[cfg(test)]
mod tests;

use indexmap::IndexMap;
use run_store::run::{Run, Step};
use run_store::slice::Direction;
use spec::array::{Array, Controller, Disk, Pool, Raid, ReadMemory, Variation, WriteMemory};
use units::{Bytes, Nanos, Ratio};

pub(super) use self::drives::whole;
use self::formula::{loads, servers, waiting};
use self::model::{Memory, Model, SERVICE_MIN};
use crate::measured::is_finished;
use bench::BenchError;
use bench::plan::ResolvedPlan;
use bench::progress::Control;

/// Reason why a measured run has no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// No step can be used for the fit.
    #[error("the run {run} has no finished step with reads or writes, so no model fits it")]
    NoSteps {
        /// Id of the run.
        run: String,
    },
}

/// Name of a fitted array and of its disk.
pub(super) const FITTED: &str = "fitted";
/// Transfer rate without effect: the mean time already includes the sizes of I/Os.
const RATE: Bytes = Bytes::new(1 << 40);
/// Size of the memory for writes, in bytes. In front of servers it is fixed; in front of hard disks
/// it is the start of the search. A trial fills this size within seconds.
const MEMORY: f64 = 33_554_432.0;
/// Page of that memory; destaging from 80 % to 60 % and 64 writes at a time are the defaults of an
/// array's file.
const MEMORY_PAGE: Bytes = Bytes::new(8 << 10);
/// Minimum memory for writes, in bytes: a few of the largest I/Os.
const WRITES_MIN: f64 = 4_194_304.0;
/// Minimum memory for reads, in bytes; less has no hits.
const READ_MIN: f64 = 65_536.0;
/// Entries of the table of paces; the last is the slowest 1 %.
const PACES: u32 = 101;

/// Makes an array of one disk that represents the storage of a measured run.
///
/// The disk consists of equal servers behind one queue, with latency outside them. The mean latency
/// at each measured load is compared with that of M/M/c by Sakasegawa's approximation ("An
/// approximation formula `L_q = a * rho^b / (1 - rho)`", Annals of the Institute of Statistical
/// Mathematics 29, 1977):
/// `R = Z + S * (1 + rho^(sqrt(2(c+1)) - 1) / (c (1 - rho)))` with `rho = X * S / c`.
/// `Z` is the rest of the latency at the smallest load. `S` and `c` minimise the sum of squared
/// logarithms. The spread is the spread of the I/Os at the smallest load.
///
/// # Errors
///
/// If no step was finished.
pub fn fit(run: &Run) -> Result<Array, FitError> {
    let loads = loads(&run.steps);
    let Some(least) = loads.first() else { return Err(FitError::NoSteps { run: run.id.clone() }) };
    let found = servers(&loads);
    let wait = found.service * waiting(found, least.rate);
    let of =
        |mean: Option<f64>| (mean.unwrap_or(least.latency) - found.outside - wait).max(SERVICE_MIN);
    let model = Model {
        servers: found.count,
        read: of(least.read),
        write: of(least.write),
        outside: found.outside,
        spread: 1.0,
        rate: None,
        memory: None,
    };
    Ok(array(run, &model))
}

/// Searches arrays that serve the run's own users as the storage did, by simulation. Returns the
/// best array, and arrays of other kinds that fit as well; `None` if the run has too few figures.
///
/// # Errors
///
/// If the tile cannot be simulated, or `control` stops.
pub fn fit_by_playing(
    run: &Run,
    plan: &ResolvedPlan,
    threads: usize,
    control: &Control,
) -> Result<Option<(Array, Vec<Array>)>, BenchError> {
    let mut arrays = played::refine(run, plan, threads, control)?.into_iter();
    Ok(arrays.next().map(|best| (best, arrays.collect())))
}

/// Makes an array of one disk from a model.
fn array(run: &Run, model: &Model) -> Array {
    let least = run.steps.iter().filter(|step| is_finished(step)).map(|step| step.tiles).min();
    let disk = Disk::Servers {
        capacity: Bytes::new(room(run)),
        servers: model.servers,
        read: Nanos::from_secs_f64(model.read),
        write: Nanos::from_secs_f64(model.write),
        rate: model.rate.map_or(RATE, |rate| Bytes::new(bytes(rate))),
        write_rate: None,
        latency: Nanos::from_secs_f64(model.outside),
        window: None,
        variation: variation(&run.steps, least.unwrap_or(1), model.spread),
    };
    Array {
        controller: model.memory.map(controller),
        pools: vec![pool(FITTED, 1, Raid::Raid0)],
        disks: IndexMap::from([(FITTED.to_owned(), disk)]),
        ..blank(run)
    }
}

/// Makes the pool of a model.
fn pool(disk: &str, count: u32, raid: Raid) -> Pool {
    Pool {
        name: "storage".to_owned(),
        disk: disk.to_owned(),
        count,
        raid,
        sets: 1,
        element: Bytes::new(64 << 10),
        per_tile: false,
        tiered: true,
    }
}

/// Returns the bytes that a model of the storage must hold.
fn room(run: &Run) -> u64 {
    let capacity = run.target.capacity_bytes.max(run.target.provisioned_bytes);
    capacity.unwrap_or(0).max(run.tile.disk_bytes)
}

/// Makes an array without disks for a model of a run's storage.
fn blank(run: &Run) -> Array {
    Array {
        name: FITTED.to_owned(),
        title: format!("a model of {}, fitted to run {}", run.target.summary, run.id),
        source: format!("fitted to the steps of run {}", run.id),
        hosts: None,
        lun_queue: None,
        link: None,
        background: None,
        controller: None,
        tiers: Vec::new(),
        pools: Vec::new(),
        local: None,
        places: Vec::new(),
        disks: IndexMap::new(),
        power: None,
        calibration: None,
    }
}

/// Makes a controller with memory that completes writes, and reads of data that it holds.
fn controller(memory: Memory) -> Controller {
    let hit = Nanos::from_secs_f64(memory.hit);
    Controller {
        processors: None,
        per_io: Nanos::ZERO,
        write_memory: Some(WriteMemory {
            size: Bytes::new(bytes(memory.writes.max(WRITES_MIN))),
            mirrored: false,
            page: MEMORY_PAGE,
            low: Ratio::new(0.6),
            high: Ratio::new(0.8),
            hit,
            flush_depth: 64,
        }),
        read_memory: (memory.reads >= READ_MIN).then_some(ReadMemory {
            size: Bytes::new(bytes(memory.reads)),
            page: MEMORY_PAGE,
            hit,
        }),
        memory_first: false,
        memory_for_tiers: false,
        full_copy: false,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
const fn bytes(number: f64) -> u64 {
    number as u64
}

/// Returns the spread of the I/Os at the smallest load, as a pace of the whole disk that lasts
/// about one I/O. Quantiles between the stored quantiles are interpolated; the slowest 0.1 % is
/// left out.
fn variation(steps: &[Step], tiles: u32, spread: f64) -> Option<Variation> {
    let of = steps.iter().filter(|step| step.tiles == tiles && is_finished(step));
    let io = of
        .flat_map(|step| &step.io)
        .filter(|io| io.direction != Direction::Flush)
        .max_by_key(|io| io.count)?;
    let every = Nanos(io.service.mean_ns?.max(1));
    let at = |value: Option<u64>| value.map(|ns| Nanos(ns.max(1)).as_secs_f64());
    let median = at(io.service.p50_ns)?;
    // The minimum is not stored; three quarters of the median are our choice.
    let knots = [
        (0.0, 0.75 * median),
        (0.5, median),
        (0.95, at(io.service.p95_ns)?),
        (0.99, at(io.service.p99_ns)?),
        (1.0, at(io.service.p999_ns)?),
    ];
    let quantile = |share: f64| {
        let upper = knots.iter().position(|(end, _)| *end >= share).unwrap_or(4).max(1);
        let ((from, low), (to, high)) = (knots[upper - 1], knots[upper]);
        low + (high - low) * (share - from) / (to - from)
    };
    let table: Vec<f64> =
        (0..PACES).map(|entry| quantile(f64::from(entry) / f64::from(PACES - 1))).collect();
    let mean = stats::mean(&table)?;
    // Four digits exceed the precision of a run, and keep the order.
    let pace = |value: f64| 1.0 + spread * (value / mean - 1.0);
    let pace = table.iter().map(|value| (pace(*value) * 1e4).round().max(1.0) / 1e4).collect();
    Some(Variation { every, pace, stalls: None, stall: Vec::new() })
}
