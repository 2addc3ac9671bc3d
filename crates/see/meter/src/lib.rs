//! Meters of watts: who is asked, what was said, and what it adds up to.
//!
//! What it does: reads each meter on a thread of its own into a log of samples, says what goes wrong
//! with it, and makes of the samples the energy of exactly a given time. A kind of meter is one file
//! of `kinds` and one line of `kinds/mod.rs`.
//!
//! What it refuses: extrapolating; calling a number of processors that of a server; changing
//! anything but the ranges of a power analyser, which it puts back; passwords in an address, on a
//! command line or in a result.
//!
//! Invariants: a meter that hangs, ends or talks nonsense holds nobody up. Samples in a log have
//! times that only grow. Energy exists only where no two samples around the time are further apart
//! than two periods, and nothing went wrong in between.
#![forbid(unsafe_code)]

mod clock;
pub mod energy;
mod error;
mod fault;
mod kinds;
mod log;
mod panel;
mod sample;

pub use clock::monotonic;
pub use error::MeterError;
pub use fault::Fault;
pub use kinds::open;
pub use log::{Log, NoEnergy};
pub use panel::{Panel, Shown};
pub use sample::{About, Meter, Phase, Sample, Span};
