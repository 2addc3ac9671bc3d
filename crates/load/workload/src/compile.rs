//! Compiles steps into instructions.

use spec::workload::{
    Access as SpecAccess, Action, Address, Call, Commit, Compare, Copy as SpecCopy, DataPattern,
    MOVE_STAGES, SNAPSHOT_STAGES, Size, Step, stage_name,
};
use state_machine::{Content, DiskId, EndpointId, KindId, Operation, RequestText};
use units::Ratio;

use crate::address::Addresses;
use crate::draw::Draw;
use crate::error::{BuildError, unknown};
use crate::instance::Seeds;
use crate::layout::{DiskLayout, InstancePlan, KindInfo, KindOf};
use crate::moving::Task;
use crate::payload::Data;
use crate::pick::Pick;
use crate::place::Placer;
use crate::program::{Access, Block, Branch, Calls, Copy, Dialogue, Op, Program};
use crate::sizes::{action_name, sizes};

/// Number of places of a copy that are compared concurrently. Our choice: a quarter of the
/// outstanding I/Os of a copy.
const CHECKS_AT_ONCE: u32 = 4;

/// Compiled actions of a workload, and the state that they need.
#[derive(Debug, Default)]
pub struct Compiled {
    pub program: Program,
    pub addresses: Addresses,
    pub kinds: Vec<KindInfo>,
    /// Names of actions, then of their stages, indexed by `state_machine::ActionId`.
    pub actions: Vec<String>,
}

/// Compiler of one workload.
pub struct Compiler<'a> {
    plan: &'a InstancePlan<'a>,
    disks: &'a [DiskLayout],
    placer: Placer<'a>,
    /// Description of the action being compiled, for errors.
    user: String,
    /// Name of the action being compiled.
    action: String,
    out: Compiled,
    /// Strand whose instructions are being compiled.
    strand: u32,
    strands: Slots,
    counters: Slots,
    /// Names of the logs of group commits.
    logs: Vec<&'a str>,
}

/// Numbers for strands or counters, allocated like a stack. Parts that run one after another share
/// numbers; parts that run concurrently do not.
#[derive(Debug, Clone, Copy, Default)]
struct Slots {
    next: u32,
    /// Maximum number of numbers in use at once.
    peak: u32,
}

impl Slots {
    fn take(&mut self) -> u32 {
        self.next += 1;
        self.peak = self.peak.max(self.next);
        self.next - 1
    }
}

/// End of a branch: the counter of running branches, and the strand that waits for them.
#[derive(Debug, Clone, Copy)]
struct Join {
    counter: u32,
    parent: u32,
}

/// Read, write or append with names that are not resolved yet.
struct NamedAccess<'a> {
    operation: Operation,
    suffix: &'static str,
    disk: &'a str,
    size: &'a Size,
    /// Address; `None` for the end of the disk's log.
    address: Option<&'a Address>,
    count: u32,
    kind: Option<&'a str>,
    data: Option<&'a DataPattern>,
    durable: Option<Ratio>,
}

impl<'a> Compiler<'a> {
    pub fn new(plan: &'a InstancePlan<'a>, disks: &'a [DiskLayout], seeds: &'a Seeds) -> Self {
        Self {
            plan,
            disks,
            placer: Placer::new(plan, disks, seeds),
            user: String::new(),
            action: String::new(),
            out: Compiled::default(),
            strand: 0,
            // The first strand is the action's own.
            strands: Slots { next: 1, peak: 1 },
            counters: Slots::default(),
            logs: Vec::new(),
        }
    }

    pub fn compile(mut self) -> Result<Compiled, BuildError> {
        let actions = &self.plan.workload.actions;
        self.out.actions = actions.iter().map(|action| action.name.clone()).collect();
        for action in actions {
            self.action(action)?;
        }
        let kinds = self.out.kinds.len() as u64;
        if kinds > u64::from(u16::MAX) {
            let workload = self.plan.workload.name.clone();
            let max = u64::from(u16::MAX);
            return Err(BuildError::TooMany {
                workload,
                what: "kinds of I/O and calls",
                count: kinds,
                max,
            });
        }
        (self.out.program.strands, self.out.program.counters) =
            (self.strands.peak, self.counters.peak);
        self.out.program.logs = index(self.logs.len());
        self.out.addresses = self.placer.addresses;
        Ok(self.out)
    }

