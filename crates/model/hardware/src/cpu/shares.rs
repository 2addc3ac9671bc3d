//! Shares of virtual machines in a host's cores: the order in which ready work gets a thread.
//!
//! Hypervisors share a host's cores in proportion. Each virtual machine is entitled to a part, and
//! of those with work the one that is furthest behind its part goes first ("The CPU Scheduler in
//! VMware vSphere 5.1", VMware 2013, section on the proportional-share algorithm: the less a world
//! has used of what it is entitled to, the higher its priority; Xen's credit scheduler and Linux'
//! fair ones are similar). This is modelled as stride scheduling (Waldspurger and Weihl,
//! MIT/LCS/TM-528, 1995; after their lottery scheduling, OSDI 1994):
//!
//! - A virtual machine's *pass* is the work its virtual CPUs have done, divided by its shares.
//!   Shares are its number of virtual CPUs: the setting "normal" of vSphere (1000 for each).
//! - A free thread goes to the virtual machine with ready work and the smallest pass; of equal ones
//!   to the one with the least of its share running, then to the first that asked. Bursts of one
//!   virtual machine run in their own order.
//! - Virtual time is the largest pass that a virtual machine had when it was given a thread, as in
//!   start-time fair queueing (Goyal, Guo and Vin, OSDI 1996, section 3). A virtual machine that
//!   asks for a thread is never further behind virtual time than one time slice for each virtual
//!   CPU. So a virtual machine that uses less than its part goes first when it wakes, but after a
//!   long sleep it does not block the others for long.
//!
//! Left out: reservations, limits and shares other than the number of virtual CPUs. A virtual
//! machine that wakes does not take the thread of a running one: it waits for the first to end its
//! burst or its time slice. Passes count work rather than time, so a virtual machine on a shared
//! core pays only for the work it got done.
//!
//! The alternative, strict turns, is kept to show the effect of shares.

use units::Nanos;

use super::clock::{Work, work};
use super::parameters::RunOrder;

/// Work done, divided by shares, in units of 2^-20.
type Pass = u128;

/// Position of ready work in the order; the smallest key goes first.
pub type Key = (Pass, u128, i64);

/// Amount that a virtual machine with one share adds to its pass for each unit of work ("stride1"
/// of TM-528).
const STRIDE_OF_ONE: u32 = 1 << 20;

/// Passes of a host's virtual machines.
#[derive(Debug)]
pub struct Shares {
    order: RunOrder,
    accounts: Vec<Account>,
    virtual_time: Pass,
    /// Maximum by which a virtual machine may be behind virtual time when it asks for a thread.
    credit_max: Pass,
    /// Turn number of the burst that came last; `first` is the turn number of the last burst that
    /// was put back.
    last: i64,
    first: i64,
}

#[derive(Debug)]
struct Account {
    stride: u32,
    pass: Pass,
    /// Value of the clock up to which the work of running bursts is included in the pass.
    since: Work,
    running: u32,
}

impl Shares {
    pub fn new(order: RunOrder, slice: Nanos) -> Self {
        Self {
            order,
            accounts: Vec::new(),
            virtual_time: 0,
            credit_max: work(slice) * Pass::from(STRIDE_OF_ONE),
            last: 0,
            first: 0,
        }
    }

    /// Adds a virtual machine with this many virtual CPUs, at least 1.
    pub fn add_machine(&mut self, cpus: u32) {
        let stride = (STRIDE_OF_ONE / cpus).max(1);
        self.accounts.push(Account { stride, pass: 0, since: 0, running: 0 });
    }

    /// Accounts for a burst that asks for a thread, and returns its turn number.
    pub fn ask(&mut self, clock: Work, vm: usize) -> i64 {
        self.last += 1;
        let floor = self.virtual_time.saturating_sub(self.credit_max);
        let account = &mut self.accounts[vm];
        account.charge(clock);
        account.pass = account.pass.max(floor);
        self.last
    }

    /// Accounts for a burst that has lost its thread to the hypervisor. Its turn number, which is
    /// returned, is below 0: of its virtual machine it is the first to get a thread again.
    pub fn put_back(&mut self, clock: Work, vm: usize) -> i64 {
        self.first -= 1;
        self.stop(clock, vm);
        self.first
    }

    /// Accounts for a burst that gets a thread.
    pub fn start(&mut self, clock: Work, vm: usize) {
        let account = &mut self.accounts[vm];
        account.charge(clock);
        account.running += 1;
        self.virtual_time = self.virtual_time.max(account.pass);
    }

    /// Accounts for a burst that has left its thread.
    pub fn stop(&mut self, clock: Work, vm: usize) {
        let account = &mut self.accounts[vm];
        account.charge(clock);
        account.running -= 1;
    }

    /// Returns the position in the order of a burst with this turn number.
    pub fn key(&mut self, clock: Work, vm: usize, turn: i64) -> Key {
        match self.order {
            RunOrder::Turns => (0, 0, turn),
            RunOrder::Shares => {
                let account = &mut self.accounts[vm];
                account.charge(clock);
                (account.pass, u128::from(account.running) * u128::from(account.stride), turn)
            }
        }
    }
}

impl Account {
    /// Adds the work of the running bursts. All threads run at the clock's pace.
    fn charge(&mut self, clock: Work) {
        if self.running > 0 {
            let done = (clock - self.since) * u128::from(self.running);
            self.pass += done * u128::from(self.stride);
        }
        self.since = clock;
    }
}
