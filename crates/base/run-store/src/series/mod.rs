//! Series of a run as Parquet: all completions of every time slice, with mergeable histograms.
//! `docs/formats/series.md` lists every column.

mod between;
mod calls;
mod column;
mod error;
mod part;
mod read;
mod record;
mod slices;
mod source;
mod writer;

pub use between::Stretch;
pub use calls::CallRecord;
pub(crate) use calls::call_error_column;
pub use error::SeriesError;
pub use read::{Rows, count_between, read, read_between, read_run};
pub use record::{
    ActionRecord, GaugeRecord, GeneratorRecord, IoRecord, OpenOn, OpenRecord, Record, StepKey,
};
pub use slices::{Slices, StoredSlice};
pub use writer::Writer;

/// Version of the series files, stored in each under the key `tilemark.series`. A minor version
/// only adds: columns (`away_ns`, 1.3), files, or content that only files with a new feature have
/// (calls, 1.1; starts that have not begun, 1.3).
pub const SERIES_VERSION: &str = "1.3";
