use std::num::NonZeroU64;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sim::plant::Plant;
use state_machine::{IoError, IoRequest};
use stats::Histogram;
use units::Nanos;

use crate::desk::{Answer, Desk, Hold};
use crate::report::{Lateness, Report};

/// Time before an event at which the thread stops sleeping and polls the clock. Sleeps end some 10
/// to 60 us late on ordinary kernels; longer polling would use too much of two cores.
const WATCH: Nanos = Nanos::from_micros(20);

/// Receiver of a request's result.
pub trait Reply: Send {
    /// Sends the answer; `held` is the rule that delayed it last.
    fn send(self, now: Nanos, result: Result<(), IoError>, held: Option<usize>);
}

/// Runs the model in real time: one thread sends due answers.
#[derive(Debug)]
pub struct Service<R> {
    begun: Instant,
    state: Mutex<State<R>>,
    wake: Condvar,
}

#[derive(Debug)]
struct State<R> {
    desk: Desk<Plant, R>,
    late: Histogram,
    /// Time until which the thread sleeps.
    asleep_until: Option<Nanos>,
    /// Next whole second of the model.
    second: Nanos,
    is_closed: bool,
}

impl<R: Reply> Service<R> {
    /// Creates the service and starts its time.
    pub fn new(plant: Plant) -> Self {
        let state = State {
            desk: Desk::new(plant),
            late: Histogram::new(),
            asleep_until: None,
            second: Nanos::SECOND,
            is_closed: false,
        };
        Self { begun: Instant::now(), state: Mutex::new(state), wake: Condvar::new() }
    }

    /// Returns the time since the start.
    pub fn now(&self) -> Nanos {
        self.begun.elapsed().into()
    }

    fn lock(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes a request to the model; after [`Self::close`] the request is answered at once.
    pub fn submit(&self, parts: &[(usize, IoRequest)], hold: Hold, reply: R) {
        let mut state = self.lock();
        let now = self.now();
        if state.is_closed {
            drop(state);
            return reply.send(now, Ok(()), None);
        }
        state.tick(now);
        state.desk.submit(now, parts, (hold, reply));
        let next = state.desk.next();
        let must_wake = match (next, state.asleep_until) {
            (Some(next), Some(until)) => next < until,
            _ => false,
        };
        drop(state);
        if must_wake {
            self.wake.notify_one();
        }
    }

    /// Sends answers when they are due, until [`Self::close`].
    pub fn run(&self) {
        // By default the kernel may end a sleep 50 us late, to save power.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut ready: Vec<Answer<R>> = Vec::new();
        let mut late: Vec<Nanos> = Vec::new();
        let mut state = self.lock();
        loop {
            late.drain(..).for_each(|late| state.late.record(late));
            state.desk.run_until(self.now());
            state.desk.take_ready(&mut ready);
            if !ready.is_empty() {
                drop(state);
                for Answer { due, result, held, reply } in ready.drain(..) {
                    let now = self.now();
                    late.push(now.saturating_sub(due));
                    reply.send(now, result, held);
                }
                state = self.lock();
            } else if state.is_closed {
                return;
            } else {
                state = self.wait(state);
            }
        }
    }

    fn wait<'a>(&'a self, mut state: MutexGuard<'a, State<R>>) -> MutexGuard<'a, State<R>> {
        let next = state.desk.next().unwrap_or(Nanos::MAX);
        let left = next.saturating_sub(self.now());
        if left <= WATCH {
            drop(state);
            while self.now() < next {
                std::hint::spin_loop();
            }
            return self.lock();
        }
        state.asleep_until = Some(next);
        let sleep = left.saturating_sub(WATCH).to_duration();
        let mut state = if next == Nanos::MAX {
            self.wake.wait(state).unwrap_or_else(PoisonError::into_inner)
        } else {
            self.wake.wait_timeout(state, sleep).unwrap_or_else(PoisonError::into_inner).0
        };
        state.asleep_until = None;
        state
    }

    /// Answers all present and later requests at once, because the file system is being unmounted.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.desk.let_go();
        drop(state);
        self.wake.notify_one();
    }

    /// Returns the report so far; faults are counted elsewhere.
    pub fn report(&self) -> Report {
        let mut state = self.lock();
        let now = self.now();
        if !state.is_closed {
            state.desk.run_until(now);
        }
        let model = state.desk.model_mut().facts(now);
        let lateness = Lateness::of(&state.late);
        Report { elapsed: now, lateness, model, faults: 0, wrong_reads: 0 }
    }
}

impl<R> State<R> {
    /// Runs the model's periodic work once a second, so that no data accumulate in it.
    fn tick(&mut self, now: Nanos) {
        if now >= self.second {
            self.desk.run_until(now);
            self.desk.model_mut().tick(now);
            self.second = now + Nanos::SECOND;
        }
    }
}
