use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::{ActionId, Call, GroupId, IoError, IoRequest, Token};

/// What happens to a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The run begins. Delivered once, first.
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
    /// Takes one event at `now` (time since the run's start, never decreasing) and writes
    /// what should happen into `fx`. Never blocks and never asks the time.
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects);

    /// Names every action that somebody waits for at `now`: begun and unfinished, in line, or due
    /// before `now` and not begun, because the driver has not told the machine the time since.
    /// What is unfinished when a measurement ends has taken at least so long. Machines without
    /// actions name none.
    fn waiting_for(&self, _now: Nanos, _each: &mut dyn FnMut(ActionOpen)) {}

    /// All that has changed since it was built, so that one built alike goes on from here as this one
    /// would ([`Machine::go_on_from`]). None of a machine that cannot.
    fn saved(&self) -> Option<Vec<u8>> {
        None
    }

    /// Takes over what another one that was built alike has saved; whether it did. A driver brings along
    /// what that one has been promised: answers, timers and CPU bursts.
    fn go_on_from(&mut self, _saved: &[u8]) -> bool {
        false
    }

    /// Its users come at this moment, not at the start of the run: what they would have begun before is
    /// not begun. Told before [`Event::Start`]; schedules keep the run's clock.
    fn begin_at(&mut self, _at: Nanos) {}
}

/// An action that is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionOpen {
    /// Which action.
    pub action: ActionId,
    /// Whether it has begun.
    pub has_begun: bool,
    /// When its user meant to start.
    pub intended: Nanos,
}

/// CPU work between I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuBurst {
    /// Returned with [`Event::Ran`].
    pub token: Token,
    /// How long the work takes on an idle core.
    pub cost: Nanos,
    /// Whether a real driver burns a core for it (true) or only waits (false).
    pub burn: bool,
    /// Which of the machine's virtual machines computes, counted from 0: a modelled host gives
    /// each its own virtual CPUs. Real drivers ignore it.
    pub vm: u16,
}

/// A finished user action: a whole dialogue, from intended start to last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionDone {
    /// Which action.
    pub action: ActionId,
    /// Whose user did it.
    pub group: GroupId,
    /// When the user meant to start.
    pub intended: Nanos,
    /// When the first step was emitted.
    pub started: Nanos,
    /// When the last step was answered.
    pub finished: Nanos,
    /// Whether every I/O and call in it succeeded.
    pub ok: bool,
}

/// What a machine tells its observer. I/O and call latencies are observed by the driver itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation {
    /// An action finished.
    Action(ActionDone),
    /// A paced or open group could not start an action because its backlog was full.
    Dropped {
        /// Which group.
        group: GroupId,
        /// The intended start that was given up.
        intended: Nanos,
    },
}

/// What a machine wants done, in the order it asked. Drivers drain it after every event
/// and reuse it, so that steady running allocates nothing.
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

    /// Whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.io.is_empty()
            && self.calls.is_empty()
            && self.timers.is_empty()
            && self.cpu.is_empty()
            && self.observations.is_empty()
    }
}
