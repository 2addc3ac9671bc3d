use std::io;

use run_store::slice::InstanceId;
use state_machine::{IoError, KindId, Operation};
use stats::Compact;
use units::Nanos;

use crate::verify::{Mismatch, StateError};

/// Failures of one disk: the first failure in full, and the total number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstErrors {
    /// Instance whose request failed first.
    pub instance: InstanceId,
    /// Kind of that request, within its instance.
    pub kind: KindId,
    /// Name of the disk.
    pub disk: String,
    /// Offset of the first failed request in the disk, in bytes.
    pub offset: u64,
    /// Operation of the first failed request.
    pub operation: Operation,
    /// Error of the first failed request.
    pub error: IoError,
    /// Completion time of the first failed request, since the start.
    pub at: Nanos,
    /// Number of failed requests to this disk.
    pub count: u64,
}

/// Warning for the reader of a result, kept as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Stable name, for programs.
    pub id: &'static str,
    /// Observation and its consequence, as text.
    pub text: String,
}

/// Result of a run of the engine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Requests submitted to the storage and calls made, without calls that were abandoned at the
    /// end of the run.
    pub submitted: u64,
    /// Requests and calls that completed, failures included. Equals `submitted` unless the storage
    /// stopped responding.
    pub completed: u64,
    /// Requests that still waited for a slot when the run stopped.
    pub unissued: u64,
    /// Disks with failures, in the order of their first failure.
    pub errors: Vec<FirstErrors>,
    /// Blocks whose content differed from the last write: the first hundred of each worker.
    pub mismatches: Vec<Mismatch>,
    /// Warnings for the reader of the result.
    pub warnings: Vec<Warning>,
    /// Name of the backend: `io_uring`, `threads` or `fake`.
    pub backend: &'static str,
    /// CPU time of the whole process during the run in user mode, in seconds.
    pub cpu_seconds_user: f64,
    /// CPU time of the whole process during the run in the kernel, in seconds.
    pub cpu_seconds_system: f64,
    /// Time from the first event to the last completion.
    pub elapsed: Nanos,
    /// Lateness of submissions: time from a request's due time to its submission.
    pub handed_over_late: Compact,
}

impl Outcome {
    /// Adds the outcome of another worker.
    pub(crate) fn merge(&mut self, other: Self) {
        self.submitted += other.submitted;
        self.completed += other.completed;
        self.unissued += other.unissued;
        self.errors.extend(other.errors);
        self.errors.sort_by_key(|error| error.at);
        self.mismatches.extend(other.mismatches);
        self.warnings.extend(other.warnings);
        self.warnings.dedup_by_key(|warning| warning.id);
        self.elapsed = self.elapsed.max(other.elapsed);
        self.handed_over_late.merge(&other.handed_over_late);
    }
}

/// Reason why a run could not start or was aborted.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// An option is outside its range.
    #[error("{option} is {value}, but allowed is {allowed}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Given value.
        value: u64,
        /// Allowed range.
        allowed: String,
    },
    /// The server of the served disks cannot be reached.
    #[error("reaching disks at {server}: {source}")]
    Served {
        /// Address of the server.
        server: String,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The number of disks in the shape of an instance and the number of open disks differ.
    #[error("instance {instance} has {shape} disks in its shape, but {disks} open disks")]
    Shape {
        /// Position of the instance.
        instance: usize,
        /// Disks in its shape.
        shape: usize,
        /// Open disks.
        disks: usize,
    },
    /// The backend could not be set up.
    #[error("setting up {backend} for {depth} outstanding requests failed")]
    SetUp {
        /// Name of the backend: `io_uring` or `threads`.
        backend: &'static str,
        /// Requests outstanding per worker.
        depth: u32,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// A thread could not be started.
    #[error("starting thread {name} failed")]
    Thread {
        /// Name of the thread.
        name: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The backend failed during the run.
    #[error("submitting requests by {backend} failed")]
    Submit {
        /// Name of the backend: `io_uring` or `threads`.
        backend: &'static str,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// Calls could not be made because of this host, not because of the service.
    #[error("calls failed on the side of the load")]
    Call {
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// The verification state could not be kept.
    #[error("tracking writes for verification failed")]
    Verify(#[from] StateError),
    /// A worker found a broken invariant and stopped.
    #[error("worker {worker} stopped: {message}")]
    Worker {
        /// Number of the worker.
        worker: usize,
        /// Message of the panic.
        message: String,
    },
}

impl EngineError {
    /// Returns advice on what to try next.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Verify(error) => error.hint(),
            _ => None,
        }
    }
}
