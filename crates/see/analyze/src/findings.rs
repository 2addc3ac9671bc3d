//! Findings: the most important facts as sentences, each with its number and evidence.

use stats::Histogram;
use units::{Bytes, Nanos, Ratio};

use crate::cause::Waits;
use crate::classes::ENOUGH;
use crate::document::{Analysis, Finding, FindingKind, OverviewRow};
use crate::fold::Row;
use crate::interval::{self, ShareInterval};
use crate::material::{ALL, Material, View};

/// Maximum number of sentences.
const MOST: usize = 5;
/// Minimum ratio of the latency of small I/O beside large I/O to the latency of small I/O alone.
/// Our choice.
const BESIDE_TIMES: f64 = 2.0;
/// Minimum share of misaligned I/O. Our choice.
const MISALIGNED: f64 = 0.1;
/// Minimum difference of the read shares by count and by bytes. Our choice.
const RATIO_GAP: f64 = 0.2;
/// Minimum ratio of a moment's share of the waiting to its share of the time. Our choice.
const MOMENT_TIMES: f64 = 4.0;
/// Maximum length of a moment, as a share of all slices.
const MOMENT_SHARE: f64 = 0.05;
/// Minimum ratio of a second's I/Os to the average second of the busiest 20 s, to be a burst. Our
/// choice.
const BURST_TIMES: f64 = 3.0;
/// Sampling interval of vCenter's real-time counters, which hide shorter bursts.
const HIDDEN_BY: Nanos = Nanos::from_secs(20);
/// Minimum share of I/Os served by a tier. Our choice.
const TIER_SERVED: f64 = 0.2;
/// Share of the largest tier's hits that a smaller tier must reach to be named instead.
const TIER_ENOUGH: f64 = 0.9;
const OURS: &str = "our choice";

/// Finding that is not ranked yet.
struct Draft {
    kind: FindingKind,
    text: String,
    value: f64,
    unit: &'static str,
    limit: f64,
    limit_source: String,
    samples: u64,
    interval: Option<ShareInterval>,
    effect: f64,
    vm: String,
    view: View,
    /// Time span of the trace that the finding is about.
    span: Option<(Nanos, Nanos)>,
}

/// Returns the most important findings. `answer` must have all lists that they are made from.
pub(crate) fn find(material: &Material, answer: &Analysis) -> Vec<Finding> {
    let mut drafts = Vec::new();
    contributions(material, answer, &mut drafts);
    breaks(answer, &mut drafts);
    moments(material, &mut drafts);
    beside(answer, &mut drafts);
    misaligned(answer, &mut drafts);
    ratios(answer, &mut drafts);
    bursts(answer, &mut drafts);
    tiers(answer, &mut drafts);
    drafts.retain(|draft| draft.samples >= ENOUGH && draft.effect > 0.0);
    drafts.sort_by(|a, b| b.effect.total_cmp(&a.effect));
    let mut kept: Vec<Draft> = Vec::new();
    for draft in drafts {
        // The same kind for another VM tells less than a new kind.
        if kept.len() < MOST && kept.iter().filter(|other| other.kind == draft.kind).count() < 2 {
            kept.push(draft);
        }
    }
    kept.into_iter().map(|draft| draft.finish(answer)).collect()
}

