//! Checks a host's answer. A host may be faulty or malicious. An answer that no store could give is
//! refused as a whole, so none of its numbers is shown. Any other answer is accepted as true.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use untrusted::Malformed;

use super::wire::{
    ANSWER_MAX, Answer, CELLS_MAX, Content, EVIDENCE_MAX, EvidenceFacts, NAMES_MAX, Question,
    SETS_MAX, SetFacts, Slices, StateFacts,
};
use crate::known::NAME_MAX;
use crate::latencies::lower_edge;
use crate::segment::PERIOD_MAX;
use crate::slice::Names;
use crate::{Cell, Evidence, Key, Known, LEVELS, SetRow, Slice, State, journal};

/// Maximum number of I/Os of a cell per second, far beyond any host.
const IOS_PER_S_MAX: u64 = 1_000_000_000;
/// Maximum number of failed I/Os, and of bytes, in all cells together: 33 GB/s for more than a
/// year.
const ERRORS_MAX: u64 = 1 << 56;
const BYTES_MAX: u64 = 1 << 60;
/// Largest value of a gauge. Gauges in bytes per second are the largest.
const GAUGE_MAX: f64 = 1e18;
/// Largest length of an I/O, in bytes.
const BYTES_PER_IO_MAX: u64 = 1 << 32;
/// Factor by which a sum of latencies may differ from its histogram. Counts of a stored histogram
/// are accurate to a fifth, and counts of the coarsest of five levels were rounded five times.
const SUM_FACTOR: u128 = 4;
const HOUR_S: u64 = 3600;
/// Maximum number of findings of a recording, and maximum length of a text of it, in bytes.
const FINDINGS_MAX: usize = 100;
const TEXT_MAX: usize = 8192;

/// Answer that a store could give.
#[derive(Debug)]
pub(crate) struct Checked {
    pub now_s: u64,
    pub known: Known,
    pub content: CheckedContent,
}

#[derive(Debug)]
pub(crate) enum CheckedContent {
    State { state: State, bounds: Option<(u64, u64)> },
    Slices(CheckedSlices),
    Sets(Vec<SetRow>),
    Evidence(Vec<Evidence>),
}

/// Slices of a window, ascending.
#[derive(Debug)]
pub(crate) struct CheckedSlices {
    pub width_s: u64,
    pub slices: Vec<Slice>,
    /// Initiators that are VMs, in addition to those listed as known VMs.
    pub vms: Vec<String>,
    pub unreadable: u64,
}

/// Parses and checks an answer to a question.
///
/// # Errors
/// The bytes are not an answer that a store could give to this question.
pub(crate) fn checked(bytes: &[u8], question: &Question) -> Result<Checked, Malformed> {
    if bytes.len() > ANSWER_MAX {
        let text = format!("it has {} bytes, but the maximum is {ANSWER_MAX}", bytes.len());
        return Err(text.into());
    }
    let (answer, rest) = postcard::take_from_bytes::<Answer>(bytes)
        .map_err(|_| "it is not an answer about a store")?;
    if !rest.is_empty() {
        return Err("it has extra bytes at its end".into());
    }
    if answer.question != *question {
        return Err("it belongs to another request".into());
    }
    check_known(&answer.known)?;
    let content = match (answer.content, question) {
        (Content::State(facts), Question::State) => state(&facts)?,
        (Content::Slices(own), Question::Window { from_s, to_s, slices_max }) => {
            CheckedContent::Slices(slices(own, (*from_s, *to_s), *slices_max)?)
        }
        (Content::Sets(rows), Question::Sets { from_s, to_s, .. }) => {
            let rows = rows.iter().map(SetFacts::row).collect();
            CheckedContent::Sets(sets(rows, (*from_s, *to_s))?)
        }
        (Content::Sets(rows), Question::NewestSets) => {
            let rows = rows.iter().map(SetFacts::row).collect();
            CheckedContent::Sets(sets(rows, (0, PERIOD_MAX))?)
        }
        (Content::Evidence(all), Question::Evidence) => CheckedContent::Evidence(evidence(all)?),
        _ => return Err("it belongs to another request".into()),
    };
    Ok(Checked { now_s: answer.now_s, known: answer.known, content })
}

fn check_name(name: &str) -> Result<(), Malformed> {
    match name.len() {
        0..=NAME_MAX => Ok(()),
        length => Err(format!("a name has {length} bytes (limit {NAME_MAX})").into()),
    }
}

fn check_number(what: &str, number: usize, most: usize) -> Result<(), Malformed> {
    match number <= most {
        true => Ok(()),
        false => Err(format!("it has {number} {what} (limit {most})").into()),
    }
}

