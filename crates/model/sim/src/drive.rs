use std::fmt;
use std::marker::PhantomData;

use hardware::{Alarm, ModelEffects, Ticket};
use run_store::recorder::InstanceShape;
use run_store::slice::{InstanceId, Slice};
use state_machine::{Effects, Event, IoError, Machine, Token};
use units::Nanos;

use crate::device::{AtOnce, Device};
use crate::in_flight::Tickets;
use crate::meter::{CallInFlight, InFlight, Meter};
use crate::model::Model;
use crate::queue::Queue;
use crate::service::Services;

/// A state machine, with ids and counts for the recorder.
#[derive(Debug)]
pub struct SimInstance<M> {
    /// State machine that has seen no event yet.
    pub machine: M,
    /// Ids of the instance, and its numbers of kinds, actions and groups.
    pub shape: InstanceShape,
}

/// Length of the run and width of its slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// End of the run; events at this time or later do not happen.
    pub until: Nanos,
    /// Width of a slice, above zero; the last slice may be shorter.
    pub slice: Nanos,
    /// Maximum number of events of all instances at one instant before the run is aborted, at least
    /// 1.
    pub events_per_instant_max: u64,
}

impl Default for Options {
    /// Returns options for a run of one minute, in slices of one second, with at most a million
    /// events per instant.
    fn default() -> Self {
        Self {
            until: Nanos::from_secs(60),
            slice: Nanos::SECOND,
            events_per_instant_max: 1_000_000,
        }
    }
}

/// Counts of a finished run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Events handled by all state machines.
    pub events: u64,
    /// Alarms handled by the model; zero for a device that answers at submission.
    pub alarms: u64,
    /// Number of submitted requests and calls.
    pub submitted: u64,
    /// Number of completed requests and calls, including failed ones; all others were in flight at
    /// the end.
    pub completed: u64,
}

/// Reasons to abort a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// Time stands still, because state machines and device react to each other without letting it
    /// pass.
    #[error(
        "instance {} caused {events} events at {now} without passing time",
        instance.0
    )]
    Runaway {
        /// Instance whose event exceeded the limit.
        instance: InstanceId,
        /// Time at which the run stands still.
        now: Nanos,
        /// Number of events at that instant.
        events: u64,
    },
    /// The slices have no width, so the run would never end.
    #[error("slice width 0 s is not above zero")]
    NoSlice,
}

/// Event that waits in the queue.
#[derive(Debug, Clone, Copy)]
enum Pending<A> {
    Timer(u32, Token),
    Ran(u32, Token),
    Done(Ticket, Result<(), IoError>),
    Alarm(A),
    Called(Ticket, Result<(), IoError>),
    ServiceAlarm(Alarm),
}

/// Runs the state machines on the device in virtual time, and passes every slice to `sink`, in
/// order and without gaps from 0 to `options.until`.
///
/// # Errors
///
/// When more events than allowed happen at one instant; slices passed before stay valid.
pub fn run<M: Machine, D: Device>(
    instances: &mut [SimInstance<M>],
    device: &mut D,
    options: &Options,
    sink: &mut dyn FnMut(Slice),
) -> Result<Outcome, SimError> {
    run_model(instances, &mut AtOnce(device), options, sink)
}

/// Runs the state machines like [`run`], but on a model that lets time pass by alarms.
///
/// # Errors
///
/// As [`run`]. A model that lets events happen without end at one instant is reported with the
/// instance that had the last event.
pub fn run_model<M: Machine, D: Model>(
    instances: &mut [SimInstance<M>],
    model: &mut D,
    options: &Options,
    sink: &mut dyn FnMut(Slice),
) -> Result<Outcome, SimError> {
    let mut world: World<M, _, _> = World::new(instances, model, *options);
    while let Some(slice) = world.next_slice()? {
        sink(slice);
    }
    Ok(world.outcome)
}

/// A run that its caller drives slice by slice. For example, a ladder of steps decides between
/// slices whether a step is warm and has been measured for long enough.
pub struct Simulation<M, D: Model>(World<M, Vec<SimInstance<M>>, D>);

