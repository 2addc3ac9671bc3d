use std::collections::HashSet;

use indexmap::IndexMap;
use state_machine::RequestText;
use units::{BlockSize, Bytes, Nanos, Ratio};

use super::finding::Findings;
use crate::endpoint::Protocol;
use crate::locate::DefinitionPath;
use crate::workload::{
    Access, Address, Append, Call, Commit, Compare, Copy, Disk, Endpoint, Flush, Link, MOVE_STAGES,
    RandomTime, Reuse, SNAPSHOT_STAGES, Size, Stage, Step, Time, Workload,
};

/// Maximum excess of a sum over 100 % that is attributed to rounded percentages.
pub(super) const ROUNDING: f64 = 1e-9;
/// Maximum size of an answer to a call.
const ANSWER_MAX: Bytes = Bytes::new(16 << 20);
/// Maximum length of a call's request text, in bytes. The text is sent with every call. Our choice.
const ASK_MAX: usize = 8192;
/// Alignment of offsets, in bytes.
const PAGE: u32 = 4096;

/// Target of a kind of I/O or call: one direction on one disk, or one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kind {
    verb: &'static str,
    /// Name of the disk or endpoint.
    of: String,
}

const CALL: &str = "call";

impl Kind {
    /// Creates the kind for all I/O of one direction, on any disk.
    pub fn of_any_disk(verb: &'static str) -> Self {
        Self { verb, of: String::new() }
    }

    /// Returns true for the kind of calls to an endpoint, and false for I/O.
    pub fn is_call(&self) -> bool {
        self.verb == CALL
    }

    fn told(&self) -> String {
        let Self { verb, of } = self;
        match self.is_call() {
            true => format!("a call to endpoint \"{of}\""),
            false => format!("a {verb} on disk \"{of}\""),
        }
    }
}

/// Walk over all steps of a workload.
pub(crate) struct Steps<'a> {
    disks: Vec<&'a Disk>,
    endpoints: &'a [Endpoint],
    kinds: IndexMap<String, Kind>,
    /// True if the step is inside another step.
    is_inside: bool,
    /// True if the step is inside parallel steps or a commit.
    is_apart: bool,
    /// Names of the action's stages found so far.
    stages: HashSet<&'a str>,
}

impl<'a> Steps<'a> {
    /// Checks the steps of all actions. Returns the kinds of I/O and calls in them.
    pub fn check(workload: &'a Workload, found: &mut Findings) -> IndexMap<String, Kind> {
        let disks = workload.vms.iter().flat_map(|vm| &vm.disks).collect();
        let endpoints = &workload.endpoints[..];
        let mut walk = Self {
            disks,
            endpoints,
            kinds: IndexMap::new(),
            is_inside: false,
            is_apart: false,
            stages: HashSet::new(),
        };
        for (i, action) in workload.actions.iter().enumerate() {
            let place = DefinitionPath::default().key("action").index(i).key("steps");
            found.not_empty(place.clone(), "the list of steps", &action.steps);
            walk.stages.clear();
            walk.steps(&action.steps, &place, found);
        }
        walk.kinds
    }

    /// Checks steps that are nested in another step.
    fn inner(&mut self, steps: &'a [Step], place: &DefinitionPath, found: &mut Findings) {
        let outer = std::mem::replace(&mut self.is_inside, true);
        self.steps(steps, place, found);
        self.is_inside = outer;
    }

    /// Checks steps that are nested in parallel steps or a commit.
    fn apart(&mut self, steps: &'a [Step], place: &DefinitionPath, found: &mut Findings) {
        let outer = std::mem::replace(&mut self.is_apart, true);
        self.inner(steps, place, found);
        self.is_apart = outer;
    }

    /// Checks a group commit. In another commit, a user would hold one log and wait for another. In
    /// parallel steps, an action could fail while a part of it waits.
    fn commit(&mut self, commit: &'a Commit, place: &DefinitionPath, found: &mut Findings) {
        if self.is_apart {
            let message = "a commit must not be inside parallel steps or another commit";
            found.add(place.clone(), message);
        }
        found.names("log", [(place.key("log"), commit.log.as_str())]);
        if !commit.steps.iter().any(Step::has_io) {
            let message = "a commit needs an I/O or a call among its steps";
            found.add(place.key("steps"), message);
        }
        self.apart(&commit.steps, &place.key("steps"), found);
    }

