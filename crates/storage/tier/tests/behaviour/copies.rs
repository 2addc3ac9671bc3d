//! The owner's host is lost together with its cache. Tests the recovery from the shared store and
//! the holders of copies.

use faults::FaultKind;
use state_machine::{Purpose, Stream};
use tilemark_tier::format::{SidecarState, Uuid};
use tilemark_tier::{
    AttachError, HeldCopy, IoTarget, Mode, Moment, Note, Op, OpenError, Order, Since,
    TakeOverError, Taken, Taking, ownership, take_over,
};

use super::oracle::stamps;
use super::peers::{CAPACITY, HolderHost, Reach, holder};
use super::world::{DISK, Devices, Shape, World, attachment};

const ONE: Shape = Shape { disk_bytes: 512 << 10, mode: Mode::Back, depth: 10, copies: 1 };
const TWO: Shape = Shape { copies: 2, ..ONE };
const TAKER: Uuid = [8; 16];

fn chance(seed: u64) -> Stream {
    Stream::derive(seed, &[5], Purpose::Device)
}

/// A world in mode back, with all its copies.
pub fn copied(seed: u64, shape: Shape) -> World {
    let mut world = World::new(seed, shape);
    until(&mut world, Note::Mode(0, Mode::Back));
    world
}

fn until(world: &mut World, note: Note) {
    world.settle(|world| world.notes.contains(&note));
    assert!(world.notes.contains(&note), "{note:?}: {:?}", world.tier.status(0));
}

pub fn taking(holders: &[HolderHost], shape: Shape) -> Taking {
    let copies = (0_u8..).zip(holders).map(|(peer, _)| HeldCopy {
        host: holder(peer).host,
        place: IoTarget::Copy(0, peer),
        capacity: CAPACITY as u64,
    });
    let (disk, bytes) = (DISK, shape.disk_bytes);
    Taking {
        index: 0,
        disk,
        bytes,
        set: TAKER,
        boot: [2; 16],
        backing: attachment(bytes, Mode::Back).backing,
        is_backing_vouched: false,
        since: Since::Unknown,
        copies: copies.collect(),
    }
}

pub fn take(
    devices: &mut Devices,
    holders: &mut [HolderHost],
    shape: Shape,
    left: Option<usize>,
) -> Result<Taken, TakeOverError> {
    take_as(devices, holders, taking(holders, shape), left)
}

pub fn take_as(
    devices: &mut Devices,
    holders: &mut [HolderHost],
    taking: Taking,
    left: Option<usize>,
) -> Result<Taken, TakeOverError> {
    let generation = devices.said().expect("no fault").generation + 1;
    holders.iter_mut().for_each(|holder| holder.fence = generation);
    take_over(&mut Reach { devices, holders, left, chance: chance(0) }, &taking)
}

fn content(devices: &mut Devices, shape: Shape) -> Vec<u64> {
    let mut bytes = vec![0; usize::try_from(shape.disk_bytes).expect("small")];
    devices.backing.read(0, &mut bytes).expect("no fault");
    stamps(&bytes)
}

/// The owner stops here for good. `false` where the sidecar says that nobody has a copy.
fn stop(world: &World, shape: Shape, is_power: bool, case: u64) -> bool {
    let (mut devices, mut holders) = world.left_behind();
    let mut chance = chance(case);
    // If both that holder and the owner were lost, all flushed writes must survive.
    let is_less = holders.iter().any(|holder| holder.has_lost);
    devices.cache = Devices::new_set(shape, TAKER).cache;
    for holder in &mut holders {
        holder.end(is_power, &mut chance);
    }
    if is_power {
        devices.power_cut(&mut chance);
    } else {
        devices.kill(&mut chance);
    }
    let said = devices.said().expect("no fault");
    if ownership::has_log(&said) && said.holders.is_empty() {
        let refused = take(&mut devices, &mut holders, shape, None);
        assert_eq!(refused, Err(TakeOverError::NoCopy { named: 0, reached: 0 }));
        return false;
    }
    // Every third is stopped while it is taken over.
    if chance.below(3) == 0 {
        let changes = usize::try_from(chance.below(12)).expect("few");
        let _ = take(&mut devices, &mut holders, shape, Some(changes));
        if is_power {
            devices.power_cut(&mut chance);
        } else {
            devices.kill(&mut chance);
        }
    }
    take(&mut devices, &mut holders, shape, None)
        .unwrap_or_else(|error| panic!("it can be taken over: {error}, {said:?}"));
    world.oracle.check(&content(&mut devices, shape), is_power || is_less);
    assert_eq!(devices.said().expect("no fault").state, SidecarState::Clean);
    true
}

