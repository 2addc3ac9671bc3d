use tilemark_sim::plant::{Plant, Warm};
use units::{Bytes, Nanos};

use crate::support::{Load, array, assert_within, instance, machines, plant, run};

const GB: u64 = 1 << 30;

const CLUSTER: &str = r#"
    [hosts]
    count = 4
    cores = 4
    [link]
    kind = "ethernet-10g"
    [local]
    copies = 2
    groups = 2
    cache = "ssd-sata-enterprise"
    read-share = "70%"
    disk = "hdd-10k"
    count = 2
"#;

#[test]
fn hosts_hold_half_of_their_disks_with_two_copies() {
    let capacity = Plant::capacity(&array(CLUSTER), 1);
    // 4 hosts of 2 groups of 2 disks of 300 GB, in whole GiB.
    assert_within(0.01, capacity.as_f64(), 16.0 * 300e9 / 2.0, "capacity");
    assert_eq!(capacity, Plant::capacity(&array(CLUSTER), 40), "it is the same for all tiles");
}

#[test]
fn local_writes_reach_two_caches_and_cold_reads_reach_disks() {
    let array = array(CLUSTER);
    let instances = [instance(0, &[8 * GB]), instance(0, &[8 * GB])];
    let load = |seed, reads| {
        let addresses = (4 * GB) / 4096;
        let every = Nanos::from_millis(5);
        Load { reads, addresses, ..Load::arrivals(seed, every) }
    };
    let writes = run(plant(&array, &instances), vec![load(1, 0.0), load(2, 0.0)], 5);
    assert!(writes.loads[0].mean() < 0.0005, "{}", writes.loads[0].mean());
    let part = |name: &str| {
        let part = writes.facts.parts.iter().find(|part| part.name == name);
        part.expect("it is named").clone()
    };
    assert_within(0.1, part("local cache disks").iops, 2.0 * 400.0, "two copies");
    assert_eq!((part("local disks").count, part("local cache disks").count), (16, 8));
    assert!(part("link").iops > 0.0);
    assert_eq!(writes.outcome.submitted, writes.outcome.completed);

    let cold = run(plant(&array, &instances), vec![load(1, 1.0), load(2, 1.0)], 5);
    let mut warmed = plant(&array, &instances);
    let options = Warm { accesses_per_tile_max: 500_000, ..Warm::default() };
    let report = warmed.warm(&mut machines(vec![load(7, 1.0), load(8, 1.0)]), &options);
    assert!(report.is_stable, "{report:?}");
    let warm = run(warmed, vec![load(1, 1.0), load(2, 1.0)], 5);
    let (cold, warm) = (cold.loads[0].mean(), warm.loads[0].mean());
    assert!(warm < 0.0005 && cold > 5.0 * warm, "{cold} against {warm}");
}

#[test]
fn what_hosts_cannot_hold_is_refused() {
    let array = array(CLUSTER);
    let instances = [instance(0, &[4 << 40])];
    let plan = tilemark_sim::plant::PlantPlan { array: &array, instances: &instances, seed: 1 };
    let error = Plant::new(&plan).expect_err("4 TiB is more than 2.4 TB");
    let text = error.to_string();
    assert!(text.contains("4 TiB of pool \"local\""), "{text}");
    assert!(Plant::capacity(&array, 1) < Bytes::new(4 << 40));
}

/// A tier of the hosts is warmed beside the read caches, not instead of them.
#[test]
fn host_tier_does_not_change_warming_of_read_caches() {
    let tier = "[[tier]]\nname = \"near\"\nat = \"host\"\nsize = \"1MiB\"\ndisk = \"memory\"\n";
    let held = |text: &str| {
        let mut plant = plant(&array(text), &[instance(0, &[8 * GB]), instance(0, &[8 * GB])]);
        let load = |seed| Load { addresses: (4 * GB) / 4096, ..Load::users(seed, 4) };
        let options = Warm { accesses_per_tile_max: 20_000, ..Warm::default() };
        plant.warm(&mut machines(vec![load(7), load(8)]), &options);
        let tiers = plant.tiers();
        let caches = tiers.iter().find(|tier| tier.name == "local read cache");
        caches.expect("there are caches").counts.resident_bytes
    };
    let alone = held(CLUSTER);
    assert!(alone > 0);
    assert_eq!(held(&format!("{CLUSTER}\n{tier}")), alone);
}
