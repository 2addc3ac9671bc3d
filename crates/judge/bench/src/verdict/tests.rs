use run_store::run::{Cause, HostStep, LimitOn, Verdict};
use run_store::slice::{
    ActionRow, CallRow, GeneratorRow, InstanceEntry, InstanceId, OpenRow, Slice, Topology,
    Unfinished, VmEntry,
};
use serde_json::json;
use spec::ResolvedTile;
use spec::workload::{Counted, Limit};
use stats::{Compact, Histogram};
use units::Nanos;

use super::*;
use crate::fleet::Member;
use crate::window::Window;
use fixtures::{io_slice, tile_of, workload};

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

/// Equal samples in each of eight blocks of time.
fn blocks(values: &[(u64, u32)]) -> Samples {
    Samples::of(vec![samples(values); 8])
}

fn limit(text: &str) -> Limit {
    toml::from_str(&format!("source = \"test\"\n{text}")).expect("a valid limit")
}

fn p95() -> Limit {
    limit("action = \"order\"\npercentile = 95\nlimit = \"500ms\"")
}

#[test]
fn a_broken_limit_reads_as_a_person_would_say_it() {
    let result = judge_limit(&p95(), &blocks(&[(100, 112), (612, 13)]), CONFIDENCE);
    assert_eq!(
        (result.verdict, result.on, result.samples),
        (Verdict::Failed, LimitOn::Action, 1000)
    );
    let text = sentence("shop", &result);
    assert_eq!(text, "the shop's orders reach 612 ms at p95 against a limit of 500 ms");
    assert!(result.margin.value.expect("measured") < -0.2);
    assert!(result.interval_low_ns <= result.measured_ns);
    assert_eq!(result.chance_of_break, Some(1.0));
}

#[test]
fn a_percentile_in_the_limits_own_bucket_is_kept() {
    let result = judge_limit(&p95(), &blocks(&[(500, 125)]), CONFIDENCE);
    assert_eq!(result.verdict, Verdict::Passed);
}

#[test]
fn samples_decide_only_when_their_whole_interval_does() {
    let verdict = |values: &[(u64, u32)]| judge_limit(&p95(), &blocks(values), CONFIDENCE).verdict;
    // P(all 96 below p95) = 0.95^96 = 0.7 %: the largest is an upper bound.
    assert_eq!(verdict(&[(100, 12)]), Verdict::Passed);
    // 0.95^40 = 13 %: the largest is no upper bound.
    assert_eq!(verdict(&[(100, 5)]), Verdict::Inconclusive);
    assert_eq!(verdict(&[(900, 5)]), Verdict::Failed);
    // 6 % are slow, which is more than 5 %, but not surely.
    assert_eq!(verdict(&[(100, 94), (900, 6)]), Verdict::Inconclusive);
    let near = judge_limit(&p95(), &blocks(&[(100, 94), (900, 6)]), CONFIDENCE);
    let text = sentence("shop", &near);
    assert!(text.contains("800 samples of the shop's orders are not enough"), "{text}");
    assert!(near.chance_of_break.is_some_and(|chance| (0.6..0.99).contains(&chance)), "{near:?}");
    assert_eq!(judge_limit(&p95(), &Samples::default(), CONFIDENCE).samples, 0);
}

/// Repeats of one step differ by much more than the samples of one suggest, so blocks that differ
/// must not decide what blocks that agree would.
#[test]
fn differing_blocks_do_not_decide_even_with_many_samples() {
    let calm = samples(&[(100, 2000)]);
    let stormy = samples(&[(100, 1700), (900, 300)]);
    let wandering = Samples::of([&calm, &stormy].repeat(4).into_iter().cloned().collect());
    assert_eq!(judge_limit(&p95(), &wandering, CONFIDENCE).verdict, Verdict::Inconclusive);
    let mixed = samples(&[(100, 1850), (900, 150)]);
    let even = Samples::of(vec![mixed; 8]);
    assert_eq!(judge_limit(&p95(), &even, CONFIDENCE).verdict, Verdict::Failed);
}

