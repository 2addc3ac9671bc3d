use std::sync::Arc;

use cache::cluster::{Cluster, ClusterCounters, ClusterPlace, ClusterStep, HostId};
use cache::tier::{Access, Counters, Entry, Wait};
use device::{Component, Job, Network, Outbox, PartId, Slab, StreamId, Ticket, Usage};
use machine::{IoError, Operation};
use units::Nanos;

use super::facts::Held;
use super::phases::{BACKING, Order, Ordered};
use super::tier_part::{CLEANS_MAX, FILLS_MAX, Owners};
use super::works::{Then, Works};

/// A tier that is spread over the hosts: each has a share, reads what others hold and keeps
/// copies of what others write.
///
/// - A step on another host's share crosses the network: a read as a message without bytes
///   there and its bytes back, a write with its bytes there and an answer without bytes.
/// - Order and bounds of steps are those of the tier of one host ([`super::tier_part`]), the
///   bounds for each host.
/// - Clean-up goes by the watermarks, for each host.
#[derive(Debug)]
pub struct ClusterPart {
    /// Out only while tiers are warmed.
    pub cluster: Option<Cluster>,
    ways: ClusterWays,
    owners: Arc<Owners>,
    marks: Marks,
    hosts: Vec<Host>,
    works: Works<ClusterStep, HostId>,
    running: Slab<Running>,
    steps: Vec<ClusterStep>,
    /// Largest backlog seen by [`ClusterPart::sample`].
    pub dirty_max: u64,
}

/// Where steps go.
#[derive(Debug)]
pub struct ClusterWays {
    /// What each host's share is made of.
    pub shares: Vec<PartId>,
    /// Each host's way to what is behind the cluster.
    pub backing: Vec<PartId>,
    /// The network between the hosts.
    pub network: PartId,
}

/// Percent of a share's pages that are dirty when clean-up starts, and when it ends.
#[derive(Debug, Clone, Copy)]
pub struct Marks {
    pub high: u8,
    pub low: u8,
}

/// What is under way for a host.
#[derive(Debug, Clone, Copy, Default)]
struct Host {
    fills: u32,
    cleans: u32,
    is_cleaning: bool,
}

/// A step under way.
#[derive(Debug, Clone, Copy)]
struct Running {
    work: u32,
    step: ClusterStep,
    stream: StreamId,
    stage: Stage,
    result: Result<(), IoError>,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    /// On the way to another host.
    Going,
    /// In a share or in the store.
    Served,
    /// On the way back.
    Returning,
}

impl Ordered for ClusterStep {
    fn order(&self) -> Order {
        let Self { operation, offset, address, length, wait, .. } = *self;
        let device = match self.place {
            ClusterPlace::Backing => BACKING,
            ClusterPlace::Share(host) => u32::from(host.0),
        };
        Order { device, operation, offset, address, length, wait }
    }
}

impl ClusterPart {
    pub fn new(cluster: Cluster, ways: ClusterWays, owners: Arc<Owners>, marks: Marks) -> Self {
        Self {
            cluster: Some(cluster),
            hosts: vec![Host::default(); ways.shares.len()],
            ways,
            owners,
            marks,
            works: Works::new(),
            running: Slab::new(),
            steps: Vec::new(),
            dirty_max: 0,
        }
    }

    pub fn cluster(&self) -> &Cluster {
        self.cluster.as_ref().expect("a cluster is out only while tiers are warmed")
    }

    pub fn cluster_mut(&mut self) -> &mut Cluster {
        self.cluster.as_mut().expect("a cluster is out only while tiers are warmed")
    }

    /// Notes the backlog, at the end of a second.
    pub fn sample(&mut self) {
        self.dirty_max = self.dirty_max.max(self.cluster().dirty_bytes_of_all());
    }

    /// State of all shares together.
    pub fn held(&self) -> Held {
        let (capacity_bytes, resident_bytes) = room(self.cluster());
        let (dirty_bytes, dirty_bytes_max) = (self.cluster().dirty_bytes_of_all(), self.dirty_max);
        Held { capacity_bytes, resident_bytes, dirty_bytes, dirty_bytes_max }
    }

    fn host(&mut self, host: HostId) -> &mut Host {
        &mut self.hosts[usize::from(host.0)]
    }

