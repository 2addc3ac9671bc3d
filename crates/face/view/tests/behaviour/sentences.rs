//! Sentences of a ladder, of a live run, of a recorded trace, and of two runs.

use std::fmt::Write;
use std::sync::Arc;

use run_store::gauge::{Gauge, GaugeName, Readings};
use run_store::rollup::Rollup;
use run_store::run::{
    Bottleneck, Capacity, ClimbFacts, Disturbance, Figure, HostFacts, Hysteresis, LeftOut,
    ModelFacts, NextStep, OutOfTime, Phase, PlaceFacts, Resized, Resource, Run, Statistic, Step,
    TierCounts, TierFacts, TilesInterval, Wait, Waited, Warning,
};
use run_store::rundir::{RunDir, RunId, StoredRun};
use run_store::slice::Direction;
use trace::{Clock, IoRecord, Losses, Memory, Operation, TraceInfo};
use units::{Bytes, Nanos};
use view::document::{LivePhase, LiveState, RunKind};
use view::sample::Sample;
use view::{Lens, Request, Source, TraceFacts, View, answer, compare};

use crate::model::{self, Plain, Row};

const SMALL: Sample = Sample { steps: 3, slices: 60, slice: Nanos::SECOND, ..Sample::LADDER };

fn ladder() -> Source {
    Source::in_memory(SMALL.run(), Arc::new(SMALL.rollup()))
}

/// All sentences of a source through a lens.
fn said(source: &Source, query: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for view in View::ALL {
        let request = Request::parse(view.name(), query.iter().copied()).expect("a request");
        let said = answer(source, &request);
        writeln!(text, "{request}: {}", said.sentence()).expect("text");
    }
    text
}

fn told(source: &Source, lens: &Lens) -> String {
    let found = model::overview(source, lens);
    let mut text = format!(
        "{}\n{}\n{}\n{}\n",
        found.verdict, found.sentence, found.cause, found.sizes_sentence
    );
    for hero in &found.heroes {
        writeln!(text, "* {}: {} ({}) -> {}", hero.label, hero.text, hero.note, hero.link)
            .expect("text");
    }
    for finding in &found.findings {
        writeln!(text, "- {}: {} -> {}", finding.id, finding.text, finding.link).expect("text");
    }
    text
}

#[test]
fn a_ladder_says_what_it_holds_what_breaks_and_why() {
    insta::assert_snapshot!(told(&ladder(), &Lens::default()));
}

#[test]
fn a_step_says_how_it_went() {
    insta::assert_snapshot!(told(&ladder(), &Lens { step: Some(2), ..Lens::default() }));
}

#[test]
fn every_view_of_a_ladder_says_one_sentence() {
    insta::assert_snapshot!(said(&ladder(), &[]));
}

#[test]
fn every_view_of_writes_in_a_minute_says_one_sentence() {
    let query = [("dir", "w"), ("t", "60-120"), ("m", "lat"), ("by", "bs")];
    insta::assert_snapshot!(said(&ladder(), &query));
}

#[test]
fn a_simulated_ladder_is_not_taken_for_a_measured_one() {
    let mut run = SMALL.run();
    run.target.kind = "simulated".to_owned();
    let source = Source::in_memory(run, Arc::new(SMALL.rollup()));
    assert_eq!(source.row().kind, RunKind::Simulated);
    insta::assert_snapshot!(source.row().sentence);
}

#[test]
fn what_does_not_hold_one_tile_says_so() {
    let mut run = SMALL.run();
    run.answer.tiles_held = Some(0);
    if let Some(broken) = &mut run.answer.first_broken {
        broken.tiles = 1;
    }
    let source = Source::in_memory(run, Arc::new(SMALL.rollup()));
    insta::assert_snapshot!(source.row().sentence);
    assert_eq!(model::overview(&source, &Lens::default()).verdict, "failed");
}

#[test]
fn links_of_main_numbers_and_findings_have_a_valid_lens() {
    let found = model::overview(&ladder(), &Lens::default());
    let heroes = found.heroes.iter().map(|hero| &hero.link);
    let links: Vec<&String> = heroes.chain(found.findings.iter().map(|f| &f.link)).collect();
    assert!(links.len() > 4);
    for link in links {
        let (page, query) = link.split_once('?').unwrap_or((link, ""));
        assert!(["workload", "latency", "map", "tier"].contains(&page), "{link}");
        let pairs: Vec<_> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        for view in ["series", "moment"] {
            let parsed = Request::parse(view, pairs.iter().copied());
            assert!(parsed.is_ok(), "{link}: {parsed:?}");
        }
    }
}

