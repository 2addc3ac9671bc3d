use std::io;
use std::ptr::NonNull;

use state_machine::Operation;
use units::Nanos;

use crate::arena::Address;

/// One request on its way to the storage.
#[derive(Debug, Clone, Copy)]
pub struct Submission {
    /// Returned with the completion.
    pub slot: u32,
    /// Position in the list of files the backend was made with.
    pub file: u32,
    /// Read, write or flush.
    pub operation: Operation,
    /// First byte in the file (not in the virtual disk).
    pub offset: u64,
    /// Bytes to move; zero for a flush.
    pub length: u32,
    /// Whether a write is durable before it is answered.
    pub durable: bool,
    /// Where the bytes go to or come from; `None` for a flush.
    pub buffer: Option<Address>,
}

/// The answer to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Which request.
    pub slot: u32,
    /// Bytes moved, or a negated error number.
    pub result: i32,
    /// When the answer was seen.
    pub at: Nanos,
}

/// How long to wait.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    /// The time just read, so that the backend need not read it again.
    pub now: Nanos,
    /// Come back at this time at the latest; `now` or earlier means do not wait.
    pub until: Nanos,
    /// Come back early when this many answers are there; at least one.
    pub want: u32,
    /// How long to hold out for more than one answer before coming back with one.
    pub linger: Nanos,
}

/// What answers requests: a ring, a pool of threads, or a fake in virtual time.
///
/// A backend carries as many requests at once as it was made for (its depth); the worker
/// never pushes more. Every pushed request is answered exactly once.
pub trait Backend {
    /// Time since the run's start.
    fn now(&mut self) -> Nanos;

    /// Queues a request; it is handed over by the next [`Backend::enter`].
    fn push(&mut self, submission: &Submission);

    /// Hands over what is queued and does not wait for answers; it may wait for room in the
    /// storage's queue. One that never does leaves all to [`Backend::enter`].
    ///
    /// # Errors
    /// As [`Backend::enter`].
    fn submit(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Hands over everything queued and waits as told.
    ///
    /// # Errors
    /// When the machinery itself fails; a request's own failure is a completion.
    fn enter(&mut self, wait: Wait) -> io::Result<()>;

    /// Moves answers that are there into `done`, oldest first, at most `limit` of them.
    fn reap(&mut self, done: &mut Vec<Completion>, limit: usize);

    /// Tells of new buffer memory, which stays valid for the backend's life.
    fn add_chunk(&mut self, chunk: u16, start: NonNull<u8>, length: usize);

    /// CPU time the calling thread has used so far.
    fn cpu(&mut self) -> Nanos;

    /// Keeps the calling thread busy for a span.
    fn burn(&mut self, span: Nanos);
}
