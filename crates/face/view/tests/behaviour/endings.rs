//! Sentences for runs that did not end with a broken limit, and doubts about an answer.

use std::sync::Arc;

use run_store::rollup::Rollup;
use run_store::run::{
    Bottleneck, Edge, LimitOn, Resource, Run, Status, TilesInterval, Verdict, Warning,
};
use run_store::slice::{IoRow, Slice, Topology};
use stats::Histogram;
use units::Nanos;
use view::document::{Finding, Headline, LivePhase, LiveState};
use view::sample::Sample;
use view::{Lens, Request, Source, TraceFacts, View, answer};

use crate::model;

/// A run that holds with 2 tiles and breaks with 3.
const SMALL: Sample = Sample { steps: 3, slices: 60, slice: Nanos::SECOND, ..Sample::LADDER };

fn source(run: Run) -> Source {
    Source::in_memory(run, Arc::new(SMALL.rollup()))
}

/// The small run, changed.
fn changed(change: impl FnOnce(&mut Run)) -> Run {
    let mut run = SMALL.run();
    change(&mut run);
    run
}

fn row(change: impl FnOnce(&mut Run)) -> String {
    source(changed(change)).row().sentence
}

fn headline(change: impl FnOnce(&mut Run)) -> Headline {
    source(changed(change)).page().headline.expect("a run that has ended has one")
}

fn sentence(source: &Source, view: View, query: &[(&str, &str)]) -> String {
    let request = Request::parse(view.name(), query.iter().copied()).expect("a request");
    answer(source, &request).sentence().to_owned()
}

fn findings(source: &Source) -> Vec<Finding> {
    model::overview(source, &Lens::default()).findings
}

fn text_of(found: &[Finding], id: &str) -> Option<String> {
    found.iter().find(|finding| finding.id == id).map(|finding| finding.text.clone())
}

#[test]
fn an_interrupted_run_claims_no_edge() {
    let interrupt = |run: &mut Run| run.answer.status = Status::Interrupted;
    assert_eq!(row(interrupt), "This datastore holds at least 2 tiles.");
    assert_eq!(headline(interrupt).verdict, "interrupted");
    let unbroken = |run: &mut Run| {
        interrupt(run);
        run.answer.first_broken = None;
    };
    let said = headline(unbroken).breaks;
    assert!(said.starts_with("The run was ended before a limit broke."), "{said}");
    let inconclusive = headline(|run| run.answer.status = Status::Inconclusive);
    assert_eq!(inconclusive.verdict, "inconclusive");
    assert_eq!(headline(|_| ()).verdict, "passed");
}

#[test]
fn what_operations_cost_the_tiles_that_held_is_told_beside_them() {
    use run_store::run::{AgainstOthers, Figure, UnderOperations};
    assert_eq!(headline(|_| ()).operations, None);
    let [all, none] = [Figure::of(1.5), Figure::absent("too few blocks of time")];
    let against_rest = AgainstOthers { samples: 9, times: all, low: none.clone(), high: none };
    let cost = |share_of_time| {
        let against_rest = against_rest.clone();
        Some(UnderOperations { share_of_time, against_rest })
    };
    let said = headline(|run| {
        // Two tiles held, so the cost with three is not reported.
        run.steps[1].under_operations = cost(0.5);
        run.steps[2].under_operations = cost(0.9);
    });
    let text =
        "Operations 50 % of the time; the tiles' actions then took 1.50 times as long as without.";
    assert_eq!(said.operations.as_deref(), Some(text));
}

#[test]
fn broken_limit_without_measurement_is_not_shown_as_measured() {
    let said = row(|run| {
        run.answer.first_broken.as_mut().expect("broken").limit.measured_ns = None;
    });
    assert!(said.starts_with("This datastore holds at least 2 tiles."), "{said}");
    assert!(said.ends_with("Nearest to its limit: shop order p95, 80 ms of 500 ms."), "{said}");
}