/// A run in which two large classes of writes have the most waiting.
fn large_writes(step: u32) -> Plain {
    let (small, large) = (vec![1_000_000; 90], vec![20_000_000; 20]);
    let row = |direction, class, workload, latencies: &Vec<u64>| Row {
        step,
        phase: Phase::Measured,
        at: 0,
        tile: 1,
        workload,
        direction,
        class,
        bytes: 1,
        latencies: latencies.clone(),
    };
    Plain {
        rows: vec![
            row(Direction::Read, 1, "mail", &small),
            row(Direction::Write, 1, "mail", &small),
            row(Direction::Write, 5, "shop", &large),
            row(Direction::Write, 7, "shop", &large),
        ],
        slices: vec![(step, Phase::Measured, 0)],
    }
}

#[test]
fn cause_is_the_part_with_most_waiting_beyond_its_share() {
    let plain = large_writes(1);
    let run = Sample { steps: 1, ..SMALL }.run();
    let source = Source::in_memory(run, Arc::new(plain.rollup()));
    let found = model::overview(&source, &Lens::default());
    insta::assert_snapshot!(found.cause);
    let link = found.findings.iter().find(|finding| finding.id == "contribution");
    let link = link.map(|finding| finding.link.as_str());
    assert_eq!(link, Some("workload?by=bs&bs=64k,128k,256k&dir=w&m=lat"));
}

fn state(phase: LivePhase) -> LiveState {
    LiveState {
        version: 1,
        phase,
        headline: String::new(),
        sentence: String::new(),
        tiles: 3,
        elapsed_ns: 57_000_000_000,
        left_ns: Some(53_000_000_000),
        run_left: None,
        prepared: Some(0.42),
        operations_per_s: 18_400.0,
        calls_per_s: None,
        bytes_per_s: 1e8,
        p99_ns: Some(900_000),
        limits: Vec::new(),
        doubts: Vec::new(),
        hosts: Vec::new(),
        lost_slices: 0,
    }
}

/// A run of one step, ten seconds before its end.
fn running(phase: LivePhase, slices: u32) -> String {
    let sample = Sample { tiles_first: 3, steps: 1, slices, slice: Nanos::SECOND, seed: 1 };
    let run = Run { steps: Vec::new(), ..sample.run() };
    let rollup = if slices == 0 { Rollup::new() } else { sample.rollup() };
    let source = Source::live(None, Some(run), Arc::new(rollup), state(phase));
    let live = source.live_state().expect("it runs").sentence.clone();
    assert_eq!(source.page().row.sentence, live);
    assert_eq!(model::overview(&source, &Lens::default()).verdict, "running");
    live
}

