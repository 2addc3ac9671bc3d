//! A second disk comes and goes while the first is worked with; it is stopped anywhere.

use faults::FaultKind;
use state_machine::{Purpose, Stream};
use tilemark_tier::format::SidecarState;
use tilemark_tier::{IoTarget, Mode, Note, Op, OpenError, Order, Request};

use super::oracle::stamps;
use super::world::{Devices, OTHER, Shape, World, memory_of};

const BACK: Shape = Shape { disk_bytes: 384 << 10, mode: Mode::Back, depth: 10, copies: 0 };
const THROUGH: Shape = Shape { mode: Mode::Through, ..BACK };

fn chance(seed: u64) -> Stream {
    Stream::derive(seed, &[6], Purpose::Device)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Absent,
    Coming,
    Served,
    /// Nobody asks it any more, and it is told to leave when all is answered.
    Ending,
    Leaving,
}

struct Run {
    world: World,
    shape: Shape,
    phase: Phase,
    dice: Stream,
    came: usize,
    left: usize,
}

impl Run {
    fn new(seed: u64, shape: Shape) -> Self {
        let world = World::with_memory(seed, shape, memory_of(seed));
        let dice = chance(seed);
        Self { world, shape, phase: Phase::Absent, dice, came: 0, left: 0 }
    }

    fn step(&mut self) {
        self.world.step();
        let world = &mut self.world;
        match self.phase {
            Phase::Absent if self.dice.below(30) == 0 => {
                world.attach_other().expect("it may come");
                self.phase = Phase::Coming;
            }
            Phase::Coming if world.take_note(Note::Attached(1)) => {
                world.order(Order::Serve { disk: 1 });
                (world.is_other_asked, self.phase) = (true, Phase::Served);
                self.came += 1;
            }
            Phase::Served if self.dice.below(200) == 0 => {
                (world.is_other_asked, self.phase) = (false, Phase::Ending);
            }
            Phase::Ending if world.waiting_of(1) == 0 => {
                // In mode through, writes of a failed flush are lost for good.
                if self.shape.mode == Mode::Back && self.dice.below(3) == 0 {
                    world.devices.other.0.fail(FaultKind::Flush, None);
                }
                world.order(Order::Detach { disk: 1 });
                self.phase = Phase::Leaving;
            }
            Phase::Leaving if self.dice.below(40) == 0 => world.devices.other.0.heal(),
            Phase::Leaving if world.take_note(Note::Detached(1)) => self.is_gone(),
            _ => {}
        }
    }

    /// The backing store is all there is of it.
    fn is_gone(&mut self) {
        let devices = &mut self.world.devices;
        // It had nothing to be flushed, perhaps.
        devices.other.0.heal();
        let said = devices.said_of(1).expect("no fault");
        assert_eq!(said.state, SidecarState::Clean);
        let content = alone(devices, self.shape);
        self.world.other.check(&content, false);
        self.world.other = self.world.other.reborn(&content);
        assert!(self.world.tier.status(1).is_none());
        assert!(self.world.tier.superblock().disks[1].is_none());
        (self.phase, self.left) = (Phase::Absent, self.left + 1);
    }

    /// Stops for good. The next server must find the data guaranteed for both.
    fn stop(&self, is_power: bool, case: u64) {
        let mut chance = chance(case);
        let mut devices = self.world.devices.clone();
        devices.other.0.heal();
        if is_power {
            devices.power_cut(&mut chance);
        } else {
            devices.kill(&mut chance);
        }
        // Named when it begins, or later.
        let (is_named, mode) = (chance.below(2) == 0, self.shape.mode);
        let opened = if is_named { devices.open_both(mode) } else { devices.open(mode) };
        let opened = opened.unwrap_or_else(|error| panic!("it opens: {error}"));
        let oracle = self.world.oracle.clone();
        let mut after = World::of(case, self.shape, devices, opened.tier, oracle);
        after.other = self.world.other.clone();
        (after.oracle.is_loose, after.other.is_loose) = (true, true);
        if !is_named {
            after.attach_other().expect("it may come");
            after.settle(|world| world.notes.contains(&Note::Attached(1)));
            after.order(Order::Serve { disk: 1 });
        }
        let content = [stamps(&after.read_disk(0)), stamps(&after.read_disk(1))];
        self.world.oracle.check(&content[0], is_power);
        self.world.other.check(&content[1], is_power);
        after.order(Order::Detach { disk: 1 });
        after.settle(|world| world.notes.contains(&Note::Detached(1)));
        assert_eq!(alone(&mut after.devices, self.shape), content[1], "all of it is out");
        assert_eq!(stamps(&after.read_disk(0)), content[0], "and nothing of the other");
        assert_eq!(after.tier.counters().checksum_errors, 0, "nothing wrong was believed");
    }
}

/// Content of the second disk's backing store, as stamps.
fn alone(devices: &mut Devices, shape: Shape) -> Vec<u64> {
    let mut bytes = vec![0; usize::try_from(shape.disk_bytes).expect("small")];
    devices.of(IoTarget::Backing(1)).read(0, &mut bytes).expect("no fault");
    stamps(&bytes)
}

