//! A file system that lies on purpose: its files answer when a modelled array would, in real
//! time, and it does wrong what a schedule says, so that a real run meets storage whose truth
//! is known.
//!
//! What it does: mounts a FUSE file system ([`Mounted`]); asks a [`sim::plant::Plant`] made from
//! any array's file when each read, write and flush would be answered, and answers then;
//! damages, delays and refuses by a schedule ([`Schedule`]) and a seed; writes every fault down
//! as it happens ([`truth`]).
//!
//! What it refuses: keeping anything (files are nameless in the backing directory or memory and
//! are gone when the process is, however it ends); mounting over anything but an empty
//! directory; links, devices, extended attributes.
//!
//! # How time is played
//!
//! Time zero of the model is the mount. A request that arrives at real time t enters the model
//! at virtual time t; before that, everything the model has to do until t is done, each event at
//! its own virtual time. A thread sleeps until shortly before the next event, then watches the
//! clock, and sends the answers that are due. So how late the machine lets it wake up delays
//! answers, and never what the model does: lateness is measured for every answer and reported
//! ([`Lateness`]). The way through the kernel to this process and back (some 20 to 100 us) comes on
//! top of what the model says, and is not corrected.
//!
//! Only reads, writes and flushes (`fsync`, `fdatasync`) take modelled time; names, sizes and
//! allocation take none. A hole costs nothing to read. Hosts' processors of the model work for I/Os
//! alone. Tiers begin empty, as on a new array.
//!
//! A file's bytes are given addresses on the array in pieces of 1 MiB when they are allocated or
//! first written. The array is cut into equal virtual disks (slots, 64 MiB or more), and each new file
//! begins in the next one: queues that are fair between virtual disks see different files as
//! different ones. Small files (of one piece) lie together in the last. So virtual disks as large as
//! a slot lie where a plant of just these has them; smaller ones lie further apart, and arms of
//! disks have further to go.
//!
//! # What can go wrong, in words
//!
//! | fault | what is asked | what is answered | what the file holds afterwards |
//! |---|---|---|---|
//! | delay | anything | right, later by a time | right |
//! | hang | anything | right, not before the end of the span | right |
//! | eio, enospc | anything, writes | the error, when the model would answer | what it held |
//! | short | reads, writes | fewer bytes than asked for, at least 512 and whole sectors | as far as was answered |
//! | lost | writes | success | what it held |
//! | torn | writes over 512 B | success | the first sectors new, the rest as before |
//! | misdirected | writes | success | as before where it was meant; the data elsewhere in the file |
//! | stale | writes | success | right; but the first read of each sector gives what was there before |
//! | bit-flip | reads, writes | success | one bit is wrong: of the answer (reads) or for good (writes) |
//! | silly-rename | unlinking an open file | success | it stays as `.fuse_hidden...` until it is closed |
//!
//! Sectors that a fault left wrong are remembered until a good write covers them, so the truth
//! also says which reads were answered with wrong bytes.
//!
//! Invariants: without faults every byte read is the byte written last; every request is answered
//! once, also when the file system is taken away; the decision on the n-th request that a rule
//! is about depends on the seed, the rule and n alone; a fault is written down before its
//! request is answered.
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
pub use judge::{Change, Judge, Seen, Verdict};
pub use mount::{Mounted, Options, default_size};
pub use report::{Lateness, Report};
pub use schedule::{Kind, Op, Rule, Schedule};