impl Draft {
    fn finish(self, answer: &Analysis) -> Finding {
        let mut command = format!("tilemark analyze {}", quoted(&answer.source.name));
        command += &format!(" --view {}", self.view.name());
        if self.vm != ALL && answer.source.vms.len() > 1 {
            command += &format!(" --vm {}", quoted(&self.vm));
        }
        for device in &answer.filter.devices {
            command += &format!(" --device {}", quoted(device));
        }
        if let Some(direction) = &answer.filter.direction {
            command += &format!(" --direction {direction}");
        }
        let from = self.span.map(|span| span.0.0).or(answer.filter.from_ns);
        let to = self.span.map(|span| span.1.0).or(answer.filter.to_ns);
        if let Some(from) = from {
            command += &format!(" --from {}", Nanos(from).to_text());
        }
        if let Some(to) = to {
            command += &format!(" --to {}", Nanos(to).to_text());
        }
        let mut text = self.text;
        if answer.overview.len() < 2 {
            // Only sentences without a name at the beginning get a capital.
            if let Some(first) = text.get_mut(..1) {
                first.make_ascii_uppercase();
            }
        }
        Finding {
            id: self.kind,
            text,
            value: self.value,
            unit: self.unit.to_owned(),
            limit: self.limit,
            limit_source: self.limit_source,
            samples: self.samples,
            low: self.interval.map(|own| own.low * 100.0),
            high: self.interval.map(|own| own.high * 100.0),
            interval_by: self.interval.map(|_| interval::METHOD.to_owned()),
            effect: self.effect,
            command,
        }
    }
}

