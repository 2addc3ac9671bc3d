//! Calls of a worker, from its instances to the clients and back.

use run_store::recorder::CallDone;
use state_machine::{Call, CallError, Event, IoError, Machine};
use units::Nanos;

use super::{Alarm, ERROR_DELAY, Fire, Worker};
use crate::EngineError;
use crate::backend::Backend;
use crate::client::Called;
use crate::telemetry::Outlet;

impl<M: Machine, B: Backend, O: Outlet> Worker<M, B, O> {
    /// Returns the number of calls without an answer.
    pub(super) fn open_calls(&self) -> u64 {
        self.calls.as_ref().map_or(0, |calls| calls.open_count() as u64)
    }

    /// Makes a call of an instance. Without clients, the call fails.
    pub(super) fn call(&mut self, instance: u32, call: &Call) {
        let Some(calls) = &mut self.calls else {
            let response = self.now.saturating_sub(call.due);
            return self.called(instance, call, (Nanos::ZERO, response), Err(CallError::Refused));
        };
        let made = self.backend.now();
        self.counts.pass_time(made);
        self.counts.in_flight += 1;
        self.counts.submitted += 1;
        self.counts.slice_submitted += 1;
        self.telemetry.lateness.record(self.held.lateness(self.now, made));
        self.handed_over_late.record(made.saturating_sub(call.due));
        match calls.make(instance, *call, made) {
            Ok(true) => {}
            Ok(false) => self.counts.queued += 1,
            Err(source) => self.cannot_call(source),
        }
    }

    /// Collects the answered calls.
    pub(super) fn look_at_calls(&mut self) {
        let Some(calls) = &mut self.calls else { return };
        let backend = &mut self.backend;
        let known = self.called.len();
        let worked = calls.work(&mut || backend.now(), &mut self.called);
        // All completions are counted before the first one is reported. A report may start new
        // calls, and their time would otherwise be added to completions that are not counted yet.
        for answered in &self.called[known..] {
            self.counts.pass_time(answered.at);
            self.counts.in_flight -= 1;
        }
        if let Err(source) = worked {
            self.cannot_call(source);
        }
        self.now = self.called.last().map_or(self.now, |last| last.at.max(self.now));
    }

    pub(super) fn answer_calls(&mut self) {
        let mut answers = std::mem::take(&mut self.called);
        for Called { open, result, at } in answers.drain(..) {
            self.counts.completed += 1;
            self.counts.slice_completed += 1;
            let times = (at.saturating_sub(open.made), at.saturating_sub(open.call.due));
            self.called(open.instance, &open.call, times, result);
        }
        self.called = answers;
    }

    /// Records the result of a call and reports it to its instance. A failure is reported after a
    /// short delay.
    fn called(
        &mut self,
        instance: u32,
        call: &Call,
        (service, response): (Nanos, Nanos),
        result: Result<u64, CallError>,
    ) {
        let kind = call.kind.0;
        let done = CallDone { instance: instance as usize, kind, service, response, result };
        self.telemetry.recorder.call(&done);
        if !self.dispatching {
            return;
        }
        match result {
            Ok(_) => self.deliver(instance, Event::Done(call.token, Ok(()))),
            Err(error) => {
                let fire = Fire::Failed(IoError::Call(error));
                let alarm = Alarm { instance, token: call.token, fire };
                self.wheel.insert(self.now + ERROR_DELAY, alarm);
            }
        }
    }

    fn cannot_call(&mut self, source: std::io::Error) {
        self.failure = self.failure.take().or(Some(EngineError::Call { source }));
    }
}
