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
pub mod payload;
pub mod prefill;
pub mod verify;
