use spec::array::{Array, Raid, TierPlace, WriteMode};
use units::Bytes;

use super::*;

fn shipped(name: &str) -> Array {
    spec::shipped::array(name).expect("it is shipped")
}

fn gib(size: u64) -> Bytes {
    Bytes::new(size << 30)
}

fn refusal(array: &str, changes: &Changes) -> String {
    let error = changes.apply(&shipped(array)).expect_err("a refusal");
    format!("{error}\n  hint: {}", error.hint().unwrap_or_default())
}

#[test]
fn added_cache_replaces_the_tier_and_counts_its_disks() {
    let changes = Changes { cache: Some(gib(92)), ..Changes::default() };
    let changed = changes.apply(&shipped("vnx5500")).expect("an array");
    let [tier] = changed.array.tiers.as_slice() else { panic!("{:?}", changed.array.tiers) };
    assert_eq!((tier.size, tier.count, tier.raid), (gib(92), 2, Raid::Raid1));
    assert_eq!(tier.admit_on, 3, "what was not named stays");
    assert_eq!(changed.changes[0].words, "92 GiB of cache");
    assert!(changed.changes[0].assumed[1].contains("instead of 8 in raid10"), "{changed:?}");
}

#[test]
fn an_array_without_a_tier_gets_one_where_it_is_wanted() {
    let changes = Changes {
        cache: Some(gib(400)),
        cache_at: Some(TierPlace::Host),
        policy: Some("nhit".to_owned()),
        ..Changes::default()
    };
    let changed = changes.apply(&shipped("hdd-raid10")).expect("an array");
    let [tier] = changed.array.tiers.as_slice() else { panic!("{:?}", changed.array.tiers) };
    assert_eq!((tier.at, tier.size, tier.count), (TierPlace::Host, gib(400), 3));
    assert_eq!((tier.policy.as_str(), tier.admit_on), ("lru", 3));
    assert_eq!(tier.write, WriteMode::Through, "a host that fails takes no answered write along");
}

#[test]
fn a_policy_other_than_nhit_lets_every_page_in() {
    let changes = Changes { policy: Some("arc".to_owned()), ..Changes::default() };
    let changed = changes.apply(&shipped("vnx5500")).expect("an array");
    let tier = &changed.array.tiers[0];
    assert_eq!((tier.policy.as_str(), tier.admit_on, tier.size), ("arc", 1, gib(366)));
}

#[test]
fn disks_go_to_the_pools_in_proportion() {
    let changes = Changes { disks: Some(DiskCount::Total(10)), ..Changes::default() };
    let changed = changes.apply(&shipped("vnx5500")).expect("an array");
    let counts: Vec<u32> = changed.array.pools.iter().map(|pool| pool.count).collect();
    assert_eq!(counts, [4, 4, 2]);
    let changes = Changes { disks: Some(DiskCount::Total(11)), ..Changes::default() };
    let changed = changes.apply(&shipped("vnx5500")).expect("an array");
    assert_eq!(changed.array.pools.iter().map(|pool| pool.count).sum::<u32>(), 11);
}

#[test]
fn the_hosts_of_a_hyper_converged_array_share_the_disks() {
    let array = shipped("vsan-6-hybrid");
    let changes = Changes { disks: Some(DiskCount::Total(192)), ..Changes::default() };
    let changed = changes.apply(&array).expect("an array");
    assert_eq!(changed.array.data_disks(1), 192);
}

#[test]
fn single_keys_are_laid_over_the_options() {
    let changes = Changes {
        cache: Some(gib(92)),
        with: vec!["tier.fast.count=4".to_owned(), "tier.fast.raid=raid10".to_owned()],
        ..Changes::default()
    };
    let changed = changes.apply(&shipped("vnx5500")).expect("an array");
    assert_eq!((changed.array.tiers[0].count, changed.array.tiers[0].size), (4, gib(92)));
}

#[test]
fn what_cannot_be_changed_names_the_option_and_the_way_out() {
    let of = Changes::default;
    let refusals = [
        refusal("hdd-raid10", &of()),
        refusal("hdd-raid10", &Changes { disks: Some(DiskCount::Total(24)), ..of() }),
        refusal("hdd-raid10", &Changes { disks: Some(DiskCount::Total(11)), ..of() }),
        refusal("vsan-6-hybrid", &Changes { disks: Some(DiskCount::Total(11)), ..of() }),
        refusal("hdd-raid10", &Changes { disk: Some("hdd-15".to_owned()), ..of() }),
        refusal("hdd-raid10", &Changes { link: Some("fc-9g".to_owned()), ..of() }),
        refusal("hdd-raid10", &Changes { policy: Some("nhit".to_owned()), ..of() }),
        refusal("vnx5500", &Changes { page: Some(Bytes::new(5000)), ..of() }),
        refusal("vnx5500", &Changes { cache: Some(Bytes::ZERO), ..of() }),
        refusal("vnx5500", &Changes { cache_at: Some(TierPlace::Host), ..of() }),
        refusal("vsan-6-hybrid", &Changes { memory: Some(gib(1)), ..of() }),
    ];
    insta::assert_snapshot!("refusals", refusals.join("\n"));
}

