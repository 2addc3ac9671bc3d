use run_store::recorder::{ActionSample, CallDone, InstanceShape, IoDone, Recorder};
use run_store::slice::{Direction, GeneratorRow, Slice, Unfinished};
use stats::Compact;
use units::Nanos;

use state_machine::{
    ActionDone, Call, CallError, IoError, IoRequest, Machine, Observation, Operation,
};

/// A request in flight.
#[derive(Debug, Clone, Copy)]
pub struct InFlight {
    pub request: IoRequest,
    pub submitted: Nanos,
}

/// A call in flight.
#[derive(Debug, Clone, Copy)]
pub struct CallInFlight {
    pub call: Call,
    pub made: Nanos,
}

/// Records events as slices, together with the generator's own counts.
#[derive(Debug)]
pub struct Meter {
    recorder: Recorder,
    start: Nanos,
    submitted: u64,
    completed: u64,
    /// Number of timers handled, requests submitted and calls made in this slice. All were exactly
    /// on time, because virtual time waits for the driver.
    punctual: u32,
    in_flight: u64,
    /// Time integral of `in_flight` in this slice, in nanoseconds.
    in_flight_ns: u128,
    since: Nanos,
}

impl Meter {
    pub fn new(shapes: Vec<InstanceShape>) -> Self {
        Self {
            recorder: Recorder::new(shapes),
            start: Nanos::ZERO,
            submitted: 0,
            completed: 0,
            punctual: 0,
            in_flight: 0,
            in_flight_ns: 0,
            since: Nanos::ZERO,
        }
    }

    #[inline]
    pub fn submitted(&mut self, now: Nanos) {
        self.advance(now);
        self.in_flight += 1;
        self.submitted += 1;
        self.punctual += 1;
    }

    #[inline]
    pub fn woken(&mut self) {
        self.punctual += 1;
    }

    #[inline]
    pub fn completed(&mut self, now: Nanos, instance: usize, done: &InFlight, ok: bool) {
        self.advance(now);
        self.in_flight -= 1;
        self.completed += 1;
        self.recorder.io(&IoDone {
            instance,
            disk: done.request.disk.0,
            kind: done.request.kind.0,
            direction: direction(done.request.operation),
            length: done.request.length,
            service: now.saturating_sub(done.submitted),
            response: now.saturating_sub(done.request.due),
            ok,
        });
    }

    pub fn called(
        &mut self,
        now: Nanos,
        instance: usize,
        done: &CallInFlight,
        result: Result<(), IoError>,
    ) {
        self.advance(now);
        self.in_flight -= 1;
        self.completed += 1;
        let result = match result {
            Ok(()) => Ok(u64::from(done.call.size)),
            Err(IoError::Call(error)) => Err(error),
            Err(_) => Err(CallError::Protocol),
        };
        self.recorder.call(&CallDone {
            instance,
            kind: done.call.kind.0,
            service: now.saturating_sub(done.made),
            response: now.saturating_sub(done.call.due),
            result,
        });
    }

    pub fn observed(&mut self, instance: usize, observation: &Observation) {
        match observation {
            Observation::Action(done) => self.recorder.action(&sample(instance, done)),
            Observation::Dropped { group, .. } => self.recorder.dropped(instance, group.0),
        }
    }

    /// Notes the open work of a state machine's users at `now`. The call for instance 0 first drops
    /// the notes of earlier calls.
    pub fn waits(&mut self, now: Nanos, instance: usize, machine: &impl Machine) {
        if instance == 0 {
            self.recorder.look_anew();
        }
        machine.waiting_for(now, &mut |open| {
            let age = now.saturating_sub(open.intended);
            self.recorder.unfinished(instance, Unfinished::of(&open), age);
        });
    }

    /// Includes a request that is in flight at `now`.
    pub fn under_way(&mut self, now: Nanos, instance: usize, flight: &InFlight) {
        let request = &flight.request;
        let what = Unfinished::Io(request.kind.0, direction(request.operation));
        self.recorder.unfinished(instance, what, now.saturating_sub(flight.submitted));
    }

    /// Includes a call that is in flight at `now`.
    pub fn call_under_way(&mut self, now: Nanos, instance: usize, flight: &CallInFlight) {
        let what = Unfinished::Call(flight.call.kind.0);
        self.recorder.unfinished(instance, what, now.saturating_sub(flight.made));
    }

    /// Ends the slice at `end` and starts the next one.
    pub fn take(&mut self, end: Nanos) -> Slice {
        self.advance(end);
        let lateness = match self.punctual {
            0 => Compact::default(),
            count => Compact::from_iter([(Nanos::ZERO, count)]),
        };
        let generator = GeneratorRow {
            submitted: self.submitted,
            completed: self.completed,
            in_flight: self.in_flight,
            in_flight_seconds: seconds(self.in_flight_ns),
            lateness,
            ..GeneratorRow::default()
        };
        let slice = self.recorder.take(self.start, end - self.start, generator);
        (self.submitted, self.completed, self.punctual, self.in_flight_ns) = (0, 0, 0, 0);
        self.start = end;
        slice
    }

    #[inline]
    fn advance(&mut self, now: Nanos) {
        self.in_flight_ns += u128::from(self.in_flight) * u128::from((now - self.since).0);
        self.since = now;
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of a billionth is lost")]
fn seconds(nanos: u128) -> f64 {
    nanos as f64 / 1e9
}

fn direction(operation: Operation) -> Direction {
    match operation {
        Operation::Read => Direction::Read,
        Operation::Write => Direction::Write,
        Operation::Flush => Direction::Flush,
    }
}

fn sample(instance: usize, done: &ActionDone) -> ActionSample {
    ActionSample {
        instance,
        action: done.action.0,
        group: done.group.0,
        service: done.finished.saturating_sub(done.started),
        response: done.finished.saturating_sub(done.intended),
        ok: done.ok,
    }
}
