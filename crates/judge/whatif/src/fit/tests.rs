use std::num::NonZeroUsize;

use bench::progress::Control;
use bench::simulate::{Settings, Stage};
use run_store::run::{Run, Verdict};
use spec::array::{Array, Disk, Raid, TierPlace, WriteMode};
use units::{Bytes, Nanos};

use super::drives::{DRIVE, Drives};
use super::model::Model;
use super::{array, fit};
use crate::tests::clerks;
use crate::{ChangeError, Changes, DiskCount, ModelKind, Options, Subject, what_if};

const SETTINGS: Settings = Settings {
    warm_up_min: Nanos::from_secs(2),
    warm_up_max: Nanos::from_secs(2),
    duration: Nanos::from_secs(8),
    lengthen_max: 1,
    slice: Nanos::from_millis(500),
    footprint: 1.0,
    time: 1.0,
};

const SERVERS: Model = Model {
    servers: 1,
    read: 0.1,
    write: 0.1,
    outside: 0.0,
    spread: 0.0,
    rate: None,
    memory: None,
};

/// Storage with these servers, and a run that measured it up to the first count that failed.
fn measured(model: &Model) -> (Array, Subject) {
    measured_as(&|run| array(run, model))
}

/// Storage, and a run that measured it up to the first count that failed.
fn measured_as(storage: &dyn Fn(&Run) -> Array) -> (Array, Subject) {
    // Clerks who hardly pause: at a few tiles the servers are short, and closed loops bound the queue.
    let order = r#"{ read = { disk = "tables", size = "8k" } }, { write = { disk = "tables", size = "8k" } }"#;
    let tile = fixtures::tile_of(vec![fixtures::workload(&clerks((12, "50ms"), order, "100ms"))]);
    let mut run = fixtures::run(7, Vec::new());
    run.target.capacity_bytes = Some(1 << 40);
    let storage = storage(&run);
    let stage = Stage::new(&tile, &SETTINGS).expect("a stage");
    for tiles in 1..40 {
        let step = stage.step(&storage, (tiles, 0), 11, &Control::default()).expect("a step");
        let verdict = step.verdict;
        run.steps.push(step);
        if verdict == Verdict::Failed {
            run.answer.tiles_held = Some(tiles - 1);
            break;
        }
    }
    let plan = SETTINGS.plan("any", &tile).expect("a plan");
    let fitted = fit(&run).expect("steps");
    let subject =
        Subject { run, plan, array: fitted, others: Vec::new(), model: ModelKind::Fitted };
    (storage, subject)
}

fn more_disks(times: f64) -> Changes {
    Changes { disks: Some(DiskCount::Times(times)), ..Changes::default() }
}

fn options() -> Options {
    Options {
        repeats: 3,
        tiles_max: Some(60),
        threads: NonZeroUsize::new(2),
        lengthen_max: 4,
        within: None,
        tool: run_store::run::ToolFacts { version: String::new(), commit: None },
    }
}

/// The edge of the storage itself with half as many servers again lies within the interval that is
/// predicted from its run alone.
#[test]
fn prediction_from_a_run_alone_holds_the_true_edge() {
    let models = [
        Model { servers: 2, read: 0.004, write: 0.006, ..SERVERS },
        Model { servers: 8, read: 0.010, write: 0.010, outside: 0.003, ..SERVERS },
    ];
    for model in models {
        let (storage, mut subject) = measured(&model);
        subject.refine(2, &Control::default()).expect("a model");
        let ask = |subject: &Subject| {
            let changed = more_disks(1.5).apply_to(subject).expect("a change");
            let control = Control::default();
            what_if(subject, &changed, &options(), &control, &mut |_| ()).expect("an answer")
        };
        let predicted = ask(&subject);
        let own = Subject { array: storage, others: Vec::new(), ..subject.clone() };
        let truth = ask(&own).changed.tiles;
        let (low, high) = (predicted.changed.low, predicted.changed.high);
        assert!(predicted.conclusive, "{model:?}: {}", predicted.sentence);
        assert!((low..=high).contains(&truth), "{model:?}: {low} to {high}, truly {truth}");
        // More disks behind a link do nothing, and the run does not tell.
        assert!(low <= predicted.base.low, "{low} of {}", predicted.base.low);
        let typical = f64::from(predicted.changed.tiles) / f64::from(truth);
        assert!((0.75..=1.25).contains(&typical), "{} of {truth}", predicted.changed.tiles);
    }
}

/// Disks that serve the nearest request first do more the more is asked of them, which equal servers
/// do not: writes that a cache collects cost less than single ones.
#[test]
fn hard_disks_are_found_and_foretell_a_cache_that_writes_back() {
    let drives = Drives { like: "hdd-10k", count: 6.0, raid: Raid::Raid10, memory: None };
    let (storage, mut subject) = measured_as(&|run| drives.array(run).expect("an array"));
    subject.refine(2, &Control::default()).expect("a model");
    assert!(subject.array.disks.contains_key(DRIVE), "{:?}", subject.array);

    let back = Changes {
        cache: Some(Bytes::new(64 << 20)),
        write: Some(WriteMode::Back),
        ..Changes::default()
    };
    for changes in [back, more_disks(1.5)] {
        let ask = |subject: &Subject| {
            let changed = changes.apply_to(subject).expect("a change");
            let control = Control::default();
            what_if(subject, &changed, &options(), &control, &mut |_| ()).expect("an answer")
        };
        let predicted = ask(&subject);
        let truth = ask(&Subject { array: storage.clone(), others: Vec::new(), ..subject.clone() });
        let (low, high) = (predicted.changed.low, predicted.changed.high);
        let truth = truth.changed.tiles;
        assert!(predicted.conclusive, "{changes:?}: {}", predicted.sentence);
        assert!((low..=high).contains(&truth), "{changes:?}: {low} to {high}, truly {truth}");
    }
}