    fn action(&mut self, action: &'a Action) -> Result<(), BuildError> {
        if !action.steps.iter().any(takes_place) {
            let workload = self.plan.workload.name.clone();
            return Err(BuildError::EmptyAction { workload, action: action.name.clone() });
        }
        self.user = action_name(action);
        self.action.clone_from(&action.name);
        let entry = self.here();
        self.steps(&action.steps)?;
        let exit = self.push(Op::End);
        self.out.program.dialogues.push(Dialogue { entry, exit });
        Ok(())
    }

    fn here(&self) -> u32 {
        index(self.out.program.ops.len())
    }

    fn push(&mut self, op: Op) -> u32 {
        self.out.program.ops.push(op);
        self.here() - 1
    }

    /// Compiles steps that run one after another.
    fn steps(&mut self, steps: &'a [Step]) -> Result<(), BuildError> {
        for step in steps.iter().filter(|step| takes_place(step)) {
            let (strands, counters) = (self.strands.next, self.counters.next);
            self.step(step)?;
            (self.strands.next, self.counters.next) = (strands, counters);
        }
        Ok(())
    }

    fn step(&mut self, step: &'a Step) -> Result<(), BuildError> {
        match step {
            Step::Read(access) => self.access(&wanted(access, Operation::Read, "read")),
            Step::Write(access) => self.access(&wanted(access, Operation::Write, "write")),
            Step::Append(append) => self.access(&NamedAccess {
                operation: Operation::Write,
                suffix: "append",
                disk: &append.disk,
                size: &append.size,
                address: None,
                count: append.count,
                kind: append.kind.as_deref(),
                data: append.data.as_ref(),
                durable: append.durable,
            }),
            Step::Flush(flush) => {
                let place = self.disk(&flush.disk)?;
                let kind = self.kind(flush.kind.as_deref(), Operation::Flush, "flush", place);
                let disk = disk_id(place);
                self.push(Op::Flush { disk, kind });
                Ok(())
            }
            Step::Call(call) => self.call(call),
            Step::Cpu(time) => {
                self.push(Op::Cpu(Draw::new(time)));
                Ok(())
            }
            Step::Wait(time) => {
                self.push(Op::Wait(Draw::new(time)));
                Ok(())
            }
            Step::Parallel(branches) => self.parallel(branches),
            Step::Repeat(repeat) => self.repeat(repeat.times, &repeat.steps),
            Step::Commit(commit) => self.commit(commit),
            Step::Copy(copy) => self.copy(copy),
            Step::Stage(stage) => {
                let name = self.stage(&stage.name);
                self.push(Op::Begin(name));
                self.steps(&stage.steps)?;
                self.push(Op::Finish(name));
                Ok(())
            }
            Step::Move(_) => {
                self.ask(Task::Move, MOVE_STAGES);
                Ok(())
            }
            Step::Snapshot(one) => {
                self.ask(Task::Snapshot { keep: one.keep }, SNAPSHOT_STAGES);
                Ok(())
            }
            Step::Check(compare) => self.compare(compare),
            Step::Link(link) => {
                let from = disk_id(self.disk(&link.from)?);
                self.whole(&link.to, "link", Content::Clone(from))
            }
            Step::Destroy(destroy) => self.whole(&destroy.disk, "destroy", Content::Discard),
        }
    }

    fn ask(&mut self, task: Task, stages: [&str; 3]) {
        let stages = stages.map(|stage| self.stage(stage));
        self.push(Op::Ask { task, stages });
    }

    /// Compiles a request about a whole disk.
    fn whole(&mut self, disk: &str, suffix: &str, content: Content) -> Result<(), BuildError> {
        let place = self.disk(disk)?;
        let kind = self.kind(None, Operation::Write, suffix, place);
        self.push(Op::Whole { disk: disk_id(place), kind, content });
        Ok(())
    }

    /// Adds a stage of the action being compiled. Returns its id.
    fn stage(&mut self, name: &str) -> u16 {
        self.out.actions.push(stage_name(&self.action, name));
        // Numbers beyond the range fail the build once all actions are known.
        u16::try_from(self.out.actions.len() - 1).unwrap_or(u16::MAX)
    }

    fn copy(&mut self, copy: &SpecCopy) -> Result<(), BuildError> {
        let (from, to) = (self.disk(&copy.from)?, self.disk(&copy.to)?);
        let length = copy.size.get();
        let compiled = Copy {
            from: disk_id(from),
            to: disk_id(to),
            read: self.kind(None, Operation::Read, "copy-read", from),
            write: self.kind(None, Operation::Write, "copy-write", to),
            length,
            blocks: self.blocks([from, to], length),
            among: 1,
            then: Operation::Write,
        };
        self.block_by_block(compiled, copy.outstanding);
        Ok(())
    }

