use std::io;

use crate::rundir::RunDirError;
use crate::series::SeriesError;

/// Error of exporting a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The output cannot be written.
    #[error("writing the export: {0}")]
    Write(#[from] io::Error),
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] RunDirError),
    /// The series of the run cannot be read.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// The run was killed, so it has no complete series file.
    #[error("run {id} was not finished, so it has parts and no series.parquet")]
    NotFinished {
        /// Identifier of the run.
        id: String,
    },
    /// The run has no series of this kind.
    #[error("run {id} has no {what}")]
    NoSeries {
        /// Identifier of the run.
        id: String,
        /// Name of the series.
        what: &'static str,
    },
    /// No format has this name.
    #[error("\"{text}\" is not an export format; formats are {known}")]
    UnknownFormat {
        /// Name that was given.
        text: String,
        /// Names of all formats.
        known: String,
    },
}
