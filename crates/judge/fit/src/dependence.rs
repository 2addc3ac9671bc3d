//! Comparison of a workload of dialogues with one of independent arrivals.

use schemars::JsonSchema;
use serde::Serialize;
use spec::workload::Workload;
use trace::{IoRecord, Operation};
use units::Nanos;

use super::error::FitError;
use super::gather::Observed;
use super::generate::{Storage, generate};
use super::model::Model;
use super::phases::Stretch;
use super::waits::{self, Before, end};

/// Slowdown of the storage in the comparison.
const SLOWER: u64 = 2;
/// Minimum improvement of the mean distance for which dialogues are chosen. Two runs with different
/// seeds differ by about this much. Our choice.
const BETTER: f64 = 0.02;
/// Maximum by which dialogues may miss the rate of I/Os more than independent arrivals, as a share of
/// the trace's rate. Our choice: as much as a run differs by chance.
const RATE_WORSE_MAX: f64 = 0.05;

/// Dependence of I/Os on each other: evidence, and both kinds of workloads beside the trace.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Dependence {
    /// Chosen workload: `dialogues` or `independent`.
    pub chosen: String,
    /// Longest pause between a completion and an I/O that waited for it, in nanoseconds.
    pub within_ns: u64,
    /// Share of the I/Os that begin within this pause after a completion.
    pub share: f64,
    /// Share that would by chance.
    pub chance: f64,
    /// The trace, then both workloads.
    pub rows: Vec<DependenceRow>,
}

/// The trace, or a workload run in virtual time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DependenceRow {
    /// Name: `trace`, `independent` or `dialogues`.
    pub name: String,
    /// Kolmogorov-Smirnov distance of the I/Os in flight when an I/O begins; null for the trace.
    pub outstanding: Option<f64>,
    /// Kolmogorov-Smirnov distance of the pauses between a completion and the next I/O; null for
    /// the trace.
    pub pause: Option<f64>,
    /// Largest difference of the probability of any set of pairs of neighbouring operations (total
    /// variation distance); null for the trace.
    pub order: Option<f64>,
    /// Reads and writes per second on storage with the latencies of the trace.
    pub rate: f64,
    /// Reads and writes per second if each latency is twice as long. For the trace, each I/O then
    /// begins after the completion that was the last before it, with its recorded pause.
    pub rate_slow: f64,
}

impl DependenceRow {
    /// Returns the mean of the three distances.
    fn distance(&self) -> f64 {
        [self.outstanding, self.pause, self.order].iter().flatten().sum::<f64>() / 3.0
    }
}

/// What a load looks like to the storage.
struct Look {
    /// I/Os in flight when an I/O begins, sorted.
    outstanding: Vec<u64>,
    /// Pauses since a completion, sorted.
    pauses: Vec<u64>,
    /// Share of each pair of neighbouring operations.
    pairs: [[f64; 3]; 3],
}

impl Look {
    fn of(records: &[&IoRecord], before: &[Option<Before>]) -> Self {
        let mut ends: Vec<u64> = records.iter().map(|own| end(own)).collect();
        ends.sort_unstable();
        let in_flight = |(at, record): (usize, &&IoRecord)| {
            let completed = ends.partition_point(|end| *end <= record.issue.0);
            at.saturating_sub(completed) as u64
        };
        let mut outstanding: Vec<u64> = records.iter().enumerate().map(in_flight).collect();
        let mut pauses: Vec<u64> = before.iter().flatten().map(|own| own.pause.0).collect();
        outstanding.sort_unstable();
        pauses.sort_unstable();
        let mut pairs = [[0.0; 3]; 3];
        let share = 1.0 / records.len().saturating_sub(1).max(1) as f64;
        for pair in records.windows(2) {
            let [from, to] = [pair[0], pair[1]].map(|own| place(own.operation));
            pairs[from][to] += share;
        }
        Self { outstanding, pauses, pairs }
    }
}

const fn place(operation: Operation) -> usize {
    match operation {
        Operation::Read => 0,
        Operation::Write => 1,
        Operation::Flush | Operation::Discard => 2,
    }
}

/// Returns the Kolmogorov-Smirnov statistic of two sorted samples; 1 if only one has values.
fn apart(a: &[u64], b: &[u64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return f64::from(u8::from(a.len() != b.len()));
    }
    let share =
        |of: &[u64], value: u64| of.partition_point(|own| *own <= value) as f64 / of.len() as f64;
    let distance = |value: &u64| (share(a, *value) - share(b, *value)).abs();
    a.iter().chain(b).map(distance).fold(0.0, f64::max)
}

