//! Turns steps into instructions and address distributions into numbers.

use machine::{DiskId, KindId, Operation, Purpose, Stream};
use spec::workload::{Access as SpecAccess, Action, Address, DataPattern, Size, Step, Workload};
use units::{BlockSize, Nanos};

use crate::address::{Addresses, Drift, Place, Ranks, SharedWalk};
use crate::build::{BuildError, DiskLayout, InstancePlan, KindInfo, unknown};
use crate::cursor::Cursor;
use crate::draw::Draw;
use crate::instance::Seeds;
use crate::payload::Data;
use crate::pick::Pick;
use crate::program::{Access, Block, Branch, Dialogue, Op, Program};
use crate::region::Region;
use crate::scatter::Scatter;
use crate::walk::Walk;
use crate::zipf::Zipf;

/// A workload's actions, compiled, and the state they need.
#[derive(Debug, Default)]
pub struct Compiled {
    pub program: Program,
    pub addresses: Addresses,
    pub kinds: Vec<KindInfo>,
}

/// What a random number of the address state is for; part of its stream's path, after the
/// disk. Numbers must not change: seeds would mean other addresses.
#[derive(Debug, Clone, Copy)]
enum Seeded {
    Sequence = 1,
    Ranks = 2,
    Walk = 3,
    Drift = 4,
}

/// Compiles one workload.
pub struct Compiler<'a> {
    plan: &'a InstancePlan<'a>,
    disks: &'a [DiskLayout],
    seeds: &'a Seeds,
    /// The action being compiled, for errors.
    user: String,
    out: Compiled,
    /// Which region each entry of `addresses.ranks` and `addresses.walks` is for.
    rank_keys: Vec<(usize, Region, u64)>,
    walk_keys: Vec<(usize, Region)>,
    /// The strand whose instructions are being compiled.
    strand: u32,
    strands: Slots,
    counters: Slots,
}

/// Numbers for strands or counters, given out as on a stack: what runs one after another
/// shares numbers, what runs at once does not.
#[derive(Debug, Clone, Copy, Default)]
struct Slots {
    next: u32,
    /// The most that were taken at once.
    peak: u32,
}

impl Slots {
    fn take(&mut self) -> u32 {
        self.next += 1;
        self.peak = self.peak.max(self.next);
        self.next - 1
    }
}

/// Where a branch ends: the counter of those still running, and who waits for them.
#[derive(Debug, Clone, Copy)]
struct Join {
    counter: u32,
    parent: u32,
}

/// A read, write or append before its names are resolved.
struct Wanted<'a> {
    operation: Operation,
    suffix: &'static str,
    disk: &'a str,
    size: &'a Size,
    /// None for the end of the disk's log.
    address: Option<&'a Address>,
    count: u32,
    kind: Option<&'a str>,
    data: Option<&'a DataPattern>,
}

impl<'a> Compiler<'a> {
    pub fn new(plan: &'a InstancePlan<'a>, disks: &'a [DiskLayout], seeds: &'a Seeds) -> Self {
        let mut out = Compiled::default();
        // The first cursors are the disks' logs, by position.
        out.addresses.cursors = disks.iter().map(|disk| Cursor::log(disk.size.get())).collect();
        Self {
            plan,
            disks,
            seeds,
            user: String::new(),
            out,
            rank_keys: Vec::new(),
            walk_keys: Vec::new(),
            strand: 0,
            // The first strand is the action's own.
            strands: Slots { next: 1, peak: 1 },
            counters: Slots::default(),
        }
    }

    pub fn compile(mut self) -> Result<Compiled, BuildError> {
        for action in &self.plan.workload.actions {
            self.action(action)?;
        }
        let kinds = self.out.kinds.len() as u64;
        if kinds > u64::from(u16::MAX) {
            let workload = self.plan.workload.name.clone();
            let max = u64::from(u16::MAX);
            return Err(BuildError::TooMany { workload, what: "kinds of I/O", count: kinds, max });
        }
        (self.out.program.strands, self.out.program.counters) =
            (self.strands.peak, self.counters.peak);
        Ok(self.out)
    }

