use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use hardware::{ModelEffects, Ticket};
use sim::Model;
use state_machine::Slab;
use state_machine::{IoError, IoRequest};
use units::Nanos;

/// Plays a model for requests that come from outside: who owns it says what time it is.
///
/// It never asks a clock. [`Self::run_until`] lets the model do what it has to, each event at its
/// own time however late it is called, so that lateness never changes what the model does.
#[derive(Debug)]
pub struct Desk<M: Model, R> {
    model: M,
    now: Nanos,
    events: BinaryHeap<Reverse<Entry<M::Alarm>>>,
    sequence: u64,
    effects: ModelEffects<M::Alarm>,
    waiting: Slab<Waiting<R>>,
    /// Places of `waiting` in use, for the end.
    places: Vec<bool>,
    ready: Vec<Answer<R>>,
}

/// A request that is answered.
#[derive(Debug)]
pub struct Answer<R> {
    /// When it should be sent.
    pub due: Nanos,
    /// What the model says of it.
    pub result: Result<(), IoError>,
    /// The rule whose span held it back.
    pub held: Option<usize>,
    /// What it was submitted with.
    pub reply: R,
}

/// What faults do to the time of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hold {
    /// Added to the model's time.
    pub delay: Nanos,
    /// No answer is sent within these.
    pub spans: Vec<Span>,
}

/// A time in which nothing is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its first instant.
    pub from: Nanos,
    /// The first instant behind it.
    pub until: Nanos,
    /// Position of its rule.
    pub rule: usize,
}

impl Hold {
    /// When an answer that the model gives at a time is sent, and the rule that held it last.
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
    /// A model at time 0 that nobody has asked for anything.
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

    /// The model, for its counters.
    pub fn model_mut(&mut self) -> &mut M {
        &mut self.model
    }

    /// A request made of parts, each for an instance of the model; it is answered with the last
    /// of them, and at once if there are none. A time before that of the last call counts as that.
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
        // What is answered at once need not wait for the next call.
        self.run_until(now);
    }

    /// Lets everything happen that happens until a time, this instant included.
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

    /// When something happens next; time 0 if answers are ready.
    pub fn next(&self) -> Option<Nanos> {
        let next = self.events.peek().map(|Reverse(next)| next.key.0);
        if self.ready.is_empty() { next } else { Some(Nanos::ZERO) }
    }

    /// Hands over what is answered, in the order it became due.
    pub fn take_ready(&mut self, into: &mut Vec<Answer<R>>) {
        into.append(&mut self.ready);
    }

    /// Whether anything is under way.
    pub fn is_idle(&self) -> bool {
        !self.places.contains(&true) && self.ready.is_empty()
    }

    /// Gives up waiting: everything under way is ready now, and the model is not asked again.
    pub fn let_go(&mut self) {
        self.events.clear();
        for place in 0..self.places.len() {
            if self.places[place] {
                let place = u32::try_from(place).expect("fewer than 2^32 are under way");
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
        // Nobody asked for CPU.
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
