//! A run queue for each thread of a host, as ESXi schedules virtual CPUs.
//!
//! A virtual CPU prefers the thread on which it ran last, because the caches of that thread's core
//! hold its data. So it may wait while another thread is free, which one queue for all threads
//! never shows. Three rules move virtual CPUs:
//!
//! | rule | when | source |
//! |---|---|---|
//! | push | a virtual CPU wakes, and its last thread is busy: it goes to a free thread | (a), (b) `Cpu.WakeupMigrateIdlePcpus`: looks at 4 others |
//! | pull | a thread has nothing left to run: it takes a virtual CPU that waits for another thread | (a), (b) `Cpu.PcpuMigrateIdlePcpus`: looks at 4 others |
//! | rebalance | at an interval, a thread takes a virtual CPU from a queue that is longer by two or more | (b) `Cpu.L3RebalancePeriod` 20 ms, `Cpu.FairnessRebalancePcpus` 4; (c) "every 2 to 40 ms" |
//!
//! - (a) "The CPU Scheduler in VMware vSphere 5.1", VMware 2013, section on load balancing.
//! - (b) Advanced settings of ESXi 6 with their defaults and descriptions, as a host lists them.
//! - (c) "vSphere Resource Management", VMware, section on hyperthreading.
//!
//! The virtual CPUs of one virtual machine are co-scheduled loosely ((a), section on relaxed
//! co-scheduling). A virtual CPU makes progress while it runs. If one is ahead of the slowest
//! sibling by more than 3 ms (`Cpu.CoschedCostopThreshold`), it is stopped and hands its thread to
//! that sibling (`Cpu.CoschedHandoffLLC`). It may run again when it is ahead by at most 2 ms
//! (`Cpu.CoschedCostartThreshold`). Skew is checked once in 1 ms (`Cpu.CoschedPollUsec`). Idle
//! virtual CPUs accumulate no skew (VMware performance blog, June 2008, on multiprocessor virtual
//! machines in ESX): one that wakes begins level with its slowest sibling.
//!
//! Our choices, where no source is known:
//!
//! - Threads to look at are taken in turn around the host; ESXi weighs caches and neighbours.
//! - There is one interval of rebalancing, that of a shared L3 cache, for the whole host.
//! - A guest gives new work to the virtual CPU that has been idle longest, because guests give
//!   threads ideal processors in turn.
//! - Work of the hypervisor runs on any free thread, and otherwise interrupts a virtual CPU, which
//!   goes on first on the same thread.
//!
//! Within a queue the order is that of [`Shares`]. All running threads have the same pace
//! ([`CpuParameters`](super::CpuParameters)), so it does not matter which two share a core.
//!
//! Invariants: a virtual CPU with work is in one queue, on one thread, or stopped; a thread that is
//! free while its own queue is not empty is in `unsettled`.

mod cosched;

use std::collections::VecDeque;

use units::Nanos;

use super::clock::Work;
use super::parameters::ThreadQueueParameters;
use super::shares::Shares;

/// A time, and the value of the work clock at that time.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub now: Nanos,
    pub clock: Work,
}

/// Run queues of a host's threads.
#[derive(Debug)]
pub struct ThreadQueues {
    parameters: ThreadQueueParameters,
    shares: Shares,
    threads: Vec<Thread>,
    machines: Vec<Machine>,
    /// Position of each burst that waits, runs or is stopped, by its place.
    bursts: Vec<Position>,
    /// Threads that became free or got work, and look for their next burst.
    unsettled: VecDeque<usize>,
    /// Number of threads that run a burst.
    busy: usize,
    /// Number of waiting bursts; the second number counts those of virtual machines with several
    /// virtual CPUs.
    waiting: usize,
    waiting_with_siblings: usize,
    /// Number of stopped virtual CPUs.
    stopped: usize,
    /// Thread at which the next search begins.
    search_from: usize,
}

#[derive(Debug, Default)]
struct Thread {
    is_busy: bool,
    waiting: Vec<Waiting>,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    vm: usize,
    cpu: usize,
    place: u32,
    turn: i64,
    /// True if it goes first, whatever its share: it was interrupted here, or a sibling handed it
    /// this thread.
    is_next: bool,
}

