//! The tier that `simulate` and `what-if` predict with, beside the machine that is served: the same
//! trace, the same policies, and how many of its reads each answers without the backing store.
//!
//! Flushes come often, and after each the machine rests: it lets no page in while it waits for the places
//! of pages that left, which is a matter of load and time, and the model has neither.

use cache::tier::{Access, Admission, Config, HostId, VmId, VmSettings, WriteMode};
use cache::{PolicyKind, Tier as Predicted};
use faults::Disk;
use machine::{Operation, Purpose, Stream};
use tilemark_tier::{Geometry, Mode, Order, Plan, Settings, Tier};

use super::oracle::{Oracle, SECTOR};
use super::world::{Devices, Direct, SET, Shape, World, attachment, settings};

const PAGE: u64 = 16 << 10;
const DISK_PAGES: u64 = 1600;
const CACHE_BYTES: u64 = 16 << 20;
const REQUESTS: u64 = 5000;
/// How far the share of reads that hit may be from what was predicted: a point.
const POINT: f64 = 0.01;

/// Half of it on a few pages, as databases are, with scans that a policy should see through.
fn trace() -> Vec<(Operation, u64, u64)> {
    let mut chance = Stream::derive(14, &[1], Purpose::Device);
    let mut scan = 0;
    let mut asked = Vec::new();
    for turn in 0..REQUESTS {
        if turn % 8 == 7 {
            asked.push((Operation::Flush, 0, 0));
            continue;
        }
        let is_scan = turn % 1000 > 800;
        let page = match is_scan {
            true => {
                scan += 1;
                scan % DISK_PAGES
            }
            // The cube of an even chance, scattered over the disk.
            false => {
                let near = chance.below(DISK_PAGES).pow(3) / DISK_PAGES.pow(2);
                (near * 1031) % DISK_PAGES
            }
        };
        let (first, bytes) = match chance.below(8) {
            _ if is_scan => (0, PAGE),
            0 => (chance.below(16) * SECTOR, (1 + chance.below(16)) * SECTOR),
            1 | 2 => (0, PAGE),
            3 => (0, 2 * PAGE),
            _ => (chance.below(4) * 4096, 4096),
        };
        let offset = page * PAGE + first;
        let bytes = bytes.min(DISK_PAGES * PAGE - offset);
        let is_read = is_scan || chance.below(100) < 60;
        asked.push((if is_read { Operation::Read } else { Operation::Write }, offset, bytes));
    }
    asked
}

/// An empty set with some 400 slots.
fn devices(shape: Shape) -> Devices {
    let disk = |bytes: u64| Disk::new(usize::try_from(bytes).expect("small"));
    let (cache, backing) = (disk(CACHE_BYTES), disk(shape.disk_bytes));
    let mut devices = Devices {
        cache,
        backing,
        sidecar: disk(8192),
        other: (disk(0), disk(8192)),
        openings: 0,
        moments: [None; 2],
        since: None,
        memory_bytes: 0,
    };
    let plan = Plan {
        device_bytes: CACHE_BYTES,
        page_bytes: u32::try_from(PAGE).expect("small"),
        chunk_bytes: 64 << 10,
        log_percent: 55,
    };
    let geometry = Geometry::new(plan).expect("it fits");
    let made =
        tilemark_tier::init(&mut Direct::new(&mut devices), geometry, CACHE_BYTES, SET, [1; 16]);
    made.expect("no fault");
    devices
}

/// Where a policy decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    /// On all pages.
    All,
    /// On so many percent of them, which the disk has to itself; another decides on the others.
    Part(u8),
}

