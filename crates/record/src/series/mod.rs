//! The run's series: what finished in every slice of time, with mergeable histograms, as
//! Parquet. `docs/formats/series.md` lists every column.

mod column;
mod error;
mod part;
mod read;
mod record;
mod source;
mod writer;

pub use error::SeriesError;
pub use read::{Rows, read, read_run};
pub use record::{ActionRecord, GeneratorRecord, IoRecord, Record, StepKey};
pub use writer::Writer;

/// Version of the series files, stored in each under the key `tilemark.series`. A minor
/// version only adds columns.
pub const SERIES_VERSION: &str = "1.0";
