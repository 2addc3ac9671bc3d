//! Instances of a worker that arrive, leave or pause.

use std::sync::mpsc::Sender;

use state_machine::{Event, Machine};
use units::Nanos;

use super::{Alarm, Burn, Waiting, Worker};
use crate::backend::Backend;
use crate::moving::{Carried, Fire, MoveError, Order, Put};
use crate::telemetry::Outlet;
use crate::verify::Tracker;

type Taken = Result<(Carried, Vec<Tracker>), MoveError>;

/// Presence of an instance on this worker.
pub(super) enum Presence {
    Here,
    Absent,
    /// The instance waits for its last completion. It issues no more requests and gets no events.
    Leaving {
        carried: Box<Carried>,
        to: Sender<Taken>,
    },
}

impl<M: Machine, B: Backend, O: Outlet> Worker<M, B, O> {
    /// Carries out orders, and releases leaving instances whose I/Os have completed.
    pub(super) fn obey(&mut self) {
        while let Some(order) = self.orders.as_ref().and_then(crate::moving::OrderLine::next) {
            match order {
                Order::Take { instance, to } => self.begin_to_leave(instance, to),
                Order::Put { put, to } => {
                    let done = self.put(*put);
                    // The sender of the order may be gone.
                    let _ = to.send(done);
                }
                Order::Stand { until } => self.stand_still(until),
            }
        }
        if self.leaving > 0 {
            self.let_go();
        }
    }

    fn begin_to_leave(&mut self, instance: u32, to: Sender<Taken>) {
        let own = &mut self.instances[instance as usize];
        if !matches!(own.presence, Presence::Here) {
            let _ = to.send(Err(MoveError::Absent(instance)));
            return;
        }
        let Some(machine) = own.machine.saved() else {
            let _ = to.send(Err(MoveError::Machine(instance)));
            return;
        };
        let is_own = |waiting: &&Waiting| waiting.instance == instance;
        let waiting = self.waiting.iter().filter(is_own).map(|waiting| waiting.request).collect();
        self.waiting.retain(|waiting| waiting.instance != instance);
        let burning = self.burning.iter().filter(|burn| burn.instance == instance);
        let bursts = burning.map(|burn| (burn.token, burn.left)).collect();
        self.burning.retain(|burn| burn.instance != instance);
        let (timers, events, left) = (Vec::new(), Vec::new(), self.now);
        let carried = Box::new(Carried { machine, timers, bursts, waiting, events, left });
        own.presence = Presence::Leaving { carried, to };
        self.leaving += 1;
    }

    /// Releases leaving instances without anything in flight.
    fn let_go(&mut self) {
        for instance in 0..self.instances.len() {
            let number = u32::try_from(instance).expect("fewer than 2^32");
            let is_leaving = matches!(self.instances[instance].presence, Presence::Leaving { .. });
            if !is_leaving || self.has_open(number) {
                continue;
            }
            let own = &mut self.instances[instance];
            let before = std::mem::replace(&mut own.presence, Presence::Absent);
            let Presence::Leaving { mut carried, to } = before else { continue };
            let disks = own.first_disk..own.first_disk + own.disks;
            let timers = self.wheel.take_out(|alarm: &Alarm| alarm.instance == number);
            carried.timers =
                timers.into_iter().map(|(at, alarm)| (at, alarm.token, alarm.fire)).collect();
            self.leaving -= 1;
            let _ = to.send(Ok((*carried, self.content.give_up(disks))));
        }
    }

    /// Returns true if an I/O or call of the instance is still open.
    fn has_open(&self, instance: u32) -> bool {
        let Some(calls) = &self.calls else { return self.slots.has(instance) };
        self.slots.has(instance)
            || calls.has_answers()
            || calls.open().any(|open| open.instance == instance)
    }

    /// Keeps an event for a paused instance. Returns false if the instance is running.
    pub(super) fn keep_back(&mut self, instance: u32, event: Event) -> bool {
        match &mut self.instances[instance as usize].presence {
            Presence::Here => false,
            Presence::Leaving { carried, .. } => {
                carried.events.push(event);
                true
            }
            Presence::Absent => true,
        }
    }

    fn put(&mut self, put: Put) -> Result<Nanos, MoveError> {
        let Put { instance, carried, trackers } = put;
        let own = &mut self.instances[instance as usize];
        if !matches!(own.presence, Presence::Absent) {
            return Err(MoveError::Present(instance));
        }
        let state = carried.as_ref().map(|carried| &carried.machine).or(own.initial.as_ref());
        if !state.is_some_and(|state| own.machine.go_on_from(state)) {
            return Err(MoveError::Machine(instance));
        }
        self.content.follow_again(own.first_disk, trackers);
        own.presence = Presence::Here;
        // The clock here may be a little behind the one that the instance left by.
        self.now = self.now.max(carried.as_ref().map_or(Nanos::ZERO, |carried| carried.left));
        let since = self.now;
        own.since = since;
        match carried {
            Some(carried) => self.go_on(instance, carried),
            None => {
                own.machine.begin_at(since);
                self.deliver(instance, Event::Start);
            }
        }
        Ok(since)
    }

    /// Resumes an instance: delivers its kept events and submits its waiting requests. Timers that
    /// came due meanwhile are not counted as late.
    fn go_on(&mut self, instance: u32, carried: Carried) {
        let Carried { machine: _, timers, bursts, waiting, events, left: _ } = carried;
        for request in waiting {
            self.ask(instance, request);
        }
        self.burning.extend(bursts.into_iter().map(|(token, left)| Burn { instance, token, left }));
        for event in events {
            self.deliver(instance, event);
        }
        for (at, token, fire) in timers {
            let alarm = Alarm { instance, token, fire };
            if at > self.now {
                self.wheel.insert(at, alarm);
            } else {
                self.deliver(instance, alarm.event());
            }
        }
    }

    /// Pauses until the given time. Only slices are still completed.
    fn stand_still(&mut self, until: Nanos) {
        let from = self.backend.now();
        let mut now = from;
        while now < until && !self.is_over() {
            let next = until.min(self.slice_end).min(now + super::STOP_POLL);
            std::thread::sleep(next.saturating_sub(now).to_duration());
            now = self.backend.now();
            self.now = self.now.max(now);
            self.end_slice_if_due();
        }
        self.held.add(from, now);
    }
}

impl Alarm {
    /// Returns the event that the timer delivers to its instance.
    pub(super) const fn event(self) -> Event {
        match self.fire {
            Fire::Timer => Event::Timer(self.token),
            Fire::Ran => Event::Ran(self.token),
            Fire::Failed(error) => Event::Done(self.token, Err(error)),
        }
    }
}