    fn compare(&mut self, compare: &Compare) -> Result<(), BuildError> {
        let (from, to) = (self.disk(&compare.from)?, self.disk(&compare.to)?);
        let length = compare.size.get();
        let all = self.blocks([from, to], length).max(1);
        let blocks = compare.blocks.clamp(1, all);
        let compiled = Copy {
            from: disk_id(from),
            to: disk_id(to),
            read: self.kind(None, Operation::Read, "check", from),
            write: self.kind(None, Operation::Read, "check", to),
            length,
            blocks,
            among: all / blocks,
            then: Operation::Read,
        };
        self.block_by_block(compiled, CHECKS_AT_ONCE);
        Ok(())
    }

    /// Returns the number of blocks of this length on both disks.
    fn blocks(&self, [one, other]: [usize; 2], length: u32) -> u32 {
        let bytes = self.disks[one].size.min(self.disks[other].size).get();
        u32::try_from(bytes / u64::from(length)).unwrap_or(u32::MAX)
    }

    /// Creates a strand for each block that may be outstanding. Each strand reads the next block,
    /// then writes it or reads it from the other disk.
    fn block_by_block(&mut self, compiled: Copy, outstanding: u32) {
        let number = index(self.out.program.copies.len());
        self.out.program.copies.push(compiled);
        let (counter, parent) = (self.counters.take(), self.strand);
        let running = self.counters.take();
        self.push(Op::Loop { counter, times: 0 });
        let fork = self.push(Op::End);
        let first = index(self.out.program.branches.len());
        let count = outstanding.min(compiled.blocks).max(1);
        for _ in 0..count {
            let entry = self.here();
            self.push(Op::CopyRead { copy: number, counter, done: entry + 3 });
            self.push(Op::CopyWrite(number));
            self.push(Op::Goto(entry));
            let exit = self.push(Op::Join { counter: running, parent });
            let strand = self.strands.take();
            self.out.program.branches.push(Branch { strand, entry, exit });
        }
        let next = self.here();
        self.out.program.ops[fork as usize] = Op::Fork { counter: running, first, count, next };
    }

    fn repeat(&mut self, times: u32, steps: &'a [Step]) -> Result<(), BuildError> {
        let counter = self.counters.take();
        self.push(Op::Loop { counter, times });
        let body = self.here();
        self.steps(steps)?;
        self.push(Op::Again { counter, body });
        Ok(())
    }

    /// Compiles steps that one user takes for all who wait for the log.
    fn commit(&mut self, commit: &'a Commit) -> Result<(), BuildError> {
        let known = self.logs.iter().position(|log| *log == commit.log);
        let log = index(known.unwrap_or_else(|| {
            self.logs.push(&commit.log);
            self.logs.len() - 1
        }));
        // Its end is filled in once its steps are known.
        let enter = self.push(Op::End);
        self.steps(&commit.steps)?;
        let leave = self.push(Op::Leave { log });
        self.out.program.ops[enter as usize] = Op::Enter { log, leave };
        Ok(())
    }

    /// Compiles steps that run concurrently: each becomes a branch with its own strand.
    fn parallel(&mut self, steps: &'a [Step]) -> Result<(), BuildError> {
        let parent = self.strand;
        let counter = self.counters.take();
        // The fork is filled in once its branches are known.
        let fork = self.push(Op::End);
        let outer = (self.strands.peak, self.counters.peak);
        (self.strands.peak, self.counters.peak) = (self.strands.next, self.counters.next);
        let mut branches = Vec::new();
        for step in steps.iter().filter(|step| takes_place(step)) {
            branches.push(self.branch(step, Join { counter, parent })?);
            // The numbers of this branch stay taken for the branches beside it.
            (self.strands.next, self.counters.next) = (self.strands.peak, self.counters.peak);
        }
        self.strand = parent;
        self.strands.peak = self.strands.peak.max(outer.0);
        self.counters.peak = self.counters.peak.max(outer.1);
        let (first, count) = (index(self.out.program.branches.len()), index(branches.len()));
        self.out.program.branches.extend(branches);
        let next = self.here();
        self.out.program.ops[fork as usize] = Op::Fork { counter, first, count, next };
        Ok(())
    }

    fn branch(&mut self, step: &'a Step, join: Join) -> Result<Branch, BuildError> {
        let strand = self.strands.take();
        self.strand = strand;
        let entry = self.here();
        self.step(step)?;
        let exit = self.push(Op::Join { counter: join.counter, parent: join.parent });
        Ok(Branch { strand, entry, exit })
    }