#[test]
fn counts_between_held_and_broken_that_did_not_run_are_open() {
    let broken =
        |tiles| move |run: &mut Run| run.answer.first_broken.as_mut().unwrap().tiles = tiles;
    let next = row(broken(3));
    assert!(next.starts_with("Holds 2 tiles (") && next.contains("; tile 3 breaks"), "{next}");
    let later = row(broken(4));
    assert!(later.starts_with("Holds at least 2 tiles; 4 tiles break"));
    assert!(headline(broken(3)).breaks.starts_with("Tile 3 breaks shop order p95"));
    assert!(headline(broken(4)).breaks.starts_with("4 tiles break shop order p95"));
}

#[test]
fn the_nearest_limit_is_the_one_with_the_least_room() {
    let said = row(|run| {
        run.answer.first_broken = None;
        let mut wide = run.steps[1].limits[0].clone();
        wide.result.name = "browse".to_owned();
        wide.result.margin.value = Some(0.99);
        run.steps[1].limits.insert(0, wide);
    });
    assert!(said.contains("Nearest to its limit: shop order p95"), "{said}");
}

#[test]
fn each_end_of_a_ladder_is_told_as_what_it_was() {
    for (edge, begins) in [
        (Edge::CapacityReached, "Nothing broke: the disks filled the datastore"),
        (Edge::LadderEnded, "Nothing broke: the run tried no more tiles. Nearest to its limit"),
        (Edge::ThroughputFlat, "More tiles did no more work."),
    ] {
        let said = headline(|run| (run.answer.first_broken, run.answer.edge) = (None, edge)).breaks;
        assert!(said.starts_with(begins), "{edge:?}: {said}");
    }
}

#[test]
fn only_warnings_that_weaken_an_answer_are_doubts() {
    let warned = |id: &str| {
        let text = "it was so".to_owned();
        let warning = Warning { id: id.to_owned(), text, value: None, limit: None, hint: None };
        let doubts = headline(|run| run.warnings = vec![warning]).doubts;
        doubts.into_iter().map(|doubt| doubt.id).collect::<Vec<_>>()
    };
    for id in [
        "clock-step",
        "check-littles-law",
        "check-submitted-is-completed",
        "check-repeats-agree",
        "not-steady",
        "limit-not-tested",
        "reused",
    ] {
        assert_eq!(warned(id), [id]);
    }
    assert!(warned("no-frequency-scaling").is_empty());
}

#[test]
fn the_count_that_ran_is_named_where_the_likely_edge_is_another() {
    let note = |likely| {
        let interval =
            TilesInterval { low: 1, high: Some(4), most_likely: Some(likely), confidence: 0.95 };
        headline(|run| run.answer.tiles_interval = Some(interval)).speed_note
    };
    assert!(note(3).contains("3 most likely") && note(3).contains("2 ran and held"), "{}", note(3));
    assert!(!note(2).contains("ran and held"), "{}", note(2));
}

#[test]
fn a_count_that_passed_above_one_that_failed_is_not_held() {
    let mut run = SMALL.run();
    let mut lucky = run.steps[0].clone();
    (lucky.tiles, lucky.verdict) = (4, Verdict::Passed);
    run.steps.push(lucky);
    let state = LiveState { tiles: 5, ..live() };
    let source = Source::live(None, Some(run), Arc::new(SMALL.rollup()), state);
    let said = &source.live_state().expect("it runs").headline;
    assert_eq!(said, "Held so far: 2 tiles; 3 failed. Trying 5.");
    let curve = sentence(&source, View::Curve, &[]);
    assert_eq!(curve, "4 steps done so far; the breaking point is not known yet.");
}

fn live() -> LiveState {
    LiveState {
        version: 1,
        phase: LivePhase::Measured,
        headline: String::new(),
        sentence: String::new(),
        tiles: 3,
        elapsed_ns: 0,
        left_ns: None,
        run_left: None,
        prepared: None,
        operations_per_s: 0.0,
        calls_per_s: None,
        bytes_per_s: 0.0,
        p99_ns: None,
        limits: Vec::new(),
        doubts: Vec::new(),
        hosts: Vec::new(),
        lost_slices: 0,
    }
}

