use std::path::PathBuf;

use bench::BenchError;

/// Reason why there is no calibration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// Error of the target, the load or the rig.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// Tile of the check that cannot be read.
    #[error("reading the shipped tile {tile}")]
    CheckTile {
        /// Name of the tile.
        tile: &'static str,
        /// Error of reading it.
        #[source]
        source: Box<spec::SpecError>,
    },
    /// Target that memory would answer.
    #[error("calibrating {target}: {why}, so memory would be measured, not the storage")]
    PageCache {
        /// Name of the target.
        target: String,
        /// Evidence for the page cache.
        why: String,
    },
    /// Array name that could not be found again.
    #[error("array name \"{name}\" {why}")]
    ArrayName {
        /// Name as given.
        name: String,
        /// Error in the name.
        why: &'static str,
    },
    /// File that calibration did not make.
    #[error("{} exists and was not made by tilemark calibrate", .path.display())]
    ArrayExists {
        /// Path of the file.
        path: PathBuf,
    },
    /// Array file that cannot be written.
    #[error("writing the array {}", .path.display())]
    ArrayFile {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: std::io::Error,
    },
    /// Array that cannot be written as text.
    #[error("making the text of the array")]
    ArrayText {
        /// Error of the text.
        #[source]
        source: toml::ser::Error,
    },
}

impl CalibrateError {
    /// Hint on what to do, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bench(error) => error.hint(),
            Self::PageCache { .. } => Some(
                "name a target on a file system with direct I/O; --buffered calibrates all the \
                 same, and every use of the array says so"
                    .to_owned(),
            ),
            Self::ArrayName { .. } | Self::ArrayExists { .. } => {
                Some("choose another with --name NAME or --out FILE".to_owned())
            }
            Self::CheckTile { .. } | Self::ArrayFile { .. } | Self::ArrayText { .. } => None,
        }
    }
}