/// Virtual CPUs of a virtual machine, and the number of them in each state.
#[derive(Debug)]
struct Machine {
    cpus: Vec<VirtualCpu>,
    waiting: usize,
    running: usize,
    stopped: usize,
}

#[derive(Debug, Clone, Copy)]
struct VirtualCpu {
    /// Thread on which it runs, waits, or ran last.
    thread: usize,
    state: State,
    /// Time of the last change of state.
    since: Nanos,
    /// Time that it has run; comparable only among siblings that have work.
    progress: Nanos,
    /// Burst that it works on, unless it is idle.
    place: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Waiting,
    Running,
    Stopped,
}

/// Where a burst is. Work of the hypervisor has a thread only.
#[derive(Debug, Clone, Copy, Default)]
struct Position {
    vm: usize,
    cpu: usize,
    thread: usize,
}

impl ThreadQueues {
    pub fn new(parameters: ThreadQueueParameters, shares: Shares, threads: usize) -> Self {
        Self {
            parameters,
            shares,
            threads: (0..threads).map(|_| Thread::default()).collect(),
            machines: Vec::new(),
            bursts: Vec::new(),
            unsettled: VecDeque::new(),
            busy: 0,
            waiting: 0,
            waiting_with_siblings: 0,
            stopped: 0,
            search_from: 0,
        }
    }

    /// Adds a virtual machine with this many virtual CPUs, at least 1. Their first threads are
    /// those after the ones of the virtual machine before.
    pub fn add_machine(&mut self, cpus: u32) {
        self.shares.add_machine(cpus);
        let cpu = |thread| VirtualCpu {
            thread,
            state: State::Idle,
            since: Nanos::ZERO,
            progress: Nanos::ZERO,
            place: 0,
        };
        let cpus = (0..cpus).map(|_| cpu(self.next_thread())).collect();
        self.machines.push(Machine { cpus, waiting: 0, running: 0, stopped: 0 });
    }

    /// Returns the number of waiting bursts.
    pub const fn len(&self) -> usize {
        self.waiting
    }

    /// Returns the time of the next rebalancing or check of leads; `None` while neither can change
    /// anything.
    pub fn next_turn(&self, now: Nanos) -> Option<Nanos> {
        let own = &self.parameters;
        let has_skew = self.waiting_with_siblings > 0 || self.stopped > 0;
        let check = (has_skew && own.co_stop > Nanos::ZERO).then_some(own.check);
        let rebalance = (self.waiting > 0).then_some(own.rebalance);
        check.into_iter().chain(rebalance).map(|every| Nanos((now.0 / every.0 + 1) * every.0)).min()
    }

    /// Gives a burst to an idle virtual CPU of its virtual machine, which then waits for a thread.
    /// At least one virtual CPU must be idle.
    pub fn push(&mut self, at: Moment, vm: usize, place: u32) {
        let turn = self.shares.ask(at.clock, vm);
        let machine = &mut self.machines[vm];
        let slowest = machine.slowest(at.now);
        let idle = machine.cpus.iter().enumerate().filter(|(_, cpu)| cpu.state == State::Idle);
        let longest = idle.min_by_key(|(_, cpu)| cpu.since);
        let (cpu, own) = longest.map_or((0, machine.cpus[0]), |(cpu, own)| (cpu, *own));
        machine.cpus[cpu] = VirtualCpu { place, progress: slowest, ..own };
        self.wake(at, Waiting { vm, cpu, place, turn, is_next: false });
    }

    /// Makes a virtual CPU whose time slice is over wait for the same thread.
    pub fn requeue(&mut self, at: Moment, place: u32) {
        let Position { vm, cpu, thread } = self.bursts[index(place)];
        self.leave_thread(at, place);
        self.shares.stop(at.clock, vm);
        let turn = self.shares.ask(at.clock, vm);
        self.enqueue(at, thread, Waiting { vm, cpu, place, turn, is_next: false });
    }

    /// Makes a virtual CPU that was interrupted by the hypervisor wait for the same thread.
    pub fn put_back(&mut self, at: Moment, place: u32) {
        let Position { vm, cpu, thread } = self.bursts[index(place)];
        self.leave_thread(at, place);
        let turn = self.shares.put_back(at.clock, vm);
        self.enqueue(at, thread, Waiting { vm, cpu, place, turn, is_next: true });
    }

