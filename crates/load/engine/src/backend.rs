use std::io;
use std::ptr::NonNull;

use state_machine::Operation;
use units::Nanos;

use crate::arena::Address;

/// Request on its way to the storage.
#[derive(Debug, Clone, Copy)]
pub struct Submission {
    /// Number of the slot, returned with the completion.
    pub slot: u32,
    /// Index into the list of files that the backend was created with.
    pub file: u32,
    /// Read, write or flush.
    pub operation: Operation,
    /// Offset of the first byte in the file (not in the virtual disk).
    pub offset: u64,
    /// Bytes to move; zero for a flush.
    pub length: u32,
    /// True if a write must be durable before it completes.
    pub durable: bool,
    /// Buffer of the bytes; `None` for a flush.
    pub buffer: Option<Address>,
}

/// Completion of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Slot of the request.
    pub slot: u32,
    /// Bytes moved, or a negated error number.
    pub result: i32,
    /// Time at which the completion was seen.
    pub at: Nanos,
}

/// Limits of a wait.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    /// Current time, passed in so that the backend need not read the clock again.
    pub now: Nanos,
    /// Latest end of the wait; `now` or earlier means no wait.
    pub until: Nanos,
    /// Number of completions that end the wait early; at least one.
    pub want: u32,
    /// Maximum wait for more than one completion. After that the wait ends with one completion.
    pub linger: Nanos,
}

/// Executor of requests: a ring, a pool of threads, or a fake in virtual time.
///
/// A backend accepts as many outstanding requests as its depth allows, and the worker never pushes
/// more. Every pushed request completes exactly once.
pub trait Backend {
    /// Returns the time since the start of the run.
    fn now(&mut self) -> Nanos;

    /// Queues a request. The next [`Backend::enter`] submits it.
    fn push(&mut self, submission: &Submission);

    /// Submits the queued requests without waiting for completions. It may wait for room in the
    /// storage's queue. The default implementation does nothing and leaves submission to
    /// [`Backend::enter`].
    ///
    /// # Errors
    /// As [`Backend::enter`].
    fn submit(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Submits all queued requests and waits within `wait`.
    ///
    /// # Errors
    /// If the backend itself fails. The failure of a request is a completion.
    fn enter(&mut self, wait: Wait) -> io::Result<()>;

    /// Moves at most `limit` completions into `done`, oldest first.
    fn reap(&mut self, done: &mut Vec<Completion>, limit: usize);

    /// Announces new buffer memory, which stays valid for the backend's lifetime.
    fn add_chunk(&mut self, chunk: u16, start: NonNull<u8>, length: usize);

    /// Returns the CPU time of the calling thread so far.
    fn cpu(&mut self) -> Nanos;

    /// Keeps the calling thread busy for a span.
    fn burn(&mut self, span: Nanos);
}
