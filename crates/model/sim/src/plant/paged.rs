use std::collections::VecDeque;
use std::sync::Arc;

use cache::Tier;
use cache::tier::{Access, Entry, HostId, Step, StepDevice, VmId, Wait};
use hardware::{Class, Component, Job, Network, Outbox, PartId, StreamId, Ticket, Usage};
use run_store::run::CopyCounts;
use state_machine::Slab;
use state_machine::{IoError, Operation};
use units::Nanos;

use super::works::{Then, Works};

/// Maximum number of requests of a host with fills in progress. At this bound, no further pages are
/// admitted, but hits are served.
///
/// Real tiers also bound this traffic, by other measures: dm-cache has `migration_threshold` (1 MiB
/// in progress by default; kernel documentation, admin-guide/device-mapper/cache), bcache bypasses
/// a congested cache device (admin-guide/bcache, `congested_read_threshold_us`), and foyer drops
/// entries when its submit queue is full. 32 is our choice: enough to keep a pool of twenty disks
/// busy, and with 64 KiB pages twice dm-cache's bound.
const FILLS_MAX: u32 = 32;

/// Maximum number of pages of a host that are being cleaned. This is our choice, to bound
/// background traffic like [`FILLS_MAX`].
const CLEANS_MAX: u32 = 16;

/// Virtual machines and virtual disks by address.
#[derive(Debug)]
pub struct Owners {
    /// Virtual machine of each stream (virtual disk).
    pub vms: Vec<u16>,
    /// First address and stream of each virtual disk, in the order of the addresses.
    pub disks: Vec<(u64, StreamId)>,
}

impl Owners {
    #[inline]
    pub fn vm(&self, stream: StreamId) -> VmId {
        VmId(self.vms.get(stream.0 as usize).copied().unwrap_or(0))
    }

    /// Finds the virtual disk that an address belongs to.
    #[inline]
    pub fn stream_at(&self, address: u64) -> StreamId {
        let place = self.disks.partition_point(|(base, _)| *base <= address);
        self.disks.get(place.saturating_sub(1)).map_or(StreamId(0), |(_, stream)| *stream)
    }
}

/// Sources of a tier's jobs. They decide how the owner of a job is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Askers {
    /// Virtual disks: the owner is the job's stream.
    Streams,
    /// A write memory in front of the tier, which writes late for all disks: the owner is found by
    /// the address.
    Anyone,
}

/// A published acceleration tier between fast parts and the storage behind them. It belongs to one
/// host or array, or is spread over hosts.
///
/// - Steps that a request waits for run in parallel. A step waits for earlier steps that it depends
///   on: steps that touch the same bytes of a device if one of the two writes, and reads of the
///   data that it writes.
/// - Background steps begin when the request is answered, unless a step of the request depends on
///   them (for example an evicted page that is read again at once).
/// - The number of fills and clean-ups in progress is bounded for each host: under overload they
///   are left out instead of piling up. A write that waits for the eviction of a dirty page waits
///   for its destage, which bounds destages.
/// - The state changes when a request arrives: a hit on a page whose fill is in progress is served
///   by the tier. Errors of background steps are ignored.
/// - A step on another host's share crosses the network: a read sends a message without bytes and
///   receives the bytes, a write sends its bytes and receives an answer without bytes.
#[derive(Debug)]
pub struct PagedPart {
    /// State of the tier; `None` only while tiers are warmed.
    pub tier: Option<Box<Tier>>,
    ways: TierWays,
    owners: Arc<Owners>,
    askers: Askers,
    hosts: Vec<Host>,
    works: Works,
    /// Steps that save dirty pages after the loss of a host, page by page, which wait for their
    /// turn.
    rescues: VecDeque<[Step; 2]>,
    /// Steps that cross the network.
    crossing: Slab<Crossing>,
    steps: Vec<Step>,
    /// Hits and misses of copy requests since they were last set to zero.
    pub copies: CopyCounts,
}

/// Parts that receive a tier's steps.
#[derive(Debug)]
pub struct TierWays {
    /// Entry of each host's share.
    pub fast: Vec<PartId>,
    /// Entry of the storage behind the tier, by host.
    pub backing: Vec<PartId>,
    /// Network between the hosts, if there are several.
    pub network: Option<PartId>,
}

/// Background work of a host that is in progress.
#[derive(Debug, Clone, Copy, Default)]
struct Host {
    fills: u32,
    cleans: u32,
}

/// Step on another host's share.
#[derive(Debug, Clone, Copy)]
struct Crossing {
    work: u32,
    step: Step,
    owner: Owner,
    stage: Stage,
    result: Result<(), IoError>,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    /// On the way to the host that has the share.
    Going,
    /// In service at the share.
    Served,
    /// On the way back.
    Returning,
}

/// Virtual disk and class of a step.
#[derive(Debug, Clone, Copy)]
struct Owner {
    stream: StreamId,
    class: Class,
}

