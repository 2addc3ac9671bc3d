use hardware::{Alarm, Array, ModelEffects, Site, SiteAlarm, Ticket};
use state_machine::{CpuBurst, IoRequest};
use units::Nanos;

/// Modelled storage and hosts that let time pass by alarms. Queues may reorder waiting requests
/// until a server takes one.
pub trait Model {
    /// Timer that the model sets for a later time.
    type Alarm: Copy;

    /// Accepts a request of the instance at this position (in the list given to the run). The model
    /// answers it once, now or later, with the ticket.
    fn submit(
        &mut self,
        now: Nanos,
        of: (usize, Ticket),
        request: &IoRequest,
        fx: &mut ModelEffects<Self::Alarm>,
    );

    /// Accepts a CPU burst of an instance. By default every burst has a core of its own.
    fn run_cpu(
        &mut self,
        now: Nanos,
        instance: usize,
        burst: &CpuBurst,
        fx: &mut ModelEffects<Self::Alarm>,
    ) {
        fx.ran.push((now.saturating_add(burst.cost), instance, burst.token));
    }

    /// Handles an alarm that is due.
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

/// Storage without hosts: each CPU burst has a core of its own.
impl Model for Array {
    type Alarm = Alarm;

    fn submit(
        &mut self,
        now: Nanos,
        (instance, ticket): (usize, Ticket),
        request: &IoRequest,
        fx: &mut ModelEffects<Alarm>,
    ) {
        Self::submit(self, now, instance, ticket, request, fx);
    }

    fn wake(&mut self, now: Nanos, alarm: Alarm, fx: &mut ModelEffects<Alarm>) {
        Self::wake(self, now, alarm, fx);
    }
}

/// Hosts with CPUs and the storage they share.
impl Model for Site {
    type Alarm = SiteAlarm;

    fn submit(
        &mut self,
        now: Nanos,
        of: (usize, Ticket),
        request: &IoRequest,
        fx: &mut ModelEffects<SiteAlarm>,
    ) {
        Self::submit(self, now, of, request, fx);
    }

    fn run_cpu(
        &mut self,
        now: Nanos,
        instance: usize,
        burst: &CpuBurst,
        fx: &mut ModelEffects<SiteAlarm>,
    ) {
        Self::run_cpu(self, now, instance, burst, fx);
    }

    fn wake(&mut self, now: Nanos, alarm: SiteAlarm, fx: &mut ModelEffects<SiteAlarm>) {
        Self::wake(self, now, alarm, fx);
    }
}
