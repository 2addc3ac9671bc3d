//! Precision of one repeat's figures, from the differences between blocks of its measurement
//! window.

use std::collections::HashMap;
use std::path::Path;

use run_store::gauge::{Folded, Gauge, Gauges, Merging};
use run_store::run::{CallTotal, LimitOn, Phase, Run, Statistic, Step};
use run_store::series::{SeriesError, Slices, StoredSlice};
use run_store::slice::Direction;
use stats::Compact;
use units::{Nanos, Ratio};

use crate::names;

/// Maximum number of blocks of a repeat. With ten to thirty, few degrees of freedom are lost, and
/// each block is long compared with the correlation of neighbours (Schmeiser 1982, "Batch size
/// effects in the analysis of simulation output", Operations Research 30).
const BLOCKS: usize = 10;

/// Probability within one standard error on each side.
const ONE_ERROR: f64 = 0.682_689_5;

/// Relative standard errors of the figures of each repeat of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Within {
    /// Errors by step and repeat, then keyed by the figure's name without the number of tiles.
    errors: HashMap<(u32, u32), HashMap<String, f64>>,
}

impl Within {
    /// Computes the errors of a stored run. Its series are read once.
    ///
    /// # Errors
    ///
    /// If the series cannot be read.
    pub fn of(run: &Run, directory: &Path) -> Result<Self, SeriesError> {
        Self::of_slices(run, Slices::of(directory)?)
    }

    /// Computes the errors from given slices, in which each repeat's slices are together.
    pub(crate) fn of_slices(
        run: &Run,
        slices: impl Iterator<Item = Result<StoredSlice, SeriesError>>,
    ) -> Result<Self, SeriesError> {
        let mut all = Self::default();
        let mut under_way: Option<((u32, u32), Blocks<'_>)> = None;
        for slice in slices {
            let slice = slice?;
            let key = (slice.key.step, slice.key.repeat);
            if slice.key.phase != Phase::Measured {
                continue;
            }
            if under_way.as_ref().is_none_or(|(of, _)| *of != key) {
                all.take(under_way.take());
                let step = run.steps.iter().find(|step| (step.step, step.repeat) == key);
                under_way = step.map(|step| (key, Blocks::new(step)));
            }
            if let Some((_, blocks)) = &mut under_way {
                blocks.add(&slice);
            }
        }
        all.take(under_way);
        Ok(all)
    }

    fn take(&mut self, finished: Option<((u32, u32), Blocks<'_>)>) {
        if let Some((key, blocks)) = finished {
            self.errors.insert(key, blocks.errors());
        }
    }

    /// Returns the relative standard error of a figure; `None` if unknown.
    pub(crate) fn error(&self, step: &Step, name: &str) -> Option<f64> {
        self.errors.get(&(step.step, step.repeat))?.get(name).copied()
    }
}

/// Figures of one slice, or of several slices together.
#[derive(Debug, Clone, Default)]
struct Block {
    seconds: f64,
    operations: f64,
    bytes: f64,
    directions: [Compact; 3],
    /// Latencies by limit of the step.
    limits: Vec<Compact>,
    /// Latencies by kind of call of the step.
    calls: Vec<Compact>,
    gauges: Gauges,
    /// Completed work of each workload.
    work: HashMap<String, f64>,
}

impl Block {
    fn merge(&mut self, more: &Self) {
        self.seconds += more.seconds;
        self.operations += more.operations;
        self.bytes += more.bytes;
        self.limits.resize(self.limits.len().max(more.limits.len()), Compact::default());
        self.calls.resize(self.calls.len().max(more.calls.len()), Compact::default());
        let own = self.directions.iter_mut().chain(&mut self.limits).chain(&mut self.calls);
        let other = more.directions.iter().chain(&more.limits).chain(&more.calls);
        own.zip(other).for_each(|(own, more)| own.merge(more));
        more.gauges.iter().for_each(|(gauge, folded)| self.gauges.add(folded.time, &gauge));
        for (workload, count) in &more.work {
            *self.work.entry(workload.clone()).or_default() += count;
        }
    }
}

/// Measurement window of one repeat, slice by slice.
struct Blocks<'a> {
    step: &'a Step,
    slices: Vec<Block>,
}

impl<'a> Blocks<'a> {
    const fn new(step: &'a Step) -> Self {
        Self { step, slices: Vec::new() }
    }

    fn add(&mut self, slice: &StoredSlice) {
        let mut block = Block {
            seconds: slice.width.as_secs_f64(),
            limits: vec![Compact::default(); self.step.limits.len()],
            calls: vec![Compact::default(); self.step.calls.len()],
            ..Block::default()
        };
        for row in &slice.io {
            block.operations += row.service.count() as f64;
            block.bytes += row.bytes.get() as f64;
            block.directions[place(row.direction)].merge(&row.service);
            self.limit(&mut block, (LimitOn::Io, &row.workload, &row.kind), &row.service);
        }
        for row in &slice.calls {
            let is_own = |of: &CallTotal| (&of.workload, &of.kind) == (&row.workload, &row.kind);
            if let Some(at) = self.step.calls.iter().position(is_own) {
                block.calls[at].merge(&row.service);
            }
            self.limit(&mut block, (LimitOn::Call, &row.workload, &row.kind), &row.service);
        }
        let has_actions = |workload: &str| slice.actions.iter().any(|row| row.workload == workload);
        for row in slice.io.iter().filter(|row| !has_actions(&row.workload)) {
            *block.work.entry(row.workload.clone()).or_default() += row.service.count() as f64;
        }
        for row in &slice.actions {
            *block.work.entry(row.workload.clone()).or_default() += row.response.count() as f64;
            self.limit(&mut block, (LimitOn::Action, &row.workload, &row.action), &row.response);
        }
        slice.gauges.iter().for_each(|gauge| block.gauges.add(slice.width, gauge));
        self.slices.push(block);
    }

