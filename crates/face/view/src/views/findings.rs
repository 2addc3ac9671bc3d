//! Findings: at most three sentences, each with its number, the value that it is compared with, its
//! samples, and a link to the proof.

use analyze::{Band, Blocks, Waits};
use units::Nanos;
use units::print::{count, number, percent};

use super::cause;
use super::focus::Focus;
use crate::document::Finding;
use crate::request::{Lens, Request, View};
use crate::scope::{Detail, ENOUGH, Phases, Scope, Sum, ratio, size_slot};
use crate::source::Source;
use crate::words;

/// Maximum number of findings.
const MOST: usize = 3;
/// Minimum ratio of a moment's p99 to the median over all moments, for a finding. Our choice.
const MOMENT_TIMES: f64 = 4.0;
/// Minimum ratio of a tile's p99 to the median tile's p99, for a finding. Our choice.
const TILE_TIMES: f64 = 2.0;
/// Time before and after a moment that its link shows.
const AROUND: Nanos = Nanos::from_secs(15);

/// Returns the most important findings, sorted by weight.
pub(super) fn of(source: &Source, lens: &Lens, focus: &Focus<'_>, waits: &Waits) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(saturated(focus));
    let scope = focus.cause();
    found.extend(errors(&scope));
    found.extend(contribution(focus, waits));
    found.extend(moment(&scope));
    found.extend(tile(source, lens, focus));
    found.retain(|finding: &Finding| finding.effect > 0.0);
    found.sort_by(|a, b| b.effect.total_cmp(&a.effect));
    found.truncate(MOST);
    found
}

/// Makes the finding that the load generator was the limit, which makes all other findings
/// worthless.
fn saturated(focus: &Focus<'_>) -> Option<Finding> {
    let steps = focus.steps();
    let step = steps.iter().find(|step| step.generator.saturated)?;
    let reason = step.generator.reason.as_deref().unwrap_or("it could not keep up");
    Some(Finding {
        id: "generator".to_owned(),
        text: format!("The load generator, not the storage, was the limit: {reason}."),
        effect: 1.0,
        samples: step.io.iter().map(|io| io.count).sum(),
        link: format!("workload?step={}", step.step),
    })
}

fn errors(scope: &Scope<'_>) -> Option<Finding> {
    let (mut errors, mut ios) = (0, 0);
    for (_, row) in scope.rows() {
        errors += row.errors;
        ios += row.count();
    }
    (errors > 0).then(|| Finding {
        id: "errors".to_owned(),
        text: format!(
            "{} failed, {} of all; they are not in the latencies.",
            count(errors, "I/O"),
            words::share(errors, ios + errors)
        ),
        effect: 0.99,
        samples: errors,
        link: "workload".to_owned(),
    })
}

fn with(link: &str, step: Option<u32>) -> String {
    match step {
        Some(step) if link.contains('?') => format!("{link}&step={step}"),
        Some(step) => format!("{link}?step={step}"),
        None => link.to_owned(),
    }
}

fn contribution(focus: &Focus<'_>, waits: &Waits) -> Option<Finding> {
    // If something else than storage was the limit, I/Os are not what to look at next.
    if focus.broken().is_some_and(words::is_beyond_storage) {
        return None;
    }
    let cause = waits.worst()?;
    let (wait, ios) = (percent(cause.share_of_wait), percent(cause.share_of_count));
    let lens = cause::lens(cause.band);
    let lens = if lens.is_empty() { lens } else { format!("&{lens}") };
    Some(Finding {
        id: "contribution".to_owned(),
        text: format!(
            "{} are {ios} of the I/Os and {wait}{} of the waiting ({}).",
            words::capital(&cause.band.name()),
            interval(&focus.cause(), cause.band),
            count(cause.count, "I/O")
        ),
        effect: cause.share_of_wait - cause.share_of_count,
        samples: cause.count,
        link: with(&format!("workload?by=bs{lens}&m=lat"), focus.broken().map(|step| step.step)),
    })
}

/// Returns the 95 % interval of a band's share of the waiting, from its differences between blocks
/// of time; empty if there are too few.
fn interval(scope: &Scope<'_>, band: Band) -> String {
    let mut blocks = Blocks::new(scope.frame.len() as u64);
    for (bucket, row) in scope.rows() {
        let wait = row.service.sum().0 as f64;
        let part = if band.slots().contains(&size_slot(row)) { wait } else { 0.0 };
        blocks.add(bucket as u64, part, wait);
    }
    let text = |low: f64, high: f64| format!(" ({} to {})", percent(low), percent(high));
    blocks.interval().map_or_else(String::new, |own| text(own.low, own.high))
}

