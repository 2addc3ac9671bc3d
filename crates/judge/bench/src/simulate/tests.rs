use run_store::run::{Resource, Step, Verdict, Waited};
use spec::ResolvedTile;
use spec::array::Array;
use units::Nanos;

use super::*;
use crate::BenchError;
use crate::progress::Control;
use fixtures::{tile_of, workload};

/// 20 readers and writers who think for 50 ms: up to 400 actions a second.
const SHOP: &str = r#"
name = "shop"
title = "Shop"
source = "ours"
metric = { unit = "orders/s", count = "actions" }
[[vm]]
name = "db"
vcpus = 2
[[vm.disk]]
name = "tables"
size = "256MiB"
[[vm.disk]]
name = "log"
role = "log"
size = "16MiB"
[[users]]
name = "users"
vm = "db"
load = { closed = { users = 20, think = { exponential = "50ms" } } }
[[action]]
name = "order"
steps = [
    { read = { disk = "tables", size = "8k", count = 2 } },
    { cpu = "1ms" },
    { append = { disk = "log", size = "4k" } },
]
[[limit]]
action = "order"
percentile = 95
limit = "200ms"
source = "test"
"#;

fn shop() -> ResolvedTile {
    tile_of(vec![workload(SHOP)])
}

/// Settings for a step of a few seconds.
fn brief() -> Settings {
    Settings {
        warm_up_min: Nanos::from_secs(2),
        warm_up_max: Nanos::from_secs(4),
        duration: Nanos::from_secs(4),
        lengthen_max: 1,
        slice: Nanos::from_millis(500),
        footprint: 1.0,
        time: 1.0,
    }
}

fn disks() -> Array {
    spec::shipped::array("hdd-raid10").expect("it is shipped")
}

fn bytes(step: &Step) -> String {
    serde_json::to_string(step).expect("JSON")
}

#[test]
fn step_is_reproducible_and_seed_and_repeat_change_the_load() {
    let stage = Stage::new(&shop(), &brief()).expect("a stage");
    let (array, control) = (disks(), Control::default());
    let step = |repeat, seed| {
        let step = stage.step(&array, (2, repeat), seed, &control).expect("a step");
        assert!(step.throughput.operations_per_s > 100.0, "{:?}", step.throughput);
        bytes(&step)
    };
    let first = step(0, 7);
    assert_eq!(first, step(0, 7));
    assert_ne!(first, step(0, 8));
    assert_ne!(first, step(1, 7));
}

#[test]
fn threads_do_not_change_a_step() {
    let stage = Stage::new(&shop(), &brief()).expect("a stage");
    let (array, control) = (disks(), Control::default());
    let step = |tiles| bytes(&stage.step(&array, (tiles, 0), 7, &control).expect("a step"));
    let alone = [step(1), step(2)];
    let together = std::thread::scope(|scope| {
        let threads = [1, 2].map(|tiles| scope.spawn(move || step(tiles)));
        threads.map(|thread| thread.join().expect("no panic"))
    });
    assert_eq!(together, alone);
}

#[test]
fn a_step_says_that_it_was_checked_and_what_its_parts_did() {
    let step = step(&disks(), &shop(), 1, &brief(), 7).expect("a step");
    assert_eq!(step.verdict, Verdict::Passed, "{}", step.reason);
    assert!(step.checks.iter().all(|check| check.passed), "{:?}", step.checks);
    assert!(!step.generator.saturated);
    let model = step.model.expect("what the model did");
    assert!(model.events > 1000, "{model:?}");
}

#[test]
fn an_array_too_small_for_the_tiles_is_told_with_both_sizes() {
    let mut array = disks();
    array.name = "small".to_owned();
    let tile = tile_of(vec![workload(&SHOP.replace("256MiB", "64TiB"))]);
    let error = step(&array, &tile, 2, &brief(), 7).expect_err("it does not fit");
    let BenchError::Plant { array, source } = error else { panic!("{error:?}") };
    assert_eq!(array, "small");
    assert!(source.to_string().contains("128 TiB"), "{source}");
}

#[test]
fn a_simulation_ends_when_it_is_asked_to() {
    let stage = Stage::new(&shop(), &brief()).expect("a stage");
    let control = Control::default();
    control.interrupt();
    let error = stage.step(&disks(), (1, 0), 7, &control).expect_err("interrupted");
    assert!(matches!(error, BenchError::Interrupted), "{error:?}");
}

