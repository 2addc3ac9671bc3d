//! Export of a stored run to formats of other programs. All values are computed from the run's
//! files.

mod csv;
mod error;
mod format;
mod hlog;
mod openmetrics;

pub use error::ExportError;
pub use format::{Format, export};
