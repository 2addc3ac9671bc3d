use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::{ActionId, Call, GroupId, IoError, IoRequest, Token};

/// Event that is delivered to a state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The run starts. It is delivered once, first.
    Start,
    /// A timer that was set with [`Effects::wake_at`] is due.
    Timer(Token),
    /// An I/O request or a call is complete.
    Done(Token, Result<(), IoError>),
    /// A CPU burst is complete.
    Ran(Token),
}

/// State machine that decides only. It has no I/O, threads, clock or randomness of its own.
pub trait Machine {
    /// Handles one event at `now` and adds its effects to `fx`. `now` is the time since the run's
    /// start, and never decreases. An implementation never blocks and never reads a clock.
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects);

    /// Calls `each` for every action that a user waits for at `now`. These are actions that have
    /// begun and are unfinished, that are queued, or that were due before `now`. The last have not
    /// begun because the driver has not passed the time on since. An action that is unfinished at
    /// the end of a measurement has taken at least that long. State machines without actions report
    /// none.
    fn waiting_for(&self, _now: Nanos, _each: &mut dyn FnMut(ActionOpen)) {}

    /// Returns all state that has changed since the state machine was built; `None` if it cannot be
    /// saved. An equally built state machine can continue from it ([`Machine::go_on_from`]).
    fn saved(&self) -> Option<Vec<u8>> {
        None
    }

    /// Continues from the saved state of an equally built state machine. Returns true on success.
    /// The driver must also transfer pending completions, timers and CPU bursts.
    fn go_on_from(&mut self, _saved: &[u8]) -> bool {
        false
    }

    /// Starts the users at `at` instead of the start of the run; earlier arrivals are skipped. It
    /// is called before [`Event::Start`]. Schedules still count from the start of the run.
    fn begin_at(&mut self, _at: Nanos) {}
}

/// Action that is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionOpen {
    /// Index of the action.
    pub action: ActionId,
    /// True if it has begun.
    pub has_begun: bool,
    /// Intended start of the action.
    pub intended: Nanos,
}

/// CPU work between I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuBurst {
    /// Token that is returned with [`Event::Ran`].
    pub token: Token,
    /// CPU time of the work on an idle core.
    pub cost: Nanos,
    /// True if a real driver keeps a core busy for this time; false if it only waits.
    pub burn: bool,
    /// Virtual machine that computes, from 0. A modelled host gives each virtual machine its own
    /// virtual CPUs; real drivers ignore this field.
    pub vm: u16,
}

/// Finished action of a user: a whole dialogue, from the intended start to the last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionDone {
    /// Index of the action.
    pub action: ActionId,
    /// Group of the user.
    pub group: GroupId,
    /// Intended start of the action.
    pub intended: Nanos,
    /// Time at which the first step was emitted.
    pub started: Nanos,
    /// Time at which the last step completed.
    pub finished: Nanos,
    /// True if every I/O and call in it succeeded.
    pub ok: bool,
}

/// Report of a state machine to its observer. The latencies of I/Os and calls are not reported: the
/// driver observes them itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation {
    /// An action finished.
    Action(ActionDone),
    /// A paced or open group dropped the start of an action because its backlog was full.
    Dropped {
        /// Group of the user.
        group: GroupId,
        /// Intended start that was dropped.
        intended: Nanos,
    },
}

/// Effects of a state machine, in the order of emission. A driver drains the lists after every
/// event and reuses them, so that no memory is allocated in steady operation.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    /// Requests to submit.
    pub io: Vec<IoRequest>,
    /// Calls to make.
    pub calls: Vec<Call>,
    /// Timers to set: the absolute time, and the token to return.
    pub timers: Vec<(Nanos, Token)>,
    /// CPU bursts to run.
    pub cpu: Vec<CpuBurst>,
    /// Observations to record.
    pub observations: Vec<Observation>,
}

impl Effects {
    /// Adds an I/O request.
    #[inline]
    pub fn submit(&mut self, request: IoRequest) {
        self.io.push(request);
    }

    /// Adds a call.
    #[inline]
    pub fn call(&mut self, call: Call) {
        self.calls.push(call);
    }

    /// Adds a timer: [`Event::Timer`] follows at `at`, or immediately if `at` has passed.
    #[inline]
    pub fn wake_at(&mut self, at: Nanos, token: Token) {
        self.timers.push((at, token));
    }

    /// Adds a CPU burst: [`Event::Ran`] follows when the work is done.
    #[inline]
    pub fn run_cpu(&mut self, burst: CpuBurst) {
        self.cpu.push(burst);
    }

    /// Adds an observation.
    #[inline]
    pub fn observe(&mut self, observation: Observation) {
        self.observations.push(observation);
    }

    /// Removes all effects and keeps the memory.
    pub fn clear(&mut self) {
        self.io.clear();
        self.calls.clear();
        self.timers.clear();
        self.cpu.clear();
        self.observations.clear();
    }

    /// Returns true if there are no effects.
    pub fn is_empty(&self) -> bool {
        self.io.is_empty()
            && self.calls.is_empty()
            && self.timers.is_empty()
            && self.cpu.is_empty()
            && self.observations.is_empty()
    }
}
