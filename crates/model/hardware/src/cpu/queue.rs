//! One run queue for all threads of a host: ready work waits for no certain thread.
//!
//! Invariant: a virtual machine is in `waiting` exactly while it has ready work.

use std::collections::VecDeque;

use super::clock::Work;
use super::shares::{Key, Shares};

/// Ready work of a host's virtual machines.
#[derive(Debug)]
pub struct RunQueue {
    shares: Shares,
    /// Ready bursts of each virtual machine, next first, as turn number and place.
    ready: Vec<VecDeque<(i64, u32)>>,
    /// Virtual machines with ready work, unordered.
    waiting: Vec<usize>,
    /// Number of ready bursts.
    length: usize,
}

impl RunQueue {
    pub const fn new(shares: Shares) -> Self {
        Self { shares, ready: Vec::new(), waiting: Vec::new(), length: 0 }
    }

    /// Adds a virtual machine with this many virtual CPUs, at least 1.
    pub fn add_machine(&mut self, cpus: u32) {
        self.shares.add_machine(cpus);
        self.ready.push(VecDeque::new());
    }

    /// Returns the number of ready bursts.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Adds a burst of a virtual machine that needs a thread.
    pub fn push(&mut self, clock: Work, vm: usize, place: u32) {
        let turn = self.shares.ask(clock, vm);
        self.ready[vm].push_back((turn, place));
        self.joined(vm);
    }

    /// Adds a burst again that has lost its thread to the hypervisor. It is the first of its
    /// virtual machine to get a thread again.
    pub fn put_back(&mut self, clock: Work, vm: usize, place: u32) {
        let turn = self.shares.put_back(clock, vm);
        self.ready[vm].push_front((turn, place));
        self.joined(vm);
    }

    fn joined(&mut self, vm: usize) {
        self.length += 1;
        if self.ready[vm].len() == 1 {
            self.waiting.push(vm);
        }
    }

    /// Removes and returns all ready bursts of a virtual machine, next first.
    pub fn withdraw(&mut self, vm: usize) -> Vec<u32> {
        let bursts: Vec<u32> = self.ready[vm].drain(..).map(|(_, place)| place).collect();
        self.length -= bursts.len();
        self.waiting.retain(|waiting| *waiting != vm);
        bursts
    }

    /// Accounts for a burst that has left its thread.
    pub fn stop(&mut self, clock: Work, vm: usize) {
        self.shares.stop(clock, vm);
    }

    /// Removes and returns the burst that gets a free thread.
    pub fn pop(&mut self, clock: Work) -> Option<u32> {
        let at = match self.waiting.len() {
            0 => return None,
            1 => 0,
            _ => self.first_in_order(clock),
        };
        let vm = self.waiting[at];
        self.shares.start(clock, vm);
        let (_, place) = self.ready[vm].pop_front()?;
        if self.ready[vm].is_empty() {
            self.waiting.swap_remove(at);
        }
        self.length -= 1;
        Some(place)
    }

    /// Returns the position in `waiting` of the virtual machine that goes first. A host has some
    /// tens of virtual machines. Checking all waiting ones is cheaper than keeping them sorted
    /// while their passes grow.
    fn first_in_order(&mut self, clock: Work) -> usize {
        let mut best: (usize, Key) = (0, (u128::MAX, u128::MAX, i64::MAX));
        for (at, vm) in self.waiting.iter().enumerate() {
            let turn = self.ready[*vm].front().map_or(i64::MAX, |(turn, _)| *turn);
            let key = self.shares.key(clock, *vm, turn);
            if key < best.1 {
                best = (at, key);
            }
        }
        best.0
    }
}
