//! Events of hosts: live migrations, pauses and losses.

use run_store::run::{ModelFacts, StepEvent, StepEventKind};
use tilemark_sim::plant::{HostEvents, Plant, PlantPlan};
use units::Nanos;

use crate::support::{Load, Run, array, assert_within, eventful, events, instance, plant, run};

const GB: u64 = 1 << 30;
const PAGE: u32 = 64 << 10;

/// Hosts with this memory for each virtual CPU, in front of a disk that serves 1,000 requests in a
/// second.
fn hosts(count: u32, migration: &str, rest: &str) -> String {
    format!(
        r#"
        [hosts]
        count = {count}
        cores = 4
        io-cpu = {{ per-io = "100us" }}
        migration = {{ {migration} }}
        [link]
        kind = "ethernet-10g"
        {rest}
        [[pool]]
        name = "lun"
        disk = "plain"
        count = 1
        [disk.plain.servers]
        capacity = "100GB"
        servers = 4
        read = "1ms"
        write = "1ms"
        rate = "100GB"
        "#
    )
}

const MOVE: &str = r#"events = [{ at = "1s", kind = "rebalance", tiles = [1], to = "host-2" }]"#;

/// Runs one VM with four users, who do not think, on the first of two hosts.
fn moved(migration: &str, happens: &str, seconds: u64) -> (Run, Vec<StepEvent>) {
    let array = array(&hosts(2, migration, ""));
    let plant = eventful(&array, &[instance(0, &[GB])], happens);
    let run = run(plant, vec![Load::users(1, 4)], seconds);
    assert_eq!(run.outcome.submitted, run.outcome.completed);
    let told = told(&run);
    (run, told)
}

fn told(run: &Run) -> Vec<StepEvent> {
    run.plant.told_events().into_iter().map(|told| told.event).collect()
}

fn used(facts: &ModelFacts, host: usize) -> f64 {
    facts.hosts[host].used
}

