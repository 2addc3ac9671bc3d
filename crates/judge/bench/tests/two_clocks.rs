//! One code, two clocks: real storage and virtual time are loaded by the same state machines. The
//! recorded answers of the engine give the same requests in a simulation, and a model that answers
//! at once gets the same requests as a file in memory.
//!
//! Requests can only be equal if their order does not depend on lateness: with users who never
//! pause, whose order the answers decide, or with one user, whose order the state machine decides.
//! The engine's timers are late by microseconds, those of a simulation never.

use std::fs::File;
use std::sync::Arc;

use datastore::VirtualDisk;
use engine::tape::{self, Tape};
use engine::{EngineInstance, Options};
use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceId, VmId};
use rustix::fs::{MemfdFlags, memfd_create};
use sim::{Completion, Device, SimInstance};
use spec::workload::Workload;
use state_machine::{IoError, IoRequest, Operation};
use units::Nanos;
use workload::replay::{Observed, Schedule, ScheduleBuilder, ScheduleOptions, Waits};
use workload::{Instance, InstancePlan};

/// A workload of lookups, updates with a log, and scans; `load` is its user group.
fn shop(load: &str) -> Workload {
    let text = format!(
        r#"
name = "shop"
title = "Shop"
source = "made for this test"
metric = {{ unit = "actions/s", count = "actions", reference = 100.0 }}
[[vm]]
name = "db"
[[vm.disk]]
name = "tables"
size = "64MiB"
[[vm.disk]]
name = "log"
role = "log"
size = "8MiB"
[[users]]
name = "users"
vm = "db"
load = {{ closed = {load} }}
[[action]]
name = "lookup"
weight = 5
steps = [{{ read = {{ disk = "tables", size = "8k", count = 2 }} }}]
[[action]]
name = "update"
weight = 3
steps = [
    {{ read = {{ disk = "tables", size = "8k" }} }},
    {{ write = {{ disk = "tables", size = "8k" }} }},
    {{ append = {{ disk = "log", size = "4k" }} }},
]
[[action]]
name = "scan"
steps = [{{ read = {{ disk = "tables", size = "64k", count = 4 }} }}]
"#
    );
    spec::load_workload("shop.toml", &text).expect("a workload")
}

fn instance(workload: &Workload) -> (Instance, InstanceShape) {
    instance_of(workload, None)
}

fn instance_of(workload: &Workload, schedule: Option<&Arc<Schedule>>) -> (Instance, InstanceShape) {
    let plan = InstancePlan {
        workload,
        seed: 7,
        round: 1,
        tile: 0,
        position: 0,
        copy: 0,
        footprint: 1.0,
        time_scale: 1.0,
        cpu: None,
        schedule,
    };
    let built = workload::build(&plan).expect("an instance");
    let count = |count: usize| u16::try_from(count).expect("a few");
    let shape = InstanceShape {
        instance: InstanceId(0),
        disk_vms: vec![VmId(0); built.disks.len()],
        kinds: count(built.kinds.len()),
        actions: count(built.actions.len()),
        groups: count(built.groups.len()),
    };
    (built, shape)
}

/// A recorded run of the engine on files.
fn recorded(workload: &Workload, file: impl Fn() -> File, span: Nanos) -> Tape {
    recorded_of(instance(workload), file, span)
}

fn recorded_of(
    (built, shape): (Instance, InstanceShape),
    file: impl Fn() -> File,
    span: Nanos,
) -> Tape {
    let disk = |layout: &workload::DiskLayout| {
        let file = file();
        file.set_len(layout.size.get()).expect("a file of its size");
        VirtualDisk {
            file: Arc::new(file),
            base: 0,
            size: layout.size,
            alignment: 4096,
            direct: false,
            writable: true,
            name: layout.name.clone(),
        }
    };
    let disks = built.disks.iter().map(disk).collect();
    let instance = EngineInstance::new(built.machine, shape, disks);
    tape::record(vec![instance], &Options { depth: 64, ..Options::default() }, span).expect("a run")
}

fn in_memory() -> File {
    memfd_create("tilemark-test", MemfdFlags::CLOEXEC).expect("memory").into()
}

type Trace = Vec<(u32, Operation, u64, u32)>;

fn asked(tape: &Tape) -> Trace {
    tape.asked
        .iter()
        .map(|asked| (asked.file, asked.operation, asked.offset, asked.length))
        .collect()
}

/// Device that records its requests.
struct Noted<D>(D, Trace);

impl<D: Device> Device for Noted<D> {
    fn submit(&mut self, now: Nanos, instance: usize, request: &IoRequest) -> Completion {
        let IoRequest { disk, operation, offset, length, .. } = *request;
        self.1.push((u32::from(disk.0), operation, offset, length));
        self.0.submit(now, instance, request)
    }
}

/// Requests to a device in virtual time.
fn simulated<D: Device>(workload: &Workload, device: D, until: Nanos) -> Trace {
    simulated_of(instance(workload), device, until)
}

