mod calls;
mod errands;
mod kept;
mod moving;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use run_store::recorder::{ActionSample, IoDone};
use run_store::slice::{Direction, InstanceId, Unfinished};
use state_machine::{Effects, Event, IoError, IoRequest, Machine, Observation, Operation, Token};
use stats::Histogram;
use units::Nanos;

use crate::arena::{Arena, Buffer, LENGTH_MAX, Loan, Side};
use crate::backend::{Backend, Completion, Submission, Wait};
use crate::client::{Called, Calls};
use crate::content::{Content, Departure};
use crate::counts::Counts;
use crate::disks::Disk;
use crate::held::BlockedSpans;
use crate::instance::{EngineInstance, table_of, telemetry_of};
use crate::moving::{Fire, OrderLine};
use crate::slots::{InFlight, Slots};
use crate::telemetry::{Outlet, Span, Telemetry};
use crate::wheel::Wheel;
use crate::worker::errands::Errands;
use crate::worker::kept::Kept;
use crate::worker::moving::Presence;
use crate::{EngineError, FirstErrors, Options, Outcome, Warning};

/// Maximum number of completions handled between two reads of the clock, so that the timestamp of
/// the last one is not much too late.
const REAP_MAX: usize = 32;
/// Maximum number of timers fired between two turns of the ring.
const TIMERS_MAX: usize = 256;
/// Maximum time until a stop request is noticed.
const STOP_POLL: Nanos = Nanos::from_millis(20);
/// Delay of the answer to a failed request, so that a closed loop on a failed device does not spin.
const ERROR_DELAY: Nanos = Nanos::from_millis(1);
/// Length of the pieces into which CPU bursts are split, with a turn of the ring after each.
const BURN_PIECE: Nanos = Nanos::from_micros(20);
/// Maximum wait of a stopped worker for its last completions.
const DRAIN_MAX: Nanos = Nanos::from_secs(30);
/// Maximum wait of a stopped worker for answers to its calls, which can be abandoned at any time.
const CALLS_DRAIN_MAX: Nanos = Nanos::SECOND;
/// Minimum number of requests in flight at which the storage's queue may be full, so that
/// submission may block: the smallest common queue (31 commands, SATA) plus one.
const QUEUE_MIN: u64 = 32;
/// Duration of a turn above which a smaller queue may have blocked it.
const TURN_LONG: Nanos = Nanos::from_millis(1);
/// Maximum wait for a larger batch of completions.
const LINGER_MAX: Nanos = Nanos::from_micros(50);

#[derive(Debug, Clone, Copy)]
struct Alarm {
    instance: u32,
    token: Token,
    fire: Fire,
}

/// Request that waits for a slot or a buffer.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    instance: u32,
    disk: u32,
    request: IoRequest,
}

#[derive(Debug, Clone, Copy)]
struct Burn {
    instance: u32,
    token: Token,
    left: Nanos,
}

struct Instance<M> {
    machine: M,
    /// Number of the instance in the load.
    id: InstanceId,
    /// Position of its first disk in the worker's list. Its other disks follow.
    first_disk: u32,
    disks: u32,
    presence: Presence,
    /// Time at which the instance arrived here. The lateness of timers that were due earlier counts
    /// from this time.
    since: Nanos,
    /// Initial saved state, if the instance may start anew.
    initial: Option<Vec<u8>>,
}

/// Instances and settings of a worker.
pub(crate) struct Job<M> {
    pub(crate) instances: Vec<EngineInstance<M>>,
    /// Clients for the calls; `None` if no instance has endpoints.
    pub(crate) calls: Option<Box<Calls>>,
    pub(crate) options: Options,
    pub(crate) stop: Arc<AtomicBool>,
    /// Flag set by [`crate::Orders::lose`]: completions are no longer reported.
    pub(crate) lost: Arc<AtomicBool>,
    pub(crate) orders: Option<OrderLine>,
    /// Time at which the worker stops without an order.
    pub(crate) until: Nanos,
    pub(crate) seed: u64,
}

