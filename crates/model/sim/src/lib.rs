//! Virtual-time driver: an event loop that runs the same state machines as the engine, on a
//! modelled device.
//!
//! A device either answers at submission ([`Device`]) or lets time pass by alarms ([`Model`]), such
//! as an array of queues and disks. A [`plant`] is such a model made from an array's file.
//!
//! What it does: it has one queue of packed keys, equal times in insertion order, and a limit on
//! events per instant; it reports the same [`run_store::slice::Slice`]s as the engine.
//!
//! What it refuses: real time, threads, files.
//!
//! Invariants: the same state machines, seed and device give the same slices, bit for bit; an event
//! at the very end of a slice belongs to the next one.
#![forbid(unsafe_code)]

mod device;
mod drive;
mod in_flight;
mod meter;
mod model;
pub mod plant;
mod queue;
mod service;
mod wheel;

pub use device::{Completion, Device, Fixed, Instant};
pub use drive::{Options, Outcome, SimError, SimInstance, Simulation, run, run_model};
pub use hardware::ParameterError;
pub use model::Model;
pub use service::{ServiceParameters, Services};