/// Meaning of a ticket.
enum Under {
    /// Step of a work; `is_awaited` if its request waits for it.
    Work { place: u32, is_awaited: bool },
    /// Step that crosses the network.
    Crossing(u32),
}

impl Under {
    fn ticket(&self) -> Ticket {
        Ticket(match self {
            Self::Work { place, is_awaited } => place << 2 | u32::from(*is_awaited),
            Self::Crossing(place) => place << 2 | 2,
        })
    }

    fn of(ticket: Ticket) -> Self {
        let place = ticket.0 >> 2;
        if ticket.0 & 2 == 2 {
            return Self::Crossing(place);
        }
        Self::Work { place, is_awaited: ticket.0 & 1 == 1 }
    }
}

impl PagedPart {
    pub fn new(tier: Tier, ways: TierWays, owners: Arc<Owners>, askers: Askers) -> Self {
        Self {
            tier: Some(Box::new(tier)),
            hosts: vec![Host::default(); ways.fast.len()],
            ways,
            owners,
            askers,
            works: Works::new(),
            rescues: VecDeque::new(),
            crossing: Slab::new(),
            steps: Vec::new(),
            copies: CopyCounts::default(),
        }
    }

    /// Returns the number of bytes on their way to the backing storage, which are no longer dirty
    /// in the tier but not yet stored behind it.
    pub const fn cleaning(&self) -> u64 {
        self.works.cleaning
    }

    fn tier(&self) -> &Tier {
        self.tier.as_deref().expect("the tier is only absent while tiers are warmed")
    }

    fn tier_mut(&mut self) -> &mut Tier {
        self.tier.as_deref_mut().expect("the tier is only absent while tiers are warmed")
    }

    fn host(&mut self, host: HostId) -> &mut Host {
        &mut self.hosts[usize::from(host.0)]
    }

    /// Finds the part that serves a step.
    fn part(&self, step: &Step) -> PartId {
        match step.place {
            StepDevice::Share(host) => self.ways.fast[usize::from(host.0)],
            StepDevice::Backing => self.ways.backing[usize::from(step.by.0)],
        }
    }

    /// Begins the steps in `self.steps`.
    fn begin(&mut self, job: Option<Job>, host: HostId, out: &mut Outbox) {
        // Over several hosts every step's answer comes back here. Else their order would depend on
        // which steps stay on one host.
        if let ([step], Some(job), None) = (&self.steps[..], job, self.ways.network) {
            let (to, offset) = (self.part(step), step.offset);
            return out.hand_on(to, Job { offset, length: step.length, ..job });
        }
        let (place, has_background) = self.works.begin(host, job, &self.steps);
        match job {
            Some(_) => self.host(host).fills += u32::from(has_background),
            None => self.host(host).cleans += 1,
        }
        self.start_phase(place, out);
    }

    /// Begins the steps of the next phase.
    fn start_phase(&mut self, place: u32, out: &mut Outbox) {
        let (job, steps) = self.works.next_phase(place);
        for at in steps {
            let step = self.works.step(place, at);
            let is_awaited = step.wait == Wait::Request;
            let owner = match job {
                Some(Job { stream, class, .. }) if is_awaited => Owner { stream, class },
                _ => {
                    let is_destage = job.is_some()
                        && step.operation == Operation::Write
                        && step.place == StepDevice::Backing;
                    let class = if is_destage { Class::Destage } else { Class::CleanUp };
                    Owner { stream: self.owners.stream_at(step.address), class }
                }
            };
            if step.is_remote() {
                let (stage, result) = (Stage::Going, Ok(()));
                let crossing = Crossing { work: place, step, owner, stage, result };
                let crossing = self.crossing.insert(crossing);
                let is_write = step.operation == Operation::Write;
                self.send(crossing, if is_write { step.length } else { 0 }, out);
            } else {
                self.serve(&Under::Work { place, is_awaited }, &step, owner, out);
            }
        }
    }

    /// Sends a message to the host of a step's share, or back from it.
    fn send(&mut self, place: u32, length: u32, out: &mut Outbox) {
        let Crossing { step, owner: Owner { stream, class }, stage, .. } = self.crossing[place];
        let StepDevice::Share(host) = step.place else { return };
        let (from, to) = match stage {
            Stage::Returning => (host, step.by),
            Stage::Going | Stage::Served => (step.by, host),
        };
        let offset = Network::way(u32::from(from.0), u32::from(to.0));
        let to = self.ways.network.expect("hosts have a network between them");
        let (ticket, operation) = (Under::Crossing(place).ticket(), step.operation);
        out.ask(to, Job { from: to, ticket, operation, offset, length, stream, class });
    }

    fn serve(&self, under: &Under, step: &Step, owner: Owner, out: &mut Outbox) {
        let Owner { stream, class } = owner;
        let to = self.part(step);
        let Step { operation, offset, length, .. } = *step;
        let ticket = under.ticket();
        out.ask(to, Job { from: to, ticket, operation, offset, length, stream, class });
    }

