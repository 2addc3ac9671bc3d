//! Moves of virtual machines between the hosts and pools of a plant, pauses and losses of hosts.
//!
//! What it does: carries out the events of a plan ([`spec::events`]) in virtual time. A live
//! migration copies memory over the network between the hosts, stops the virtual machine for the
//! rest, and continues it on the other host. The content of tiers stays where it is. A storage
//! migration copies the disks to another pool. After the loss of a host its virtual machines restart
//! on the others.
//!
//! What it refuses ([`check_events`]): unknown hosts and pools, moves that would leave acknowledged
//! writes behind, and losses of hosts whose own disks are the storage. It does not decide what is
//! measured.
//!
//! Invariants: every request and every burst of a stopped virtual machine waits, and is carried out
//! once after it continues; without events and without `hosts.drs` nothing here runs.

mod check;
mod context;
mod courier;
mod course;
mod disks;
mod drs;
mod live;
mod loss;
mod vm;

use std::collections::VecDeque;

use hardware::{PartId, Site, Ticket};
use run_store::run::StepEvent;
use spec::array::{Array, Drs};
use spec::events::{EventKind, PlannedEvent, Restart, in_order};
use state_machine::{CpuBurst, IoError, IoRequest};
use units::Nanos;

pub use check::{check_events, host_names};
use context::WaitingWork;
pub use context::{DiskExtent, MovableDisk, MoveContext};
pub use courier::Courier;
use courier::Due;
pub use disks::DiskCopier;
use live::PreCopy;
use vm::InFlight;
pub use vm::MovableVm;

use super::host;
use super::plan::PlantError;

/// Events of a plan's hosts.
#[derive(Debug, Clone, Copy)]
pub struct HostEvents<'a> {
    /// Events, with times since the start of the measurement.
    pub events: &'a [PlannedEvent],
    /// Restart of a lost host's virtual machines.
    pub restart: Option<Restart>,
}

/// Event of a host that has happened.
#[derive(Debug, Clone, PartialEq)]
pub struct PlantEvent {
    /// The event, with times since the start of the run.
    pub event: StepEvent,
    /// Tiles of the affected virtual machines, ascending.
    pub affected: Vec<u32>,
}

/// Maximum number of migrations of a host at the same time, up to this rate of the network and
/// above it: 4 on 1 Gbit/s and 8 on 10 Gbit/s Ethernet ("vCenter Server and Host Management",
/// VMware vSphere 5.0 to 6.7, limits on simultaneous migrations).
const AT_ONCE: (f64, u32, u32) = (125e6, 4, 8);

/// Moves in progress, and the state of the hosts.
#[derive(Debug)]
pub struct Moves {
    /// Part that sends memory and keeps the times.
    pub courier: PartId,
    /// Part that copies disks.
    pub copier: PartId,
    /// Names of the array's pools.
    pools: Vec<String>,
    planned: Vec<PlannedEvent>,
    restart: Option<Restart>,
    hosts: Vec<HostState>,
    vms: Vec<MovableVm>,
    /// Position of the first virtual machine of each instance in `vms`.
    first_vms: Vec<usize>,
    memory: MemoryRates,
    at_once_max: u32,
    drs: Option<Drs>,
    /// Time of the last balancing.
    balanced: Nanos,
    orders: VecDeque<Order>,
    migrations: Vec<Migration>,
    /// Meaning of the numbers of times that were set.
    times: Vec<Time>,
    events: Vec<OngoingEvent>,
    in_flight: Option<InFlight>,
}

