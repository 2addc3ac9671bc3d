mod balance;
mod suspend;

use std::collections::VecDeque;

use state_machine::{CpuBurst, Token};
use units::Nanos;

use super::clock::{Work, WorkClock, work};
use super::clocking::{Clocking, Governing};
use super::parameters::CpuParameters;
use super::power::{EnergyMeter, Femtojoules, HostPower};
use super::ready::Ready;
use super::sample::{CpuSample, HostSample};
use super::threads::Moment;
use crate::error::ParameterError;
use state_machine::Slab;

pub use suspend::Suspended;

/// A host's cores and its run queues. Virtual CPUs with work get a thread in the order of the
/// host's [`RunOrder`](super::RunOrder), each for at most a time slice of a core's work. Work of
/// the hypervisor for I/Os has priority: like an interrupt it takes the thread of a virtual CPU at
/// once. It waits only for other such work, and counts for no virtual machine's share.
///
/// Without [`CpuParameters::thread_queues`] it is simpler than a hypervisor's scheduler: one queue
/// serves all threads, so nothing waits for a certain core, and the virtual CPUs of a virtual
/// machine do not wait for each other. A switch costs nothing in either case.
#[derive(Debug)]
pub struct HostCpu {
    parameters: CpuParameters,
    machines: Vec<Vm>,
    bursts: Slab<Burst>,
    /// Hypervisor work that waits for other hypervisor work, next first.
    system: VecDeque<u32>,
    /// Bursts of runnable virtual CPUs.
    ready: Ready,
    /// Bursts on threads of cores; the burst that leaves first is last.
    running: Vec<Running>,
    threads_max: usize,
    clock: WorkClock,
    clocking: Clocking,
    /// GHz of each level of the clock.
    levels: Vec<f64>,
    governing: Option<Governing>,
    energy: Option<EnergyMeter>,
    /// Times of pending alarms, earliest last.
    alarms: Vec<Nanos>,
    totals: Totals,
}

/// A burst on a thread, and the value of the clock at which it leaves.
#[derive(Debug, Clone, Copy)]
struct Running {
    end: Work,
    place: u32,
}

#[derive(Debug)]
struct Burst {
    whose: Whose,
    /// Work that is left after the present turn on a thread.
    left: Work,
    /// Work that the burst may still do before others get their turn.
    slice: Work,
    /// Work of the whole burst.
    whole: Work,
}

#[derive(Debug, Clone, Copy)]
enum Whose {
    Machine { vm: usize, owner: usize, token: Token },
    System(u32),
}

#[derive(Debug)]
struct Vm {
    cpus: u32,
    /// Bursts that wait for a free virtual CPU of the guest.
    queued: VecDeque<Burst>,
    running: u32,
    ready: u32,
    /// Number of virtual CPUs that wait for a sibling.
    stopped: u32,
    since: Nanos,
    seconds: Vec<CpuSample>,
}

#[derive(Debug, Default)]
struct Totals {
    since: Nanos,
    used: Work,
    cycles: Work,
    system: Work,
    ready: Nanos,
    /// Number of running bursts of the hypervisor.
    system_running: u32,
}

/// Messages from a host to its driver, which drains them after every call.
#[derive(Debug, Default)]
pub struct HostEffects {
    /// Completed bursts, as the owner and the token that it gave.
    pub ran: Vec<(usize, Token)>,
    /// Completed hypervisor work, by the number that it was given.
    pub system: Vec<u32>,
    /// Times at which [`HostCpu::wake`] must be called.
    pub alarms: Vec<Nanos>,
}

impl HostCpu {
    /// Creates a host without virtual machines.
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    pub fn new(parameters: CpuParameters) -> Result<Self, ParameterError> {
        parameters.check()?;
        Ok(Self {
            machines: Vec::new(),
            bursts: Slab::new(),
            system: VecDeque::new(),
            ready: Ready::new(&parameters),
            running: Vec::new(),
            threads_max: parameters.threads_max() as usize,
            clock: WorkClock::new(&parameters, &Clocking::default()),
            clocking: Clocking::default(),
            levels: Clocking::default().levels(),
            governing: None,
            energy: None,
            alarms: Vec::new(),
            totals: Totals::default(),
            parameters,
        })
    }

