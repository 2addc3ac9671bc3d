//! OpenMetrics 1.0 text: totals over the measured time of every step and VM, and the answer of the
//! run.
//!
//! Latency buckets are computed from histograms of 0.8 % precision. A latency in the same histogram
//! bucket as a boundary counts as above the boundary.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Write};

use state_machine::CallError;
use stats::Compact;
use units::Nanos;

use super::ExportError;
use crate::gauge::{Gauges, Merging};
use crate::openmetrics::{END, family, labels, sample};
use crate::run::{Phase, Run};
use crate::rundir::StoredRun;
use crate::series::{ActionRecord, CallRecord, GaugeRecord, IoRecord, StepKey};
use crate::slice::tile_label;

/// Upper bounds of latency buckets: 1, 2 and 5 in every decade from 10 us to 10 s.
const EDGES_NS: [u64; 19] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

#[derive(Default)]
struct Buckets {
    /// Number of latencies in each bucket. The last bucket has the latencies above all bounds.
    counts: [u64; EDGES_NS.len() + 1],
    sum_ns: u128,
}

impl Buckets {
    fn add(&mut self, histogram: &Compact) {
        for (value, count) in histogram.buckets() {
            let edge = EDGES_NS.partition_point(|edge| *edge < value.0);
            self.counts[edge] += u64::from(count);
        }
        self.sum_ns += histogram.sum_ns;
    }

    fn seconds(&self) -> f64 {
        let whole = u64::try_from(self.sum_ns).unwrap_or(u64::MAX);
        Nanos(whole).as_secs_f64()
    }
}

#[derive(Default)]
struct Totals {
    count: u64,
    errors: u64,
    bytes: u64,
    dropped: u64,
    service: Buckets,
    response: Buckets,
}

impl Totals {
    fn took(&mut self, service: &Compact, response: &Compact) {
        self.count += service.count();
        self.service.add(service);
        self.response.add(response);
    }
}

/// Totals by label set in the form `name="value",...`.
type ByLabels = BTreeMap<String, Totals>;

pub(super) fn write(run: &StoredRun, to: &mut dyn Write) -> Result<(), ExportError> {
    let mut io = ByLabels::new();
    for row in run.series()? {
        add_io(&mut io, &row?);
    }
    let mut actions = ByLabels::new();
    for row in run.actions()? {
        add_action(&mut actions, &row?);
    }
    let (mut calls, mut call_errors) = (ByLabels::new(), ByLabels::new());
    for row in run.calls()? {
        add_calls((&mut calls, &mut call_errors), &row?);
    }
    if let Ok(document) = run.run() {
        write_answer(document, to)?;
    }
    let prefix = "tilemark_io";
    counter(to, &format!("{prefix}_operations"), "", "I/Os that succeeded.", &io, |t| t.count)?;
    counter(to, &format!("{prefix}_errors"), "", "I/Os that failed.", &io, |t| t.errors)?;
    counter(to, &format!("{prefix}_bytes"), "bytes", "Bytes moved.", &io, |t| t.bytes)?;
    latencies(to, prefix, &io)?;
    let prefix = "tilemark_action";
    counter(to, &format!("{prefix}_finished"), "", "Actions that succeeded.", &actions, |t| {
        t.count
    })?;
    counter(
        to,
        &format!("{prefix}_errors"),
        "",
        "Actions with a failed I/O or call.",
        &actions,
        |t| t.errors,
    )?;
    counter(
        to,
        &format!("{prefix}_dropped"),
        "",
        "Intended starts that users gave up.",
        &actions,
        |t| t.dropped,
    )?;
    latencies(to, prefix, &actions)?;
    if !calls.is_empty() {
        let prefix = "tilemark_call";
        counter(to, &format!("{prefix}_answered"), "", "Calls answered well.", &calls, |t| {
            t.count
        })?;
        let help = "Failed calls, by cause.";
        counter(to, &format!("{prefix}_errors"), "", help, &call_errors, |t| t.errors)?;
        let help = "Bytes of successful answers.";
        counter(to, &format!("{prefix}_bytes"), "bytes", help, &calls, |t| t.bytes)?;
        latencies(to, prefix, &calls)?;
    }
    write_gauges(run, to)?;
    Ok(to.write_all(END.as_bytes())?)
}

/// Writes the gauges of the host, the devices and the models over the measured time of each step.
/// Gauges that are sums are written as counters.
fn write_gauges(run: &StoredRun, to: &mut dyn Write) -> Result<(), ExportError> {
    let mut steps: BTreeMap<StepKey, Gauges> = BTreeMap::new();
    for row in run.gauges()? {
        let GaugeRecord { key, width, gauge, .. } = row?;
        if key.phase == Phase::Measured {
            steps.entry(key).or_default().add(width, &gauge);
        }
    }
    let mut found = Vec::new();
    for (key, gauges) in &steps {
        found.extend(gauges.iter().map(|(gauge, _)| (gauge.name, key, gauge)));
    }
    found.sort_by_key(|(name, ..)| *name);
    let mut last = None;
    for (name, key, gauge) in found {
        let is_sum = name.merging() == Merging::Sum;
        let metric = name.metric(name.unit());
        if last.replace(name) != Some(name) {
            let kind = if is_sum { "counter" } else { "gauge" };
            let help = format!("{}.", name.title());
            family(to, &metric, kind, name.unit().metric(), &help)?;
        }
        let labels = labels(&[
            ("step", &key.step),
            ("tiles", &key.tiles),
            ("repeat", &key.repeat),
            (name.scope().name(), &gauge.scope),
        ]);
        let total = if is_sum { "_total" } else { "" };
        sample(to, &format!("{metric}{total}"), &labels, gauge.value)?;
    }
    Ok(())
}

