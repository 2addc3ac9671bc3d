use std::sync::Arc;

use state_machine::{
    ActionDone, ActionId, DiskId, Effects, Event, GroupId, IoRequest, KindId, Machine, Observation,
    Operation, Pattern, Token,
};
use units::{Bytes, Nanos};

use super::{Mapping, Schedule, Waits};
use crate::instance::Seeds;
use crate::payload::{Data, Payload};

/// State machine that replays a schedule once, from its start.
///
/// Every I/O is submitted once. It is due at its recorded time, or at a pause after the completion
/// that it waits for. A late driver does not change the due time, so the response time counts from
/// the due time.
#[derive(Debug, Clone)]
pub struct ReplayMachine {
    schedule: Arc<Schedule>,
    mapping: Mapping,
    payload: Payload,
    data: Data,
    pub(crate) seeds: Seeds,
    /// Ranges of steps that wait for their time. Free entries are reused.
    stretches: Vec<Stretch>,
    free: Vec<u32>,
    answered: u64,
    ok: bool,
}

/// Range of consecutive steps whose times count from the same moment.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    next: u32,
    end: u32,
    since: Nanos,
}

impl ReplayMachine {
    pub(crate) fn new(schedule: Arc<Schedule>, mapping: Mapping, data: Data, seeds: Seeds) -> Self {
        let payload = seeds.payload();
        Self {
            schedule,
            mapping,
            payload,
            data,
            seeds,
            stretches: Vec::new(),
            free: Vec::new(),
            answered: 0,
            ok: true,
        }
    }

    /// Creates the replay of another round. Only the content of its writes differs. Call it before
    /// this replay has received an event.
    #[must_use]
    pub fn in_round(&self, round: u64) -> Self {
        let mut other = self.clone();
        other.seeds.round = round;
        other.payload = other.seeds.payload();
        other
    }

    /// Returns the replayed schedule.
    pub fn schedule(&self) -> &Arc<Schedule> {
        &self.schedule
    }

    /// Returns the mapping of its I/Os onto disks.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Sets the alignment of the start and end of requests: a power of two, at least 512 B.
    pub fn align_to(&mut self, unit: Bytes) {
        self.mapping = self.mapping.in_units_of(unit);
    }

    /// Submits the due steps of a range, and sets a timer for the next one.
    fn go_on(&mut self, slot: u32, now: Nanos, fx: &mut Effects) {
        let Stretch { mut next, end, since } = self.stretches[slot as usize];
        while next < end {
            let due = since.saturating_add(self.schedule.steps[next as usize].after);
            if due > now {
                self.stretches[slot as usize].next = next;
                fx.wake_at(due, Token(slot));
                return;
            }
            let request = self.request(next, due);
            fx.submit(request);
            next += 1;
        }
        self.free.push(slot);
    }

    fn begin(&mut self, stretch: Stretch, now: Nanos, fx: &mut Effects) {
        if stretch.next == stretch.end {
            return;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.stretches.push(stretch);
            u32::try_from(self.stretches.len() - 1).expect("fewer than steps")
        });
        self.stretches[slot as usize] = stretch;
        self.go_on(slot, now, fx);
    }

    #[inline]
    fn request(&mut self, place: u32, due: Nanos) -> IoRequest {
        let step = &self.schedule.steps[place as usize];
        let (offset, length) = match step.operation {
            Operation::Flush => (0, 0),
            _ => self.mapping.place(step),
        };
        let pattern = match step.operation {
            Operation::Write => self.payload.next(&self.data),
            _ => Pattern::default(),
        };
        IoRequest {
            token: Token(place),
            disk: DiskId(step.disk),
            operation: step.operation,
            kind: KindId(step.operation as u16),
            offset,
            length,
            due,
            pattern,
            durable: false,
        }
    }

    fn done(&mut self, place: u32, is_ok: bool, now: Nanos, fx: &mut Effects) {
        self.answered += 1;
        self.ok &= is_ok;
        let step = &self.schedule.steps[place as usize];
        let stretch = Stretch { next: step.first, end: step.first + step.waiting, since: now };
        self.begin(stretch, now, fx);
        if self.answered == self.schedule.len() {
            self.tell_the_end(now, fx);
        }
    }

    fn tell_the_end(&self, now: Nanos, fx: &mut Effects) {
        fx.observe(Observation::Action(ActionDone {
            action: ActionId(0),
            group: GroupId(0),
            intended: Nanos::ZERO,
            started: Nanos::ZERO,
            finished: now,
            ok: self.ok,
        }));
    }
}

impl Machine for ReplayMachine {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match event {
            Event::Start => {
                let schedule = Arc::clone(&self.schedule);
                for root in &schedule.roots {
                    let stretch = Stretch { next: root.start, end: root.end, since: Nanos::ZERO };
                    self.begin(stretch, now, fx);
                }
            }
            Event::Timer(Token(slot)) => self.go_on(slot, now, fx),
            Event::Done(Token(place), result) => self.done(place, result.is_ok(), now, fx),
            // A replay asks for no CPU.
            Event::Ran(_) => {}
        }
        debug_assert!(
            self.schedule.waits() == Waits::ForAnswers || self.stretches.len() <= 1,
            "a replay with fixed times has one phase"
        );
    }
}
