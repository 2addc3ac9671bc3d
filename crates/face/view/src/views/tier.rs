use run_store::rollup::{IoRow, TierRow};
use run_store::run::TierCounts;
use run_store::slice::Direction;
use stats::{Compact, Histogram};
use units::print::{count, percent};
use units::{Bytes, Nanos, Ratio};

use crate::document::{
    TierHero, TierPage, TierRates, TierSeries, TierShares, TierSteps, WritePolicy,
};
use crate::request::Lens;
use crate::scope::{ENOUGH, Points, Scope, Sum, ratio};
use crate::source::Source;
use crate::words::{self, rate};

/// Number of points in a number's sparkline.
const SPARK: usize = 60;
/// Relative difference between bytes written to the backing store and bytes that writes brought in,
/// below which there is no visible gap. Our choice.
const AT_ONCE: f64 = 0.05;

/// Makes view `tier`: activity of acceleration tiers.
pub(crate) fn tier(source: &Source, lens: &Lens) -> TierPage {
    let scope = Scope::course(source, lens);
    let points = scope.frame.points(lens.points as usize);
    let all = Observed::of(&scope, &points, None);
    let names = source.rollup().tier_names();
    let tiers: Vec<TierSeries> = (0_u32..)
        .zip(names)
        .map(|(tier, name)| {
            // Each observed disk has its own part of the tier, with the same name.
            let own = source.is_observed().then(|| Observed::of(&scope, &points, Some(&name.name)));
            series(source, &scope, &points, tier, own.as_ref().unwrap_or(&all))
        })
        .collect();
    let steps = steps(source, lens);
    let is_modelled = source.run().is_some_and(|run| run.target.is_simulated());
    let measured = Totals::of(&Scope::summary(source, lens), is_modelled);
    let is_present = source.has_tier();
    let summary = measured.or_steps(&steps, is_modelled);
    TierPage {
        sentence: sentence(is_present, &summary),
        is_present,
        is_modelled,
        heroes: if is_present { heroes(source, lens, &measured, &summary) } else { Vec::new() },
        tiers,
        steps,
    }
}

/// Latencies of the application, by point.
struct Observed {
    read_p99: Vec<Option<u64>>,
    write_p99: Vec<Option<u64>>,
}

impl Observed {
    /// Returns the latencies of all I/O in the lens, or of one workload.
    fn of(scope: &Scope<'_>, points: &Points, only: Option<&str>) -> Self {
        let mut found = Self { read_p99: Vec::new(), write_p99: Vec::new() };
        let (mut reads, mut writes) = (Sum::default(), Sum::default());
        let is_wanted = |row: &IoRow| {
            let name = || &scope.level.entities[row.entity as usize].workload;
            only.is_none_or(|only| only == name())
        };
        for (bucket, row) in scope.rows().filter(|(_, row)| is_wanted(row)) {
            while points.of[bucket] > found.read_p99.len() {
                found.close(&mut reads, &mut writes);
            }
            match row.direction {
                Direction::Read => reads.add(row),
                Direction::Write => writes.add(row),
                Direction::Flush => {}
            }
        }
        while found.read_p99.len() < points.len() {
            found.close(&mut reads, &mut writes);
        }
        found
    }

    fn close(&mut self, reads: &mut Sum, writes: &mut Sum) {
        self.read_p99.push(reads.percentile(0.99));
        self.write_p99.push(writes.percentile(0.99));
        reads.clear();
        writes.clear();
    }
}