#[test]
fn the_stored_schema_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/schemas/what-if-1.0.json");
    let fresh = serde_json::to_string_pretty(&json_schema()).expect("JSON") + "\n";
    if std::env::var_os("TILEMARK_UPDATE").is_some() {
        std::fs::write(path, &fresh).expect("writable docs/schemas");
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(stored == fresh, "docs/schemas/what-if-1.0.json: run this with TILEMARK_UPDATE=1");
}

/// Workload of clerks: how many there are, their pause, the steps of an order and its limit.
pub fn clerks((users, pause): (u32, &str), steps: &str, limit: &str) -> String {
    format!(
        r#"
name = "clerks"
title = "Clerks"
source = "ours"
metric = {{ unit = "orders/s", count = "actions" }}
[[vm]]
name = "db"
vcpus = 1
[[vm.disk]]
name = "tables"
size = "256MiB"
[[users]]
name = "users"
vm = "db"
load = {{ closed = {{ users = {users}, think = {{ exponential = "{pause}" }} }} }}
[[action]]
name = "order"
steps = [{steps}]
[[limit]]
action = "order"
percentile = 95
limit = "{limit}"
source = "test"
"#
    )
}

/// Clerks who pause for a second.
fn slow() -> String {
    clerks((3, "1s"), r#"{ read = { disk = "tables", size = "8k" } }"#, "200ms")
}

fn brief() -> bench::simulate::Settings {
    bench::simulate::Settings {
        warm_up_min: units::Nanos::from_secs(2),
        warm_up_max: units::Nanos::from_secs(4),
        duration: units::Nanos::from_secs(4),
        lengthen_max: 1,
        slice: units::Nanos::from_millis(500),
        footprint: 1.0,
        time: 1.0,
    }
}

fn options(repeats: u32) -> Options {
    Options {
        repeats,
        tiles_max: Some(2),
        threads: std::num::NonZeroUsize::new(1),
        lengthen_max: Options::LENGTHEN_MAX,
        within: Some(units::Nanos::from_secs(120)),
        tool: run_store::run::ToolFacts { version: String::new(), commit: None },
    }
}

/// Answer for twice the disks with five seeds, ended after a step of this seed.
fn asked_until(seed: usize) -> Result<WhatIf, bench::BenchError> {
    let tile = fixtures::tile_of(vec![fixtures::workload(&slow())]);
    let (mut run, array) = (fixtures::run(7, Vec::new()), shipped("hdd-raid10"));
    run.target.kind = run_store::run::SIMULATED.to_owned();
    let changes = Changes { disks: Some(DiskCount::Total(48)), ..Changes::default() };
    let changed = changes.apply(&array).expect("an array");
    let plan = brief().plan("any", &tile).expect("a plan");
    let subject = Subject { run, plan, array, others: Vec::new(), model: ModelKind::Own };
    let control = bench::progress::Control::default();
    what_if(&subject, &changed, &options(5), &control, &mut |progress| {
        if matches!(progress, Progress::Step { seed: at, .. } if *at == seed) {
            control.end_for_time();
        }
    })
}

#[test]
fn answer_within_a_time_has_the_seeds_that_ended_and_says_so() {
    let answer = asked_until(3).expect("two seeds ended");
    assert_eq!((answer.seeds.len(), answer.base.edges.len()), (2, 2), "{answer:?}");
    let left_out = "; the time of 2m ended after 2 of 5 seeds";
    assert!(answer.sentence.ends_with(left_out), "{}", answer.sentence);
    let one = asked_until(2).expect("one seed ended");
    assert!(one.sentence.contains("(one seed, so without an interval)"), "{}", one.sentence);
    assert!(asked_until(1).is_err(), "no seed of both arrays ended");
}

/// Two users who pause for a second: the four measured seconds give too few samples for the 95th
/// percentile, which was once an edge of no tile.
#[test]
fn a_step_with_too_few_samples_is_measured_for_longer() {
    let tile = fixtures::tile_of(vec![fixtures::workload(&slow())]);
    let brief = brief();
    let plan = brief.plan("any", &tile).expect("a plan");
    let step = |settings: &bench::simulate::Settings| {
        let stage = bench::simulate::Stage::new(&tile, settings).expect("a stage");
        let control = bench::progress::Control::default();
        stage.step(&shipped("hdd-raid10"), (1, 0), 7, &control).expect("a step")
    };
    let as_measured = step(&brief);
    assert_eq!(as_measured.cause, Some(run_store::run::Cause::Undecided), "{}", as_measured.reason);
    let options = options(1);
    let longer = step(&options.settings(&plan));
    assert_eq!(longer.verdict, run_store::run::Verdict::Passed, "{}", longer.reason);
    assert!(longer.measured_ns <= 16 * as_measured.measured_ns, "the time is bounded");
}
