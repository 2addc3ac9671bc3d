//! File system with deliberate faults: its files answer at a modelled array's speed, in real time,
//! and fail according to a schedule, so that a real run uses storage whose faults are known.
//!
//! It mounts a FUSE file system ([`Mounted`]); asks a [`sim::plant::Plant`] made from an array's
//! file for the time of each read, write and flush, and answers at that time; damages, delays and
//! refuses requests according to a schedule ([`Schedule`]) and a seed; and records every fault when
//! it occurs ([`truth`]).
//!
//! It stores nothing permanently (files are unnamed in the backing directory or memory and vanish
//! with the process, however it ends). It refuses to mount over anything but an empty directory,
//! and links, devices and extended attributes.
//!
//! # How time passes
//!
//! The model's time zero is the time of the mount. A request that arrives at real time t enters the
//! model at virtual time t; before that, all events of the model until t are run, each at its own
//! virtual time. A thread sleeps until shortly before the next event, then polls the clock, and
//! sends the due answers. A late wake-up therefore delays answers, but never changes the model:
//! lateness is measured for every answer and reported ([`Lateness`]). The time from the kernel to
//! this process and back (about 20 to 100 us) is added to the model's time, and is not corrected.
//!
//! Only reads, writes and flushes (`fsync`, `fdatasync`) take modelled time; operations on names,
//! sizes and allocation take none. Reading a hole takes no time. The model's host processors only
//! process I/Os. Tiers begin empty, as on a new array.
//!
//! A file's bytes get addresses on the array in pieces of 1 MiB when they are allocated or first
//! written. The array is divided into equal virtual disks (slots, 64 MiB or more), and each new
//! file begins in the next one, so that queues with fairness between virtual disks treat different
//! files as different disks. Small files (of one piece) share the last slots. Virtual disks of a
//! slot's size are therefore placed as in a plant with only these disks; smaller ones are further
//! apart, with longer seeks.
//!
//! # Faults
//!
//! | fault | requests | answer | content of the file afterwards |
//! |---|---|---|---|
//! | delay | all | correct, but later by a given time | correct |
//! | hang | all | correct, but not before the end of the span | correct |
//! | eio, enospc | all; writes only | the error, at the time at which the model answers | unchanged |
//! | short | reads, writes | fewer bytes than requested: at least 512, in whole sectors | changed only for the bytes in the answer |
//! | lost | writes | success | unchanged |
//! | torn | writes over 512 B | success | the first sectors are new, the others unchanged |
//! | misdirected | writes | success | unchanged at the requested place; the data is elsewhere in the file |
//! | stale | writes | success | correct, but the first read of each sector returns the previous data |
//! | bit-flip | reads, writes | success | one bit is wrong: in the answer (reads) or permanently (writes) |
//! | silly-rename | unlinking an open file | success | the file remains as `.fuse_hidden...` until it is closed |
//!
//! Sectors damaged by a fault are remembered until a good write covers them, so the truth also
//! lists reads that returned wrong bytes.
//!
//! Invariants: without faults every byte read is the byte written last; every request is answered
//! once, also at an unmount; the decision on a rule's n-th request depends only on the seed, the
//! rule and n; a fault is recorded before its request is answered.
#![forbid(unsafe_code)]

mod content;
mod desk;
mod error;
mod files;
mod fs;
mod judge;
mod mount;
mod report;
mod schedule;
mod sent;
mod service;
mod shared;
mod space;
mod tree;
pub mod truth;

pub use desk::{Answer, Desk, Hold, Span};
pub use error::LabError;
pub use files::Backing;
pub use judge::{Change, Judge, JudgedRequest, Verdict};
pub use mount::{Mounted, Options, default_size};
pub use report::{Lateness, Report};
pub use schedule::{Kind, Op, Rule, Schedule};
