//! The virtual-time driver: an event loop that runs the same machines as the engine, on a
//! modelled device.
//!
//! What it does: one heap of packed keys, equal times in insertion order, an event cap per
//! instant; reports the same [`record::slice::Slice`]s as the engine.
//!
//! What it refuses: real time, threads, files.
//!
//! Invariants: the same machines, seed and device give the same slices, bit for bit.
#![forbid(unsafe_code)]