#[test]
fn a_live_run_says_what_runs_how_far_it_is_and_what_users_feel() {
    let said: Vec<String> = [
        (LivePhase::Preparing, 0),
        (LivePhase::WarmUp, 5),
        (LivePhase::Measured, 12),
        (LivePhase::Judging, 12),
    ]
    .into_iter()
    .map(|(phase, slices)| running(phase, slices))
    .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_recorded_trace_is_observed_and_not_judged() {
    let facts =
        TraceFacts { id: "t".to_owned(), name: "web1.trace".to_owned(), ..TraceFacts::default() };
    let source = Source::trace(facts, Arc::new(SMALL.rollup()), None);
    let page = source.page();
    assert!(!page.dimensions.has_ladder);
    assert_eq!(page.row.kind, RunKind::Recorded);
    insta::assert_snapshot!(told(&source, &Lens::default()));
}

#[test]
fn trace_without_latencies_says_so_and_shows_no_times() {
    let info = TraceInfo {
        format: "test",
        clock: Clock::Real { resolution: Nanos(1) },
        started_unix_ns: None,
        has_latency: false,
        vms: vec!["db".to_owned()],
        devices: Vec::new(),
        losses: Losses::default(),
    };
    let io = |at: u64| IoRecord::new(Nanos::from_millis(at * 10), Operation::Read, at << 12, 4096);
    let rollup = view::observed::observe(&mut Memory::new(info, (0..1000).map(io).collect()));
    let source = Source::trace(TraceFacts::default(), Arc::new(rollup.expect("it reads")), None);
    let text = told(&source, &Lens::default()) + &said(&source, &[]);
    assert!(text.contains("came without latencies"), "{text}");
    for invented in ["NaN", "inf", " 0 s", "p99 of", "out of proportion", "0 % of waiting"] {
        assert!(!text.contains(invented), "{invented} in: {text}");
    }
}

fn with_tier(step: &mut Step) {
    let tier = TierFacts {
        name: "near".to_owned(),
        capacity_bytes: 1 << 30,
        counts: TierCounts {
            reads: 1000,
            read_hits: 900,
            read_bytes: 8_192_000,
            read_hit_bytes: 7_372_800,
            writes: 500,
            writes_absorbed: 490,
            evicted_bytes: 3 << 20,
            ..TierCounts::default()
        },
        ..TierFacts::default()
    };
    step.model = Some(ModelFacts { tiers: vec![tier], ..ModelFacts::default() });
}

#[test]
fn a_tier_says_what_came_from_it() {
    let mut run = SMALL.run();
    run.steps.iter_mut().take(1).for_each(with_tier);
    let source = Source::in_memory(run, Arc::new(SMALL.rollup()));
    let page = model::tier(&source, &Lens::default());
    let heroes: Vec<String> = page
        .heroes
        .iter()
        .map(|hero| format!("{}: {} ({})", hero.label, hero.text, hero.note))
        .collect();
    insta::assert_snapshot!(format!("{}\n{}", page.sentence, heroes.join("\n")));
    assert!(page.is_present);
}

/// Misses and destages of the tier reach the memory behind it: a sum would count them twice.
#[test]
fn stacked_tiers_are_not_added_up() {
    let mut run = SMALL.run();
    run.target.kind = "simulated".to_owned();
    for step in run.steps.iter_mut().take(1) {
        with_tier(step);
        let memory = TierFacts {
            name: "read memory".to_owned(),
            counts: TierCounts { reads: 200, read_hits: 50, writes: 490, ..TierCounts::default() },
            ..TierFacts::default()
        };
        step.model.as_mut().expect("just set").tiers.push(memory);
    }
    let source = Source::in_memory(run, Arc::new(SMALL.rollup()));
    let page = model::tier(&source, &Lens::default());
    assert_eq!(
        page.sentence,
        "90 % of 1,000 reads came from near, it answered 98 % of 500 writes, and 3 MiB were evicted \
         in measured time. Of 200 reads that reached read memory 25 % came from there."
    );
    assert_eq!(page.heroes[0].text, "90 % (900 reads)");
    assert_eq!(page.heroes[2].text, "98 % (490 writes)");
}

#[test]
fn what_the_action_that_broke_waited_for_is_not_told_of_another() {
    let mut run = SMALL.run();
    let broken = run.answer.first_broken.as_mut().expect("a limit broke");
    // A limit broke worst in one tile; over all tiles another limit has the least room.
    (broken.workload, broken.limit.name) = ("web".to_owned(), "add-event".to_owned());
    let tiles = broken.tiles;
    let step = run.steps.iter_mut().find(|step| step.tiles == tiles).expect("its step");
    step.waits = vec![Wait { what: Waited::Flushes { disk: "web-log".to_owned() }, share: 0.93 }];
    let rollup = large_writes(step.step).rollup();
    let source = Source::in_memory(run, Arc::new(rollup));
    let why = source.page().headline.and_then(|headline| headline.why).expect("a step broke");
    assert!(why.contains("Of the time of web add-event on average 93 %"), "{why}");
}

#[test]
fn a_step_that_ran_out_of_processors_is_not_blamed_on_its_ios() {
    let mut run = SMALL.run();
    let broken = run.answer.first_broken.as_ref().expect("a limit broke").tiles;
    let step = run.steps.iter_mut().find(|step| step.tiles == broken).expect("its step");
    let found = |kind, text: &str| Bottleneck {
        kind,
        name: "processors of host-3".to_owned(),
        utilisation: Some(0.99),
        text: text.to_owned(),
        source: "the model".to_owned(),
    };
    step.bottleneck = Some(found(Resource::HostCpu, "processors of host-3 99 % busy"));
    step.waits = vec![Wait { what: Waited::Processor, share: 0.83 }];
    let page = |run: &Run| {
        let number = run.steps.iter().find(|step| step.tiles == broken).expect("its step").step;
        let rollup = large_writes(number).rollup();
        let source = Source::in_memory(run.clone(), Arc::new(rollup));
        let why = source.page().headline.and_then(|headline| headline.why).expect("a step broke");
        (model::overview(&source, &Lens::default()), why)
    };
    let (overview, why) = page(&run);
    // Regression from the README's picture: "Reads cause 45 % of waiting time", although reads had
    // none of it.
    assert!(why.starts_with("Processors of host-3 99 % busy. Of the time of"), "{why}");
    assert!(
        overview.cause.to_lowercase().contains("processors of host-3 99 % busy."),
        "{}",
        overview.cause
    );
    assert!(overview.cause.contains("on average 83 % went to a processor."), "{}", overview.cause);
    assert!(!overview.cause.to_lowercase().contains("writes"), "{}", overview.cause);
    let ids = |overview: &view::document::Overview| -> Vec<String> {
        overview.findings.iter().map(|finding| finding.id.clone()).collect()
    };
    assert!(!ids(&overview).contains(&"contribution".to_owned()), "{:?}", overview.findings);
    let step = run.steps.iter_mut().find(|step| step.tiles == broken).expect("its step");
    step.bottleneck = Some(found(Resource::NoneSeen, "nothing was at its limit"));
    step.waits.clear();
    let (unknown, why) = page(&run);
    assert!(why.contains("rites of 64 KiB and above"), "{why}");
    assert!(ids(&unknown).contains(&"contribution".to_owned()), "{:?}", unknown.findings);
    assert!(unknown.cause.contains("rites of 64 KiB and above"), "{}", unknown.cause);
}

/// Regression: the first number was the longest of 86,000 reads, four times its limit, for a step
/// that had passed, because a maximum decides nothing.
#[test]
fn exceeded_maximum_is_not_the_limit_with_least_room() {
    let mut run = SMALL.run();
    for step in &mut run.steps {
        let mut longest = step.limits.first().expect("a limit").clone();
        longest.result.statistic = Statistic::Max;
        longest.result.margin = Figure::of(-3.0);
        step.limits.push(longest);
    }
    let source = Source::in_memory(run, Arc::new(SMALL.rollup()));
    let first = model::overview(&source, &Lens::default()).heroes.remove(0);
    assert!(!first.label.contains("max"), "{first:?}");
}

#[test]
fn who_ran_on_which_host_is_told_where_there_are_several() {
    let mut run = SMALL.run();
    let first = run.steps.first_mut().expect("a step");
    let workload = first.workloads[0].workload.clone();
    let place = |tile: u32, hosts: &[&str]| PlaceFacts {
        tile,
        workload: workload.clone(),
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
    };
    let host = HostFacts {
        name: "host-1".to_owned(),
        used: 0.5,
        cycles: None,
        capacity: 1.0,
        used_max_1s: 0.5,
        used_max_20s: 0.5,
        ready: 0.0,
        ready_max_1s: 0.0,
        ready_max_20s: 0.0,
    };
    let places = vec![place(0, &["host-1", "host-3"]), place(1, &["host-2"])];
    let mut model = ModelFacts { places, hosts: vec![host.clone()], ..ModelFacts::default() };
    let hosts_of = |model: &ModelFacts, run: &Run| {
        let mut run = run.clone();
        run.steps[0].model = Some(model.clone());
        let source = Source::in_memory(run, Arc::new(SMALL.rollup()));
        let items = model::map(&source, &Lens::default()).items;
        let own = items.into_iter().filter(|item| item.workload == workload && item.tile < 3);
        let mut own: Vec<_> = own.map(|item| (item.tile, item.host)).collect();
        own.sort();
        own
    };
    assert!(hosts_of(&model, &run).iter().all(|(_, host)| host.is_none()), "one host for all");
    model.hosts.push(host);
    let named = hosts_of(&model, &run);
    assert_eq!(named[0], (1, Some("host-1, host-3".to_owned())));
    assert_eq!(named.get(1).map(|item| item.1.as_deref()), Some(Some("host-2")));
}

#[test]
fn tiers_over_time_add_up_to_what_they_counted() {
    let mut rollup = Rollup::new();
    let mut reads = 0;
    SMALL.each_slice(|key, topology, slice| {
        rollup.slice(key, topology, slice);
        reads += 100;
        let tier = TierFacts {
            name: "near".to_owned(),
            capacity_bytes: 1 << 30,
            counts: TierCounts {
                reads: 100,
                read_hits: 50,
                resident_bytes: reads,
                ..TierCounts::default()
            },
            ..TierFacts::default()
        };
        rollup.readings(slice.width, &Readings::of_tiers(vec![tier]));
    });
    let source = Source::in_memory(SMALL.run(), Arc::new(rollup));
    let page = model::tier(&source, &Lens { points: 7, ..Lens::default() });
    let near = &page.tiers[0];
    assert_eq!(near.reads.iter().sum::<u64>(), reads);
    assert_eq!(near.read_hits.iter().sum::<u64>(), reads / 2);
    assert_eq!(near.resident_bytes.last(), Some(&reads));
    assert_eq!(near.at_ns.len(), near.observed_read_p99_ns.len());
    assert!(near.backing_read_p99_ns.is_empty());
    assert!(near.read_hit_share.iter().all(|share| *share == Some(0.5)));
    assert!(near.writes_absorbed_share.iter().all(Option::is_none));
    let seconds = near.width_ns.iter().map(|width| *width as f64 / 1e9);
    let of_rates: f64 = near.rates.misses_per_s.iter().zip(seconds).map(|(r, s)| r * s).sum();
    assert!((of_rates - reads as f64 / 2.0).abs() < 1e-3 * reads as f64, "{of_rates} of {reads}");
    assert!(near.held_sentence.ends_with("; nothing was evicted."), "{}", near.held_sentence);
    assert_eq!(near.dirty_sentence, "Nothing ever waited to be written to the backing store.");
}

#[test]
fn a_tier_that_is_full_and_dirty_says_since_when_and_how_much() {
    let mut rollup = Rollup::new();
    let mut slices = 0_u64;
    SMALL.each_slice(|key, topology, slice| {
        rollup.slice(key, topology, slice);
        slices += 1;
        let counts = TierCounts {
            resident_bytes: 512 << 20,
            dirty_bytes: if slices == 3 { 256 << 20 } else { 0 },
            evicted_bytes: if slices > 2 { 1 << 20 } else { 0 },
            ..TierCounts::default()
        };
        let tier = TierFacts {
            name: "near".to_owned(),
            capacity_bytes: 1 << 30,
            counts,
            ..TierFacts::default()
        };
        rollup.readings(slice.width, &Readings::of_tiers(vec![tier]));
    });
    let source = Source::in_memory(SMALL.run(), Arc::new(rollup));
    let near = &model::tier(&source, &Lens { points: 4000, ..Lens::default() }).tiers[0];
    let evicted = Bytes::new((slices - 2) << 20);
    let held = format!(
        "At the end it holds 512 MiB of 1 GiB (50 %); from 00:02 on it evicted {evicted}, warm-up \
         included."
    );
    assert_eq!(near.held_sentence, held);
    let dirty = "At most 256 MiB waited to be written to the backing store, at 00:02: 25 % of the tier's 1 GiB.";
    assert_eq!(near.dirty_sentence, dirty);
    assert!(!near.is_destaged_at_once);
}

#[test]
fn the_curve_has_every_step_and_names_the_limit_that_broke() {
    let found = model::curve(&ladder(), &Lens::default());
    assert_eq!((found.tiles_held, found.tiles_failed), (Some(2), Some(3)));
    assert_eq!(found.limits, ["shop order p95"]);
    assert_eq!(found.points.iter().map(|point| point.tiles).collect::<Vec<_>>(), [1, 2, 3]);
    let broken = found.points[2].limits[0].as_ref().expect("a limit");
    assert_eq!((broken.verdict.as_str(), broken.worst_tile), ("failed", Some(3)));
}

#[test]
fn two_runs_are_compared_by_figures_and_distributions() {
    let (a, mut other) = (ladder(), SMALL.run());
    other.engine.workers = 2;
    other.seed = 2;
    let rollup = Sample { seed: 2, ..SMALL }.rollup();
    let b = Source::in_memory(other, Arc::new(rollup));
    let page = compare(&a, &b);
    insta::assert_snapshot!(page.sentence);
    assert_eq!((page.verdict.as_str(), page.seeds.as_str()), ("inconclusive", "different"));
    assert!(page.plan.iter().any(|row| row.key == "engine.workers"), "{:?}", page.plan);
    assert_eq!(page.a.tiles, 3);
    assert_eq!(page.curves.len(), 4);
    let change: f64 = page.difference.iter().flatten().sum();
    assert!(change.abs() < 1e-9, "shares lost in one place are gained in another: {change}");
    assert!(page.difference.iter().flatten().any(|change| *change != 0.0));
    let same = compare(&a, &a);
    assert!(same.difference.iter().flatten().all(|change| *change == 0.0));
}

fn headline_of(run: Run) -> String {
    let source = Source::in_memory(run, Arc::new(SMALL.rollup()));
    let headline = source.page().headline.expect("a run that has ended has one");
    serde_json::to_string_pretty(&headline).expect("JSON")
}

#[test]
fn headline_has_speed_capacity_and_doubts_each_once() {
    let mut run = SMALL.run();
    run.profile = "quick".to_owned();
    run.scale.footprint = 1.0 / 512.0;
    let answer = &mut run.answer;
    answer.tiles_interval =
        Some(TilesInterval { low: 1, high: Some(3), most_likely: Some(2), confidence: 0.95 });
    answer.capacity = Some(Capacity { tiles: 0, tile_bytes: 256 << 30, bytes: 100 << 30 });
    run.steps[1].disturbances = vec![Disturbance {
        gauge: GaugeName::CpuOthers,
        by: "rustc".to_owned(),
        value: 0.4,
        limit: 0.1,
    }];
    run.warnings = vec![Warning {
        id: "scaled-footprint".to_owned(),
        text: "disks have 1/512 of their full size".to_owned(),
        value: None,
        limit: None,
        hint: None,
    }];
    insta::assert_snapshot!(headline_of(run));
}

#[test]
fn count_that_failed_after_an_overload_is_a_doubt() {
    let mut run = SMALL.run();
    let hysteresis = Some(Hysteresis { tiles: 1, overload: 3 });
    run.answer.climb = Some(ClimbFacts { hysteresis, ..ClimbFacts::default() });
    let told = headline_of(run);
    assert!(told.contains("1 tile passed before the overload with 3 tiles"), "{told}");
}

/// Regression: the page said "Complete", and did not mention the steps that `--within` left out.
#[test]
fn simulation_ended_by_its_time_is_not_called_complete() {
    let mut run = SMALL.run();
    let next = Some(NextStep { tiles: 2, repeat: 2 });
    let left_out = Some(LeftOut { next, steps_run: 3, steps_asked: Some(6) });
    let out_of_time = Some(OutOfTime { time_ns: 120_000_000_000, left_out });
    run.answer.climb = Some(ClimbFacts { out_of_time, ..ClimbFacts::default() });
    let page = Source::in_memory(run, Arc::new(SMALL.rollup())).page();
    assert_eq!(page.row.status.as_deref(), Some("ended-early"));
    let doubts = page.headline.expect("a run that has ended has one").doubts;
    let texts: Vec<&str> = doubts.iter().map(|own| own.text.as_str()).collect();
    assert_eq!(texts, ["The time of 2m ended before run 2 of 2 tiles: 3 of 6 steps were run."]);
}

#[test]
fn edges_with_both_sizes_of_disks_are_shown() {
    let texts = |is_search| {
        let mut run = SMALL.run();
        run.tile.disk_bytes = 512 << 20;
        let (footprint, tile_bytes) = (0.25, 128 << 20);
        let steps = Vec::new();
        run.resized =
            Some(Resized { is_search, footprint, tile_bytes, held: 46, failed: 64, steps });
        let page = Source::in_memory(run, Arc::new(SMALL.rollup())).page();
        let doubts = page.headline.expect("a run that has ended has one").doubts;
        doubts.into_iter().map(|own| own.text).collect::<Vec<_>>()
    };
    let text = "With 128 MiB of disks per tile 46 tiles passed and 64 failed. Confirmed with 512 MiB per tile.";
    assert_eq!(texts(true), [text]);
    assert_eq!(texts(false), [] as [String; 0]);
}

#[test]
fn live_ladder_tells_held_tiles_and_time_left() {
    let mut run = SMALL.run();
    run.steps.truncate(2);
    let state =
        LiveState { run_left: Some("about 2 min left".to_owned()), ..state(LivePhase::Measured) };
    let source = Source::live(None, Some(run), Arc::new(SMALL.rollup()), state);
    let said = &source.live_state().expect("it runs").headline;
    assert_eq!(said, "Held so far: 2 tiles. Trying 3, about 2 min left.");
    assert_eq!(source.page().headline, None);
}

#[test]
fn a_run_that_calls_says_live_how_many_calls_there_are() {
    let said = |operations_per_s, calls_per_s| {
        let state = LiveState { operations_per_s, calls_per_s, ..state(LivePhase::Measured) };
        let source = Source::live(None, Some(SMALL.run()), Arc::new(SMALL.rollup()), state);
        source.live_state().expect("it runs").sentence.clone()
    };
    let calls = said(0.0, Some(800.0));
    assert!(calls.contains(": 800 calls/s, p99 900 us"), "{calls}");
    let both = said(18_400.0, Some(800.0));
    assert!(both.contains(": 18,400 IOPS, 800 calls/s"), "{both}");
    assert!(!said(18_400.0, None).contains("calls"));
    let unanswered = said(0.0, Some(0.0));
    assert!(unanswered.contains(": 0 calls/s"), "a service that answers nothing: {unanswered}");
}

#[test]
fn what_the_machine_did_is_drawn_where_it_was_not_near_zero() {
    let base = tempfile::tempdir().expect("a directory");
    let stored = with_gauges(base.path());
    let source = Source::open(stored).expect("a run");
    let found = model::machine(&source, &Lens::default());
    let names: Vec<&str> = found.gauges.iter().map(|gauge| gauge.name.as_str()).collect();
    assert_eq!(names, ["cpu.others", "device.busy"], "steal is near zero");
    assert_eq!(found.idle, ["processors taken by the hypervisor"]);
    assert_eq!(found.gauges[0].max.iter().flatten().copied().fold(0.0, f64::max), 0.5);
    assert_eq!(found.disturbed.len(), 1);
    assert!(found.disturbed[0].text.contains("rustc"), "{found:?}");
    assert_eq!(found.at_ns.len(), found.gauges[0].mean.len());
    insta::assert_snapshot!(found.sentence);
}

#[test]
fn what_the_machine_does_is_drawn_while_the_run_goes_on() {
    let mut rollup = Rollup::new();
    SMALL.each_slice(|key, topology, slice| {
        rollup.slice(key, topology, slice);
        let gauges = vec![Gauge::of_host(GaugeName::CpuOthers, 0.5)];
        rollup.readings(slice.width, &Readings { gauges, ..Readings::default() });
    });
    let source =
        Source::live(None, Some(SMALL.run()), Arc::new(rollup), state(LivePhase::Measured));
    let found = model::machine(&source, &Lens::default());
    assert_eq!(found.gauges.len(), 1);
    assert!(found.gauges[0].mean.iter().flatten().all(|value| *value == 0.5));
    assert!(found.sentence.contains("50 % on average, 50 % at most"), "{}", found.sentence);
}

/// A stored run of two steps with gauges; the second step was disturbed.
fn with_gauges(base: &std::path::Path) -> StoredRun {
    let sample = Sample { steps: 2, slices: 12, slice: Nanos::SECOND, ..Sample::LADDER };
    let mut run = sample.run();
    run.steps[1].disturbances = vec![Disturbance {
        gauge: GaugeName::CpuOthers,
        by: "rustc".to_owned(),
        value: 0.5,
        limit: 0.1,
    }];
    let id = RunId::new("sample", jiff::Timestamp::UNIX_EPOCH).expect("an id");
    let directory = RunDir::create(base, &id).expect("a run directory");
    let mut writer = directory.series().expect("a writer");
    sample.each_slice(|key, topology, slice| {
        writer.append(key, topology, slice).expect("a slice");
        let others = if key.step == 2 { 0.5 } else { 0.01 };
        let gauges = [
            Gauge::of_host(GaugeName::CpuOthers, others),
            Gauge::of_host(GaugeName::CpuSteal, 0.001),
            Gauge { name: GaugeName::DeviceBusy, scope: "sda".to_owned(), value: 0.9 },
        ];
        writer.gauges(key, slice, &gauges).expect("gauges");
    });
    writer.finish().expect("the series");
    run.id = id.to_string();
    directory.write_run(&run).expect("run.json");
    let path = directory.finish().expect("complete");
    StoredRun::at(&path).expect("a stored run")
}
