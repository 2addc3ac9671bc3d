//! Arrays from text, loads on them, and their results.

use run_store::recorder::InstanceShape;
use run_store::run::ModelFacts;
use run_store::slice::{InstanceId, VmId};
use spec::array::Array;
use spec::events::{PlannedEvent, Restart};
use spec::workload::Role;
use state_machine::{
    DiskId, Effects, Event, IoRequest, KindId, Machine, Operation, Pattern, Purpose, Stream, Token,
    mix,
};
use tilemark_sim::plant::{HostEvents, Plant, PlantDisk, PlantInstance, PlantPlan};
use tilemark_sim::{Options, Outcome, SimInstance, Simulation};
use units::{Bytes, Nanos};

/// An array of these parts, without the head every file has.
pub fn array(rest: &str) -> Array {
    let head = "name = \"test\"\ntitle = \"test\"\nsource = \"our choice\"\n";
    spec::load_array("test.toml", &format!("{head}{rest}")).expect("a valid array")
}

/// A disk that serves one request of 1 ms at a time, 100 GB of it, as pool `lun`.
pub const ONE_SERVER: &str = r#"
    [[pool]]
    name = "lun"
    disk = "plain"
    count = 1
    [disk.plain.servers]
    capacity = "100GB"
    servers = 1
    read = "1ms"
    write = "1ms"
    rate = "100GB"
"#;

/// An instance of a tile with disks of these sizes, all of one virtual machine.
pub fn instance(tile: u32, sizes: &[u64]) -> PlantInstance {
    let disk = |(number, size): (usize, &u64)| PlantDisk {
        name: format!("disk-{number}"),
        workload: String::from("load"),
        role: Role::Data,
        size: Bytes::new(*size),
        vm: 0,
        pool: None,
    };
    PlantInstance {
        tile,
        vcpus: vec![1],
        vms: vec![String::from("load/vm")],
        disks: sizes.iter().enumerate().map(disk).collect(),
        copy_kinds: Vec::new(),
    }
}

pub fn plant(array: &Array, instances: &[PlantInstance]) -> Plant {
    Plant::new(&PlantPlan { array, instances, seed: 1 }).expect("the plant can be built")
}

/// Users of one disk, or arrivals by themselves.
#[derive(Debug, Clone)]
pub struct Load {
    pub users: u32,
    /// Mean time between answer and next request, exponentially distributed; with no users,
    /// between two requests.
    pub think: Nanos,
    /// Number of addresses, popular ones first: an address is drawn as the square of a
    /// uniform number.
    pub addresses: u64,
    pub length: u32,
    pub reads: f64,
    pub disk: u16,
    pub stream: Stream,
    pub started: Vec<Nanos>,
    pub free: Vec<u32>,
    pub seen: LoadCounts,
}

/// Counts of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadCounts {
    pub submitted: u64,
    pub answered: u64,
    pub failed: u64,
    pub latency_ns: u64,
    pub hash: u64,
}

impl LoadCounts {
    pub fn mean(&self) -> f64 {
        self.latency_ns as f64 / self.answered as f64 / 1e9
    }
}

const ARRIVAL: Token = Token(u32::MAX);

impl Load {
    /// Users that never think, and read 4 KiB anywhere in the first GiB.
    pub fn users(seed: u64, users: u32) -> Self {
        Self {
            users,
            think: Nanos::ZERO,
            addresses: 1 << 18,
            length: 4096,
            reads: 1.0,
            disk: 0,
            stream: Stream::derive(seed, &[], Purpose::User),
            started: Vec::new(),
            free: Vec::new(),
            seen: LoadCounts::default(),
        }
    }

    /// Open load that sends the requests of [`Load::users`] at random times with this mean between
    /// them.
    pub fn arrivals(seed: u64, every: Nanos) -> Self {
        Self { think: every, ..Self::users(seed, 0) }
    }

