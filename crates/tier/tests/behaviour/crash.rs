//! It is stopped at every step, in every way, and what is left is held against what was promised.

use machine::{Purpose, Stream};
use tilemark_tier::format::{SIDECAR_BYTES, Sidecar, SidecarState};
use tilemark_tier::{Mode, Note, Op, Order};

use super::oracle::{Oracle, stamps};
use super::world::{Devices, Direct, Shape, World, memory_of};

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

/// What the backing store is worth without its log: in order, or known to be torn.
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

/// Stops and goes on from what is left, again and again, so that what a life left behind the end of its
/// log is there in the next.
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
fn nothing_acknowledged_is_lost_in_mode_back_wherever_it_is_stopped() {
    let points: usize = (0..17).map(|seed| sweep(seed, SHAPE, 600, 2)).sum();
    assert!(points >= 10_000, "{points} points");
}

#[test]
fn nothing_flushed_is_lost_in_mode_through_and_no_page_is_older_than_its_backing_store() {
    let points: usize = (100..108).map(|seed| sweep(seed, THROUGH, 600, 2)).sum();
    assert!(points >= 4_000, "{points} points");
}

#[test]
fn what_the_backing_store_may_still_lose_is_in_no_page_after_a_power_cut() {
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
fn what_an_earlier_life_left_behind_the_end_of_its_log_never_comes_back() {
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

#[test]
fn a_full_log_and_few_slots_lose_nothing_either() {
    // Most of the disk is written again and again by many at once, and hardly anything is flushed.
    let shape = Shape { depth: 40, ..SHAPE };
    let points: usize = (200..203).map(|seed| sweep(seed, shape, 2400, 8)).sum();
    assert!(points >= 1_500, "{points} points");
}

/// `TILEMARK_CRASH_POINTS=1000000 cargo test --release -p tilemark-tier -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes to hours; say how many points"]
fn as_many_points_as_are_asked_for() {
    let wanted = std::env::var("TILEMARK_CRASH_POINTS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(100_000);
    let (mut points, mut seed) = (0, 1000);
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
