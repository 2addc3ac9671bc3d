//! Reads power meters, and computes energy from their samples.
//!
//! It reads each meter on a separate thread into a log of samples, records the meter's faults, and
//! computes the energy of an exact time span. A kind of meter is one file of `kinds` and one line
//! of `kinds/mod.rs`.
//!
//! It refuses to extrapolate; to present a processor's power as a server's power; to change
//! anything but the ranges of a power analyser, which it restores; and passwords in an address, on
//! a command line or in a result.
//!
//! Invariants: a meter that hangs, ends or sends invalid data delays no other work. Times of
//! samples in a log only increase. A span has an energy only if no two samples around it are
//! further apart than two periods, and no fault lies between.
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