    fn steps(&mut self, steps: &'a [Step], place: &DefinitionPath, found: &mut Findings) {
        for (i, step) in steps.iter().enumerate() {
            self.step(step, &place.index(i), found);
        }
    }

    fn step(&mut self, step: &'a Step, place: &DefinitionPath, found: &mut Findings) {
        match step {
            Step::Read(access) => {
                let place = place.key("read");
                if access.data.is_some() {
                    found.add(place.key("data"), "a read has no content of its own");
                }
                if access.durable.is_some() {
                    found.add(place.key("durable"), "a read has nothing to make durable");
                }
                self.access(access, "read", &place, found);
            }
            Step::Write(access) => self.access(access, "write", &place.key("write"), found),
            Step::Append(append) => self.append(append, &place.key("append"), found),
            Step::Flush(flush) => self.flush(flush, &place.key("flush"), found),
            Step::Call(call) => self.call(call, &place.key("call"), found),
            Step::Cpu(length) => time(length, &place.key("cpu"), found),
            Step::Wait(length) => time(length, &place.key("wait"), found),
            Step::Parallel(steps) => {
                let place = place.key("parallel");
                found.not_empty(place.clone(), "the list of parallel steps", steps);
                self.apart(steps, &place, found);
            }
            Step::Commit(commit) => self.commit(commit, &place.key("commit"), found),
            Step::Repeat(repeat) => {
                let place = place.key("repeat");
                found.at_least_one(place.key("times"), "the number of repeats", repeat.times);
                found.not_empty(place.key("steps"), "the list of repeated steps", &repeat.steps);
                self.inner(&repeat.steps, &place.key("steps"), found);
            }
            Step::Copy(copy) => self.copy(copy, &place.key("copy"), found),
            Step::Stage(stage) => self.stage(stage, &place.key("stage"), found),
            Step::Move(one) => {
                let place = place.key("move");
                self.times_of_its_own(&place, &MOVE_STAGES, found);
                many(one.size, one.outstanding, &place, found);
            }
            Step::Link(link) => {
                let place = place.key("link");
                self.kind(None, "link", &link.to, &place, found);
                self.pair([&link.from, &link.to], "linked to", &place, found);
                self.one_file_system(link, &place, found);
            }
            Step::Destroy(destroy) => {
                let place = place.key("destroy");
                self.kind(None, "destroy", &destroy.disk, &place, found);
                self.disk(&destroy.disk, &place, found);
            }
            Step::Check(compare) => self.compare(compare, &place.key("check"), found),
            Step::Snapshot(one) => {
                let place = place.key("snapshot");
                self.times_of_its_own(&place, &SNAPSHOT_STAGES, found);
                if one.keep == Nanos::ZERO {
                    found.add(
                        place.key("keep"),
                        "a snapshot is kept for 0 s, but must be kept longer",
                    );
                }
            }
        }
    }

    fn stage(&mut self, stage: &'a Stage, place: &DefinitionPath, found: &mut Findings) {
        found.says_something(place.key("name"), "the stage's name", &stage.name);
        self.times_of_its_own(place, &[&stage.name], found);
        found.not_empty(place.key("steps"), "the list of the stage's steps", &stage.steps);
        self.inner(&stage.steps, &place.key("steps"), found);
    }