#[test]
fn a_mean_needs_its_interval_and_a_maximum_decides_nothing() {
    let mean = limit("io = \"db-read\"\nmean = \"20ms\"");
    let max = limit("io = \"db-read\"\nmax = \"50ms\"");
    let values = blocks(&[(10, 900), (100, 100)]);
    let result = judge_limit(&mean, &values, CONFIDENCE);
    assert_eq!((result.verdict, result.measured_ns), (Verdict::Passed, Some(19_000_000)));
    let result = judge_limit(&max, &values, CONFIDENCE);
    let text = sentence("mail", &result);
    assert_eq!((result.verdict, result.is_broken()), (Verdict::Failed, false));
    assert!(text.starts_with("the mail's db read I/Os reach 100 ms at most against"), "{text}");
    let within = judge_limit(&max, &blocks(&[(50, 10)]), CONFIDENCE);
    assert_eq!(within.verdict, Verdict::Passed, "in the limit's own bucket");
    assert_eq!(judge_limit(&mean, &blocks(&[(30, 9)]), CONFIDENCE).verdict, Verdict::Failed);
    let apart = Samples::of(vec![samples(&[(10, 29)]), samples(&[(28, 29)])]);
    let few = judge_limit(&mean, &apart, CONFIDENCE);
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
        (0..tiles).map(|tile| Member { tile: Some(tile), workload: 0, copy: 0 }).collect();
    let instance = |tile| InstanceEntry {
        tile: Some(tile),
        workload: "shop".to_owned(),
        copy: 0,
        host: None,
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
        self.judge_placed(slices, &crate::Placed::default())
    }

    fn judge_placed(&self, slices: &[Slice], placed: &crate::Placed) -> (Judged, bool) {
        let mut window = Window::new(&self.topology, Nanos::ZERO, 0);
        slices.iter().for_each(|slice| window.add(slice));
        let (tile, members, topology) = (&self.tile, &self.members[..], &self.topology);
        let judge = StepJudge { tile, members, topology, placed };
        let mut samples = LimitSamples::new(&judge, 1);
        slices.iter().for_each(|slice| samples.add(&judge, slice));
        let judged = judge.judge(&window, &samples);
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

/// Eight equal slices.
fn steadily(slice: &Slice) -> Vec<Slice> {
    vec![slice.clone(); 8]
}

#[test]
fn one_bad_tile_among_good_ones_fails_the_step_and_is_named() {
    let bed = bed(4);
    let rows = (0..4).map(|tile| orders(tile, &[(if tile == 2 { 900 } else { 100 }, 100)]));
    let (judged, _) = bed.judge(&steadily(&slice_of(rows.collect())));
    // Over all tiles p95 is 900 ms as well: 25 % of all orders are slow.
    assert_eq!(judged.verdict, Verdict::Failed);
    assert_eq!(judged.pooled[0].worst_tile, Some(2));
    let mut rows: Vec<ActionRow> = (0..4).map(|tile| orders(tile, &[(100, 3000)])).collect();
    rows[2] = orders(2, &[(100, 80), (900, 20)]);
    let (judged, _) = bed.judge(&steadily(&slice_of(rows)));
    assert_eq!(judged.pooled[0].result.verdict, Verdict::Passed);
    assert_eq!((judged.verdict, judged.cause), (Verdict::Failed, Cause::LimitBroken));
    assert!(judged.reason.ends_with("in tile 3"), "{}", judged.reason);
    assert_eq!(judged.broken.expect("a limit broke").0.tile, Some(2));
}

/// Regression of 1fa88dc: 7 of 32 mails of one tile of a hundred were over the limit, and the step
/// passed.
#[test]
fn a_bad_tile_of_a_hundred_is_not_excused_by_the_others() {
    let bed = bed(100);
    let mut rows: Vec<ActionRow> = (0..100).map(|tile| orders(tile, &[(100, 4)])).collect();
    rows[41] = orders(41, &[(100, 3), (900, 1)]);
    let (judged, _) = bed.judge(&steadily(&slice_of(rows)));
    assert_eq!(judged.pooled[0].result.verdict, Verdict::Passed);
    assert_eq!(judged.verdict, Verdict::Failed, "{}", judged.reason);
    assert!(judged.reason.ends_with("in tile 42"), "{}", judged.reason);
}

/// Each tile alone has too few orders to be sure, and all tiles together hide the bad ones.
#[test]
fn one_bad_host_among_good_ones_fails_the_step_and_is_named() {
    let host = |name: &str, tiles: &[u32]| -> HostStep {
        let none = json!({ "value": null, "reason": "" });
        serde_json::from_value(json!({
            "host": name, "tiles": tiles, "began_late_ns": 0, "clock_uncertainty_ns": 0,
            "slices_fetched": 0, "slice_late_max_ns": 0, "operations_per_s": 0.0,
            "bytes_per_s": 0.0, "limits": [],
            "against_others": { "samples": 0, "times": none, "low": none, "high": none },
            "generator": { "lateness_p99_ns": null, "worker_cpu_max": none, "queued": 0,
                "cpu_user_us_per_io": none, "cpu_system_us_per_io": none, "in_flight_mean": none,
                "saturated": false },
        }))
        .expect("a host's part")
    };
    let hosts = [host("a", &[0, 1, 2]), host("b", &[3, 4, 5, 6])];
    let well = (0..3).map(|tile| orders(tile, &[(100, 3000)]));
    let badly = (3..7).map(|tile| orders(tile, &[(100, 24), (900, 2)]));
    let slices = steadily(&slice_of(well.chain(badly).collect()));
    let (judged, _) = bed(7).judge_placed(&slices, &crate::Placed::of_step(&hosts, 7));
    let alone = judged.instances.iter().flatten();
    assert!(alone.clone().all(|own| own.verdict != Verdict::Failed), "{:?}", judged.instances);
    assert_eq!(judged.pooled[0].result.verdict, Verdict::Passed);
    assert_eq!(judged.hosts[0][0].result.verdict, Verdict::Passed);
    assert_eq!((judged.verdict, judged.cause), (Verdict::Failed, Cause::LimitBroken));
    assert!(judged.reason.ends_with("on host b"), "{}", judged.reason);
}

#[test]
fn tiles_together_have_enough_samples_when_one_alone_has_not() {
    let bed = bed(5);
    let rows: Vec<ActionRow> = (0..5).map(|tile| orders(tile, &[(100, 5)])).collect();
    let (judged, wants_more) = bed.judge(&steadily(&slice_of(rows)));
    assert_eq!((judged.verdict, wants_more), (Verdict::Passed, false), "{}", judged.reason);
    let alone = slice_of(vec![orders(0, &[(100, 5)])]);
    let (judged, wants_more) = self::bed(1).judge(&steadily(&alone));
    assert_eq!((judged.verdict, wants_more), (Verdict::Inconclusive, true));
}

/// A workload with calls only: nine successful ones, and some that failed.
fn called(errors: [u64; 5]) -> Slice {
    let calls = vec![CallRow {
        instance: InstanceId(0),
        kind: 0,
        bytes: units::Bytes::new(900),
        errors,
        service: samples(&[(10, 900)]),
        response: samples(&[(10, 900)]),
    }];
    Slice { calls, io: Vec::new(), ..slice_of(vec![orders(0, &[(10, 900)])]) }
}

#[test]
fn failed_calls_fail_the_step_with_reasons_and_few_do_not() {
    let (judged, _) = bed(1).judge(&steadily(&called([90, 0, 0, 10, 0])));
    assert_eq!((judged.verdict, judged.cause), (Verdict::Failed, Cause::CallsFailed));
    assert!(judged.reason.contains("10.0 % of the shop's calls failed"), "{}", judged.reason);
    assert!(judged.reason.contains("(720 refused, 80 status)"), "{}", judged.reason);
    let (judged, _) = bed(1).judge(&steadily(&called([0, 0, 1, 0, 0])));
    assert_eq!(judged.verdict, Verdict::Passed, "{}", judged.reason);
}

#[test]
fn service_that_answers_no_call_is_named_and_judges_no_storage() {
    let text =
        SHOP.replace("[[users]]", "[[endpoint]]\nname = \"page\"\nprotocol = \"http\"\n[[users]]");
    let text = text.replace(
        "{ read = { disk = \"db\", size = \"8k\" } }",
        "{ call = { endpoint = \"page\", size = \"1k\" } }",
    );
    let mut bed = bed(1);
    bed.tile = tile_of(vec![workload(&text)]);
    bed.topology.instances[0].kinds = vec!["page-call".to_owned()];
    let judged_at = |address: Option<&'static str>, count, errors| {
        let mut slice = called(errors);
        slice.actions[0].errors = 100;
        slice.actions[0].service = samples(&[]);
        slice.actions[0].response = samples(&[]);
        slice.calls[0].service = samples(&[(10, count)]);
        let mut window = Window::new(&bed.topology, Nanos::ZERO, 0);
        window.add(&slice);
        let (tile, members, topology) = (&bed.tile, &bed.members[..], &bed.topology);
        let judge = StepJudge { tile, members, topology, placed: &crate::Placed::default() };
        let warnings = judge.silent_services(&window, |name| {
            assert_eq!(name, "page");
            address
        });
        let (mut judged, _) = bed.judge(&[slice]);
        assert_eq!((judged.verdict, judged.cause), (Verdict::Failed, Cause::CallsFailed));
        excuse_silent_service(&mut judged, &warnings);
        (judged.verdict, judged.reason)
    };
    let judged = |count, errors| judged_at(Some("http://web/"), count, errors);
    let (verdict, reason) = judged(0, [60, 0, 0, 40, 0]);
    assert_eq!(verdict, Verdict::Inconclusive);
    let says = "the service of page (http://web/) answered no call (60 refused, 40 status)";
    assert!(reason.starts_with(says), "{reason}");
    // A service that answers some calls may be at its limit, and calls that time out may have
    // waited for the storage.
    assert_eq!(judged(1, [60, 0, 0, 40, 0]).0, Verdict::Failed);
    // A server of the run is on the measured storage.
    assert_eq!(judged_at(None, 0, [60, 0, 0, 40, 0]).0, Verdict::Failed);
    assert_eq!(judged(0, [60, 1, 0, 40, 0]).0, Verdict::Failed);
}

#[test]
fn a_limit_on_a_kind_of_call_is_held_against_its_service_times() {
    let mut bed = bed(1);
    let mut shop = workload(SHOP);
    shop.limits[0].action = None;
    shop.limits[0].call = Some("get".to_owned());
    shop.limits[0].limit = Some(Nanos::from_millis(5));
    bed.tile = tile_of(vec![shop]);
    bed.topology.instances[0].kinds = vec!["get".to_owned()];
    let (judged, _) = bed.judge(&steadily(&called([0; 5])));
    assert_eq!((judged.verdict, judged.cause), (Verdict::Failed, Cause::LimitBroken));
    assert!(judged.reason.starts_with("the shop's get calls reach 10"), "{}", judged.reason);
}

fn waiting(age_ms: u64, count: u32) -> OpenRow {
    let (instance, what) = (InstanceId(0), Unfinished::Action(0));
    OpenRow { instance, what, ages: samples(&[(age_ms, count)]) }
}

/// Regression of 1fa88dc: a device that died after 2.2 s of a 5 s window "passed, p95 516 us".
#[test]
fn unfinished_work_counts_with_its_age_when_the_window_ends() {
    let answering = slice_of(vec![orders(0, &[(1, 500)])]);
    let dead = |age: u64| Slice { open: vec![waiting(age, 1)], ..slice_of(Vec::new()) };
    let mut slices = vec![answering.clone(); 4];
    slices.extend([800, 1800, 2800, 3800].map(dead));
    let (judged, _) = bed(1).judge(&slices);
    assert_eq!(judged.verdict, Verdict::Failed, "{}", judged.reason);
    assert!(judged.reason.contains("1 was not finished"), "{}", judged.reason);
    let result = &judged.pooled[0].result;
    assert_eq!(result.unfinished, 1);
    assert!(result.measured_ns > Some(500_000_000), "{result:?}");
    // Work that began a moment ago breaks nothing, and neither does unfinished work of an earlier
    // slice.
    let mut young = vec![answering.clone(); 7];
    young.insert(3, dead(2800));
    young.push(Slice { open: vec![waiting(300, 1)], ..answering });
    let (judged, _) = bed(1).judge(&young);
    assert_eq!((judged.verdict, judged.pooled[0].result.unfinished), (Verdict::Passed, 0));
}

/// An order was open for 700 ms, and its user would have made 70 more meanwhile: the mean is
/// broken, whatever all others were.
#[test]
fn what_has_not_finished_may_break_a_mean_alone() {
    let mut shop = workload(SHOP);
    shop.limits = vec![limit("action = \"order\"\nmean = \"20ms\"")];
    let bed = Bed { tile: tile_of(vec![shop]), ..bed(1) };
    let mut slices = steadily(&slice_of(vec![orders(0, &[(10, 100)])]));
    assert_eq!(bed.judge(&slices).0.verdict, Verdict::Passed);
    slices[7].open = vec![waiting(700, 1)];
    let (judged, _) = bed.judge(&slices);
    assert_eq!((judged.verdict, judged.cause), (Verdict::Failed, Cause::LimitBroken));
    assert!(judged.reason.contains("1 was not finished"), "{}", judged.reason);
}

/// Regression from a lab whose array holds 43 tiles in virtual time: 39 and 40 tiles in four runs
/// of four. One sample that was open at the end decided for a tile whose samples did not decide.
#[test]
fn sample_open_at_the_end_decides_no_more_than_any_other() {
    let near = slice_of(vec![orders(0, &[(100, 94), (900, 6)])]);
    let mut slices = steadily(&near);
    assert_eq!(bed(1).judge(&slices).0.cause, Cause::Undecided);
    slices[7].open = vec![waiting(510, 1)];
    let (judged, wants_more) = bed(1).judge(&slices);
    assert_eq!((judged.cause, wants_more), (Cause::Undecided, true), "{}", judged.reason);
    assert_eq!(judged.pooled[0].result.unfinished, 1);
    let calm = slice_of(vec![orders(0, &[(100, 100)])]);
    let mut slices = steadily(&calm);
    slices[7].open = vec![waiting(510, 1)];
    assert_eq!(bed(1).judge(&slices).0.verdict, Verdict::Passed, "1 of 800");
    slices[7].open = vec![waiting(510, 15)];
    assert_eq!(bed(1).judge(&slices).0.cause, Cause::Undecided, "15 of 815, all at the end");
}

/// Slices within a burst period differ: whole periods are blocks once there are five, also if a
/// long window merges neighbours.
#[test]
fn blocks_are_burst_periods_where_the_window_has_five() {
    let (bed, placed) = (bed(1), crate::Placed::default());
    let judge = StepJudge {
        tile: &bed.tile,
        members: &bed.members,
        topology: &bed.topology,
        placed: &placed,
    };
    let slice = slice_of(vec![orders(0, &[(100, 3)])]);
    for (slices, blocks) in [(19, 19), (20, 5), (64, 16), (65, 17), (256, 64), (257, 33)] {
        let mut samples = LimitSamples::new(&judge, 4);
        (0..slices).for_each(|_| samples.add(&judge, &slice));
        let found = samples.of(&judge, 0, 0);
        assert_eq!(found.blocks(1, usize::MAX).len(), blocks, "{slices} slices");
        assert_eq!(found.count(), 3 * slices);
    }
    let ten = Samples::of(vec![samples(&[(1, 1)]); 10]);
    assert_eq!([ten.blocks(5, 5).len(), ten.blocks(5, 3).len()], [5, 10], "five at least");
}

/// A live view, which is computed at every slice, must use the same samples as the verdict, however
/// many rows were merged and whoever still waits.
#[test]
fn pooled_samples_equal_the_sum_of_members_samples() {
    let (bed, placed) = (bed(3), crate::Placed::default());
    let judge = StepJudge {
        tile: &bed.tile,
        members: &bed.members,
        topology: &bed.topology,
        placed: &placed,
    };
    for (slices, per_block) in [(1, 1), (5, 1), (19, 4), (64, 4), (65, 4), (130, 1)] {
        let mut samples = LimitSamples::new(&judge, per_block);
        let all: Vec<usize> = (0..judge.members.len()).collect();
        for at in 0..slices {
            let own = |tile: u32| orders(tile, &[(90 + at + u64::from(tile), 3), (7, tile)]);
            let mut slice = slice_of(vec![own(0), own(1), own(2)]);
            if at % 3 == 0 {
                slice.open = vec![waiting(510 + at, 2)];
            }
            samples.add(&judge, &slice);
            for (workload, _, limit, _) in judge.limits() {
                let each = samples.pooled(&judge, (workload, limit), &all);
                assert_eq!(samples.together(&judge, (workload, limit)), each, "{at} of {slices}");
            }
        }
    }
}

#[test]
fn saturated_generator_is_inconclusive_even_if_a_limit_broke() {
    let late = Slice {
        generator: GeneratorRow {
            submitted: 1000,
            worker_cpu: vec![0.2, 0.97],
            lateness: samples(&[(40, 1000)]),
            ..GeneratorRow::default()
        },
        ..slice_of(vec![orders(0, &[(900, 1000)])])
    };
    let (judged, wants_more) = bed(1).judge(&steadily(&late));
    assert_eq!((judged.verdict, wants_more), (Verdict::Inconclusive, false));
    assert!(judged.reason.starts_with("the generator was the limit: "), "{}", judged.reason);
    assert!(judged.generator.saturated);
    // A busy generator that is punctual is not saturated.
    let mut busy = late.clone();
    busy.generator.lateness = samples(&[(1, 1000)]);
    let (judged, _) = bed(1).judge(&steadily(&busy));
    assert_eq!((judged.verdict, judged.generator.saturated), (Verdict::Failed, false));
    let mut queueing = late;
    queueing.generator.worker_cpu = vec![0.1];
    queueing.generator.lateness = samples(&[(1, 1000)]);
    queueing.generator.queued = 11;
    let (judged, _) = bed(1).judge(&steadily(&queueing));
    assert_eq!((judged.verdict, judged.generator.saturated), (Verdict::Inconclusive, true));
    // With a thousand unanswered I/Os the wait is for the storage, wherever it happens.
    queueing.generator.in_flight = 1000;
    assert_eq!(bed(1).judge(&steadily(&queueing)).0.verdict, Verdict::Failed);
}

/// Regression of 1fa88dc: a generator that was stopped for 2 s blamed the storage, because a
/// generator that does not run uses little CPU.
#[test]
fn a_generator_that_did_not_run_is_not_the_storages_fault() {
    let running = slice_of(vec![orders(0, &[(100, 100)])]);
    let mut stopped = slice_of(vec![orders(0, &[(100, 60), (2100, 40)])]);
    stopped.generator.lateness = samples(&[(0, 99), (2000, 1)]);
    stopped.generator.worker_cpu = vec![0.1];
    let mut slices = vec![running.clone(); 7];
    slices.push(stopped.clone());
    let (judged, wants_more) = bed(1).judge(&slices);
    assert_eq!((judged.verdict, judged.cause), (Verdict::Inconclusive, Cause::Generator));
    assert!(judged.reason.contains("it did not run for 2"), "{}", judged.reason);
    assert!(!wants_more && !judged.generator.saturated);
    // Work that was not asked for meanwhile cannot have passed.
    stopped.actions = running.actions.clone();
    let mut slices = vec![running.clone(); 7];
    slices.push(stopped);
    let (judged, _) = bed(1).judge(&slices);
    assert_eq!((judged.verdict, judged.cause), (Verdict::Inconclusive, Cause::Generator));
    // A generator that was late now and then has asked for everything.
    let mut late = running;
    late.generator.lateness = samples(&[(0, 970), (30, 30)]);
    assert_eq!(bed(1).judge(&vec![late.clone(); 4000]).0.verdict, Verdict::Passed);
    late.generator.lateness = samples(&[(0, 900), (30, 100)]);
    let (judged, _) = bed(1).judge(&vec![late; 4000]);
    assert!(judged.reason.contains("one in twenty of its starts was 30"), "{}", judged.reason);
}

/// Regression of e6eaf978: "0.45 (0.43 to 0.46)" for a load whose generator was stopped half of the
/// time.
#[test]
fn step_with_generator_away_is_inconclusive_if_it_passed() {
    let mut slice = slice_of(vec![orders(0, &[(100, 100)])]);
    slice.width = Nanos::SECOND;
    let of = |slice: &Slice, away| {
        let mut slices = steadily(slice);
        slices[3].generator.away = ms(away);
        bed(1).judge(&slices).0
    };
    assert_eq!(of(&slice, 75).verdict, Verdict::Passed, "79 of 8000 ms are a hundredth");
    let judged = of(&slice, 4000);
    assert_eq!((judged.verdict, judged.cause), (Verdict::Inconclusive, Cause::Generator));
    assert!(judged.reason.contains("for 4 s in all, 50 % of the time"), "{}", judged.reason);
    // A full queue also keeps the generator in the kernel: a limit that broke then is the storage's
    // fault.
    slice.actions = vec![orders(0, &[(900, 100)])];
    assert_eq!(of(&slice, 4000).verdict, Verdict::Failed);
}

/// Regression of e6eaf978: a step that did an eighth of its arrivals "passed: every limit held".
#[test]
fn starts_never_begun_fail_a_step_without_a_limit() {
    let mut bed = bed(1);
    bed.tile.workloads[0].0.limits.clear();
    let mut slices = steadily(&slice_of(vec![orders(0, &[(1, 100)])]));
    slices.iter_mut().for_each(|slice| slice.width = Nanos::SECOND);
    let mut judged = |what, age, count| {
        slices[7].open = vec![OpenRow { what, ..waiting(age, count) }];
        bed.judge(&slices).0
    };
    let start = Unfinished::Start(0);
    // These starts are younger than a twentieth of the window, so they may begin in a moment.
    assert_eq!(judged(start, 300, 200).verdict, Verdict::Passed);
    assert_eq!(judged(start, 3000, 50).verdict, Verdict::Passed, "50 less 14 of 850");
    assert_eq!(judged(Unfinished::Action(0), 3000, 80).verdict, Verdict::Passed, "they began");
    let judged = judged(start, 3000, 80);
    assert_eq!((judged.verdict, judged.cause), (Verdict::Failed, Cause::GaveUp));
    let text = "9 % of the shop's starts (80) had not begun when the time ended";
    assert!(judged.reason.starts_with(text), "{}", judged.reason);
}

/// A start that has not begun counts as an answer of that length, too.
#[test]
fn starts_never_begun_are_samples_of_their_limit() {
    let mut slices = steadily(&slice_of(vec![orders(0, &[(100, 100)])]));
    slices[7].open = vec![OpenRow { what: Unfinished::Start(0), ..waiting(510, 45) }];
    let (judged, _) = bed(1).judge(&slices);
    assert_eq!((judged.verdict, judged.cause), (Verdict::Failed, Cause::LimitBroken));
    assert_eq!(judged.pooled[0].result.unfinished, 45);
}

/// The limit of a shop, and one on the median.
fn two_limits() -> Bed {
    let mut shop = workload(SHOP);
    shop.limits.push(limit("action = \"order\"\npercentile = 50\nlimit = \"200ms\""));
    Bed { tile: tile_of(vec![shop]), ..bed(1) }
}

/// A twentieth of 200 ms is 10 ms, of 500 ms it is 25.
#[test]
fn a_generator_may_be_late_by_a_twentieth_of_the_tightest_limit() {
    let mut late = slice_of(vec![orders(0, &[(900, 1000)])]);
    late.generator.lateness = samples(&[(9, 1000)]);
    late.width = ms(10);
    assert_eq!(two_limits().judge(&steadily(&late)).0.cause, Cause::LimitBroken);
    late.generator.lateness = samples(&[(15, 1000)]);
    assert_eq!(two_limits().judge(&steadily(&late)).0.cause, Cause::Generator);
}

#[test]
fn limit_with_the_least_room_is_told_kept_or_broken() {
    let told = |values: &[(u64, u32)]| {
        let (judged, _) = two_limits().judge(&steadily(&slice_of(vec![orders(0, values)])));
        (judged.verdict, judged.reason)
    };
    let (verdict, reason) = told(&[(150, 900), (300, 100)]);
    assert!(verdict == Verdict::Passed && reason.contains("at p50"), "{reason}");
    let (verdict, reason) = told(&[(20, 900), (450, 100)]);
    assert!(verdict == Verdict::Passed && reason.contains("at p95"), "{reason}");
    let (verdict, reason) = told(&[(400, 900), (600, 100)]);
    assert!(verdict == Verdict::Failed && reason.contains("at p50"), "{reason}");
    let (verdict, reason) = told(&[(300, 900), (2000, 100)]);
    assert!(verdict == Verdict::Failed && reason.contains("at p95"), "{reason}");
}

/// Regression: a workload with calls whose actions take longer than the window "got no answer at
/// all".
#[test]
fn answered_calls_are_answers_even_if_no_action_ended() {
    let mut long = called([0; 5]);
    long.actions.clear();
    long.generator.in_flight = 3;
    let (judged, wants_more) = bed(1).judge(&steadily(&long));
    assert_ne!(judged.cause, Cause::NoAnswer, "{}", judged.reason);
    long.calls.clear();
    assert_eq!(bed(1).judge(&steadily(&long)).0.cause, Cause::NoAnswer);
    assert!(!wants_more);
}

#[test]
fn a_hundredth_of_the_starts_may_be_given_up() {
    let mut row = orders(0, &[(100, 990)]);
    row.dropped = 10;
    let (judged, _) = bed(1).judge(&steadily(&slice_of(vec![row])));
    assert_eq!(judged.verdict, Verdict::Passed, "{}", judged.reason);
    // Failed starts count as starts.
    let row = ActionRow { errors: 500, dropped: 10, ..orders(0, &[(100, 490)]) };
    let (judged, _) = bed(1).judge(&steadily(&slice_of(vec![row])));
    assert_eq!(judged.verdict, Verdict::Passed, "{}", judged.reason);
}

#[test]
fn users_who_give_up_fail_a_step_whose_latencies_are_fine() {
    let mut row = orders(0, &[(100, 980)]);
    row.dropped = 20;
    let (judged, _) = bed(1).judge(&steadily(&slice_of(vec![row])));
    assert_eq!(judged.verdict, Verdict::Failed);
    assert_eq!(
        judged.reason,
        "the shop's users gave up 2.0 % of their starts against a limit of 1 %"
    );
}

#[test]
fn storage_without_answers_fails_instead_of_lacking_samples() {
    let hung = Slice {
        width: Nanos::SECOND,
        generator: GeneratorRow { in_flight: 7, ..GeneratorRow::default() },
        ..Slice::default()
    };
    let mut unscored = workload(SHOP);
    unscored.metric.count = Counted::None;
    let unscored = Bed { tile: tile_of(vec![unscored]), ..bed(1) };
    assert_ne!(unscored.judge(std::slice::from_ref(&hung)).0.cause, Cause::NoAnswer, "only load");
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
        let mut result = judge_limit(&p95(), &blocks(&[(900, 125)]), CONFIDENCE);
        result.name = action.to_owned();
        let text = sentence("shop", &result);
        assert!(text.starts_with(&format!("the shop's {plural} reach")), "{text}");
    }
}
