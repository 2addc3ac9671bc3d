use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use hardware::{ModelEffects, Ticket};
use sim::Model;
use state_machine::Slab;
use state_machine::{IoError, IoRequest};
use units::Nanos;

/// Runs a model for requests from outside; the owner supplies the time.
///
/// It never reads a clock. [`Self::run_until`] runs the model's events, each at its own time
/// however late the call is, so that lateness never changes the model.
#[derive(Debug)]
pub struct Desk<M: Model, R> {
    model: M,
    now: Nanos,
    events: BinaryHeap<Reverse<Entry<M::Alarm>>>,
    sequence: u64,
    effects: ModelEffects<M::Alarm>,
    waiting: Slab<Waiting<R>>,
    /// True for each position of `waiting` in use; needed when all requests are answered at the
    /// end.
    places: Vec<bool>,
    ready: Vec<Answer<R>>,
}

/// Answer to a request.
#[derive(Debug)]
pub struct Answer<R> {
    /// Time at which the answer is to be sent.
    pub due: Nanos,
    /// Result from the model.
    pub result: Result<(), IoError>,
    /// Rule whose span delayed the answer.
    pub held: Option<usize>,
    /// Reply passed to `submit`.
    pub reply: R,
}

/// Effects of faults on the time of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hold {
    /// Delay added to the model's time.
    pub delay: Nanos,
    /// Spans in which no answer is sent.
    pub spans: Vec<Span>,
}

/// Time span without answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First instant.
    pub from: Nanos,
    /// First instant after the span.
    pub until: Nanos,
    /// Position of the span's rule.
    pub rule: usize,
}

impl Hold {
    /// Returns the time at which to send an answer that the model gives at `at`, and the rule that
    /// delayed it last.
    pub fn release(&self, at: Nanos) -> (Nanos, Option<usize>) {
        let mut release = (at.saturating_add(self.delay), None);
        let is_in = |span: &&Span, at: Nanos| span.from <= at && at < span.until;
        while let Some(span) = self.spans.iter().find(|span| is_in(span, release.0)) {
            release = (span.until, Some(span.rule));
        }
        release
    }
}

#[derive(Debug)]
struct Waiting<R> {
    parts: usize,
    result: Result<(), IoError>,
    hold: Hold,
    reply: R,
}

#[derive(Debug, Clone, Copy)]
enum Event<A> {
    Alarm(A),
    Done(Ticket, Result<(), IoError>),
    Release(u32, Option<usize>),
}

#[derive(Debug)]
struct Entry<A> {
    key: (Nanos, u64),
    event: Event<A>,
}

impl<A> PartialEq for Entry<A> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<A> Eq for Entry<A> {}

impl<A> PartialOrd for Entry<A> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<A> Ord for Entry<A> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl<M: Model, R> Desk<M, R> {
    /// Makes the desk of a model at time 0.
    pub fn new(model: M) -> Self {
        Self {
            model,
            now: Nanos::ZERO,
            events: BinaryHeap::new(),
            sequence: 0,
            effects: ModelEffects::default(),
            waiting: Slab::new(),
            places: Vec::new(),
            ready: Vec::new(),
        }
    }

    /// Returns the model, for its counters.
    pub fn model_mut(&mut self) -> &mut M {
        &mut self.model
    }

    /// Submits a request of several parts, each for an instance of the model. The request is
    /// answered with the last part, or at once if there are no parts. A time before the last call's
    /// time is replaced by it.
    pub fn submit(&mut self, now: Nanos, parts: &[(usize, IoRequest)], (hold, reply): (Hold, R)) {
        self.run_until(now);
        let waiting = Waiting { parts: parts.len(), result: Ok(()), hold, reply };
        let place = self.waiting.insert(waiting);
        self.set_used(place, true);
        if parts.is_empty() {
            self.answered(self.now, place);
        }
        for (instance, request) in parts {
            self.model.submit(self.now, (*instance, Ticket(place)), request, &mut self.effects);
            self.take_effects(self.now);
        }
        // An immediate answer need not wait for the next call.
        self.run_until(now);
    }

    /// Runs all events up to a time, inclusive.
    pub fn run_until(&mut self, now: Nanos) {
        while let Some(Reverse(next)) = self.events.peek()
            && next.key.0 <= now
        {
            let Some(Reverse(Entry { key: (at, _), event })) = self.events.pop() else { break };
            self.now = self.now.max(at);
            match event {
                Event::Alarm(alarm) => {
                    self.model.wake(at, alarm, &mut self.effects);
                    self.take_effects(at);
                }
                Event::Done(ticket, result) => self.part_done(at, ticket.0, result),
                Event::Release(place, held) => self.release(at, place, held),
            }
        }
        self.now = self.now.max(now);
    }

    /// Returns the time of the next event; 0 if answers are ready.
    pub fn next(&self) -> Option<Nanos> {
        let next = self.events.peek().map(|Reverse(next)| next.key.0);
        if self.ready.is_empty() { next } else { Some(Nanos::ZERO) }
    }

    /// Moves ready answers to a list, sorted by their due times.
    pub fn take_ready(&mut self, into: &mut Vec<Answer<R>>) {
        into.append(&mut self.ready);
    }

    /// Returns true if no request is in flight.
    pub fn is_idle(&self) -> bool {
        !self.places.contains(&true) && self.ready.is_empty()
    }

    /// Answers all requests in flight now; the model is not used again.
    pub fn let_go(&mut self) {
        self.events.clear();
        for place in 0..self.places.len() {
            if self.places[place] {
                let place = u32::try_from(place).expect("fewer than 2^32 requests are in flight");
                self.release(self.now, place, None);
            }
        }
    }

    fn push(&mut self, at: Nanos, event: Event<M::Alarm>) {
        self.sequence += 1;
        self.events.push(Reverse(Entry { key: (at, self.sequence), event }));
    }

    fn take_effects(&mut self, now: Nanos) {
        let mut effects = std::mem::take(&mut self.effects);
        for (at, ticket, result) in effects.done.drain(..) {
            self.push(at.max(now), Event::Done(ticket, result));
        }
        for (at, alarm) in effects.alarms.drain(..) {
            self.push(at.max(now), Event::Alarm(alarm));
        }
        // No CPU work was requested.
        effects.ran.clear();
        self.effects = effects;
    }

    fn part_done(&mut self, at: Nanos, place: u32, result: Result<(), IoError>) {
        let waiting = &mut self.waiting[place];
        waiting.parts -= 1;
        waiting.result = waiting.result.and(result);
        if waiting.parts == 0 {
            self.answered(at, place);
        }
    }

    fn answered(&mut self, at: Nanos, place: u32) {
        let (release, held) = self.waiting[place].hold.release(at);
        if release > at {
            self.push(release, Event::Release(place, held));
        } else {
            self.release(at, place, held);
        }
    }

    fn release(&mut self, due: Nanos, place: u32, held: Option<usize>) {
        let Waiting { result, reply, .. } = self.waiting.remove(place);
        self.set_used(place, false);
        self.ready.push(Answer { due, result, held, reply });
    }

    fn set_used(&mut self, place: u32, is_used: bool) {
        let place = place as usize;
        if place >= self.places.len() {
            self.places.resize(place + 1, false);
        }
        self.places[place] = is_used;
    }
}
