//! Operations beside the tiles of a study.

use bench::progress::Control;
use run_store::run::Step;
use spec::array::Migration;
use spec::events::{EventKind, PlannedEvent};
use spec::plan::Measure;
use spec::study::{ResolvedConfiguration, resolve_study};
use spec::workload::{Load, Time};
use tilemark_study::{Point, Simulate, Simulated};
use units::{Bytes, Nanos};

/// Configuration of the FAST Cache study with operations, for some seconds: tiles of a sixteenth of
/// the size, and operations with short pauses.
fn brief() -> ResolvedConfiguration {
    let study = resolve_study("fast-cache").expect("it is shipped");
    let mut own = study.configuration("op-92-20").expect("it is there").clone();
    // Without caches before the disks, each I/O reaches them.
    own.array.tiers.clear();
    own.array.controller = None;
    own.footprint /= 16.0;
    own.time = 1.0 / 300.0;
    own.measure = Measure {
        warm_up_min: Some(Nanos::SECOND),
        warm_up_max: Some(Nanos::SECOND),
        duration: Some(Nanos::from_secs(5)),
        slice: None,
    };
    for (operation, _) in &mut own.tile.operations {
        for group in &mut operation.groups {
            let think = Time::Fixed(Nanos::from_millis(100));
            group.load = Load::Closed { users: 1, think };
        }
    }
    own
}

fn step(of: &[ResolvedConfiguration], simulated: &Simulated, index: usize) -> Step {
    let point = Point { index, configuration: &of[index], tiles: 1, repeat: 1, seed: 1 };
    simulated.step(&point, &Control::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// I/Os per second of the disks of the third LUN.
fn third(step: &Step) -> f64 {
    let model = step.model.as_ref().expect("it was simulated");
    let mut parts = model.parts.iter();
    parts.find(|part| part.name == "pool lun3 disks").expect("the array has it").iops
}

/// Three configurations that differ only in operations and their place have different results.
#[test]
fn operations_count_in_the_score_and_use_the_second_place() {
    let copies = brief();
    let here = ResolvedConfiguration { second: None, ..copies.clone() };
    let mut alone = here.clone();
    alone.tile.operations.clear();
    let all = [copies, here, alone];
    let simulated = Simulated::new(&all);
    let [copies, here, alone] = [0, 1, 2].map(|index| step(&all, &simulated, index));
    assert!(third(&copies) > 0.0, "nothing was copied to the third LUN");
    assert_eq!([third(&here), third(&alone)], [0.0; 2], "without a second place, it is empty");
    let score = copies.score.as_ref().expect("a score");
    let part = |figure: &run_store::run::Figure| figure.value.expect("it was measured");
    let whole = 0.8 * part(&score.applications) + 0.2 * part(&score.infrastructure);
    assert!((part(&score.total) - whole).abs() < 1e-12, "{score:?}");
    assert!(alone.score.as_ref().expect("a score").total.value.is_none());
    let moves = copies.actions.iter().find(|own| own.result.action == "move");
    assert!(moves.is_some_and(|own| own.result.count > 0 && own.result.errors == 0), "{moves:?}");
}

/// The working set only covers the tile, and no operation that runs beside it.
#[test]
fn operations_are_in_no_working_set() {
    let copies = brief();
    let mut alone = copies.clone();
    alone.tile.operations.clear();
    let all = [copies, alone];
    let simulated = Simulated::new(&all);
    let [copies, alone] =
        [0, 1].map(|index| simulated.working_set(&all[index], 0.95, 1).expect("it is known"));
    assert_eq!(copies.to_bits(), alone.to_bits(), "{copies} and {alone}");
}

/// Events of a configuration happen in its steps, and in no other configuration.
#[test]
fn events_of_a_configuration_move_its_vms_alone() {
    let mut calm = brief();
    calm.tile.operations.clear();
    calm.second = None;
    let hosts = calm.array.hosts.as_mut().expect("the study has hosts");
    hosts.migration = Some(Migration { memory: Bytes::MIB * 64, ..Migration::default() });
    let mut moved = calm.clone();
    moved.events = vec![PlannedEvent {
        at: Nanos::SECOND,
        kind: EventKind::Rebalance,
        host: None,
        lasts: None,
        tiles: vec![1],
        to: Some("host-2".to_owned()),
        pool: None,
    }];
    let all = [calm, moved];
    let simulated = Simulated::new(&all);
    let [calm, moved] = [0, 1].map(|index| step(&all, &simulated, index));
    assert!(calm.events.is_empty());
    let [event] = &moved.events[..] else { panic!("{:?}", moved.events) };
    assert!(!event.tiles.is_empty() && event.tiles.iter().all(|own| own.tile == 0), "{event:?}");
    assert!(event.tiles.iter().all(|own| own.to.as_deref() == Some("host-2")), "{event:?}");
}
