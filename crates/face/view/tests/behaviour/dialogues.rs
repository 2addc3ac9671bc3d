//! Views of actions and of calls to endpoints over time.

use std::sync::Arc;

use run_store::rollup::Rollup;
use run_store::run::Phase;
use run_store::series::StepKey;
use run_store::slice::{CallRow, GeneratorRow, InstanceEntry, InstanceId, Slice, Topology};
use stats::Histogram;
use units::{Bytes, Nanos};
use view::document::Series;
use view::sample::Sample;
use view::{Document, Lens, Measure, Request, Source, View, answer, offline};

const SECONDS: u32 = 12;

fn instance(tile: u32, workload: &str) -> InstanceEntry {
    InstanceEntry {
        tile: Some(tile),
        workload: workload.to_owned(),
        copy: 0,
        host: None,
        actions: Vec::new(),
        groups: Vec::new(),
        kinds: vec!["get".to_owned(), "post".to_owned()],
    }
}

fn row(instance: u32, kind: u16, count: u32, took: Nanos) -> CallRow {
    let mut histogram = Histogram::new();
    (0..count).for_each(|_| histogram.record(took));
    let (service, response) = (histogram.compact(), histogram.compact());
    let bytes = Bytes::new(u64::from(count) * 700);
    CallRow {
        instance: InstanceId(instance),
        kind,
        bytes,
        errors: [1, 0, 0, 0, 0],
        service,
        response,
    }
}

/// Two tiles of a web site that get 50 times a second each, and in the last half ten times as slowly; one
/// shop that posts 40 times, twice as fast.
fn source() -> Source {
    let topology = Topology {
        vms: Vec::new(),
        instances: vec![instance(0, "web"), instance(1, "web"), instance(0, "shop")],
    };
    let mut rollup = Rollup::new();
    let key = StepKey { step: 1, tiles: 2, repeat: 1, phase: Phase::Measured };
    for second in 0..SECONDS {
        let took = Nanos::from_millis(if second < SECONDS / 2 { 2 } else { 20 });
        let half = Nanos(took.0 / 2);
        let calls = vec![row(0, 0, 50, took), row(1, 0, 50, took), row(2, 1, 40, half)];
        let (start, width) = (Nanos::from_secs(second.into()), Nanos::SECOND);
        let generator = GeneratorRow::default();
        rollup.slice(key, &topology, &Slice { start, width, calls, generator, ..Slice::default() });
    }
    Source::in_memory(Sample { steps: 1, ..Sample::LADDER }.run(), Arc::new(rollup))
}

fn calls(source: &Source, lens: Lens) -> Series {
    match answer(source, &Request { view: View::Calls, lens }) {
        Document::Calls(series) => series,
        other => panic!("{other:?}"),
    }
}

#[test]
fn kinds_of_calls_are_lines_of_all_tiles_together() {
    let source = source();
    let found = calls(&source, Lens::default());
    let names: Vec<&str> = found.groups.iter().map(|group| group.label.as_str()).collect();
    assert_eq!((names, found.unit.as_str()), (vec!["get of web", "post of shop"], "call_per_s"));
    assert!(found.groups[0].mean.iter().all(|rate| *rate == Some(100.0)), "{found:?}");
    assert_eq!(found.count.iter().sum::<u64>(), u64::from(SECONDS) * 140);
    assert!(found.sentence.starts_with("140 calls a second on average over 12 s"), "{found:?}");
    let shop = calls(&source, Lens { workloads: vec!["shop".to_owned()], ..Lens::default() });
    assert_eq!((shop.groups.len(), shop.count.iter().sum::<u64>()), (1, u64::from(SECONDS) * 40));
    // Tiles and sizes in a lens do not apply to calls.
    let narrow = Lens { tiles: vec![2], classes: 1, is_write: Some(true), ..Lens::default() };
    assert_eq!(calls(&source, narrow), found);
}