    fn request(&mut self, now: Nanos, fx: &mut Effects) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.started.push(now);
            u32::try_from(self.started.len() - 1).expect("few")
        });
        self.started[place as usize] = now;
        let unit = self.stream.unit();
        let address = Bytes::new(self.addresses).scale(unit * unit).get();
        let is_read = self.stream.unit() < self.reads;
        self.seen.submitted += 1;
        fx.submit(IoRequest {
            token: Token(place),
            disk: DiskId(self.disk),
            operation: if is_read { Operation::Read } else { Operation::Write },
            kind: KindId(0),
            offset: address * u64::from(self.length),
            length: self.length,
            due: now,
            pattern: Pattern::default(),
            durable: false,
        });
    }

    fn pause(&mut self, now: Nanos, fx: &mut Effects) {
        if self.think == Nanos::ZERO {
            return self.request(now, fx);
        }
        fx.wake_at(now + self.stream.exponential(self.think), ARRIVAL);
    }
}

impl Machine for Load {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match event {
            Event::Start if self.users == 0 => self.pause(now, fx),
            Event::Start => (0..self.users).for_each(|_| self.pause(now, fx)),
            Event::Timer(_) => {
                self.request(now, fx);
                if self.users == 0 {
                    self.pause(now, fx);
                }
            }
            Event::Done(token, result) => {
                let latency = now - self.started[token.0 as usize];
                self.free.push(token.0);
                self.seen.answered += 1;
                self.seen.failed += u64::from(result.is_err());
                self.seen.latency_ns += latency.0;
                self.seen.hash = mix(self.seen.hash ^ mix(now.0) ^ latency.0);
                if self.users > 0 {
                    self.pause(now, fx);
                }
            }
            Event::Ran(_) => {}
        }
    }
}

pub fn machines(loads: Vec<Load>) -> Vec<SimInstance<Load>> {
    let instance = |(number, machine): (usize, Load)| SimInstance {
        shape: InstanceShape {
            instance: InstanceId(u32::try_from(number).expect("few")),
            disk_vms: vec![VmId(u32::try_from(number).expect("few")); 4],
            kinds: 1,
            actions: 1,
            groups: 1,
        },
        machine,
    };
    loads.into_iter().enumerate().map(instance).collect()
}

/// Results of a run.
pub struct Run {
    pub loads: Vec<LoadCounts>,
    /// Facts of the time after the first second.
    pub facts: ModelFacts,
    pub outcome: Outcome,
    pub plant: Plant,
}

/// Reads the events and the restart of a plan.
pub fn events(text: &str) -> (Vec<PlannedEvent>, Option<Restart>) {
    let head = "datastore = \"array:test.toml\"\ntile = \"general\"\n";
    let plan = spec::load_plan("plan.toml", &format!("{head}{text}")).expect("a valid plan");
    (plan.events, plan.restart)
}

/// Builds a plant whose hosts have these events, with times from the first second on.
pub fn eventful(array: &Array, instances: &[PlantInstance], text: &str) -> Plant {
    let (events, restart) = events(text);
    let plan = PlantPlan { array, instances, seed: 1 };
    let events = HostEvents { events: &events, restart };
    Plant::eventful(&plan, &events).expect("the events are possible")
}

/// Runs loads for so many seconds, then until everything is answered.
pub fn run(plant: Plant, loads: Vec<Load>, seconds: u64) -> Run {
    let options = Options { until: Nanos::MAX, ..Options::default() };
    let mut simulation = Simulation::new(machines(loads), plant, options);
    for second in 1..=seconds {
        simulation.next_slice().expect("time passes");
        let now = simulation.now();
        if second == 1 {
            simulation.model_mut().mark(now);
            simulation.prompt(Plant::begin_events);
        } else {
            simulation.model_mut().tick(now);
        }
    }
    let now = simulation.now();
    let facts = simulation.model_mut().facts(now);
    simulation.stop();
    while simulation.next_slice().expect("time passes").is_some() {}
    let outcome = simulation.outcome();
    let (instances, plant) = simulation.into_parts();
    Run { loads: instances.iter().map(|own| own.machine.seen).collect(), facts, outcome, plant }
}

/// Checks that two numbers differ by less than a share.
pub fn assert_within(share: f64, found: f64, wanted: f64, name: &str) {
    assert!((found / wanted - 1.0).abs() < share, "{name}: {found}, wanted {wanted} +- {share}");
}
