//! Instances that move from one load to another, loads that stand still, and loads that are lost.

use std::path::Path;
use std::time::Duration;

use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceId, VmId};
use state_machine::Machine;
use tilemark_engine::verify::{Setup, check_all};
use tilemark_engine::{EngineInstance, Guest, MoveError, Options, Running, start};
use units::{Bytes, Nanos};

use crate::disks;
use crate::loads::{BLOCK, Kind, Load};

const SIZE: u64 = 8 << 20;

fn options(state: &Path) -> Options {
    let setup = Setup { state_dir: disks::own(state), seed: 7, epoch_unix_ns: 1, elsewhere: None };
    Options { depth: 32, slice: Nanos::from_millis(10), verify: Some(setup), ..Options::default() }
}

/// Creates an instance on the disk at this place, for one of several loads.
fn instance(place: &Path, load: Load, guest: bool) -> EngineInstance<Load> {
    let disk = disks::on_file(&place.join("disk"), "disk", Bytes::new(SIZE));
    let shape = InstanceShape {
        instance: InstanceId(0),
        disk_vms: vec![VmId(0)],
        kinds: 1,
        actions: 0,
        groups: 0,
    };
    let guest = guest.then(Guest::default);
    EngineInstance { guest, ..EngineInstance::new(load, shape, vec![disk]) }
}

fn writing(requests: u64) -> Load {
    let mut load = Load::new(Kind::Closed { users: 8, requests }, SIZE);
    load.write_share = 0.6;
    load
}

/// Requests answered and bytes moved in the slices that have come.
fn done(running: &Running) -> (u64, u64) {
    let slices = running.slices().try_iter();
    slices.fold((0, 0), |(count, bytes), slice| {
        let more: u64 = slice.io.iter().map(|row| row.bytes.get()).sum();
        (count + slice.generator.completed, bytes + more)
    })
}

#[test]
fn instance_moving_to_and_fro_asks_once_and_loses_nothing() {
    const REQUESTS: u64 = 30_000;
    let place = tempfile::tempdir().expect("a directory");
    let (state, at) = (tempfile::tempdir().expect("a directory"), place.path());
    let loads = [false, true].map(|guest| {
        start(vec![instance(at, writing(REQUESTS), guest)], options(state.path())).expect("starts")
    });
    let (mut answered, mut bytes, mut moves) = ([0, 0], 0, 0);
    while answered[0] + answered[1] < REQUESTS {
        let (from, to) = (moves % 2, (moves + 1) % 2);
        if moves < 21 {
            let carried = loads[from].orders().take(0).expect("it is there");
            assert!(carried.left > Nanos::ZERO);
            let text = postcard::to_stdvec(&carried).expect("it is data");
            let carried = postcard::from_bytes(&text).expect("the same");
            loads[to].orders().put(0, Some(carried)).expect("it goes on");
            moves += 1;
        }
        // Some I/Os on each side.
        loads[to]
            .slices()
            .recv_timeout(Duration::from_secs(10))
            .map(|slice| {
                answered[to] += slice.generator.completed;
                bytes += slice.io.iter().map(|row| row.bytes.get()).sum::<u64>();
            })
            .expect("it goes on");
        for side in [0, 1] {
            let more = done(&loads[side]);
            answered[side] += more.0;
            bytes += more.1;
        }
    }
    assert!(answered[0] > 0 && answered[1] > 0, "both drove it: {answered:?} after {moves} moves");
    let ended = loads.map(|load| load.finish().expect("an outcome"));
    let all: u64 = ended.iter().map(|(outcome, _)| outcome.submitted).sum();
    let answers: u64 = ended.iter().map(|(outcome, _)| outcome.completed).sum();
    assert_eq!((all, answers), (REQUESTS, REQUESTS), "none twice, none lost");
    assert_eq!(bytes, REQUESTS * u64::from(BLOCK));
    assert!(ended.iter().all(|(outcome, _)| outcome.mismatches.is_empty()));
    let disk = disks::on_file(&at.join("disk"), "disk", Bytes::new(SIZE));
    let report = check_all(&[disk], &disks::own(state.path())).expect("it can be read");
    assert!(report.passed() && report.disks[0].bytes_judged > 0, "{report:?}");
}

#[test]
fn timers_move_along_and_overdue_starts_begin_late_at_once() {
    let place = tempfile::tempdir().expect("a directory");
    let (state, at) = (tempfile::tempdir().expect("a directory"), place.path());
    let every = Nanos::from_millis(2);
    let load = || Load::new(Kind::Paced { every }, SIZE);
    let loads = [false, true].map(|guest| {
        start(vec![instance(at, load(), guest)], options(state.path())).expect("starts")
    });
    let _ = loads[0].slices().recv().expect("it goes on");
    let carried = loads[0].orders().take(0).expect("it is there");
    let left = carried.left;
    let behind = Nanos::from_millis(300);
    while loads[0].orders().now() < left + behind {
        let _ = loads[0].slices().recv().expect("slices go on");
    }
    loads[1].orders().put(0, Some(carried)).expect("it goes on");
    let (mut slowest, mut count, mut late) = (Nanos::ZERO, 0, Nanos::ZERO);
    // As many as came due meanwhile; a slow host may deliver slices late.
    while count < 150 {
        let slice = loads[1].slices().recv().expect("it goes on");
        for row in &slice.io {
            count += row.response.count();
            let longest = row.response.max().unwrap_or(Nanos::ZERO);
            slowest = slowest.max(longest);
        }
        let longest = slice.generator.lateness.max();
        late = late.max(longest.unwrap_or_default());
    }
    // The clocks of the two loads began a moment after one another.
    assert!(slowest >= behind.scale(0.8), "the stand-still is felt: {slowest} of {behind}");
    assert!(late < behind.scale(0.8), "and it is not the generator that was late: {late}");
    for load in loads {
        load.join().expect("an outcome");
    }
}

