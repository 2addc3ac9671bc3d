//! The served tier in a plant: the state machine itself, in front of modelled storage.

use tilemark_sim::plant::{Plant, PlantError, PlantInstance, PlantPlan, Warm, WarmFilter};
use units::Nanos;

use crate::support::{Load, array, instance, machines, plant, run};

const MIB: u64 = 1 << 20;

fn served(size_mib: u64, rest: &str) -> spec::array::Array {
    array(&format!(
        r#"
        [[tier]]
        name = "served"
        shape = "logged"
        size = "{size_mib}MiB"
        disk = "ssd-nvme-mqsim"
        {rest}
        [[pool]]
        name = "lun"
        disk = "hdd-10k"
        count = 4
        "#
    ))
}

/// 8 KiB each, on a disk of 256 MiB.
fn load(seed: u64, reads: f64) -> Load {
    Load { reads, length: 8192, addresses: 256 * MIB / 8192, ..Load::users(seed, 4) }
}

const DISK: [u64; 1] = [256 * MIB];

#[test]
fn write_back_is_answered_by_the_log_and_destaged_later() {
    let write = |write: &str| {
        let array = served(128, &format!("write = \"{write}\""));
        let run = run(plant(&array, &[instance(0, &DISK)]), vec![load(1, 0.5)], 20);
        assert_eq!(run.loads[0].failed, 0);
        (run.loads[0].mean(), run.facts.tiers[0].counts)
    };
    let ((slow, through), (fast, back)) = (write("through"), write("back"));
    assert_eq!(through.writes_absorbed, 0);
    assert_eq!(through.destaged_bytes, 0);
    assert_eq!(back.writes_absorbed, back.writes);
    assert!(back.destaged_bytes > 0 && back.destaged_bytes <= back.write_bytes, "{back:?}");
    // Log and page: a small write reaches the cache device twice, with heads and maps.
    assert!(back.tier_written_bytes > back.write_bytes, "{back:?}");
    assert!(fast < slow, "{fast} s and {slow} s");
}

#[test]
fn what_is_destaged_takes_the_time_of_the_pool() {
    let array = served(128, "");
    let run = run(plant(&array, &[instance(0, &DISK)]), vec![load(1, 0.0)], 20);
    let disks = run.facts.parts.iter().find(|part| part.name == "pool lun disks");
    let disks = disks.expect("the pool has disks");
    assert!(disks.iops > 0.0 && disks.bytes_per_s > 0.0, "{disks:?}");
}

#[test]
fn warmed_tier_hits_at_once_with_an_empty_log() {
    let array = served(512, "");
    let mut plant = plant(&array, &[instance(0, &DISK)]);
    let warm = Warm { filter: WarmFilter::Bypassed, ..Warm::default() };
    let report = plant.warm(&mut machines(vec![load(9, 0.7)]), &warm);
    assert!(report.is_stable && report.hit_ratio > 0.6, "{report:?}");
    let state = plant.snapshot();
    assert_eq!((state.counters().reads, state.dirty_bytes()), (0, 0));
    let run = run(plant, vec![load(1, 0.7)], 5);
    let counts = run.facts.tiers[0].counts;
    for (hits, all) in [(counts.read_hits, counts.reads), (counts.write_hits, counts.writes)] {
        let ratio = hits as f64 / all as f64;
        assert!(ratio > 0.9, "{counts:?}");
    }
    assert!(counts.write_hit_bytes >= 8192 * counts.write_hits, "{counts:?}");
    assert!(counts.write_hit_bytes <= counts.write_bytes, "{counts:?}");
}

#[test]
fn a_state_put_back_goes_on_as_it_would_have() {
    let array = served(64, "admit-on = 2");
    let instances = [instance(0, &DISK)];
    let mut first = plant(&array, &instances);
    let warm = Warm { filter: WarmFilter::Kept, accesses_per_tile_max: 20_000, ..Warm::default() };
    first.warm(&mut machines(vec![load(9, 0.7)]), &warm);
    let state = first.snapshot();
    let mut second = plant(&array, &instances);
    second.restore(&state).expect("it fits");
    let (first, second) = (run(first, vec![load(1, 0.7)], 5), run(second, vec![load(1, 0.7)], 5));
    assert_eq!(first.loads, second.loads);
    assert_eq!(first.facts.tiers[0].counts, second.facts.tiers[0].counts);
    let mut other = plant(&served(128, "admit-on = 2"), &instances);
    assert!(other.restore(&state).is_err(), "a larger tier is another one");
}

#[test]
fn more_disks_than_a_set_has_places_are_divided_into_sets() {
    let array = served(256, "write = \"back\"");
    let instances: Vec<PlantInstance> = (0..70).map(|tile| instance(tile, &[MIB, MIB])).collect();
    let loads = (0..70).map(|seed| Load {
        users: 1,
        think: Nanos::from_millis(20),
        disk: u16::try_from(seed % 2).expect("small"),
        addresses: 100,
        reads: 0.5,
        ..Load::users(seed, 1)
    });
    let run = run(plant(&array, &instances), loads.collect(), 20);
    assert!(run.loads.iter().all(|seen| seen.answered > 50 && seen.failed == 0));
    let counts = run.facts.tiers[0].counts;
    assert_eq!(counts.writes_absorbed, counts.writes);
    assert!(counts.read_hits * 2 > counts.reads, "{counts:?}");
}

#[test]
fn tier_too_small_for_its_logs_is_refused_with_the_count() {
    let array = served(21, "");
    let instances: Vec<PlantInstance> = (0..60).map(|tile| instance(tile, &[MIB])).collect();
    let plan = PlantPlan { array: &array, instances: &instances, seed: 1 };
    let refused = Plant::new(&plan).expect_err("too many");
    let PlantError::TierSet { source, .. } = &refused else { panic!("{refused:?}") };
    assert!(source.to_string().contains("60 disks are more than"), "{source}");
}

#[test]
fn a_machine_with_a_share_has_no_more_than_that() {
    let resident = |share: &str| {
        let array = served(64, &format!("share-max = \"{share}\""));
        let run = run(plant(&array, &[instance(0, &DISK)]), vec![load(1, 1.0)], 60);
        run.facts.tiers[0].counts.resident_bytes
    };
    let (all, part) = (resident("100%"), resident("25%"));
    // Pages fill block by block, so a page may hold less than its size.
    assert!(part <= 16 * MIB && all > 2 * part, "{part} and {all}");
}

#[test]
fn requests_that_are_long_or_off_sectors_are_answered_once() {
    let array = served(64, "");
    let long = Load { length: (5 << 20) + 100, addresses: 40, reads: 0.5, ..Load::users(1, 2) };
    let run = run(plant(&array, &[instance(0, &DISK)]), vec![long], 5);
    let seen = run.loads[0];
    let under_way = seen.submitted - seen.answered;
    assert!(seen.answered > 10 && seen.failed == 0 && under_way <= 2, "{seen:?}");
}