fn check_known(known: &Known) -> Result<(), Malformed> {
    check_number("VMs", known.vms.len(), NAMES_MAX)?;
    check_number("identities of disks", known.disks.len(), NAMES_MAX)?;
    for vm in &known.vms {
        check_name(&vm.name)?;
        check_name(vm.uuid.as_deref().unwrap_or_default())?;
    }
    for disk in &known.disks {
        check_name(&disk.name)?;
        check_name(disk.identity.as_deref().unwrap_or_default())?;
        if disk.identity.as_deref() == Some("") {
            return Err("the identity of a disk is empty".into());
        }
    }
    Ok(())
}

fn state(facts: &StateFacts) -> Result<CheckedContent, Malformed> {
    if facts.levels.len() != LEVELS.len() {
        return Err(
            format!("it has {} levels instead of {}", facts.levels.len(), LEVELS.len()).into()
        );
    }
    let times = facts.levels.iter().filter_map(|(_, time_s)| *time_s).chain(facts.bounds);
    if times.into_iter().any(|(from_s, to_s)| from_s > to_s) {
        return Err("a time ends before it begins".into());
    }
    Ok(CheckedContent::State { state: facts.state(), bounds: facts.bounds })
}

fn slices(own: Slices, window: (u64, u64), slices_max: u64) -> Result<CheckedSlices, Malformed> {
    let width_s = own.width_s;
    if !LEVELS.iter().any(|level| level.width_s == width_s) {
        return Err(format!("there are no slices of {width_s} s").into());
    }
    // A window may begin and end within a slice. Days are told however many there are.
    let fitting = window.1.saturating_sub(window.0).div_ceil(width_s);
    let is_coarsest = LEVELS.last().is_some_and(|level| level.width_s == width_s);
    let most = if is_coarsest { fitting } else { fitting.min(slices_max) }.saturating_add(2);
    check_number("slices", own.frames.len(), usize::try_from(most).unwrap_or(usize::MAX))?;
    check_number("VMs", own.vms.len(), NAMES_MAX)?;
    own.vms.iter().try_for_each(|name| check_name(name))?;
    let (mut names, mut cells, mut slices) = (Names::default(), 0_usize, Vec::new());
    let (mut errors, mut bytes) = (0_u64, 0_u64);
    let (mut senders, mut disks) = (BTreeSet::new(), BTreeSet::new());
    for frame in &own.frames {
        let slice = journal::decode(frame, &mut names).ok_or("a slice cannot be read")?;
        cells = cells.saturating_add(slice.io.len()).saturating_add(slice.gauges.len());
        check_number("cells", cells, CELLS_MAX)?;
        check_time(&slice, window, slices.last())?;
        for (key, cell) in &slice.io {
            check_cell(key, cell, slice.width_s)
                .map_err(|reason| in_cell(key, slice.start_s, &reason))?;
            errors = errors.saturating_add(cell.errors);
            bytes = bytes.saturating_add(cell.bytes);
            if senders.insert(Arc::clone(&key.vm)) {
                check_name(&key.vm)?;
            }
            if disks.insert(Arc::clone(&key.disk)) {
                check_name(&key.disk)?;
            }
        }
        check_gauges(&slice)?;
        slices.push(slice);
    }
    if errors > ERRORS_MAX || bytes > BYTES_MAX {
        return Err(format!("{bytes} bytes and {errors} failed I/Os are too many").into());
    }
    check_number("senders", senders.len(), 8 * NAMES_MAX)?;
    check_number("disks", disks.len(), NAMES_MAX)?;
    Ok(CheckedSlices { width_s, slices, vms: own.vms, unreadable: own.unreadable })
}

fn in_cell(key: &Key, start_s: u64, reason: &Malformed) -> Malformed {
    let (vm, disk) = (shortened(&key.vm), shortened(&key.disk));
    format!("{vm} on {disk} at {start_s}: {reason}").into()
}

/// Returns the begin of a name, safe to show.
fn shortened(name: &str) -> String {
    let begin: String = name.chars().take(40).collect();
    untrusted::shown(&begin).into_owned()
}

fn check_time(slice: &Slice, window: (u64, u64), before: Option<&Slice>) -> Result<(), Malformed> {
    let (start_s, width_s) = (slice.start_s, slice.width_s);
    if !LEVELS.iter().any(|level| level.width_s == width_s) || start_s % width_s != 0 {
        return Err(format!("there is no slice of {width_s} s at {start_s}").into());
    }
    if start_s >= window.1 || start_s.saturating_add(width_s) <= window.0 {
        let (from_s, to_s) = window;
        return Err(format!("a slice at {start_s} is not from {from_s} to {to_s}").into());
    }
    match before {
        Some(before) if before.start_s >= start_s => {
            Err("its slices are not in ascending order".into())
        }
        _ => Ok(()),
    }
}

