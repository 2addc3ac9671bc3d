//! Builds a workload from text and keeps everything it does.

use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceId, Slice, VmId};
use sim::{Completion, Device, Options, SimInstance};
use spec::workload::Workload;
use state_machine::{
    ActionDone, Call, Effects, Event, IoError, IoRequest, Machine, Observation, mix as mix_bits,
};
use tilemark_workload::{Instance, InstanceMachine, InstancePlan, build};
use units::Nanos;

/// Test case of an instance, by default of tile 0 at full size and speed.
pub struct Case {
    pub workload: Workload,
    pub seed: u64,
    pub round: u64,
    pub tile: u32,
    pub copy: u32,
    pub footprint: f64,
    pub time_scale: f64,
}

/// A workload with disks `data` (64 MiB) and `log` (1 MiB) on VM `vm`; `rest` is its
/// groups and actions.
pub fn case(rest: &str) -> Case {
    let head = r#"
        name = "test"
        title = "test"
        source = "our choice"
        metric = { unit = "actions/s", count = "actions" }
        [[vm]]
        name = "vm"
        disk = [{ name = "data", size = "64MiB" }, { name = "log", size = "1MiB", role = "log" }]
    "#;
    let workload = toml::from_str(&format!("{head}\n{rest}")).expect("a valid workload");
    Case { workload, seed: 1, round: 0, tile: 0, copy: 0, footprint: 1.0, time_scale: 1.0 }
}

/// Test case with one group and one action `a` of these steps.
pub fn one_action(load: &str, steps: &str) -> Case {
    case(&format!(
        r#"
        [[users]]
        name = "users"
        vm = "vm"
        load = {load}
        [[action]]
        name = "a"
        steps = [{steps}]
        "#
    ))
}

impl Case {
    pub fn build(&self) -> Instance {
        build(&InstancePlan {
            workload: &self.workload,
            seed: self.seed,
            round: self.round,
            tile: self.tile,
            position: 0,
            copy: self.copy,
            footprint: self.footprint,
            time_scale: self.time_scale,
            cpu: None,
            schedule: None,
        })
        .expect("the workload can be built")
    }

    /// Runs on a device that answers after the same time.
    pub fn run(&self, latency: Nanos, until: Nanos) -> Trace {
        self.run_on(move |now, _| Completion { at: now + latency, result: Ok(()) }, until)
    }

    /// Runs on a device of one's own.
    pub fn run_on(
        &self,
        device: impl FnMut(Nanos, &IoRequest) -> Completion,
        until: Nanos,
    ) -> Trace {
        run_instances(vec![self.build()], device, until).remove(0)
    }
}

/// Everything an instance did.
#[derive(Default)]
pub struct Trace {
    /// Requests with the time they were submitted.
    pub requests: Vec<(Nanos, IoRequest)>,
    /// Calls with the time they were made.
    pub calls: Vec<(Nanos, Call)>,
    pub actions: Vec<ActionDone>,
    /// Times at which starts were dropped, and the intended starts.
    pub dropped: Vec<(Nanos, Nanos)>,
    /// Slices of the whole run, all instances together.
    pub slices: Vec<Slice>,
}

impl Trace {
    /// A number that differs when any request differs.
    pub fn hash(&self) -> u64 {
        let text = format!("{:?}", self.requests);
        text.bytes().fold(0, |hash, byte| mix_bits(hash ^ u64::from(byte)))
    }

    /// Offsets of the requests with this kind.
    pub fn offsets(&self, kind: u16) -> Vec<u64> {
        let requests = self.requests.iter().map(|(_, request)| request);
        requests.filter(|request| request.kind.0 == kind).map(|request| request.offset).collect()
    }
}

struct Tap {
    machine: InstanceMachine,
    trace: Trace,
    /// After so many events it goes on in another one, built alike.
    moves: Vec<(u64, InstanceMachine)>,
    events: u64,
}