#[test]
fn live_migration_copies_memory_and_stops_the_vm_shortly() {
    let (run, told) = moved(r#"memory = "4GiB", dirtied = "100MiB""#, MOVE, 10);
    let [StepEvent { kind: StepEventKind::Rebalance, tiles, began_ns, ended_ns, .. }] = &told[..]
    else {
        panic!("{told:?}")
    };
    let [own] = &tiles[..] else { panic!("{tiles:?}") };
    assert_eq!((own.from.as_str(), own.to.as_deref()), ("host-1", Some("host-2")));
    assert_eq!((own.vm.as_deref(), *began_ns), (Some("load/vm"), 2_000_000_000));
    assert_eq!(*ended_ns, own.goes_on_ns);
    let copy = own.copy.expect("memory was copied");
    // 10 Gbit/s carry 1.187 GB/s: 4 GiB take 3.62 s, in which 362 MiB change. These would take
    // 0.32 s, so there is a second round, in which 32 MiB change; they take 28 ms.
    let (memory, ratio) = ((4 * GB) as f64, 104_857_600.0 / 1.187e9);
    let all = memory * (1.0 + ratio + ratio * ratio);
    assert_eq!(copy.rounds, 2);
    assert_within(0.01, copy.bytes as f64, all, "bytes of all rounds");
    assert_within(0.02, copy.took_ns as f64 / 1e9, all / 1.187e9 + 0.05, "seconds of the move");
    let last = memory * ratio * ratio / 1.187e9 + 0.05;
    assert_within(0.05, own.outage_ns.expect("it goes on") as f64 / 1e9, last, "outage");
    let network = run.facts.parts.iter().find(|part| part.name == "network of moves");
    assert_within(0.01, network.expect("a part").bytes_per_s * 9.0, all, "bytes on the network");
}

#[test]
fn moved_vm_works_on_the_other_host_and_is_counted_there() {
    let migration = r#"memory = "1MiB""#;
    let (stayed, none) = moved(migration, "", 11);
    assert_eq!(none, []);
    let (went, _) = moved(migration, MOVE, 11);
    assert!(used(&stayed.facts, 0) > 0.05 && used(&stayed.facts, 1) == 0.0);
    // One second of ten on the first host.
    assert_within(0.1, used(&went.facts, 0), used(&stayed.facts, 0) / 10.0, "before");
    assert_within(0.1, used(&went.facts, 1), used(&stayed.facts, 0) * 0.9, "after");
    let requests = |run: &Run| run.loads[0].answered as f64;
    assert_within(0.01, requests(&went), requests(&stayed), "requests");
}

#[test]
fn later_order_of_a_vm_that_moves_is_carried_out_after_it() {
    let there_and_back = r#"events = [
        { at = "1s", kind = "rebalance", tiles = [1], to = "host-2" },
        { at = "1010ms", kind = "rebalance", tiles = [1], to = "host-1" },
    ]"#;
    let (run, told) = moved(r#"memory = "1GiB""#, there_and_back, 10);
    let ends: Vec<Option<&str>> =
        told.iter().flat_map(|own| &own.tiles).map(|own| own.to.as_deref()).collect();
    assert_eq!(ends, [Some("host-2"), Some("host-1")]);
    assert!(used(&run.facts, 0) > used(&run.facts, 1), "it works on the first host at the end");
}

#[test]
fn event_after_the_end_changes_no_figure() {
    let late = r#"events = [{ at = "1h", kind = "drain", host = "host-1" }]"#;
    let (with, told) = moved(r#"memory = "1GiB""#, late, 5);
    let (without, _) = moved(r#"memory = "1GiB""#, "", 5);
    assert_eq!(told, []);
    assert_eq!(with.loads, without.loads);
    let (again, _) = moved(r#"memory = "1GiB""#, MOVE, 5);
    let (once, _) = moved(r#"memory = "1GiB""#, MOVE, 5);
    assert_eq!((&once.loads, &once.facts), (&again.loads, &again.facts));
}

#[test]
fn paused_host_answers_after_the_pause() {
    let pause = r#"events = [{ at = "1s", kind = "stop-host", host = "host-1", for = "2s" }]"#;
    let (run, told) = moved("", pause, 8);
    let (calm, _) = moved("", "", 8);
    assert_eq!(told[0].tiles[0].outage_ns, Some(2_000_000_000));
    assert_eq!(told[0].ended_ns, Some(4_000_000_000));
    // Two seconds of eight without requests; each of the four users waits once.
    assert_within(0.01, run.loads[0].answered as f64, calm.loads[0].answered as f64 * 0.75, "all");
    let waited = run.loads[0].latency_ns as f64 - calm.loads[0].latency_ns as f64 * 0.75;
    assert_within(0.02, waited / 1e9, 8.0, "seconds that users waited");
}

/// A move of 8 GiB takes 7.3 s. The target stands still from the 5th to the 12th second.
#[test]
fn moved_vm_waits_for_a_pause_of_its_new_host() {
    let events = r#"events = [
        { at = "1s", kind = "rebalance", tiles = [1], to = "host-2" },
        { at = "4s", kind = "stop-host", host = "host-2", for = "7s" },
    ]"#;
    let (_, told) = moved(r#"memory = "8GiB", dirtied = "1MiB""#, events, 20);
    let own = &told[0].tiles[0];
    assert_eq!(own.goes_on_ns, Some(12_000_000_000), "{own:?}");
    assert!(told[1].tiles.is_empty(), "no virtual machine ran on host-2: {told:?}");
}

/// 4 GiB take 3.6 s. A virtual machine that stands still meanwhile changes no memory.
#[test]
fn paused_vm_changes_no_memory_during_its_move() {
    let pause = r#"{ at = "500ms", kind = "stop-host", host = "host-1", for = "6s" },"#;
    let moving = |pause: &str| {
        let events = format!(
            r#"events = [{pause} {{ at = "1s", kind = "rebalance", tiles = [1], to = "host-2" }}]"#
        );
        let (_, told) = moved(r#"memory = "4GiB", dirtied = "400MiB""#, &events, 30);
        let own = told.iter().flat_map(|own| &own.tiles).find(|own| own.copy.is_some());
        own.and_then(|own| own.copy).expect("it moved")
    };
    assert!(moving("").rounds > 1);
    // The order waits until the pause is over.
    assert_eq!(moving(pause).rounds, moving("").rounds);
    let during = r#"{ at = "1100ms", kind = "stop-host", host = "host-1", for = "5s" },"#;
    let stood = moving(during);
    assert_eq!(stood.rounds, 1, "only 100 ms before the pause change memory: {stood:?}");
    assert_within(0.02, stood.bytes as f64, (4 * GB + (40 << 20)) as f64, "bytes");
}

#[test]
fn drained_host_without_another_says_that_nobody_could_take_its_vms() {
    let events = r#"events = [
        { at = "1s", kind = "stop-host", host = "host-2", for = "3s" },
        { at = "2s", kind = "drain", host = "host-1" },
    ]"#;
    let (run, told) = moved(r#"memory = "1MiB""#, events, 8);
    assert_eq!(told[1].note.as_deref(), Some("no other host could take its virtual machines"));
    assert!(used(&run.facts, 0) > 0.05, "it stays where it was");
}

/// Ten tiles of one VM each on three hosts; at most four move from one host at once.
#[test]
fn drained_host_is_empty_and_vms_are_spread_over_the_others() {
    let array = array(&hosts(3, r#"memory = "64MiB""#, ""));
    let tiles: Vec<_> = (0..10).map(|tile| instance(tile, &[GB])).collect();
    let drain = r#"events = [{ at = "1s", kind = "drain", host = "host-1" },
                             { at = "5s", kind = "rebalance" }]"#;
    let loads = (0..10).map(|seed| Load::users(seed, 1)).collect();
    let run = run(eventful(&array, &tiles, drain), loads, 9);
    let told = told(&run);
    let [drained, balanced] = &told[..] else { panic!("{told:?}") };
    let to = |host: &str| {
        let own = drained.tiles.iter().filter(|own| own.to.as_deref() == Some(host));
        own.count()
    };
    assert_eq!((drained.tiles.len(), to("host-2"), to("host-3")), (4, 2, 2));
    assert_eq!(balanced.tiles, []);
    assert_eq!(balanced.note.as_deref(), Some("no virtual machine had to move"));
    assert_eq!(run.plant.told_events()[0].affected, [0, 3, 6, 9]);
    assert_eq!(run.outcome.submitted, run.outcome.completed);
}

/// Three hosts with flash that answers writes, of which so many copies are on other hosts.
fn near(replicas: u32) -> String {
    let tier = format!(
        r#"
        [[tier]]
        name = "near"
        at = "host"
        size = "1GiB"
        disk = "memory"
        dirty-high = "10%"
        dirty-low = "5%"
        replicas = {replicas}
        "#
    );
    hosts(3, r#"memory = "1MiB""#, &tier)
}

const LOSE: &str = r#"
    events = [{ at = "1s", kind = "lose-host", host = "host-1" }]
    [restart]
    delay = "5s"
"#;

/// Writes whole pages all the time, so that some are dirty when the host is lost.
fn lost(replicas: u32) -> (Run, StepEvent) {
    let array = array(&near(replicas));
    let think = Nanos::from_millis(4);
    let load = Load { reads: 0.0, length: PAGE, addresses: 256, think, ..Load::users(1, 4) };
    let run = run(eventful(&array, &[instance(0, &[GB])], LOSE), vec![load], 40);
    assert_eq!((run.outcome.submitted, run.loads[0].failed), (run.outcome.completed, 0));
    let mut told = told(&run);
    assert_eq!(told.len(), 1);
    (run, told.remove(0))
}

#[test]
fn vms_of_a_lost_host_restart_elsewhere_after_detection_and_delay() {
    let (run, told) = lost(1);
    assert_eq!((told.began_ns, told.detection_ns), (2_000_000_000, Some(15_000_000_000)));
    let [own] = &told.tiles[..] else { panic!("{told:?}") };
    assert_eq!((own.to.as_deref(), own.outage_ns), (Some("host-2"), Some(20_000_000_000)));
    assert!(own.begins_anew && told.ended_ns == own.goes_on_ns);
    // 20 of 40 seconds without the VM.
    assert!(used(&run.facts, 1) > 2.0 * used(&run.facts, 0) && used(&run.facts, 2) == 0.0);
}

#[test]
fn copied_writes_survive_a_lost_host_and_others_are_counted() {
    let (with_copy, told) = lost(1);
    assert_eq!(told.lost_bytes, None);
    let tier = &with_copy.facts.tiers[0].counts;
    assert!(tier.destaged_bytes >= 100 * u64::from(PAGE), "the copies are destaged: {tier:?}");
    let (_, told) = lost(0);
    let bytes = told.lost_bytes.expect("nothing has copies");
    assert!(bytes > 50 * u64::from(PAGE) && bytes <= 256 * u64::from(PAGE), "{bytes}");
    assert!(told.told()[0].contains("of acknowledged writes had no copy left and are lost"));
}

/// Moves the disk of a tile with four users to a second pool, one second after the first.
fn to_pool(count: u32, event: &str, reads: f64) -> (Run, StepEvent) {
    let other = r#"
        [[pool]]
        name = "other"
        disk = "plain"
        count = 1
    "#;
    let text = hosts(count, r#"memory = "256MiB""#, "") + "[[place]]\npool = \"lun\"\n";
    let array = array(&text.replace("[[pool]]", &format!("{other}[[pool]]")));
    let load = Load { reads, ..Load::users(1, 4) };
    let run = run(eventful(&array, &[instance(0, &[GB])], event), vec![load], 12);
    assert_eq!((run.outcome.submitted, run.loads[0].failed), (run.outcome.completed, 0));
    let mut told = told(&run);
    assert_eq!(told.len(), 1);
    (run, told.remove(0))
}

fn per_second(run: &Run, part: &str) -> f64 {
    run.facts.parts.iter().find(|own| own.name == part).expect(part).iops
}

#[test]
fn storage_migration_copies_disks_and_moves_their_io() {
    let event = r#"events = [{ at = "1s", kind = "rebalance", tiles = [1], pool = "other" }]"#;
    let (run, told) = to_pool(1, event, 1.0);
    let [own] = &told.tiles[..] else { panic!("{told:?}") };
    assert_eq!((own.from.as_str(), own.to.as_deref()), ("host-1", Some("host-1")));
    let copy = own.copy.expect("disks were copied");
    assert_eq!((copy.disk_bytes, copy.bytes), (GB, 0));
    // The link of 1.187 GB/s is the narrowest part, and the users need little of it.
    let seconds = copy.took_ns as f64 / 1e9;
    assert_within(0.05, seconds, GB as f64 / 1.187e9 + 0.05, "seconds");
    assert_eq!(own.outage_ns, Some(50_000_000));
    // Until the switch the users read the old pool, then the new one.
    let (old, new) = (per_second(&run, "pool lun disks"), per_second(&run, "pool other disks"));
    let blocks = 1024.0 / 11.0;
    let users = run.loads[0].answered as f64 / 12.0;
    assert!(new - blocks > 0.8 * users && old - blocks < 0.2 * users, "{old} {new} {users}");
}

#[test]
fn writes_during_a_storage_migration_reach_both_pools() {
    let event = r#"events = [{ at = "1s", kind = "rebalance", tiles = [1], pool = "other" }]"#;
    let written = |reads| {
        let (run, _) = to_pool(1, event, reads);
        let both = per_second(&run, "pool lun disks") + per_second(&run, "pool other disks");
        both * 11.0 - 2048.0 - run.loads[0].answered as f64 * 11.0 / 12.0
    };
    let (mirrored, none) = (written(0.0), written(1.0));
    assert!(mirrored > none + 100.0, "{mirrored} against {none}");
}

#[test]
fn unified_migration_copies_disks_then_memory() {
    let event = r#"events = [
        { at = "1s", kind = "rebalance", tiles = [1], to = "host-2", pool = "other" }]"#;
    let (run, told) = to_pool(2, event, 0.5);
    let [own] = &told.tiles[..] else { panic!("{told:?}") };
    let copy = own.copy.expect("both were copied");
    assert_eq!((own.to.as_deref(), copy.disk_bytes), (Some("host-2"), GB));
    assert!(copy.bytes >= 256 << 20 && copy.rounds == 1, "{copy:?}");
    assert!(used(&run.facts, 1) > 3.0 * used(&run.facts, 0));
    assert!(told.told()[1].contains("of memory and 1 GiB of disks copied in"), "{told:?}");
}

#[test]
fn impossible_events_are_refused_with_advice() {
    let refused = |text: &str, happens: &str| {
        let (array, instances) = (array(text), [instance(0, &[GB])]);
        let (events, restart) = events(happens);
        let plan = PlantPlan { array: &array, instances: &instances, seed: 1 };
        let events = HostEvents { events: &events, restart };
        Plant::eventful(&plan, &events).expect_err("impossible").to_string()
    };
    let back = near(0);
    for (text, happens, says) in [
        (crate::support::ONE_SERVER, MOVE, "it has no hosts; add [hosts] with count and cores"),
        (&hosts(1, "", ""), MOVE, "there is no host \"host-2\"; the hosts are host-1"),
        (
            &hosts(1, "", ""),
            r#"events = [{ at = "1s", kind = "drain", host = "host-1" }]"#,
            "drain needs a second host; set hosts.count to 2 or more",
        ),
        (
            &hosts(1, "", ""),
            r#"events = [{ at = "1s", kind = "rebalance", tiles = [1], pool = "fast" }]"#,
            "there is no pool \"fast\"; the pools are lun",
        ),
        (&back, MOVE, "set clustered = true, or write = \"through\""),
    ] {
        let told = refused(text, happens);
        assert!(told.contains(says), "{told}");
    }
    // Without events nothing is refused.
    plant(&array(&back), &[instance(0, &[GB])]);
}
