use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::{ActionId, Call, GroupId, IoError, IoRequest, Token};

/// Input of a state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Start of the run. Delivered once, first.
    Start,
    /// A timer set with [`Effects::wake_at`] has come due.
    Timer(Token),
    /// A request or a call has been answered.
    Done(Token, Result<(), IoError>),
    /// A CPU burst has run.
    Ran(Token),
}

/// Something that decides: no I/O, no threads, no clock, no randomness of its own.
pub trait Machine {
    /// Handles one event at `now` (time since the run's start, never decreasing) and writes its
    /// effects into `fx`. Never blocks and never reads a clock.
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects);

    /// Calls `each` for every action that a user waits for at `now`: begun and unfinished, queued,
    /// or due before `now` and not begun, because the driver has not passed the time on since.
    /// Actions that are unfinished at the end of a measurement have taken at least that long. State
    /// machines without actions have none.
    fn waiting_for(&self, _now: Nanos, _each: &mut dyn FnMut(ActionOpen)) {}

    /// All state that has changed since it was built, from which an equally built one can continue
    /// ([`Machine::go_on_from`]). `None` if it cannot be saved.
    fn saved(&self) -> Option<Vec<u8>> {
        None
    }

    /// Continues from the saved state of an equally built state machine; true if it did. The driver
    /// must also transfer pending completions, timers and CPU bursts.
    fn go_on_from(&mut self, _saved: &[u8]) -> bool {
        false
    }

    /// Starts the users at this time, not at the start of the run: earlier arrivals are skipped.
    /// Called before [`Event::Start`]; schedules keep the run's clock.
    fn begin_at(&mut self, _at: Nanos) {}
}

/// An action that is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionOpen {
    /// Id of the action.
    pub action: ActionId,
    /// True if it has begun.
    pub has_begun: bool,
    /// Intended start of its user.
    pub intended: Nanos,
}

/// CPU work between I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuBurst {
    /// Returned with [`Event::Ran`].
    pub token: Token,
    /// Time of the work on an idle core.
    pub cost: Nanos,
    /// True if a real driver burns a core for it, false if it only waits.
    pub burn: bool,
    /// Virtual machine that computes, counted from 0: a modelled host gives each its own virtual
    /// CPUs. Real drivers ignore it.
    pub vm: u16,
}

/// A finished user action: a whole dialogue, from intended start to last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionDone {
    /// Id of the action.
    pub action: ActionId,
    /// Group of the user.
    pub group: GroupId,
    /// Intended start of the user.
    pub intended: Nanos,
    /// Time at which the first step was emitted.
    pub started: Nanos,
    /// Time at which the last step completed.
    pub finished: Nanos,
    /// True if every I/O and call in it succeeded.
    pub ok: bool,
}

/// Report of a state machine to its observer. The driver itself observes I/O and call latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation {
    /// Finished action.
    Action(ActionDone),
    /// A paced or open group could not start an action because its backlog was full.
    Dropped {
        /// Group of the user.
        group: GroupId,
        /// Intended start that was given up.
        intended: Nanos,
    },
}

/// Effects of a state machine, in the order of emission. Drivers drain it after every event and
/// reuse it, so that steady running allocates nothing.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    /// Requests to submit.
    pub io: Vec<IoRequest>,
    /// Calls to make.
    pub calls: Vec<Call>,
    /// Timers to set: an absolute time and the token to return.
    pub timers: Vec<(Nanos, Token)>,
    /// CPU bursts to run.
    pub cpu: Vec<CpuBurst>,
    /// Things observed.
    pub observations: Vec<Observation>,
}

impl Effects {
    /// Submits a request.
    #[inline]
    pub fn submit(&mut self, request: IoRequest) {
        self.io.push(request);
    }

    /// Makes a call.
    #[inline]
    pub fn call(&mut self, call: Call) {
        self.calls.push(call);
    }

    /// Asks for [`Event::Timer`] at `at`; a time that has passed fires at once.
    #[inline]
    pub fn wake_at(&mut self, at: Nanos, token: Token) {
        self.timers.push((at, token));
    }

    /// Asks for [`Event::Ran`] when the work is done.
    #[inline]
    pub fn run_cpu(&mut self, burst: CpuBurst) {
        self.cpu.push(burst);
    }

    /// Reports an observation.
    #[inline]
    pub fn observe(&mut self, observation: Observation) {
        self.observations.push(observation);
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.io.clear();
        self.calls.clear();
        self.timers.clear();
        self.cpu.clear();
        self.observations.clear();
    }

    /// True without effects.
    pub fn is_empty(&self) -> bool {
        self.io.is_empty()
            && self.calls.is_empty()
            && self.timers.is_empty()
            && self.cpu.is_empty()
            && self.observations.is_empty()
    }
}
