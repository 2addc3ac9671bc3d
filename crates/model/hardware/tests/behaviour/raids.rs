//! RAID sets as fork and join, and the memory in front of them.

use state_machine::{Purpose, Stream};
use tilemark_hardware::{
    Array, Mirrored, PartId, Raid, RaidLevel, RaidParameters, ServiceTime, Station, WriteBack,
    WriteBackParameters,
};
use units::{Bytes, Nanos, Ratio};

use crate::support::{Arrivals, Load, Outcome, Seconds, Shape, assert_within, drive};

const WRITE_4K: Shape = Shape { reads: 0.0, ..Shape::READ_4K };

struct Set {
    array: Array,
    members: Vec<PartId>,
    entry: PartId,
}

fn set(level: RaidLevel, count: u64, is_random: bool) -> Set {
    let mut array = Array::new();
    let mean = Nanos::from_millis(1);
    let time = |member| match is_random {
        true => ServiceTime::Exponential(mean, Stream::derive(3, &[member], Purpose::Device)),
        false => ServiceTime::Constant(mean),
    };
    let members: Vec<PartId> =
        (0..count).map(|m| array.add(Station::new(1, time(m), None).unwrap())).collect();
    let raid = Raid::new(RaidParameters::new(level), members.clone()).unwrap();
    let entry = array.add(raid);
    Set { array, members, entry }
}

fn closed(set: Set, shape: Shape, users: u32, seconds: f64) -> (Outcome, Vec<PartId>) {
    let arrivals = Arrivals::Closed { users, think: Nanos::ZERO };
    let load = Load::new(1, shape, arrivals);
    (drive(set.array, set.entry, vec![load], Seconds(seconds)), set.members)
}

/// Member jobs per job of the set.
fn penalty(level: RaidLevel, count: u64, shape: Shape) -> f64 {
    let entry = set(level, count, false).entry;
    let (outcome, members) = closed(set(level, count, false), shape, 1, 2.0);
    let end = Nanos::from_secs(2);
    let usage = |part: &PartId| outcome.array.usage(*part, end).completed as f64;
    members.iter().map(usage).sum::<f64>() / outcome.array.usage(entry, end).completed as f64
}

/// The table every administrator knows (virtualtarzan.com), as counted child jobs.
#[test]
fn small_writes_cost_as_many_member_jobs_as_the_level_says() {
    for (level, count, jobs) in [
        (RaidLevel::Raid0, 4, 1.0),
        (RaidLevel::Raid1, 2, 2.0),
        (RaidLevel::Raid10, 4, 2.0),
        (RaidLevel::Raid5, 5, 4.0),
        (RaidLevel::Raid6, 8, 6.0),
    ] {
        assert_within(0.01, penalty(level, count, WRITE_4K), jobs, &format!("{level:?} write"));
        assert_within(0.01, penalty(level, count, Shape::READ_4K), 1.0, &format!("{level:?} read"));
    }
}

/// A full stripe of n data elements costs (n + parity) / n per element, and no read.
#[test]
fn a_full_stripe_is_written_without_reading() {
    let stripe = |data: u32| Shape { length: data * 65536, ..WRITE_4K };
    assert_within(0.01, penalty(RaidLevel::Raid5, 5, stripe(4)), 5.0, "RAID 5");
    assert_within(0.01, penalty(RaidLevel::Raid6, 8, stripe(6)), 8.0, "RAID 6");
    // Most of a stripe: reading the one element that stays is less than the old data.
    let aligned = Shape { length: 3 * 65536, span: 3 * 65536, ..WRITE_4K };
    assert_within(0.01, penalty(RaidLevel::Raid5, 5, aligned), 5.0, "1 read, 3 + 1 writes");
}

#[test]
fn a_small_write_of_raid_5_takes_a_read_and_a_write_in_a_row() {
    let (outcome, _) = closed(set(RaidLevel::Raid5, 5, false), WRITE_4K, 1, 1.0);
    assert_within(0.001, outcome.mean, 0.002, "two phases of 1 ms");
    let (outcome, _) = closed(set(RaidLevel::Raid10, 4, false), WRITE_4K, 1, 1.0);
    assert_within(0.001, outcome.mean, 0.001, "both copies at once");
}

/// The join waits for the slowest: with exponential members the mean of k idle ones is the
/// harmonic number H(k) (largest of k; for two members also the M/M/1 fork-join of Flatto
/// and Hahn 1984 at no load).
#[test]
fn a_join_waits_for_the_slowest_member() {
    for (members, harmonic) in [(2, 1.5), (4, 25.0 / 12.0), (8, 2.717_857)] {
        let shape = Shape {
            length: 65536 * members,
            span: 65536 * 1024 * u64::from(members),
            ..Shape::READ_4K
        };
        let raid = set(RaidLevel::Raid0, u64::from(members), true);
        let (outcome, _) = closed(raid, shape, 1, 60.0);
        assert_within(0.02, outcome.mean, harmonic * 1e-3, "H(k) service times");
    }
}

/// Flatto and Hahn (1984), as simplified by Nelson and Tantawi (1988): with Poisson arrivals
/// two exponential members join after `(12 - rho) / 8` times the M/M/1 response.
#[test]
fn two_loaded_members_join_as_the_exact_formula_says() {
    let rate = 500.0;
    let shape = Shape { length: 2 * 65536, span: 65536 * 4096, ..Shape::READ_4K };
    let set = set(RaidLevel::Raid0, 2, true);
    let load = Load::new(5, shape, Arrivals::Poisson(rate));
    let outcome = drive(set.array, set.entry, vec![load], Seconds(300.0));
    assert_within(0.03, outcome.mean, (12.0 - 0.5) / 8.0 * 2e-3, "fork and join");
}

