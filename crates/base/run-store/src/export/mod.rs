//! Exports a stored run to formats of other programs. Everything is computed from the run's files.

mod csv;
mod error;
mod format;
mod hlog;
mod openmetrics;

pub use error::ExportError;
pub use format::{Format, export};
