//! The vocabulary both drivers share: state machines, the events they receive, the effects
//! they emit, and their random streams.
//!
//! What it does: defines [`Machine`], [`Event`], [`Effects`], [`IoRequest`] and [`Call`], so that
//! one piece of deciding code runs on real storage (`engine`) and in virtual time (`sim`).
//!
//! What it refuses: threads, files, clocks and global randomness. Time arrives as an
//! argument; randomness comes from a [`Stream`] derived from the run's seed.
//!
//! Invariants: a machine never blocks; every [`IoRequest`], [`Call`], timer and CPU burst it emits is
//! answered by the driver exactly once with the token it carries; given the same seed and
//! the same sequence of `(now, event)` pairs it emits the same effects, bit for bit.
#![forbid(unsafe_code)]

mod call;
mod effects;
mod error;
mod id;
mod io;
mod slab;
mod stream;

pub use call::{Call, EndpointId};
pub use effects::{ActionDone, ActionOpen, CpuBurst, Effects, Event, Machine, Observation};
pub use error::{CallError, IoError};
pub use id::{IoId, RequestId};
pub use io::{
    ActionId, Content, DiskId, GroupId, IoRequest, KindId, METADATA, Operation, Pattern, Token,
};
pub use slab::Slab;
pub use stream::{GENERATOR, Purpose, SplitMix, Stream, mix};
