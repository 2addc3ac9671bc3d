//! Unusual runs: without I/O, with a single I/O, and unreadable.

use std::fs;
use std::sync::Arc;

use run_store::rollup::Rollup;
use run_store::run::Phase;
use run_store::slice::Direction;
use units::Nanos;
use view::document::RunState;
use view::sample::Sample;
use view::{Lens, Request, Source, View, answer, compare, list, offline};

use crate::model::{self, Plain, Row};

fn empty() -> Source {
    Source::in_memory(Sample { steps: 1, ..Sample::LADDER }.run(), Arc::new(Rollup::new()))
}

fn one_io() -> Source {
    let row = Row {
        step: 1,
        phase: Phase::Measured,
        at: 0,
        tile: 1,
        workload: "shop",
        direction: Direction::Write,
        class: 5,
        bytes: 65_536,
        latencies: vec![4_000_000],
    };
    let plain = Plain { rows: vec![row], slices: vec![(1, Phase::Measured, 0)] };
    let run = Sample { steps: 1, ..Sample::LADDER }.run();
    Source::in_memory(run, Arc::new(plain.rollup()))
}

#[test]
fn a_run_without_io_answers_every_view_and_claims_nothing() {
    let source = empty();
    for view in View::ALL {
        let document = answer(&source, &Request { view, lens: Lens::default() });
        let text = serde_json::to_string(&document).expect("serialises");
        assert!(!document.sentence().is_empty(), "{}", view.name());
        assert!(!text.contains("NaN") && !text.contains("inf"), "{}: {text}", view.name());
    }
    assert_eq!(source.page().end_ns, 0);
    assert!(source.row().spark.is_empty());
    assert!(offline(&source).iter().any(|(request, _)| request == "overview"));
    assert!(compare(&source, &source).curves.is_empty());
    let heroes = model::overview(&source, &Lens::default()).heroes;
    let rate = heroes.iter().find(|hero| hero.label == "I/Os a second").expect("it is there");
    assert_eq!((rate.value, rate.text.as_str()), (None, "no load"));
    let moved = compare(&source, &one_io()).difference;
    assert!(moved.iter().flatten().all(|part| *part == 0.0), "shares of nothing: {moved:?}");
}

#[test]
fn one_io_is_shown_and_nothing_is_said_of_it() {
    let source = one_io();
    let lens = Lens::default();
    let overview = model::overview(&source, &lens);
    assert_eq!(overview.sizes.iter().map(|row| row.count).sum::<u64>(), 1);
    assert!(overview.cause.contains("Too few I/Os for a statement: 1"), "{}", overview.cause);
    assert!(overview.findings.iter().all(|finding| finding.id == "limit"));
    let write = overview.heroes.iter().find(|hero| hero.label == "write p99").expect("it is there");
    assert_eq!((write.value, write.text.as_str()), (None, "too few writes"));
    for view in [View::Series, View::HeatMap, View::Percentiles, View::Matrix, View::Map] {
        let said = answer(&source, &Request { view, lens: lens.clone() }).sentence().to_owned();
        assert!(said.contains("oo few I/Os"), "{}: {said}", view.name());
    }
    let moment = model::moment(&source, &lens);
    assert_eq!(moment.counts.iter().sum::<u64>(), 1);
    assert!(moment.sentence.starts_with("At 00:00: too few"), "{}", moment.sentence);
}

#[test]
fn a_run_that_cannot_be_read_is_in_the_list_and_says_why() {
    let base = tempfile::tempdir().expect("a directory");
    let name = "20261122T001412Z-micro-mixed-8k-9hdag8";
    fs::create_dir(base.path().join(name)).expect("creates");
    fs::write(base.path().join(name).join("run.json"), "{").expect("writes");
    let found = list(base.path()).expect("lists");
    assert_eq!(found.runs.len(), 1);
    assert_eq!((found.runs[0].id.as_str(), found.runs[0].state), (name, RunState::Complete));
    let error = found.runs[0].error.as_deref().expect("an error");
    assert!(error.contains("run.json"), "{error}");
    let none = list(&base.path().join("nothing")).expect("no runs");
    assert_eq!(none.runs, []);
}

#[test]
fn a_window_beyond_the_end_is_empty() {
    let lens = Lens { time: Some((Nanos::from_secs(900), None)), ..Lens::default() };
    let found = model::series(&one_io(), &lens);
    assert_eq!((found.at_ns.len(), found.sentence.as_str()), (0, "No I/O here."));
}