    /// Makes the host's cores run at these frequencies.
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    pub fn with_clocking(self, clocking: Clocking) -> Result<Self, ParameterError> {
        clocking.check()?;
        Ok(Self {
            clock: WorkClock::new(&self.parameters, &clocking),
            levels: clocking.levels(),
            governing: clocking.governor.map(Governing::new),
            clocking,
            ..self
        })
    }

    /// Makes the host measure its energy from these watts. It must be called after
    /// [`HostCpu::with_clocking`].
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    pub fn with_power(self, power: &HostPower) -> Result<Self, ParameterError> {
        let energy = EnergyMeter::new(power, &self.parameters, &self.clocking)?;
        Ok(Self { energy: Some(energy), ..self })
    }

    /// Returns true if the cores have more than one frequency.
    pub const fn has_frequencies(&self) -> bool {
        !self.clock.is_plain()
    }

    /// Returns the present frequency of the cores in GHz, without turbo; 1 if no frequency was set.
    pub fn ghz(&mut self, now: Nanos) -> f64 {
        self.advance(now);
        self.levels[self.clock.level]
    }

    /// Returns the energy used up to `now`, if the host's power is known.
    pub fn energy(&mut self, now: Nanos) -> Option<Femtojoules> {
        self.advance(now);
        self.energy.as_ref().map(|own| own.total(now))
    }

    /// Returns the parameters that the host was made with.
    pub const fn parameters(&self) -> &CpuParameters {
        &self.parameters
    }

    /// Adds a virtual machine and returns its number. If `cpus` is 0 it gets one virtual CPU.
    pub fn add_machine(&mut self, cpus: u32) -> usize {
        self.add_machine_at(Nanos::ZERO, cpus)
    }

    /// Adds a virtual machine that comes from another host, as [`HostCpu::add_machine`] does. Its
    /// samples are zero before `now`.
    pub fn add_machine_at(&mut self, now: Nanos, cpus: u32) -> usize {
        let cpus = cpus.max(1);
        self.ready.add_machine(cpus);
        self.machines.push(Vm {
            cpus,
            queued: VecDeque::new(),
            running: 0,
            ready: 0,
            stopped: 0,
            since: now,
            seconds: Vec::new(),
        });
        self.machines.len() - 1
    }

    /// Starts a burst of a virtual machine. When the burst is done, `owner` is returned with the
    /// burst's token.
    pub fn run(
        &mut self,
        now: Nanos,
        vm: usize,
        (owner, burst): (usize, &CpuBurst),
        out: &mut HostEffects,
    ) {
        let whose = Whose::Machine { vm, owner, token: burst.token };
        let burst = self.burst(whose, burst.cost);
        let machine = &mut self.machines[vm];
        if machine.is_full() {
            machine.queued.push_back(burst);
            return;
        }
        self.advance(now);
        self.enqueue(now, vm, burst);
        self.dispatch(now, out);
    }

    /// Starts work of the hypervisor. When it is done, `number` is returned.
    pub fn run_system(&mut self, now: Nanos, number: u32, cost: Nanos, out: &mut HostEffects) {
        let burst = self.burst(Whose::System(number), cost);
        self.advance(now);
        self.system.push_back(self.bursts.insert(burst));
        self.dispatch(now, out);
    }

    /// Handles an alarm that is due.
    pub fn wake(&mut self, now: Nanos, out: &mut HostEffects) {
        let alarm = self.alarms.pop();
        debug_assert_eq!(alarm, Some(now), "alarms come due in order");
        self.advance(now);
        while let Some(done) = self.running.pop_if(|running| running.end <= self.clock.now) {
            self.leave(now, done.place, out);
        }
        self.balance(now);
        self.dispatch(now, out);
    }

