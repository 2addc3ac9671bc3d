use std::sync::Arc;

use cache::Tier;
use cache::tier::{Access, Entry, Place, Step, VmId, Wait};
use device::{Component, Job, Outbox, PartId, StreamId, Ticket, Usage};
use machine::{IoError, Operation};
use units::Nanos;

use super::phases::{BACKING, Order, Ordered};
use super::works::{Then, Works};

/// Requests with fills under way at most; while so many are, nothing comes in (hits go on).
///
/// Real tiers bound this traffic too, by other measures: dm-cache's `migration_threshold`
/// (1 MiB under way by default; kernel documentation, admin-guide/device-mapper/cache), bcache
/// passes a congested cache device by (admin-guide/bcache, `congested_read_threshold_us`),
/// foyer drops entries when its submit queue is full. 32 is our choice: enough to keep a pool
/// of twenty disks busy, and with 64 KiB pages twice dm-cache's bound.
pub const FILLS_MAX: u32 = 32;

/// Pages being cleaned at most; our choice, for the same reason.
pub const CLEANS_MAX: u32 = 16;

/// Whose bytes lie where.
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

    /// The virtual disk that an address belongs to.
    #[inline]
    pub fn stream_at(&self, address: u64) -> StreamId {
        let place = self.disks.partition_point(|(base, _)| *base <= address);
        self.disks.get(place.saturating_sub(1)).map_or(StreamId(0), |(_, stream)| *stream)
    }
}

/// Where a tier's jobs come from, and so how their owner is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Askers {
    /// From virtual disks: the stream says it.
    Streams,
    /// From behind a memory that writes late, for everybody: the address says it.
    Anyone,
}

/// An acceleration tier between a fast part and what is behind it.
///
/// - Steps that a request waits for run side by side, except that a step waits for earlier
///   ones it depends on: those that touch the same bytes of a device, one of them writing, and
///   reads of the data it writes.
/// - Background steps begin when the request is answered, unless a step of the request
///   depends on them (a page that leaves to be read again at once).
/// - Fills and clean-up under way are bounded, so that overload leaves them out instead of
///   letting them pile up; a write that waits for a dirty page to leave waits for its destage,
///   which bounds those.
/// - State changes when a request comes: a hit on a page whose fill is under way is served by
///   the tier. Background errors are lost.
#[derive(Debug)]
pub struct TierPart {
    /// Out only while tiers are warmed.
    pub tier: Option<Tier>,
    ways: TierWays,
    owners: Arc<Owners>,
    askers: Askers,
    works: Works<Step, ()>,
    steps: Vec<Step>,
    fills: u32,
    cleans: u32,
    /// Largest backlog seen by [`TierPart::sample`].
    pub dirty_max: u64,
}

/// Where a tier's steps go.
#[derive(Debug, Clone, Copy)]
pub struct TierWays {
    /// What the tier is made of.
    pub fast: PartId,
    /// What it is in front of.
    pub backing: PartId,
}

impl TierPart {
    pub fn new(tier: Tier, ways: TierWays, owners: Arc<Owners>, askers: Askers) -> Self {
        Self {
            tier: Some(tier),
            ways,
            owners,
            askers,
            works: Works::new(),
            steps: Vec::new(),
            fills: 0,
            cleans: 0,
            dirty_max: 0,
        }
    }

    pub fn tier(&self) -> &Tier {
        self.tier.as_ref().expect("a tier is out only while tiers are warmed")
    }

    pub fn tier_mut(&mut self) -> &mut Tier {
        self.tier.as_mut().expect("a tier is out only while tiers are warmed")
    }

    /// Notes the backlog, at the end of a second.
    pub fn sample(&mut self) {
        self.dirty_max = self.dirty_max.max(self.tier().dirty_bytes());
    }

    fn part(&self, place: Place) -> PartId {
        match place {
            Place::Tier => self.ways.fast,
            Place::Backing => self.ways.backing,
        }
    }

    /// Begins what `self.steps` asks for.
    fn begin(&mut self, job: Option<Job>, out: &mut Outbox) {
        if let ([step], Some(job)) = (&self.steps[..], job) {
            let (to, offset) = (self.part(step.place), step.offset);
            return out.hand_on(to, Job { offset, length: step.length, ..job });
        }
        let (place, has_background) = self.works.begin((), job, &self.steps);
        match job {
            Some(_) => self.fills += u32::from(has_background),
            None => self.cleans += 1,
        }
        self.start_phase(place, out);
    }

    /// Begins the steps of the next phase.
    fn start_phase(&mut self, place: u32, out: &mut Outbox) {
        let (job, steps) = self.works.next_phase(place);
        for at in steps {
            let step = self.works.step(place, at);
            let is_awaited = step.wait == Wait::Request;
            let stream = match job {
                Some(job) if is_awaited => job.stream,
                _ => self.owners.stream_at(step.address),
            };
            let to = self.part(step.place);
            let ticket = Ticket(place << 1 | u32::from(is_awaited));
            let Step { operation, offset, length, .. } = step;
            out.ask(to, Job { from: to, ticket, operation, offset, length, stream });
        }
    }

    /// Begins clean-up as far as it is wanted and there is room for it.
    fn clean(&mut self, out: &mut Outbox) {
        while self.cleans < CLEANS_MAX && self.tier_mut().wants_cleaning() {
            let mut steps = std::mem::take(&mut self.steps);
            steps.clear();
            let cleaned = self.tier_mut().clean(1, &mut steps);
            self.steps = steps;
            if cleaned == 0 {
                return;
            }
            self.begin(None, out);
        }
    }
}

impl Ordered for Step {
    fn order(&self) -> Order {
        let Self { operation, offset, address, length, wait, .. } = *self;
        let device = match self.place {
            Place::Backing => BACKING,
            Place::Tier => 0,
        };
        Order { device, operation, offset, address, length, wait }
    }
}

impl Component for TierPart {
    fn accept(&mut self, _now: Nanos, job: Job, out: &mut Outbox) {
        if job.length == 0 && job.operation != Operation::Flush {
            return out.hand_on(self.ways.backing, job);
        }
        let stream = match self.askers {
            Askers::Streams => job.stream,
            Askers::Anyone => self.owners.stream_at(job.offset),
        };
        let access = Access {
            vm: self.owners.vm(stream),
            operation: job.operation,
            offset: job.offset,
            length: job.length,
        };
        let entry = if self.fills < FILLS_MAX { Entry::Filtered } else { Entry::Closed };
        let mut steps = std::mem::take(&mut self.steps);
        steps.clear();
        self.tier_mut().access_while(&access, entry, &mut steps);
        self.steps = steps;
        self.begin(Some(job), out);
        if job.operation == Operation::Write {
            self.clean(out);
        }
    }

    fn finished(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        let (place, is_awaited) = (ticket.0 >> 1, ticket.0 & 1 == 1);
        match self.works.step_done(place, is_awaited, result, out) {
            Then::Wait => {}
            Then::NextPhase => self.start_phase(place, out),
            Then::Over { is_clean_up: true, .. } => {
                self.cleans -= 1;
                self.clean(out);
            }
            Then::Over { has_background, .. } => self.fills -= u32::from(has_background),
        }
    }

    fn wake(&mut self, _now: Nanos, _tag: u32, _out: &mut Outbox) {
        debug_assert!(false, "a tier sets no alarm");
    }

    fn usage(&self, _now: Nanos) -> Usage {
        Usage::default()
    }
}