#[test]
fn multiple_of_hard_disks_is_one_that_their_raid_level_takes() {
    let drives = Drives { like: "hdd-7200", count: 6.0, raid: Raid::Raid10, memory: None };
    let (_, subject) = measured(&SERVERS);
    let array = drives.array(&subject.run).expect("an array");
    let subject = Subject { array, ..subject };
    let count = |times| more_disks(times).apply_to(&subject).map(|it| it.array.data_disks(1));
    assert_eq!(count(1.5).expect("an array"), 10, "nine do not mirror each other");
    assert_eq!(count(2.0).expect("an array"), 12);
    let error = count(1000.0).expect_err("a refusal");
    assert!(error.to_string().contains("6000"), "{error}");
}

#[test]
fn run_alone_tells_no_number_of_disks() {
    let model = Model { servers: 3, read: 0.004, write: 0.006, outside: 0.002, ..SERVERS };
    let (_, fitted) = measured(&model);
    let storage = array(&fitted.run, &model);
    let subject = Subject { array: storage.clone(), ..fitted };
    let total = Changes { disks: Some(DiskCount::Total(12)), ..Changes::default() };
    let error = total.apply_to(&subject).expect_err("a refusal");
    assert!(matches!(error, ChangeError::Option { .. }), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--disks 1.5x")), "{error}");

    let changed = more_disks(1.5).apply_to(&subject).expect("an array");
    assert!(changed.changes[0].may_do_nothing);
    let changed = changed.array;
    let room = |array: &Array| array.disk_capacity("fitted").unwrap_or_default();
    assert_eq!(room(&changed), room(&storage).scale(1.5));
    let Disk::Servers { servers, read, write, latency, .. } = &changed.disks["fitted"] else {
        panic!("{changed:?}")
    };
    // 3 x 1.5 servers are 5 that are slower by a ninth, so that capacity is exact.
    assert_eq!(*servers, 5);
    let capacity = |servers: u32, time: Nanos| f64::from(servers) / time.as_secs_f64();
    let before = capacity(3, Nanos::from_micros(4000));
    assert!((capacity(5, *read) / before / 1.5 - 1.0).abs() < 1e-3, "{read}");
    assert!((read.as_secs_f64() + latency.as_secs_f64() - 0.006).abs() < 1e-5, "{read} {latency}");
    assert!((write.as_secs_f64() / read.as_secs_f64() - 1.5).abs() < 1e-3);
}

#[test]
fn model_of_a_run_takes_a_cache_in_its_host() {
    let changes = Changes {
        cache: Some(Bytes::new(64 << 20)),
        cache_at: Some(TierPlace::Host),
        ..Changes::default()
    };
    let (_, subject) = measured(&SERVERS);
    let changed = changes.apply_to(&subject).expect("an array");
    assert_eq!(changed.array.hosts.map(|hosts| hosts.count), Some(1));
    assert_eq!(changed.array.tiers[0].at, TierPlace::Host);
}

#[test]
fn number_of_disks_is_a_count_or_a_multiple() {
    let read = |text: &str| text.parse::<DiskCount>();
    assert_eq!(read("12"), Ok(DiskCount::Total(12)));
    assert_eq!(read("1.5x"), Ok(DiskCount::Times(1.5)));
    for text in ["", "0", "x", "0x", "-1x", "nanx", "infx", "1e9x", "1.5", "12 x"] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn multiple_of_disks_is_a_whole_number_of_them() {
    let array = spec::shipped::array("hdd-raid10").expect("it is shipped");
    let disks = |times| more_disks(times).apply(&array).map(|changed| changed.array.data_disks(1));
    assert_eq!(disks(1.5).expect("an array"), 36);
    assert!(disks(1.3).is_err(), "24 disks times 1.3 are 31.2");
}

#[test]
fn capacity_is_at_least_that_of_a_tile() {
    let run = fixtures::run(7, vec![fixtures::step(1, 1.0)]);
    let base = array(&run, &SERVERS);
    assert!(base.disk_capacity("fitted").unwrap_or_default() >= Bytes::new(run.tile.disk_bytes));
}

/// Arrays that `tilemark calibrate` saves name their disk like a model that is fitted to a run.
#[test]
fn calibrated_array_takes_a_number_of_disks() {
    let run = fixtures::run(7, vec![fixtures::step(1, 1.0)]);
    let (calibrated, mut subject) = (array(&run, &SERVERS), measured(&SERVERS).1);
    (subject.array, subject.model) = (calibrated, ModelKind::Given);
    let two = Changes { disks: Some(DiskCount::Total(2)), ..Changes::default() };
    let changed = two.apply_to(&subject).expect("an array");
    assert_eq!(changed.array.data_disks(1), 2);
    assert!(!changed.changes[0].may_do_nothing);
}