/// Worker that drives a share of the instances, with their timers and requests in flight.
pub(crate) struct Worker<M, B, O> {
    // Before the arena: the backend uses the arena's memory and must be dropped first.
    backend: B,
    outlet: O,
    instances: Vec<Instance<M>>,
    disks: Vec<Disk>,
    content: Content,
    errands: Errands,
    /// Buffers that reads keep for a later request.
    kept: Kept,
    effects: Effects,
    wheel: Wheel<Alarm>,
    slots: Slots,
    /// Slots of requests that were pushed to the backend and not submitted yet.
    fresh: Vec<u32>,
    waiting: VecDeque<Waiting>,
    burning: VecDeque<Burn>,
    done: Vec<Completion>,
    calls: Option<Box<Calls>>,
    called: Vec<Called>,
    telemetry: Box<Telemetry>,
    /// Delays from due time to submission, over the whole run.
    handed_over_late: Histogram,
    counts: Counts,
    errors: Vec<FirstErrors>,
    /// Moving mean of the service times, from which `linger` is computed.
    service_mean: Nanos,
    options: Options,
    stop: Arc<AtomicBool>,
    lost: Arc<AtomicBool>,
    orders: Option<OrderLine>,
    /// Number of leaving instances that wait for their last completions.
    leaving: u32,
    until: Nanos,
    dispatching: bool,
    held: BlockedSpans,
    /// Latest end of this turn's wait.
    awaited: Nanos,
    now: Nanos,
    turn_start: Nanos,
    slice_start: Nanos,
    /// Time at which the slice is due to be passed on.
    slice_end: Nanos,
    cpu_before: Nanos,
    warnings: Vec<Warning>,
    /// Error that ends the run at the next opportunity.
    failure: Option<EngineError>,
    backend_name: &'static str,
    arena: Arena,
}

impl<M: Machine, B: Backend, O: Outlet> Worker<M, B, O> {
    pub(crate) fn new(
        job: Job<M>,
        content: Content,
        backend: B,
        backend_name: &'static str,
        outlet: O,
    ) -> Self {
        let table = table_of(&job.instances);
        let telemetry = telemetry_of(&job.instances);
        let (mut first_disk, begins_anew) = (0, job.options.begins_anew);
        let instances = job.instances.into_iter().map(|instance| {
            let disks = u32::try_from(instance.disks.len()).expect("disks are numbered by u16");
            first_disk += disks;
            let presence = match instance.guest {
                None => Presence::Here,
                Some(_) => Presence::Absent,
            };
            let initial = begins_anew.then(|| instance.machine.saved()).flatten();
            let first_disk = first_disk - disks;
            let since = Nanos::ZERO;
            let (machine, id) = (instance.machine, instance.shape.instance);
            Instance { machine, id, first_disk, disks, presence, since, initial }
        });
        let depth = job.options.depth as usize;
        let slice_end = job.options.slice;
        Self {
            backend,
            outlet,
            instances: instances.collect(),
            disks: table.disks,
            content,
            errands: Errands::default(),
            kept: Kept::default(),
            effects: Effects::default(),
            wheel: Wheel::new(),
            slots: Slots::new(job.options.depth),
            fresh: Vec::with_capacity(depth),
            waiting: VecDeque::with_capacity(depth),
            burning: VecDeque::new(),
            done: Vec::with_capacity(depth),
            calls: job.calls,
            called: Vec::new(),
            telemetry,
            handed_over_late: Histogram::new(),
            counts: Counts::default(),
            errors: Vec::new(),
            service_mean: Nanos::ZERO,
            arena: Arena::new(job.options.buffers_max.get(), job.seed),
            options: job.options,
            stop: job.stop,
            lost: job.lost,
            orders: job.orders,
            leaving: 0,
            until: job.until,
            dispatching: true,
            held: BlockedSpans::default(),
            awaited: Nanos::MAX,
            now: Nanos::ZERO,
            turn_start: Nanos::ZERO,
            slice_start: Nanos::ZERO,
            slice_end,
            cpu_before: Nanos::ZERO,
            warnings: Vec::new(),
            failure: None,
            backend_name,
        }
    }

