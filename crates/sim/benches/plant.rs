//! How fast a plant runs on one core: prints `figure` lines.
//!
//! The array is that of the FAST Cache study (`arrays/vnx5500.toml`), with four tiles of two
//! loads each: users who read and write without pause, and arrivals at a fixed rate. With the
//! argument `warm` only warming is timed.

use std::sync::OnceLock;

use machine::{
    DiskId, Effects, Event, IoRequest, KindId, Machine, Operation, Pattern, Purpose, Stream, Token,
};
use record::recorder::InstanceShape;
use record::slice::{InstanceId, VmId};
use spec::workload::Role;
use tilemark_sim::plant::{Plant, PlantDisk, PlantInstance, PlantPlan, Warm, WarmFilter};
use tilemark_sim::{Options, SimInstance, Simulation};
use units::{Bytes, Nanos};

const TILES: u32 = 4;
/// A tile's disk.
const DISK: Bytes = Bytes::new(136 << 30);
const WARM_ACCESSES: u64 = 3_000_000;
const SECONDS: u64 = 120;

#[expect(clippy::print_stdout, reason = "figures are this program's result")]
fn main() {
    let array = spec::shipped::array("vnx5500").expect("it is shipped");
    let instances: Vec<PlantInstance> = (0..TILES * 2).map(|number| instance(number / 2)).collect();
    let plan = PlantPlan { array: &array, instances: &instances, seed: 1 };
    let before = resident_bytes();
    let mut plant = Plant::new(&plan).expect("the tiles fit");
    println!("figure plant.empty_bytes {:.0} B", resident_bytes() - before);
    let warm = Warm {
        accesses_per_tile_max: WARM_ACCESSES,
        filter: WarmFilter::Bypassed,
        tolerance: 0.0,
        ..Warm::default()
    };
    let start = cpu_seconds();
    let report = plant.warm(&mut machines(7), &warm);
    let rate = count(report.accesses) / (cpu_seconds() - start);
    println!("figure plant.warm.accesses_per_s {rate:.0} 1/s");
    println!("# {report:?}");
    println!("figure plant.warm_bytes {:.0} B", resident_bytes() - before);
    if std::env::args().any(|argument| argument == "warm") {
        return;
    }

    let options = Options { until: Nanos::from_secs(SECONDS), ..Options::default() };
    let mut simulation = Simulation::new(machines(1), plant, options);
    let start = cpu_seconds();
    while simulation.next_slice().expect("time passes").is_some() {}
    let took = cpu_seconds() - start;
    let outcome = simulation.outcome();
    let events = count(outcome.events + outcome.alarms);
    println!("figure plant.fast_cache.events_per_s {:.0} 1/s", events / took);
    println!("figure plant.fast_cache.realtime_factor {:.1} x", count(SECONDS) / took);
    println!("# {outcome:?}");
    let facts = simulation.model_mut().facts(Nanos::from_secs(SECONDS));
    for part in &facts.parts {
        println!("# {} {:.2} {:.0}/s", part.name, part.utilisation, part.iops);
    }
    for tier in &facts.tiers {
        let counts = tier.counts;
        let hits = counts.read_hits + counts.write_hits;
        let all = counts.reads + counts.writes;
        println!("# tier {} hits {:.3}", tier.name, count(hits) / count(all));
    }
}

fn instance(tile: u32) -> PlantInstance {
    let disk = PlantDisk {
        name: String::from("disk"),
        workload: String::from("load"),
        role: Role::Data,
        size: DISK,
        vm: 0,
    };
    PlantInstance { tile, vcpus: vec![2], vms: Vec::new(), disks: vec![disk] }
}

fn machines(seed: u64) -> Vec<SimInstance<Load>> {
    let machine = |number: u32| SimInstance {
        machine: Load {
            users: if number.is_multiple_of(2) { 3 } else { 0 },
            stream: Stream::derive(seed, &[u64::from(number)], Purpose::User),
        },
        shape: InstanceShape {
            instance: InstanceId(number),
            disk_vms: vec![VmId(number)],
            kinds: 1,
            actions: 1,
            groups: 1,
        },
    };
    (0..TILES * 2).map(machine).collect()
}

/// Users without pause, or 650 requests a second if there is none. 99 % go to a hot tenth,
/// the more so the nearer to its beginning.
struct Load {
    users: u32,
    stream: Stream,
}

impl Load {
    fn request(&mut self, now: Nanos, token: u32, fx: &mut Effects) {
        let (share, unit) = (self.stream.unit(), self.stream.unit());
        let blocks = DISK.get() / 8192;
        let blocks = if share < 0.99 { blocks / 10 } else { blocks };
        let block = Bytes::new(blocks).scale(if share < 0.99 { unit * unit } else { unit });
        let is_read = self.stream.unit() < 0.25;
        fx.submit(IoRequest {
            token: Token(token),
            disk: DiskId(0),
            operation: if is_read { Operation::Read } else { Operation::Write },
            kind: KindId(0),
            offset: block.get() * 8192,
            length: 8192,
            due: now,
            pattern: Pattern::default(),
            durable: false,
        });
    }

    fn next_arrival(&mut self, now: Nanos, fx: &mut Effects) {
        let gap = self.stream.exponential(Nanos::from_micros(1540));
        fx.wake_at(now + gap, Token(0));
    }
}

impl Machine for Load {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match event {
            Event::Start if self.users == 0 => self.next_arrival(now, fx),
            Event::Start => (0..self.users).for_each(|user| self.request(now, user, fx)),
            Event::Timer(_) => {
                self.request(now, 0, fx);
                self.next_arrival(now, fx);
            }
            Event::Done(token, _) if self.users > 0 => self.request(now, token.0, fx),
            Event::Done(..) | Event::Ran(_) => {}
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
const fn count(value: u64) -> f64 {
    value as f64
}

/// Memory of this process; 0 where the kernel does not say.
fn resident_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0
}

/// CPU time of this thread so far: the first number of its `schedstat`, nanoseconds. Where the
/// kernel does not keep it, the time of day's distance from an arbitrary start.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn cpu_seconds() -> f64 {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    let account = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match account.split(' ').next().map(str::parse::<f64>) {
        Some(Ok(nanoseconds)) if nanoseconds > 0.0 => nanoseconds / 1e9,
        _ => START.get_or_init(std::time::Instant::now).elapsed().as_secs_f64(),
    }
}
