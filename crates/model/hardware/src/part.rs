use std::any::Any;
use std::fmt::Debug;

use state_machine::{IoError, Operation};
use units::Nanos;

use crate::usage::Usage;

/// Position of a component in its array. Only [`crate::Array::add`] makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId(pub(crate) u32);

impl PartId {
    /// Stands for the driver, in jobs that the driver submitted.
    pub(crate) const HOST: Self = Self(u32::MAX);
    /// Stands for the array itself, which measures how long a job takes.
    pub(crate) const WATCH: Self = Self(u32::MAX - 1);
}

/// Name that the requester gives a job; it is returned unchanged with the answer. One ticket may be
/// outstanding several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u32);

/// Number of the virtual disk that a job belongs to: queue limits are fair between streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// Purpose of an I/O, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Requested by a virtual machine, or needed by such an I/O.
    Foreground,
    /// Late write from memory or a write buffer, or of a page that was evicted from a tier.
    Destage,
    /// A tier's cleaning, and pages that it brings in while no request waits for them.
    CleanUp,
    /// Copy of whole disks for deployments and migrations.
    Copy,
}

impl Class {
    pub(crate) const COUNT: usize = 4;
    pub(crate) const BACKGROUND: [Self; 3] = [Self::Destage, Self::CleanUp, Self::Copy];
}

/// A piece of work that is requested from a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Part that gets the answer, or the driver.
    pub from: PartId,
    /// The requester's name for the job, returned with the answer.
    pub ticket: Ticket,
    /// Read, write or flush.
    pub operation: Operation,
    /// First byte in the component's own address space.
    pub offset: u64,
    /// Length in bytes; zero for a flush.
    pub length: u32,
    /// Virtual disk that the job belongs to.
    pub stream: StreamId,
    /// Purpose of the I/O.
    pub class: Class,
}

impl Job {
    /// Returns the offset of the first byte after the job.
    pub const fn end(&self) -> u64 {
        self.offset + self.length as u64
    }
}

/// Timer that a component has set; the driver returns it unchanged when it is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Alarm {
    pub(crate) part: PartId,
    /// Number by which the component distinguishes its alarms.
    pub tag: u32,
}

/// A model of one piece of hardware.
pub trait Component: Any + Debug + Send {
    /// Accepts a job. The job must be answered once, now or later, by this component or by a
    /// component to which it is handed on.
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox);

    /// Handles the answer to a job that this component sent to another one. Components that send no
    /// jobs are never called.
    fn finished(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        let _ = (now, ticket, result, out);
        debug_assert!(false, "a component that sends no requests got an answer");
    }

    /// Handles an alarm that this component had set.
    fn wake(&mut self, now: Nanos, tag: u32, out: &mut Outbox);

    /// Returns the counters of the component, from the start to `now`.
    fn usage(&self, now: Nanos) -> Usage;
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Message {
    /// `via` is the component that sends the job or hands it on.
    Ask {
        via: PartId,
        to: PartId,
        job: Job,
    },
    Answer {
        to: PartId,
        ticket: Ticket,
        result: Result<(), IoError>,
    },
}

/// Jobs, answers and alarms from a component to others, in the order in which it made them.
#[derive(Debug)]
pub struct Outbox {
    pub(crate) messages: Vec<Message>,
    pub(crate) alarms: Vec<(Nanos, Alarm)>,
    pub(crate) this: PartId,
}

impl Outbox {
    pub(crate) fn new() -> Self {
        Self { messages: Vec::new(), alarms: Vec::new(), this: PartId::HOST }
    }

    /// Sends another component a job of this component's own. The answer comes to
    /// [`Component::finished`] with `job.ticket`. The value of `job.from` is ignored.
    #[inline]
    pub fn ask(&mut self, to: PartId, job: Job) {
        let job = Job { from: self.this, ..job };
        self.messages.push(Message::Ask { via: self.this, to, job });
    }

    /// Hands a job on. The next component answers directly to the original requester.
    #[inline]
    pub fn hand_on(&mut self, to: PartId, job: Job) {
        self.messages.push(Message::Ask { via: self.this, to, job });
    }

    /// Answers a job to the part that sent it.
    #[inline]
    pub fn answer(&mut self, job: &Job, result: Result<(), IoError>) {
        self.answer_to(job.from, job.ticket, result);
    }

    /// Answers a job of which only the requester and the ticket were stored.
    #[inline]
    pub fn answer_to(&mut self, to: PartId, ticket: Ticket, result: Result<(), IoError>) {
        self.messages.push(Message::Answer { to, ticket, result });
    }

    /// Requests a call of [`Component::wake`] at `at`, with `tag`.
    #[inline]
    pub fn wake_at(&mut self, at: Nanos, tag: u32) {
        self.alarms.push((at, Alarm { part: self.this, tag }));
    }
}

/// Answer to a job beyond the end of its component: EIO.
pub(crate) const OUT_OF_RANGE: IoError = IoError::Os(5);
