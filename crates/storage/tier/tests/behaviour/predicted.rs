//! The tier that `simulate` and `what-if` predict with is the state machine that is served: the same trace over
//! storage with content, and over a plant of the simulator, which has none, does exactly the same.
//!
//! One request comes after another, and after each the state machine rests: what depends on how fast the storage is, such
//! as whether a place is free in time, is the same then.

use cache::PolicyKind;
use cache::tier::Admission;
use faults::Disk;
use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceId, VmId};
use sim::plant::{Plant, PlantDisk, PlantInstance, PlantPlan};
use spec::workload::Role;
use state_machine::{
    DiskId, Effects, Event, IoRequest, KindId, Machine, Operation, Pattern, Purpose, Stream, Token,
};
use tilemark_tier::{Mode, Plan, Settings, Tier};
use units::{Bytes, Nanos};

use super::oracle::{Oracle, SECTOR};
use super::world::{Devices, Direct, SET, Shape, World, attachment, settings};

const PAGE: u64 = 16 << 10;
const DISK_PAGES: u64 = 1600;
const CACHE_BYTES: u64 = 16 << 20;
const REQUESTS: u64 = 5000;
const LOG_PERCENT: u8 = 55;

/// Counters that are compared between the tier and the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counted {
    reads: u64,
    hits: u64,
    hit_bytes: u64,
    filled_bytes: u64,
    placed_bytes: u64,
    absorbed: u64,
    destaged_bytes: u64,
    evicted_bytes: u64,
}

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
        log_percent: LOG_PERCENT,
        ..Plan::new(CACHE_BYTES)
    };
    let geometry = plan.fitted(1).expect("it fits");
    let made =
        tilemark_tier::init(&mut Direct::new(&mut devices), geometry, CACHE_BYTES, SET, [1; 16]);
    made.expect("no fault");
    devices
}

/// Counts of the tier's state machine over storage with content.
fn served(mode: Mode, policy: PolicyKind, late: bool) -> Counted {
    let shape = Shape { disk_bytes: DISK_PAGES * PAGE, mode, depth: 1, copies: 0 };
    let mut devices = devices(shape);
    let bytes = devices.backing.bytes();
    let admission = match late {
        true => Admission::NthAccess { accesses: 2, fill_percent: 0 },
        false => Admission::Always,
    };
    let chosen = Settings { policy, admission, ..settings() };
    let opened = Tier::open(&mut Direct::new(&mut devices), chosen, &[attachment(bytes, mode)]);
    let oracle = Oracle::new(shape.disk_bytes / SECTOR, mode);
    let mut world = World::of(3, shape, devices, opened.expect("a new set opens").tier, oracle);
    for (operation, offset, bytes) in trace() {
        match operation {
            Operation::Read => drop(world.read(offset, bytes)),
            Operation::Write => world.write(offset, bytes),
            Operation::Flush => world.flush(),
        }
        world.settle(|_| false);
    }
    let counters = world.tier.counters();
    Counted {
        reads: counters.hits + counters.partial + counters.misses,
        hits: counters.hits,
        hit_bytes: counters.hit_bytes,
        filled_bytes: counters.filled_bytes - counters.placed_bytes,
        placed_bytes: counters.placed_bytes,
        absorbed: counters.absorbed,
        destaged_bytes: counters.destaged_bytes,
        evicted_bytes: counters.evicted * PAGE,
    }
}

/// Plays the trace, one request after another; after each the tier has time to come to rest.
struct Player {
    trace: std::vec::IntoIter<(Operation, u64, u64)>,
}

impl Player {
    fn next(&mut self, now: Nanos, fx: &mut Effects) {
        let Some((operation, offset, bytes)) = self.trace.next() else { return };
        fx.submit(IoRequest {
            token: Token(0),
            disk: DiskId(0),
            operation,
            kind: KindId(0),
            offset,
            length: u32::try_from(bytes).expect("short"),
            due: now,
            pattern: Pattern::default(),
            durable: false,
        });
    }
}

