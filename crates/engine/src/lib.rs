//! The real-time driver: io_uring workers that run machines against open virtual disks.
//!
//! What it does: one worker thread per ring, each with its own share of the machines, a
//! timer wheel, registered files and buffers; histograms per VM, kind, direction and size
//! class; payload and verification; prefill. It watches itself, so that a generator that
//! was the limit is never mistaken for slow storage.
//!
//! What it refuses: choosing what to run or when to stop (the caller does), opening or
//! creating targets (`datastore` does), judging.
//!
//! Invariants: every request is completed exactly once; a buffer outlives the kernel's use
//! of it; the steady path allocates nothing and takes no lock.

mod aligned;
mod arena;
mod backend;
mod blocking;
mod clock;
mod content;
mod counts;
mod direct;
mod disks;
pub mod fake;
mod held;
mod iowq;
mod merge;
mod options;
mod outcome;
pub mod payload;
pub mod prefill;
mod real;
mod run;
mod slots;
pub mod tape;
mod telemetry;
mod threads;
mod uring;
pub mod verify;
mod wheel;
mod worker;

pub use arena::{Address, LENGTH_MAX};
pub use backend::{Backend, Completion, Submission, Wait};
pub use clock::Clock;
pub use options::{BackendChoice, Options};
pub use outcome::{EngineError, FirstErrors, Outcome, Warning};
pub use run::{EngineInstance, Running, start};