    /// Accounts for a burst of a virtual machine that leaves its thread for good: its virtual CPU
    /// becomes idle.
    pub fn finish(&mut self, at: Moment, place: u32) {
        let Position { vm, cpu, .. } = self.bursts[index(place)];
        self.leave_thread(at, place);
        self.shares.stop(at.clock, vm);
        self.machines[vm].change(at.now, cpu, State::Idle);
    }

    /// Gives a free thread, which must exist, to work of the hypervisor. A thread without waiting
    /// virtual CPUs is preferred.
    pub fn seize(&mut self, place: u32) {
        let count = self.threads.len();
        let around = (0..count).map(|step| (self.search_from + step) % count);
        let free = around.clone().find(|thread| self.is_idle(*thread));
        let mut free = free.into_iter().chain(around.filter(|at| !self.threads[*at].is_busy));
        let Some(thread) = free.next() else { return };
        self.occupy(thread, place, Position { thread, ..Position::default() });
    }

    /// Accounts for work of the hypervisor that has left its thread.
    pub fn release(&mut self, place: u32) {
        self.free_thread(self.bursts[index(place)].thread);
    }

    /// Removes and returns all bursts of a virtual machine that wait or are stopped, next first.
    pub fn withdraw(&mut self, at: Moment, vm: usize) -> Vec<u32> {
        let mut found: Vec<Waiting> = Vec::new();
        for thread in &mut self.threads {
            found.extend(thread.waiting.iter().filter(|waiting| waiting.vm == vm));
            thread.waiting.retain(|waiting| waiting.vm != vm);
        }
        found.sort_unstable_by_key(|waiting| waiting.turn);
        let mut places: Vec<u32> = found.iter().map(|waiting| waiting.place).collect();
        self.forget_waiting(vm, found.len());
        let machine = &mut self.machines[vm];
        let is_stopped = |cpu: &&VirtualCpu| cpu.state == State::Stopped;
        places.extend(machine.cpus.iter().filter(is_stopped).map(|cpu| cpu.place));
        self.stopped -= machine.stopped;
        for cpu in 0..machine.cpus.len() {
            if matches!(machine.cpus[cpu].state, State::Waiting | State::Stopped) {
                machine.change(at.now, cpu, State::Idle);
            }
        }
        places
    }

    /// Removes and returns the next burst that gets a free thread; `None` if no free thread finds
    /// one.
    pub fn pop(&mut self, at: Moment) -> Option<u32> {
        while let Some(thread) = self.unsettled.pop_front() {
            if self.threads[thread].is_busy {
                continue;
            }
            if self.threads[thread].waiting.is_empty() {
                self.pull(at, thread);
            }
            let Some(first) = self.first_of(at, thread) else { continue };
            let Waiting { vm, cpu, place, .. } = self.take(thread, first);
            self.shares.start(at.clock, vm);
            self.machines[vm].change(at.now, cpu, State::Running);
            self.occupy(thread, place, Position { vm, cpu, thread });
            return Some(place);
        }
        None
    }

    /// Lets each thread take a virtual CPU from a longer queue. Changes nothing unless rebalancing
    /// is due at `now`.
    pub fn rebalance(&mut self, at: Moment) {
        if self.waiting == 0 || !at.now.0.is_multiple_of(self.parameters.rebalance.0) {
            return;
        }
        for thread in 0..self.threads.len() {
            let own = self.threads[thread].load();
            let longest = self.others(thread).max_by_key(|other| self.threads[*other].load());
            if let Some(from) = longest.filter(|other| self.threads[*other].load() >= own + 2) {
                self.move_first(at, from, thread);
            }
        }
    }

    /// Makes a virtual CPU wait for its last thread, or for a free one if that is busy.
    fn wake(&mut self, at: Moment, waiting: Waiting) {
        let last = self.machines[waiting.vm].cpus[waiting.cpu].thread;
        let free = || self.others_of(last).find(|other| self.is_idle(*other));
        let is_full = self.busy == self.threads.len();
        let thread = if is_full || self.is_idle(last) { last } else { free().unwrap_or(last) };
        self.next_search();
        self.enqueue(at, thread, waiting);
    }

