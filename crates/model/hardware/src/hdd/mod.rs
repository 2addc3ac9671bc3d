//! Model of a disk with one arm: geometry, seek curve, rotation, zones, a reordering queue,
//! read-ahead. Writes go to the platter before they are answered, as arrays configure it.
//!
//! The queue, and why it is as it is (docs/developers/adr/0035-queue-of-a-disk.md):
//!
//! - A request in service is never interrupted. So a second request gains nothing, and reordering
//!   begins with the third (MSR-TR-2000-55 measured it).
//! - Firmware of the years of the modelled drives counts seek and rotation (SPTF). Older firmware
//!   counts the seek only (SSTF).
//! - A request older than a limit is served next, whatever its distance. This is the only ageing
//!   that a drive's manual describes; no weight grows with age.

mod geometry;
mod model;
mod parameters;
mod seek;

pub use model::Hdd;
pub use parameters::{HddParameters, HddPreset, Order};
pub use seek::{SeekCurve, SeekTimes};