impl<M: Machine, D: Model> Simulation<M, D> {
    /// Creates a run that has not begun; the first slice starts the state machines at time 0.
    pub fn new(instances: Vec<SimInstance<M>>, model: D, options: Options) -> Self {
        Self(World::new(instances, model, options))
    }

    /// Adds modelled services behind the instances' endpoints.
    #[must_use]
    pub fn with_services(mut self, services: Services) -> Self {
        self.0.services = services;
        self
    }

    /// Lets time pass to the end of the next slice and returns the slice. Returns `None` when
    /// `options.until` is reached or, after [`Self::stop`], when every request is answered.
    ///
    /// # Errors
    ///
    /// When more events than allowed happen at one instant. The run must then not be used any more.
    pub fn next_slice(&mut self) -> Result<Option<Slice>, SimError> {
        self.0.next_slice()
    }

    /// Stops delivering events to state machines, so that none begins new work. The model still
    /// answers and counts the requests in flight; the run ends with the last of them.
    pub fn stop(&mut self) {
        self.0.is_stopped = true;
    }

    /// Returns the end of the last slice, from the start of the run.
    pub fn now(&self) -> Nanos {
        self.0.end
    }

    /// Returns the counts so far.
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// Returns the model, to mark the start of a measurement or to read its counters.
    pub fn model_mut(&mut self) -> &mut D {
        &mut self.0.model
    }

    /// Calls the model between two slices, and carries out the effects that it makes.
    pub fn prompt(&mut self, call: impl FnOnce(&mut D, Nanos, &mut ModelEffects<D::Alarm>)) {
        let now = self.0.end;
        call(&mut self.0.model, now, &mut self.0.model_effects);
        self.0.apply_model(now);
    }

    /// Returns the state machines and the model after the run.
    pub fn into_parts(self) -> (Vec<SimInstance<M>>, D) {
        (self.0.instances, self.0.model)
    }
}

impl<M, D: Model> fmt::Debug for Simulation<M, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let World { options, outcome, end, .. } = &self.0;
        let mut about = f.debug_struct("Simulation");
        about.field("options", options).field("outcome", outcome).field("now", end);
        about.finish_non_exhaustive()
    }
}

/// State machines `I` (a slice or a list of them), and the model they run on.
struct World<M, I, D: Model> {
    instances: I,
    model: D,
    options: Options,
    queue: Queue<Pending<D::Alarm>>,
    tickets: Tickets<InFlight>,
    services: Services,
    calls: Tickets<CallInFlight>,
    meter: Meter,
    effects: Effects,
    model_effects: ModelEffects<D::Alarm>,
    service_effects: ModelEffects<Alarm>,
    outcome: Outcome,
    cap: Cap,
    /// Instance that had the last event.
    last: u32,
    /// End of the last slice.
    end: Nanos,
    has_begun: bool,
    is_stopped: bool,
    machines: PhantomData<M>,
}

/// Counts events of one instant.
#[derive(Debug)]
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