impl Machine for Player {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match event {
            Event::Done(_, result) => {
                result.expect("no fault");
                fx.wake_at(now + Nanos::from_secs(10), Token(1));
            }
            Event::Start | Event::Timer(_) => self.next(now, fx),
            Event::Ran(_) => {}
        }
    }
}

/// Counts of the simulator's model for the same requests.
fn predicted(mode: Mode, policy: PolicyKind, late: bool) -> Counted {
    let write = if mode == Mode::Back { "back" } else { "through" };
    let array = format!(
        r#"
        name = "test"
        title = "test"
        source = "our choice"
        [[tier]]
        name = "served"
        shape = "logged"
        log = "{LOG_PERCENT}%"
        size = "{CACHE_BYTES}B"
        page = "{PAGE}B"
        policy = "{policy}"
        write = "{write}"
        admit-on = {}
        disk = "fast"
        [[pool]]
        name = "lun"
        disk = "slow"
        count = 1
        [disk.slow.servers]
        capacity = "1GB"
        servers = 1
        read = "1ms"
        write = "1ms"
        rate = "100GB"
        [disk.fast.servers]
        capacity = "1GB"
        servers = 4
        read = "100us"
        write = "20us"
        rate = "100GB"
        "#,
        if late { 2 } else { 1 }
    );
    let array = spec::load_array("test.toml", &array).expect("a valid array");
    let disk = PlantDisk {
        name: "disk".to_owned(),
        workload: "trace".to_owned(),
        role: Role::Data,
        size: Bytes::new(DISK_PAGES * PAGE),
        vm: 0,
        pool: None,
    };
    let instances = [PlantInstance {
        tile: 0,
        vcpus: vec![1],
        vms: vec!["vm".to_owned()],
        disks: vec![disk],
        copy_kinds: Vec::new(),
    }];
    let plan = PlantPlan { array: &array, instances: &instances, seed: 1 };
    let mut plant = Plant::new(&plan).expect("the plant can be built");
    let shape = InstanceShape {
        instance: InstanceId(0),
        disk_vms: vec![VmId(0)],
        kinds: 1,
        actions: 1,
        groups: 1,
    };
    let machine = Player { trace: trace().into_iter() };
    let options = sim::Options { until: Nanos::from_secs(60_000), ..sim::Options::default() };
    sim::run_model(&mut [sim::SimInstance { machine, shape }], &mut plant, &options, &mut |_| {})
        .expect("it ends");
    let counts = plant.facts(options.until).tiers[0].counts;
    Counted {
        reads: counts.reads,
        hits: counts.read_hits,
        hit_bytes: counts.read_hit_bytes,
        filled_bytes: counts.filled_bytes,
        placed_bytes: counts.placed_bytes,
        absorbed: counts.writes_absorbed,
        destaged_bytes: counts.destaged_bytes,
        evicted_bytes: counts.evicted_bytes,
    }
}

fn compare(mode: Mode, late: bool) {
    let mut hits = Vec::new();
    for policy in PolicyKind::ALL {
        let (real, model) = (served(mode, policy, late), predicted(mode, policy, late));
        assert_eq!(real, model, "{policy}, {mode:?}, late {late}: served, and predicted");
        assert_eq!(real.absorbed > 0, mode == Mode::Back, "{real:?}");
        assert!(real.evicted_bytes > 0 && real.filled_bytes > 0, "{real:?}");
        hits.push(real.hits);
    }
    let (least, most) = (hits.iter().min().copied(), hits.iter().max().copied());
    assert!(
        least.zip(most).is_some_and(|(least, most)| most - least > REQUESTS / 50),
        "policies that make no difference prove nothing: {hits:?}"
    );
}

#[test]
fn trace_is_equal_in_plant_and_storage_in_mode_through() {
    compare(Mode::Through, false);
}

#[test]
fn trace_is_equal_in_plant_and_storage_in_mode_back() {
    compare(Mode::Back, false);
}

#[test]
fn trace_is_equal_in_plant_and_storage_with_late_admission() {
    compare(Mode::Back, true);
    compare(Mode::Through, true);
}