fn simulated_of<D: Device>(
    (built, shape): (Instance, InstanceShape),
    device: D,
    until: Nanos,
) -> Trace {
    let mut device = Noted(device, Vec::new());
    let mut instances = [SimInstance { machine: built.machine, shape }];
    let options = sim::Options { until, ..sim::Options::default() };
    sim::run(&mut instances, &mut device, &options, &mut |_| {}).expect("time passes");
    device.1
}

/// Device that answers as a recorded run was answered: in the same order, at the same times.
struct Replay {
    /// Answers by request, in the order of the requests; requests without one are never answered.
    answers: Vec<Option<(Nanos, bool)>>,
    next: usize,
}

impl Replay {
    fn of(tape: &Tape) -> Self {
        let mut answers = vec![None; tape.asked.len()];
        let mut last = Nanos::ZERO;
        for answer in &tape.answers {
            // Answers that were seen together came one after the other.
            last = answer.at.max(last + Nanos(1));
            let place = usize::try_from(answer.ordinal).expect("it is in memory");
            answers[place] = Some((last, answer.result >= 0));
        }
        Self { answers, next: 0 }
    }
}

impl Device for Replay {
    fn submit(&mut self, _: Nanos, _: usize, _: &IoRequest) -> Completion {
        let answer = self.answers.get(self.next).copied().flatten();
        self.next += 1;
        let (at, is_ok) = answer.unwrap_or((Nanos::MAX, true));
        Completion { at, result: if is_ok { Ok(()) } else { Err(IoError::Os(5)) } }
    }
}

/// Checks that the shorter trace is a prefix of the longer one, and long enough.
fn assert_same(real: &Trace, virtual_time: &Trace, least: usize) {
    assert!(real.len() >= least, "only {} requests in real time", real.len());
    assert!(virtual_time.len() >= real.len(), "{} and {}", virtual_time.len(), real.len());
    let differ = real.iter().zip(virtual_time).position(|(real, other)| real != other);
    if let Some(place) = differ {
        panic!("request {place} was {:?} and is {:?}", real[place], virtual_time[place]);
    }
}

#[test]
fn answers_of_a_real_run_give_same_requests_in_virtual_time() {
    let workload = shop("{ users = 12 }");
    let file = || tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).expect("a file");
    let tape = recorded(&workload, file, Nanos::from_secs(1));
    let replayed = simulated(&workload, Replay::of(&tape), Nanos::from_secs(60));
    // Twelve users ask at once; more requests came when the first were answered.
    assert_same(&asked(&tape), &replayed, 25);
}

#[test]
fn model_without_latency_and_file_in_memory_get_same_requests() {
    let workload = shop("{ users = 1, think = { exponential = \"500us\" } }");
    let tape = recorded(&workload, in_memory, Nanos::from_secs(2));
    let ideal = simulated(&workload, sim::Instant, Nanos::from_secs(30));
    assert_same(&asked(&tape), &ideal, 8);
    let slow = simulated(&workload, sim::Fixed(Nanos::from_millis(1)), Nanos::from_secs(30));
    assert_same(&asked(&tape), &slow, 8);
}

#[test]
fn users_without_pauses_ask_a_file_by_its_answers() {
    let workload = shop("{ users = 3 }");
    let tape = recorded(&workload, in_memory, Nanos::from_secs(1));
    let replayed = simulated(&workload, Replay::of(&tape), Nanos::from_secs(60));
    assert_same(&asked(&tape), &replayed, 25);
}

/// 300 I/Os at 64 offsets, 1 ms apart, each answered before the next is sent.
fn recording(waits: Waits) -> (Workload, Arc<Schedule>) {
    let text = "name = \"played\"\ntitle = \"Played\"\nsource = \"made for this test\"\n\
                metric = { unit = \"I/Os/s\", count = \"io\", reference = 1000.0 }\n\
                replay = { trace = \"none\" }\n\
                [[vm]]\nname = \"vm\"\n[[vm.disk]]\nname = \"disk-1\"\nsize = \"1MiB\"\n";
    let workload = spec::load_workload("played.toml", text).expect("a workload");
    let options =
        ScheduleOptions { waits, speed: Some(1.0), one_at_a_time: false, steps_max: 1000 };
    let mut builder = ScheduleBuilder::new(options, 1);
    for n in 0..300_u64 {
        let operation = if n % 3 == 0 { Operation::Write } else { Operation::Read };
        let observed = Observed {
            issue: Nanos::from_millis(n),
            latency: Some(Nanos::from_micros(100)),
            sender: 0,
            disk: 0,
            operation: Some(operation),
            offset: n * 7 % 64 * 40_960,
            length: 8192,
        };
        builder.push(&observed).expect("it fits");
    }
    (workload, Arc::new(builder.finish()))
}

#[test]
fn trace_replays_alike_on_a_file_and_on_an_instant_model() {
    for waits in [Waits::ForTheClock, Waits::ForAnswers] {
        let (workload, schedule) = recording(waits);
        let built = || instance_of(&workload, Some(&schedule));
        let tape = recorded_of(built(), in_memory, Nanos::from_secs(5));
        let ideal = simulated_of(built(), sim::Instant, Nanos::from_secs(5));
        assert_eq!((ideal.len(), asked(&tape)), (300, ideal), "{waits:?}");
    }
}
