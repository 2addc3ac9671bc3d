use std::path::PathBuf;

use bench::BenchError;

/// Reason why there is no calibration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// Error of the target, the load or the rig.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// The tile for the check cannot be read.
    #[error("reading the shipped tile {tile}")]
    CheckTile {
        /// Name of the tile.
        tile: &'static str,
        /// Error when reading the tile.
        #[source]
        source: Box<spec::SpecError>,
    },
    /// The target would be served from memory.
    #[error("calibrating {target}: {why}, so memory would be measured, not the storage")]
    PageCache {
        /// Name of the target.
        target: String,
        /// Evidence that the page cache serves the target.
        why: String,
    },
    /// The array could not be found again under its name.
    #[error("array name \"{name}\" {why}")]
    ArrayName {
        /// Name as given.
        name: String,
        /// Problem with the name.
        why: &'static str,
    },
    /// The file exists and was not created by a calibration.
    #[error("{} exists and was not made by tilemark calibrate", .path.display())]
    ArrayExists {
        /// Path of the file.
        path: PathBuf,
    },
    /// The array file cannot be written.
    #[error("writing the array {}", .path.display())]
    ArrayFile {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The array cannot be converted to text.
    #[error("converting the array to text")]
    ArrayText {
        /// Error of the conversion.
        #[source]
        source: toml::ser::Error,
    },
}

impl CalibrateError {
    /// Returns a hint on how to solve the problem, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Bench(error) => error.hint(),
            Self::PageCache { .. } => Some(
                "name a target on a file system with direct I/O; --buffered calibrates without it, \
                 and every use of the array then says so"
                    .to_owned(),
            ),
            Self::ArrayName { .. } | Self::ArrayExists { .. } => {
                Some("choose another with --name NAME or --out FILE".to_owned())
            }
            Self::CheckTile { .. } | Self::ArrayFile { .. } | Self::ArrayText { .. } => None,
        }
    }
}
