//! Real-time driver: io_uring workers that run state machines against open virtual disks.
//!
//! What it does: one worker thread per ring, each with its own share of the instances, a timer
//! wheel, registered files and buffers, and connections to disks that are served over NBD
//! ([`Served`]). It keeps histograms per VM, kind, direction and size class. It generates and
//! verifies payload, prefills disks, makes calls to services, and moves instances from a running
//! load to another one. It monitors itself, so that a generator that was the bottleneck is never
//! mistaken for slow storage.
//!
//! What it refuses: choosing what to run or when to stop (the caller does), opening or creating
//! targets (`datastore` does), judging.
//!
//! Invariants: every request is completed exactly once; a buffer outlives the kernel's use of it;
//! the steady path allocates nothing and takes no lock.

#![deny(unsafe_code)]

#[expect(unsafe_code, reason = "memory that is lent to the kernel")]
mod arena;
#[expect(unsafe_code, reason = "the ring is shared with the kernel")]
mod attempt;
mod backend;
#[expect(unsafe_code, reason = "the memory of a loan, for as long as a blocking call takes")]
mod blocking;
pub mod client;
#[expect(unsafe_code, reason = "getrusage has no safe wrapper")]
mod clock;
mod content;
mod counts;
mod direct;
mod disks;
pub mod fake;
#[expect(unsafe_code, reason = "advice about memory has no safe wrapper")]
pub mod heap;
mod held;
mod instance;
mod iowq;
mod merge;
mod moving;
mod options;
mod outcome;
pub mod payload;
pub mod prefill;
mod real;
mod run;
mod served;
mod slots;
pub mod tape;
mod telemetry;
mod threads;
#[expect(unsafe_code, reason = "the ring is shared with the kernel")]
mod uring;
pub mod verify;
mod wheel;
mod worker;

pub use arena::{Address, LENGTH_MAX};
pub use attempt::try_ring;
pub use backend::{Backend, Completion, Submission, Wait};
pub use clock::{Clock, wait_until};
pub use instance::{EngineInstance, Guest};
pub use moving::{Carried, MoveError, Orders};
pub use options::{BackendChoice, Options};
pub use outcome::{EngineError, FirstErrors, Outcome, Warning};
pub use run::{Running, start};
pub use served::{Served, ServerAddress};