#[test]
fn mirrors_share_reads() {
    let (outcome, _) = closed(set(RaidLevel::Raid1, 2, false), Shape::READ_4K, 16, 1.0);
    assert_within(0.01, outcome.rate, 2000.0, "two members");
    let (outcome, _) = closed(set(RaidLevel::Raid10, 8, true), Shape::READ_4K, 128, 2.0);
    assert!(outcome.rate > 7000.0, "eight members: {}", outcome.rate);
}

fn memory(bytes: u64, mirrored: Mirrored) -> WriteBackParameters {
    WriteBackParameters {
        memory: Bytes::new(bytes),
        mirrored,
        page: Bytes::new(8192),
        element: Bytes::new(65536),
        low: Ratio::new(0.6),
        high: Ratio::new(0.8),
        hit: Nanos::from_micros(300),
        flush_depth: 8,
    }
}

fn cached(parameters: WriteBackParameters, shape: Shape, seconds: f64) -> (Outcome, PartId) {
    let mut array = Array::new();
    let time = ServiceTime::Constant(Nanos::from_millis(5));
    let disks = array.add(Station::new(8, time, None).unwrap());
    let entry = array.add(WriteBack::new(parameters, disks).unwrap());
    let arrivals = Arrivals::Closed { users: 16, think: Nanos::from_micros(500) };
    (drive(array, entry, vec![Load::new(1, shape, arrivals)], Seconds(seconds)), entry)
}

fn counts(outcome: &Outcome, part: PartId) -> tilemark_hardware::WriteBackCounts {
    outcome.array.part::<WriteBack>(part).unwrap().counts()
}

const WRITE_8K: Shape = Shape { length: 8192, span: 64 << 30, ..WRITE_4K };

#[test]
fn writes_that_fit_take_the_time_of_the_memory() {
    let (outcome, part) = cached(memory(8 << 30, Mirrored::Yes), WRITE_8K, 2.0);
    assert_within(0.001, outcome.mean, 300e-6, "a hit");
    assert_eq!(counts(&outcome, part).forced, 0);
    assert_eq!(counts(&outcome, part).flushes, 0, "nothing to flush below the high mark");
}

#[test]
fn a_full_memory_is_as_slow_as_what_lies_behind() {
    let (outcome, part) = cached(memory(4 << 20, Mirrored::No), WRITE_8K, 4.0);
    // Eight servers of 5 ms flush 1,600 elements a second, each with one dirty page.
    assert_within(0.05, outcome.rate, 1600.0, "the disks' rate");
    assert!(counts(&outcome, part).forced > 1000, "forced flushing");
    let memory = outcome.array.part::<WriteBack>(part).unwrap();
    assert!(memory.fill() <= 1.0 && memory.fill() > 0.6);
}

#[test]
fn a_mirrored_memory_holds_half() {
    let until_full = |mirrored| {
        let (outcome, part) = cached(memory(64 << 20, mirrored), WRITE_8K, 4.0);
        counts(&outcome, part).flushes
    };
    assert!(until_full(Mirrored::Yes) > until_full(Mirrored::No));
}

#[test]
fn pages_written_again_or_in_a_row_go_to_disk_once() {
    let hot = Shape { span: 8 << 20, ..WRITE_8K };
    let (outcome, part) = cached(memory(9 << 20, Mirrored::No), hot, 4.0);
    let found = counts(&outcome, part);
    assert!(found.coalesced_pages > found.writes / 2, "{found:?}");
    let row = Shape { sequential: true, ..WRITE_8K };
    let (outcome, part) = cached(memory(16 << 20, Mirrored::No), row, 4.0);
    let found = counts(&outcome, part);
    assert!(found.flushed_bytes / found.flushes > 60_000, "whole elements: {found:?}");
}

#[test]
fn dirty_pages_are_read_from_memory() {
    let mixed = Shape { reads: 0.5, span: 4 << 20, ..WRITE_8K };
    let (outcome, part) = cached(memory(64 << 20, Mirrored::No), mixed, 2.0);
    assert!(counts(&outcome, part).read_hits > counts(&outcome, part).writes / 2);
    assert!(outcome.mean < 0.001, "{}", outcome.mean);
}

#[test]
fn the_same_seed_gives_the_same_set_behind_the_same_memory() {
    let hash = || cached(memory(4 << 20, Mirrored::No), WRITE_8K, 1.0).0.hash;
    assert_eq!(hash(), hash());
    let hash = || closed(set(RaidLevel::Raid6, 6, true), WRITE_4K, 8, 1.0).0.hash;
    assert_eq!(hash(), hash());
}

#[test]
fn a_memory_that_cannot_work_is_refused() {
    let mut array = Array::new();
    let time = ServiceTime::Constant(Nanos::from_millis(5));
    let disks = array.add(Station::new(1, time, None).unwrap());
    let bad = WriteBackParameters { low: Ratio::new(0.9), ..memory(1 << 30, Mirrored::No) };
    let error = WriteBack::new(bad, disks).unwrap_err();
    assert_eq!(error.to_string(), "write-back memory: low 90 % is not above 0 % and at most high");
    assert!(WriteBack::new(memory(65536, Mirrored::Yes), disks).is_err());
}