fn series(
    source: &Source,
    scope: &Scope<'_>,
    points: &Points,
    tier: u32,
    observed: &Observed,
) -> TierSeries {
    let name = &source.rollup().tier_names()[tier as usize];
    let mut counts = vec![TierCounts::default(); points.len()];
    let mut reads: Vec<Histogram> = vec![Histogram::new(); points.len()];
    let mut writes = reads.clone();
    for row in rows(scope, Some(tier)) {
        let Some(bucket) = scope.frame.flat(row.span, row.bucket) else { continue };
        let point = points.of[bucket];
        counts[point] = counts[point].and_then(row.counts);
        reads[point].merge_compact(&row.backing_read);
        writes[point].merge_compact(&row.backing_write);
    }
    let of = |pick: fn(&TierCounts) -> u64| counts.iter().map(pick).collect::<Vec<u64>>();
    let policies = source.files().policies.iter();
    let policy = policies.filter(|known| known.0 == name.name).map(|known| known.1).next();
    TierSeries {
        held_sentence: held_sentence(name.capacity_bytes, &counts, points),
        dirty_sentence: dirty_sentence(name.capacity_bytes, &counts, points),
        is_destaged_at_once: policy == Some(WritePolicy::WriteBack) && is_at_once(&counts),
        read_hit_share: shares(&of(|c| c.read_hits), &of(|c| c.reads)),
        writes_absorbed_share: shares(&of(|c| c.writes_absorbed), &of(|c| c.writes)),
        rates: rates(&counts, points),
        name: name.name.clone(),
        capacity_bytes: name.capacity_bytes,
        policy,
        at_ns: points.at_ns(),
        width_ns: points.width_ns(),
        reads: of(|c| c.reads),
        read_hits: of(|c| c.read_hits),
        remote_hits: of(|c| c.remote_hits),
        memory_hits: of(|c| c.memory_hits),
        memory_held_bytes: of(|c| c.memory_held_bytes),
        memory_taken_bytes: of(|c| c.memory_taken_bytes),
        memory_sentence: memory_sentence(&counts),
        writes: of(|c| c.writes),
        writes_absorbed: of(|c| c.writes_absorbed),
        filled_bytes: of(|c| c.filled_bytes),
        placed_bytes: of(|c| c.placed_bytes),
        evicted_bytes: of(|c| c.evicted_bytes),
        destaged_bytes: of(|c| c.destaged_bytes),
        resident_bytes: of(|c| c.resident_bytes),
        dirty_bytes: of(|c| c.dirty_bytes),
        observed_read_p99_ns: observed.read_p99.clone(),
        observed_write_p99_ns: observed.write_p99.clone(),
        backing_read_p99_ns: p99s(&reads),
        backing_write_p99_ns: p99s(&writes),
    }
}

fn rates(counts: &[TierCounts], points: &Points) -> TierRates {
    let of = |pick: fn(&TierCounts) -> u64| {
        let times = counts.iter().zip(&points.load);
        times.map(|(counts, load)| rate(pick(counts), *load)).collect()
    };
    TierRates {
        reads_per_s: of(|c| c.reads),
        own_hits_per_s: of(|c| c.read_hits.saturating_sub(c.remote_hits + c.memory_hits)),
        memory_hits_per_s: of(|c| c.memory_hits),
        remote_hits_per_s: of(|c| c.remote_hits),
        misses_per_s: of(|c| c.reads.saturating_sub(c.read_hits)),
        writes_per_s: of(|c| c.writes),
        filled_bytes_per_s: of(|c| c.filled_bytes),
        placed_bytes_per_s: of(|c| c.placed_bytes),
        evicted_bytes_per_s: of(|c| c.evicted_bytes),
        destaged_bytes_per_s: of(|c| c.destaged_bytes),
    }
}

/// Describes content and size of the memory cache at the end.
fn memory_sentence(counts: &[TierCounts]) -> String {
    let Some(last) = last_known(counts).filter(|last| last.memory_taken_bytes > 0) else {
        return String::new();
    };
    let (held, taken) = (last.memory_held_bytes, last.memory_taken_bytes);
    let packed = ratio(held, taken);
    let (held, taken) = (Bytes::new(held), Bytes::new(taken));
    format!("At the end memory holds {held} in {taken}: {packed:.2} to 1.")
}

/// Describes the content of the tier at the end, and evictions.
fn held_sentence(capacity: u64, counts: &[TierCounts], points: &Points) -> String {
    // A point without readings of the tier does not mean that the tier is empty.
    let Some(last) = last_known(counts) else {
        return "There is no record of its contents over time.".to_owned();
    };
    let evicted = counts.iter().map(|counts| counts.evicted_bytes).sum();
    let room = match counts.iter().position(|counts| counts.evicted_bytes > 0) {
        Some(first) => format!(
            "from {} on it evicted {}, warm-up included",
            points.clock(first),
            Bytes::new(evicted)
        ),
        None => "nothing was evicted".to_owned(),
    };
    let share = percent(ratio(last.resident_bytes, capacity));
    let (held, capacity) = (Bytes::new(last.resident_bytes), Bytes::new(capacity));
    format!("At the end it holds {held} of {capacity} ({share}); {room}.")
}

/// Returns the last point with readings of the tier.
fn last_known(counts: &[TierCounts]) -> Option<&TierCounts> {
    let is_known = |counts: &&TierCounts| **counts != TierCounts::default();
    counts.iter().rev().find(is_known).or(counts.last())
}

