use record::run::{LimitOn, Verdict};
use record::slice::{ActionRow, GeneratorRow, InstanceEntry, InstanceId, Slice, Topology, VmEntry};
use spec::ResolvedTile;
use spec::workload::Limit;
use stats::{Compact, Histogram};
use units::Nanos;

use super::*;
use crate::fixtures::{io_slice, tile_of, workload};
use crate::step::Window;

fn ms(value: u64) -> Nanos {
    Nanos::from_millis(value)
}

fn samples(values: &[(u64, u32)]) -> Compact {
    let mut histogram = Histogram::new();
    for (value, count) in values {
        histogram.record_n(ms(*value), *count);
    }
    histogram.compact()
}

fn limit(text: &str) -> Limit {
    toml::from_str(&format!("source = \"test\"\n{text}")).expect("a valid limit")
}

fn p95() -> Limit {
    limit("action = \"order\"\npercentile = 95\nlimit = \"500ms\"")
}

#[test]
fn a_broken_limit_reads_as_a_person_would_say_it() {
    let result = judge_limit(&p95(), &samples(&[(100, 900), (612, 100)]), CONFIDENCE);
    assert_eq!(
        (result.verdict, result.on, result.samples),
        (Verdict::Failed, LimitOn::Action, 1000)
    );
    let text = sentence("shop", &result);
    assert_eq!(text, "the shop's orders reach 612 ms at p95 against a limit of 500 ms");
    assert!(result.margin.value.expect("measured") < -0.2);
    assert!(result.interval_low_ns <= result.measured_ns);
}

#[test]
fn a_percentile_in_the_limits_own_bucket_is_kept() {
    let result = judge_limit(&p95(), &samples(&[(500, 1000)]), CONFIDENCE);
    assert_eq!(result.verdict, Verdict::Passed);
}

#[test]
fn too_few_samples_decide_only_when_their_whole_interval_does() {
    let verdict = |values: &[(u64, u32)]| judge_limit(&p95(), &samples(values), CONFIDENCE).verdict;
    // P(all 100 below p95) = 0.95^100 = 0.6 %: the largest is a bound from above.
    assert_eq!(verdict(&[(100, 100)]), Verdict::Passed);
    // 0.95^44 = 10 %: it is not.
    assert_eq!(verdict(&[(100, 44)]), Verdict::Inconclusive);
    assert_eq!(verdict(&[(900, 44)]), Verdict::Failed);
    assert_eq!(verdict(&[(100, 93), (900, 7)]), Verdict::Inconclusive);
    assert_eq!(verdict(&[]), Verdict::Inconclusive);
    let few = judge_limit(&p95(), &samples(&[(100, 44)]), CONFIDENCE);
    assert_eq!(
        few.reason.as_deref(),
        Some("too few samples: 44 samples, of which a p95 wants 200")
    );
}

#[test]
fn means_and_maxima_of_io_are_held_against_their_own_limits() {
    let mean = limit("io = \"db-read\"\nmean = \"20ms\"");
    let max = limit("io = \"db-read\"\nmax = \"50ms\"");
    let values = samples(&[(10, 900), (100, 100)]);
    let result = judge_limit(&mean, &values, CONFIDENCE);
    assert_eq!((result.verdict, result.measured_ns), (Verdict::Passed, Some(19_000_000)));
    let result = judge_limit(&max, &values, CONFIDENCE);
    let text = sentence("mail", &result);
    assert_eq!(result.verdict, Verdict::Failed);
    assert!(text.starts_with("the mail's db read I/Os reach 100 ms at most against"), "{text}");
    let few = judge_limit(&mean, &samples(&[(10, 29)]), CONFIDENCE);
    assert_eq!(few.verdict, Verdict::Inconclusive);
}

struct Bed {
    tile: ResolvedTile,
    members: Vec<Member>,
    topology: Topology,
}

const SHOP: &str = r#"
name = "shop"
title = "Shop"
source = "ours"
metric = { unit = "orders/min", count = "actions", per = "1m" }
[[vm]]
name = "db"
[[vm.disk]]
name = "db"
size = "1GiB"
[[users]]
name = "users"
vm = "db"
load = { closed = { users = 1, think = "1s" } }
[[action]]
name = "order"
steps = [{ read = { disk = "db", size = "8k" } }]
[[limit]]
action = "order"
percentile = 95
limit = "500ms"
source = "test"
"#;

fn bed(tiles: u32) -> Bed {
    let members: Vec<Member> =
        (0..tiles).map(|tile| Member { tile, workload: 0, copy: 0 }).collect();
    let instance = |tile| InstanceEntry {
        tile,
        workload: "shop".to_owned(),
        copy: 0,
        actions: vec!["order".to_owned()],
        groups: vec!["users".to_owned()],
        kinds: vec!["db-read".to_owned()],
    };
    let vm =
        |tile| VmEntry { instance: InstanceId(tile), name: format!("tile-{}/shop/db", tile + 1) };
    let topology = Topology {
        vms: (0..tiles).map(vm).collect(),
        instances: (0..tiles).map(instance).collect(),
    };
    Bed { tile: tile_of(vec![workload(SHOP)]), members, topology }
}