/// Quotes a word for a command line.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@%+,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns the prefix `VM web1: `, or an empty text if there is only one VM.
fn whose(answer: &Analysis, vm: &str) -> String {
    if vm == ALL || answer.overview.len() < 2 { String::new() } else { format!("{vm}: ") }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Returns the rows of the VMs, without the sum of several, each with its share of all I/Os.
fn vms(answer: &Analysis) -> impl Iterator<Item = (&OverviewRow, f64)> {
    let is_several = answer.overview.len() > 1;
    let rows = answer.overview.iter().skip(usize::from(is_several));
    let count = |row: &OverviewRow| (row.reads + row.writes) as f64;
    let all: f64 = rows.clone().map(count).sum();
    rows.map(move |row| (row, if all > 0.0 { count(row) / all } else { 0.0 }))
}

/// Returns the share of a VM in all waiting.
fn wait_share(answer: &Analysis, vm: &str) -> f64 {
    let first = answer.overview.first().map_or(ALL, |row| row.vm.as_str());
    let wait = |name: &str| {
        let rows = answer.sizes.iter().filter(|row| row.vm == name);
        rows.filter_map(|row| row.wait_ns).map(|ns| ns as f64).sum::<f64>()
    };
    let all = wait(first);
    if all > 0.0 { wait(vm) / all } else { 0.0 }
}

fn contributions(material: &Material, answer: &Analysis, drafts: &mut Vec<Draft>) {
    let is_several = material.scopes.len() > 1;
    for scope in material.scopes.iter().skip(usize::from(is_several)) {
        let Some(cause) = Waits::of_one(&scope.name, scope.vm.parts()).worst() else { continue };
        let mut times = Histogram::new();
        let parts = scope.vm.parts().enumerate();
        let inside = parts.filter(|(slot, _)| cause.band.slots().contains(slot));
        inside.filter_map(|(_, part)| part.times).for_each(|more| times.merge(more));
        let Some(p99) = times.percentile(Ratio::new(0.99)) else { continue };
        let interval = interval::of_wait(material, scope, cause.band);
        drafts.push(Draft {
            kind: FindingKind::Contribution,
            text: format!(
                "{}{} are {} of the I/Os and {}{} of all waiting (p99 {p99}, {} I/Os).",
                whose(answer, &scope.name),
                cause.band.name(),
                percent(cause.share_of_count),
                percent(cause.share_of_wait),
                interval::text(interval.map(|own| own.low), interval.map(|own| own.high)),
                cause.count
            ),
            value: cause.share_of_wait * 100.0,
            unit: "%",
            limit: cause.share_of_count * 100.0,
            limit_source: "its share of the I/Os".to_owned(),
            samples: cause.count,
            interval,
            effect: cause.share_of_wait * wait_share(answer, &scope.name),
            vm: scope.name.clone(),
            view: View::Sizes,
            span: None,
        });
    }
}

fn breaks(answer: &Analysis, drafts: &mut Vec<Draft>) {
    let is_single = |vm: &str| vms(answer).any(|(row, _)| row.vm == vm);
    for row in answer.breaks.iter().filter(|row| is_single(&row.vm)) {
        let (Some(class), Some(p99)) = (&row.class, row.p99_ns) else { continue };
        let limit = Nanos(answer.limit.ns);
        let sizes = answer.sizes.iter();
        let over = sizes.filter(|size| {
            size.vm == row.vm
                && size.direction == row.direction
                && size.count >= ENOUGH
                && size.p99_ns.is_some_and(|p99| p99 > limit.0)
        });
        let share: f64 = over.filter_map(|size| size.share_of_wait).sum();
        let depth = row
            .outstanding_from
            .map_or_else(String::new, |depth| format!(", first with {depth} or more outstanding"));
        drafts.push(Draft {
            kind: FindingKind::Limit,
            text: format!(
                "{}the smallest {}s over the limit of {limit} are in {class}: p99 {}{depth} ({} \
                I/Os).",
                whose(answer, &row.vm),
                row.direction,
                Nanos(p99),
                row.count
            ),
            value: p99 as f64,
            unit: "ns",
            limit: limit.0 as f64,
            limit_source: answer.limit.source.clone(),
            samples: row.count,
            interval: None,
            effect: share * wait_share(answer, &row.vm),
            vm: row.vm.clone(),
            view: View::Matrix,
            span: None,
        });
    }
}

/// Finds the moment with the most waiting of each VM.
fn moments(material: &Material, drafts: &mut Vec<Draft>) {
    let slices = &material.fold.slices;
    let (Some(span), width) = (material.span, slices.width()) else { return };
    let rows = slices.rows();
    let total: f64 = rows.iter().map(|row| row.wait_ns as f64).sum();
    let all_slices = span.0.div_ceil(width.0).max(1);
    for scope in &material.scopes {
        let Some(index) = scope.index else { continue };
        let mine: Vec<&Row> = rows.iter().filter(|row| row.vm() == usize::from(index)).collect();
        let wait: f64 = mine.iter().map(|row| row.wait_ns as f64).sum();
        let Some(moment) = moment(&mine, all_slices) else { continue };
        let time_share = (moment.to - moment.from) as f64 / all_slices as f64;
        let share = moment.wait / wait;
        if wait <= 0.0 || share < MOMENT_TIMES * time_share {
            continue;
        }
        let from = Nanos(moment.from.saturating_mul(width.0));
        let to = Nanos(moment.to.saturating_mul(width.0));
        let who =
            if material.scopes.len() > 1 { format!("{}: ", scope.name) } else { String::new() };
        drafts.push(Draft {
            kind: FindingKind::Moment,
            text: format!(
                "{who}{} of the total wait was in the time from {from} to {to}, which is {} of the \
                time ({} I/Os).",
                percent(share),
                percent(time_share),
                moment.count
            ),
            value: share * 100.0,
            unit: "%",
            limit: time_share * 100.0,
            limit_source: "its share of the time".to_owned(),
            samples: moment.count,
            interval: None,
            effect: if total > 0.0 { moment.wait / total } else { 0.0 },
            vm: scope.name.clone(),
            view: View::Time,
            span: Some((from, to)),
        });
    }
}

/// Consecutive slices.
struct Moment {
    from: u64,
    to: u64,
    wait: f64,
    count: u64,
}

/// Finds the slices with the most waiting, among consecutive slices no longer than [`MOMENT_SHARE`]
/// of all.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "slices, rounded up")]
fn moment(rows: &[&Row], slices: u64) -> Option<Moment> {
    let most = ((slices as f64 * MOMENT_SHARE) as u64).max(1);
    let (mut wait, mut count, mut begin) = (0.0, 0, 0);
    let mut best: Option<Moment> = None;
    for row in rows {
        wait += row.wait_ns as f64;
        count += row.count;
        while rows[begin].slice + most <= row.slice {
            wait -= rows[begin].wait_ns as f64;
            count -= rows[begin].count;
            begin += 1;
        }
        if best.as_ref().is_none_or(|best| wait > best.wait) {
            best = Some(Moment { from: rows[begin].slice, to: row.slice + 1, wait, count });
        }
    }
    best.map(|best| best.trimmed(rows))
}

impl Moment {
    /// Removes slices at both ends that have less than a quarter of the average waiting.
    fn trimmed(mut self, rows: &[&Row]) -> Self {
        let of = |slice: u64| rows.iter().filter(move |row| row.slice == slice);
        let wait = |slice: u64| of(slice).map(|row| row.wait_ns as f64).sum::<f64>();
        let count = |slice: u64| of(slice).map(|row| row.count).sum::<u64>();
        let least = self.wait / (self.to - self.from) as f64 / 4.0;
        while self.from + 1 < self.to && wait(self.from) < least {
            self.wait -= wait(self.from);
            self.count -= count(self.from);
            self.from += 1;
        }
        while self.from + 1 < self.to && wait(self.to - 1) < least {
            self.wait -= wait(self.to - 1);
            self.count -= count(self.to - 1);
            self.to -= 1;
        }
        self
    }
}

fn beside(answer: &Analysis, drafts: &mut Vec<Draft>) {
    for (vm, share) in vms(answer) {
        for row in answer.beside_large.iter().filter(|row| row.vm == vm.vm) {
            let (Some(alone), Some(beside)) = (row.alone_p50_ns, row.beside_p50_ns) else {
                continue;
            };
            let times = beside as f64 / alone.max(1) as f64;
            if row.alone_count < ENOUGH || times < BESIDE_TIMES {
                continue;
            }
            drafts.push(Draft {
                kind: FindingKind::BesideLarge,
                text: format!(
                    "{}small {}s take {times:.1} times as long while an I/O of 64 KiB or more is in flight: \
                     median {} instead of {} ({} I/Os).",
                    whose(answer, &vm.vm),
                    row.direction,
                    Nanos(beside),
                    Nanos(alone),
                    row.beside_count
                ),
                value: times,
                unit: "times",
                limit: BESIDE_TIMES,
                limit_source: OURS.to_owned(),
                samples: row.beside_count,
                interval: None,
                effect: share * row.beside_count as f64 / (vm.reads + vm.writes).max(1) as f64,
                vm: vm.vm.clone(),
                view: View::Latency,
                span: None,
            });
        }
    }
}

fn misaligned(answer: &Analysis, drafts: &mut Vec<Draft>) {
    for (vm, share) in vms(answer) {
        let Some(part) = vm.misaligned_share.filter(|part| *part >= MISALIGNED) else { continue };
        let count = vm.reads + vm.writes;
        let of_sector = |sector| {
            let rows = answer.alignment.iter();
            let rows = rows.filter(|row| row.vm == vm.vm && row.sector_mod_8 == sector);
            rows.map(|row| row.count).sum::<u64>()
        };
        let most = (1..8).max_by_key(|sector| of_sector(*sector)).unwrap_or(0);
        drafts.push(Draft {
            kind: FindingKind::Misaligned,
            text: format!(
                "{}{} of the I/Os do not begin on a multiple of 4 KiB, {} at sector {most} modulo 8 ({count} I/Os).",
                whose(answer, &vm.vm),
                percent(part),
                percent(of_sector(most) as f64 / count as f64),
            ),
            value: part * 100.0,
            unit: "%",
            limit: MISALIGNED * 100.0,
            limit_source: OURS.to_owned(),
            samples: count,
            interval: None,
            effect: share * part,
            vm: vm.vm.clone(),
            view: View::Overview,
            span: None,
        });
    }
}

fn ratios(answer: &Analysis, drafts: &mut Vec<Draft>) {
    for (vm, share) in vms(answer) {
        let (Some(count), Some(bytes)) = (vm.read_share_of_count, vm.read_share_of_bytes) else {
            continue;
        };
        let gap = (count - bytes).abs();
        if gap < RATIO_GAP {
            continue;
        }
        drafts.push(Draft {
            kind: FindingKind::ReadShare,
            text: format!(
                "{}reads are {} of the I/Os and {} of the bytes ({} I/Os).",
                whose(answer, &vm.vm),
                percent(count),
                percent(bytes),
                vm.reads + vm.writes
            ),
            value: gap * 100.0,
            unit: "percentage points",
            limit: RATIO_GAP * 100.0,
            limit_source: OURS.to_owned(),
            samples: vm.reads + vm.writes,
            interval: None,
            effect: share * gap,
            vm: vm.vm.clone(),
            view: View::Overview,
            span: None,
        });
    }
}

fn bursts(answer: &Analysis, drafts: &mut Vec<Draft>) {
    for (vm, share) in vms(answer) {
        let row = |width: Nanos| {
            let mut rows = answer.bursts.iter();
            rows.find(|row| row.vm == vm.vm && row.width_ns == width.0 && row.times_mean.is_some())
        };
        let (Some(second), Some(long)) = (row(Nanos::SECOND), row(HIDDEN_BY)) else { continue };
        let times = second.iops / long.iops.max(1e-9);
        if times < BURST_TIMES {
            continue;
        }
        let start = Nanos(second.start_ns);
        drafts.push(Draft {
            kind: FindingKind::Burst,
            text: format!(
                "{}the second at {start} had {} I/Os, {times:.1} times the rate of the busiest 20 s, \
                 which averages of 20 s hide.",
                whose(answer, &vm.vm),
                second.count
            ),
            value: times,
            unit: "times",
            limit: BURST_TIMES,
            limit_source: OURS.to_owned(),
            samples: second.count,
            interval: None,
            effect: share * second.count as f64 / (vm.reads + vm.writes).max(1) as f64,
            vm: vm.vm.clone(),
            view: View::Time,
            span: Some((start, Nanos(second.start_ns.saturating_add(second.width_ns)))),
        });
    }
}

/// Finds the smallest tier that serves nearly as much as the largest, for all VMs together.
fn tiers(answer: &Analysis, drafts: &mut Vec<Draft>) {
    let Some(row) = answer.overview.first() else { return };
    let (vm, count) = (row.vm.as_str(), row.reads + row.writes);
    let tiers = answer.tiers.iter().filter(|tier| tier.vm == vm);
    let tiers: Vec<_> = tiers.filter_map(|tier| Some((tier, tier.io_served?))).collect();
    let best = tiers.iter().map(|tier| tier.1).fold(0.0, f64::max);
    let Some((tier, served)) = tiers.iter().find(|tier| tier.1 >= best * TIER_ENOUGH) else {
        return;
    };
    let whole = answer.working_set.iter().find(|row| row.vm == vm && row.window_ns.is_none());
    let touched = whole.map_or(0.0, |row| row.max_bytes);
    if *served < TIER_SERVED {
        return;
    }
    let reads = tier.reads_served.map_or_else(String::new, |reads| {
        let interval = interval::text(tier.reads_served_low, tier.reads_served_high);
        format!("{}{interval} of the reads and ", percent(reads))
    });
    let bytes = |value: f64| Bytes::new(1).scale(value).round_up(Bytes::new(1));
    let of = if tier.sampled_share < 1.0 { "sampled page references" } else { "I/Os" };
    drafts.push(Draft {
        kind: FindingKind::Tier,
        text: format!(
            "A tier of {} with pages of 64 KiB, written back, would serve {reads}{}{} of the {of}. \
             {} would be written to it; {} are touched in total ({count} I/Os).",
            Bytes::new(tier.tier_bytes),
            percent(*served),
            interval::text(tier.io_served_low, tier.io_served_high),
            bytes(tier.tier_written_bytes),
            bytes(touched),
        ),
        value: served * 100.0,
        unit: "%",
        limit: TIER_SERVED * 100.0,
        limit_source: OURS.to_owned(),
        samples: count,
        interval: tier.io_served_low.zip(tier.io_served_high).map(ShareInterval::from),
        effect: *served,
        vm: vm.to_owned(),
        view: View::WorkingSet,
        span: None,
    });
}