    /// Runs until a stop is requested, waits for the last completions, and returns the outcome.
    pub(crate) fn run(mut self) -> Result<(Outcome, O), EngineError> {
        self.cpu_before = self.backend.cpu();
        self.now = self.backend.now();
        for instance in 0..self.instances.len() {
            if matches!(self.instances[instance].presence, Presence::Here) {
                self.deliver(u32::try_from(instance).expect("fewer than 2^32"), Event::Start);
            }
        }
        if let Err(error) = self.work() {
            // Completions are not awaited any more, but the kernel may still write to buffers.
            self.give_up();
            return Err(error);
        }
        self.pass_slice(self.now, true);
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let of_calls = self.calls.as_mut().map(|calls| calls.take_warnings());
        self.warnings.extend(of_calls.unwrap_or_default());
        let outcome = Outcome {
            submitted: self.counts.submitted - self.open_calls(),
            completed: self.counts.completed,
            unissued: self.waiting.len() as u64,
            errors: std::mem::take(&mut self.errors),
            mismatches: std::mem::take(&mut self.content.mismatches),
            warnings: std::mem::take(&mut self.warnings),
            backend: self.backend_name,
            elapsed: self.now,
            handed_over_late: self.handed_over_late.compact(),
            ..Outcome::default()
        };
        Ok((outcome, self.outlet))
    }

    fn work(&mut self) -> Result<(), EngineError> {
        while !self.is_over() {
            self.turn()?;
        }
        self.drain()
    }

    fn is_over(&self) -> bool {
        self.now >= self.until || self.failure.is_some() || self.stop.load(Ordering::Relaxed)
    }

    /// Runs one turn: submits requests, waits, and delivers events.
    fn turn(&mut self) -> Result<(), EngineError> {
        self.hand_over()?;
        self.reap();
        self.end_slice_if_due();
        self.answer_all();
        self.answer_errands();
        self.fire_timers();
        self.burn_a_piece();
        self.obey();
        Ok(())
    }

    /// Submits requests and waits for completions, a timer, or the slice's end.
    fn hand_over(&mut self) -> Result<(), EngineError> {
        let mut now = self.backend.now();
        let last_turn = now.saturating_sub(std::mem::replace(&mut self.turn_start, now));
        self.counts.pass_time(now);
        self.counts.in_flight += self.fresh.len() as u64;
        self.counts.submitted += self.fresh.len() as u64;
        self.counts.slice_submitted += self.fresh.len() as u64;
        let may_be_held = self.slots.len() as u64 > QUEUE_MIN || last_turn > TURN_LONG;
        let is_timed = may_be_held && !self.fresh.is_empty();
        for slot in self.fresh.drain(..) {
            let flight = self.slots.submitted(slot, now);
            self.telemetry.lateness.record(self.held.lateness(flight.admitted, now));
            self.handed_over_late.record(now.saturating_sub(flight.request.due));
        }
        let backend = self.backend_name;
        let failed = |source| EngineError::Submit { backend, source };
        if is_timed {
            self.backend.submit().map_err(failed)?;
            let handed_over = self.backend.now();
            self.held.add(now, handed_over);
            self.counts.note_absence(now, handed_over);
            now = handed_over;
        }
        let wait = self.wait(now);
        self.awaited = wait.until.max(now);
        self.backend.enter(wait).map_err(failed)
    }

    fn wait(&mut self, now: Nanos) -> Wait {
        let mut until = self.slice_end.min(now + STOP_POLL).min(self.until);
        if self.dispatching {
            if let Some(due) = self.wheel.next_due(now) {
                until = until.min(due);
            }
            if !self.burning.is_empty() {
                until = now;
            }
        }
        if self.calls.as_ref().is_some_and(|calls| calls.has_answers()) {
            until = now;
        }
        if !self.errands.is_idle() {
            until = until.min(now + errands::POLL);
        }
        // By Little's law N requests in flight give N/8 completions in an eighth of a service time.
        // Waiting for that many saves system calls, and delays a completion by half of that on
        // average, 6 % of its latency. `linger` bounds the wait when the storage falters.
        let want = u32::try_from(self.slots.len() / 8).unwrap_or(16).clamp(1, 16);
        let linger = Nanos(self.service_mean.0 / 8).min(LINGER_MAX);
        Wait { now, until, want, linger }
    }