    /// Returns the samples of one virtual machine for each full second up to `now`.
    pub fn seconds(&mut self, vm: usize, now: Nanos) -> &[CpuSample] {
        let machine = &mut self.machines[vm];
        machine.advance(now);
        let full = usize::try_from(now.0 / Nanos::SECOND.0).expect("a run fits memory");
        &machine.seconds[..full.min(machine.seconds.len())]
    }

    /// Returns the counters of the host, from the start to `now`.
    pub fn total(&mut self, now: Nanos) -> HostSample {
        self.advance(now);
        let nominal = |done: Work| {
            let nanos = Nanos(u64::try_from(done / work(Nanos(1))).unwrap_or(u64::MAX));
            nanos.scale(1.0 / self.parameters.threads)
        };
        let Totals { used, cycles, system, ready, .. } = self.totals;
        let (used, cycles, system) = (nominal(used), nominal(cycles), nominal(system));
        HostSample { used, cycles, system, ready }
    }

    const fn moment(&self, now: Nanos) -> Moment {
        Moment { now, clock: self.clock.now }
    }

    fn burst(&self, whose: Whose, cost: Nanos) -> Burst {
        let left = work(cost.scale(1.0 / self.parameters.speed));
        Burst { whose, left, slice: work(self.parameters.slice), whole: left }
    }

    /// Accounts for the time since the last change, and lets the governor decide when it is due.
    fn advance(&mut self, now: Nanos) {
        while let Some(look) = self.governing.as_ref().map(|own| own.next).filter(|at| *at <= now) {
            self.book(look);
            let Some(own) = &mut self.governing else { break };
            let before = self.clock.level;
            self.clock.level = own.look(&self.parameters, &self.levels, before);
            if self.running.is_empty() && before == 0 && self.clock.level == 0 {
                own.skip_to(now);
            }
        }
        self.book(now);
    }

    fn book(&mut self, now: Nanos) {
        let (threads, since) = (self.running.len(), self.clock.since());
        let done = self.clock.advance(now, threads);
        let totals = &mut self.totals;
        totals.used += done.busy * threads as u128;
        totals.cycles += done.cycles * threads as u128;
        totals.system += done.busy * u128::from(totals.system_running);
        let span = now.saturating_sub(totals.since).0;
        totals.ready += Nanos(span * self.ready.len() as u64);
        totals.since = now;
        if now == since {
            return;
        }
        if let Some(own) = &mut self.governing {
            let cores = (threads as u128).min(u128::from(self.parameters.cores));
            own.busy += u128::from((now - since).0) * cores;
        }
        if let Some(own) = &mut self.energy {
            own.pass((since, now), self.clock.level, threads);
        }
    }

    fn enqueue(&mut self, now: Nanos, vm: usize, burst: Burst) {
        let machine = &mut self.machines[vm];
        machine.advance(now);
        machine.ready += 1;
        let at = self.moment(now);
        self.ready.push(at, vm, self.bursts.insert(burst));
    }

    /// Puts waiting bursts on free threads, hypervisor work first, and sets the alarm.
    fn dispatch(&mut self, now: Nanos, out: &mut HostEffects) {
        while self.running.len() < self.threads_max || self.preempt(now) {
            let at = self.moment(now);
            let system = self.system.pop_front().inspect(|place| self.ready.seize(*place));
            let Some(place) = system.or_else(|| self.ready.pop(at)) else { break };
            self.start(now, place);
        }
        let end = self.running.last().map(|first| {
            let at = self.clock.time_of(first.end, self.running.len());
            self.governing.as_ref().map_or(at, |own| at.min(own.next))
        });
        let Some(at) = end.into_iter().chain(self.ready.next_turn(now)).min() else { return };
        if self.alarms.last().is_none_or(|alarm| at < *alarm) {
            self.alarms.push(at);
            out.alarms.push(at);
        }
    }

    /// Takes the thread from a virtual CPU if hypervisor work is waiting; returns true if it did.
    fn preempt(&mut self, now: Nanos) -> bool {
        if self.system.is_empty() {
            return false;
        }
        for at in 0..self.running.len() {
            let Running { end, place } = self.running[at];
            let burst = &mut self.bursts[place];
            if let Whose::Machine { vm, .. } = burst.whose {
                let undone = end.saturating_sub(self.clock.now);
                burst.left += undone;
                burst.slice += undone;
                self.machines[vm].change(now, Change::Stop);
                self.running.remove(at);
                let at = self.moment(now);
                self.ready.put_back(at, vm, place);
                return true;
            }
        }
        false
    }

