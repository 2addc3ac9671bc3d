//! Two disks whose policies and shares change while both are worked with; it is stopped anywhere.

use cache::PolicyKind;
use state_machine::{Purpose, Stream};
use tilemark_tier::{IoTarget, Mode, Note, Order};

use super::oracle::{Oracle, SECTOR, stamps};
use super::world::{Devices, Shape, World};

const BACK: Shape = Shape { disk_bytes: 2 << 20, mode: Mode::Back, depth: 10, copies: 0 };
const THROUGH: Shape = Shape { mode: Mode::Through, ..BACK };

fn chance(seed: u64) -> Stream {
    Stream::derive(seed, &[8], Purpose::Device)
}

/// Both disks, over some hundred slots that they do not fit into.
fn both(seed: u64, shape: Shape) -> World {
    let mut devices = Devices::new(shape);
    let opened = devices.open_both(shape.mode).expect("a new set opens");
    let oracle = Oracle::new(shape.disk_bytes / SECTOR, shape.mode);
    let mut world = World::of(seed, shape, devices, opened.tier, oracle);
    world.is_other_asked = true;
    world
}

/// An order that an operator may give: shares of disks with policies of their own stay below 100 %
/// together.
fn order(dice: &mut Stream) -> Order {
    let disk = u16::try_from(dice.below(2)).expect("few");
    let kind = PolicyKind::ALL[usize::try_from(dice.below(9)).expect("few")];
    match dice.below(5) {
        0 => Order::Policy(kind),
        1 | 2 => Order::OwnPolicy { disk, policy: Some(kind) },
        3 => Order::OwnPolicy { disk, policy: None },
        _ => Order::Share { disk, percent: u8::try_from(dice.below(50)).expect("few") },
    }
}

/// The next server of both disks must find their guaranteed data.
fn stop(world: &World, shape: Shape, is_power: bool, case: u64) {
    let mut chance = chance(case);
    let mut devices = world.devices.clone();
    if is_power {
        devices.power_cut(&mut chance);
    } else {
        devices.kill(&mut chance);
    }
    let opened = devices.open_both(shape.mode).unwrap_or_else(|error| panic!("{error}"));
    let mut after = World::of(case, shape, devices, opened.tier, world.oracle.clone());
    after.other = world.other.clone();
    (after.oracle.is_loose, after.other.is_loose) = (true, true);
    let content = [stamps(&after.read_disk(0)), stamps(&after.read_disk(1))];
    world.oracle.check(&content[0], is_power);
    world.other.check(&content[1], is_power);
    for disk in [0, 1] {
        after.order(Order::Drain { disk });
        after.settle(|world| world.notes.contains(&Note::Drained(disk)));
        let mut alone = vec![0; usize::try_from(shape.disk_bytes).expect("small")];
        after.devices.of(IoTarget::Backing(disk)).read(0, &mut alone).expect("no fault");
        let is_same = stamps(&alone) == content[usize::from(disk)];
        assert!(is_same, "pages of disk {disk} say what lies below");
    }
    assert_eq!(after.tier.counters().checksum_errors, 0, "nothing wrong was believed");
}

/// Runs by `seed` and stops a copy after every `stride`th step. How many stops.
fn sweep(seed: u64, shape: Shape, steps: usize, stride: usize) -> usize {
    let (mut world, mut dice) = (both(seed, shape), chance(seed));
    for share in [0, 1] {
        world.order(Order::Share { disk: share, percent: 40 });
    }
    let mut points = 0;
    for step in 0..steps {
        world.step();
        if dice.below(60) == 0 {
            world.order(order(&mut dice));
        }
        let (resident, slots) = (world.tier.resident(), world.tier.geometry().slots());
        assert!(resident <= slots as usize, "seed {seed}, step {step}: {resident} of {slots}");
        if step % stride == 0 {
            for is_power in [false, true] {
                let case = seed << 32 | (step as u64) << 1 | u64::from(is_power);
                let stopped = std::panic::AssertUnwindSafe(|| stop(&world, shape, is_power, case));
                if let Err(panic) = std::panic::catch_unwind(stopped) {
                    eprintln!("seed {seed}, step {step}, power cut {is_power}");
                    std::panic::resume_unwind(panic);
                }
                points += 1;
            }
        }
    }
    assert_eq!(world.errors, 0, "seed {seed}");
    world.settle(|world| world.waiting() == 0);
    let answers = [stamps(&world.read_disk(0)), stamps(&world.read_disk(1))];
    world.close();
    let again = [stamps(&both_again(&world, shape, 0)), stamps(&both_again(&world, shape, 1))];
    assert!(answers == again, "seed {seed}: what was closed cleanly is there again");
    points
}

fn both_again(world: &World, shape: Shape, disk: u16) -> Vec<u8> {
    let mut devices = world.devices.clone();
    let opened = devices.open_both(shape.mode).expect("it was closed cleanly");
    let mut after = World::of(9, shape, devices, opened.tier, world.oracle.clone());
    after.other = world.other.clone();
    after.read_disk(disk)
}

#[test]
fn changes_of_policies_and_shares_lose_nothing_at_any_stop() {
    let shape = |seed| if seed % 3 == 0 { THROUGH } else { BACK };
    let points: usize = (0..6).map(|seed| sweep(seed, shape(seed), 2000, 20)).sum();
    assert!(points >= 1_200, "{points} points");
}

/// With all slots taken by one disk the other gets its part, which has room only when pages have left durably.
#[test]
fn division_of_a_full_set_is_made_while_pages_are_served() {
    for policy in PolicyKind::ALL {
        let mut world = both(1, BACK);
        world.read_disk(0);
        world.settle_all();
        let (before, slots) =
            (world.tier.status(0).expect("it is there").pages, world.tier.resident());
        assert_eq!(before, slots, "all are the first's");
        world.order(Order::Share { disk: 1, percent: 50 });
        world.order(Order::OwnPolicy { disk: 1, policy: Some(policy) });
        let status = world.tier.status(1).expect("it is there");
        assert_eq!((status.policy, world.tier.policy()), (Some(policy), PolicyKind::Lru));
        world.settle_all();
        let left = world.tier.status(0).expect("it is there").pages;
        assert_eq!(left, before - before / 2, "{policy}: half of them left");
        for _ in 0..2 {
            world.read_disk(1);
            world.settle_all();
        }
        let pages = |disk| world.tier.status(disk).expect("it is there").pages;
        assert_eq!((pages(0), pages(1)), (left, before / 2), "{policy}");
        world.close();
    }
}
