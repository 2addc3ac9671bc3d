use run_store::run::ModelFacts;
use tilemark_sim::plant::{Warm, WarmFilter};

use units::Nanos;

use crate::support::{Load, Run, array, eventful, instance, machines, plant, run};

const GB: u64 = 1 << 30;
const PAGE: u64 = 64 << 10;

/// Three hosts with flash, of whose writes so many copies lie on others.
fn hosts(replicas: u32, size: &str) -> String {
    format!(
        r#"
        [hosts]
        count = 3
        cores = 4
        migration = {{ memory = "1MiB" }}
        [link]
        kind = "ethernet-10g"
        [[tier]]
        name = "near"
        at = "host"
        size = "{size}"
        disk = "ssd-sata-enterprise"
        dirty-high = "10%"
        dirty-low = "5%"
        replicas = {replicas}
        [[pool]]
        name = "lun"
        disk = "hdd-10k"
        count = 4
        "#
    )
}

/// So few pages that none of them must be destaged.
const FEW: u64 = 256;

/// User that writes whole pages anywhere in the first `pages`.
fn writer(pages: u64) -> Load {
    let length = u32::try_from(PAGE).expect("small");
    Load { reads: 0.0, length, addresses: pages, ..Load::users(1, 1) }
}

fn written(replicas: u32) -> Run {
    let array = array(&hosts(replicas, "1GiB"));
    // Pauses, so that the flash has written each to its cells before the next comes.
    let load = Load { think: Nanos::from_millis(4), ..writer(FEW) };
    run(plant(&array, &[instance(0, &[2 * GB])]), vec![load], 10)
}

/// Bytes that went over the network between the hosts since the first second, by seconds.
fn network(facts: &ModelFacts) -> f64 {
    let network = facts.parts.iter().find(|part| part.name == "tier near network");
    network.map_or(0.0, |network| network.bytes_per_s)
}

#[test]
fn an_answered_write_has_crossed_the_network_once_for_each_copy() {
    for replicas in [1, 2] {
        let facts = written(replicas).facts;
        let tier = &facts.tiers[0].counts;
        assert!(tier.writes > 1000 && tier.writes_absorbed == tier.writes, "{tier:?}");
        let sent = network(&facts) * 9.0;
        let wanted = (tier.write_bytes * u64::from(replicas)) as f64;
        assert!((sent - wanted).abs() < 4.0 * PAGE as f64, "{sent} sent, {wanted} wanted");
    }
}

#[test]
fn a_write_takes_longer_the_more_copies_are_waited_for() {
    let latency = |replicas| written(replicas).loads[0].mean();
    let (none, one, two) = (latency(0), latency(1), latency(2));
    // 64 KiB take 55 us or so over 10 Gbit/s, and the copies leave one port one by one.
    assert!(one > none + 50e-6, "{one} against {none}");
    assert!(two > one + 40e-6, "{two} against {one}");
    assert!(two < 3.0 * none, "flash is most of it: {two} against {none}");
}

/// The pool is far too slow for the writes, so logs on both other hosts fill up, and then
/// writes wait for the pool.
#[test]
fn the_backlog_is_bounded_by_the_room_for_copies() {
    let array = array(&hosts(1, "256MiB"));
    let run = run(plant(&array, &[instance(0, &[2 * GB])]), vec![writer(2048)], 20);
    let tier = &run.facts.tiers[0].counts;
    assert!(tier.destaged_bytes > 100 * PAGE, "{tier:?}");
    let room = 2 * (256 << 20) * 11 / 100;
    assert!(tier.dirty_bytes_max <= room && tier.dirty_bytes_max > room / 2, "{tier:?}");
    assert!(tier.writes_absorbed < tier.writes, "{tier:?}");
    assert_eq!(run.outcome.submitted, run.outcome.completed);
    assert_eq!(run.loads[0].failed, 0);
}