    fn access(&mut self, wanted: &NamedAccess) -> Result<(), BuildError> {
        let place = self.disk(wanted.disk)?;
        let sizes = sizes(self.plan.workload, &self.user, wanted.size)?;
        let weights: Vec<f64> = sizes.iter().map(|(_, weight)| *weight).collect();
        let size = Pick::new(&weights).ok_or_else(|| BuildError::Weights {
            workload: self.plan.workload.name.clone(),
            user: format!("a block-size mix of {}", self.user),
        })?;
        let number = index(self.out.program.accesses.len());
        let lengths: Vec<u32> = sizes.iter().map(|(length, _)| length.get()).collect();
        let places = match wanted.address {
            None => self.placer.log(place, &lengths),
            Some(address) => self.placer.places(place, number, address, &lengths),
        };
        let blocks = lengths.iter().zip(places);
        let access = Access {
            operation: wanted.operation,
            disk: disk_id(place),
            kind: self.kind(wanted.kind, wanted.operation, wanted.suffix, place),
            count: wanted.count.max(1),
            size,
            blocks: blocks.map(|(length, place)| Block { length: *length, place }).collect(),
            data: Data::new(wanted.data.unwrap_or(&self.plan.workload.data)),
            durable: wanted.durable.map_or(0.0, Ratio::get),
        };
        self.out.program.accesses.push(access);
        self.push(Op::Access(number));
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<(), BuildError> {
        let mut endpoints = self.plan.workload.endpoints.iter();
        let endpoint = endpoints.position(|own| own.name == call.endpoint).ok_or_else(|| {
            unknown(self.plan.workload, self.user.clone(), "endpoint", &call.endpoint)
        })?;
        let default = || format!("{}-call", call.endpoint);
        let name = call.kind.clone().unwrap_or_else(default);
        let text = call.ask.as_deref().map(RequestText::parse).transpose();
        let ask = text.map_err(|source| BuildError::RequestText {
            workload: self.plan.workload.name.clone(),
            source,
        })?;
        let has_draws = ask.as_ref().is_some_and(RequestText::has_draws);
        let kind = self.kind_of(KindInfo { name, of: KindOf::Call { endpoint }, ask });
        self.out.program.has_draws |= has_draws;
        let number = index(self.out.program.calls.len());
        self.out.program.calls.push(Calls {
            endpoint: EndpointId(u16::try_from(endpoint).expect("endpoints were counted before")),
            kind,
            count: call.count.max(1),
            size: u32::try_from(call.size.get()).unwrap_or(u32::MAX),
            has_draws,
        });
        self.push(Op::Call(number));
        Ok(())
    }

    fn disk(&self, name: &str) -> Result<usize, BuildError> {
        let place = self.disks.iter().position(|disk| disk.name == name);
        place.ok_or_else(|| unknown(self.plan.workload, self.user.clone(), "disk", name))
    }

    fn kind(
        &mut self,
        name: Option<&str>,
        direction: Operation,
        suffix: &str,
        disk: usize,
    ) -> KindId {
        let default = || format!("{}-{suffix}", self.disks[disk].name);
        let of = KindOf::Io { direction, disk };
        self.kind_of(KindInfo { name: name.map_or_else(default, str::to_owned), of, ask: None })
    }

    fn kind_of(&mut self, info: KindInfo) -> KindId {
        let known = self.out.kinds.iter().position(|kind| *kind == info);
        let place = known.unwrap_or_else(|| {
            self.out.kinds.push(info);
            self.out.kinds.len() - 1
        });
        // Numbers beyond the range fail the build once all kinds are known.
        KindId(u16::try_from(place).unwrap_or(u16::MAX))
    }
}

fn wanted<'a>(
    access: &'a SpecAccess,
    operation: Operation,
    suffix: &'static str,
) -> NamedAccess<'a> {
    NamedAccess {
        operation,
        suffix,
        disk: &access.disk,
        size: &access.size,
        address: Some(&access.address),
        count: access.count,
        kind: access.kind.as_deref(),
        data: access.data.as_ref(),
        durable: access.durable,
    }
}

/// Returns true if a step issues any request.
fn takes_place(step: &Step) -> bool {
    match step {
        Step::Parallel(steps) => steps.iter().any(takes_place),
        Step::Repeat(repeat) => repeat.times > 0 && repeat.steps.iter().any(takes_place),
        Step::Commit(commit) => commit.steps.iter().any(takes_place),
        _ => true,
    }
}

fn disk_id(place: usize) -> DiskId {
    DiskId(u16::try_from(place).expect("disks were counted before"))
}

fn index(length: usize) -> u32 {
    u32::try_from(length).expect("a program is far shorter than 2^32")
}