#[test]
fn curve_tells_the_gain_of_breaking_only_if_a_limit_broke() {
    let curve = |change: fn(&mut Run)| sentence(&source(changed(change)), View::Curve, &[]);
    assert_eq!(curve(|_| ()), "From 2 to 3 tiles throughput goes from 1,800 IOPS to 2,700 IOPS.");
    assert_eq!(
        curve(|run| run.answer.edge = Edge::ThroughputFlat),
        "3 different numbers of tiles were run."
    );
    assert_eq!(curve(|run| run.steps.truncate(1)), "With one number of tiles there is no curve.");
}

#[test]
fn latencies_are_held_against_the_tightest_limit_on_single_ios() {
    let own = source(changed(|run| {
        for (name, limit_ns) in [("db-write", 9_000_000), ("db-read", 7_000_000)] {
            let mut limit = run.steps[0].limits[0].clone();
            limit.result.on = LimitOn::Io;
            (limit.result.name, limit.result.limit_ns) = (name.to_owned(), limit_ns);
            run.steps[0].limits.push(limit);
        }
    }));
    let found = model::matrix(&own, &Lens::default());
    assert_eq!(found.limit_source, "the run's limit on shop db-read I/O p95");
    let usual = model::matrix(&source(SMALL.run()), &Lens::default());
    assert!(usual.limit_source.contains("judged by whole actions, such as shop order p95: 500 ms"));
}

/// Every slice of the small run, changed.
fn rollup(change: impl Fn(&Topology, &mut Slice)) -> Arc<Rollup> {
    let mut rollup = Rollup::new();
    SMALL.each_slice(|key, topology, slice| {
        let mut slice = slice.clone();
        change(topology, &mut slice);
        rollup.slice(key, topology, &slice);
    });
    Arc::new(rollup)
}

/// Makes half of a row's I/Os take this long.
fn slow(row: &mut IoRow, time: Nanos) {
    let mut service = Histogram::new();
    service.merge_compact(&row.service);
    service.record_n(time, u32::try_from(row.service.count()).expect("few"));
    (row.service, row.response) = (service.compact(), service.compact());
}

#[test]
fn failed_ios_are_counted_among_all_that_were_sent() {
    let rollup = rollup(|_, slice| {
        slice.io.iter_mut().for_each(|row| row.errors = row.service.count());
    });
    let said = text_of(&findings(&Source::in_memory(SMALL.run(), rollup)), "errors");
    let said = said.expect("half of them failed");
    assert!(said.contains("failed, 50 % of all; they are not in the latencies."), "{said}");
}

#[test]
fn a_generator_at_its_limit_is_told_before_all_else() {
    let rollup = rollup(|_, slice| slice.io.iter_mut().for_each(|row| row.errors = 1));
    let mut run = SMALL.run();
    run.steps[1].generator.saturated = true;
    run.steps[1].generator.reason = Some("a worker was busy".to_owned());
    let found = findings(&Source::in_memory(run, rollup));
    assert_eq!(
        found[0].text,
        "The load generator, not the storage, was the limit: a worker was busy."
    );
    assert!(found.len() > 1 && found.is_sorted_by(|a, b| a.effect >= b.effect), "{found:?}");
}

#[test]
fn slower_tile_is_named_and_equal_tiles_are_not() {
    let last = |topology: &Topology, row: &IoRow| {
        let instance = topology.vms[row.vm.0 as usize].instance;
        topology.instances[instance.0 as usize].tile == Some(2)
    };
    let rollup = rollup(|topology, slice| {
        let own = slice.io.iter_mut().filter(|row| last(topology, row));
        own.for_each(|row| slow(row, Nanos::from_secs(2)));
    });
    let found = findings(&Source::in_memory(SMALL.run(), rollup));
    let said = text_of(&found, "tile").expect("the third is slow");
    assert!(said.starts_with("Tile 3 has a p99 of 2 s, "), "{said}");
    assert_eq!(text_of(&findings(&source(SMALL.run())), "tile"), None);
}