#[test]
fn settings_out_of_range_are_named() {
    let wrong = Settings { footprint: 2.0, ..brief() };
    let error = Stage::new(&shop(), &wrong).expect_err("a refusal");
    assert_eq!(error.to_string(), "scale.footprint is 2, but must be above 0 and at most 1");
}

/// Four cores of which 84 % may be used, and 40 ms of processor time per order: 20 users need more
/// than a core of two has.
fn thoughtful(cores: u32) -> (Array, ResolvedTile) {
    let mut array = spec::shipped::array("vnx5500").expect("it is shipped");
    let hosts = array.hosts.as_mut().expect("it has hosts");
    (hosts.count, hosts.cores) = (1, cores);
    let shop = SHOP.replace("{ cpu = \"1ms\" }", "{ cpu = \"40ms\" }");
    let shop = shop.replace("vcpus = 2", "vcpus = 32");
    (array, tile_of(vec![workload(&shop.replace("\"200ms\"", "\"100ms\""))]))
}

#[test]
fn array_with_idle_disks_blames_processors_not_reads() {
    let (array, tile) = thoughtful(4);
    let found = step(&array, &tile, 2, &brief(), 7).expect("a step");
    assert_eq!(found.verdict, Verdict::Failed, "{}", found.reason);
    let bottleneck = found.bottleneck.expect("it is named");
    assert_eq!(bottleneck.kind, Resource::HostCpu, "{bottleneck:?}");
    assert_eq!(bottleneck.name, "processors of host-1");
    assert_eq!(found.waits[0].what, Waited::Processor, "{:?}", found.waits);
    assert!(found.reason.contains("; of their time on average "), "{}", found.reason);
    let (array, tile) = thoughtful(64);
    let wide = step(&array, &tile, 2, &brief(), 7).expect("a step");
    assert_eq!(wide.verdict, Verdict::Passed, "{}", wide.reason);
    assert_eq!(wide.bottleneck.expect("it is named").kind, Resource::NoneSeen);
    assert_eq!(wide.waits, [], "nothing broke");
}

#[test]
fn array_of_few_disks_blames_the_disks_and_their_reads() {
    let mut array = disks();
    for pool in &mut array.pools {
        pool.count = 4;
    }
    let tile = tile_of(vec![workload(&SHOP.replace("256MiB", "32GiB"))]);
    let found = step(&array, &tile, 12, &brief(), 7).expect("a step");
    assert_eq!(found.verdict, Verdict::Failed, "{}", found.reason);
    let bottleneck = found.bottleneck.expect("it is named");
    assert_eq!(bottleneck.kind, Resource::Disk, "{bottleneck:?}");
    let reads = Waited::Reads { disk: "tables".to_owned() };
    assert_eq!(found.waits[0].what, reads, "{:?}", found.waits);
}

#[test]
fn watts_of_an_array_change_no_other_figure() {
    let plain = disks();
    let power = "hosts.power.source=ours hosts.power.idle=100 hosts.power.core=10 power.source=ours power.static=500";
    let overlay: Vec<&str> = power.split(' ').collect();
    let overlay = spec::array::overlay(&overlay).expect("settings");
    let (name, text) = spec::array_text("hdd-raid10", std::path::Path::new("")).expect("shipped");
    let powered = spec::array::with_all(&name, &text, &[overlay]).expect("an array");
    let one = |array: &Array| step(array, &shop(), 1, &brief(), 1).expect("a step");
    let (without, mut with) = (one(&plain), one(&powered));
    let told = with.power.take().expect("its array has watts");
    assert_eq!(without.power, None);
    let is_watts =
        |gauge: &run_store::gauge::Gauge| gauge.name == run_store::gauge::GaugeName::PowerWatts;
    assert_eq!(
        with.gauges.iter().filter(|own| is_watts(own)).count(),
        5,
        "four hosts, one storage"
    );
    with.gauges.retain(|own| !is_watts(own));
    assert_eq!(bytes(&with), bytes(&without), "nothing else changes");
    let [alone, servers, all] = &told.per_kilowatt[..] else {
        panic!("three categories: {told:?}")
    };
    assert_eq!(alone.mean_watts.value, None);
    let watts = |own: &run_store::run::PerKilowatt| own.mean_watts.value.expect("known");
    assert!(watts(servers) > 400.0 && watts(servers) < 480.0, "{servers:?}");
    assert!((watts(all) - watts(servers) - 500.0).abs() < 1e-9, "{all:?}");
    let score = with.score.as_ref().and_then(|score| score.value()).expect("a score");
    let wanted = score / watts(all) * 1000.0;
    assert!((all.score_per_kilowatt.value.expect("known") / wanted - 1.0).abs() < 1e-12);
}