/// Says how often it was stopped, and how often there was a copy then.
fn sweep(
    world: &mut World,
    shape: Shape,
    steps: usize,
    stride: usize,
    seed: u64,
) -> (usize, usize) {
    let (mut points, mut served) = (0, 0);
    for step in 0..steps {
        world.step();
        if step % stride > 0 {
            continue;
        }
        for is_power in [false, true] {
            let case = seed << 32 | (step as u64) << 1 | u64::from(is_power);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                stop(world, shape, is_power, case)
            }));
            match result {
                Ok(is_served) => (points, served) = (points + 1, served + usize::from(is_served)),
                Err(panic) => {
                    eprintln!("seed {seed}, step {step}, power cut {is_power}");
                    std::panic::resume_unwind(panic);
                }
            }
        }
    }
    (points, served)
}

#[test]
fn nothing_acknowledged_is_lost_with_the_owner() {
    let mut total = 0;
    for (seed, shape) in (0..12).map(|seed| (seed, if seed % 3 == 0 { TWO } else { ONE })) {
        let mut world = copied(seed, shape);
        let (points, served) = sweep(&mut world, shape, 500, 2, seed);
        assert_eq!(points, served, "seed {seed}: there is a copy all the time");
        total += points;
    }
    assert!(total >= 5_000, "{total} points");
}

/// Something happens to the network or to a holder.
fn trouble(world: &mut World, dice: &mut Stream, with_power: bool) {
    let peers = world.ways.holders.len() as u64;
    let peer = usize::try_from(dice.below(peers)).expect("few");
    match dice.below(6) {
        0 => world.ways.partition(peer),
        1 => world.ways.heal(peer),
        2 => world.ways.stop(peer, with_power && dice.below(2) == 0, dice),
        3 => world.ways.start(peer),
        4 => world.lose_way(peer),
        _ => world.is_patient = dice.below(2) == 0,
    }
}

#[test]
fn peers_that_come_and_go_cost_nothing_that_was_acknowledged() {
    let (mut points, mut served, mut returned) = (0, 0, 0);
    for seed in 0..16 {
        let shape = if seed % 2 == 0 { TWO } else { ONE };
        let mut world = copied(100 + seed, shape);
        world.oracle.is_mixed = true;
        let mut dice = chance(seed);
        for _ in 0..12 {
            trouble(&mut world, &mut dice, seed % 4 == 3);
            let (more, copies) = sweep(&mut world, shape, 60, 3, seed);
            (points, served) = (points + more, served + copies);
        }
        for peer in 0..world.ways.holders.len() {
            world.ways.start(peer);
            world.ways.heal(peer);
        }
        world.is_patient = true;
        world.notes.clear();
        world.settle(|world| {
            world.tier.status(0).is_some_and(|s| s.holding == usize::from(s.copies))
        });
        returned += usize::from(world.tier.status(0).is_some_and(|s| s.mode == Mode::Back));
        world.settle(|world| world.waiting() == 0);
        assert_eq!((world.waiting(), world.errors), (0, 0), "seed {seed}");
        world.read_all();
    }
    assert!(points >= 3_000 && served * 2 > points && returned > 0, "{points} {served} {returned}");
}

#[test]
fn lost_peer_is_struck_out_before_any_answer_without_it() {
    let mut world = copied(20, ONE);
    world.ways.partition(0);
    let request = world.request(Op::Write, 0, 4096, false);
    world.ask(request);
    let named = |world: &World| world.devices.clone().said().expect("no fault").holders.len();
    world.settle(|world| world.waiting() == 0);
    assert_eq!((world.waiting(), world.errors), (0, 0), "it is answered in the end");
    assert_eq!(named(&world), 0, "and the sidecar named nobody then");
    until(&mut world, Note::Mode(0, Mode::Through));
    assert_eq!(world.devices.said().expect("no fault").state, SidecarState::Clean);
    world.notes.clear();
    world.ways.heal(0);
    until(&mut world, Note::Mode(0, Mode::Back));
    assert_eq!((named(&world), world.tier.status(0).expect("it is there").holding), (1, 1));
}

