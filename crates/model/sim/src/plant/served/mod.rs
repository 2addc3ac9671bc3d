//! The tier that `tilemark tier` serves, as a part of a plant: the same state machine, in front of
//! modelled storage.
//!
//! What it does: hands requests to [`tier::Tier`] as the service does, and hands the state
//! machine's reads, writes and flushes to the parts that model the cache device and the backing
//! store. Sidecars are stored beside the backing store and use its time. Hits, log records,
//! destages and flushes are thus decided by the state machine that serves, not by an imitation of
//! it.
//!
//! What it leaves out: bytes, and therefore wrong checksums; processor time of the server; the
//! memory tier; copies on other hosts. The state machine gets its turn after every event, like a
//! service that never falls behind.
//!
//! A set has at most 63 disks. A tier for more disks is divided into as few equal sets as possible,
//! as an operator has to do.
//!
//! Invariants: a request is answered when the state machine has answered all pieces of it; the
//! state machine's time never goes back, even if its state continues in another plant.

mod sets;

use std::sync::Arc;

use hardware::{Class, Component, Job, Outbox, PartId, StreamId, Ticket, Usage};
use state_machine::Slab;
use state_machine::{IoError, Operation};
use tier::IoId;
use units::Nanos;

use sets::{Io, Step};
pub use sets::{Recipe, ServedDisk, Sets};

use super::paged::{Askers, Owners};

/// EIO, which is used for every error of the state machine.
const REFUSED: IoError = IoError::Os(5);

/// A served tier between the parts that model its cache device and its backing store.
#[derive(Debug)]
pub struct ServedPart {
    /// State of the tier; `None` only while tiers are warmed.
    pub sets: Option<Box<Sets>>,
    cache: PartId,
    backing: PartId,
    owners: Arc<Owners>,
    askers: Askers,
    /// Open requests, by number.
    requests: Slab<Asked>,
    /// I/Os in progress, by ticket.
    under: Slab<Under>,
    /// Time of each set's alarm, in the plant's time.
    alarms: Vec<Option<Nanos>>,
    steps: Vec<Step>,
}

/// Request that is not answered yet.
#[derive(Debug)]
struct Asked {
    job: Job,
    /// Number of pieces that are not answered yet.
    left: u32,
    result: Result<(), IoError>,
}

/// I/O of a set that is in progress.
#[derive(Debug)]
struct Under {
    set: usize,
    id: IoId,
    sums: usize,
    /// True if a flush must follow the write.
    is_durable: bool,
    to: PartId,
    stream: StreamId,
}

impl ServedPart {
    pub fn new(
        sets: Sets,
        (cache, backing): (PartId, PartId),
        owners: Arc<Owners>,
        askers: Askers,
    ) -> Self {
        Self {
            alarms: vec![None; sets.count()],
            sets: Some(Box::new(sets)),
            cache,
            backing,
            owners,
            askers,
            requests: Slab::new(),
            under: Slab::new(),
            steps: Vec::new(),
        }
    }

    fn sets(&mut self) -> &mut Sets {
        self.sets.as_mut().expect("the tier is only absent while tiers are warmed")
    }

    /// Carries out the steps of a set, and sets its alarm.
    fn carry_out(&mut self, now: Nanos, set: usize, out: &mut Outbox) {
        let mut steps = std::mem::take(&mut self.steps);
        self.sets().turn(now, set, &mut steps);
        for step in steps.drain(..) {
            match step {
                Step::Io(io) => self.begin(set, &io, out),
                Step::Answer(request, is_ok) => self.answered(request, is_ok, out),
            }
        }
        self.steps = steps;
        if let Some(at) = self.sets().wake_at(set)
            && self.alarms[set] != Some(at)
        {
            self.alarms[set] = Some(at);
            out.wake_at(at.max(now), u32::try_from(set).expect("a plant has few sets"));
        }
    }

    fn begin(&mut self, set: usize, io: &Io, out: &mut Outbox) {
        let (to, stream) = match io.disk {
            None => (self.cache, StreamId(0)),
            Some(stream) => (self.backing, stream),
        };
        let Io { id, sums, is_durable, operation, offset, length, .. } = *io;
        // All I/Os of a set are foreground: the set does not say which ones a request waits for.
        let class = Class::Foreground;
        let place = self.under.insert(Under { set, id, sums, is_durable, to, stream });
        out.ask(
            to,
            Job { from: to, ticket: Ticket(place), operation, offset, length, stream, class },
        );
    }

    fn answered(&mut self, request: u32, is_ok: bool, out: &mut Outbox) {
        let asked = &mut self.requests[request];
        asked.left -= 1;
        if !is_ok {
            asked.result = Err(REFUSED);
        }
        if asked.left == 0 {
            let Asked { job, result, .. } = self.requests.remove(request);
            out.answer(&job, result);
        }
    }
}

impl Component for ServedPart {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        let is_flush = job.operation == Operation::Flush;
        // Flushes have no address of their own.
        let stream = match self.askers {
            Askers::Streams => job.stream,
            Askers::Anyone => self.owners.stream_at(job.offset),
        };
        let found = self.sets().find(stream);
        let Some(disk) = found.filter(|_| is_flush || job.length > 0) else {
            return out.hand_on(self.backing, job);
        };
        let request = self.requests.insert(Asked { job, left: 0, result: Ok(()) });
        let mut steps = std::mem::take(&mut self.steps);
        let span = (job.operation, job.offset, job.length);
        let left = self.sets().request(now, disk, span, request, &mut steps);
        self.steps = steps;
        self.requests[request].left = left;
        self.carry_out(now, disk.set, out);
    }

    fn finished(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        let under = &mut self.under[ticket.0];
        if std::mem::take(&mut under.is_durable) && result.is_ok() {
            let (to, stream, operation) = (under.to, under.stream, Operation::Flush);
            let class = Class::Foreground;
            return out
                .ask(to, Job { from: to, ticket, operation, offset: 0, length: 0, stream, class });
        }
        let Under { set, id, sums, .. } = self.under.remove(ticket.0);
        let mut steps = std::mem::take(&mut self.steps);
        self.sets().done(now, set, id, result.is_ok().then_some(sums), &mut steps);
        self.steps = steps;
        self.carry_out(now, set, out);
    }

    fn wake(&mut self, now: Nanos, tag: u32, out: &mut Outbox) {
        let set = tag as usize;
        self.alarms[set] = None;
        let mut steps = std::mem::take(&mut self.steps);
        self.sets().tick(now, set, &mut steps);
        self.steps = steps;
        self.carry_out(now, set, out);
    }

    fn usage(&self, _now: Nanos) -> Usage {
        Usage::default()
    }
}
