use std::collections::VecDeque;
use std::iter::Sum;
use std::ops::Add;

use machine::{CpuBurst, Token};
use units::{Nanos, Ratio};

use crate::error::{Check, ParameterError};
use crate::slab::Slab;

/// A host's processors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuParameters {
    /// Cores, at least 1.
    pub cores: u32,
    /// Share of a core that virtual machines get, above 0 to 1. What a hypervisor and its
    /// memory traffic keep for themselves: published consolidation runs saturate at 84 % of
    /// the nominal capacity.
    pub speed: Ratio,
    /// Longest time a virtual CPU runs while others are ready, above zero. 50 ms is the
    /// value published for the ESX scheduler.
    pub slice: Nanos,
}

impl CpuParameters {
    /// A host with this many cores, all of each for virtual machines, slices of 50 ms.
    pub const fn cores(cores: u32) -> Self {
        Self { cores, speed: Ratio::ONE, slice: Nanos::from_millis(50) }
    }
}

/// What the virtual CPUs of one virtual machine did in a span of time; the three add up to
/// the span times the number of virtual CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuSample {
    /// On a core.
    pub used: Nanos,
    /// Runnable, and no core was free: "ready" time.
    pub ready: Nanos,
    /// Nothing to run: idle, or waiting for an I/O.
    pub wait: Nanos,
}

impl Add for CpuSample {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            used: self.used + other.used,
            ready: self.ready + other.ready,
            wait: self.wait + other.wait,
        }
    }
}

impl Sum for CpuSample {
    fn sum<I: Iterator<Item = Self>>(samples: I) -> Self {
        samples.fold(Self::default(), Add::add)
    }
}

/// Sums over 20 seconds, as vCenter's real-time view reports them, from samples of a second;
/// an incomplete last sum is left out. Compare them with the samples to see what they hide.
pub fn sums_of_20(seconds: &[CpuSample]) -> Vec<CpuSample> {
    seconds.chunks_exact(20).map(|chunk| chunk.iter().copied().sum()).collect()
}

/// A host's cores and its run queue: virtual CPUs with work take turns, first come first
/// served, each for at most a slice.
///
/// Simpler than a hypervisor's scheduler on purpose: no shares, no co-scheduling of a
/// machine's virtual CPUs, no cost of a switch.
#[derive(Debug)]
pub struct HostCpu {
    parameters: CpuParameters,
    machines: Vec<Vm>,
    /// Bursts of runnable virtual CPUs, next first.
    ready: VecDeque<u32>,
    bursts: Slab<Burst>,
    /// The burst on each core and how long it runs this time.
    cores: Vec<Option<(u32, Nanos)>>,
}

#[derive(Debug)]
struct Vm {
    cpus: u32,
    /// Bursts for which the guest has no virtual CPU free.
    queued: VecDeque<Burst>,
    running: u32,
    ready: u32,
    since: Nanos,
    seconds: Vec<CpuSample>,
}

#[derive(Debug)]
struct Burst {
    vm: usize,
    owner: usize,
    token: Token,
    /// Time left on a core of this host.
    left: Nanos,
}

/// What a host tells its driver.
#[derive(Debug, Default)]
pub struct HostEffects {
    /// Bursts that have run: the owner and the token it gave.
    pub ran: Vec<(usize, Token)>,
    /// Alarms to set: the time and the core.
    pub alarms: Vec<(Nanos, u32)>,
}

impl HostCpu {
    /// A host without virtual machines.
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    pub fn new(parameters: CpuParameters) -> Result<Self, ParameterError> {
        let check = Check("host CPU");
        let CpuParameters { cores, speed, slice } = parameters;
        check.that(cores > 0, "cores", cores, "at least 1")?;
        check.that(speed > Ratio::ZERO, "speed", speed, "above 0 %")?;
        check.that(slice > Nanos::ZERO, "slice", slice, "above 0 s")?;
        Ok(Self {
            parameters,
            machines: Vec::new(),
            ready: VecDeque::new(),
            bursts: Slab::new(),
            cores: (0..cores).map(|_| None).collect(),
        })
    }

