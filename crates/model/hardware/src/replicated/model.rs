use state_machine::{IoError, Operation};
use units::{Bytes, Nanos};

use super::placement::{CopyPlace, Placement, ReplicatedParameters};
use crate::error::ParameterError;
use crate::network::Network;
use crate::part::{Component, Job, Outbox, PartId, StreamId, Ticket};
use crate::usage::{Meter, Usage};
use state_machine::Slab;

/// Counters of the parts of jobs at hosts, and of bytes between hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplicatedCounts {
    /// Parts of reads that the requesting host served itself.
    pub local_reads: u64,
    /// Parts of reads served by another host.
    pub remote_reads: u64,
    /// Copies of parts of writes that the requesting host stored itself.
    pub local_writes: u64,
    /// Copies of parts of writes on other hosts.
    pub remote_writes: u64,
    /// Bytes of data that crossed the network.
    pub network_bytes: u64,
}

/// Hosts with disks of their own that together form one storage.
///
/// A write goes to the host of every copy, over the network unless that is the requesting host. It
/// is answered when all copies are. A read goes to one copy, always the same for an address.
/// Messages without data (requests for reads, answers to writes) take the network's latency. A
/// flush is answered at once, because data is assumed to be safe as soon as the hosts have
/// answered.
///
/// Left out: checksums, rebuilding after a failure, and choosing a local copy for reads where there
/// is one (which stretched clusters do).
#[derive(Debug)]
pub struct Replicated {
    placement: Placement,
    ways: HostWays,
    /// Host of each virtual disk's virtual machine, by stream.
    homes: Vec<u32>,
    jobs: Slab<Joined>,
    children: Slab<Child>,
    /// Scratch list, empty between uses; kept so that the memory is reused.
    pieces: Vec<(CopyPlace, u32)>,
    counts: ReplicatedCounts,
    meter: Meter,
}

/// Components through which hosts are reached: their storage and the network.
#[derive(Debug)]
pub struct HostWays {
    /// Component at which each host's storage begins.
    pub entries: Vec<PartId>,
    /// [`Network`] between the hosts; `None` makes access to other hosts as fast as local access.
    pub network: Option<PartId>,
}

/// A job, with the number of its children that are not complete.
#[derive(Debug)]
struct Joined {
    job: Job,
    home: u32,
    children: u32,
    result: Result<(), IoError>,
}

/// A copy of a part of a job, from the requesting host to the storing host and back.
#[derive(Debug, Clone, Copy)]
struct Child {
    job: u32,
    held: CopyPlace,
    length: u32,
    stage: Stage,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    /// On the way to another host.
    Going,
    /// Being served by a host's storage.
    Served,
    /// On the way back.
    Returning,
}

impl Replicated {
    /// Creates hosts that share their data. `homes` has the host of each stream; streams beyond the
    /// list belong to the first host.
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    ///
    /// # Panics
    ///
    /// When a home is not a host.
    pub fn new(
        parameters: ReplicatedParameters,
        ways: HostWays,
        homes: Vec<u32>,
    ) -> Result<Self, ParameterError> {
        let hosts = u32::try_from(ways.entries.len()).unwrap_or(u32::MAX);
        let placement = Placement::new(&parameters, hosts)?;
        assert!(homes.iter().all(|home| *home < hosts), "a stream's home is one of {hosts} hosts");
        Ok(Self {
            placement,
            ways,
            homes,
            jobs: Slab::new(),
            children: Slab::new(),
            pieces: Vec::new(),
            counts: ReplicatedCounts::default(),
            meter: Meter::new(0),
        })
    }

    /// Moves the virtual machine of a stream to another host, for later requests. Its data stay
    /// where they are, so more or fewer of its I/Os cross the network. Does nothing for an unknown
    /// stream or host.
    pub fn move_home(&mut self, stream: StreamId, host: u32) {
        let is_known = (host as usize) < self.ways.entries.len();
        if let Some(home) = self.homes.get_mut(stream.0 as usize).filter(|_| is_known) {
            *home = host;
        }
    }

    /// Returns the counters since the start.
    pub const fn counts(&self) -> ReplicatedCounts {
        self.counts
    }

    /// Returns how many bytes of data fit if each host's storage has this size.
    pub fn capacity(&self, of_host: Bytes) -> Bytes {
        self.placement.capacity(of_host)
    }

    /// Calls `f(host, offset, length)` for each range of a host that a request reaches. There is no
    /// timing, so a driver can use it to warm up the hosts' caches.
    pub fn map(
        &self,
        operation: Operation,
        (offset, length): (u64, u32),
        mut f: impl FnMut(u32, u64, u32),
    ) {
        self.cut(operation, (offset, length), |held, length| f(held.host, held.offset, length));
    }