    fn reap(&mut self) {
        self.backend.reap(&mut self.done, REAP_MAX);
        self.now =
            self.done.last().map_or_else(|| self.backend.now(), |last| last.at).max(self.now);
        self.counts.note_absence(self.awaited, self.now);
        self.look_at_calls();
    }

    fn end_slice_if_due(&mut self) {
        if self.now >= self.slice_end {
            let width = self.options.slice.0;
            let boundary = Nanos(self.now.0 / width * width);
            self.slice_end = boundary + self.options.slice;
            self.pass_slice(boundary, false);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "the share is only displayed")]
    fn pass_slice(&mut self, end: Nanos, last: bool) {
        self.counts.pass_time(end);
        self.note_unfinished(end);
        let span = Span { start: self.slice_start, end };
        let cpu = self.backend.cpu();
        let share = (cpu.saturating_sub(self.cpu_before).0) as f64
            / (end.saturating_sub(self.slice_start).0.max(1)) as f64;
        let row = self.counts.row(share);
        let (away, kept) =
            (row.away, (row.submitted, row.completed, row.in_flight_seconds, row.queued));
        if self.outlet.pass(&mut self.telemetry, span, row, last) {
            self.slice_start = end;
            self.cpu_before = cpu;
        } else {
            // The merger is behind, so this slice goes on until the next boundary.
            self.counts.slice_submitted += kept.0;
            self.counts.slice_completed += kept.1;
            self.counts.in_flight_ns += u128::from(Nanos::from_secs_f64(kept.2).0);
            self.counts.queued += kept.3;
            self.counts.away = away;
        }
    }

    /// Records the requests, calls and users that are still waiting at the end of a slice.
    fn note_unfinished(&mut self, end: Nanos) {
        let recorder = &mut self.telemetry.recorder;
        recorder.look_anew();
        for (position, instance) in self.instances.iter().enumerate() {
            if matches!(instance.presence, Presence::Absent) {
                continue;
            }
            instance.machine.waiting_for(end, &mut |open| {
                let age = end.saturating_sub(open.intended);
                recorder.unfinished(position, Unfinished::of(&open), age);
            });
        }
        for flight in self.slots.in_flight() {
            let what = Unfinished::Io(flight.request.kind.0, direction(flight.request.operation));
            recorder.unfinished(
                flight.instance as usize,
                what,
                end.saturating_sub(flight.submitted),
            );
        }
        for open in self.calls.iter().flat_map(|calls| calls.open()) {
            let what = Unfinished::Call(open.call.kind.0);
            recorder.unfinished(open.instance as usize, what, end.saturating_sub(open.made));
        }
    }

    fn answer_all(&mut self) {
        let mut done = std::mem::take(&mut self.done);
        for completion in done.drain(..) {
            self.answer(completion);
        }
        self.done = done;
        self.answer_calls();
    }