#[test]
fn returning_peer_gets_the_log_before_it_counts() {
    let mut world = copied(21, ONE);
    // Writes cannot leave the log, because flushes of the backing store fail. So there is much to
    // send.
    world.devices.backing.fail(FaultKind::Flush, None);
    world.write(0, 96 << 10);
    world.ways.partition(0);
    let request = world.request(Op::Write, 8192, 8192, false);
    world.ask(request);
    until(&mut world, Note::PeerLost(0, 0));
    world.notes.clear();
    world.ways.heal(0);
    until(&mut world, Note::Holding(0, 0));
    world.settle(|world| world.waiting() == 0);
    assert!(world.tier.status(0).expect("it is there").dirty_bytes >= 96 << 10);
    world.write(64 << 10, 64 << 10);
    let (mut devices, mut holders) = world.left_behind();
    devices.kill(&mut chance(21));
    devices.backing.heal();
    let taken = take(&mut devices, &mut holders, ONE, None).expect("there is a copy");
    assert!(taken.writes >= 6 && taken.copy == Some(holder(0).host), "{taken:?}");
    world.oracle.check(&content(&mut devices, ONE), false);
}

#[test]
fn a_copy_goes_round_its_ring_and_is_cut_off_behind() {
    let mut world = copied(22, ONE);
    for round in 0..40 {
        world.write(round % 2 * (256 << 10), 224 << 10);
        world.notes.clear();
        world.order(Order::Drain { disk: 0 });
        until(&mut world, Note::Drained(0));
    }
    let (mut devices, mut holders) = world.left_behind();
    devices.kill(&mut chance(22));
    take(&mut devices, &mut holders, ONE, None).expect("there is a copy");
    world.oracle.check(&content(&mut devices, ONE), false);
    let written = world.tier.counters().writes * (32 << 10);
    assert!(written > CAPACITY as u64, "{written} B went round");
}

fn refusal(devices: &mut Devices, mode: Mode) -> AttachError {
    match devices.open(mode) {
        Err(OpenError::Attach { error, .. }) => error,
        other => panic!("it was to be refused: {:?}", other.map(|opened| opened.writes)),
    }
}

#[test]
fn d_disk_without_cache_is_refused_and_recovered_from_a_copy() {
    let mut world = copied(23, ONE);
    world.write(0, 64 << 10);
    let (mut devices, mut holders) = world.left_behind();
    devices.cache = Devices::new_set(ONE, TAKER).cache;
    assert_eq!(refusal(&mut devices, Mode::Back), AttachError::Owned(super::world::SET));
    let none: &mut [HolderHost] = &mut [];
    let refused = take(&mut devices, none, ONE, None);
    assert_eq!(refused, Err(TakeOverError::NoCopy { named: 1, reached: 0 }));
    take(&mut devices, &mut holders, ONE, None).expect("there is a copy");
    let opened = devices.open(Mode::Through).expect("the backing store is all there is");
    let oracle = world.oracle.clone();
    let mut after = World::of(23, Shape { copies: 0, ..ONE }, devices, opened.tier, oracle);
    after.oracle.is_loose = true;
    world.oracle.check(&stamps(&after.read_all()), false);
}

/// Regression: the log's writes were written to a backing store that was restored from a snapshot,
/// as if it were the newest state.
#[test]
fn take_over_refuses_a_backing_store_older_than_its_marks() {
    let mut world = copied(24, ONE);
    world.devices.backing.fail(FaultKind::Write(0..ONE.disk_bytes), None);
    world.write(0, 32 << 10);
    let (mut devices, mut holders) = world.left_behind();
    devices.backing.heal();
    let (before, said) = (content(&mut devices, ONE), devices.said().expect("no fault"));
    let older = Taking { since: Since::Older(Moment::default()), ..taking(&holders, ONE) };
    let refused = take_as(&mut devices, &mut holders, older.clone(), None);
    assert_eq!(refused, Err(TakeOverError::BackingOlder { writes: 1 }));
    assert_eq!((content(&mut devices, ONE), devices.said().expect("no fault")), (before, said));
    // With nothing in the log an older state is served as it is.
    take(&mut devices, &mut holders, ONE, None).expect("there is a copy");
    take_as(&mut devices, &mut holders, older, None).expect("nothing is put there");
}

/// Whoever takes over says in the end what the sidecar is: whoever opened the disk meanwhile would have lost it.
#[test]
fn g_clean_disk_under_take_over_cannot_be_opened() {
    let shape = Shape { mode: Mode::Through, copies: 0, ..ONE };
    let mut world = World::new(29, shape);
    world.write(0, 16 << 10);
    world.close();
    let mut devices = world.devices.clone();
    let none: &mut [HolderHost] = &mut [];
    // The claim is written and flushed, and nothing after it.
    take(&mut devices, none, shape, Some(2)).expect_err("it is stopped");
    assert_eq!(refusal(&mut devices, Mode::Through), AttachError::Claimed);
    take(&mut devices, none, shape, None).expect("it is done again");
    devices.open(Mode::Through).expect("the backing store is all there is");
}

