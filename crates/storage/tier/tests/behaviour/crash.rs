//! The state machine is stopped at every step, in every way, and the remaining data are compared
//! with the guarantees.

use faults::FaultKind;
use state_machine::{Purpose, Stream};
use tilemark_tier::format::{SIDECAR_BYTES, Sidecar, SidecarState};
use tilemark_tier::{Mode, Note, Op, Order, Request};

use super::damaged::heads;
use super::oracle::{Oracle, stamps};
use super::world::{DISK, Devices, Direct, OTHER, SET, Shape, World, memory_of};

const SHAPE: Shape = Shape { disk_bytes: 512 << 10, mode: Mode::Back, depth: 12, copies: 0 };
const THROUGH: Shape = Shape { disk_bytes: 768 << 10, mode: Mode::Through, ..SHAPE };

/// Runs by `seed`, stops a copy after every `stride`th step, and says how many stops there were.
fn sweep(seed: u64, shape: Shape, steps: usize, stride: usize) -> usize {
    let mut world = World::with_memory(seed, shape, memory_of(seed));
    let mut points = 0;
    for step in 0..steps {
        world.step();
        if step % stride == 0 {
            for is_power in [false, true] {
                let what = format!("seed {seed}, step {step}, power cut {is_power}");
                points += 1;
                let case = seed << 32 | (step as u64) << 1 | u64::from(is_power);
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    stop(&world, shape, is_power, case)
                }));
                if let Err(panic) = result {
                    eprintln!("{what}");
                    std::panic::resume_unwind(panic);
                }
            }
        }
    }
    points
}

fn stop(world: &World, shape: Shape, is_power: bool, case: u64) {
    let mut devices = world.devices.clone();
    let mut chance = Stream::derive(case, &[1], Purpose::Device);
    if is_power {
        devices.power_cut(&mut chance);
    } else {
        devices.kill(&mut chance);
    }
    if shape.mode == Mode::Back {
        check_alone(&devices, &world.oracle);
    }
    // Every fourth is stopped again while it is being opened.
    if chance.below(4) == 0 {
        let changes = usize::try_from(chance.below(9)).expect("few");
        Direct::open_cut_off(&mut devices, shape.mode, changes);
        if is_power {
            devices.power_cut(&mut chance);
        } else {
            devices.kill(&mut chance);
        }
    }
    let opened = devices.open(shape.mode).unwrap_or_else(|error| panic!("it opens: {error}"));
    let mut after = World::of(case, shape, devices, opened.tier, world.oracle.clone());
    after.oracle.is_loose = true;
    let content = stamps(&after.read_all());
    world.oracle.check(&content, is_power);
    // Once it is all there, the backing store says the same, and so does the disk, which had
    // some of it in pages.
    after.order(Order::Drain { disk: 0 });
    after.settle(|world| world.notes.contains(&Note::Drained(0)));
    let mut backing = vec![0; usize::try_from(shape.disk_bytes).expect("small")];
    after.devices.backing.read(0, &mut backing).expect("no fault");
    assert_eq!(stamps(&backing), content, "pages and log say what the backing store does");
    assert_eq!(stamps(&after.read_all()), content, "a second look is like the first");
    assert_eq!(after.tier.counters().checksum_errors, 0, "nothing wrong was believed");
}

/// Checks the backing store without its log: it is in order, or known to be torn.
fn check_alone(devices: &Devices, oracle: &Oracle) {
    let mut devices = devices.clone();
    let mut bytes = [0; SIDECAR_BYTES];
    devices.sidecar.read(0, &mut bytes).expect("no fault");
    let sidecar = Sidecar::newest(&bytes).expect("one copy is always good");
    let mut content = vec![0; usize::try_from(devices.backing.bytes()).expect("small")];
    devices.backing.read(0, &mut content).expect("no fault");
    if !matches!(sidecar.state, SidecarState::Applying { .. }) {
        oracle.check_alone(&stamps(&content));
    }
}