impl Machine for Tap {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        if let Some((_, other)) = self.moves.pop_if(|(at, _)| *at == self.events) {
            let saved = self.machine.saved().expect("users can be saved");
            self.machine = other;
            assert!(self.machine.go_on_from(&saved), "it was built alike");
            assert_eq!(self.machine.saved(), Some(saved), "nothing was lost on the way");
        }
        self.events += 1;
        self.machine.handle(now, event, fx);
        self.trace.requests.extend(fx.io.iter().map(|request| (now, *request)));
        self.trace.calls.extend(fx.calls.iter().map(|call| (now, *call)));
        for observation in &fx.observations {
            match *observation {
                Observation::Action(done) => self.trace.actions.push(done),
                Observation::Dropped { intended, .. } => self.trace.dropped.push((now, intended)),
            }
        }
    }
}

struct Answering<F>(F);

impl<F: FnMut(Nanos, &IoRequest) -> Completion> Device for Answering<F> {
    fn submit(&mut self, now: Nanos, _instance: usize, request: &IoRequest) -> Completion {
        (self.0)(now, request)
    }
}

/// Runs an instance that moves into an identically built one after each of these event counts
/// (ascending). Also returns the number of events.
pub fn run_moved(
    case: &Case,
    moves: &[u64],
    device: impl FnMut(Nanos, &IoRequest) -> Completion,
    until: Nanos,
) -> (Trace, u64) {
    let moves = moves.iter().rev().map(|at| (*at, case.build().machine)).collect();
    run_taps(vec![(case.build(), moves)], device, until).remove(0)
}

/// Runs several instances beside each other.
pub fn run_instances(
    instances: Vec<Instance>,
    device: impl FnMut(Nanos, &IoRequest) -> Completion,
    until: Nanos,
) -> Vec<Trace> {
    let instances = instances.into_iter().map(|instance| (instance, Vec::new())).collect();
    run_taps(instances, device, until).into_iter().map(|(trace, _)| trace).collect()
}

fn run_taps(
    instances: Vec<(Instance, Vec<(u64, InstanceMachine)>)>,
    device: impl FnMut(Nanos, &IoRequest) -> Completion,
    until: Nanos,
) -> Vec<(Trace, u64)> {
    let count = |length: usize| u16::try_from(length).expect("few");
    let tap = |(number, (instance, moves)): (usize, (Instance, _))| {
        let id = u32::try_from(number).expect("few");
        let shape = InstanceShape {
            instance: InstanceId(id),
            disk_vms: instance.disks.iter().map(|_| VmId(id)).collect(),
            kinds: count(instance.kinds.len()),
            actions: count(instance.actions.len()),
            groups: count(instance.groups.len()),
        };
        let machine = Tap { machine: instance.machine, trace: Trace::default(), moves, events: 0 };
        SimInstance { machine, shape }
    };
    let mut taps: Vec<_> = instances.into_iter().enumerate().map(tap).collect();
    let options = Options { until, events_per_instant_max: 100_000, ..Options::default() };
    let mut slices = Vec::new();
    sim::run(&mut taps, &mut Answering(device), &options, &mut |slice| slices.push(slice))
        .expect("time passes");
    let ended = taps.into_iter().map(|tap| (tap.machine.trace, tap.machine.events));
    let mut traces: Vec<(Trace, u64)> = ended.collect();
    traces[0].0.slices = slices;
    traces
}

/// A device that stands still from one time to another and otherwise takes `latency`.
pub fn stalling(
    from: Nanos,
    to: Nanos,
    latency: Nanos,
) -> impl FnMut(Nanos, &IoRequest) -> Completion {
    move |now, _| {
        let start = if now >= from && now < to { to } else { now };
        Completion { at: start + latency, result: Ok(()) }
    }
}

/// An answer with an I/O error after `latency`.
pub fn failed(now: Nanos, latency: Nanos) -> Completion {
    Completion { at: now + latency, result: Err(IoError::Os(5)) }
}

pub const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

pub const fn secs(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

/// A count as a number to calculate with.
pub fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).expect("below four billion"))
}

/// Checks that a share of `count` events came out as expected, within five standard errors
/// of a binomial share: a false alarm once in two million checks.
#[track_caller]
pub fn assert_share(seen: usize, count: usize, expected: f64) {
    let share = number(seen) / number(count);
    let error = 5.0 * (expected * (1.0 - expected) / number(count)).sqrt();
    assert!((share - expected).abs() <= error, "share {share} of {count}, expected {expected}");
}