/// Describes bytes that were not yet on the backing store.
fn dirty_sentence(capacity: u64, counts: &[TierCounts], points: &Points) -> String {
    let most = counts.iter().map(|counts| counts.dirty_bytes).max().unwrap_or(0);
    if most == 0 {
        return "Nothing ever waited to be written to the backing store.".to_owned();
    }
    let at = counts.iter().position(|counts| counts.dirty_bytes == most).unwrap_or(0);
    format!(
        "At most {} waited to be written to the backing store, at {}: {} of the tier's {}.",
        Bytes::new(most),
        points.clock(at),
        percent(ratio(most, capacity)),
        Bytes::new(capacity)
    )
}

/// Returns true if the bytes written to the backing store differ by less than 5 % from the bytes
/// that writes brought in.
fn is_at_once(counts: &[TierCounts]) -> bool {
    let sum = |pick: fn(&TierCounts) -> u64| counts.iter().map(pick).sum::<u64>();
    let (placed, destaged) = (sum(|c| c.placed_bytes), sum(|c| c.destaged_bytes));
    placed > 0 && (ratio(destaged, placed) - 1.0).abs() < AT_ONCE
}

/// Returns 99th percentiles by point; empty if the run has no latencies.
fn p99s(histograms: &[Histogram]) -> Vec<Option<u64>> {
    if histograms.iter().all(Histogram::is_empty) {
        return Vec::new();
    }
    let p99 = |one: &Histogram| one.percentile(Ratio::new(0.99)).map(|value| value.0);
    histograms.iter().map(p99).collect()
}

/// Returns the rows of a tier, or of all tiers, in the lens.
fn rows(scope: &Scope<'_>, tier: Option<u32>) -> impl Iterator<Item = TierRow> {
    let rows = scope.source.rollup().tiers().into_iter();
    let names = scope.source.rollup().tier_names();
    let chosen = scope.lens.workloads.as_slice();
    // An observed disk and its part of a tier have the same name.
    let is_all = chosen.is_empty() || !scope.source.is_observed();
    rows.filter(move |row| tier.is_none_or(|tier| row.tier == tier))
        .filter(move |row| is_all || chosen.contains(&names[row.tier as usize].name))
        .filter(|row| scope.frame.flat(row.span, row.bucket).is_some())
}

fn steps(source: &Source, lens: &Lens) -> Vec<TierSteps> {
    let steps = source.steps().iter();
    steps
        .filter(|step| lens.step.is_none_or(|number| step.step == number))
        .filter_map(|step| {
            let tiers = step.model.as_ref()?.tiers.clone();
            let shares = tiers.iter().map(|tier| step_shares(&tier.counts)).collect();
            (!tiers.is_empty()).then_some(TierSteps {
                step: step.step,
                repeat: step.repeat,
                tiles: step.tiles,
                tiers,
                shares,
            })
        })
        .collect()
}

fn step_shares(counts: &TierCounts) -> TierShares {
    let share = |part, whole| (whole > 0).then(|| ratio(part, whole));
    TierShares {
        read_hit: share(counts.read_hits, counts.reads),
        writes_absorbed: share(counts.writes_absorbed, counts.writes),
    }
}

/// Counters of the tier that the page shows, and of the tiers stacked with it.
struct Summary {
    /// Name of the tier; `None` for a single tier, or if the counters are sums over several side by
    /// side.
    name: Option<String>,
    counts: TierCounts,
    stacked: Vec<(String, TierCounts)>,
}

impl Summary {
    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("the tier")
    }
}

/// Counters of the measured time of the lens.
///
/// A served tier has a part for each disk, side by side, and the parts' counters are added up.
/// Tiers of a simulated array are stacked: misses and destaging of one tier reach the next, so a
/// sum would count them twice. In that case the page shows the first tier, and names the numbers
/// that the other tiers served.
#[derive(Default)]
struct Totals {
    counts: TierCounts,
    names: Vec<String>,
    stacked: Vec<TierCounts>,
    backing: Compact,
    observed: Sum,
    hits: Vec<u64>,
    absorbed: Vec<u64>,
    reads: Vec<u64>,
    writes: Vec<u64>,
    saved_bytes: Vec<u64>,
}