/// Returns the labels of a row of the measured time; `None` for rows of other phases.
fn measured(key: StepKey, own: &[(&str, &dyn Display)]) -> Option<String> {
    let StepKey { step, tiles, repeat, phase } = key;
    let of_step = || labels(&[("step", &step), ("tiles", &tiles), ("repeat", &repeat)]);
    (phase == Phase::Measured).then(|| format!("{},{}", of_step(), labels(own)))
}

fn add_io(totals: &mut ByLabels, row: &IoRecord) {
    let own: [(&str, &dyn Display); 5] = [
        ("tile", &tile_label(row.tile)),
        ("workload", &row.workload),
        ("copy", &row.copy),
        ("vm", &row.vm),
        ("direction", &row.direction.name()),
    ];
    let Some(labels) = measured(row.key, &own) else { return };
    let totals = totals.entry(labels).or_default();
    totals.errors += row.errors;
    totals.bytes += row.bytes.get();
    totals.took(&row.service, &row.response);
}

fn add_action(totals: &mut ByLabels, row: &ActionRecord) {
    let own: [(&str, &dyn Display); 5] = [
        ("tile", &tile_label(row.tile)),
        ("workload", &row.workload),
        ("copy", &row.copy),
        ("action", &row.action),
        ("group", &row.group),
    ];
    let Some(labels) = measured(row.key, &own) else { return };
    let totals = totals.entry(labels).or_default();
    totals.errors += row.errors;
    totals.dropped += row.dropped;
    totals.took(&row.service, &row.response);
}

/// Adds a row of calls. Calls have no VM and no direction; failed calls have a reason instead of a
/// latency.
fn add_calls((answered, failed): (&mut ByLabels, &mut ByLabels), row: &CallRecord) {
    let own: [(&str, &dyn Display); 4] = [
        ("tile", &tile_label(row.tile)),
        ("workload", &row.workload),
        ("copy", &row.copy),
        ("kind", &row.kind),
    ];
    let Some(own) = measured(row.key, &own) else { return };
    for (error, count) in CallError::ALL.iter().zip(row.errors) {
        let labels = format!("{own},{}", labels(&[("error", &error.name())]));
        failed.entry(labels).or_default().errors += count;
    }
    let totals = answered.entry(own).or_default();
    totals.bytes += row.bytes.get();
    totals.took(&row.service, &row.response);
}

fn write_answer(run: &Run, to: &mut dyn Write) -> io::Result<()> {
    family(to, "tilemark_run", "info", "", "The run of these numbers.")?;
    let labels = labels(&[
        ("id", &run.id),
        ("version", &run.tool.version),
        ("profile", &run.profile),
        ("tile", &run.tile.name),
        ("datastore", &run.target.datastore),
        ("seed", &run.seed),
    ]);
    sample(to, "tilemark_run_info", &labels, 1)?;
    if let Some(tiles) = run.answer.tiles_held {
        family(
            to,
            "tilemark_tiles_held",
            "gauge",
            "",
            "Largest number of tiles at which every limit held.",
        )?;
        writeln!(to, "tilemark_tiles_held {tiles}")?;
    }
    if let Some(score) = run.answer.score.value {
        family(
            to,
            "tilemark_score",
            "gauge",
            "",
            "Score at that number of tiles, in tiles' worth of work.",
        )?;
        writeln!(to, "tilemark_score {score}")?;
    }
    Ok(())
}

fn counter(
    to: &mut dyn Write,
    name: &str,
    unit: &str,
    help: &str,
    totals: &ByLabels,
    value: impl Fn(&Totals) -> u64,
) -> io::Result<()> {
    family(to, name, "counter", unit, help)?;
    for (labels, totals) in totals {
        sample(to, &format!("{name}_total"), labels, value(totals))?;
    }
    Ok(())
}

fn latencies(to: &mut dyn Write, prefix: &str, totals: &ByLabels) -> io::Result<()> {
    let service = format!("{prefix}_service_seconds");
    family(to, &service, "histogram", "seconds", "From submission or first step to completion.")?;
    for (labels, totals) in totals {
        histogram(to, &service, labels, &totals.service)?;
    }
    let response = format!("{prefix}_response_seconds");
    family(to, &response, "histogram", "seconds", "From the intended start to completion.")?;
    for (labels, totals) in totals {
        histogram(to, &response, labels, &totals.response)?;
    }
    Ok(())
}

fn histogram(to: &mut dyn Write, name: &str, labels: &str, buckets: &Buckets) -> io::Result<()> {
    let mut running = 0;
    for (edge, count) in EDGES_NS.iter().zip(&buckets.counts) {
        running += count;
        let edge = Nanos(*edge).as_secs_f64();
        writeln!(to, "{name}_bucket{{{labels},le=\"{edge:?}\"}} {running}")?;
    }
    running += buckets.counts[EDGES_NS.len()];
    writeln!(to, "{name}_bucket{{{labels},le=\"+Inf\"}} {running}")?;
    writeln!(to, "{name}_count{{{labels}}} {running}")?;
    writeln!(to, "{name}_sum{{{labels}}} {}", buckets.seconds())
}
