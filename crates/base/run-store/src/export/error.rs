use std::io;

use crate::rundir::RunDirError;
use crate::series::SeriesError;

/// Why a run cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The output cannot be written.
    #[error("writing the export: {0}")]
    Write(#[from] io::Error),
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] RunDirError),
    /// Its series cannot be read.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// A killed run has no single series file.
    #[error("run {id} was not finished, so it has parts and no series.parquet")]
    NotFinished {
        /// Which run.
        id: String,
    },
    /// There is nothing to write.
    #[error("run {id} has no {what}")]
    NoSeries {
        /// Which run.
        id: String,
        /// What is missing.
        what: &'static str,
    },
    /// The name is not that of a format.
    #[error("\"{text}\" is not an export format; there are {known}")]
    UnknownFormat {
        /// What was asked for.
        text: String,
        /// What there is.
        known: String,
    },
}
