//! Types that both drivers share: state machines, the events they receive, the effects they emit,
//! and their random streams.
//!
//! It defines [`Machine`], [`Event`], [`Effects`], [`IoRequest`] and [`Call`], so that the same
//! deciding code runs on real storage (`engine`) and in virtual time (`sim`).
//!
//! It has no threads, files, clocks or global randomness. Time arrives as an argument; randomness
//! comes from a [`Stream`] derived from the run's seed.
//!
//! Invariants:
//! - A state machine never blocks.
//! - The driver completes every [`IoRequest`], [`Call`], timer and CPU burst exactly once, with its
//!   token.
//! - The same seed and the same sequence of `(now, event)` pairs give the same effects, bit for
//!   bit.
#![forbid(unsafe_code)]

mod call;
mod effects;
mod error;
mod id;
mod io;
mod request_text;
mod slab;
mod stream;

pub use call::{Call, EndpointId};
pub use effects::{ActionDone, ActionOpen, CpuBurst, Effects, Event, Machine, Observation};
pub use error::{CallError, IoError};
pub use id::{IoId, RequestId};
pub use io::{
    ActionId, Content, DiskId, GroupId, IoRequest, KindId, METADATA, Operation, Pattern, Token,
};
pub use request_text::{Draws, RequestText, RequestTextError};
pub use slab::Slab;
pub use stream::{GENERATOR, Purpose, SplitMix, Stream, mix};