    /// Checks stages: they are not nested, and their names are unique.
    fn times_of_its_own(
        &mut self,
        place: &DefinitionPath,
        names: &[&'a str],
        found: &mut Findings,
    ) {
        if self.is_inside {
            found.add(
                place.clone(),
                "a stage must be a step of the action itself, not inside another step",
            );
        }
        for name in names {
            if !self.stages.insert(name) {
                found.add(place.clone(), format!("the action already has a stage \"{name}\""));
            }
        }
    }

    fn copy(&mut self, copy: &Copy, place: &DefinitionPath, found: &mut Findings) {
        many(copy.size, copy.outstanding, place, found);
        self.kind(None, "copy-read", &copy.from, place, found);
        self.kind(None, "copy-write", &copy.to, place, found);
        self.pair([&copy.from, &copy.to], "copied onto", place, found);
    }

    fn compare(&mut self, compare: &Compare, place: &DefinitionPath, found: &mut Findings) {
        block_size(compare.size, place, found);
        found.at_least_one(place.key("blocks"), "the number of blocks", compare.blocks);
        for disk in [&compare.from, &compare.to] {
            self.kind(None, "check", disk, place, found);
        }
        self.pair([&compare.from, &compare.to], "compared with", place, found);
    }

    /// Checks that two disks have equal size.
    fn pair(
        &self,
        [from, to]: [&str; 2],
        done: &str,
        place: &DefinitionPath,
        found: &mut Findings,
    ) {
        let known: Vec<&str> = self.disks.iter().map(|disk| disk.name.as_str()).collect();
        let size_of = |name| self.disks.iter().find(|disk| disk.name == name).map(|disk| disk.size);
        found.known(place.key("from"), "disk", from, &known);
        found.known(place.key("to"), "disk", to, &known);
        if from == to {
            found.add(place.key("to"), format!("a disk is not {done} itself"));
        } else if let (Some(of), Some(other)) = (size_of(from), size_of(to))
            && of != other
        {
            let message = format!("{from} has {of} and {to} has {other}");
            found.add_help(place.key("to"), message, "a copy must be as large as its source");
        }
    }

    /// Checks that two disks are on the same file system, because blocks can only be shared within
    /// one.
    fn one_file_system(&self, link: &Link, place: &DefinitionPath, found: &mut Findings) {
        let on = |name: &str| self.disks.iter().find(|disk| disk.name == name).map(|disk| disk.on);
        if on(&link.from) != on(&link.to) {
            let message = format!("{} and {} are on different datastores", link.from, link.to);
            found.add_help(place.key("to"), message, "disks share blocks within one file system");
        }
    }

    fn access(
        &mut self,
        access: &Access,
        verb: &'static str,
        place: &DefinitionPath,
        found: &mut Findings,
    ) {
        found.at_least_one(place.key("count"), "the count", access.count);
        self.kind(access.kind.as_deref(), verb, &access.disk, place, found);
        let largest = size(&access.size, &place.key("size"), found);
        let disk = self.disk(&access.disk, place, found);
        address(&access.address, &place.key("address"), found);
        let share = region(&access.address);
        room(disk, share, largest, place, found);
    }

    fn append(&mut self, append: &Append, place: &DefinitionPath, found: &mut Findings) {
        found.at_least_one(place.key("count"), "the count", append.count);
        self.kind(append.kind.as_deref(), "append", &append.disk, place, found);
        let largest = size(&append.size, &place.key("size"), found);
        let disk = self.disk(&append.disk, place, found);
        room(disk, 1.0, largest, place, found);
    }

    fn flush(&mut self, flush: &Flush, place: &DefinitionPath, found: &mut Findings) {
        self.kind(flush.kind.as_deref(), "flush", &flush.disk, place, found);
        self.disk(&flush.disk, place, found);
    }

    fn call(&mut self, call: &Call, place: &DefinitionPath, found: &mut Findings) {
        found.at_least_one(place.key("count"), "the count", call.count);
        if call.size == Bytes::ZERO || call.size > ANSWER_MAX {
            let message = format!("the size {} is not from 1 B to {ANSWER_MAX}", call.size);
            found.add(place.key("size"), message);
        }
        let names: Vec<&str> = self.endpoints.iter().map(|own| own.name.as_str()).collect();
        found.known(place.key("endpoint"), "endpoint", &call.endpoint, &names);
        let endpoint = self.endpoints.iter().find(|own| own.name == call.endpoint);
        let protocol = endpoint.map(|own| own.protocol);
        let why = match &call.ask {
            None => protocol.and_then(Protocol::refuses_silence).map(str::to_owned),
            Some(text) if text.len() > ASK_MAX => Some("it is longer than 8192 bytes".to_owned()),
            Some(text) => match RequestText::parse(text) {
                Ok(read) => protocol.and_then(|own| own.refuses(&read)).map(str::to_owned),
                Err(error) => Some(error.to_string()),
            },
        };
        if let Some(why) = why {
            found.add(place.key("ask"), format!("the request is invalid: {why}"));
        }
        self.kind(call.kind.as_deref(), CALL, &call.endpoint, place, found);
    }

    fn disk(&self, name: &str, place: &DefinitionPath, found: &mut Findings) -> Option<&'a Disk> {
        let known: Vec<&str> = self.disks.iter().map(|disk| disk.name.as_str()).collect();
        found.known(place.key("disk"), "disk", name, &known);
        self.disks.iter().find(|disk| disk.name == name).copied()
    }