    /// Handles a completion: counts it, frees its slot and buffer, and reports it to its instance.
    fn answer(&mut self, completion: Completion) {
        self.counts.pass_time(completion.at);
        self.counts.in_flight -= 1;
        self.counts.completed += 1;
        self.counts.slice_completed += 1;
        let mut flight = self.slots.complete(completion.slot);
        let request = flight.request;
        let bytes = flight.buffer.as_mut().map_or(&mut [][..], |b| b.bytes_mut(request.length));
        let result = result_of(completion.result, request.length);
        let is_lost = !self.dispatching && self.lost.load(Ordering::Acquire);
        let result = if is_lost { Err(IoError::Os(libc::EIO)) } else { result };
        let result = self.content.arrive(flight.disk, flight.ticket.take(), bytes, result);
        self.failure = self.failure.take().or(self.content.broken.take().map(Into::into));
        let result = match flight.buffer.take() {
            Some(buffer) => self.settle_buffer(flight.instance, &request, buffer, result),
            None => result,
        };
        let service = completion.at.saturating_sub(flight.submitted);
        self.service_mean = Nanos((self.service_mean.0 * 15 + service.0) / 16);
        let response = completion.at.saturating_sub(request.due);
        self.record(flight.instance, &request, service, response, result.is_ok());
        if !self.dispatching {
            if let Err(error) = result
                && !is_lost
            {
                self.note_error(flight.instance, flight.disk, &request, error);
            }
            return;
        }
        self.admit_waiting();
        match result {
            Ok(()) => self.deliver(flight.instance, Event::Done(request.token, Ok(()))),
            Err(error) => self.fail(flight.instance, flight.disk, &request, error),
        }
    }

    #[inline]
    fn record(
        &mut self,
        instance: u32,
        request: &IoRequest,
        service: Nanos,
        response: Nanos,
        ok: bool,
    ) {
        self.telemetry.recorder.io(&IoDone {
            instance: instance as usize,
            disk: request.disk.0,
            kind: request.kind.0,
            direction: direction(request.operation),
            length: request.length,
            service,
            response,
            ok,
        });
    }

    /// Records a failure and reports it to the instance after a short delay.
    fn fail(&mut self, instance: u32, disk: u32, request: &IoRequest, error: IoError) {
        self.note_error(instance, disk, request, error);
        self.answer_late(instance, request.token, error);
    }

    fn answer_late(&mut self, instance: u32, token: Token, error: IoError) {
        let alarm = Alarm { instance, token, fire: Fire::Failed(error) };
        self.wheel.insert(self.now + ERROR_DELAY, alarm);
    }

    fn note_error(&mut self, instance: u32, disk: u32, request: &IoRequest, error: IoError) {
        let name = &self.disks[disk as usize].name;
        if let Some(known) = self.errors.iter_mut().find(|known| known.disk == *name) {
            known.count += 1;
            return;
        }
        self.errors.push(FirstErrors {
            instance: self.instances[instance as usize].id,
            kind: request.kind,
            disk: name.clone(),
            offset: request.offset,
            operation: request.operation,
            error,
            at: self.now,
            count: 1,
        });
    }

    fn fire_timers(&mut self) {
        for _ in 0..TIMERS_MAX {
            let Some((at, alarm)) = self.wheel.pop(self.now) else { return };
            if !matches!(alarm.fire, Fire::Failed(_)) {
                let due = at.max(self.instances[alarm.instance as usize].since);
                self.telemetry.lateness.record(self.held.lateness(due, self.now));
            }
            self.deliver(alarm.instance, alarm.event());
        }
    }

    /// Runs a piece of the oldest CPU burst on this thread. Completions are not handled meanwhile.
    fn burn_a_piece(&mut self) {
        let Some(burn) = self.burning.front_mut() else { return };
        let piece = burn.left.min(BURN_PIECE);
        burn.left = burn.left.saturating_sub(piece);
        let finished = (burn.left == Nanos::ZERO).then_some((burn.instance, burn.token));
        self.backend.burn(piece);
        if let Some((instance, token)) = finished {
            self.burning.pop_front();
            self.now = self.backend.now().max(self.now);
            self.deliver(instance, Event::Ran(token));
        }
    }

    /// Delivers an event to an instance and carries out its effects.
    fn deliver(&mut self, instance: u32, event: Event) {
        if self.leaving > 0 && self.keep_back(instance, event) {
            return;
        }
        let Self { instances, effects, .. } = self;
        instances[instance as usize].machine.handle(self.now, event, effects);
        if effects.is_empty() {
            return;
        }
        let mut effects = std::mem::take(effects);
        for request in effects.io.drain(..) {
            self.ask(instance, request);
        }
        for call in effects.calls.drain(..) {
            self.call(instance, &call);
        }
        for (at, token) in effects.timers.drain(..) {
            self.wheel.insert(at, Alarm { instance, token, fire: Fire::Timer });
        }
        for burst in effects.cpu.drain(..) {
            if burst.burn {
                let burn = Burn { instance, token: burst.token, left: burst.cost };
                self.burning.push_back(burn);
            } else {
                let alarm = Alarm { instance, token: burst.token, fire: Fire::Ran };
                self.wheel.insert(self.now + burst.cost, alarm);
            }
        }
        for observation in effects.observations.drain(..) {
            self.observe(instance, observation);
        }
        self.effects = effects;
    }