/// Stops and reopens the devices many times. So groups that one session left behind the end of its
/// log are there in the next.
fn lives(seed: u64, shape: Shape, lives: usize) -> usize {
    let mut chance = Stream::derive(seed, &[3], Purpose::Device);
    let mut world = World::with_memory(seed, shape, memory_of(seed));
    for life in 0..lives {
        for _ in 0..40 + chance.below(160) {
            world.step();
        }
        let is_power = chance.below(2) == 0;
        let mut devices = world.devices.clone();
        if is_power {
            devices.power_cut(&mut chance);
        } else {
            devices.kill(&mut chance);
        }
        let opened = devices
            .open(shape.mode)
            .unwrap_or_else(|error| panic!("seed {seed}, life {life}: {error}"));
        let mut after = World::of(chance.bits(), shape, devices, opened.tier, world.oracle.clone());
        after.oracle.is_loose = true;
        let content = stamps(&after.read_all());
        eprintln!("seed {seed}, life {life}, power cut {is_power}");
        world.oracle.check(&content, is_power);
        after.oracle = world.oracle.reborn(&content);
        world = after;
    }
    lives
}

#[test]
fn a_disk_that_is_stopped_again_and_again_loses_nothing() {
    let shape = Shape { depth: 20, ..SHAPE };
    let points: usize =
        (300..340).map(|seed| lives(seed, if seed % 4 == 0 { THROUGH } else { shape }, 25)).sum();
    assert!(points >= 1_000, "{points} lives");
}

#[test]
fn mode_back_loses_nothing_acknowledged_at_any_stop() {
    let points: usize = (0..17).map(|seed| sweep(seed, SHAPE, 600, 2)).sum();
    assert!(points >= 10_000, "{points} points");
}

#[test]
fn mode_through_loses_nothing_flushed_and_no_page_is_older() {
    let points: usize = (100..108).map(|seed| sweep(seed, THROUGH, 600, 2)).sum();
    assert!(points >= 4_000, "{points} points");
}

#[test]
fn no_page_has_what_the_backing_store_lost_in_a_power_cut() {
    // Of a page that is written to again and again one map is on its way behind another.
    let shape = Shape { depth: 10, ..THROUGH };
    let (seed, stops) = (1023, 780..800);
    let mut world = World::new(seed, shape);
    for step in 0..stops.end {
        world.step();
        if stops.contains(&step) {
            stop(&world, shape, true, seed << 32 | step << 1 | 1);
        }
    }
}

#[test]
fn groups_of_an_earlier_life_behind_the_log_never_return() {
    let mut tried = 0;
    for seed in 0..40 {
        // Two groups are on their way, and only the second lands whole.
        let mut world = World::new(seed, SHAPE);
        for offset in [0, 8192] {
            let request = world.request(Op::Write, offset, 4096, false);
            world.ask(request);
        }
        world.end_newest();
        let mut chance = Stream::derive(seed, &[4], Purpose::Device);
        let mut devices = world.devices.clone();
        devices.kill(&mut chance);
        let opened = devices.open(Mode::Back).expect("it opens");
        if opened.writes > 0 {
            continue;
        }
        tried += 1;
        // A group of the same size takes the place of the first: behind it the old second has the
        // number that would be next.
        let mut after =
            World::of(seed, SHAPE, devices, opened.tier, world.oracle.reborn(&[0; 1024]));
        after.write(16384, 4096);
        let mut devices = after.devices.clone();
        devices.kill(&mut chance);
        let opened = devices.open(Mode::Back).expect("it opens");
        assert_eq!(opened.writes, 1, "seed {seed}: the one that was answered");
    }
    assert!(tried > 10, "{tried} crashes lost the first");
}

/// Puts a sector of one cache device into another, durably.
fn put_sector(devices: &mut Devices, at: u64, sector: &[u8]) {
    let chance = &mut Stream::derive(0, &[8], Purpose::Device);
    devices.cache.start_write(u64::MAX, at, sector).expect("within the device");
    devices.cache.finish_write(u64::MAX, true, chance).expect("no fault");
}

