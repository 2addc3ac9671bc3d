use std::io;

use run_store::slice::InstanceId;
use state_machine::{IoError, KindId, Operation};
use stats::Compact;
use units::Nanos;

use crate::verify::{Mismatch, StateError};

/// The failures of one disk: the first one in full, and how many there were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstErrors {
    /// Whose request the first one was.
    pub instance: InstanceId,
    /// Of which kind of that instance's.
    pub kind: KindId,
    /// The disk's name.
    pub disk: String,
    /// Byte in the disk where the first failed request began.
    pub offset: u64,
    /// What the first failed request was.
    pub operation: Operation,
    /// Why it failed.
    pub error: IoError,
    /// When its answer came, since the start.
    pub at: Nanos,
    /// How many requests to this disk failed in all.
    pub count: u64,
}

/// Something the reader of a result must know, kept as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Stable name, for programs.
    pub id: &'static str,
    /// What was seen and what it means.
    pub text: String,
}

/// What a run of the engine did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Requests handed to the storage and calls made, but for calls that were given up when the
    /// run stopped.
    pub submitted: u64,
    /// Requests and calls answered, failures included; equals `submitted` unless the storage stopped
    /// answering.
    pub completed: u64,
    /// Requests machines had asked for that still waited for a slot when the run stopped.
    pub unissued: u64,
    /// Disks with failures, in the order of their first failure.
    pub errors: Vec<FirstErrors>,
    /// Blocks that did not hold what was written to them: the first hundred of each worker.
    pub mismatches: Vec<Mismatch>,
    /// What the reader must know.
    pub warnings: Vec<Warning>,
    /// `io_uring`, `threads` or `fake`.
    pub backend: &'static str,
    /// CPU time of the whole process during the run in user mode, in seconds.
    pub cpu_seconds_user: f64,
    /// CPU time of the whole process during the run in the kernel, in seconds.
    pub cpu_seconds_system: f64,
    /// From the first event to the last answer.
    pub elapsed: Nanos,
    /// By how much requests were handed to the storage after they were due.
    pub handed_over_late: Compact,
}

impl Outcome {
    /// Adds what another worker did.
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

/// Why a run could not start or had to end.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The options make no sense.
    #[error("{option} is {value}, allowed is {allowed}")]
    Option {
        /// Which option.
        option: &'static str,
        /// What was given.
        value: u64,
        /// What may be given.
        allowed: String,
    },
    /// Disks that are served are not there.
    #[error("reaching disks at {}: {source}", socket.display())]
    Served {
        /// The server's socket.
        socket: std::path::PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// An instance's shape and disks do not fit each other.
    #[error("instance {instance} has {shape} disks in its shape and {disks} open disks")]
    Shape {
        /// Position of the instance.
        instance: usize,
        /// Disks in its shape.
        shape: usize,
        /// Open disks.
        disks: usize,
    },
    /// The way to reach the storage could not be set up.
    #[error("setting up {backend} for {depth} outstanding requests failed")]
    SetUp {
        /// `io_uring` or `threads`.
        backend: &'static str,
        /// Requests outstanding per worker.
        depth: u32,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A thread could not be started.
    #[error("starting thread {name} failed")]
    Thread {
        /// Its name.
        name: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The machinery failed while running.
    #[error("submitting requests by {backend} failed")]
    Submit {
        /// `io_uring` or `threads`.
        backend: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// This machine, not the service, could not make calls.
    #[error("making calls failed on this side")]
    Call {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Verification could not keep its state.
    #[error("following what is written failed")]
    Verify(#[from] StateError),
    /// A worker found a broken invariant and stopped.
    #[error("worker {worker} stopped: {message}")]
    Worker {
        /// Which worker.
        worker: usize,
        /// Its last words.
        message: String,
    },
}