/// Compares both workloads with the trace, and chooses. `is_no_worse` is true if dialogues make the
/// places of the I/Os worse by chance at most.
pub(crate) fn compare(
    observed: &Observed,
    (independent, dialogues): (&Workload, &Workload),
    model: &Model,
    (storage, seed): (&Storage, u64),
    is_no_worse: bool,
) -> Result<Option<Dependence>, FitError> {
    let busiest = model.kinds.iter().filter(|kind| kind.waiting.is_some());
    let Some(waiting) =
        busiest.max_by_key(|kind| kind.count).and_then(|kind| kind.waiting.as_ref())
    else {
        return Ok(None);
    };
    let seen: Vec<&IoRecord> =
        observed.records.iter().filter(|own| own.operation != Operation::Discard).collect();
    let before = waits::completions(&seen, &model.stretches);
    let look = Look::of(&seen, &before);
    let span = observed.span();
    let row = |name: &str, workload: &Workload| {
        measured(name, workload, (&look, &model.stretches), (storage, seed), span)
    };
    let trace = DependenceRow {
        name: "trace".to_owned(),
        outstanding: None,
        pause: None,
        order: None,
        rate: moves(seen.iter().map(|own| (own.issue, own.operation)), span),
        rate_slow: moves(slowed(&seen, &before).into_iter(), span),
    };
    let rows = vec![trace, row("independent", independent)?, row("dialogues", dialogues)?];
    // The distances do not see how many I/Os there are.
    let off = |row: &DependenceRow| (row.rate / rows[0].rate - 1.0).abs();
    let keeps_rate = off(&rows[2]) <= off(&rows[1]) + RATE_WORSE_MAX;
    let is_better = keeps_rate && rows[2].distance() + BETTER < rows[1].distance();
    Ok(Some(Dependence {
        chosen: if is_better && is_no_worse { "dialogues" } else { "independent" }.to_owned(),
        within_ns: waiting.within.0,
        share: waiting.share,
        chance: waiting.chance,
        rows,
    }))
}

fn measured(
    name: &str,
    workload: &Workload,
    (seen, stretches): (&Look, &[Stretch]),
    (storage, seed): (&Storage, u64),
    span: Nanos,
) -> Result<DependenceRow, FitError> {
    let until = Nanos(span.0 + 1);
    let made = generate(workload, seed, until, storage)?;
    let slow = generate(workload, seed, until, &storage.slower(SLOWER))?;
    let records: Vec<&IoRecord> = made.iter().collect();
    let look = Look::of(&records, &waits::completions(&records, stretches));
    let pairs = seen.pairs.iter().flatten().zip(look.pairs.iter().flatten());
    let of =
        |records: &[IoRecord]| moves(records.iter().map(|own| (own.issue, own.operation)), span);
    Ok(DependenceRow {
        name: name.to_owned(),
        outstanding: Some(apart(&seen.outstanding, &look.outstanding)),
        pause: Some(apart(&seen.pauses, &look.pauses)),
        order: Some(pairs.map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0),
        rate: of(&made),
        rate_slow: of(&slow),
    })
}

/// Returns the reads and writes per second that begin within the span.
fn moves(ios: impl Iterator<Item = (Nanos, Operation)>, span: Nanos) -> f64 {
    let count = ios.filter(|(at, operation)| *at <= span && operation.moves_data()).count();
    count as f64 / span.as_secs_f64().max(1e-9)
}

/// Returns the starts of the trace's I/Os on slower storage. Each follows the same completion, with
/// the same pause. The first I/O of a phase comes as much later as the one before it.
fn slowed(records: &[&IoRecord], before: &[Option<Before>]) -> Vec<(Nanos, Operation)> {
    let mut ends: Vec<u64> = Vec::with_capacity(records.len());
    let mut late = 0;
    let starts = records.iter().zip(before).map(|(record, before)| {
        let start = match before {
            Some(before) => ends[before.of].saturating_add(before.pause.0),
            None => record.issue.0.saturating_add(late),
        };
        late = start.saturating_sub(record.issue.0);
        let latency = record.latency().unwrap_or_default().0;
        ends.push(start.saturating_add(latency.saturating_mul(SLOWER)));
        (Nanos(start), record.operation)
    });
    starts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_of_samples_is_the_largest_difference_of_shares() {
        assert_eq!(apart(&[1, 2, 3, 4], &[1, 2, 3, 4]), 0.0);
        assert_eq!(apart(&[1, 2], &[3, 4]), 1.0);
        assert_eq!(apart(&[1, 2, 3, 4], &[3, 3, 3, 4]), 0.5);
        assert_eq!((apart(&[], &[]), apart(&[], &[1])), (0.0, 1.0));
    }

    #[test]
    fn trace_on_slower_storage_keeps_its_pauses() {
        let io = |issue, latency| IoRecord {
            device_time: Some(Nanos(latency)),
            ..IoRecord::new(Nanos(issue), Operation::Read, 0, 4096)
        };
        let all = [io(0, 10), io(15, 10), io(30, 10)];
        let records: Vec<&IoRecord> = all.iter().collect();
        let phase = Stretch { from: Nanos::ZERO, to: Nanos(100), kind: 0 };
        let slow = slowed(&records, &waits::completions(&records, &[phase]));
        let starts: Vec<u64> = slow.iter().map(|(start, _)| start.0).collect();
        assert_eq!(starts, [0, 25, 50]);
    }
}