    fn kind(
        &mut self,
        name: Option<&str>,
        verb: &'static str,
        of: &str,
        place: &DefinitionPath,
        found: &mut Findings,
    ) {
        let name = name.map_or_else(|| format!("{of}-{verb}"), str::to_owned);
        let here = Kind { verb, of: of.to_owned() };
        let first = self.kinds.entry(name.clone()).or_insert_with(|| here.clone());
        if *first != here {
            found.add_help(
                place.key("kind"),
                format!("kind \"{name}\" is {} elsewhere, but {} here", first.told(), here.told()),
                "a kind of I/O is one direction on one disk; give this one another name",
            );
        }
    }
}

/// Maximum size of an I/O of a copy, also in the engine.
const COPY_MAX: BlockSize = BlockSize::MIB;

/// Checks the size of a copy's I/Os, and the number of outstanding I/Os.
fn many(size: BlockSize, outstanding: u32, place: &DefinitionPath, found: &mut Findings) {
    block_size(size, place, found);
    if !(1..=64).contains(&outstanding) {
        found.add(place.key("outstanding"), format!("{outstanding} is not from 1 to 64"));
    }
}

fn block_size(size: BlockSize, place: &DefinitionPath, found: &mut Findings) {
    if size.get() < PAGE || size > COPY_MAX || !size.get().is_power_of_two() {
        let message = format!("the size {size} is not a power of two from 4 KiB to {COPY_MAX}");
        found.add(place.key("size"), message);
    }
}

/// Checks that the bounds of a random time are in order.
pub(super) fn time(time: &Time, place: &DefinitionPath, found: &mut Findings) {
    if let Time::Random(RandomTime::Uniform(low, high)) = time
        && low > high
    {
        let message = format!("the lower bound {low} is above the upper bound {high}");
        found.add(place.key("uniform").index(0), message);
    }
}

/// Checks block sizes. Returns the largest valid one.
fn size(size: &Size, place: &DefinitionPath, found: &mut Findings) -> Option<BlockSize> {
    let Size::Mix(mix) = size else { return largest(size) };
    if mix.is_empty() {
        found.add(place.clone(), "the mix of block sizes is empty");
    }
    let mut seen = HashSet::new();
    for key in mix.keys() {
        match key.parse::<BlockSize>() {
            Err(error) => found.add(place.at_key(key), error.to_string()),
            Ok(block) if !seen.insert(block) => {
                found.add(place.at_key(key), format!("the block size {block} comes twice"));
            }
            Ok(_) => {}
        }
    }
    if !mix.is_empty() {
        found.weights(place.clone(), mix.iter().map(|(key, weight)| (place.key(key), *weight)));
    }
    largest(size)
}

/// Returns the block sizes with their weights. Invalid keys are left out.
pub(crate) fn size_mix(size: &Size) -> Vec<(BlockSize, f64)> {
    match size {
        Size::Fixed(block) => vec![(*block, 1.0)],
        Size::Mix(mix) => mix
            .iter()
            .filter_map(|(key, weight)| key.parse().ok().map(|block| (block, *weight)))
            .collect(),
    }
}

fn largest(size: &Size) -> Option<BlockSize> {
    size_mix(size).into_iter().map(|(block, _)| block).max()
}

fn address(address: &Address, place: &DefinitionPath, found: &mut Findings) {
    match address {
        Address::Uniform | Address::Mixed(_) | Address::ReuseWalk(_) => {}
        Address::Zipf(zipf) => {
            if !(0.0..=3.0).contains(&zipf.exponent) {
                let message = format!("the exponent {} is outside 0 to 3", zipf.exponent);
                found.add(place.key("zipf").key("exponent"), message);
            }
        }
        Address::Hot(spots) => hot(spots, &place.key("hot"), found),
        Address::Sequential(sequential) => {
            let place = place.key("sequential").key("streams");
            found.at_least_one(place, "the number of streams", sequential.streams);
        }
        Address::Drift(drift) => {
            let place = place.key("drift");
            if drift.working_set == Ratio::ZERO {
                found.add(place.key("working-set"), "the working set is 0% and must be above 0%");
            }
            if drift.turnover == Nanos::ZERO {
                found.add(place.key("turnover"), "the turnover is 0 and must be above 0");
            }
        }
        Address::Reuse(reuse) => self::reuse(reuse, &place.key("reuse"), found),
        Address::Within(within) => {
            let place = place.key("within");
            let end = within.start.get() + within.length.get();
            if end > 1.0 + ROUNDING {
                found.add(
                    place.key("length"),
                    format!(
                        "start {} and length {} end after the end of the disk, at {}",
                        within.start,
                        within.length,
                        percent(end)
                    ),
                );
            }
            if within.length == Ratio::ZERO {
                found.add(place.key("length"), "the length is 0% and must be above 0%");
            }
            self::address(&within.address, &place.key("address"), found);
        }
    }
}

