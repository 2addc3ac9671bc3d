use std::any::Any;
use std::fmt::Debug;

use state_machine::{IoError, Operation};
use units::Nanos;

use crate::usage::Usage;

/// A component's place in its array. Only [`crate::Array::add`] makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId(pub(crate) u32);

impl PartId {
    /// Stands for the driver, where it asked for a job.
    pub(crate) const HOST: Self = Self(u32::MAX);
    /// Stands for the array itself, which watches how long a job takes.
    pub(crate) const WATCH: Self = Self(u32::MAX - 1);
}

/// The asker's own name for a job; returned unchanged with the answer. One ticket may be
/// outstanding several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u32);

/// Number of the virtual disk that a job belongs to: queue limits are fair between streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// Purpose of an I/O, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Asked by a virtual machine, or waited for by such an I/O.
    Foreground,
    /// Written late from memory or a write buffer, or from a page that left a tier.
    Destage,
    /// A tier's clean-up, and pages it brings in while nobody waits.
    CleanUp,
    /// Copying of whole disks by deployments and migrations.
    Copy,
}

impl Class {
    pub(crate) const COUNT: usize = 4;
    pub(crate) const BACKGROUND: [Self; 3] = [Self::Destage, Self::CleanUp, Self::Copy];
}

/// A piece of work that a component is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Part that gets the answer, or the driver.
    pub from: PartId,
    /// The asker's name for the job, returned with the answer.
    pub ticket: Ticket,
    /// Read, write or flush.
    pub operation: Operation,
    /// First byte in the component's own address space.
    pub offset: u64,
    /// Bytes, zero for a flush.
    pub length: u32,
    /// Virtual disk that the job belongs to.
    pub stream: StreamId,
    /// Purpose of the I/O.
    pub class: Class,
}

impl Job {
    /// First byte behind the job.
    pub const fn end(&self) -> u64 {
        self.offset + self.length as u64
    }
}

/// A request to be woken; the driver returns it unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Alarm {
    pub(crate) part: PartId,
    /// Number that the component gave, by which it tells its alarms apart.
    pub tag: u32,
}

/// A model of one piece of hardware.
pub trait Component: Any + Debug + Send {
    /// A job arrives. It must be answered once, now or later, by this component or by the one
    /// it is handed on to.
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox);

    /// A job this component had asked another one for is answered. Components that ask
    /// nobody are never told.
    fn finished(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        let _ = (now, ticket, result, out);
        debug_assert!(false, "a component that asks nobody was answered");
    }

    /// An alarm this component had set has come due.
    fn wake(&mut self, now: Nanos, tag: u32, out: &mut Outbox);

    /// Counters of the component, from the start to `now`.
    fn usage(&self, now: Nanos) -> Usage;
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Message {
    /// `via` is who asks or hands on.
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

/// Jobs, answers and alarms that a component gives to others, in the order it made them.
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

    /// Asks another component for a job of this component's own; the answer comes back to
    /// [`Component::finished`] with `job.ticket`. What `job.from` says does not matter.
    #[inline]
    pub fn ask(&mut self, to: PartId, job: Job) {
        let job = Job { from: self.this, ..job };
        self.messages.push(Message::Ask { via: self.this, to, job });
    }

    /// Hands a job on: whoever asked for it is answered by the next component directly.
    #[inline]
    pub fn hand_on(&mut self, to: PartId, job: Job) {
        self.messages.push(Message::Ask { via: self.this, to, job });
    }

    /// Answers a job to the part that asked for it.
    #[inline]
    pub fn answer(&mut self, job: &Job, result: Result<(), IoError>) {
        self.answer_to(job.from, job.ticket, result);
    }

    /// Answers a job of which only who asked and its ticket were kept.
    #[inline]
    pub fn answer_to(&mut self, to: PartId, ticket: Ticket, result: Result<(), IoError>) {
        self.messages.push(Message::Answer { to, ticket, result });
    }

    /// Asks for [`Component::wake`] at `at`, with `tag`.
    #[inline]
    pub fn wake_at(&mut self, at: Nanos, tag: u32) {
        self.alarms.push((at, Alarm { part: self.this, tag }));
    }
}

/// The answer to a job beyond the end of its component: EIO.
pub(crate) const OUT_OF_RANGE: IoError = IoError::Os(5);