impl Totals {
    fn of(scope: &Scope<'_>, is_stacked: bool) -> Self {
        let points = scope.frame.points(SPARK);
        let mut by_point = vec![TierCounts::default(); points.len()];
        let names = scope.source.rollup().tier_names().iter().map(|tier| tier.name.clone());
        let names: Vec<String> = if is_stacked { names.collect() } else { Vec::new() };
        let stacked = vec![TierCounts::default(); names.len().saturating_sub(1)];
        let mut totals = Self { names, stacked, ..Self::default() };
        for row in rows(scope, None) {
            if is_stacked && row.tier > 0 {
                let counts = &mut totals.stacked[row.tier as usize - 1];
                *counts = counts.and_then(row.counts);
                continue;
            }
            totals.counts = totals.counts.and_then(row.counts);
            totals.backing.merge(&row.backing_read);
            if let Some(bucket) = scope.frame.flat(row.span, row.bucket) {
                let point = &mut by_point[points.of[bucket]];
                *point = point.and_then(row.counts);
            }
        }
        if !totals.backing.is_empty() {
            let reads = scope.rows().filter(|(_, row)| row.direction == Direction::Read);
            reads.for_each(|(_, row)| totals.observed.add(row));
        }
        let of = |pick: fn(&TierCounts) -> u64| by_point.iter().map(pick).collect::<Vec<u64>>();
        totals.hits = of(|c| c.read_hits);
        totals.absorbed = of(|c| c.writes_absorbed);
        totals.reads = of(|c| c.reads);
        totals.writes = of(|c| c.writes);
        totals.saved_bytes = of(|c| c.read_hit_bytes);
        totals
    }

    /// Returns the counters; if the run has no counters over time, the sums over its steps.
    fn or_steps(&self, steps: &[TierSteps], is_stacked: bool) -> Summary {
        let mut summary = Summary { name: None, counts: self.counts, stacked: Vec::new() };
        let mut names = self.names.iter().cloned();
        if self.counts.reads + self.counts.writes > 0 {
            summary.name = names.next().filter(|_| !self.stacked.is_empty());
            summary.stacked = names.zip(self.stacked.iter().copied()).collect();
            return summary;
        }
        for (position, facts) in steps.iter().flat_map(|step| step.tiers.iter().enumerate()) {
            if !is_stacked || position == 0 {
                summary.counts = summary.counts.and_then(facts.counts);
                continue;
            }
            summary.name = steps[0].tiers.first().map(|first| first.name.clone());
            match summary.stacked.get_mut(position - 1) {
                Some((_, counts)) => *counts = counts.and_then(facts.counts),
                None => summary.stacked.push((facts.name.clone(), facts.counts)),
            }
        }
        summary
    }
}

/// Makes the main numbers: reads served, bytes kept off the backing store, writes acknowledged
/// early, latency saved.
fn heroes(source: &Source, lens: &Lens, totals: &Totals, summary: &Summary) -> Vec<TierHero> {
    let counts = &summary.counts;
    let note = match (lens.time, lens.step) {
        (Some(_), _) => "in the chosen time",
        (None, Some(_)) => "in the measured time of the step",
        (None, None) => "in all measured time",
    };
    vec![
        served(summary, totals, note),
        kept_off(counts, totals, note),
        accelerated(source, counts, totals, note),
        saved(totals, note),
    ]
}

fn few(number: u64, noun: &str) -> String {
    match number {
        0 => format!("no {noun}s reached it"),
        _ => format!("too few {noun}s ({number})"),
    }
}

fn shares(parts: &[u64], wholes: &[u64]) -> Vec<Option<f64>> {
    let pairs = parts.iter().zip(wholes);
    pairs.map(|(part, whole)| (*whole > 0).then(|| ratio(*part, *whole))).collect()
}

fn served(summary: &Summary, totals: &Totals, note: &str) -> TierHero {
    let counts = &summary.counts;
    let share = ratio(counts.read_hits, counts.reads);
    let is_enough = counts.reads >= ENOUGH;
    TierHero {
        label: format!("reads served by {}", summary.name()),
        text: match is_enough {
            true => format!("{} ({})", percent(share), count(counts.read_hits, "read")),
            false => few(counts.reads, "read"),
        },
        value: is_enough.then_some(share),
        unit: "share".to_owned(),
        samples: Some(counts.reads),
        note: format!("of {}, {note}", count(counts.reads, "read")),
        spark: shares(&totals.hits, &totals.reads),
    }
}

