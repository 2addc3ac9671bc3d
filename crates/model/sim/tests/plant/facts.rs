use run_store::run::PartKind;
use units::Nanos;

use crate::support::{Load, ONE_SERVER, array, assert_within, instance, plant, run};

const DISK: u64 = 2 << 30;

/// Pollaczek and Khinchine for constant service: `s + rho s / (2 (1 - rho))`.
#[test]
fn single_server_mean_matches_pollaczek_khinchine() {
    let array = array(ONE_SERVER);
    let plant = plant(&array, &[instance(0, &[DISK])]);
    let run = run(plant, vec![Load::arrivals(1, Nanos::from_micros(1250))], 200);
    let rho = 0.8;
    assert_within(0.05, run.loads[0].mean(), 0.001 + rho * 0.001 / (2.0 * (1.0 - rho)), "response");
}

#[test]
fn a_disk_is_busy_for_its_rate_times_its_service_time() {
    let array = array(ONE_SERVER);
    let plant = plant(&array, &[instance(0, &[DISK])]);
    let run = run(plant, vec![Load::arrivals(1, Nanos::from_micros(2500))], 100);
    let disks = &run.facts.parts[0];
    assert_eq!(
        (disks.name.as_str(), disks.kind, disks.count),
        ("pool lun disks", PartKind::Disk, 1)
    );
    assert_within(0.001, disks.utilisation, disks.iops * 0.001, "U = X S");
    assert_within(0.02, disks.iops, 400.0, "rate");
    // Little's law.
    assert_within(0.02, disks.inside, disks.iops * run.loads[0].mean(), "inside");
}

#[test]
fn every_request_completes_and_runs_repeat_by_seed() {
    let text = r#"
        [hosts]
        count = 2
        cores = 4
        io-cpu = { per-io = "20us" }
        [lun-queue]
        depth = 8
        shared = 4
        [link]
        kind = "fc-4g"
        count = 2
        [controller]
        processors = 2
        per-io = "20us"
        write-memory = { size = "256MiB" }
        read-memory = { size = "64MiB" }
        [[tier]]
        name = "fast"
        size = "256MiB"
        admit-on = 3
        disk = "ssd-sata-enterprise"
        count = 2
        raid = "raid1"
        [[pool]]
        name = "a"
        disk = "hdd-10k"
        count = 5
        raid = "raid5"
        sets = 2
        [[pool]]
        name = "b"
        disk = "hdd-15k"
        count = 4
        raid = "raid10"
        tiered = false
    "#;
    let once = || {
        let array = array(text);
        let plant = plant(&array, &[instance(0, &[DISK]), instance(0, &[DISK])]);
        let load = |seed| Load { reads: 0.5, length: 8192, ..Load::users(seed, 16) };
        run(plant, vec![load(1), load(2)], 20)
    };
    let (first, second) = (once(), once());
    assert_eq!(first.outcome.submitted, first.outcome.completed);
    assert!(first.outcome.submitted > 10_000, "{}", first.outcome.submitted);
    assert_eq!(first.loads.iter().map(|load| load.failed).sum::<u64>(), 0);
    assert_eq!(first.loads, second.loads);
    assert_eq!(first.facts, second.facts);
    let names: Vec<&str> = first.facts.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "pool a queue",
            "pool b queue",
            "link",
            "controller processors",
            "tier fast disks",
            "controller write memory",
            "pool a disks",
            "pool b disks"
        ]
    );
    assert!(first.facts.hosts.iter().all(|host| host.used > 0.0), "{:?}", first.facts.hosts);
    assert!(first.facts.touched_bytes[0] > 0);
}