    fn pull(&mut self, at: Moment, thread: usize) {
        if self.waiting == 0 {
            return;
        }
        let longest = self.others(thread).max_by_key(|other| self.threads[*other].waiting.len());
        if let Some(from) = longest.filter(|other| !self.threads[*other].waiting.is_empty()) {
            self.move_first(at, from, thread);
        }
    }

    fn move_first(&mut self, at: Moment, from: usize, to: usize) {
        if let Some(first) = self.first_of(at, from) {
            let waiting = self.take(from, first);
            self.enqueue(at, to, Waiting { is_next: false, ..waiting });
        }
    }

    /// Returns the threads that a move looks at.
    fn others(&mut self, thread: usize) -> impl Iterator<Item = usize> + use<> {
        let others = self.others_of(thread);
        self.next_search();
        others
    }

    fn others_of(&self, thread: usize) -> impl Iterator<Item = usize> + use<> {
        let (count, from) = (self.threads.len(), self.search_from);
        let search = index(self.parameters.search);
        (0..count)
            .map(move |step| (from + step) % count)
            .filter(move |at| *at != thread)
            .take(search)
    }

    fn next_search(&mut self) {
        self.search_from = (self.search_from + index(self.parameters.search)) % self.threads.len();
    }

    fn next_thread(&mut self) -> usize {
        self.search_from = (self.search_from + 1) % self.threads.len();
        self.search_from
    }

    fn is_idle(&self, thread: usize) -> bool {
        self.threads[thread].load() == 0
    }

    fn enqueue(&mut self, at: Moment, thread: usize, waiting: Waiting) {
        let Waiting { vm, cpu, place, .. } = waiting;
        self.remember(place, Position { vm, cpu, thread });
        let machine = &mut self.machines[vm];
        machine.change(at.now, cpu, State::Waiting);
        machine.cpus[cpu].thread = thread;
        self.waiting += 1;
        if machine.cpus.len() > 1 {
            self.waiting_with_siblings += 1;
        }
        self.threads[thread].waiting.push(waiting);
        if !self.threads[thread].is_busy {
            self.unsettled.push_back(thread);
        }
    }

    fn take(&mut self, thread: usize, at: usize) -> Waiting {
        let waiting = self.threads[thread].waiting.swap_remove(at);
        self.forget_waiting(waiting.vm, 1);
        waiting
    }

    fn forget_waiting(&mut self, vm: usize, count: usize) {
        self.waiting -= count;
        if self.machines[vm].cpus.len() > 1 {
            self.waiting_with_siblings -= count;
        }
    }

    /// Returns the position in a thread's queue of the virtual CPU that goes first.
    fn first_of(&mut self, at: Moment, thread: usize) -> Option<usize> {
        let waiting = &self.threads[thread].waiting;
        if waiting.len() < 2 {
            return waiting.len().checked_sub(1);
        }
        let keys = waiting.iter().enumerate().map(|(place, own)| {
            ((!own.is_next, self.shares.key(at.clock, own.vm, own.turn)), place)
        });
        keys.min().map(|(_, place)| place)
    }

    fn occupy(&mut self, thread: usize, place: u32, position: Position) {
        self.remember(place, position);
        self.threads[thread].is_busy = true;
        self.busy += 1;
    }

    fn leave_thread(&mut self, at: Moment, place: u32) {
        let Position { vm, cpu, thread } = self.bursts[index(place)];
        self.machines[vm].cpus[cpu].account(at.now);
        self.free_thread(thread);
    }

    fn free_thread(&mut self, thread: usize) {
        self.threads[thread].is_busy = false;
        self.busy -= 1;
        self.unsettled.push_back(thread);
    }

    fn remember(&mut self, place: u32, position: Position) {
        let place = index(place);
        if place >= self.bursts.len() {
            self.bursts.resize(place + 1, Position::default());
        }
        self.bursts[place] = position;
    }
}

impl Thread {
    /// Returns the number of virtual CPUs that run here or wait for this thread.
    fn load(&self) -> usize {
        usize::from(self.is_busy) + self.waiting.len()
    }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