#[test]
fn g_an_owner_that_returns_after_a_take_over_replays_nothing() {
    for seed in 0..8 {
        let mut world = copied(30 + seed, ONE);
        for _ in 0..200 + 20 * seed {
            world.step();
        }
        world.write(0, 16 << 10);
        let (mut devices, mut holders) = world.left_behind();
        devices.kill(&mut chance(seed));
        let old = std::mem::replace(&mut devices.cache, Devices::new_set(ONE, TAKER).cache);
        take(&mut devices, &mut holders, ONE, None).expect("there is a copy");
        let before = content(&mut devices, ONE);
        world.oracle.check(&before, false);
        let opened = devices.open(Mode::Back).expect("the taker serves");
        let oracle = world.oracle.reborn(&before);
        let mut second = World::of(seed, Shape { copies: 0, ..ONE }, devices, opened.tier, oracle);
        second.write(8192, 32 << 10);
        second.flush();
        let mut devices = second.devices.clone();
        devices.kill(&mut chance(seed));
        // The old device returns while the taker is down: neither its log nor its pages count.
        let newer = std::mem::replace(&mut devices.cache, old);
        let error = refusal(&mut devices, Mode::Back);
        assert!(matches!(error, AttachError::Stale { .. } | AttachError::Owned(_)), "{error}");
        devices.cache = newer;
        let opened = devices.open(Mode::Back).expect("the taker goes on");
        let oracle = second.oracle.clone();
        let mut third = World::of(seed, Shape { copies: 0, ..ONE }, devices, opened.tier, oracle);
        third.oracle.is_loose = true;
        second.oracle.check(&stamps(&third.read_all()), false);
    }
}

#[test]
fn g_owner_cut_off_while_running_answers_nothing() {
    // What waits in the log may still go out late, a batch that it had: a proof of fencing is for that.
    let waits = |world: &World| world.tier.status(0).is_some_and(|status| status.dirty_bytes > 0);
    let cases = [(40, true, false), (41, false, false), (42, true, false), (43, false, false)];
    let drained = [(44, true, true), (45, false, true), (46, true, true), (47, false, true)];
    for (seed, is_partition, is_drained) in cases.into_iter().chain(drained) {
        let mut world = copied(seed, ONE);
        for _ in 0..150 {
            world.step();
        }
        world.settle(|world| {
            world.waiting() == 0 && !world.is_busy() && !(is_drained && waits(world))
        });
        if is_partition {
            world.ways.partition(0);
        }
        let (mut devices, mut holders) = world.left_behind();
        devices.kill(&mut chance(seed));
        holders[0].end(false, &mut chance(seed));
        take(&mut devices, &mut holders, ONE, None).expect("there is a copy");
        world.oracle.check(&content(&mut devices, ONE), false);
        // It lives on, with a shared store that has changed owners, and a holder who knows it.
        world.devices.sidecar = devices.sidecar.clone();
        world.ways.holders[0].fence = holders[0].fence;
        if !is_partition {
            world.lose_way(0);
        }
        let backing = content(&mut world.devices, ONE);
        let flushes = world.flushes;
        let mut asked = Vec::new();
        for at in 0..6 {
            let request = world.request(Op::Write, at * 8192, 8192, at == 3);
            asked.push(u64::from(request.id.0));
            world.ask(request);
        }
        world.settle(|world| world.notes.contains(&Note::Fenced(0)));
        assert_eq!((world.waiting(), world.errors, world.flushes), (0, 6, flushes), "seed {seed}");
        let request = world.request(Op::Read, 0, 4096, false);
        world.ask(request);
        world.settle(|world| world.waiting() == 0);
        assert_eq!(world.errors, 7, "not even a read is answered");
        let now = content(&mut world.devices, ONE);
        assert!(!now.iter().any(|stamp| asked.contains(stamp)), "nothing of it is written late");
        assert!(!is_drained || now == backing, "nothing else is, either");
        world.close();
        assert!(world.devices.said().expect("no fault").owner == TAKER);
    }
}