    fn start(&mut self, now: Nanos, place: u32) {
        let burst = &mut self.bursts[place];
        let this_time = match burst.whose {
            Whose::Machine { vm, .. } => {
                self.machines[vm].change(now, Change::Start);
                burst.left.min(burst.slice)
            }
            Whose::System(_) => {
                self.totals.system_running += 1;
                burst.left
            }
        };
        burst.left -= this_time;
        burst.slice = burst.slice.saturating_sub(this_time);
        let wake =
            self.energy.as_ref().map_or(Nanos::ZERO, |own| own.wake(now, self.running.len()));
        let end = self.clock.now + this_time + work(wake);
        // Bursts that end at the same time leave in the order in which they started.
        let at = self.running.partition_point(|running| running.end > end);
        self.running.insert(at, Running { end, place });
    }

    /// Handles a burst that has finished its turn on a thread.
    fn leave(&mut self, now: Nanos, place: u32, out: &mut HostEffects) {
        let at = self.moment(now);
        let burst = &mut self.bursts[place];
        let vm = match burst.whose {
            Whose::System(number) => {
                self.totals.system_running -= 1;
                self.ready.release(place);
                self.bursts.remove(place);
                return out.system.push(number);
            }
            Whose::Machine { vm, .. } if burst.left > 0 => {
                burst.slice = work(self.parameters.slice);
                self.machines[vm].change(now, Change::Stop);
                return self.ready.requeue(at, vm, place);
            }
            Whose::Machine { vm, owner, token } => {
                out.ran.push((owner, token));
                vm
            }
        };
        self.bursts.remove(place);
        self.ready.finish(at, vm, place);
        let machine = &mut self.machines[vm];
        machine.advance(now);
        machine.running -= 1;
        if let Some(next) = machine.queued.pop_front() {
            self.enqueue(now, vm, next);
        }
    }
}

/// Change of the state of a virtual CPU that has work.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Gets a thread: from ready to running.
    Start,
    /// Loses its thread: from running to ready.
    Stop,
    /// Waits for a sibling to catch up: from running to stopped.
    CoStop,
    /// Siblings have caught up: from stopped to ready.
    CoStart,
}

impl Vm {
    fn change(&mut self, now: Nanos, change: Change) {
        self.advance(now);
        match change {
            Change::Start => (self.ready, self.running) = (self.ready - 1, self.running + 1),
            Change::Stop => (self.ready, self.running) = (self.ready + 1, self.running - 1),
            Change::CoStop => (self.stopped, self.running) = (self.stopped + 1, self.running - 1),
            Change::CoStart => (self.stopped, self.ready) = (self.stopped - 1, self.ready + 1),
        }
    }

    /// Returns true if all virtual CPUs have work.
    const fn is_full(&self) -> bool {
        self.running + self.ready + self.stopped == self.cpus
    }

    /// Accounts for the time since the last change, second by second.
    fn advance(&mut self, now: Nanos) {
        while self.since < now {
            let second = self.since.0 / Nanos::SECOND.0;
            let end = Nanos((second + 1) * Nanos::SECOND.0).min(now);
            let span = (end - self.since).0;
            let place = usize::try_from(second).expect("a run fits memory");
            if place >= self.seconds.len() {
                self.seconds.resize(place + 1, CpuSample::default());
            }
            let waiting = self.cpus - self.running - self.ready - self.stopped;
            let spent = CpuSample {
                used: Nanos(span * u64::from(self.running)),
                ready: Nanos(span * u64::from(self.ready)),
                co_stop: Nanos(span * u64::from(self.stopped)),
                wait: Nanos(span * u64::from(waiting)),
            };
            self.seconds[place] = self.seconds[place] + spent;
            self.since = end;
        }
    }
}
