//! Benchmark with a thousand simulated hosts: CPU time and memory of a controller. Prints `figure`
//! lines.
//!
//! Ten tiles are simulated once. Their slices are encoded as messages and used as the messages of
//! each of a thousand hosts with its own tiles. Reading, merging and judging are the same as in a
//! real run over hosts. There is no network, series or page.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bench::BenchError;
use bench::fleet::{DiskNeed, StepOrder, fleet};
use bench::plan::{Layer, Origin, ResolvedPlan, Surroundings, resolve};
use bench::progress::{Control, NoObserver};
use bench::rig::{
    Clocks, HostLoad, Load, LoadOutcome, PrefillSoFar, Prefilled, Received, Rig, SimRig,
};
use bench::score::References;
use bench::step::{Nowhere, StepBench, place_now};
use run_store::gauge::{Gauge, GaugeSource, Readings};
use run_store::run::{Step, Verdict};
use run_store::slice::Slice;
use tilemark_many_hosts::wire::Sent;
use tilemark_many_hosts::{LoadPart, Merge, VmsOf};
use units::{Bytes, Nanos};

const HOSTS: usize = 1000;
const TILES_EACH: u32 = 10;
/// Length of the load, including its warm-up, in seconds.
const SECONDS: u64 = 35;

fn plan(hosts: usize) -> ResolvedPlan {
    let members: Vec<String> = (0..hosts).map(|host| format!("\"h{host}=join\"")).collect();
    let hosts = match hosts {
        0 => String::new(),
        _ => format!("[hosts]\nmembers = [{}]\nplacement = \"packed:10\"\n", members.join(", ")),
    };
    let text = format!(
        "datastore = \"dir:/nowhere\"\ntile = \"general\"\n[ladder]\ntiles = \"10\"\nrepeats = 1\n\
         [measure]\nwarm-up-min = \"5s\"\nwarm-up-max = \"5s\"\nduration = \"30s\"\nslice = \"1s\"\n\
         [scale]\nfootprint = 0.01\n{hosts}"
    );
    let plan = toml::from_str(&text).expect("a plan");
    let layers = [Layer { origin: Origin::Plan, ..Layer::of_plan(&plan) }];
    let tile = spec::resolve_tile("general", std::path::Path::new("")).expect("shipped");
    resolve(&layers, tile, Surroundings { entropy: 1, cores: 2 }).expect("a plan that resolves")
}

/// Returns the messages of one host, one per second.
fn sent() -> Vec<Vec<u8>> {
    let plan = plan(0);
    let file = spec::shipped::array_file("nvme-local").expect("shipped");
    let array = spec::load_array(file.name, file.text).expect("an array");
    let mut rig = SimRig::new(&array, &plan);
    let order = StepOrder::whole(&plan, TILES_EACH, 1);
    let mut load = rig.start(&plan, &order).expect("it starts");
    let mut meters = bystanders::meters();
    let mut all = Vec::new();
    while (all.len() as u64) < SECONDS {
        let Received::Slice(slice) = load.next(Duration::from_secs(60)) else { break };
        let gauges = meters.iter_mut().flat_map(|meter| meter.read().gauges).collect();
        all.push(Sent { epoch: 1, number: all.len() as u64, slice: Some(slice), gauges }.write());
    }
    assert_eq!(all.len() as u64, SECONDS, "it ended early");
    load.stop();
    all
}

/// Recorded messages of a thousand hosts. The messages of a second are all available at once.
struct Paper {
    sent: Vec<Vec<u8>>,
}

struct PaperLoad {
    merge: Merge,
    sent: VecDeque<Vec<u8>>,
    gauges: Vec<Gauge>,
    is_stopped: bool,
}

impl Rig for Paper {
    type Load = PaperLoad;

    fn clocks(&self) -> Clocks {
        bench::rig::clocks()
    }

    fn capacity(&self) -> Bytes {
        Bytes::new(u64::MAX)
    }

    fn prepare(
        &mut self,
        _: &[DiskNeed],
        _: &mut dyn FnMut(PrefillSoFar) -> bool,
    ) -> Result<Option<Prefilled>, BenchError> {
        Ok(None)
    }

