use machine::{Effects, Event, Machine, Token};
use record::recorder::InstanceShape;
use record::slice::{InstanceId, Slice};
use units::Nanos;

use crate::device::Device;
use crate::meter::{InFlight, Meter};
use crate::queue::Queue;

/// A machine and what the recorder must know of it.
#[derive(Debug)]
pub struct SimInstance<M> {
    /// The machine; new, it has seen no event.
    pub machine: M,
    /// Its ids and how many kinds, actions and groups it has.
    pub shape: InstanceShape,
}

/// How long to run and how finely to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// End of the run; events at this time or later do not happen.
    pub until: Nanos,
    /// Width of a slice, more than zero; the last one may be shorter.
    pub slice: Nanos,
    /// Events of all instances that may happen at one instant before the run is given up,
    /// at least 1.
    pub events_per_instant_max: u64,
}

impl Default for Options {
    /// One minute in slices of a second, a million events per instant.
    fn default() -> Self {
        Self {
            until: Nanos::from_secs(60),
            slice: Nanos::SECOND,
            events_per_instant_max: 1_000_000,
        }
    }
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Events handled by all machines.
    pub events: u64,
    /// Requests submitted.
    pub submitted: u64,
    /// Requests answered, failed ones included; the rest was in flight at the end.
    pub completed: u64,
}

/// Why a run was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// Time stands still: machines and device answer each other without letting it pass.
    #[error(
        "instance {} let {events} events happen at {now} without time passing",
        instance.0
    )]
    Runaway {
        /// The instance whose event broke the cap.
        instance: InstanceId,
        /// When time stopped.
        now: Nanos,
        /// Events at that instant.
        events: u64,
    },
    /// Slices of no width would never end.
    #[error("slice width 0 s is not above zero")]
    NoSlice,
}

/// What is pending in the queue.
#[derive(Debug, Clone, Copy)]
enum Pending {
    Timer(Token),
    Ran(Token),
    Done { place: InFlight, result: Result<(), machine::IoError> },
}

/// Runs the machines on the device in virtual time and hands every slice to `sink`, in
/// order and without gaps from 0 to `options.until`.
///
/// # Errors
///
/// When more events than allowed happen at one instant; slices handed out before stay
/// valid.
pub fn run<M: Machine, D: Device>(
    instances: &mut [SimInstance<M>],
    device: &mut D,
    options: &Options,
    sink: &mut dyn FnMut(Slice),
) -> Result<Outcome, SimError> {
    if options.slice == Nanos::ZERO {
        return Err(SimError::NoSlice);
    }
    let mut world = World::new(instances, device, options.events_per_instant_max);
    world.start()?;
    let mut end = Nanos::ZERO;
    while end < options.until {
        end = end.saturating_add(options.slice).min(options.until);
        world.run_before(end)?;
        sink(world.meter.take(end));
    }
    Ok(world.outcome)
}

struct World<'a, M, D> {
    instances: &'a mut [SimInstance<M>],
    device: &'a mut D,
    queue: Queue<(u32, Pending)>,
    meter: Meter,
    effects: Effects,
    outcome: Outcome,
    cap: Cap,
}

/// Counts events of one instant.
struct Cap {
    now: Nanos,
    events: u64,
    max: u64,
}

impl Cap {
    #[inline]
    fn is_broken(&mut self, now: Nanos) -> bool {
        if now != self.now {
            self.now = now;
            self.events = 0;
        }
        self.events += 1;
        self.events > self.max
    }
}

impl<'a, M: Machine, D: Device> World<'a, M, D> {
    fn new(instances: &'a mut [SimInstance<M>], device: &'a mut D, max: u64) -> Self {
        let shapes = instances.iter().map(|instance| instance.shape.clone()).collect();
        Self {
            instances,
            device,
            queue: Queue::new(),
            meter: Meter::new(shapes),
            effects: Effects::default(),
            outcome: Outcome::default(),
            cap: Cap { now: Nanos::ZERO, events: 0, max },
        }
    }

    fn start(&mut self) -> Result<(), SimError> {
        for place in 0..self.instances.len() {
            let id = u32::try_from(place).expect("fewer than 2^32 instances");
            self.deliver(Nanos::ZERO, id, Event::Start)?;
        }
        Ok(())
    }

    fn run_before(&mut self, end: Nanos) -> Result<(), SimError> {
        while let Some((now, (instance, pending))) = self.queue.pop_before(end) {
            let event = match pending {
                Pending::Timer(token) => {
                    self.meter.woken();
                    Event::Timer(token)
                }
                Pending::Ran(token) => Event::Ran(token),
                Pending::Done { place, result } => {
                    self.outcome.completed += 1;
                    self.meter.completed(now, instance as usize, &place);
                    Event::Done(place.request.token, result)
                }
            };
            self.deliver(now, instance, event)?;
        }
        Ok(())
    }

    #[inline]
    fn deliver(&mut self, now: Nanos, instance: u32, event: Event) -> Result<(), SimError> {
        if self.cap.is_broken(now) {
            let id = self.instances[instance as usize].shape.instance;
            return Err(SimError::Runaway { instance: id, now, events: self.cap.events });
        }
        self.outcome.events += 1;
        self.instances[instance as usize].machine.handle(now, event, &mut self.effects);
        self.apply(now, instance);
        Ok(())
    }

    #[inline]
    fn apply(&mut self, now: Nanos, instance: u32) {
        for request in self.effects.io.drain(..) {
            let answer = self.device.submit(now, instance as usize, &request);
            self.meter.submitted(now);
            self.outcome.submitted += 1;
            let place = InFlight { request, submitted: now, ok: answer.result.is_ok() };
            let pending = Pending::Done { place, result: answer.result };
            self.queue.push(answer.at.max(now), (instance, pending));
        }
        for (at, token) in self.effects.timers.drain(..) {
            self.queue.push(at.max(now), (instance, Pending::Timer(token)));
        }
        for burst in self.effects.cpu.drain(..) {
            let at = now.saturating_add(burst.cost);
            self.queue.push(at, (instance, Pending::Ran(burst.token)));
        }
        for observation in self.effects.observations.drain(..) {
            self.meter.observed(instance as usize, &observation);
        }
    }
}