/// The share of reads that the machine answers without its backing store, and on how many pages the policy decides.
fn served(mode: Mode, policy: PolicyKind, admission: Admission, at: Where) -> (f64, u64) {
    let shape = Shape { disk_bytes: DISK_PAGES * PAGE, mode, depth: 1, copies: 0 };
    let mut devices = devices(shape);
    let common = if at == Where::All { policy } else { settings().policy };
    let bytes = devices.backing.bytes();
    let chosen = Settings { policy: common, admission, ..settings() };
    let opened = Tier::open(&mut Direct::new(&mut devices), chosen, &[attachment(bytes, mode)]);
    let oracle = Oracle::new(shape.disk_bytes / SECTOR, mode);
    let mut world = World::of(3, shape, devices, opened.expect("a new set opens").tier, oracle);
    let slots = u64::from(world.tier.geometry().slots());
    let mut pages = slots;
    if let Where::Part(percent) = at {
        world.order(Order::Share { disk: 0, percent });
        world.order(Order::OwnPolicy { disk: 0, policy: Some(policy) });
        pages = (slots - slots / 32) * u64::from(percent) / 100;
    }
    for (operation, offset, bytes) in trace() {
        match operation {
            Operation::Read => drop(world.read(offset, bytes)),
            Operation::Write => world.write(offset, bytes),
            Operation::Flush => {
                world.flush();
                world.settle(|_| false);
            }
        }
    }
    let counters = world.tier.counters();
    let reads = counters.hits + counters.partial + counters.misses;
    (counters.hits as f64 / reads as f64, pages)
}

fn predicted(mode: Mode, policy: PolicyKind, admission: Admission, pages: u64) -> f64 {
    let write_mode = if mode == Mode::Back { WriteMode::Back } else { WriteMode::Through };
    // Three fifths for the log leave as many pages.
    let config = Config {
        policy,
        admission,
        log_percent: 60,
        vms: VmSettings { write_mode, ..VmSettings::default() },
        ..Config::served(pages * PAGE * 5 / 2, u32::try_from(PAGE).expect("small"))
    };
    let mut tier = Predicted::new(config).expect("it is in order");
    let mut steps = Vec::new();
    for (operation, offset, bytes) in trace() {
        let length = u32::try_from(bytes).expect("short");
        tier.access(&Access { vm: VmId(0), operation, offset, length }, &mut steps);
        if operation == Operation::Flush {
            tier.clean(HostId(0), usize::MAX, &mut steps);
        }
        steps.clear();
    }
    let counters = tier.counters();
    counters.read_hits as f64 / counters.reads as f64
}

fn compare(mode: Mode, admission: Admission, at: Where) {
    let mut ratios = Vec::new();
    for policy in PolicyKind::ALL {
        let (real, pages) = served(mode, policy, admission, at);
        let model = predicted(mode, policy, admission, pages);
        eprintln!("{policy:10} {mode:?} {at:?}: served {real:.4}, predicted {model:.4}");
        assert!(
            (real - model).abs() < POINT,
            "{policy}, {mode:?}, {admission:?}, {at:?}: {real:.4} of reads hit, and {model:.4} were predicted"
        );
        ratios.push(real);
    }
    let spread = ratios.iter().copied().fold(f64::MIN, f64::max)
        - ratios.iter().copied().fold(f64::MAX, f64::min);
    assert!(spread > 2.0 * POINT, "policies that make no difference prove nothing: {spread:.4}");
}

#[test]
fn reads_hit_as_often_as_predicted_when_writes_go_through() {
    compare(Mode::Through, Admission::Always, Where::All);
}

#[test]
fn reads_hit_as_often_as_predicted_when_writes_wait_in_the_log() {
    compare(Mode::Back, Admission::Always, Where::All);
}

#[test]
fn reads_hit_as_often_as_predicted_when_pages_come_in_late() {
    let admission = Admission::NthAccess { accesses: 2, fill_percent: 0 };
    compare(Mode::Back, admission, Where::All);
    compare(Mode::Through, admission, Where::All);
}

#[test]
fn reads_of_a_disk_with_a_policy_of_its_own_hit_as_often_as_predicted_for_its_share() {
    compare(Mode::Back, Admission::Always, Where::Part(60));
    compare(Mode::Through, Admission::Always, Where::Part(60));
}
