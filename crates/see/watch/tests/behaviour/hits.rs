//! Predicted hits of a cache beside those of an LRU cache that sees every use of a page.

use cache::{PageId, PolicyKind};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use run_store::slice::{Direction, SizeClass};
use tilemark_watch::{CacheHits, Cell, Key, NoHits, SetRow, Sets, Slice, cache_hits};
use trace::{Clock, Device, IoRecord, Losses, Operation, TraceInfo, VmIndex};
use units::{Bytes, Nanos};

const HOUR: u64 = 3600;
const START: u64 = 1_795_478_400;
const PAGE: u64 = 4096;
const VMS: [&str; 3] = ["sql1", "web1", "scan"];

/// Page that a VM uses next.
type Next = fn(&mut Xoshiro256PlusPlus, u64) -> u64;

/// Uniform number below 1.
fn uniform(rng: &mut Xoshiro256PlusPlus) -> f64 {
    f64::from(rng.next_u32()) / 4_294_967_296.0
}

/// Few pages are used often: page n about as often as 1/n.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 40,000")]
fn hot(rng: &mut Xoshiro256PlusPlus, _: u64) -> u64 {
    40_000_f64.powf(uniform(rng)) as u64
}

fn even(rng: &mut Xoshiro256PlusPlus, _: u64) -> u64 {
    u64::from(rng.next_u32() % 3000)
}

/// Reads page after page, again and again.
fn round(_: &mut Xoshiro256PlusPlus, at: u64) -> u64 {
    at % 9000
}

/// Ten days of three VMs: the store's data, and the page accesses of the last three days.
struct Days {
    rows: Vec<SetRow>,
    slices: Vec<Slice>,
    uses: Vec<(usize, u64)>,
    measured_from: usize,
}

fn days(chosen: &[usize]) -> Days {
    let info = TraceInfo {
        format: "record",
        clock: Clock::Order,
        started_unix_ns: None,
        has_latency: true,
        vms: VMS.map(str::to_owned).to_vec(),
        devices: vec![Device { name: "sda".to_owned(), size: None }],
        losses: Losses::default(),
    };
    let loads: [(u64, Next); 3] = [(900, hot), (300, even), (400, round)];
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let (mut sets, mut rows, mut slices) = (Sets::new(START), Vec::new(), Vec::new());
    let (mut uses, mut measured_from, mut at) = (Vec::new(), 0, [0_u64; 3]);
    for hour in 0..240 {
        if hour == 167 {
            measured_from = uses.len();
        }
        // Days are three times as busy as nights.
        let busy = if hour % 24 < 12 { 3 } else { 1 };
        let mut slice = Slice::new(START + HOUR * hour, HOUR);
        for place in 0..busy * 900 {
            // Turns of the VMs alternate, as those that share a cache.
            for vm in chosen.iter().copied().filter(|vm| place < busy * loads[*vm].0) {
                at[vm] += 1;
                let page = loads[vm].1(&mut rng, at[vm]);
                let index = VmIndex(u16::try_from(vm).unwrap());
                let record = IoRecord::new(Nanos::ZERO, Operation::Read, PAGE * page, 4096);
                sets.add(&[IoRecord { vm: index, ..record }], &info);
                uses.push((vm, page));
            }
        }
        for vm in chosen {
            let count = busy * loads[*vm].0;
            let key = Key {
                vm: VMS[*vm].into(),
                disk: "sda".into(),
                direction: Direction::Read,
                class: Some(SizeClass::of(4096)),
                is_below: false,
            };
            slice.io.insert(key, Cell { count, bytes: PAGE * count, ..Cell::default() });
        }
        slices.push(slice);
        rows.extend(sets.pass(START + HOUR * (hour + 1)));
    }
    Days { rows, slices, uses, measured_from }
}

/// Shares of hits of a cache that is warm, by VM and of all.
fn truth(days: &Days, pages: usize) -> [f64; 4] {
    let mut cache = PolicyKind::Lru.build(pages);
    let mut sums = [(0_u32, 0_u32); 4];
    for (place, (vm, page)) in days.uses.iter().enumerate() {
        let is_hit = cache.reference(PageId((*vm as u64) << 32 | page)).is_hit();
        if place >= days.measured_from {
            for place in [*vm, 3] {
                sums[place].0 += 1;
                sums[place].1 += u32::from(is_hit);
            }
        }
    }
    sums.map(|(all, hits)| f64::from(hits) / f64::from(all.max(1)))
}

fn predicted(days: &Days, pages: usize) -> CacheHits {
    cache_hits(&days.rows, &days.slices, Bytes::new(PAGE * pages as u64)).unwrap()
}

/// Returns both, if the truth is outside the predicted range.
fn wrong(hits: (f64, f64), truth: f64) -> Option<((f64, f64), f64)> {
    // A cache of one size holds more than the mean set by night and less by day.
    let is_within = (hits.0 - 0.02..=hits.1 + 0.02).contains(&truth);
    (!is_within).then_some((hits, truth))
}

#[test]
fn hits_of_an_lru_cache_are_within_what_is_predicted() {
    for (vm, name) in VMS.iter().enumerate() {
        let days = days(&[vm]);
        for pages in [100, 300, 1000, 2500, 5000, 8000, 12_000, 30_000] {
            let (found, truth) = (predicted(&days, pages), truth(&days, pages));
            assert_eq!(wrong(found.all.hits, truth[3]), None, "{name}, {pages} pages");
            assert_eq!(found.vms[0].hits, found.all.hits);
        }
        // The hit rate is known well for a cache of the whole week's pages, and for a cache of
        // almost no pages.
        let (low, high) = predicted(&days, 30_000).all.hits;
        assert!(high - low < 0.3 && low > 0.7, "{name}: {low} to {high}");
        let (low, high) = predicted(&days, 10).all.hits;
        assert!(low < 0.01 && high < 0.6, "{name}: {low} to {high}");
    }
}

#[test]
fn hits_of_vms_that_share_a_cache_are_told_apart() {
    let days = days(&[0, 1, 2]);
    for pages in [1000, 3000, 6000, 12_000, 20_000, 40_000] {
        let (found, truth) = (predicted(&days, pages), truth(&days, pages));
        assert_eq!(wrong(found.all.hits, truth[3]), None, "{pages} pages");
        let names: Vec<&str> = found.vms.iter().map(|own| &*own.name).collect();
        assert_eq!(names, ["sql1", "scan", "web1"], "the busiest first");
        for own in &found.vms {
            let vm = VMS.iter().position(|vm| **vm == *own.name).unwrap();
            assert_eq!(wrong(own.hits, truth[vm]), None, "{}, {pages} pages", own.name);
        }
    }
}

#[test]
fn without_sets_or_io_nothing_is_told() {
    let days = days(&[1]);
    let cache = Bytes::new(1 << 20);
    assert_eq!(cache_hits(&[], &days.slices, cache), Err(NoHits::NoSets));
    assert_eq!(cache_hits(&days.rows, &[], cache), Err(NoHits::NoIo));
    let young: Vec<SetRow> = days.rows.iter().filter(|row| !row.is_whole()).cloned().collect();
    assert_eq!(cache_hits(&young, &days.slices, cache), Err(NoHits::NoSets));
}
