use std::collections::HashSet;

use units::Nanos;

use super::amounts::{no_time, some_bytes};
use crate::array::{Disk, TableLoop};
use crate::check::finding::Findings;
use crate::locate::DefinitionPath;

/// Checks a disk of measured latencies.
pub(super) fn table(disk: &Disk, place: &DefinitionPath, found: &mut Findings) {
    let Disk::Table { capacity, shares, loops } = disk else { return };
    some_bytes(place.key("capacity"), "the capacity", Some(*capacity), found);
    let rises = shares.is_sorted_by(|a, b| a < b) && shares.first().is_some_and(|s| *s > 0.0);
    if !(rises && shares.last().is_some_and(|last| (1.0..=1.0).contains(last))) {
        let message = "shares must ascend from above 0, and the last share must be 1";
        found.add(place.key("shares"), message);
    }
    found.not_empty(place.key("loop"), "the list of loops", loops);
    let mut seen = HashSet::new();
    for (i, each) in loops.iter().enumerate() {
        let place = place.key("loop").index(i);
        of_loop(each, shares.len(), &place, found);
        if !seen.insert((each.reads.get().to_bits(), each.block, each.depth)) {
            found.add(place, "another loop has the same reads, block and depth");
        }
    }
}

fn of_loop(each: &TableLoop, entries: usize, place: &DefinitionPath, found: &mut Findings) {
    some_bytes(place.key("block"), "the block", Some(each.block), found);
    found.at_least_one(place.key("depth"), "the depth", each.depth);
    if each.read.is_empty() && each.write.is_empty() {
        found.add(place.clone(), "the loop has no latencies of reads or writes");
    }
    for (key, list) in [("read", &each.read), ("write", &each.write)] {
        if list.is_empty() {
            continue;
        }
        latencies(key, list, entries, &place.key(key), found);
    }
}

fn latencies(
    key: &str,
    list: &[Nanos],
    entries: usize,
    place: &DefinitionPath,
    found: &mut Findings,
) {
    if list.len() != entries {
        let message = format!("{} latencies for {entries} shares", list.len());
        found.add(place.clone(), message);
    }
    if !list.is_sorted() {
        found.add(place.clone(), "latencies must ascend");
    }
    if list.contains(&Nanos::ZERO) {
        no_time(place.clone(), &format!("a latency of a {key}"), found);
    }
}