    fn start(&mut self, plan: &ResolvedPlan, order: &StepOrder) -> Result<PaperLoad, BenchError> {
        let whole = fleet(plan, order.clone())?.topology;
        let (vms, names) = (VmsOf::new(&whole), plan.host_names());
        let each = order.members.len() / names.len();
        let part = |(host, name): (usize, &String)| {
            let positions: Vec<usize> = (host * each..(host + 1) * each).collect();
            LoadPart::new((host, name), &positions, &vms)
        };
        let parts = names.iter().enumerate().map(part).collect();
        Ok(PaperLoad {
            merge: Merge::new(1, whole, parts, names.len()),
            sent: self.sent.drain(..).collect(),
            gauges: Vec::new(),
            is_stopped: false,
        })
    }
}

impl GaugeSource for PaperLoad {
    fn read(&mut self) -> Readings {
        Readings { gauges: std::mem::take(&mut self.gauges), ..Readings::default() }
    }
}

impl PaperLoad {
    fn gathered(&mut self) -> Option<Slice> {
        let bytes = self.sent.pop_front()?;
        let mut whole = None;
        for part in 0..HOSTS {
            self.merge.keep(part, &bytes).expect("a slice of that host");
            // As in a run, looked for after each message.
            whole = whole.or(self.merge.gathered());
        }
        self.gauges = self.merge.gauges();
        whole
    }
}

impl Load for PaperLoad {
    fn next(&mut self, _: Duration) -> Received {
        match self.gathered() {
            Some(slice) => Received::Slice(slice),
            None => Received::Ended,
        }
    }

    fn mark(&mut self) {
        self.merge.reset();
    }

    fn hosts(&mut self) -> Vec<HostLoad> {
        self.merge.hosts()
    }

    fn stop(&mut self) {
        (self.is_stopped, self.sent) = (true, VecDeque::new());
    }

    fn finish(self) -> Result<LoadOutcome, BenchError> {
        assert!(self.is_stopped, "nobody asked it to end");
        Ok(LoadOutcome { elapsed: Nanos::from_secs(SECONDS), ..LoadOutcome::default() })
    }

    fn abandon(self) {}
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "figures are this program's result")]
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "small numbers")]
fn main() {
    let sent = sent();
    let bytes = sent.iter().map(Vec::len).sum::<usize>() / sent.len();
    let plan = plan(HOSTS);
    let tiles = TILES_EACH * HOSTS as u32;
    let references = References::of(&plan).expect("references");
    let whole = fleet(&plan, StepOrder::whole(&plan, tiles, 1)).expect("a fleet");
    let (before, began) = (cpu_seconds(), seconds_of_day());
    let mut bench = StepBench {
        plan: &plan,
        references: &references,
        rig: &mut Paper { sent },
        control: &Control::default(),
        observer: &mut NoObserver,
        series: &mut Nowhere,
    };
    let step = bench.alone(&whole, &place_now(1, 1, 1, tiles)).expect("a step");
    let (cpu, took) = (cpu_seconds() - before, seconds_of_day() - began);
    assert_eq!(step.hosts.len(), HOSTS, "every host is judged");
    assert!(step.verdict != Verdict::Interrupted, "it came to its end");
    eprintln!(
        "{HOSTS} hosts, {tiles} tiles, {} machines, {:.0} I/Os a second; {bytes} bytes a host and second; {:?} \
         after {took:.1} s",
        whole.topology.vms.len(),
        step.throughput.operations_per_s,
        step.verdict,
    );
    eprintln!("outcome {:016x}", digest(step));
    let percent = 100.0 * cpu / SECONDS as f64;
    println!("figure cluster.merge_1000_core_percent {percent:.1} %");
    println!("figure cluster.merge_1000_memory_mb {:.0} MB", peak_mb());
}

/// Returns a digest of the step without values of this host's clock and meters. Two builds with
/// equal digests gave equal verdicts.
fn digest(mut step: Step) -> u64 {
    (step.gauges, step.bottleneck) = (Vec::new(), None);
    step.started = jiff::Timestamp::UNIX_EPOCH;
    step.hosts.iter_mut().for_each(|host| host.slice_late_max_ns = 0);
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(&step).expect("a document").hash(&mut hasher);
    hasher.finish()
}

/// Returns the CPU time of this process so far: fields 14 and 15 of its `stat`, in hundredths of a
/// second (proc_pid_stat(5)).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("proc");
    let (_, after) = stat.rsplit_once(')').expect("a name in parentheses");
    let ticks = after.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    ticks.map(|tick| tick.expect("a number") / 100.0).sum()
}

fn seconds_of_day() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Returns the maximum resident set so far, in megabytes.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib * 1024.0 / 1e6
}