/// Makes the finding for the time bucket with the worst p99, if it stands out.
fn moment(scope: &Scope<'_>) -> Option<Finding> {
    let mut buckets: Vec<(u64, u64, u64)> = vec![(0, 0, 0); scope.frame.len()];
    let mut sum = Sum::default();
    let mut open = 0;
    let close = |sum: &mut Sum, slot: &mut (u64, u64, u64)| {
        *slot = (sum.percentile(0.99).unwrap_or(0), sum.count(), sum.wait_ns());
        sum.clear();
    };
    for (bucket, row) in scope.rows() {
        if bucket != open {
            close(&mut sum, &mut buckets[open]);
            open = bucket;
        }
        sum.add(row);
    }
    if let Some(last) = buckets.get_mut(open) {
        close(&mut sum, last);
    }
    let enough: Vec<usize> =
        (0..buckets.len()).filter(|bucket| buckets[*bucket].1 >= ENOUGH).collect();
    let worst = enough.iter().copied().max_by_key(|bucket| buckets[*bucket].0)?;
    let mut p99: Vec<u64> = enough.iter().map(|bucket| buckets[*bucket].0).collect();
    p99.sort_unstable();
    let median = p99[p99.len() / 2];
    let times = ratio(buckets[worst].0, median);
    let wait: u64 = buckets.iter().map(|bucket| bucket.2).fold(0, u64::saturating_add);
    let at = scope.frame.at[worst];
    (times >= MOMENT_TIMES).then(|| Finding {
        id: "moment".to_owned(),
        text: format!(
            "At {} p99 reached {}, {} times the median of {} ({}).",
            scope.source.axis().clock(at),
            Nanos(buckets[worst].0),
            number((times * 10.0).round() / 10.0),
            Nanos(median),
            count(buckets[worst].1, "I/O")
        ),
        // Share of waiting, with a bonus for standing out at all.
        effect: 0.1 + ratio(buckets[worst].2, wait),
        samples: buckets[worst].1,
        link: moment_link(at, scope.frame.width[worst]),
    })
}

/// Makes the link to a moment: `latency?at=52.5&m=lat&t=37.5-68`.
fn moment_link(at: Nanos, width: Nanos) -> String {
    let lens = Lens {
        time: Some((
            at.saturating_sub(AROUND),
            Some(at.saturating_add(width).saturating_add(AROUND)),
        )),
        at: Some(at),
        ..Lens::default()
    };
    let text = Request { view: View::Moment, lens }.canonical();
    text.replacen("moment?", "latency?", 1)
}

/// Makes the finding for a tile that is slower than the others. Tiles are compared workload by
/// workload.
fn tile(source: &Source, lens: &Lens, focus: &Focus<'_>) -> Option<Finding> {
    let step = focus.broken().or_else(|| focus.steps().last().copied());
    let narrowed = Lens { step: lens.step.or(step.map(|step| step.step)), ..lens.clone() };
    let scope = Scope::new(source, &narrowed, Detail::Tiles, Phases::Summary, None);
    let mut tiles: Vec<(u32, Sum)> = Vec::new();
    for (_, row) in scope.rows() {
        let Some(tile) = scope.level.entities[row.entity as usize].tile else { continue };
        match tiles.iter_mut().find(|(known, _)| *known == tile) {
            Some((_, sum)) => sum.add(row),
            None => {
                tiles.push((tile, Sum::default()));
                if let Some((_, sum)) = tiles.last_mut() {
                    sum.add(row);
                }
            }
        }
    }
    tiles.retain(|(_, sum)| sum.count() >= ENOUGH);
    let mut p99: Vec<u64> = tiles.iter().filter_map(|(_, sum)| sum.percentile(0.99)).collect();
    p99.sort_unstable();
    let median = p99.get(p99.len() / 2).copied().filter(|_| p99.len() > 2)?;
    let (worst, sum) = tiles.iter().max_by_key(|(_, sum)| sum.percentile(0.99))?;
    let value = sum.percentile(0.99)?;
    let times = ratio(value, median);
    let wait: u64 = tiles.iter().map(|(_, sum)| sum.wait_ns()).fold(0, u64::saturating_add);
    let number_of = worst.saturating_add(1);
    (times >= TILE_TIMES).then(|| Finding {
        id: "tile".to_owned(),
        text: format!(
            "Tile {number_of} has a p99 of {}, {} times that of the median tile, {} ({}).",
            Nanos(value),
            number((times * 10.0).round() / 10.0),
            Nanos(median),
            count(sum.count(), "I/O")
        ),
        effect: 0.05 + ratio(sum.wait_ns(), wait),
        samples: sum.count(),
        link: with(&format!("latency?m=lat&tile={number_of}"), narrowed.step),
    })
}