    /// Begins what `self.steps` asks for.
    fn begin(&mut self, job: Option<Job>, host: HostId, out: &mut Outbox) {
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
            let stream = match job {
                Some(job) if step.wait == Wait::Request => job.stream,
                _ => self.owners.stream_at(step.address),
            };
            let (stage, result) = (Stage::Going, Ok(()));
            let running = Running { work: place, step, stream, stage, result };
            let running = self.running.insert(running);
            match step.place {
                ClusterPlace::Share(host) if step.is_remote() => {
                    let bytes = if step.operation == Operation::Write { step.length } else { 0 };
                    self.send(running, (step.by, host), bytes, out);
                }
                _ => self.serve(running, out),
            }
        }
    }

    fn send(&mut self, place: u32, (from, to): (HostId, HostId), length: u32, out: &mut Outbox) {
        let offset = Network::way(u32::from(from.0), u32::from(to.0));
        self.ask(place, self.ways.network, (offset, length), out);
    }

    fn serve(&mut self, place: u32, out: &mut Outbox) {
        let running = self.running.get_mut(place);
        running.stage = Stage::Served;
        let ClusterStep { place: of, by, offset, length, .. } = running.step;
        let to = match of {
            ClusterPlace::Share(host) => self.ways.shares[usize::from(host.0)],
            ClusterPlace::Backing => self.ways.backing[usize::from(by.0)],
        };
        self.ask(place, to, (offset, length), out);
    }

    fn ask(&mut self, place: u32, to: PartId, (offset, length): (u64, u32), out: &mut Outbox) {
        let Running { step, stream, .. } = *self.running.get_mut(place);
        let (ticket, operation) = (Ticket(place), step.operation);
        out.ask(to, Job { from: to, ticket, operation, offset, length, stream });
    }

    fn served(&mut self, place: u32, result: Result<(), IoError>, out: &mut Outbox) {
        let running = self.running.get_mut(place);
        running.stage = Stage::Returning;
        running.result = result;
        let step = running.step;
        match step.place {
            ClusterPlace::Share(host) if step.is_remote() => {
                let is_data = step.operation == Operation::Read && result.is_ok();
                self.send(place, (host, step.by), if is_data { step.length } else { 0 }, out);
            }
            _ => self.done(place, out),
        }
    }

    fn done(&mut self, running: u32, out: &mut Outbox) {
        let Running { work: place, step, result, .. } = self.running.remove(running);
        match self.works.step_done(place, step.wait == Wait::Request, result, out) {
            Then::Wait => {}
            Then::NextPhase => self.start_phase(place, out),
            Then::Over { key, is_clean_up: true, .. } => {
                self.host(key).cleans -= 1;
                self.clean(key, out);
            }
            Then::Over { key, has_background, .. } => {
                self.host(key).fills -= u32::from(has_background);
            }
        }
    }

    /// Begins clean-up of a host's share as far as it is wanted and there is room for it.
    fn clean(&mut self, host: HostId, out: &mut Outbox) {
        while self.host(host).cleans < CLEANS_MAX && self.wants_cleaning(host) {
            let mut steps = std::mem::take(&mut self.steps);
            steps.clear();
            let cleaned = self.cluster_mut().destage(host, 1, &mut steps);
            self.steps = steps;
            if cleaned == 0 {
                return;
            }
            self.begin(None, host, out);
        }
    }

    fn wants_cleaning(&mut self, host: HostId) -> bool {
        let Marks { high, low } = self.marks;
        let percent = if self.host(host).is_cleaning { low } else { high };
        let cluster = self.cluster();
        let pages = cluster.share_pages(host) as u64 * u64::from(percent) / 100;
        let limit = pages * u64::from(cluster.config().page_bytes);
        let is_cleaning = cluster.dirty_bytes(host) > limit;
        self.host(host).is_cleaning = is_cleaning;
        is_cleaning
    }
}

impl Component for ClusterPart {
    fn accept(&mut self, _now: Nanos, job: Job, out: &mut Outbox) {
        let vm = self.owners.vm(job.stream);
        let host = self.cluster().settings_of(vm).host;
        if job.length == 0 && job.operation != Operation::Flush {
            return out.hand_on(self.ways.backing[usize::from(host.0)], job);
        }
        let Job { operation, offset, length, .. } = job;
        let is_open = self.host(host).fills < FILLS_MAX;
        let entry = if is_open { Entry::Filtered } else { Entry::Closed };
        let mut steps = std::mem::take(&mut self.steps);
        steps.clear();
        let access = Access { vm, operation, offset, length };
        self.cluster_mut().access_while(&access, entry, &mut steps);
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
        match self.running.get_mut(ticket.0).stage {
            Stage::Going => self.serve(ticket.0, out),
            Stage::Served => self.served(ticket.0, result, out),
            Stage::Returning => self.done(ticket.0, out),
        }
    }

    fn wake(&mut self, _now: Nanos, _tag: u32, _out: &mut Outbox) {
        debug_assert!(false, "a cluster sets no alarm");
    }

    fn usage(&self, _now: Nanos) -> Usage {
        Usage::default()
    }
}

/// Bytes that the shares of a cluster hold, and of pages in them.
pub fn room(cluster: &Cluster) -> (u64, u64) {
    let hosts = 0..cluster.config().shares_bytes.len();
    let hosts = hosts.map(|host| HostId(u16::try_from(host).expect("hosts are few")));
    let resident = hosts.map(|host| cluster.resident_bytes(host)).sum();
    (cluster.config().shares_bytes.iter().sum(), resident)
}

/// What a cluster counted, in the words of a tier: hits are those of all shares.
pub fn as_tier(counters: &ClusterCounters) -> Counters {
    let read_hit_bytes = counters.read_local_bytes + counters.read_remote_bytes;
    Counters {
        reads: counters.reads,
        read_hits: counters.reads_local + counters.reads_remote,
        read_bytes: read_hit_bytes + counters.read_backing_bytes,
        read_hit_bytes,
        writes: counters.writes,
        write_hits: counters.write_hits,
        write_bytes: counters.write_bytes,
        write_hit_bytes: counters.write_hit_bytes,
        writes_absorbed: counters.writes_absorbed,
        filled_bytes: counters.filled_bytes,
        placed_bytes: counters.placed_bytes,
        evicted_bytes: counters.evicted_bytes,
        destaged_bytes: counters.destaged_bytes,
        tier_written_bytes: counters.share_written_bytes,
        ..Counters::default()
    }
}