/// Memory of virtual machines for each virtual CPU, in bytes, and bytes that change per second.
#[derive(Debug, Clone, Copy)]
pub struct MemoryRates {
    size: u64,
    dirtied: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct HostState {
    is_lost: bool,
    is_drained: bool,
    /// End of a pause.
    paused_until: Option<Nanos>,
    /// Places for migrations that are taken: one for a migration of memory, four for one with
    /// disks.
    migrations: u32,
}

impl HostState {
    /// Returns true if virtual machines run on the host.
    const fn runs(&self) -> bool {
        !self.is_lost && self.paused_until.is_none()
    }
}

/// Order to move a virtual machine, which waits for its turn.
#[derive(Debug, Clone, Copy)]
struct Order {
    vm: usize,
    to: usize,
    /// Pool that its disks move to, as a position in the array's list.
    pool: Option<usize>,
    event_at: usize,
}

/// Migration of a running virtual machine: of its disks, its memory or both.
#[derive(Debug)]
struct Migration {
    order: Order,
    from: usize,
    began: Nanos,
    copy: PreCopy,
    disk_bytes: u64,
    /// Hosts whose migrations it counts for, and as how many.
    taken: (Vec<usize>, u32),
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The disk at this position is copied.
    Disk(usize),
    /// Memory is copied while the virtual machine runs.
    Copying,
    /// The virtual machine is stopped since this time, and the rest is copied.
    Stopped(Nanos),
    /// Done, or given up because a host was lost.
    Over,
}

/// Meaning of a time that has come.
#[derive(Debug, Clone, Copy)]
enum Time {
    Planned(usize),
    /// The migration with this number is complete.
    Switched(u32),
    /// The pause of an event ends.
    PauseOver(usize),
    /// The loss of an event is noticed.
    Noticed(usize),
    /// The virtual machines that an event has lost restart.
    Restart(usize),
    /// The load of the hosts is balanced.
    Balance,
}

/// Event with the number of orders that are not carried out yet.
#[derive(Debug)]
struct OngoingEvent {
    own: PlantEvent,
    open: usize,
}

impl Moves {
    /// Creates the moves of a plant whose virtual machines are `vms`, in the order of the
    /// instances, and whose hosts have a network of this rate between them.
    ///
    /// # Errors
    ///
    /// If an event is impossible with the array, or names an unknown host.
    pub fn new(
        (array, events): (&Array, &HostEvents<'_>),
        vms: Vec<MovableVm>,
        ([courier, copier], rate): ([PartId; 2], f64),
    ) -> Result<Self, PlantError> {
        let hosts = check_events(array, events)?;
        let mut first_vms = Vec::new();
        for (at, vm) in vms.iter().enumerate() {
            first_vms.resize((vm.of.0 + 1).max(first_vms.len()), at);
        }
        let is_lossy = events.events.iter().any(|event| event.kind == EventKind::LoseHost);
        let own = hosts.migration.clone().unwrap_or_default();
        Ok(Self {
            courier,
            copier,
            pools: array.pools.iter().map(|pool| pool.name.clone()).collect(),
            planned: in_order(events.events).into_iter().map(|(_, own)| own.clone()).collect(),
            restart: events.restart,
            hosts: (0..hosts.count).map(|_| HostState::default()).collect(),
            vms,
            first_vms,
            memory: MemoryRates { size: own.memory.get(), dirtied: own.dirtied.as_f64() },
            at_once_max: if rate > AT_ONCE.0 { AT_ONCE.2 } else { AT_ONCE.1 },
            drs: hosts.drs.clone(),
            balanced: Nanos::ZERO,
            orders: VecDeque::new(),
            migrations: Vec::new(),
            times: Vec::new(),
            events: Vec::new(),
            in_flight: is_lossy.then(InFlight::default),
        })
    }

    /// Returns the events so far, in the order in which they began.
    pub fn events(&self) -> Vec<PlantEvent> {
        self.events.iter().map(|own| own.own.clone()).collect()
    }

    /// Begins the measurement, from which the times of events count.
    pub fn begin(&mut self, context: &mut MoveContext<'_>) {
        for at in 0..self.planned.len() {
            let due = context.now.saturating_add(self.planned[at].at);
            self.set_time(due, Time::Planned(at), context);
        }
        self.balanced = context.now;
        if let Some(drs) = &self.drs {
            let due = context.now.saturating_add(drs.every);
            self.set_time(due, Time::Balance, context);
        }
    }

    /// Handles a new request. Returns true if it must wait, because its virtual machine is stopped.
    pub fn holds_request(&mut self, site: &Site, of: (usize, Ticket), request: &IoRequest) -> bool {
        let vm = site.vm_of_disk((of.0, usize::from(request.disk.0)));
        if let Some(stop) = self.stop_of(of.0, vm) {
            stop.waiting.push(WaitingWork::Request(of, *request));
            return true;
        }
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.sent(of, request);
        }
        false
    }

    /// Handles a new burst. Returns true if it must wait, because its virtual machine is stopped.
    pub fn holds_burst(&mut self, instance: usize, burst: &CpuBurst) -> bool {
        let Some(stop) = self.stop_of(instance, usize::from(burst.vm)) else { return false };
        stop.waiting.push(WaitingWork::Burst(instance, *burst));
        true
    }

    fn stop_of(&mut self, instance: usize, vm: usize) -> Option<&mut vm::Stop> {
        let first = *self.first_vms.get(instance)?;
        let own = self.vms.get_mut(first + vm).filter(|own| own.of == (instance, vm))?;
        own.stop.as_mut()
    }

    /// Handles what is due, after every event of the plant.
    pub fn carry_on(&mut self, context: &mut MoveContext<'_>) {
        loop {
            let courier = context.site.array.part_mut::<Courier>(self.courier);
            let due = courier.map(Courier::take_due).unwrap_or_default();
            let copier = context.site.array.part_mut::<DiskCopier>(self.copier);
            let copied = copier.map(DiskCopier::take_due).unwrap_or_default();
            if due.is_empty() && copied.is_empty() {
                return;
            }
            copied.into_iter().for_each(|number| self.disk_copied(number, context));
            for due in due {
                match due {
                    Due::Time(number) => self.time_came(self.times[number as usize], context),
                    Due::Sent(number) => self.sent(number, context),
                }
            }
        }
    }

    /// Removes answers that nobody waits for.
    pub fn answered(&mut self, done: &mut Vec<(Nanos, Ticket, Result<(), IoError>)>) {
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.answered(done);
        }
    }

    fn set_time(&mut self, at: Nanos, time: Time, context: &mut MoveContext<'_>) {
        let number = u32::try_from(self.times.len()).expect("fewer than 2^32 times");
        self.times.push(time);
        context.wake_at(at, number);
    }

    /// Carries out work that waited for its virtual machine.
    fn release(&mut self, waiting: Vec<WaitingWork>, context: &mut MoveContext<'_>) {
        if let Some(in_flight) = &mut self.in_flight {
            for one in &waiting {
                if let WaitingWork::Request(of, request) = one {
                    in_flight.sent(*of, request);
                }
            }
        }
        context.release(waiting);
    }
}

impl MemoryRates {
    fn copy_of(self, now: Nanos, cpus: u32) -> (PreCopy, u64) {
        let memory = self.size.saturating_mul(u64::from(cpus));
        (PreCopy::new(now, memory, self.dirtied * f64::from(cpus)), memory)
    }
}