/// Warmed on its first host, the VM reads its former pages from there, once a page.
#[test]
fn moved_vm_reads_its_footprint_from_its_former_host() {
    let array = array(&hosts(1, "1GiB"));
    let load = |seed| Load { addresses: 1 << 16, ..Load::users(seed, 4) };
    let facts = |events| {
        let mut plant = eventful(&array, &[instance(0, &[GB])], events);
        let options =
            Warm { filter: WarmFilter::Kept, accesses_per_tile_max: 200_000, ..Warm::default() };
        plant.warm(&mut machines(vec![load(7)]), &options);
        run(plant, vec![load(1)], 4).facts
    };
    let moves = r#"events = [{ at = "1ms", kind = "rebalance", tiles = [1], to = "host-2" }]"#;
    let (stayed, moved) = (facts(""), facts(moves));
    let (at_home, away) = (&stayed.tiers[0].counts, &moved.tiers[0].counts);
    assert!(at_home.read_hits + 9 > at_home.reads && at_home.remote_hits == 0, "{at_home:?}");
    assert!(network(&stayed) < 1.0 && network(&moved) > 1e6, "{moved:?}");
    assert!(away.remote_hits > 100 && away.read_hits + 9 > away.reads, "{away:?}");
    assert!(away.remote_hits < away.read_hits / 2, "pages are read there once: {away:?}");
    let both = 512 << 20;
    assert!(away.resident_bytes > both * 9 / 10 && away.resident_bytes <= both, "{away:?}");
}

#[test]
fn a_warm_cluster_begins_clean_and_can_be_put_back() {
    let array = array(&hosts(1, "256MiB"));
    let instances = [instance(0, &[2 * GB]), instance(0, &[2 * GB])];
    let load = |seed| Load { reads: 0.7, length: 8192, addresses: 1 << 15, ..Load::users(seed, 1) };
    let warmed = || {
        let mut plant = plant(&array, &instances);
        let options =
            Warm { filter: WarmFilter::Kept, accesses_per_tile_max: 300_000, ..Warm::default() };
        let report = plant.warm(&mut machines(vec![load(7), load(8)]), &options);
        assert!(report.filled > 0.5, "{report:?}");
        plant
    };
    let state = warmed().snapshot();
    assert_eq!((state.dirty_bytes(), state.counters().reads), (0, 0));
    let first = run(warmed(), vec![load(1), load(2)], 3);
    let mut fresh = plant(&array, &instances);
    fresh.restore(&state).expect("it is the same plant");
    let second = run(fresh, vec![load(1), load(2)], 3);
    assert_eq!((&first.loads, &first.facts), (&second.loads, &second.facts));
    let tier = &first.facts.tiers[0].counts;
    assert!(tier.read_hits * 10 > tier.reads * 8, "{tier:?}");
    assert!(first.facts.parts.iter().all(|part| part.utilisation <= 1.0), "{:?}", first.facts);
}

/// A tier without copies of writes: hosts read each other's pages only if it is clustered.
#[test]
fn former_host_answers_reads_of_clustered_tiers_only() {
    let moves = r#"events = [{ at = "1ms", kind = "rebalance", tiles = [1], to = "host-2" }]"#;
    let facts = |clustered: &str| {
        let own = hosts(0, "1GiB").replace("replicas = 0", clustered);
        let array = array(&own);
        let load = |seed| Load { addresses: 1 << 14, ..Load::users(seed, 4) };
        let mut plant = eventful(&array, &[instance(0, &[GB])], moves);
        let options =
            Warm { filter: WarmFilter::Kept, accesses_per_tile_max: 100_000, ..Warm::default() };
        plant.warm(&mut machines(vec![load(7)]), &options);
        run(plant, vec![load(1)], 3).facts
    };
    let apart = facts(r#"write = "through""#);
    let together = facts("write = \"through\"\nclustered = true");
    let (cold, remote) = (&apart.tiers[0].counts, &together.tiers[0].counts);
    assert!(cold.remote_hits == 0 && cold.reads > cold.read_hits + 100, "{cold:?}");
    assert!(remote.remote_hits > 100 && remote.read_hits + 9 > remote.reads, "{remote:?}");
    assert_eq!(network(&apart), 0.0);
    assert!(network(&together) > 1e6, "{remote:?}");
}