#[test]
fn g_owner_without_its_reservation_writes_and_answers_nothing() {
    let (mut taken, mut refused) = (0, 0);
    for (seed, shape) in (0..24).map(|seed| (seed, if seed % 2 == 0 { ONE } else { TWO })) {
        let mut world = copied(60 + seed, shape);
        world.reservations.register(0, 0, 10).expect("nobody is registered");
        world.reservations.reserve(0, 10).expect("nobody holds it");
        for _ in 0..100 + 20 * seed {
            world.step();
        }
        // Another host takes its reservation away, in the middle of whatever it does, and takes the disk over. Its holders
        // cannot tell it.
        world.reservations.register(1, 0, 20).expect("anybody may");
        world.reservations.preempt(1, 20, 10).expect("it is registered");
        world.ways.partition(0);
        if shape.copies > 1 {
            world.ways.partition(1);
        }
        let (mut devices, mut holders) = world.left_behind();
        // What it had under way when it was preempted was aborted.
        devices.kill(&mut chance(seed));
        holders.iter_mut().for_each(|holder| holder.end(false, &mut chance(seed)));
        take(&mut devices, &mut holders, shape, None).expect("there is a copy");
        world.oracle.check(&content(&mut devices, shape), false);
        let before = content(&mut world.devices, shape);
        let errors = world.errors;
        for at in 0..6 {
            let request = world.request(Op::Write, at * 8192, 8192, at == 3);
            world.ask(request);
        }
        world.settle(|world| world.waiting() == 0 && world.notes.contains(&Note::Fenced(0)));
        let request = world.request(Op::Read, 0, 4096, false);
        world.ask(request);
        world.settle(|world| world.waiting() == 0);
        assert!(world.errors >= errors + 7, "seed {seed}: nothing is answered any more");
        assert!(content(&mut world.devices, shape) == before, "seed {seed}: nothing lands late");
        refused += world.refused;
        taken += 1;
    }
    assert!(taken == 24 && refused > 0, "{refused} late writes were refused");
}

#[test]
fn peer_that_forgets_acknowledged_groups_is_detected() {
    let mut world = copied(50, TWO);
    world.write(0, 4096);
    // The next group is acknowledged by the first peer and lands nowhere.
    world.ways.holders[0].disk.fail(FaultKind::Lose(8192..CAPACITY as u64), Some(1));
    world.write(8192, 4096);
    world.ways.holders[0].disk.heal();
    world.flush();
    world.write(16384, 4096);
    let (mut devices, mut holders) = world.left_behind();
    devices.kill(&mut chance(50));
    let mut alone = devices.clone();
    let error = take(&mut alone, &mut holders[..1], TWO, None).expect_err("it misses a group");
    assert!(matches!(error, TakeOverError::Damaged(_)), "{error}");
    assert_eq!(alone.said(), devices.said(), "nothing was changed");
    let taken = take(&mut devices, &mut holders, TWO, None).expect("the other has it");
    assert_eq!(taken.copy, Some(holder(1).host));
    world.oracle.check(&content(&mut devices, TWO), false);
}

#[test]
fn e_a_log_that_was_given_up_is_not_read_from_its_copies_either() {
    let mut world = copied(60, ONE);
    world.write(0, 8192);
    let (mut devices, mut holders) = world.left_behind();
    devices.kill(&mut chance(60));
    super::world::give_up(&mut devices).expect("no fault");
    let taken = take(&mut devices, &mut holders, ONE, None).expect("the backing store is all");
    assert_eq!((taken.copy, taken.writes), (None, 0));
    assert_eq!(content(&mut devices, ONE)[..16], [0; 16]);
}

#[test]
fn a_copy_of_another_generation_is_none() {
    let mut world = copied(61, ONE);
    world.write(0, 8192);
    let (mut devices, mut holders) = world.left_behind();
    devices.kill(&mut chance(61));
    // A copy of before the owner was made anew, by its label.
    let mut label = [0; 8192];
    holders[0].disk.read(0, &mut label).expect("no fault");
    let old = tilemark_tier::format::Label::newest(&label).expect("it is labelled");
    let other = tilemark_tier::format::Label { generation: old.generation + 1, number: 9, ..old };
    let chance = &mut chance(61);
    holders[0].disk.start_write(1, other.place(), &other.encode()[..]).expect("within");
    holders[0].disk.finish_write(1, true, chance).expect("no fault");
    let refused = take(&mut devices, &mut holders, ONE, None);
    assert_eq!(refused, Err(TakeOverError::NoCopy { named: 1, reached: 0 }));
}
