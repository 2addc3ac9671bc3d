use device::{Alarm, Answers, Array, Site, SiteAlarm, SiteEffects, Ticket};
use machine::{CpuBurst, IoError, IoRequest, Token};
use units::Nanos;

/// Modelled storage and hosts that let time pass by alarms: queues may change the order of
/// what waits until the moment a server takes it.
pub trait Model {
    /// What it wants to be reminded of.
    type Alarm: Copy;

    /// Takes a request of the instance at this position (in the list the run was given). The
    /// model answers it once, now or later, with the ticket.
    fn submit(
        &mut self,
        now: Nanos,
        of: (usize, Ticket),
        request: &IoRequest,
        fx: &mut ModelEffects<Self::Alarm>,
    );

    /// Takes a CPU burst of an instance. Unless overridden, every burst has a core of its own.
    fn run_cpu(
        &mut self,
        now: Nanos,
        instance: usize,
        burst: &CpuBurst,
        fx: &mut ModelEffects<Self::Alarm>,
    ) {
        fx.ran.push((now.saturating_add(burst.cost), instance, burst.token));
    }

    /// An alarm has come due.
    fn wake(&mut self, now: Nanos, alarm: Self::Alarm, fx: &mut ModelEffects<Self::Alarm>);
}

impl<D: Model + ?Sized> Model for &mut D {
    type Alarm = D::Alarm;

    #[inline]
    fn submit(
        &mut self,
        now: Nanos,
        of: (usize, Ticket),
        request: &IoRequest,
        fx: &mut ModelEffects<Self::Alarm>,
    ) {
        (**self).submit(now, of, request, fx);
    }

    #[inline]
    fn run_cpu(
        &mut self,
        now: Nanos,
        instance: usize,
        burst: &CpuBurst,
        fx: &mut ModelEffects<Self::Alarm>,
    ) {
        (**self).run_cpu(now, instance, burst, fx);
    }

    #[inline]
    fn wake(&mut self, now: Nanos, alarm: Self::Alarm, fx: &mut ModelEffects<Self::Alarm>) {
        (**self).wake(now, alarm, fx);
    }
}

/// What a model wants done. Times before the present count as the present. The driver
/// drains it after every call and reuses it.
#[derive(Debug)]
pub struct ModelEffects<A> {
    /// Requests answered at a time.
    pub done: Vec<(Nanos, Ticket, Result<(), IoError>)>,
    /// CPU bursts that end at a time: instance and token.
    pub ran: Vec<(Nanos, usize, Token)>,
    /// Alarms to set.
    pub alarms: Vec<(Nanos, A)>,
}

impl<A> Default for ModelEffects<A> {
    fn default() -> Self {
        Self { done: Vec::new(), ran: Vec::new(), alarms: Vec::new() }
    }
}

/// Storage without hosts: CPU bursts have a core each.
#[derive(Debug)]
pub struct Storage {
    array: Array,
    answers: Answers,
}

impl Storage {
    /// An array, ready to be driven.
    pub fn new(array: Array) -> Self {
        Self { array, answers: Answers::default() }
    }

    /// The array, for its counters.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// The array, when the run is over.
    pub fn into_array(self) -> Array {
        self.array
    }

    fn collect(&mut self, now: Nanos, fx: &mut ModelEffects<Alarm>) {
        fx.done.extend(self.answers.done.drain(..).map(|(ticket, result)| (now, ticket, result)));
        fx.alarms.append(&mut self.answers.alarms);
    }
}

impl Model for Storage {
    type Alarm = Alarm;

    fn submit(
        &mut self,
        now: Nanos,
        (instance, ticket): (usize, Ticket),
        request: &IoRequest,
        fx: &mut ModelEffects<Alarm>,
    ) {
        self.array.submit(now, instance, ticket, request, &mut self.answers);
        self.collect(now, fx);
    }

    fn wake(&mut self, now: Nanos, alarm: Alarm, fx: &mut ModelEffects<Alarm>) {
        self.array.wake(now, alarm, &mut self.answers);
        self.collect(now, fx);
    }
}

/// Hosts with CPUs and the storage they share.
#[derive(Debug)]
pub struct Hosted {
    site: Site,
    effects: SiteEffects,
}

impl Hosted {
    /// A site, ready to be driven.
    pub fn new(site: Site) -> Self {
        Self { site, effects: SiteEffects::default() }
    }

    /// The site, for its counters.
    pub fn site(&mut self) -> &mut Site {
        &mut self.site
    }

    /// The storage.
    pub fn parts(&self) -> &Array {
        &self.site.array
    }

    /// The storage, to change what its parts hold between events.
    pub fn parts_mut(&mut self) -> &mut Array {
        &mut self.site.array
    }

    fn collect(&mut self, now: Nanos, fx: &mut ModelEffects<SiteAlarm>) {
        let SiteEffects { answers, ran, cores } = &mut self.effects;
        // Most events have one effect: what is empty is not worth a call.
        if !answers.done.is_empty() {
            fx.done.extend(answers.done.drain(..).map(|(ticket, result)| (now, ticket, result)));
        }
        if !ran.is_empty() {
            fx.ran.append(ran);
        }
        if !cores.is_empty() {
            fx.alarms.append(cores);
        }
        if !answers.alarms.is_empty() {
            let alarms = answers.alarms.drain(..);
            fx.alarms.extend(alarms.map(|(at, alarm)| (at, SiteAlarm::Array(alarm))));
        }
    }
}

impl Model for Hosted {
    type Alarm = SiteAlarm;

    fn submit(
        &mut self,
        now: Nanos,
        of: (usize, Ticket),
        request: &IoRequest,
        fx: &mut ModelEffects<SiteAlarm>,
    ) {
        self.site.submit(now, of, request, &mut self.effects);
        self.collect(now, fx);
    }

    fn run_cpu(
        &mut self,
        now: Nanos,
        instance: usize,
        burst: &CpuBurst,
        fx: &mut ModelEffects<SiteAlarm>,
    ) {
        self.site.run_cpu(now, instance, burst, &mut self.effects);
        self.collect(now, fx);
    }

    fn wake(&mut self, now: Nanos, alarm: SiteAlarm, fx: &mut ModelEffects<SiteAlarm>) {
        self.site.wake(now, alarm, &mut self.effects);
        self.collect(now, fx);
    }
}