    /// Adds a virtual machine and says its number; without a virtual CPU it gets one.
    pub fn add_machine(&mut self, cpus: u32) -> usize {
        self.machines.push(Vm {
            cpus: cpus.max(1),
            queued: VecDeque::new(),
            running: 0,
            ready: 0,
            since: Nanos::ZERO,
            seconds: Vec::new(),
        });
        self.machines.len() - 1
    }

    /// A burst of a virtual machine; `owner` comes back with its token.
    pub fn run(
        &mut self,
        now: Nanos,
        vm: usize,
        (owner, burst): (usize, &CpuBurst),
        out: &mut HostEffects,
    ) {
        let left = burst.cost.scale(1.0 / self.parameters.speed.get());
        let burst = Burst { vm, owner, token: burst.token, left };
        let machine = &mut self.machines[vm];
        if machine.running + machine.ready == machine.cpus {
            machine.queued.push_back(burst);
            return;
        }
        self.enqueue(now, burst);
        self.dispatch(now, out);
    }

    fn enqueue(&mut self, now: Nanos, burst: Burst) {
        let machine = &mut self.machines[burst.vm];
        machine.advance(now);
        machine.ready += 1;
        self.ready.push_back(self.bursts.insert(burst));
    }

    fn dispatch(&mut self, now: Nanos, out: &mut HostEffects) {
        for core in 0..self.cores.len() {
            if self.ready.is_empty() {
                return;
            }
            if self.cores[core].is_none() {
                self.start(now, core, out);
            }
        }
    }

    /// Starts the next ready burst, of which there is one, on a free core.
    fn start(&mut self, now: Nanos, core: usize, out: &mut HostEffects) {
        let place = self.ready.pop_front().expect("checked by the caller");
        let burst = self.bursts.get_mut(place);
        let machine = &mut self.machines[burst.vm];
        machine.advance(now);
        machine.ready -= 1;
        machine.running += 1;
        let span = burst.left.min(self.parameters.slice);
        self.cores[core] = Some((place, span));
        out.alarms.push((now + span, u32::try_from(core).expect("cores are numbered by u32")));
    }

    /// A core's alarm has come due.
    pub fn wake(&mut self, now: Nanos, core: u32, out: &mut HostEffects) {
        let core = core as usize;
        let (place, span) = self.cores[core].take().expect("a core with an alarm runs a burst");
        let burst = self.bursts.get_mut(place);
        burst.left = burst.left - span;
        let (vm, is_done) = (burst.vm, burst.left == Nanos::ZERO);
        let machine = &mut self.machines[vm];
        machine.advance(now);
        machine.running -= 1;
        if is_done {
            let burst = self.bursts.remove(place);
            out.ran.push((burst.owner, burst.token));
            if let Some(next) = self.machines[vm].queued.pop_front() {
                self.enqueue(now, next);
            }
        } else {
            machine.ready += 1;
            self.ready.push_back(place);
        }
        self.dispatch(now, out);
    }

    /// Samples of each full second up to `now`, of one virtual machine.
    pub fn seconds(&mut self, vm: usize, now: Nanos) -> &[CpuSample] {
        let machine = &mut self.machines[vm];
        machine.advance(now);
        let full = usize::try_from(now.0 / Nanos::SECOND.0).expect("a run fits memory");
        &machine.seconds[..full.min(machine.seconds.len())]
    }
}

impl Vm {
    /// Books the time since the last change, second by second.
    fn advance(&mut self, now: Nanos) {
        while self.since < now {
            let second = self.since.0 / Nanos::SECOND.0;
            let end = Nanos((second + 1) * Nanos::SECOND.0).min(now);
            let span = (end - self.since).0;
            let place = usize::try_from(second).expect("a run fits memory");
            if place >= self.seconds.len() {
                self.seconds.resize(place + 1, CpuSample::default());
            }
            let waiting = self.cpus - self.running - self.ready;
            let spent = CpuSample {
                used: Nanos(span * u64::from(self.running)),
                ready: Nanos(span * u64::from(self.ready)),
                wait: Nanos(span * u64::from(waiting)),
            };
            self.seconds[place] = self.seconds[place] + spent;
            self.since = end;
        }
    }
}