    fn observe(&mut self, instance: u32, observation: Observation) {
        match observation {
            Observation::Action(done) => self.telemetry.recorder.action(&ActionSample {
                instance: instance as usize,
                action: done.action.0,
                group: done.group.0,
                service: done.finished.saturating_sub(done.started),
                response: done.finished.saturating_sub(done.intended),
                ok: done.ok,
            }),
            Observation::Dropped { group, .. } => {
                self.telemetry.recorder.dropped(instance as usize, group.0);
            }
        }
    }

    /// Handles a request of an instance: submits it, or queues it if all slots or buffers are in
    /// use.
    fn ask(&mut self, instance: u32, request: IoRequest) {
        let owner = &self.instances[instance as usize];
        assert!(u32::from(request.disk.0) < owner.disks, "a state machine uses only its own disks");
        let disk = owner.first_disk + u32::from(request.disk.0);
        let refusal = if request.operation == Operation::Read || self.disks[disk as usize].writable
        {
            (request.length > LENGTH_MAX).then_some(libc::EINVAL)
        } else {
            Some(libc::EROFS)
        };
        if let Some(number) = refusal {
            self.record(instance, &request, Nanos::ZERO, Nanos::ZERO, false);
            self.fail(instance, disk, &request, IoError::Os(number));
            return;
        }
        if request.pattern.content.is_of_disk() {
            return self.run_errand(instance, disk, request);
        }
        let waiting = Waiting { instance, disk, request };
        if !self.waiting.is_empty() || !self.admit(&waiting) {
            self.counts.queued += 1;
            self.waiting.push_back(waiting);
        }
    }

    fn admit_waiting(&mut self) {
        while let Some(waiting) = self.waiting.front().copied() {
            if !self.admit(&waiting) {
                return;
            }
            self.waiting.pop_front();
        }
    }

    /// Gives a request a slot and a buffer and queues it for the next submission. Returns false if
    /// no slot or no buffer is free.
    fn admit(&mut self, waiting: &Waiting) -> bool {
        if self.slots.is_full() {
            return false;
        }
        let request = &waiting.request;
        let offset = self.disks[waiting.disk as usize].locate(request);
        let (mut buffer, mut ticket) = (None, None);
        if request.operation != Operation::Flush {
            let Some(mut lent) = self.buffer_of(waiting.instance, request) else { return false };
            let (now, disk) = (self.now, waiting.disk);
            let departure = Departure { now, disk, request, buffer: &mut lent };
            match self.content.depart(departure) {
                Ok(followed) => ticket = followed,
                Err(error) => self.failure = self.failure.take().or(Some(error.into())),
            }
            buffer = Some(lent);
        }
        let address = buffer.as_ref().map(Buffer::address);
        let slot = self.slots.open(InFlight {
            instance: waiting.instance,
            disk: waiting.disk,
            request: *request,
            admitted: self.now,
            submitted: self.now,
            buffer,
            ticket,
            settled: false,
        });
        self.backend.push(&Submission {
            slot,
            file: self.disks[waiting.disk as usize].file,
            operation: request.operation,
            offset,
            length: request.length,
            durable: request.durable,
            buffer: address,
        });
        self.fresh.push(slot);
        true
    }