#[test]
fn who_is_not_there_cannot_leave_and_who_is_cannot_come() {
    let place = tempfile::tempdir().expect("a directory");
    let (state, at) = (tempfile::tempdir().expect("a directory"), place.path());
    let here =
        start(vec![instance(at, writing(1000), false)], options(state.path())).expect("starts");
    let orders = here.orders();
    assert!(matches!(orders.take(1), Err(MoveError::Unknown(1))));
    let carried = orders.take(0).expect("it is there");
    assert!(matches!(orders.take(0), Err(MoveError::Absent(0))));
    assert!(matches!(orders.put(0, None), Err(MoveError::Machine(0))), "what it was is not kept");
    orders.put(0, Some(carried.clone())).expect("back again");
    here.join().expect("an outcome");
    assert!(matches!(orders.take(0), Err(MoveError::Ended)));
    assert!(matches!(orders.stand_still(Nanos::MAX), Err(MoveError::Ended)));
    let other = EngineInstance { ..instance(at, writing(1000), false) };
    let strange = Strange(other.machine);
    let instance = EngineInstance::new(strange, other.shape, other.disks);
    let running = start(vec![instance], Options { verify: None, ..options(state.path()) });
    let running = running.expect("starts");
    assert!(matches!(running.orders().take(0), Err(MoveError::Machine(0))), "it cannot be saved");
    let before = done(&running).0;
    let mut after = before;
    while after < 1000 {
        after += running.slices().recv().expect("and it goes on").generator.completed;
    }
}

/// Cannot be saved.
struct Strange(Load);

impl Machine for Strange {
    fn handle(&mut self, now: Nanos, event: state_machine::Event, fx: &mut state_machine::Effects) {
        self.0.handle(now, event, fx);
    }
}

#[test]
fn paused_load_keeps_its_slices_and_counts_no_lateness() {
    let place = tempfile::tempdir().expect("a directory");
    let (state, at) = (tempfile::tempdir().expect("a directory"), place.path());
    let paced = Load::new(Kind::Paced { every: Nanos::from_millis(1) }, SIZE);
    let running = start(vec![instance(at, paced, false)], options(state.path())).expect("starts");
    let orders = running.orders();
    let _ = running.slices().recv().expect("it goes on");
    let from = orders.now();
    let until = from + Nanos::from_millis(400);
    orders.stand_still(until).expect("it goes on");
    let (mut still, mut late, mut slowest) = (0, Nanos::ZERO, Nanos::ZERO);
    loop {
        let slice = running.slices().recv().expect("slices go on");
        let is_within = slice.start > from + Nanos::from_millis(40) && slice.end() < until;
        if is_within {
            assert!(slice.io.is_empty(), "{slice:?}");
            still += 1;
        }
        for row in &slice.io {
            let longest = row.response.max();
            slowest = slowest.max(longest.unwrap_or_default());
        }
        let longest = slice.generator.lateness.max();
        late = late.max(longest.unwrap_or_default());
        if slice.start > until + Nanos::from_millis(50) {
            break;
        }
    }
    assert!(still >= 10, "{still} slices");
    assert!(slowest > Nanos::from_millis(300), "it is felt: {slowest}");
    assert!(late < Nanos::from_millis(300), "and it was meant: {late}");
    running.join().expect("an outcome");
}

#[test]
fn acknowledged_writes_of_a_lost_load_hold_for_the_next_load() {
    let place = tempfile::tempdir().expect("a directory");
    let (state, at) = (tempfile::tempdir().expect("a directory"), place.path());
    let begins_anew = Options { begins_anew: true, ..options(state.path()) };
    let lost = start(vec![instance(at, writing(u64::MAX), false)], begins_anew.clone());
    let lost = lost.expect("starts");
    let other = start(vec![instance(at, writing(4000), true)], begins_anew).expect("starts");
    let mut answered = 0;
    while answered < 2000 {
        answered += lost.slices().recv().expect("it goes on").generator.completed;
    }
    lost.orders().lose();
    // Whoever lost its power holds nothing once its I/Os have ended.
    let ended = std::thread::spawn(move || lost.join().expect("an outcome"));
    other.orders().put(0, None).expect("it begins anew");
    let outcome = ended.join().expect("it ends");
    assert!(outcome.errors.is_empty() && outcome.mismatches.is_empty(), "{outcome:?}");
    let mut again = 0;
    while again < 4000 {
        again += other.slices().recv().expect("it goes on").generator.completed;
    }
    let outcome = other.join().expect("an outcome");
    assert_eq!(
        (outcome.submitted, outcome.mismatches.len()),
        (4000, 0),
        "all of it, from its start"
    );
    let disk = disks::on_file(&at.join("disk"), "disk", Bytes::new(SIZE));
    let report = check_all(&[disk], &disks::own(state.path())).expect("it can be read");
    assert!(report.passed(), "{report:?}");
}
