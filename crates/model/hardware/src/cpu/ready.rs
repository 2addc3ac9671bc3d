//! Bursts of virtual CPUs that are ready to run: one queue for all threads, or one for each.

use units::Nanos;

use super::parameters::CpuParameters;
use super::queue::RunQueue;
use super::shares::Shares;
use super::threads::{Moment, ThreadQueues};

/// Ready work of a host, in either form of queue.
#[derive(Debug)]
pub enum Ready {
    /// One queue for all threads.
    One(RunQueue),
    /// A queue for each thread.
    Each(Box<ThreadQueues>),
}

impl Ready {
    pub fn new(parameters: &CpuParameters) -> Self {
        let shares = Shares::new(parameters.order, parameters.slice);
        match parameters.thread_queues {
            None => Self::One(RunQueue::new(shares)),
            Some(own) => {
                let threads = parameters.threads_max() as usize;
                Self::Each(Box::new(ThreadQueues::new(own, shares, threads)))
            }
        }
    }

    /// Adds a virtual machine with this many virtual CPUs, at least 1.
    pub fn add_machine(&mut self, cpus: u32) {
        match self {
            Self::One(queue) => queue.add_machine(cpus),
            Self::Each(queues) => queues.add_machine(cpus),
        }
    }

    /// Returns the number of bursts that wait for a thread.
    pub const fn len(&self) -> usize {
        match self {
            Self::One(queue) => queue.len(),
            Self::Each(queues) => queues.len(),
        }
    }

    /// Adds a burst of a virtual machine that has an idle virtual CPU.
    pub fn push(&mut self, at: Moment, vm: usize, place: u32) {
        match self {
            Self::One(queue) => queue.push(at.clock, vm, place),
            Self::Each(queues) => queues.push(at, vm, place),
        }
    }

    /// Takes a burst off its thread whose time slice is over, and adds it again.
    pub fn requeue(&mut self, at: Moment, vm: usize, place: u32) {
        match self {
            Self::One(queue) => {
                queue.stop(at.clock, vm);
                queue.push(at.clock, vm, place);
            }
            Self::Each(queues) => queues.requeue(at, place),
        }
    }

    /// Takes a burst off its thread that the hypervisor interrupts, and adds it again.
    pub fn put_back(&mut self, at: Moment, vm: usize, place: u32) {
        match self {
            Self::One(queue) => queue.put_back(at.clock, vm, place),
            Self::Each(queues) => queues.put_back(at, place),
        }
    }

    /// Takes a burst off its thread that does not come back.
    pub fn finish(&mut self, at: Moment, vm: usize, place: u32) {
        match self {
            Self::One(queue) => queue.stop(at.clock, vm),
            Self::Each(queues) => queues.finish(at, place),
        }
    }

    /// Gives a free thread to work of the hypervisor.
    pub fn seize(&mut self, place: u32) {
        if let Self::Each(queues) = self {
            queues.seize(place);
        }
    }

    /// Takes work of the hypervisor off its thread.
    pub fn release(&mut self, place: u32) {
        if let Self::Each(queues) = self {
            queues.release(place);
        }
    }

    /// Removes and returns all bursts of a virtual machine that are not on a thread, next first.
    pub fn withdraw(&mut self, at: Moment, vm: usize) -> Vec<u32> {
        match self {
            Self::One(queue) => queue.withdraw(vm),
            Self::Each(queues) => queues.withdraw(at, vm),
        }
    }

    /// Removes and returns the burst that gets a free thread.
    pub fn pop(&mut self, at: Moment) -> Option<u32> {
        match self {
            Self::One(queue) => queue.pop(at.clock),
            Self::Each(queues) => queues.pop(at),
        }
    }

    /// Returns the time at which queues are next compared with each other.
    pub fn next_turn(&self, now: Nanos) -> Option<Nanos> {
        match self {
            Self::One(_) => None,
            Self::Each(queues) => queues.next_turn(now),
        }
    }
}