    #[inline]
    pub(super) fn lend(&mut self, request: &IoRequest) -> Option<Buffer> {
        let side = match request.operation {
            Operation::Write => Side::Writes,
            _ => Side::Reads,
        };
        match self.arena.lend(side, request.length) {
            Loan::Ready(buffer) => Some(buffer),
            Loan::NewChunk(buffer) => {
                let chunk = buffer.address().chunk;
                let (start, bytes) = self.arena.chunk(chunk);
                self.backend.add_chunk(chunk, start, bytes);
                Some(buffer)
            }
            Loan::Exhausted => None,
        }
    }

    /// Waits until all requests in flight have completed. Instances get no more events.
    fn drain(&mut self) -> Result<(), EngineError> {
        self.dispatching = false;
        self.until = Nanos::MAX;
        let begun = self.backend.now();
        let is_open = |worker: &Self, waited| {
            let calls_wait = worker.open_calls() > 0 && waited < CALLS_DRAIN_MAX;
            let has_open = worker.slots.len() > 0 || !worker.errands.is_idle();
            has_open && waited < DRAIN_MAX || calls_wait
        };
        while is_open(self, self.now.saturating_sub(begun)) {
            self.hand_over()?;
            self.reap();
            self.end_slice_if_due();
            self.answer_all();
            self.answer_errands();
        }
        let lost = self.give_up();
        if lost > 0 {
            self.warnings.push(Warning {
                id: "requests-unanswered",
                text: format!(
                    "{lost} requests did not complete within {DRAIN_MAX} of the end of the run"
                ),
            });
        }
        Ok(())
    }

    /// Abandons all requests in flight, and leaks the memory that the kernel may still use. Returns
    /// their number.
    fn give_up(&mut self) -> u64 {
        let lost = self.slots.abandon();
        if lost > 0 {
            self.arena.leak();
        }
        lost
    }
}

fn direction(operation: Operation) -> Direction {
    match operation {
        Operation::Read => Direction::Read,
        Operation::Write => Direction::Write,
        Operation::Flush => Direction::Flush,
    }
}

/// Interprets the kernel's result for a request of this length.
#[inline]
fn result_of(result: i32, length: u32) -> Result<(), IoError> {
    match u32::try_from(result) {
        Ok(moved) if moved == length => Ok(()),
        Ok(moved) => Err(IoError::Short { moved }),
        Err(_) => Err(IoError::Os(-result)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Fake, Storage};
    use run_store::recorder::InstanceShape;
    use run_store::slice::GeneratorRow;

    struct Ticker;

    impl Machine for Ticker {
        fn handle(&mut self, now: Nanos, _event: Event, fx: &mut Effects) {
            fx.wake_at(now + Nanos::from_millis(7), Token(0));
        }
    }

    /// Outlet that takes only every third slice.
    #[derive(Default)]
    struct Reluctant {
        offered: u32,
        taken: Vec<Span>,
    }

    impl Outlet for Reluctant {
        fn pass(&mut self, _: &mut Box<Telemetry>, span: Span, _: GeneratorRow, _: bool) -> bool {
            self.offered += 1;
            let takes = self.offered.is_multiple_of(3);
            if takes {
                self.taken.push(span);
            }
            takes
        }
    }

    #[test]
    fn slow_merger_widens_slices_and_is_asked_once_per_boundary() {
        let shape = InstanceShape {
            instance: InstanceId(0),
            disk_vms: Vec::new(),
            kinds: 0,
            actions: 0,
            groups: 0,
        };
        let job = Job {
            instances: vec![EngineInstance::new(Ticker, shape, Vec::new())],
            calls: None,
            lost: Arc::default(),
            orders: None,
            options: Options { slice: Nanos::from_millis(100), ..Options::default() },
            stop: Arc::default(),
            until: Nanos::from_millis(950),
            seed: 0,
        };
        let mut storage = Storage::new(Fake::default());
        let worker =
            Worker::new(job, Content::default(), &mut storage, "fake", Reluctant::default());
        let (_, outlet) = worker.run().expect("a fake run");
        let ends: Vec<u64> = outlet.taken.iter().map(|span| span.end.0 / 1_000_000).collect();
        assert_eq!((ends, outlet.offered), (vec![300, 600, 900], 10));
    }
}