fn sweep(seed: u64, shape: Shape, steps: usize, stride: usize) -> (usize, usize, usize) {
    let mut run = Run::new(seed, shape);
    let mut points = 0;
    for step in 0..steps {
        run.step();
        if step % stride > 0 && run.phase != Phase::Coming {
            continue;
        }
        for is_power in [false, true] {
            let case = seed << 32 | (step as u64) << 1 | u64::from(is_power);
            let stopped = std::panic::AssertUnwindSafe(|| run.stop(is_power, case));
            if let Err(panic) = std::panic::catch_unwind(stopped) {
                eprintln!("seed {seed}, step {step}, {:?}, power cut {is_power}", run.phase);
                std::panic::resume_unwind(panic);
            }
            points += 1;
        }
    }
    assert_eq!(run.world.errors, 0, "seed {seed}");
    (points, run.came, run.left)
}

#[test]
fn attach_and_detach_beside_a_disk_lose_nothing_at_any_stop() {
    let (mut points, mut came, mut left) = (0, 0, 0);
    for seed in 0..12 {
        let shape = if seed % 3 == 0 { THROUGH } else { BACK };
        let sums = sweep(seed, shape, 1500, 5);
        (points, came, left) = (points + sums.0, came + sums.1, left + sums.2);
    }
    assert!(points >= 7_000 && came >= 20 && left >= 15, "{points} points, {came} {left}");
}

#[test]
fn detached_disk_moves_to_another_set_and_returns_cold() {
    let mut world = World::new(50, BACK);
    for round in 0..3 {
        world.attach_other().expect("it may come");
        world.settle(|world| world.notes.contains(&Note::Attached(1)));
        world.order(Order::Serve { disk: 1 });
        let pages = world.tier.status(1).expect("it is there").pages;
        assert_eq!(pages, 0, "round {round}: what it had of it is forgotten");
        world.read_disk(1);
        world.settle_all();
        assert!(world.tier.status(1).expect("it is there").pages > 0);
        world.order(Order::Detach { disk: 1 });
        world.settle(|world| world.notes.contains(&Note::Detached(1)));
        world.notes.clear();
        world.settle_all();
        assert_eq!((world.tier.resident(), world.bufs()), (0, 0));
        let mut devices = world.devices.clone();
        devices.cache = Devices::new_set(BACK, [8; 16]).cache;
        let opened = devices.open_other(Mode::Back).expect("nobody has it");
        let generation = opened.tier.status(1).expect("it is there").generation;
        assert_eq!(generation, world.devices.said_of(1).expect("no fault").generation + 1);
    }
    world.close();
}

#[test]
fn disk_with_newer_writes_in_another_set_is_not_attached() {
    let mut world = World::new(51, BACK);
    let mut elsewhere = world.devices.clone();
    elsewhere.cache = Devices::new_set(BACK, [8; 16]).cache;
    elsewhere.open_other(Mode::Back).expect("nobody has it");
    world.devices.other = elsewhere.other.clone();
    let refused = world.attach_other().expect_err("it is another set's");
    assert!(matches!(refused, OpenError::Attach { index: 1, .. }), "{refused}");
    assert!(world.tier.status(1).is_none());
    world.write(0, 8192);
    assert_eq!(world.errors, 0, "the others do not notice");
    assert_eq!(world.devices.said_of(1).expect("no fault").disk, OTHER);
}

#[test]
fn disk_that_cannot_be_marked_is_not_served_and_may_retry() {
    let mut world = World::new(52, BACK);
    world.devices.other.1.fail(FaultKind::Flush, None);
    world.attach_other().expect("it may come");
    world.settle(|world| world.notes.contains(&Note::NotAttached(1)));
    assert!(world.notes.contains(&Note::NotAttached(1)) && world.tier.status(1).is_none());
    world.write(0, 8192);
    world.devices.other.1.heal();
    world.attach_other().expect("it may come");
    world.settle(|world| world.notes.contains(&Note::Attached(1)));
    world.order(Order::Serve { disk: 1 });
    world.read_disk(1);
    assert_eq!(world.errors, 0);
    world.close();
}

/// A disk that was detached, and whose file and sidecar were made anew, was given the writes of the old one.
#[test]
fn new_disk_of_an_old_name_gets_nothing_of_the_old_log() {
    let mut world = World::new(60, BACK);
    // Until its log has every free chunk again.
    for round in 0..20 {
        world.devices.other = Devices::new(BACK).other;
        world.attach_other().expect("it is new");
        world.settle(|world| world.notes.contains(&Note::Attached(1)));
        let mut devices = world.devices.clone();
        devices.kill(&mut chance(round));
        let opened = devices.open_both(Mode::Back).expect("both are whole");
        assert_eq!(opened.writes, 0, "round {round}");
        world.order(Order::Serve { disk: 1 });
        let request = Request { disk: 1, ..world.request(Op::Write, 0, 8192, true) };
        world.ask(request);
        world.settle(|world| world.waiting() == 0);
        world.order(Order::Detach { disk: 1 });
        world.settle(|world| world.notes.contains(&Note::Detached(1)));
        world.notes.clear();
    }
}