#[test]
fn one_second_that_stands_out_is_named_and_steady_ones_are_not() {
    let told = |second: Nanos| {
        let rollup = rollup(|_, slice| {
            let is_slow = slice.start == Nanos::from_secs(40);
            let time = if is_slow { second } else { Nanos::from_millis(1) };
            for row in &mut slice.io {
                let mut service = Histogram::new();
                service.record_n(time, u32::try_from(row.service.count()).expect("few"));
                (row.service, row.response) = (service.compact(), service.compact());
            }
        });
        text_of(&findings(&Source::in_memory(SMALL.run(), rollup)), "moment")
    };
    let said = told(Nanos::from_secs(3)).expect("a second stands out");
    assert!(said.contains("p99 reached 3 s, "), "{said}");
    assert_eq!(told(Nanos::from_millis(2)), None);
}

#[test]
fn ios_are_not_looked_at_next_where_the_generator_ran_out() {
    let contribution = |kind| {
        let mut run = SMALL.run();
        run.steps[2].bottleneck = Some(Bottleneck {
            kind,
            name: String::new(),
            utilisation: None,
            text: "it was busy".to_owned(),
            source: String::new(),
        });
        let rollup = rollup(|_, slice| {
            let large = slice.io.iter_mut().filter(|row| row.class.index() == 5);
            large.for_each(|row| slow(row, Nanos::from_secs(1)));
        });
        text_of(&findings(&Source::in_memory(run, rollup)), "contribution")
    };
    assert!(contribution(Resource::NoneSeen).is_some(), "large ones wait longest");
    for kind in [Resource::Generator, Resource::HostCpu, Resource::VmCpu] {
        assert_eq!(contribution(kind), None, "{kind:?}");
    }
}

#[test]
fn of_several_distributions_the_slowest_is_told() {
    let rollup = rollup(|_, slice| {
        let writes = slice.io.iter_mut().filter(|row| row.direction.name() == "write");
        writes.for_each(|row| slow(row, Nanos::from_secs(1)));
    });
    let source = Source::in_memory(SMALL.run(), rollup);
    let said = sentence(&source, View::Percentiles, &[("by", "rw")]);
    assert!(said.starts_with("Slowest, write"), "{said}");
}

#[test]
fn of_two_tiles_none_is_the_one_that_fares_worse() {
    let rollup = rollup(|topology, slice| {
        let tile = |row: &IoRow| {
            let instance = topology.vms[row.vm.0 as usize].instance;
            topology.instances[instance.0 as usize].tile
        };
        let own = slice.io.iter_mut().filter(|row| tile(row) == Some(1));
        own.for_each(|row| slow(row, Nanos::from_secs(2)));
    });
    let source = Source::in_memory(SMALL.run(), rollup);
    let found = model::overview(&source, &Lens { step: Some(2), ..Lens::default() }).findings;
    assert_eq!(text_of(&found, "tile"), None);
}

#[test]
fn a_percentile_of_a_few_writes_is_not_told() {
    let rollup = rollup(|topology, slice| {
        let is_first = topology.vms.len() == 2 && slice.start == Nanos::ZERO;
        slice.io.retain(|row| {
            row.direction.name() == "read" || is_first && row.vm.0 == 0 && row.class.index() == 5
        });
    });
    let said = Source::trace(TraceFacts::default(), rollup, None).row().sentence;
    assert!(said.contains(", p99 read ") && !said.contains("p99 write"), "{said}");
}

#[test]
fn where_nothing_is_written_no_share_of_writes_is_told() {
    let rollup = rollup(|_, slice| {
        slice.io.retain(|row| row.direction.name() == "read");
        for row in &mut slice.io {
            let mut service = Histogram::new();
            let count = u32::try_from(row.service.count()).expect("few");
            service.record_n(Nanos::from_millis(1), count);
            (row.service, row.response) = (service.compact(), service.compact());
        }
    });
    let source = Source::in_memory(SMALL.run(), rollup);
    let said = model::overview(&source, &Lens::default()).cause;
    assert_eq!(said, "At 3 tiles: no size of I/O waits out of proportion to its number.");
}
