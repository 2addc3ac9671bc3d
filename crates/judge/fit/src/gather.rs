use std::collections::BTreeMap;

use trace::{BATCH, Clock, IoRecord, Source, TraceInfo};
use units::Nanos;

use super::error::FitError;

/// Minimum number of reads and writes for a fit, so that shares of one percent are meaningful.
pub(crate) const LEAST: u64 = 1000;
/// Maximum number of records kept, 64 B each. A longer trace is fitted by its first records.
const MOST: usize = 2_000_000;

/// Maximum fitted time span, because each second takes memory: two years of 63 million seconds. At
/// the two million kept I/Os, this is one I/O per half a minute.
const SPAN_MOST: Nanos = Nanos::from_secs(2 * 366 * 86_400);

/// Selection of the I/O to fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IoSelection {
    /// Name of the trace, as given.
    pub trace: String,
    /// Name of the VM; `None` if the trace has only one.
    pub vm: Option<String>,
    /// Earliest submission time of selected I/Os; `None` for no bound.
    pub from: Option<Nanos>,
    /// End of the submission times of selected I/Os (exclusive); `None` for no bound.
    pub to: Option<Nanos>,
}

/// Observed I/O of one VM.
#[derive(Debug, Clone)]
pub struct Observed {
    pub(crate) trace: String,
    pub(crate) vm: String,
    pub(crate) info: TraceInfo,
    /// Records in order of submission. Their times count from the first record, and their devices
    /// are positions in `devices`.
    pub(crate) records: Vec<IoRecord>,
    /// Names and sizes of the devices with I/O.
    pub(crate) devices: Vec<trace::Device>,
    /// Submission time of the first record in the trace.
    pub(crate) start: Nanos,
    /// Number of I/Os after the last kept one.
    pub(crate) beyond: u64,
}

impl Observed {
    /// Returns the time from the first to the last submission.
    pub(crate) fn span(&self) -> Nanos {
        self.records.last().map_or(Nanos::ZERO, |record| record.issue)
    }

    /// Returns the smallest difference of two distinct times.
    pub(crate) fn resolution(&self) -> Nanos {
        match self.info.clock {
            Clock::Real { resolution } => resolution.max(Nanos(1)),
            Clock::Order => Nanos(1),
        }
    }
}

/// Reads a trace to its end and keeps the records of one VM.
///
/// # Errors
/// If the trace cannot be read, has no times, or has too little of the selected I/O.
pub fn gather(source: &mut dyn Source, wanted: &IoSelection) -> Result<Observed, FitError> {
    let trace = || wanted.trace.clone();
    if source.info().clock == Clock::Order {
        return Err(FitError::NoTimes { trace: trace() });
    }
    let (mut records, mut beyond): (Vec<IoRecord>, u64) = (Vec::new(), 0);
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        source.read(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        let index = wanted.vm.as_ref().map(|name| position(source.info(), name));
        for record in batch.iter().filter(|record| is_within(record, wanted)) {
            if index.is_some_and(|index| index != Some(record.vm.0)) {
                continue;
            }
            *counts.entry(record.vm.0).or_default() += 1;
            if counts.len() > 1 || records.len() >= MOST {
                beyond += 1;
            } else {
                records.push(*record);
            }
        }
    }
    let info = source.info().clone();
    choose(&info, wanted, &counts)?;
    let moves = records.iter().filter(|record| record.operation.moves_data()).count() as u64;
    if moves < LEAST {
        return Err(FitError::TooFew { trace: trace(), count: moves, least: LEAST });
    }
    let vm = counts.keys().next().map_or_else(String::new, |at| name(&info, *at));
    let observed = renumbered(records, info, trace(), vm, beyond);
    let span = observed.span();
    if span == Nanos::ZERO {
        return Err(FitError::NoSpan { trace: trace() });
    }
    if span > SPAN_MOST {
        return Err(FitError::TooLong { trace: trace(), span, most: SPAN_MOST });
    }
    Ok(observed)
}

fn is_within(record: &IoRecord, wanted: &IoSelection) -> bool {
    wanted.from.is_none_or(|from| record.issue >= from)
        && wanted.to.is_none_or(|to| record.issue < to)
}

fn position(info: &TraceInfo, name: &str) -> Option<u16> {
    let at = info.vms.iter().position(|vm| vm == name)?;
    u16::try_from(at).ok()
}

fn name(info: &TraceInfo, vm: u16) -> String {
    let known = info.vms.get(usize::from(vm)).filter(|name| !name.is_empty());
    known.cloned().unwrap_or_else(|| format!("vm{vm}"))
}

fn choose(
    info: &TraceInfo,
    wanted: &IoSelection,
    counts: &BTreeMap<u16, u64>,
) -> Result<(), FitError> {
    let trace = wanted.trace.clone();
    if let Some(vm) = wanted.vm.clone().filter(|vm| position(info, vm).is_none()) {
        return Err(FitError::UnknownVm { trace, vm, known: info.vms.clone() });
    }
    if counts.len() > 1 {
        let mut vms: Vec<(String, u64)> =
            counts.iter().map(|(at, count)| (name(info, *at), *count)).collect();
        vms.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        return Err(FitError::SeveralVms { trace, vms });
    }
    Ok(())
}

fn renumbered(
    mut records: Vec<IoRecord>,
    info: TraceInfo,
    trace: String,
    vm: String,
    beyond: u64,
) -> Observed {
    let start = records.first().map_or(Nanos::ZERO, |record| record.issue);
    let mut places: BTreeMap<u16, u16> = BTreeMap::new();
    for record in &records {
        let next = u16::try_from(places.len()).unwrap_or(u16::MAX);
        places.entry(record.device.0).or_insert(next);
    }
    let mut devices = vec![trace::Device::default(); places.len()];
    for (from, to) in &places {
        let known = info.devices.get(usize::from(*from)).cloned().unwrap_or_default();
        devices[usize::from(*to)] = known;
    }
    for record in &mut records {
        record.issue = record.issue.saturating_sub(start);
        record.device.0 = places[&record.device.0];
        record.vm.0 = 0;
    }
    Observed { trace, vm, info, records, devices, start, beyond }
}