    /// Moves a step on another host's share to its next stage.
    fn crossed(&mut self, place: u32, result: Result<(), IoError>, out: &mut Outbox) {
        let own = &mut self.crossing[place];
        match own.stage {
            Stage::Going => {
                own.stage = Stage::Served;
                let (step, owner) = (own.step, own.owner);
                self.serve(&Under::Crossing(place), &step, owner, out);
            }
            Stage::Served => {
                (own.stage, own.result) = (Stage::Returning, result);
                let is_data = own.step.operation == Operation::Read && result.is_ok();
                let length = if is_data { own.step.length } else { 0 };
                self.send(place, length, out);
            }
            Stage::Returning => {
                let Crossing { work, step, result, .. } = self.crossing.remove(place);
                self.done(work, step.wait == Wait::Request, result, out);
            }
        }
    }

    fn done(
        &mut self,
        place: u32,
        is_awaited: bool,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        match self.works.step_done(place, is_awaited, result, out) {
            Then::Wait => {}
            Then::NextPhase => self.start_phase(place, out),
            Then::Over { host, is_clean_up: true, .. } => {
                self.host(host).cleans -= 1;
                self.rescue(out);
                self.clean(host, out);
            }
            Then::Over { host, has_background, .. } => {
                self.host(host).fills -= u32::from(has_background);
            }
        }
    }

    /// Loses a host's share. Dirty pages that have copies, or had copies there, are written to the
    /// backing storage by other hosts, as many at once as a clean-up writes. Returns the dirty
    /// bytes that had no copy, which are lost.
    ///
    /// Steps in progress on the lost share still end in their time: nothing waits for a time-out.
    pub fn lose(&mut self, host: HostId, out: &mut Outbox) -> u64 {
        let mut steps = Vec::new();
        let tier = self.tier_mut();
        let before = tier.counters().lost_bytes;
        tier.fail(&[host], &mut steps);
        let lost = tier.counters().lost_bytes - before;
        // A page is read from a copy, and then written.
        self.rescues.extend(steps.as_chunks().0);
        self.rescue(out);
        lost
    }

    /// Begins waiting rescues while the host that carries out the next one has room.
    fn rescue(&mut self, out: &mut Outbox) {
        while let Some(steps) = self.rescues.front().copied() {
            let host = steps[0].by;
            if self.host(host).cleans >= CLEANS_MAX {
                return;
            }
            self.rescues.pop_front();
            self.steps.clear();
            self.steps.extend(steps);
            self.begin(None, host, out);
        }
    }

    /// Begins clean-ups of a host's share while the tier wants them and fewer than [`CLEANS_MAX`]
    /// pages are being cleaned.
    fn clean(&mut self, host: HostId, out: &mut Outbox) {
        while self.host(host).cleans < CLEANS_MAX && self.tier_mut().wants_cleaning(host) {
            let mut steps = std::mem::take(&mut self.steps);
            steps.clear();
            let cleaned = self.tier_mut().clean(host, 1, &mut steps);
            self.steps = steps;
            if cleaned == 0 {
                return;
            }
            self.begin(None, host, out);
        }
    }
}

impl Component for PagedPart {
    fn accept(&mut self, _now: Nanos, job: Job, out: &mut Outbox) {
        let stream = match self.askers {
            Askers::Streams => job.stream,
            Askers::Anyone => self.owners.stream_at(job.offset),
        };
        let vm = self.owners.vm(stream);
        let host = self.tier().settings_of(vm).host;
        let Job { operation, offset, length, .. } = job;
        if length == 0 && operation != Operation::Flush {
            return out.hand_on(self.ways.backing[usize::from(host.0)], job);
        }
        let entry = if self.host(host).fills < FILLS_MAX { Entry::Filtered } else { Entry::Closed };
        let mut steps = std::mem::take(&mut self.steps);
        steps.clear();
        let access = Access { vm, operation, offset, length };
        let hits = |tier: &Tier| {
            let counters = tier.counters_of(vm);
            (counters.read_hits, counters.write_hits)
        };
        let before = (job.class == Class::Copy).then(|| hits(self.tier()));
        self.tier_mut().access_while(&access, entry, &mut steps);
        if let Some(before) = before {
            let after = hits(self.tier());
            self.copies.count(operation, after != before);
        }
        self.steps = steps;
        self.begin(Some(job), host, out);
        if operation == Operation::Write {
            self.clean(host, out);
        }
    }

    fn finished(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        match Under::of(ticket) {
            Under::Work { place, is_awaited } => self.done(place, is_awaited, result, out),
            Under::Crossing(place) => self.crossed(place, result, out),
        }
    }

    fn wake(&mut self, _now: Nanos, _tag: u32, _out: &mut Outbox) {
        debug_assert!(false, "a published tier sets no alarm");
    }

    fn usage(&self, _now: Nanos) -> Usage {
        Usage::default()
    }
}
