//! Report of a fit, as JSON.

use analyze::{COARSE, Of};
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use spec::workload::Workload;
use trace::{Flags, IoRecord, Operation};

use super::arrival::{Arrival, short};
use super::compare::{Comparison, Pair};
use super::dependence::Dependence;
use super::gather::Observed;
use super::model::{Kind, Model};

/// Schema id of [`FitReport`]. A minor version only adds fields.
pub const FIT_SCHEMA: &str = "tilemark.fit/1.1";
/// Minimum distance that the text mentions. Our choice: a fifth of the I/Os are in other buckets.
const FAR: f64 = 0.2;

/// Report of a fit: decisions with reasons, and distances between the trace and a run of the
/// workload in virtual time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FitReport {
    /// Schema name and version: `tilemark.fit/1.1`.
    pub schema: String,
    /// Program with its version.
    pub tool: String,
    /// Trace as given.
    pub trace: String,
    /// Format of the trace.
    pub format: String,
    /// Name of the VM.
    pub vm: String,
    /// Name of the fitted workload.
    pub workload: String,
    /// Number of I/Os used by the fit.
    pub records: u64,
    /// Number of later I/Os, which were left out because the maximum number is kept.
    pub beyond: u64,
    /// Submission time of the first I/O, in nanoseconds since the start of the trace.
    pub first_ns: u64,
    /// Time from the first to the last I/O, in nanoseconds.
    pub span_ns: u64,
    /// Seed of the run in virtual time.
    pub seed: u64,
    /// Number of I/Os in the run.
    pub made: u64,
    /// Phases of the trace, each with a similar load throughout.
    pub phases: Vec<PhaseRow>,
    /// Chosen load models, with reasons.
    pub decisions: Vec<Decision>,
    /// Dependence of I/Os on each other; absent without evidence of any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependence: Option<Dependence>,
    /// Distances of each histogram and of the rates.
    pub distances: Vec<Distance>,
    /// Distances of miss-ratio curves.
    pub curves: Vec<CurveDistance>,
    /// Further figures side by side.
    pub shares: Vec<Share>,
    /// Properties of the trace that the workload does not reproduce.
    pub not_reproduced: Vec<String>,
}

/// A phase of the trace.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PhaseRow {
    /// Start, in nanoseconds since the first I/O.
    pub from_ns: u64,
    /// End of the phase, in nanoseconds since the first I/O.
    pub to_ns: u64,
    /// Kind of the phase. Phases of one kind have the same parameters. Empty if there is only one
    /// phase.
    pub kind: String,
    /// IOPS in all phases of this kind.
    pub rate: f64,
}

/// Choice of a load model.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Decision {
    /// Name of the user group, without the number of the phase.
    pub users: String,
    /// Load model: `open`, `paced` or `closed`.
    pub load: String,
    /// Evidence for the choice.
    pub why: String,
}

/// The Kolmogorov-Smirnov statistic of a histogram.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Distance {
    /// Name of the histogram.
    pub histogram: String,
    /// Number of values in the trace.
    pub seen: u64,
    /// Number of values in the run.
    pub made: u64,
    /// Largest difference of the cumulative shares, 0 to 1; absent if neither has values.
    pub distance: Option<f64>,
    /// Value at which the cumulative shares differ most.
    pub at: Option<i32>,
    /// Unit of `at`.
    pub unit: String,
}

/// Distance of two miss-ratio curves.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CurveDistance {
    /// Page size of the cache, in bytes.
    pub page_bytes: u64,
    /// Largest difference of the miss ratio.
    pub most: f64,
    /// Cache size of the largest difference, in bytes.
    pub at_bytes: f64,
    /// Mean difference over the logarithm of the cache size.
    pub mean: f64,
}

/// Figure of the trace and of the run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Share {
    /// Name of the figure.
    pub name: String,
    /// Value in the trace.
    pub seen: f64,
    /// Value in the run.
    pub made: f64,
    /// Unit of the values; empty for a share.
    pub unit: String,
}

/// The JSON Schema of [`FitReport`].
pub fn fit_json_schema() -> serde_json::Value {
    schema_for!(FitReport).to_value()
}

pub(crate) fn report(
    observed: &Observed,
    model: &Model,
    workload: &Workload,
    comparison: &Comparison,
    (tool, seed): (&str, u64),
) -> FitReport {
    let is_coarse = observed.resolution() > COARSE;
    let mut histograms: Vec<&Pair> = comparison.histograms.iter().collect();
    histograms.retain(|pair| !(is_coarse && pair.of == Of::Arrival));
    histograms.push(&comparison.alignment);
    histograms.push(&comparison.rates);
    let distances: Vec<Distance> = histograms.into_iter().map(distance).collect();
    let not_reproduced = words(observed, model, comparison, &distances);
    FitReport {
        schema: FIT_SCHEMA.to_owned(),
        tool: tool.to_owned(),
        trace: observed.trace.clone(),
        format: observed.info.format.to_owned(),
        vm: observed.vm.clone(),
        workload: workload.name.clone(),
        records: observed.records.len() as u64,
        beyond: observed.beyond,
        first_ns: observed.start.0,
        span_ns: observed.span().0,
        seed,
        made: comparison.count.1,
        phases: phases(model),
        decisions: model.kinds.iter().flat_map(decisions).collect(),
        dependence: None,
        distances,
        curves: comparison
            .curves
            .iter()
            .map(|pair| CurveDistance {
                page_bytes: pair.page_bytes,
                most: pair.most,
                at_bytes: pair.at_bytes,
                mean: pair.mean,
            })
            .collect(),
        shares: shares(comparison),
        not_reproduced,
    }
}

