//! Any text in a file gives a definition or a message, never a panic.

use std::path::Path;

use proptest::prelude::*;
use tilemark_spec as spec;

use spec::events::{EventKind, PlannedEvent, Restart};
use spec::plan::{EngineOptions, Ladder, Measure, Plan, Profile, Scale};
use spec::shipped::{self, Shipped};
use spec::{LadderSpec, SpecError};
use units::{Bytes, Nanos};

use crate::messages::render;

fn said(error: &SpecError) {
    assert!(!render(error).is_empty());
}

/// A shipped file in which some bytes were removed and others inserted.
fn damaged(files: &[Shipped]) -> impl Strategy<Value = String> + use<> {
    let files: Vec<&str> = files.iter().map(|file| file.text).collect();
    let piece = prop_oneof![
        Just(String::new()),
        Just("\"".to_owned()),
        Just("[[".to_owned()),
        Just(" = nan\n".to_owned()),
        Just("-1".to_owned()),
        "\\PC{0,6}",
    ];
    (prop::sample::select(files), any::<prop::sample::Index>(), 0..40_usize, piece).prop_map(
        |(text, at, length, piece)| {
            let chars: Vec<char> = text.chars().collect();
            let start = at.index(chars.len());
            let end = (start + length).min(chars.len());
            chars[..start]
                .iter()
                .chain(&piece.chars().collect::<Vec<_>>())
                .chain(&chars[end..])
                .collect()
        },
    )
}

fn event() -> PlannedEvent {
    PlannedEvent {
        at: Nanos(0),
        kind: EventKind::Rebalance,
        host: None,
        lasts: None,
        tiles: vec![1, 3],
        to: Some("h1".to_owned()),
        pool: None,
    }
}

fn plan() -> impl Strategy<Value = Plan> {
    let time = prop::option::of((1_u64..u64::MAX).prop_map(Nanos));
    let warm_up = prop::option::of((any::<u64>(), any::<u64>()));
    let ladder = prop_oneof![
        (1_u32..500).prop_map(LadderSpec::Fixed),
        (1_u32..500, 0_u32..500).prop_map(|(first, more)| LadderSpec::Range(first, first + more)),
    ];
    (prop::option::of(ladder), warm_up, time, prop::option::of(1e-9..1.0_f64), any::<u64>())
        .prop_map(|(ladder, warm_up, duration, footprint, number)| Plan {
            endpoints: indexmap::IndexMap::new(),
            datastore: Some("dir:/srv/storage".to_owned()),
            tile: Some("datacenter".to_owned()),
            second: (number % 7 == 3).then(|| "dir:/srv/other".to_owned()),
            operations: number.is_multiple_of(2).then(|| "standard".to_owned()),
            profile: Some(Profile::Quick),
            ladder: Ladder { tiles: ladder.map(|ladder| ladder.to_string()), ..Ladder::default() },
            measure: Measure {
                warm_up_min: warm_up.map(|(one, other)| Nanos(one.min(other))),
                warm_up_max: warm_up.map(|(one, other)| Nanos(one.max(other))),
                duration,
                slice: None,
            },
            scale: Scale { footprint, time: footprint.map(|share| share * 100.0) },
            engine: EngineOptions {
                space_max: Some(Bytes::new(number | 1)),
                ..EngineOptions::default()
            },
            hosts: spec::plan::Hosts {
                members: (0..number % 3).map(|at| format!("h{at}=join")).collect(),
                placement: (number % 3 == 2).then(|| "packed:4".to_owned()),
            },
            events: (number % 3 == 2).then(event).into_iter().collect(),
            restart: (number % 5 == 1).then_some(Restart { delay: Nanos(number) }),
            meters: Vec::new(),
            expect: (0..number % 3)
                .map(|at| format!("shop.order.p9{at} <= {}ns", number | 1).parse())
                .collect::<Result<_, _>>()
                .expect("expectations"),
            machines: Vec::new(),
            seed: Some(number >> 1),
        })
}

proptest! {
    #[test]
    fn a_damaged_workload_is_an_error_that_can_be_shown(text in damaged(shipped::workloads())) {
        if let Err(error) = spec::load_workload("damaged.toml", &text) {
            said(&error);
        }
    }

    #[test]
    fn a_damaged_array_is_an_error_that_can_be_shown(text in damaged(shipped::arrays())) {
        if let Err(error) = spec::load_array("damaged.toml", &text) {
            said(&error);
        }
    }

    #[test]
    fn any_setting_of_an_array_gives_an_array_or_an_error(
        key in "(tier|pool|place|hosts|disk|name)(\\.(fast|lun1|efd|size|count|remove|ssd)){0,3}",
        value in prop_oneof![Just("true".to_owned()), Just("{}".to_owned()), "\\PC{0,8}"],
    ) {
        let base = shipped::array_file("vnx5500").expect("shipped").text;
        let array = spec::array::overlay(&[format!("{key}={value}")])
            .and_then(|overlay| spec::array::with(base, &overlay));
        if let Err(error) = array {
            said(&error);
        }
    }

    #[test]
    fn any_text_at_all_is_an_error_that_can_be_shown(text in "\\PC{0,200}") {
        for error in [
            spec::load_workload("any.toml", &text).err(),
            spec::load_tile("any.toml", &text).err(),
            spec::load_plan("any.toml", &text).err(),
            spec::load_array("any.toml", &text).err(),
        ] {
            said(&error.expect("no definition is this short"));
        }
    }

    #[test]
    fn every_plan_survives_a_round_trip_through_toml(plan in plan()) {
        let text = toml::to_string(&plan).expect("serialises");
        let again = spec::load_plan("plan.toml", &text).map_err(|error| render(&error));
        prop_assert_eq!(plan, again.expect("loads"));
    }
}

#[test]
fn tile_file_finds_workloads_beside_itself_and_shipped_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("mine")).expect("a folder in it");
    let standby = spec::shipped::workloads().iter().find(|file| file.name == "standby");
    let text = standby.expect("shipped").text.replace("\"standby\"", "\"my-own\"");
    std::fs::write(folder.path().join("mine/own.toml"), text).expect("written");
    let tile = "name = \"mine\"\ntitle = \"Mine\"\nsource = \"ours\"\n\
        [[workload]]\nuse = \"own.toml\"\ncount = 3\n[[workload]]\nuse = \"mail\"\n";
    std::fs::write(folder.path().join("mine/tile.toml"), tile).expect("written");
    let resolved = spec::resolve_tile("mine/tile.toml", folder.path()).expect("resolves");
    let names: Vec<_> =
        resolved.workloads.iter().map(|(each, count)| (each.name.as_str(), *count)).collect();
    assert_eq!(names, [("my-own", 3), ("mail", 1)]);
    assert_eq!(resolved.vms(), 4);
    let twice = tile.replace("\"mail\"", "\"./own.toml\"");
    std::fs::write(folder.path().join("mine/twice.toml"), twice).expect("written");
    let error = spec::resolve_tile("mine/twice.toml", folder.path()).expect_err("one name twice");
    assert!(matches!(&error, SpecError::SameName { name, .. } if name == "my-own"), "{error}");
    assert!(spec::resolve_tile("datacenter", Path::new("/nowhere")).is_ok());
}