    fn action(&mut self, action: &Action) -> Result<(), BuildError> {
        if !action.steps.iter().any(takes_place) {
            let workload = self.plan.workload.name.clone();
            return Err(BuildError::EmptyAction { workload, action: action.name.clone() });
        }
        self.user = action_name(action);
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

    /// Steps one after another.
    fn steps(&mut self, steps: &[Step]) -> Result<(), BuildError> {
        for step in steps.iter().filter(|step| takes_place(step)) {
            let (strands, counters) = (self.strands.next, self.counters.next);
            self.step(step)?;
            (self.strands.next, self.counters.next) = (strands, counters);
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), BuildError> {
        match step {
            Step::Read(access) => self.access(&wanted(access, Operation::Read, "read")),
            Step::Write(access) => self.access(&wanted(access, Operation::Write, "write")),
            Step::Append(append) => self.access(&Wanted {
                operation: Operation::Write,
                suffix: "append",
                disk: &append.disk,
                size: &append.size,
                address: None,
                count: append.count,
                kind: append.kind.as_deref(),
                data: append.data.as_ref(),
            }),
            Step::Flush(flush) => {
                let place = self.disk(&flush.disk)?;
                let kind = self.kind(flush.kind.as_deref(), Operation::Flush, "flush", place);
                let disk = disk_id(place);
                self.push(Op::Flush { disk, kind });
                Ok(())
            }
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
        }
    }

    fn repeat(&mut self, times: u32, steps: &[Step]) -> Result<(), BuildError> {
        let counter = self.counters.take();
        self.push(Op::Loop { counter, times });
        let body = self.here();
        self.steps(steps)?;
        self.push(Op::Again { counter, body });
        Ok(())
    }

    /// Steps at once: each becomes a branch with a strand of its own.
    fn parallel(&mut self, steps: &[Step]) -> Result<(), BuildError> {
        let parent = self.strand;
        let counter = self.counters.take();
        // The fork itself is known when its branches are.
        let fork = self.push(Op::End);
        let outer = (self.strands.peak, self.counters.peak);
        (self.strands.peak, self.counters.peak) = (self.strands.next, self.counters.next);
        let mut branches = Vec::new();
        for step in steps.iter().filter(|step| takes_place(step)) {
            branches.push(self.branch(step, Join { counter, parent })?);
            // Whatever this branch uses stays taken for those beside it.
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

    fn branch(&mut self, step: &Step, join: Join) -> Result<Branch, BuildError> {
        let strand = self.strands.take();
        self.strand = strand;
        let entry = self.here();
        self.step(step)?;
        let exit = self.push(Op::Join { counter: join.counter, parent: join.parent });
        Ok(Branch { strand, entry, exit })
    }

    fn access(&mut self, wanted: &Wanted) -> Result<(), BuildError> {
        let place = self.disk(wanted.disk)?;
        let sizes = sizes(self.plan.workload, &self.user, wanted.size)?;
        let weights: Vec<f64> = sizes.iter().map(|(_, weight)| *weight).collect();
        let size = Pick::new(&weights).ok_or_else(|| BuildError::Weights {
            workload: self.plan.workload.name.clone(),
            user: format!("a block-size mix of {}", self.user),
        })?;
        let lengths: Vec<u32> = sizes.iter().map(|(length, _)| length.get()).collect();
        let places = match wanted.address {
            None => lengths.iter().map(|_| Place::Sequential { cursor: place }).collect(),
            Some(address) => {
                let region = Region::whole(self.disks[place].size.get());
                self.places(place, region, address, &lengths)
            }
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
        };
        let number = index(self.out.program.accesses.len());
        self.out.program.accesses.push(access);
        self.push(Op::Access(number));
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
        let info = KindInfo { name: name.map_or_else(default, str::to_owned), direction, disk };
        let known = self.out.kinds.iter().position(|kind| *kind == info);
        let place = known.unwrap_or_else(|| {
            self.out.kinds.push(info);
            self.out.kinds.len() - 1
        });
        // Beyond the range the build fails when all kinds are known.
        KindId(u16::try_from(place).unwrap_or(u16::MAX))
    }

    /// The places of blocks of these lengths, in the order of the lengths.
    fn places(
        &mut self,
        disk: usize,
        region: Region,
        address: &Address,
        lengths: &[u32],
    ) -> Vec<Place> {
        let each =
            |place: &dyn Fn(u32) -> Place| lengths.iter().map(|length| place(*length)).collect();
        match address {
            Address::Within(within) => {
                let inside = region.part(within.start.get(), within.length.get());
                self.places(disk, inside, &within.address, lengths)
            }
            Address::Uniform => each(&|length| Place::Uniform(region.blocks(length))),
            Address::Hot(spots) => {
                let spots: Vec<(f64, f64)> =
                    spots.iter().map(|spot| (spot.io.get(), spot.space.get())).collect();
                each(&|length| hot(region, &spots, length))
            }
            Address::Zipf(zipf) => {
                let ranks = self.ranks(disk, region, zipf.exponent);
                each(&|length| Place::Zipf { blocks: region.blocks(length), ranks })
            }
            Address::ReuseWalk(_) => {
                let walk = self.walk(disk, region);
                each(&|length| Place::ReuseWalk { blocks: region.blocks(length), walk })
            }
            Address::Sequential(sequential) => {
                let cursor = self.cursor(disk, region, lengths, sequential.streams);
                each(&|_| Place::Sequential { cursor })
            }
            Address::Mixed(mixed) => {
                let cursor = self.cursor(disk, region, lengths, 1);
                let random = mixed.random.get();
                each(&|length| Place::Mixed { random, blocks: region.blocks(length), cursor })
            }
            Address::Drift(drift) => {
                let base = self.stream(disk, Seeded::Drift, region.begin).unit();
                let turnover = drift.turnover.scale(self.plan.time_scale).max(Nanos(1));
                each(&|length| {
                    let blocks = region.blocks(length);
                    Place::Drift(Drift {
                        blocks,
                        set: blocks.share(drift.working_set.get()),
                        base: blocks.share(base) - 1,
                        inside: drift.inside.get(),
                        turnover,
                    })
                })
            }
        }
    }

    fn cursor(&mut self, disk: usize, region: Region, lengths: &[u32], streams: u32) -> usize {
        let number = self.out.program.accesses.len() as u64;
        let mut stream = self.stream(disk, Seeded::Sequence, number);
        let largest = lengths.iter().copied().max().unwrap_or(512);
        let cursor = Cursor::streams(region, largest, streams.max(1), &mut stream);
        self.out.addresses.cursors.push(cursor);
        self.out.addresses.cursors.len() - 1
    }

    fn ranks(&mut self, disk: usize, region: Region, exponent: f64) -> usize {
        let key = (disk, region, exponent.to_bits());
        if let Some(known) = self.rank_keys.iter().position(|other| *other == key) {
            return known;
        }
        let pages = self.pages(disk, region, |address| matches!(address, Address::Zipf(_)));
        let mut stream = self.stream(disk, Seeded::Ranks, region.begin);
        self.out.addresses.ranks.push(Ranks {
            zipf: Zipf::new(pages.count, exponent),
            scatter: Scatter::new(pages.count, &mut stream),
            pages,
        });
        self.rank_keys.push(key);
        self.rank_keys.len() - 1
    }

    fn walk(&mut self, disk: usize, region: Region) -> usize {
        let key = (disk, region);
        if let Some(known) = self.walk_keys.iter().position(|other| *other == key) {
            return known;
        }
        let pages = self.pages(disk, region, |address| matches!(address, Address::ReuseWalk(_)));
        let walk = Walk::new(pages.count, &mut self.stream(disk, Seeded::Walk, region.begin));
        self.out.addresses.walks.push(SharedWalk { walk, pages });
        self.walk_keys.push(key);
        self.walk_keys.len() - 1
    }

    /// Pages of the smallest block that any step with such an address uses on the disk.
    fn pages(
        &self,
        disk: usize,
        region: Region,
        is_such: fn(&Address) -> bool,
    ) -> crate::region::Blocks {
        let mut smallest = u32::MAX;
        let name = &self.disks[disk].name;
        for_each_access(self.plan.workload, &mut |_, step| {
            let (Step::Read(access) | Step::Write(access)) = step else { return Ok(()) };
            if access.disk == *name && is_such(innermost(&access.address)) {
                let sizes = sizes(self.plan.workload, "", &access.size)?;
                smallest = sizes.iter().map(|(size, _)| size.get()).fold(smallest, u32::min);
            }
            Ok(())
        })
        .expect("sizes were read when the disks were laid out");
        region.blocks(smallest)
    }

    fn stream(&self, disk: usize, what: Seeded, number: u64) -> Stream {
        let [tile, position, copy] = self.seeds.path;
        let path = [tile, position, copy, disk as u64, what as u64, number];
        Stream::derive(self.seeds.seed, &path, Purpose::Addresses)
    }
}

fn wanted<'a>(access: &'a SpecAccess, operation: Operation, suffix: &'static str) -> Wanted<'a> {
    Wanted {
        operation,
        suffix,
        disk: &access.disk,
        size: &access.size,
        address: Some(&access.address),
        count: access.count,
        kind: access.kind.as_deref(),
        data: access.data.as_ref(),
    }
}

/// Spots one after another from the region's start; the rest of the I/O goes to the rest.
fn hot(region: Region, spots: &[(f64, f64)], length: u32) -> Place {
    let (mut weights, mut areas, mut begin) = (Vec::new(), Vec::new(), 0.0);
    for (io, space) in spots {
        weights.push(*io);
        areas.push(region.part(begin, *space).blocks(length));
        begin += space;
    }
    weights.push((1.0 - weights.iter().sum::<f64>()).max(0.0));
    areas.push(region.part(begin, (1.0 - begin).max(0.0)).blocks(length));
    match Pick::new(&weights) {
        Some(spot) => Place::Hot { spot, spots: areas.into_boxed_slice() },
        None => Place::Uniform(region.blocks(length)),
    }
}

/// Whether a step asks for anything at all.
fn takes_place(step: &Step) -> bool {
    match step {
        Step::Parallel(steps) => steps.iter().any(takes_place),
        Step::Repeat(repeat) => repeat.times > 0 && repeat.steps.iter().any(takes_place),
        _ => true,
    }
}

fn innermost(address: &Address) -> &Address {
    match address {
        Address::Within(within) => innermost(&within.address),
        other => other,
    }
}

/// The largest block any step uses on a disk; one sector if none does.
pub fn largest_block(workload: &Workload, disk: &str) -> Result<u32, BuildError> {
    let mut largest = BlockSize::SECTOR.get();
    for_each_access(workload, &mut |user, step| {
        let (name, size) = match step {
            Step::Read(access) | Step::Write(access) => (&access.disk, &access.size),
            Step::Append(append) => (&append.disk, &append.size),
            _ => return Ok(()),
        };
        if name == disk {
            let sizes = sizes(workload, user, size)?;
            largest = sizes.iter().map(|(size, _)| size.get()).fold(largest, u32::max);
        }
        Ok(())
    })?;
    Ok(largest)
}

type Visit<'v> = dyn FnMut(&str, &Step) -> Result<(), BuildError> + 'v;

fn for_each_access(workload: &Workload, visit: &mut Visit) -> Result<(), BuildError> {
    fn walk(user: &str, steps: &[Step], visit: &mut Visit) -> Result<(), BuildError> {
        steps.iter().try_for_each(|step| match step {
            Step::Parallel(steps) => walk(user, steps, visit),
            Step::Repeat(repeat) => walk(user, &repeat.steps, visit),
            step => visit(user, step),
        })
    }
    workload.actions.iter().try_for_each(|action| walk(&action_name(action), &action.steps, visit))
}

fn action_name(action: &Action) -> String {
    format!("action \"{}\"", action.name)
}

/// Block sizes and their weights.
fn sizes(
    workload: &Workload,
    user: &str,
    size: &Size,
) -> Result<Vec<(BlockSize, f64)>, BuildError> {
    match size {
        Size::Fixed(size) => Ok(vec![(*size, 1.0)]),
        Size::Mix(mix) => mix
            .iter()
            .map(|(text, weight)| match text.parse::<BlockSize>() {
                Ok(size) => Ok((size, *weight)),
                Err(source) => Err(BuildError::BlockSize {
                    workload: workload.name.clone(),
                    user: user.to_owned(),
                    source: Box::new(source),
                }),
            })
            .collect(),
    }
}

fn disk_id(place: usize) -> DiskId {
    DiskId(u16::try_from(place).expect("disks were counted before"))
}

fn index(length: usize) -> u32 {
    u32::try_from(length).expect("a program is far shorter than 2^32")
}