impl<M, I, D> World<M, I, D>
where
    M: Machine,
    I: AsMut<[SimInstance<M>]>,
    D: Model,
{
    fn new(mut instances: I, model: D, options: Options) -> Self {
        let shapes = instances.as_mut().iter().map(|instance| instance.shape.clone()).collect();
        Self {
            instances,
            model,
            options,
            queue: Queue::new(),
            tickets: Tickets::default(),
            services: Services::default(),
            calls: Tickets::default(),
            meter: Meter::new(shapes),
            effects: Effects::default(),
            model_effects: ModelEffects::default(),
            service_effects: ModelEffects::default(),
            outcome: Outcome::default(),
            cap: Cap { now: Nanos::ZERO, events: 0, max: options.events_per_instant_max },
            last: 0,
            end: Nanos::ZERO,
            has_begun: false,
            is_stopped: false,
            machines: PhantomData,
        }
    }

    fn next_slice(&mut self) -> Result<Option<Slice>, SimError> {
        if self.options.slice == Nanos::ZERO {
            return Err(SimError::NoSlice);
        }
        if !self.has_begun {
            self.has_begun = true;
            self.start()?;
        }
        if self.end >= self.options.until || self.is_over() {
            return Ok(None);
        }
        self.end = self.end.saturating_add(self.options.slice).min(self.options.until);
        self.run_before(self.end)?;
        self.note_unfinished();
        Ok(Some(self.meter.take(self.end)))
    }

    fn note_unfinished(&mut self) {
        for (place, instance) in self.instances.as_mut().iter().enumerate() {
            self.meter.waits(self.end, place, &instance.machine);
        }
        for (instance, flight) in self.tickets.under_way() {
            self.meter.under_way(self.end, instance, flight);
        }
        for (instance, flight) in self.calls.under_way() {
            self.meter.call_under_way(self.end, instance, flight);
        }
    }

    /// Returns true if the run was stopped and has nothing left to wait for.
    fn is_over(&mut self) -> bool {
        let is_idle = self.outcome.submitted == self.outcome.completed;
        self.is_stopped && (is_idle || self.queue.is_empty())
    }

    fn start(&mut self) -> Result<(), SimError> {
        for place in 0..self.instances.as_mut().len() {
            let id = u32::try_from(place).expect("fewer than 2^32 instances");
            self.deliver(Nanos::ZERO, id, Event::Start)?;
        }
        Ok(())
    }

    fn run_before(&mut self, end: Nanos) -> Result<(), SimError> {
        while let Some((now, pending)) = self.queue.pop_before(end) {
            match pending {
                Pending::Timer(..) | Pending::Ran(..) if self.is_stopped => {}
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
                    if !self.is_stopped {
                        self.deliver(now, instance, Event::Done(token, result))?;
                    }
                }
                Pending::Called(ticket, result) => {
                    let (instance, flight) = self.calls.redeem(ticket);
                    self.outcome.completed += 1;
                    self.meter.called(now, instance as usize, &flight, result);
                    if !self.is_stopped {
                        self.deliver(now, instance, Event::Done(flight.call.token, result))?;
                    }
                }
                Pending::ServiceAlarm(alarm) => {
                    self.services.wake(now, alarm, &mut self.service_effects);
                    self.apply_services(now);
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
                .as_mut()
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
        self.instances.as_mut()[instance as usize].machine.handle(now, event, &mut self.effects);
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
        for call in effects.calls.drain(..) {
            self.meter.submitted(now);
            self.outcome.submitted += 1;
            let ticket = self.calls.issue(instance, CallInFlight { call, made: now });
            let of = (instance as usize, ticket);
            self.services.submit(now, of, &call, &mut self.service_effects);
            self.apply_services(now);
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

    fn apply_services(&mut self, now: Nanos) {
        let ModelEffects { done, alarms, .. } = &mut self.service_effects;
        for (at, ticket, result) in done.drain(..) {
            self.queue.push(at.max(now), Pending::Called(ticket, result));
        }
        for (at, alarm) in alarms.drain(..) {
            self.queue.push(at.max(now), Pending::ServiceAlarm(alarm));
        }
    }

    #[inline]
    fn apply_model(&mut self, now: Nanos) {
        let ModelEffects { done, ran, alarms } = &mut self.model_effects;
        if !done.is_empty() {
            for (at, ticket, result) in done.drain(..) {
                self.queue.push(at.max(now), Pending::Done(ticket, result));
            }
        }
        if !ran.is_empty() {
            for (at, instance, token) in ran.drain(..) {
                let instance = u32::try_from(instance).expect("fewer than 2^32 instances");
                self.queue.push(at.max(now), Pending::Ran(instance, token));
            }
        }
        if !alarms.is_empty() {
            for (at, alarm) in alarms.drain(..) {
                self.queue.push(at.max(now), Pending::Alarm(alarm));
            }
        }
    }
}