impl Bed {
    fn judge(&self, slices: &[Slice]) -> (Judged, bool) {
        let mut window = Window::new(&self.topology, Nanos::ZERO, 0);
        slices.iter().for_each(|slice| window.add(slice));
        let (tile, members, topology) = (&self.tile, &self.members[..], &self.topology);
        let judge = StepJudge { tile, members, topology };
        let judged = judge.judge(&window);
        let wants_more = judge.wants_more_samples(&judged);
        (judged, wants_more)
    }
}

fn orders(tile: u32, values: &[(u64, u32)]) -> ActionRow {
    ActionRow {
        instance: InstanceId(tile),
        action: 0,
        group: 0,
        errors: 0,
        dropped: 0,
        service: samples(values),
        response: samples(values),
    }
}

fn slice_of(actions: Vec<ActionRow>) -> Slice {
    Slice { actions, ..io_slice(Nanos::ZERO, 100, ms(1)) }
}

#[test]
fn one_bad_tile_among_good_ones_fails_the_step_and_is_named() {
    let bed = bed(4);
    let rows = (0..4).map(|tile| orders(tile, &[(if tile == 2 { 900 } else { 100 }, 100)]));
    let (judged, _) = bed.judge(&[slice_of(rows.collect())]);
    // Over all tiles p95 is 900 ms as well: 25 % of all orders are slow.
    assert_eq!(judged.verdict, Verdict::Failed);
    let mut rows: Vec<ActionRow> = (0..4).map(|tile| orders(tile, &[(100, 3000)])).collect();
    rows[2] = orders(2, &[(100, 80), (900, 20)]);
    let (judged, _) = bed.judge(&[slice_of(rows)]);
    assert_eq!(judged.pooled[0].result.verdict, Verdict::Passed);
    assert_eq!(judged.verdict, Verdict::Failed, "{}", judged.reason);
    assert!(judged.reason.ends_with("in tile 3"), "{}", judged.reason);
    assert_eq!(judged.broken.expect("a limit broke").0.tile, 2);
}

#[test]
fn tiles_together_have_enough_samples_when_one_alone_has_not() {
    let bed = bed(5);
    let rows: Vec<ActionRow> = (0..5).map(|tile| orders(tile, &[(100, 44)])).collect();
    let (judged, wants_more) = bed.judge(&[slice_of(rows)]);
    assert_eq!((judged.verdict, wants_more), (Verdict::Passed, false), "{}", judged.reason);
    let (judged, wants_more) = self::bed(1).judge(&[slice_of(vec![orders(0, &[(100, 44)])])]);
    assert_eq!((judged.verdict, wants_more), (Verdict::Inconclusive, true));
}

#[test]
fn a_saturated_generator_says_nothing_about_the_storage_even_if_a_limit_broke() {
    let late = Slice {
        generator: GeneratorRow {
            submitted: 1000,
            worker_cpu: vec![0.2, 0.97],
            lateness: samples(&[(40, 1000)]),
            ..GeneratorRow::default()
        },
        ..slice_of(vec![orders(0, &[(900, 1000)])])
    };
    let (judged, wants_more) = bed(1).judge(std::slice::from_ref(&late));
    assert_eq!((judged.verdict, wants_more), (Verdict::Inconclusive, false));
    assert!(judged.reason.starts_with("the generator was saturated: "), "{}", judged.reason);
    // Busy and punctual, or late because the machine is shared, is not saturated.
    let mut busy = late.clone();
    busy.generator.lateness = samples(&[(1, 1000)]);
    assert_eq!(bed(1).judge(&[busy]).0.verdict, Verdict::Failed);
    let mut queueing = late;
    queueing.generator.worker_cpu = vec![0.1];
    queueing.generator.queued = 11;
    assert_eq!(bed(1).judge(std::slice::from_ref(&queueing)).0.verdict, Verdict::Inconclusive);
    // With a thousand unanswered the wait is for the storage, wherever it happens.
    queueing.generator.in_flight = 1000;
    assert_eq!(bed(1).judge(&[queueing]).0.verdict, Verdict::Failed);
}

#[test]
fn users_who_give_up_fail_a_step_whose_latencies_are_fine() {
    let mut row = orders(0, &[(100, 980)]);
    row.dropped = 20;
    let (judged, _) = bed(1).judge(&[slice_of(vec![row])]);
    assert_eq!(judged.verdict, Verdict::Failed);
    assert_eq!(
        judged.reason,
        "the shop's users gave up 2.0 % of their starts against a limit of 1 %"
    );
}

#[test]
fn storage_that_answers_nothing_fails_instead_of_lacking_samples() {
    let hung = Slice {
        width: Nanos::SECOND,
        generator: GeneratorRow { in_flight: 7, ..GeneratorRow::default() },
        ..Slice::default()
    };
    let (judged, wants_more) = bed(1).judge(&[hung]);
    assert_eq!((judged.verdict, wants_more), (Verdict::Failed, false), "{}", judged.reason);
    assert!(judged.reason.contains("no answer at all"), "{}", judged.reason);
}

#[test]
fn plurals_are_english() {
    for (action, plural) in [
        ("order-of-new-customer", "orders of new customer"),
        ("query", "queries"),
        ("send-mail", "send mails"),
        ("search", "searches"),
    ] {
        let mut result = judge_limit(&p95(), &samples(&[(900, 1000)]), CONFIDENCE);
        result.name = action.to_owned();
        let text = sentence("shop", &result);
        assert!(text.starts_with(&format!("the shop's {plural} reach")), "{text}");
    }
}