    fn cut(
        &self,
        operation: Operation,
        (mut offset, length): (u64, u32),
        mut f: impl FnMut(CopyPlace, u32),
    ) {
        let end = offset + u64::from(length);
        while offset < end {
            let piece = if operation == Operation::Read {
                let piece = self.placement.read(offset, end - offset);
                f(self.placement.read_copy(&piece), piece.length);
                piece
            } else {
                let piece = self.placement.written(offset, end - offset);
                let copies = 0..self.placement.copies();
                copies.for_each(|copy| f(self.placement.copy(&piece, copy), piece.length));
                piece
            };
            offset += u64::from(piece.length);
        }
    }

    /// Starts a child: directly at its host, or over the network.
    fn begin(&mut self, place: u32, out: &mut Outbox) {
        let child = self.children[place];
        let Joined { job, home, .. } = &mut self.jobs[child.job];
        let (operation, home) = (job.operation, *home);
        let is_remote = child.held.host != home;
        let counts = &mut self.counts;
        let count = match (operation, is_remote) {
            (Operation::Read, false) => &mut counts.local_reads,
            (Operation::Read, true) => &mut counts.remote_reads,
            (_, false) => &mut counts.local_writes,
            (_, true) => &mut counts.remote_writes,
        };
        *count += 1;
        if is_remote && self.ways.network.is_some() {
            let bytes = if operation == Operation::Write { child.length } else { 0 };
            self.send(place, (home, child.held.host), bytes, out);
        } else {
            self.serve(place, out);
        }
    }

    fn send(&mut self, place: u32, (from, to): (u32, u32), length: u32, out: &mut Outbox) {
        let network = self.ways.network.expect("the caller checked that there is one");
        let child = self.children[place];
        self.counts.network_bytes += u64::from(length);
        let job = self.jobs[child.job].job;
        let (ticket, offset) = (Ticket(place), Network::way(from, to));
        out.ask(network, Job { ticket, offset, length, ..job });
    }

    fn serve(&mut self, place: u32, out: &mut Outbox) {
        let child = &mut self.children[place];
        child.stage = Stage::Served;
        let Child { job, held, length, .. } = *child;
        let job = self.jobs[job].job;
        let (ticket, offset) = (Ticket(place), held.offset);
        out.ask(self.ways.entries[held.host as usize], Job { ticket, offset, length, ..job });
    }

    fn served(&mut self, now: Nanos, place: u32, result: Result<(), IoError>, out: &mut Outbox) {
        let child = &mut self.children[place];
        child.stage = Stage::Returning;
        let Child { job, held, length, .. } = *child;
        let joined = &mut self.jobs[job];
        joined.result = joined.result.and(result);
        if held.host == joined.home || self.ways.network.is_none() {
            return self.done(now, place, out);
        }
        let is_data = joined.job.operation == Operation::Read && result.is_ok();
        let way = (held.host, joined.home);
        self.send(place, way, if is_data { length } else { 0 }, out);
    }

    fn done(&mut self, now: Nanos, place: u32, out: &mut Outbox) {
        let Child { job: place, .. } = self.children.remove(place);
        let joined = &mut self.jobs[place];
        joined.children -= 1;
        if joined.children == 0 {
            let Joined { job, result, .. } = self.jobs.remove(place);
            self.meter.leave(now, job.length);
            out.answer(&job, result);
        }
    }
}

impl Component for Replicated {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        if job.length == 0 {
            return out.answer(&job, Ok(()));
        }
        self.meter.enter(now);
        let home = self.homes.get(job.stream.0 as usize).copied().unwrap_or(0);
        let place = self.jobs.insert(Joined { job, home, children: 0, result: Ok(()) });
        let mut pieces = std::mem::take(&mut self.pieces);
        let span = (job.offset, job.length);
        self.cut(job.operation, span, |held, length| pieces.push((held, length)));
        let count = u32::try_from(pieces.len()).expect("copies of a few pieces");
        self.jobs[place].children = count;
        for (held, length) in pieces.drain(..) {
            let child = Child { job: place, held, length, stage: Stage::Going };
            let child = self.children.insert(child);
            self.begin(child, out);
        }
        self.pieces = pieces;
    }

    fn finished(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        match self.children[ticket.0].stage {
            Stage::Going => self.serve(ticket.0, out),
            Stage::Served => self.served(now, ticket.0, result, out),
            Stage::Returning => self.done(now, ticket.0, out),
        }
    }

    fn wake(&mut self, _now: Nanos, _tag: u32, _out: &mut Outbox) {
        debug_assert!(false, "replicated hosts set no alarm");
    }

    fn usage(&self, now: Nanos) -> Usage {
        self.meter.usage(now)
    }
}
