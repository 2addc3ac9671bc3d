use std::collections::BTreeMap;

use cache::tier::VmId;
use hardware::{Suspended, Ticket};
use state_machine::{IoError, IoRequest};
use units::Nanos;

use super::context::{DiskExtent, MovableDisk, MoveContext, WaitingWork};

/// Virtual machine that can move between hosts.
#[derive(Debug)]
pub struct MovableVm {
    /// Instance, and position in the instance.
    pub of: (usize, usize),
    pub id: VmId,
    pub tile: u32,
    pub name: String,
    pub cpus: u32,
    pub disks: Vec<MovableDisk>,
    /// Host on which the virtual machine runs.
    pub host: usize,
    /// Time at which the virtual machine began to run there.
    pub arrived: Nanos,
    /// Host on which the virtual machine will run after all orders so far.
    pub goal: usize,
    pub stop: Option<Stop>,
    /// Start and end of each pause of its host. A plan has none that overlap.
    pub pauses: Vec<(Nanos, Nanos)>,
    /// Number of the migration in progress.
    pub migration: Option<u32>,
}

/// State of a stopped virtual machine.
#[derive(Debug, Default)]
pub struct Stop {
    pub suspended: Suspended,
    /// Work that was asked for since, which waits.
    pub waiting: Vec<WaitingWork>,
    /// End of a pause of the whole host.
    pub paused_until: Option<Nanos>,
    /// Event by which the virtual machine lost its host.
    pub lost_by: Option<usize>,
}

impl MovableVm {
    /// Stops the virtual machine, unless it is stopped already.
    pub fn stop(&mut self, context: &mut MoveContext<'_>) -> &mut Stop {
        self.stop
            .get_or_insert_with(|| Stop { suspended: context.suspend(self.of), ..Stop::default() })
    }

    /// Stops the virtual machine until the end of its host's pause.
    pub fn pause(&mut self, until: Nanos, context: &mut MoveContext<'_>) {
        self.stop(context).paused_until = Some(until);
        self.pauses.push((context.now, until));
    }

    /// Continues the stopped virtual machine on a host. Returns the work that has waited.
    pub fn resume(&mut self, host: usize, context: &mut MoveContext<'_>) -> Vec<WaitingWork> {
        let Some(Stop { suspended, waiting, .. }) = self.stop.take() else { return Vec::new() };
        if self.host != host {
            self.arrived = context.now;
        }
        (self.host, self.goal) = (host, host);
        context.resume((self.of, self.id), (host, suspended), &self.disks);
        waiting
    }

    /// Returns the first disk, from a position on, that is not in this pool, with its place there.
    pub fn disk_for(&self, pool: Option<usize>, from: usize) -> Option<(usize, DiskExtent)> {
        let pool = pool?;
        (from..self.disks.len()).find_map(|at| {
            let own = &self.disks[at];
            let extent = own.elsewhere.iter().find(|extent| extent.pool == pool)?;
            Some((at, extent.clone()))
        })
    }

    /// Exchanges the present places of the disks for those in a pool.
    pub fn change_pool(&mut self, pool: Option<usize>) {
        for own in &mut self.disks {
            let is_it = |extent: &&mut DiskExtent| Some(extent.pool) == pool;
            if let Some(extent) = own.elsewhere.iter_mut().find(is_it) {
                std::mem::swap(extent, &mut own.place);
            }
        }
    }

    /// Continues the stopped virtual machine on its present host.
    pub fn resume_here(&mut self, context: &mut MoveContext<'_>) -> Vec<WaitingWork> {
        let goal = self.goal;
        let waiting = self.resume(self.host, context);
        self.goal = goal;
        waiting
    }

    pub fn is_lost(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.lost_by.is_some())
    }

    pub fn is_paused(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.paused_until.is_some())
    }
}

/// Requests that are in the plant. They are only recorded if a host may be lost, because its
/// virtual machines then send them again.
#[derive(Debug, Default)]
pub struct InFlight {
    requests: BTreeMap<u32, (usize, IoRequest)>,
    /// Number of answers to each ticket that nobody waits for any more.
    unwanted: BTreeMap<u32, u32>,
}

impl InFlight {
    pub fn sent(&mut self, (instance, ticket): (usize, Ticket), request: &IoRequest) {
        self.requests.insert(ticket.0, (instance, *request));
    }

    /// Removes answers that nobody waits for, and records the others.
    pub fn answered(&mut self, done: &mut Vec<(Nanos, Ticket, Result<(), IoError>)>) {
        done.retain(|(_, ticket, _)| {
            let Some(count) = self.unwanted.get_mut(&ticket.0) else {
                self.requests.remove(&ticket.0);
                return true;
            };
            *count -= 1;
            if *count == 0 {
                self.unwanted.remove(&ticket.0);
            }
            false
        });
    }

    /// Takes out the requests that `is_lost` is true for, and those of `never_answered`, to be sent
    /// again. Answers to the former are unwanted.
    pub fn lose(
        &mut self,
        never_answered: &[Ticket],
        is_lost: impl Fn(usize, &IoRequest) -> bool,
    ) -> Vec<((usize, Ticket), IoRequest)> {
        let lost = |(ticket, (instance, request)): &(&u32, &(usize, IoRequest))| {
            is_lost(*instance, request) || never_answered.contains(&Ticket(**ticket))
        };
        let lost: Vec<u32> = self.requests.iter().filter(lost).map(|(ticket, _)| *ticket).collect();
        let mut again = Vec::with_capacity(lost.len());
        for number in lost {
            let ticket = Ticket(number);
            if !never_answered.contains(&ticket) {
                *self.unwanted.entry(number).or_insert(0) += 1;
            }
            again.extend(self.requests.remove(&number).map(|(at, own)| ((at, ticket), own)));
        }
        again
    }
}