    fn limit(&self, block: &mut Block, (on, workload, name): (LimitOn, &str, &str), of: &Compact) {
        for (pooled, into) in self.step.limits.iter().zip(&mut block.limits) {
            if pooled.workload == workload && pooled.result.on == on && pooled.result.name == name {
                into.merge(of);
            }
        }
    }

    fn errors(&self) -> HashMap<String, f64> {
        let blocks: Vec<Block> = self
            .slices
            .chunks((self.slices.len() / BLOCKS).max(1))
            .map(|slices| {
                let mut block = Block::default();
                slices.iter().for_each(|slice| block.merge(slice));
                block
            })
            .collect();
        let rate = |of: &dyn Fn(&Block) -> f64| {
            let rows: Vec<_> = blocks.iter().map(|block| (of(block), block.seconds)).collect();
            stats::error_of_rate(&rows)
        };
        let latency = |of: &dyn Fn(&Block) -> &Compact, statistic| {
            let of_all: Vec<Compact> = blocks.iter().map(|block| of(block).clone()).collect();
            error_of_latency(&of_all, statistic)
        };
        let mut errors = HashMap::new();
        let mut know = |name: String, error: Option<f64>| {
            error.map(|error| errors.insert(name, error));
        };
        know("iops".to_owned(), rate(&|block| block.operations));
        know("bytes".to_owned(), rate(&|block| block.bytes));
        for direction in Direction::ALL {
            for p in [50.0, 99.0] {
                let at = place(direction);
                let error = latency(&|block| &block.directions[at], Statistic::Percentile(p));
                know(names::latency_name(direction, &format!("p{p}")), error);
            }
        }
        for (at, pooled) in self.step.limits.iter().enumerate() {
            let statistic = pooled.result.statistic;
            let error = latency(&|block| &block.limits[at], statistic);
            know(names::limit_key(pooled), error);
        }
        for (at, calls) in self.step.calls.iter().enumerate() {
            let name = names::call_name(&calls.workload, &calls.kind);
            know(name.clone(), rate(&|block| block.calls[at].count() as f64));
            for p in [50.0, 99.0] {
                let error = latency(&|block| &block.calls[at], Statistic::Percentile(p));
                know(format!("{name}/p{p}"), error);
            }
        }
        for result in &self.step.workloads {
            let work = |block: &Block| block.work.get(&result.workload).copied().unwrap_or(0.0);
            know(names::work_name(&result.workload), rate(&work));
        }
        for gauge in &self.step.gauges {
            know(names::gauge_name(gauge), error_of_gauge(&blocks, gauge));
        }
        errors
    }
}

/// Returns the error of a gauge. It works for means and for sums, because either is a value divided
/// by a time.
fn error_of_gauge(blocks: &[Block], of: &Gauge) -> Option<f64> {
    let over = |folded: Folded| match of.name.merging() {
        Merging::Sum => Some(folded.value),
        Merging::Mean => Some(folded.value * folded.time.as_secs_f64()),
        Merging::Last | Merging::Most => None,
    };
    let row = |block: &Block| {
        let is_own = |own: &Gauge| (own.name, &own.scope) == (of.name, &of.scope);
        let (_, folded) = block.gauges.iter().find(|(own, _)| is_own(own))?;
        Some((over(folded)?, folded.time.as_secs_f64()))
    };
    stats::error_of_rate(&blocks.iter().filter_map(row).collect::<Vec<_>>())
}

const fn place(direction: Direction) -> usize {
    match direction {
        Direction::Read => 0,
        Direction::Write => 1,
        Direction::Flush => 2,
    }
}

/// Returns the longer side of the interval of one standard error, in logarithms. `None` if the
/// interval is unbounded because of too few samples, or for a maximum.
fn error_of_latency(blocks: &[Compact], statistic: Statistic) -> Option<f64> {
    let one = Ratio::new(ONE_ERROR);
    let (low, value, high) = match statistic {
        Statistic::Max => return None,
        Statistic::Mean => {
            let found = stats::mean_of_blocks(blocks, one)?;
            (found.low, found.value, found.high)
        }
        Statistic::Percentile(p) => {
            let found = stats::percentile_of_blocks(blocks, Ratio::new(p / 100.0), one)?;
            let seconds = |time: Nanos| time.as_secs_f64();
            (seconds(found.low), seconds(found.value), seconds(found.high?))
        }
    };
    (low > 0.0).then(|| (high / value).max(value / low).ln())
}