fn check_cell(key: &Key, cell: &Cell, width_s: u64) -> Result<(), Malformed> {
    let most = IOS_PER_S_MAX.saturating_mul(width_s);
    if cell.count > most || cell.errors > most {
        return Err(format!("{} I/Os are too many", cell.count.max(cell.errors)).into());
    }
    let in_histogram = cell.latencies.count();
    // A bucket of 2^32 I/Os is full.
    let is_full = || cell.latencies.buckets().any(|(_, count)| count == u32::MAX);
    if in_histogram > cell.count || (in_histogram < cell.count && !is_full()) {
        let text = format!("{} I/Os, but {in_histogram} in their histogram", cell.count);
        return Err(text.into());
    }
    if cell.bytes > cell.count.saturating_mul(BYTES_PER_IO_MAX) {
        return Err(format!("{} bytes in {} I/Os", cell.bytes, cell.count).into());
    }
    // QEMU's histograms have other ends, and it counts what failed into its sums.
    let is_kernels = key.class.is_some();
    if is_kernels && !sums_of(cell).contains(&cell.latency_ns.into()) {
        return Err(format!("{} ns do not match the sum of its latencies", cell.latency_ns).into());
    }
    // Both are rounded, each time to 0.2 %.
    let longest_ns = cell.latency_ns.saturating_add(cell.latency_ns / 8).saturating_add(8);
    if cell.queue_ns.is_some_and(|queue_ns| queue_ns > longest_ns) {
        return Err("its queue time is longer than its latency".into());
    }
    Ok(())
}

/// Returns the range of latency sums that the cell's histogram allows.
fn sums_of(cell: &Cell) -> RangeInclusive<u128> {
    let (mut low, mut high) = (0_u128, 0_u128);
    let mut is_open = false;
    for (edge, count) in cell.latencies.buckets() {
        let count = u128::from(count);
        low += u128::from(lower_edge(edge).0) * count;
        high += u128::from(edge.0) * count;
        // The last bucket has no end, and a full one may be of more I/Os.
        is_open |= edge.0 > HOUR_S * 1_000_000_000 || count == u128::from(u32::MAX);
    }
    let high = if is_open { u128::MAX } else { SUM_FACTOR * high };
    low / SUM_FACTOR..=high
}

fn check_gauges(slice: &Slice) -> Result<(), Malformed> {
    for ((name, scope), folded) in &slice.gauges {
        check_name(scope)?;
        let is_number = |value: f64| (0.0..=GAUGE_MAX).contains(&value);
        if !is_number(folded.value) || !is_number(folded.most) {
            return Err(format!("{} of {} is not a number", name.name(), shortened(scope)).into());
        }
    }
    Ok(())
}

fn sets(rows: Option<Vec<SetRow>>, window: (u64, u64)) -> Result<Vec<SetRow>, Malformed> {
    let rows = rows.ok_or("a working set has no time span")?;
    check_number("working sets", rows.len(), SETS_MAX)?;
    for row in &rows {
        check_name(&row.vm)?;
        let is_within = (window.0..window.1).contains(&row.start_s) && row.start_s % HOUR_S == 0;
        let is_share = row.share > 0.0 && row.share <= 1.0;
        if !is_within {
            return Err(format!(
                "a working set is from an hour that was not requested: {}",
                row.start_s
            )
            .into());
        }
        // Each is rounded by itself.
        let used = row.used_bytes.saturating_add(SetRow::PAGE_BYTES);
        let both = row.read_bytes.saturating_add(row.written_bytes);
        let is_sum = row.read_bytes.max(row.written_bytes) <= used
            && row.used_bytes <= both.saturating_add(SetRow::PAGE_BYTES);
        if !is_share || !is_sum {
            return Err(format!("a working set of {} is impossible", shortened(&row.vm)).into());
        }
    }
    Ok(rows)
}

fn evidence(all: Vec<EvidenceFacts>) -> Result<Vec<Evidence>, Malformed> {
    check_number("recordings", all.len(), EVIDENCE_MAX)?;
    let mut found: Vec<Evidence> = Vec::new();
    for own in all {
        let own = own.evidence().ok_or("a recording has no time")?;
        check_number("findings", own.findings.len(), FINDINGS_MAX)?;
        check_name(&own.disk)?;
        check_name(own.vm.as_deref().unwrap_or_default())?;
        let trace = own.trace.as_ref().map_or(0, |path| path.as_os_str().len());
        let lengths = own.findings.iter().map(String::len).chain([own.alarm.len(), trace]);
        if let Some(length) = lengths.max().filter(|length| *length > TEXT_MAX) {
            return Err(format!("a text has {length} bytes (limit {TEXT_MAX})").into());
        }
        if found.last().is_some_and(|before| before.at_s >= own.at_s) {
            return Err("its recordings are not in ascending order".into());
        }
        found.push(own);
    }
    Ok(found)
}
