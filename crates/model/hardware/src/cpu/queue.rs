//! The run queue of a host: whose work gets the next free thread.
//!
//! Hypervisors share a host's cores in proportion: each virtual machine is entitled to a part,
//! and of those with work the one that is furthest behind its part goes first ("The CPU
//! Scheduler in VMware vSphere 5.1", VMware 2013, section on the proportional-share algorithm:
//! the less a world has used of what it is entitled to, the higher its priority; Xen's credit
//! scheduler and Linux' fair ones do the same in their ways). This is modelled as stride
//! scheduling (Waldspurger and Weihl, MIT/LCS/TM-528, 1995; after their lottery scheduling, OSDI
//! 1994):
//!
//! - A virtual machine's *pass* is the work its virtual CPUs have done, divided by its shares.
//!   Shares are its number of virtual CPUs: the setting "normal" of vSphere (1000 for each).
//! - A free thread goes to the virtual machine with ready work whose pass is least; of equal ones
//!   to that with least of its share running, then to the first that asked. The work of one
//!   virtual machine goes in its order.
//! - Virtual time is the largest pass a virtual machine had when it was given a thread, as in
//!   start-time fair queueing (Goyal, Guo and Vin, OSDI 1996, section 3). A virtual machine that
//!   wants a thread again is never further behind it than one slice for each virtual CPU. So one
//!   that uses less than its part goes first when it wakes, and none that slept for long keeps the
//!   others waiting for long.
//!
//! Left out: reservations, limits and shares other than the number of virtual CPUs; moving the
//! virtual CPUs of a virtual machine forward together (ESX relaxed that rule from version 3 on, see
//! the paper). A virtual machine that wakes does not take the thread of a running one: it waits for
//! the first to end its burst or its slice. Passes count work rather than time, so that who shares
//! a core pays for what it got.
//!
//! The alternative, strict turns, is kept to show what shares do.
//!
//! Invariant: a virtual machine is in `waiting` exactly while it has ready work.

use std::collections::VecDeque;

use units::Nanos;

use super::clock::{Work, work};
use super::parameters::RunOrder;

/// Work done, divided by shares, in parts of 2^-20.
type Pass = u128;

/// Amount that a virtual machine with one share adds to its pass for each unit of work ("stride1"
/// of TM-528).
const STRIDE_OF_ONE: u32 = 1 << 20;

/// Ready work of a host's virtual machines.
#[derive(Debug)]
pub struct RunQueue {
    order: RunOrder,
    accounts: Vec<Account>,
    /// Virtual machines with ready work, in no order.
    waiting: Vec<usize>,
    /// Bursts that are ready.
    length: usize,
    virtual_time: Pass,
    /// Most that a virtual machine may be behind virtual time when it asks for a thread.
    credit_max: Pass,
    /// Turns of those who came last, and of those who were put back first.
    last: i64,
    first: i64,
}

#[derive(Debug)]
struct Account {
    stride: u32,
    pass: Pass,
    /// Up to what the clock showed here its running bursts are in the pass.
    since: Work,
    running: u32,
    /// Ready bursts of the virtual machine, next first: the turn and the place of each.
    ready: VecDeque<(i64, u32)>,
}

impl RunQueue {
    pub fn new(order: RunOrder, slice: Nanos) -> Self {
        Self {
            order,
            accounts: Vec::new(),
            waiting: Vec::new(),
            length: 0,
            virtual_time: 0,
            credit_max: work(slice) * Pass::from(STRIDE_OF_ONE),
            last: 0,
            first: 0,
        }
    }

    /// Adds the next virtual machine, with this many virtual CPUs, at least 1.
    pub fn add_machine(&mut self, cpus: u32) {
        let stride = (STRIDE_OF_ONE / cpus).max(1);
        let ready = VecDeque::new();
        self.accounts.push(Account { stride, pass: 0, since: 0, running: 0, ready });
    }

    /// Number of bursts that are ready.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Takes in a burst of a virtual machine that wants a thread.
    pub fn push(&mut self, clock: Work, vm: usize, place: u32) {
        self.last += 1;
        let floor = self.virtual_time.saturating_sub(self.credit_max);
        let account = &mut self.accounts[vm];
        account.charge(clock);
        account.pass = account.pass.max(floor);
        account.ready.push_back((self.last, place));
        self.joined(vm);
    }

    /// Takes back a burst that has lost its thread to the hypervisor: it is the first of its
    /// virtual machine to get one again.
    pub fn put_back(&mut self, clock: Work, vm: usize, place: u32) {
        self.first -= 1;
        self.stop(clock, vm);
        self.accounts[vm].ready.push_front((self.first, place));
        self.joined(vm);
    }

    fn joined(&mut self, vm: usize) {
        self.length += 1;
        if self.accounts[vm].ready.len() == 1 {
            self.waiting.push(vm);
        }
    }

    /// A burst has left its thread.
    pub fn stop(&mut self, clock: Work, vm: usize) {
        let account = &mut self.accounts[vm];
        account.charge(clock);
        account.running -= 1;
    }

    /// The burst that gets a free thread.
    pub fn pop(&mut self, clock: Work) -> Option<u32> {
        let at = match self.waiting.len() {
            0 => return None,
            1 => 0,
            _ => self.first_in_order(clock),
        };
        let vm = self.waiting[at];
        let account = &mut self.accounts[vm];
        account.charge(clock);
        account.running += 1;
        self.virtual_time = self.virtual_time.max(account.pass);
        let (_, place) = account.ready.pop_front()?;
        if account.ready.is_empty() {
            self.waiting.swap_remove(at);
        }
        self.length -= 1;
        Some(place)
    }

    /// Position in `waiting` of the virtual machine that goes first. A host has some tens of them:
    /// to look at all that wait is cheaper than to keep them sorted while their passes grow.
    fn first_in_order(&mut self, clock: Work) -> usize {
        let mut best = (0, (Pass::MAX, u128::MAX, i64::MAX));
        for (at, vm) in self.waiting.iter().enumerate() {
            let account = &mut self.accounts[*vm];
            let turn = account.ready.front().map_or(i64::MAX, |(turn, _)| *turn);
            let key = match self.order {
                RunOrder::Turns => (0, 0, turn),
                RunOrder::Shares => {
                    account.charge(clock);
                    (account.pass, u128::from(account.running) * u128::from(account.stride), turn)
                }
            };
            if key < best.1 {
                best = (at, key);
            }
        }
        best.0
    }
}

impl Account {
    /// Adds what its running bursts have done. All threads go at one pace, that of the clock.
    fn charge(&mut self, clock: Work) {
        if self.running > 0 {
            let done = (clock - self.since) * u128::from(self.running);
            self.pass += done * u128::from(self.stride);
        }
        self.since = clock;
    }
}
