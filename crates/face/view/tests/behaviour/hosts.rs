//! Runs over several hosts: a host stands for its tiles, in every view with tiles.

use std::sync::Arc;

use proptest::prelude::*;
use run_store::run::{
    AgainstOthers, Figure, HostStep, LoadHost, StepEvent, StepEventKind, TileMove,
};
use view::{Breakdown, Lens, Request, Source, View, answer, offline, refused};

use crate::model;

/// Host `a` drives the first tile, `b` the second.
fn over_hosts(plain: &model::Plain) -> Source {
    let mut run = plain.source().run().expect("a run").clone();
    run.hosts = ["a", "b"].map(host).to_vec();
    for step in &mut run.steps {
        let generator = step.generator.clone();
        let tiles = (0..step.tiles).collect::<Vec<_>>();
        step.hosts = ["a", "b"]
            .into_iter()
            .enumerate()
            .map(|(at, name)| HostStep {
                host: name.to_owned(),
                tiles: tiles.iter().copied().skip(at).step_by(2).collect(),
                began_late_ns: 0,
                clock_uncertainty_ns: 0,
                slices_fetched: 0,
                slice_late_max_ns: 0,
                operations_per_s: 1.0,
                bytes_per_s: 1.0,
                against_others: AgainstOthers {
                    samples: 7,
                    times: Figure::of(1.25),
                    low: Figure::absent("too few"),
                    high: Figure::absent("too few"),
                },
                limits: step.limits.clone(),
                generator: generator.clone(),
            })
            .collect();
    }
    Source::in_memory(run, Arc::new(plain.rollup()))
}

fn host(name: &str) -> LoadHost {
    LoadHost {
        name: name.to_owned(),
        reached: name.to_owned(),
        hostname: name.to_owned(),
        version: "1".to_owned(),
        clock_ahead_ns: 0,
        clock_uncertainty_ns: 1,
        round_trip_ns: 2,
        target_summary: "shared".to_owned(),
        path: "/mnt".to_owned(),
    }
}

/// Document of a view, as JSON.
fn said(source: &Source, view: View, lens: &Lens) -> serde_json::Value {
    let document = answer(source, &Request { view, lens: lens.clone() });
    serde_json::to_value(document).expect("JSON")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_host_is_its_tiles_in_every_view(plain in model::plain(), lens in model::lens()) {
        let source = over_hosts(&plain);
        let of = |hosts: &[&str], tiles: &[u32]| Lens {
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            tiles: tiles.to_vec(),
            ..lens.clone()
        };
        for view in View::ALL.into_iter().filter(|view| view.keys().contains(&"host")) {
            let all = said(&source, view, &of(&["a", "b"], &[]));
            prop_assert_eq!(&all, &said(&source, view, &of(&[], &[1, 2])), "{:?}", view);
            let one = said(&source, view, &of(&["b"], &[]));
            prop_assert_eq!(&one, &said(&source, view, &of(&[], &[2])), "{:?}", view);
        }
        let by = |breakdown| model::series(&source, &Lens { breakdown, ..lens.clone() });
        let (hosts, tiles) = (by(Breakdown::Host), by(Breakdown::Tile));
        let counts = |found: &view::document::Series| {
            found.groups.iter().map(|group| group.count.clone()).collect::<Vec<_>>()
        };
        prop_assert_eq!(counts(&hosts), counts(&tiles));
        prop_assert!(hosts.groups.iter().all(|group| ["a", "b"].contains(&group.key.as_str())));
    }
}

/// A step of two tiles with different I/O.
fn two_tiles() -> model::Plain {
    let rows = [(0, 0), (1, 1)].map(|(tile, workload)| model::Row {
        step: 1,
        phase: run_store::run::Phase::Measured,
        at: 0,
        tile: tile + 1,
        workload: model::WORKLOADS[workload],
        direction: run_store::slice::Direction::Read,
        class: 1,
        bytes: 4096,
        latencies: vec![1_000_000; 3],
    });
    let slices = vec![(1, run_store::run::Phase::Measured, 0)];
    model::Plain { rows: rows.to_vec(), slices }
}

#[test]
fn a_report_over_hosts_holds_the_answers_of_each_of_them() {
    let plain = two_tiles();
    let source = over_hosts(&plain);
    let page = source.page();
    assert_eq!(page.dimensions.hosts, ["a", "b"]);
    let keys: Vec<String> = offline(&source).into_iter().map(|(key, _)| key).collect();
    for wanted in ["overview?host=b", "map?host=a", "series?by=host", "percentiles?by=wl&host=b"] {
        assert!(keys.iter().any(|key| key == wanted), "{wanted}: {keys:?}");
    }
    let mut once = keys.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), keys.len(), "every answer once");
    let map = said(&source, View::Map, &Lens { step: Some(1), ..Lens::default() });
    let hosts: Vec<_> =
        map["items"].as_array().expect("items").iter().map(|i| &i["host"]).collect();
    assert!(hosts.contains(&&serde_json::json!("a")) && hosts.contains(&&serde_json::json!("b")));
    // A run on a single host has no breakdown by host.
    let keys: Vec<String> = offline(&plain.source()).into_iter().map(|(key, _)| key).collect();
    assert!(!keys.iter().any(|key| key.contains("host")), "{keys:?}");
}

/// A tile that stopped for a time stayed on its host; one that moved belongs to two hosts.
#[test]
fn run_with_moved_tiles_refuses_views_by_host_with_a_reason() {
    let plain = two_tiles();
    let at_home = over_hosts(&plain);
    let lens = |hosts: &[&str], breakdown| Lens {
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        breakdown,
        ..Lens::default()
    };
    let request = |lens| Request { view: View::Series, lens };
    for (to, is_refused) in [("a", false), ("b", true)] {
        let mut run = at_home.run().expect("a run").clone();
        run.steps[0].events = vec![StepEvent {
            kind: StepEventKind::StopHost,
            host: Some("a".to_owned()),
            planned_ns: Some(1),
            began_ns: 2,
            ended_ns: Some(3),
            noticed_ns: None,
            detection_ns: None,
            tiles: vec![TileMove {
                tile: 0,
                from: "a".to_owned(),
                to: Some(to.to_owned()),
                stood_ns: 2,
                goes_on_ns: Some(3),
                outage_ns: Some(1),
                ..TileMove::default()
            }],
            lost_bytes: None,
            survivors: None,
            note: None,
        }];
        let source = Source::in_memory(run, Arc::new(plain.rollup()));
        for by_host in [lens(&["a"], Breakdown::None), lens(&[], Breakdown::Host)] {
            let why = refused(&source, &request(by_host));
            assert_eq!(why.is_some(), is_refused, "{why:?}");
        }
        assert_eq!(refused(&source, &request(lens(&[], Breakdown::Tile))), None);
        assert_eq!(source.page().dimensions.hosts.is_empty(), is_refused);
        let doubts = source.page().headline.expect("it has ended").doubts;
        let told =
            doubts.iter().any(|doubt| doubt.text.contains("stop-host a after 2 ns; tile 1: "));
        assert!(told, "{doubts:?}");
        let offline = serde_json::to_string(&offline(&source)).expect("JSON");
        assert_eq!(offline.contains("by=host"), !is_refused);
    }
}