fn phases(model: &Model) -> Vec<PhaseRow> {
    let row = |stretch: &super::phases::Stretch| {
        let kind = &model.kinds[stretch.kind];
        PhaseRow {
            from_ns: stretch.from.0,
            to_ns: stretch.to.0,
            kind: kind.name.trim_end_matches('-').to_owned(),
            rate: kind.count as f64 / kind.seconds.max(1e-9),
        }
    };
    model.stretches.iter().map(row).collect()
}

fn decisions(kind: &Kind) -> Vec<Decision> {
    let decision = |stream: &super::model::Stream| Decision {
        users: stream.name.clone(),
        load: stream.decided.arrival.name().to_owned(),
        why: stream.decided.why.clone(),
    };
    kind.streams.iter().map(decision).collect()
}

fn distance(pair: &Pair) -> Distance {
    let is_empty = pair.seen == 0 && pair.made == 0;
    Distance {
        histogram: pair.name.to_owned(),
        seen: pair.seen,
        made: pair.made,
        distance: (!is_empty).then_some(pair.distance),
        at: pair.at.filter(|_| !is_empty),
        unit: pair.unit.to_owned(),
    }
}

fn shares(comparison: &Comparison) -> Vec<Share> {
    let share = |name: &str, (seen, made): (f64, f64), unit: &str| Share {
        name: name.to_owned(),
        seen,
        made,
        unit: unit.to_owned(),
    };
    let (seen, made) = comparison.count;
    let [reads, writes] = comparison.sequential;
    vec![
        share("I/Os", (seen as f64, made as f64), "I/Os"),
        share("sequential reads", reads, ""),
        share("sequential writes", writes, ""),
        share("not on a multiple of 4 KiB", comparison.misaligned(), ""),
        share("durable writes", comparison.durable, ""),
        share("different data", comparison.touched, "B"),
        share("busiest second", comparison.peak, "I/Os/s"),
    ]
}

/// Returns sentences about properties that the workload does not reproduce.
fn words(
    observed: &Observed,
    model: &Model,
    comparison: &Comparison,
    distances: &[Distance],
) -> Vec<String> {
    let all = observed.records.len().max(1) as f64;
    let share = |is_wanted: &dyn Fn(&IoRecord) -> bool| {
        observed.records.iter().filter(|record| is_wanted(record)).count() as f64 / all
    };
    let mut words = Vec::new();
    let mut say = |share: f64, least: f64, text: &str| {
        if share > least {
            words.push(format!("{:.1} % of the I/Os {text}", share * 100.0));
        }
    };
    say(
        share(&|record| record.operation == Operation::Discard),
        0.0,
        "are discards, which Tilemark does not support: they are left out",
    );
    say(
        share(&|record| record.flags.has(Flags::ERROR)),
        0.0,
        "failed; the fitted workload has no failures",
    );
    let accesses = || model.kinds.iter().flat_map(|kind| &kind.accesses);
    let blocks = || accesses().filter_map(|access| access.block.as_ref());
    let moved: u64 = blocks().map(|block| block.sizes.moved).sum();
    say(moved as f64 / all, 0.001, "have a rare size: each gets the nearest frequent size");
    if observed.beyond > 0 {
        words.push(format!("{} I/Os after the fitted ones", observed.beyond));
    }
    if observed.resolution() > COARSE {
        words.push(format!(
            "exact times between I/Os: the trace's clock has steps of {}",
            observed.resolution()
        ));
    }
    if !observed.info.has_latency {
        words.push(
            "whether I/Os waited for answers: the trace has no completions, so the load comes at \
             its rate however slow the storage is"
                .to_owned(),
        );
    }
    let waiting = || model.kinds.iter().filter_map(|kind| kind.waiting.as_ref());
    if let Some(rare) =
        waiting().map(|own| own.rare).max_by(f64::total_cmp).filter(|it| *it > 0.001)
    {
        words.push(format!(
            "rare sequences of I/Os, {:.1} % of the I/Os: each counts as a frequent one",
            rare * 100.0
        ));
    }
    if waiting().next().is_some() {
        words.push(
            "the numbers of repetitions in a dialogue, which are means, and waits of one dialogue \
             for another"
                .to_owned(),
        );
    }
    let streams = || model.kinds.iter().flat_map(|kind| &kind.streams);
    let is_open = |arrival: &Arrival| !matches!(arrival, Arrival::Closed { .. });
    if streams().filter(|stream| is_open(&stream.decided.arrival)).count() > 1 {
        words.push(
            "the order of reads, writes and flushes relative to each other: each comes \
             independently of the others"
                .to_owned(),
        );
    }
    words.push("the location of new data on the disk: it is spread evenly".to_owned());
    words.push("the dependence of the storage's latency on the load".to_owned());
    let (seen, made) = comparison.peak;
    if made > 0.0 && !(0.5..=2.0).contains(&(made / seen)) {
        words.push(format!("the busiest second: {made:.0} I/Os instead of {seen:.0}"));
    }
    for far in distances.iter().filter(|it| it.distance.is_some_and(|it| it > FAR)) {
        let distance = far.distance.unwrap_or(0.0);
        let at = far.at.map_or_else(String::new, |at| format!(", most up to {at} {}", far.unit));
        words.push(format!("{}: distance {distance:.2}{at}", far.histogram));
    }
    for curve in comparison.curves.iter().filter(|curve| curve.most > FAR) {
        words.push(format!(
            "the miss-ratio curve at pages of {}: off by {}",
            units::Bytes::new(curve.page_bytes),
            short(curve.most)
        ));
    }
    words
}