#[test]
fn the_numbers_of_a_run_that_only_called_are_of_its_calls() {
    let request = Request { view: View::Overview, lens: Lens::default() };
    let Document::Overview(found) = answer(&source(), &request) else { panic!("an overview") };
    let labels: Vec<&str> = found.heroes.iter().map(|hero| hero.label.as_str()).collect();
    assert!(labels.contains(&"calls a second") && labels.contains(&"call p99"), "{labels:?}");
    let rate = found.heroes.iter().find(|hero| hero.unit == "call_per_s").expect("a rate");
    assert_eq!((rate.value, rate.text.as_str()), (Some(140.0), "140 calls/s"));
}

/// Regression: a lens without any of a run's I/O showed the run's calls.
#[test]
fn the_numbers_of_a_run_with_io_stay_those_of_its_io() {
    let sample = Sample { steps: 1, slices: 12, ..Sample::LADDER };
    let mut rollup = Rollup::new();
    sample.each_slice(|key, topology, slice| {
        let calls = vec![row(0, 0, 50, Nanos::from_millis(2))];
        rollup.slice(key, topology, &Slice { calls, ..slice.clone() });
    });
    assert!(!rollup.calls().is_empty());
    let source = Source::in_memory(sample.run(), Arc::new(rollup));
    let lens = Lens { workloads: vec!["nobody".to_owned()], ..Lens::default() };
    let Document::Overview(found) = answer(&source, &Request { view: View::Overview, lens }) else {
        panic!("an overview")
    };
    assert!(found.heroes.iter().all(|hero| !hero.label.contains("call")), "{:?}", found.heroes);
}

#[test]
fn calls_that_became_slow_are_named_with_their_time() {
    let found = calls(&source(), Lens { measure: Measure::Latency, ..Lens::default() });
    let p99 = found.groups[1].p99.iter().flatten().map(|ns| (ns / 1e6).floor());
    assert_eq!(p99.collect::<Vec<f64>>(), [[1.0; 6], [10.0; 6]].concat());
    assert!(found.sentence.contains("p99 of get of web") && found.limit_ns.is_none(), "{found:?}");
    let bytes = calls(&source(), Lens { measure: Measure::Throughput, ..Lens::default() });
    assert_eq!(bytes.groups[1].mean[0], Some(28_000.0));
}

#[test]
fn response_times_of_actions_are_those_of_their_slices() {
    let sample = Sample { steps: 1, slices: 12, ..Sample::LADDER };
    let source = Source::in_memory(sample.run(), Arc::new(sample.rollup()));
    let request =
        |measure| Request { view: View::Actions, lens: Lens { measure, ..Lens::default() } };
    let found = |measure| match answer(&source, &request(measure)) {
        Document::Actions(series) => series,
        other => panic!("{other:?}"),
    };
    let mut slices = Vec::new();
    sample.each_slice(|_, _, slice| slices.push(slice.actions[0].response.clone()));
    let times = found(Measure::Latency);
    assert_eq!((times.groups.len(), times.groups[0].count.len()), (1, slices.len()));
    for (point, response) in slices.iter().enumerate() {
        let longest = response.max().expect("some").0;
        assert_eq!(times.groups[0].max[point], Some(longest as f64));
        assert_eq!(times.groups[0].count[point], response.count());
    }
    let rates = found(Measure::Iops);
    let second = sample.slice.as_secs_f64();
    assert_eq!(rates.groups[0].mean[0], Some(slices[0].count() as f64 / second));
    assert_eq!(rates.unit, "actions_per_s");
    assert!(rates.sentence.contains("actions a second on average"), "{}", rates.sentence);
}

#[test]
fn a_run_without_calls_says_so_and_its_report_carries_none() {
    let sample = Sample { steps: 1, slices: 12, ..Sample::LADDER };
    let without = Source::in_memory(sample.run(), Arc::new(sample.rollup()));
    let found = calls(&without, Lens::default());
    assert!(found.groups.is_empty() && found.sentence == "No call here.", "{found:?}");
    let has = |source: &Source| offline(source).iter().any(|(request, _)| request == "calls?m=lat");
    assert!(!has(&without) && has(&source()));
    assert!(offline(&without).iter().any(|(request, _)| request == "actions?m=lat"));
    assert!(!without.page().dimensions.has_calls && source().page().dimensions.has_calls);
}