fn hot(spots: &[crate::workload::HotSpot], place: &DefinitionPath, found: &mut Findings) {
    found.not_empty(place.clone(), "the list of hot spots", spots);
    let io: f64 = spots.iter().map(|spot| spot.io.get()).sum();
    let space: f64 = spots.iter().map(|spot| spot.space.get()).sum();
    if io > 1.0 + ROUNDING {
        found.add(place.clone(), format!("the hot spots take {} of the I/O", percent(io)));
    }
    if space > 1.0 + ROUNDING {
        found.add(place.clone(), format!("the hot spots take {} of the disk", percent(space)));
    }
    if io < 1.0 - ROUNDING && (1.0 - ROUNDING..=1.0 + ROUNDING).contains(&space) {
        found.add(
            place.clone(),
            format!("the hot spots leave no space for the other {} of the I/O", percent(1.0 - io)),
        );
    }
    for (i, spot) in spots.iter().enumerate() {
        if spot.space == Ratio::ZERO {
            found.add(place.index(i).key("space"), "the space is 0% and must be above 0%");
        }
    }
}

fn reuse(reuse: &Reuse, place: &DefinitionPath, found: &mut Findings) {
    let page = reuse.page.get();
    if !page.is_power_of_two() || !(4096..=1 << 20).contains(&page) {
        found.add(
            place.key("page"),
            format!("the page {} is not a power of two from 4 KiB to 1 MiB", reuse.page),
        );
    }
    if let Some(run) = reuse.run.filter(|run| !(1.0..=1e9).contains(run)) {
        found.add(place.key("run"), format!("the run {run} is not from 1 to 1000000000"));
    }
    let io: f64 = reuse.again.iter().map(|again| again.io.get()).sum();
    if io > 1.0 + ROUNDING {
        found.add(place.key("again"), format!("the shares take {} of the I/O", percent(io)));
    }
    let mut before = Ratio::ZERO;
    for (i, again) in reuse.again.iter().enumerate() {
        if again.within <= before {
            let message = format!("{} is not above {before}, the entry before", again.within);
            found.add(place.key("again").index(i).key("within"), message);
        }
        before = again.within;
    }
    let place = place.key("misaligned");
    for (i, places) in reuse.misaligned.iter().enumerate() {
        if places.by.get() >= PAGE {
            let message =
                format!("{} is not below 4 KiB, but must be an offset within 4 KiB", places.by);
            found.add(place.index(i).key("by"), message);
        }
        if reuse.misaligned[..i].iter().any(|before| before.by == places.by) {
            found.add(place.index(i).key("by"), format!("{} comes twice", places.by));
        }
    }
    let io: f64 = reuse.misaligned.iter().map(|places| places.io.get()).sum();
    if io > 1.0 + ROUNDING {
        found.add(place, format!("the shares take {} of the places", percent(io)));
    }
}

pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns the share of the disk that an address distribution can reach.
pub(super) fn region(address: &Address) -> f64 {
    match address {
        Address::Within(within) => within.length.get() * region(&within.address),
        _ => 1.0,
    }
}

/// Checks that the largest block fits the reachable part of the disk at full size.
fn room(
    disk: Option<&Disk>,
    share: f64,
    largest: Option<BlockSize>,
    place: &DefinitionPath,
    found: &mut Findings,
) {
    let (Some(disk), Some(block)) = (disk, largest) else { return };
    let room: Bytes = disk.size.scale(share);
    if room < block.bytes() {
        found.add(
            place.key("size"),
            format!(
                "a block of {block} does not fit into {room}, its part of disk \"{}\"",
                disk.name
            ),
        );
    }
}
