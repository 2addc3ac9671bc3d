//! Cause of the latency, in words.

use analyze::{Band, Cause, ENOUGH, Waits};
use units::print::{count, percent};

use crate::scope::{Scope, size_slot};
use crate::words;

/// Sums waiting in a scope, by workload and size.
pub(super) fn waits(scope: &Scope<'_>) -> Waits {
    let mut found = Waits::default();
    let entities = scope.level.entities.iter();
    let places: Vec<usize> = entities.map(|entity| found.place(&entity.workload)).collect();
    for (_, row) in scope.rows() {
        let place = places[row.entity as usize];
        found.add(place, size_slot(row), row.count(), row.service.sum().0);
    }
    found
}

/// Returns the query of the lens that selects a band: `bs=64k,128k,256k&dir=w`; empty for flushes.
pub(super) fn lens(band: Band) -> String {
    let (from, to) = (*band.slots().start(), *band.slots().end());
    if from >= 16 {
        return String::new();
    }
    let direction = if from < 8 { "r" } else { "w" };
    if band == Band::READS || band == Band::WRITES {
        return format!("dir={direction}");
    }
    let classes = (from % 8..=to % 8).map(|class| crate::request::CLASSES[class]);
    format!("bs={}&dir={direction}", classes.collect::<Vec<_>>().join(","))
}

/// Describes the cause in a sentence.
pub(super) fn sentence(waits: &Waits) -> String {
    if waits.count() < ENOUGH {
        return words::too_few(waits.count());
    }
    if waits.wait() == 0 {
        return words::NO_LATENCIES.to_owned();
    }
    match (waits.worst(), waits.out_of_proportion()) {
        (Some(cause), _) => named(cause),
        (None, Some(cause)) => furthest(&cause),
        (None, None) => even(waits),
    }
}

/// Describes the band that is furthest out of proportion. It has few I/Os or a small part of the
/// waiting.
fn furthest(cause: &Cause) -> String {
    format!(
        "Furthest out of proportion: {} cause {} of waiting time with {} of the I/Os ({}).",
        cause.band.name(),
        percent(cause.share_of_wait),
        percent(cause.share_of_count),
        count(cause.count, "I/O")
    )
}

fn named(cause: Cause) -> String {
    let name = words::capital(&cause.band.name());
    let (wait, count) = (percent(cause.share_of_wait), percent(cause.share_of_count));
    let place =
        cause.workload.map(|(name, share)| format!(", {} of that in {name}", percent(share)));
    let place = place.unwrap_or_default();
    format!("{name} cause {wait} of waiting time with {count} of the I/Os{place}.")
}

fn even(waits: &Waits) -> String {
    let (reads, writes) = (waits.cause(Band::READS), waits.cause(Band::WRITES));
    let (r, w) = (percent(reads.share_of_wait), percent(writes.share_of_wait));
    match (reads.count, writes.count) {
        (_, 0) | (0, _) => "No size of I/O waits out of proportion to its number.".to_owned(),
        _ => format!(
            "No direction or size waits out of proportion to its number: reads cause {r} of \
             waiting time, writes {w}."
        ),
    }
}