fn kept_off(counts: &TierCounts, totals: &Totals, note: &str) -> TierHero {
    let bytes = Bytes::new(counts.read_hit_bytes);
    TierHero {
        label: "bytes kept off the backing store".to_owned(),
        text: bytes.to_string(),
        value: Some(bytes.as_f64()),
        unit: "bytes".to_owned(),
        samples: Some(counts.reads),
        note: format!("read from the tier, of {} read, {note}", Bytes::new(counts.read_bytes)),
        spark: totals.saved_bytes.iter().map(|bytes| Some(Bytes::new(*bytes).as_f64())).collect(),
    }
}

/// Makes the main number of writes acknowledged early: those that the tier acknowledges before the
/// backing store has them.
fn accelerated(source: &Source, counts: &TierCounts, totals: &Totals, note: &str) -> TierHero {
    let policies = &source.files().policies;
    let by_design = counts.writes_absorbed == 0
        && !policies.is_empty()
        && policies.iter().all(|(_, policy)| *policy != WritePolicy::WriteBack);
    let share = ratio(counts.writes_absorbed, counts.writes);
    let is_enough = counts.writes >= ENOUGH && !by_design;
    TierHero {
        label: "writes accelerated".to_owned(),
        text: if by_design {
            format!("{}: not accelerated by design", policies[0].1.name())
        } else if is_enough {
            format!("{} ({})", percent(share), count(counts.writes_absorbed, "write"))
        } else {
            few(counts.writes, "write")
        },
        value: is_enough.then_some(share),
        unit: "share".to_owned(),
        samples: Some(counts.writes),
        note: format!("answered by the tier alone, of {}, {note}", count(counts.writes, "write")),
        spark: if by_design { Vec::new() } else { shares(&totals.absorbed, &totals.writes) },
    }
}

/// Makes the main number of saved latency: the backing store's p99 of reads minus the
/// application's. Requests that the tier served never reached the backing store, so this compares
/// two populations, and the text says so.
#[expect(clippy::cast_precision_loss, reason = "printed, to a few digits")]
fn saved(totals: &Totals, note: &str) -> TierHero {
    let backing = totals.backing.percentile(Ratio::new(0.99));
    let observed = totals.observed.percentile(0.99).map(Nanos);
    let known = backing.zip(observed).filter(|_| totals.backing.count() >= ENOUGH);
    let text = match known {
        Some((behind, seen)) if behind >= seen => (behind - seen).to_string(),
        Some((behind, seen)) => format!("none: {} longer than behind the tier", seen - behind),
        None => "not recorded".to_owned(),
    };
    TierHero {
        label: "read latency saved".to_owned(),
        text,
        value: known.map(|(behind, seen)| behind.0 as f64 - seen.0 as f64),
        unit: "ns".to_owned(),
        samples: known.map(|_| totals.backing.count()),
        note: match known {
            Some((behind, seen)) => format!(
                "p99 behind the tier {behind}, p99 that the application sees {seen}, {note}"
            ),
            None => "this run did not record the latency behind its tier".to_owned(),
        },
        spark: Vec::new(),
    }
}

fn sentence(is_present: bool, summary: &Summary) -> String {
    if !is_present {
        return "No acceleration tier took part in this run.".to_owned();
    }
    let counts = &summary.counts;
    if counts.reads + counts.writes < ENOUGH {
        return words::too_few(counts.reads + counts.writes);
    }
    let reads = match counts.reads {
        0 => format!("No reads reached {}", summary.name()),
        reads => format!(
            "{} of {} came from {}",
            percent(ratio(counts.read_hits, reads)),
            count(reads, "read"),
            summary.name()
        ),
    };
    let writes = match (counts.writes, counts.writes_absorbed) {
        (0, _) => "there were no writes".to_owned(),
        (writes, 0) => format!("it answered none of {} alone", count(writes, "write")),
        (writes, absorbed) => {
            format!(
                "it answered {} of {}",
                percent(ratio(absorbed, writes)),
                count(writes, "write")
            )
        }
    };
    let evicted = Bytes::new(counts.evicted_bytes);
    let room = match counts.evicted_bytes {
        0 => "nothing was evicted in measured time".to_owned(),
        _ => format!("{evicted} were evicted in measured time"),
    };
    let stacked =
        summary.stacked.iter().filter(|(_, counts)| counts.reads > 0).map(|(name, counts)| {
            let share = percent(ratio(counts.read_hits, counts.reads));
            format!(
                " Of {} that reached {name} {share} came from there.",
                count(counts.reads, "read")
            )
        });
    format!("{reads}, {writes}, and {room}.{}", stacked.collect::<String>())
}
