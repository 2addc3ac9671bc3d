use tilemark_sim::plant::{Plant, PlantError, PlantInstance, PlantPlan};
use units::Bytes;

use crate::support::{Load, array, instance, plant, run};

const GB: u64 = 1 << 30;

/// Two pools of disks that differ in size.
const TWO: &str = r#"
    [[pool]]
    name = "a"
    disk = "hdd-15k"
    count = 2
    [[pool]]
    name = "b"
    disk = "hdd-10k"
    count = 2
"#;

/// I/Os per second of each pool when every instance reads from its first disk.
fn pools(text: &str, instances: &[PlantInstance], disk: u16) -> Vec<(String, bool)> {
    let array = array(text);
    let loads = (0..instances.len() as u64).map(|seed| Load { disk, ..Load::users(seed, 1) });
    let run = run(plant(&array, instances), loads.collect(), 3);
    run.facts.parts.iter().map(|part| (part.name.clone(), part.iops > 0.0)).collect()
}

#[test]
fn machines_without_a_rule_take_pools_in_turn() {
    let both = pools(TWO, &[instance(0, &[GB]), instance(0, &[GB])], 0);
    assert!(both.iter().all(|(_, is_used)| *is_used), "{both:?}");
    let one = pools(TWO, &[instance(0, &[GB])], 0);
    assert_eq!(one[0], (String::from("pool a disks"), true));
    assert_eq!(one[1], (String::from("pool b disks"), false));
}

#[test]
fn the_first_rule_that_fits_says_where_a_disk_lies() {
    let rules = |rules: &str| format!("{TWO}{rules}");
    let odd_and_even = rules(
        r#"
        [[place]]
        pool = "b"
        tiles = [1, 2]
        [[place]]
        pool = "a"
        "#,
    );
    let used = |text: &str, tile, disk| {
        let used = pools(text, &[instance(tile, &[GB, GB])], disk);
        used.iter().find(|(_, is_used)| *is_used).map(|(name, _)| name.clone())
    };
    assert_eq!(used(&odd_and_even, 0, 0).as_deref(), Some("pool b disks"));
    assert_eq!(used(&odd_and_even, 1, 0).as_deref(), Some("pool a disks"));
    let by_disk = rules("[[place]]\npool = \"b\"\ndisk = \"disk-1\"\nworkload = \"load\"\n");
    assert_eq!(used(&by_disk, 0, 1).as_deref(), Some("pool b disks"));
    assert_eq!(used(&by_disk, 0, 0).as_deref(), Some("pool a disks"));
    let other = rules("[[place]]\npool = \"b\"\nworkload = \"another\"\n");
    assert_eq!(used(&other, 0, 0).as_deref(), Some("pool a disks"));
    let by_role = rules("[[place]]\npool = \"b\"\nrole = \"data\"\n");
    assert_eq!(used(&by_role, 0, 0).as_deref(), Some("pool b disks"));
}

#[test]
fn a_pool_of_every_tile_is_used_by_its_tile_alone() {
    let text = r#"
        [[pool]]
        name = "own"
        disk = "hdd-10k"
        count = 1
        per-tile = true
    "#;
    let array = array(text);
    let disk = 200_000_000_000;
    let instances = [instance(0, &[disk]), instance(1, &[disk])];
    let run = run(plant(&array, &instances), vec![Load::users(1, 1), Load::users(2, 1)], 3);
    let disks = &run.facts.parts[0];
    assert_eq!(disks.count, 2);
    assert!((disks.utilisation - 1.0).abs() < 1e-6, "both disks are busy: {disks:?}");
    let one = Plant::capacity(&array, 1).get();
    assert_eq!(Plant::capacity(&array, 3), Bytes::new(3 * one));
}

#[test]
fn a_pool_that_cannot_hold_the_disks_is_named_with_both_sizes() {
    let array = array(TWO);
    let instances = [instance(0, &[1 << 20]), instance(0, &[1 << 40, 1 << 20])];
    let plan = PlantPlan { array: &array, instances: &instances, seed: 1 };
    let error = Plant::new(&plan).expect_err("1 TiB is more than 600 GB");
    let PlantError::TooSmall { pool, needed, capacity } = &error else { panic!("{error:?}") };
    assert_eq!((pool.as_str(), *needed), ("b", Bytes::new((1 << 40) + (1 << 20))));
    assert!(capacity.get() <= 600_000_000_000 && capacity.get() > 599_900_000_000, "{capacity}");
}

/// The first addresses are on the outer edge of the disks, so few tiles seek less than many.
#[test]
fn a_pool_that_is_nearly_empty_seeks_less() {
    let array = array("[[pool]]\nname = \"a\"\ndisk = \"hdd-10k\"\ncount = 1\n");
    let rate = |span: u64| {
        let load = Load { addresses: span / 4096, ..Load::users(1, 1) };
        run(plant(&array, &[instance(0, &[span])]), vec![load], 20).loads[0].answered
    };
    let (short, full) = (rate(10 << 30), rate(270 << 30));
    assert!(short * 10 > full * 12, "{short} against {full}");
}
