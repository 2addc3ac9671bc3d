use device::Ticket;
use machine::{Effects, Event, IoError, Machine, Token};
use record::recorder::InstanceShape;
use record::slice::{InstanceId, Slice};
use units::Nanos;

use crate::device::{AtOnce, Device};
use crate::in_flight::Tickets;
use crate::meter::{InFlight, Meter};
use crate::model::{Model, ModelEffects};
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
    /// Alarms handled by the model; zero on a device that answers at submission.
    pub alarms: u64,
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
enum Pending<A> {
    Timer(u32, Token),
    Ran(u32, Token),
    Done(Ticket, Result<(), IoError>),
    Alarm(A),
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
    run_model(instances, &mut AtOnce(device), options, sink)
}

/// Like [`run`], on a model that lets time pass by alarms.
///
/// # Errors
///
/// As [`run`]. A model that lets events happen without end at one instant is reported with
/// the instance that had the last event.
pub fn run_model<M: Machine, D: Model>(
    instances: &mut [SimInstance<M>],
    model: &mut D,
    options: &Options,
    sink: &mut dyn FnMut(Slice),
) -> Result<Outcome, SimError> {
    if options.slice == Nanos::ZERO {
        return Err(SimError::NoSlice);
    }
    let mut world = World::new(instances, model, options.events_per_instant_max);
    world.start()?;
    let mut end = Nanos::ZERO;
    while end < options.until {
        end = end.saturating_add(options.slice).min(options.until);
        world.run_before(end)?;
        sink(world.meter.take(end));
    }
    Ok(world.outcome)
}

struct World<'a, M, D: Model> {
    instances: &'a mut [SimInstance<M>],
    model: &'a mut D,
    queue: Queue<Pending<D::Alarm>>,
    tickets: Tickets,
    meter: Meter,
    effects: Effects,
    model_effects: ModelEffects<D::Alarm>,
    outcome: Outcome,
    cap: Cap,
    /// The instance that had the last event.
    last: u32,
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

impl<'a, M: Machine, D: Model> World<'a, M, D> {
    fn new(instances: &'a mut [SimInstance<M>], model: &'a mut D, max: u64) -> Self {
        let shapes = instances.iter().map(|instance| instance.shape.clone()).collect();
        Self {
            instances,
            model,
            queue: Queue::new(),
            tickets: Tickets::default(),
            meter: Meter::new(shapes),
            effects: Effects::default(),
            model_effects: ModelEffects::default(),
            outcome: Outcome::default(),
            cap: Cap { now: Nanos::ZERO, events: 0, max },
            last: 0,
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
        while let Some((now, pending)) = self.queue.pop_before(end) {
            match pending {
                Pending::Timer(instance, token) => {
                    self.meter.woken();
                    self.deliver(now, instance, Event::Timer(token))?;
                }
                Pending::Ran(instance, token) => self.deliver(now, instance, Event::Ran(token))?,
                Pending::Done(ticket, result) => {
                    let (instance, request) = self.tickets.redeem(ticket);
                    self.outcome.completed += 1;
                    let token = request.request.token;
                    self.meter.completed(now, instance as usize, &request, result.is_ok());
                    self.deliver(now, instance, Event::Done(token, result))?;
                }
                Pending::Alarm(alarm) => {
                    self.count(now)?;
                    self.outcome.alarms += 1;
                    self.model.wake(now, alarm, &mut self.model_effects);
                    self.apply_model(now);
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn count(&mut self, now: Nanos) -> Result<(), SimError> {
        if self.cap.is_broken(now) {
            let instance = self
                .instances
                .get(self.last as usize)
                .map_or(InstanceId(self.last), |instance| instance.shape.instance);
            return Err(SimError::Runaway { instance, now, events: self.cap.events });
        }
        Ok(())
    }

    #[inline]
    fn deliver(&mut self, now: Nanos, instance: u32, event: Event) -> Result<(), SimError> {
        self.last = instance;
        self.count(now)?;
        self.outcome.events += 1;
        self.instances[instance as usize].machine.handle(now, event, &mut self.effects);
        self.apply(now, instance);
        Ok(())
    }

    #[inline]
    fn apply(&mut self, now: Nanos, instance: u32) {
        let mut effects = std::mem::take(&mut self.effects);
        for request in effects.io.drain(..) {
            self.meter.submitted(now);
            self.outcome.submitted += 1;
            let ticket = self.tickets.issue(instance, InFlight { request, submitted: now });
            let of = (instance as usize, ticket);
            self.model.submit(now, of, &request, &mut self.model_effects);
            self.apply_model(now);
        }
        for (at, token) in effects.timers.drain(..) {
            self.queue.push(at.max(now), Pending::Timer(instance, token));
        }
        for burst in effects.cpu.drain(..) {
            self.model.run_cpu(now, instance as usize, &burst, &mut self.model_effects);
            self.apply_model(now);
        }
        for observation in effects.observations.drain(..) {
            self.meter.observed(instance as usize, &observation);
        }
        self.effects = effects;
    }

    #[inline]
    fn apply_model(&mut self, now: Nanos) {
        for (at, ticket, result) in self.model_effects.done.drain(..) {
            self.queue.push(at.max(now), Pending::Done(ticket, result));
        }
        for (at, instance, token) in self.model_effects.ran.drain(..) {
            let instance = u32::try_from(instance).expect("fewer than 2^32 instances");
            self.queue.push(at.max(now), Pending::Ran(instance, token));
        }
        for (at, alarm) in self.model_effects.alarms.drain(..) {
            self.queue.push(at.max(now), Pending::Alarm(alarm));
        }
    }
}