/// A power cut tore the last group of a log, which then counted as never written. A second power cut kept of the group
/// that was written to the same place only the sector that the first had lost: the sectors of padding and of unused
/// records are zeros in every group, and a client may write the same data again. The old group was whole then, and its
/// write came back.
#[test]
fn group_torn_by_one_power_cut_is_not_made_whole_by_the_next() {
    let mut world = World::new(5, SHAPE);
    world.write(0, 4096);
    world.settle_all();
    world.order(Order::Drain { disk: 0 });
    world.settle_all();
    let before = heads(&mut world.devices, DISK).len();
    world.devices.backing.fail(FaultKind::Write(0..SHAPE.disk_bytes), None);
    world.write(8192, 8192);
    let mut devices = world.devices.clone();
    devices.kill(&mut Stream::derive(5, &[7], Purpose::Device));
    devices.backing.heal();
    let all = heads(&mut devices, DISK);
    assert_eq!(all.len(), before + 1, "the group is the last");
    let (group, head) = all[before].clone();
    let whole_writes = devices.clone().open(Mode::Back).expect("a kill loses nothing").writes;
    let mut tried = 0;
    for at in (group..group + 4096 + u64::from(head.bytes)).step_by(512) {
        let mut whole = [0; 512];
        devices.cache.read(at, &mut whole).expect("no fault");
        let mut devices = devices.clone();
        put_sector(&mut devices, at, &[0xa5; 512]);
        let writes = devices.open(Mode::Back).expect("a torn end").writes;
        assert_eq!(writes, whole_writes - 1, "sector {at}");
        put_sector(&mut devices, at, &whole);
        assert_eq!(devices.open(Mode::Back).expect("as before").writes, writes, "sector {at}");
        tried += 1;
    }
    assert_eq!(tried, 8 + 16, "every sector of a head and of two blocks");
}

#[test]
fn torn_end_of_the_log_of_pages_is_cleared() {
    let mut world = World::new(6, SHAPE);
    world.read(0, 64 << 10);
    world.settle_all();
    let devices = left(&world);
    let (at, _) = heads(&mut devices.clone(), SET).pop().expect("pages were written down");
    let mut torn = devices.clone();
    torn.cache.rot(at + 300);
    torn.open(Mode::Back).expect("pages can be read again");
    torn.cache.rot(at + 300);
    assert!(heads(&mut torn, SET).iter().all(|(found, _)| *found != at), "it cannot come back");
}

#[test]
fn torn_log_end_is_cleared_when_its_disk_is_attached() {
    let mut devices = Devices::new(SHAPE);
    let opened = devices.open_both(Mode::Back).expect("a new set");
    let oracle = Oracle::new(SHAPE.disk_bytes / 512, Mode::Back);
    let mut world = World::of(7, SHAPE, devices, opened.tier, oracle.clone());
    world.devices.other.0.fail(FaultKind::Write(0..SHAPE.disk_bytes), None);
    let request = Request { disk: 1, ..world.request(Op::Write, 0, 8192, false) };
    world.ask(request);
    world.settle(|world| world.waiting() == 0);
    let mut devices = left(&world);
    devices.other.0.heal();
    let (at, head) = heads(&mut devices, OTHER).pop().expect("it has a log");
    devices.cache.rot(at + 300);
    let opened = devices.open(Mode::Back).expect("the other disk is not asked for");
    let mut world = World::of(7, SHAPE, devices, opened.tier, oracle);
    world.attach_other().expect("a torn end");
    world.devices.cache.rot(at + 300);
    let found = heads(&mut world.devices, OTHER);
    assert!(found.iter().all(|(_, other)| *other != head), "it cannot come back");
}

fn left(world: &World) -> Devices {
    let mut devices = world.devices.clone();
    devices.kill(&mut Stream::derive(6, &[7], Purpose::Device));
    devices
}

#[test]
fn a_full_log_and_few_slots_lose_nothing_either() {
    // Most of the disk is written again and again by many at once, and hardly anything is flushed.
    let shape = Shape { depth: 40, ..SHAPE };
    let points: usize = (200..203).map(|seed| sweep(seed, shape, 2400, 8)).sum();
    assert!(points >= 1_500, "{points} points");
}

/// `TILEMARK_CRASH_POINTS=1000000 cargo test --release -p tilemark-tier -- --ignored --nocapture`, from another seed on
/// by `TILEMARK_CRASH_SEED`.
#[test]
#[ignore = "takes minutes to hours; say how many points"]
fn as_many_points_as_are_asked_for() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let wanted = number("TILEMARK_CRASH_POINTS").unwrap_or(100_000);
    let wanted = usize::try_from(wanted).expect("as many as fit into memory");
    let (mut points, mut seed) = (0, number("TILEMARK_CRASH_SEED").unwrap_or(1000));
    while points < wanted {
        // One in five with a damaged sector before each opening.
        points += super::damage::points(seed, 1);
        let shape = if seed % 3 == 0 { THROUGH } else { SHAPE };
        points += sweep(seed, Shape { depth: 4 + (seed % 7) as usize * 6, ..shape }, 1200, 1);
        seed += 1;
        if seed % 20 == 0 {
            eprintln!("{points} points, none lost");
        }
    }
    eprintln!("{points} points, none lost");
}
