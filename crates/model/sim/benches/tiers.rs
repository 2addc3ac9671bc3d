//! Measures what a tier costs the simulator: requests per second of CPU time with the served state
//! machine, and with a published tier of the same size. Prints `figure` lines.

use std::sync::OnceLock;

use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceId, VmId};
use spec::workload::Role;
use state_machine::{
    DiskId, Effects, Event, IoRequest, KindId, Machine, Operation, Pattern, Purpose, Stream, Token,
};
use tilemark_sim::plant::{Plant, PlantDisk, PlantInstance, PlantPlan};
use tilemark_sim::{Options, SimInstance};
use units::{Bytes, Nanos};

/// Number of virtual machines, each with users of its own disk.
const VMS: u32 = 8;
const USERS: u32 = 16;
const DISK: u64 = 4 << 30;
/// Virtual time of a round: several hundred thousand requests.
const SPAN: Nanos = Nanos::from_secs(10);
/// Number of timed rounds of each kind, alternating; the medians are used.
const ROUNDS: usize = 5;

#[expect(clippy::print_stdout, reason = "figures are this program's result")]
fn main() {
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (rates, shape) in rates.iter_mut().zip(["logged", "paged"]) {
            rates.push(round(shape));
        }
    }
    let [served, published] = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[ROUNDS / 2]
    });
    println!("figure sim.tier.served_requests_per_s {served:.0} 1/s");
    println!("figure sim.tier.published_requests_per_s {published:.0} 1/s");
    println!("figure sim.tier.served_vs_published {:.3} x", served / published);
}

/// Runs a round and returns the requests per second of this thread's CPU time.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn round(shape: &str) -> f64 {
    let array = format!(
        "name = \"bench\"\ntitle = \"bench\"\nsource = \"our choice\"\n\
         [[tier]]\nname = \"fast\"\nshape = \"{shape}\"\nsize = \"8GiB\"\ndisk = \"flash\"\n\
         [[pool]]\nname = \"lun\"\ndisk = \"slow\"\ncount = 8\n\
         [disk.slow.servers]\ncapacity = \"100GB\"\nservers = 8\nread = \"1ms\"\nwrite = \"1ms\"\n\
         rate = \"100GB\"\n\
         [disk.flash.servers]\ncapacity = \"100GB\"\nservers = 32\nread = \"100us\"\n\
         write = \"20us\"\nrate = \"100GB\"\n"
    );
    let array = spec::load_array("bench.toml", &array).expect("a valid array");
    let plants: Vec<PlantInstance> = (0..VMS).map(instance).collect();
    let plan = PlantPlan { array: &array, instances: &plants, seed: 1 };
    let mut plant = Plant::new(&plan).expect("it can be built");
    let mut instances: Vec<_> = (0..VMS).map(users).collect();
    let options = Options { until: SPAN, slice: SPAN, ..Options::default() };
    let start = cpu_seconds();
    tilemark_sim::run_model(&mut instances, &mut plant, &options, &mut |_| {}).expect("it ends");
    let spent = cpu_seconds() - start;
    instances.iter().map(|instance| instance.machine.asked).sum::<u64>() as f64 / spent
}

fn instance(tile: u32) -> PlantInstance {
    let disk = PlantDisk {
        name: String::from("disk"),
        workload: String::from("load"),
        role: Role::Data,
        size: Bytes::new(DISK),
        vm: 0,
        pool: None,
    };
    PlantInstance {
        tile,
        vcpus: vec![1],
        vms: vec![String::from("vm")],
        disks: vec![disk],
        copy_kinds: Vec::new(),
    }
}

fn users(number: u32) -> SimInstance<Users> {
    let shape = InstanceShape {
        instance: InstanceId(number),
        disk_vms: vec![VmId(number)],
        kinds: 1,
        actions: 1,
        groups: 1,
    };
    let chance = Stream::derive(1, &[number.into()], Purpose::User);
    SimInstance { machine: Users { chance, asked: 0 }, shape }
}

/// Users without think time: 8 KiB each, two reads per write, some offsets more often than others.
struct Users {
    chance: Stream,
    asked: u64,
}

impl Machine for Users {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        let users = match event {
            Event::Start => 0..USERS,
            Event::Done(token, _) => token.0..token.0 + 1,
            Event::Timer(_) | Event::Ran(_) => return,
        };
        for user in users {
            let unit = self.chance.unit();
            let address = Bytes::new(DISK / 8192).scale(unit * unit * unit).get();
            let is_read = self.chance.below(3) < 2;
            self.asked += 1;
            fx.submit(IoRequest {
                token: Token(user),
                disk: DiskId(0),
                operation: if is_read { Operation::Read } else { Operation::Write },
                kind: KindId(0),
                offset: address * 8192,
                length: 8192,
                due: now,
                pattern: Pattern::default(),
                durable: false,
            });
        }
    }
}

/// Returns the CPU time of this thread so far, from its `schedstat`; if the kernel does not have
/// it, the time of day.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn cpu_seconds() -> f64 {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    let account = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match account.split(' ').next().map(str::parse::<f64>) {
        Some(Ok(nanoseconds)) if nanoseconds > 0.0 => nanoseconds / 1e9,
        _ => START.get_or_init(std::time::Instant::now).elapsed().as_secs_f64(),
    }
}
