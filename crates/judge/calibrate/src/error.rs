use std::path::PathBuf;

use bench::BenchError;

/// Why there is no calibration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// The target, the load or the rig.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// The tile that a calibration is checked with cannot be read.
    #[error("reading the shipped tile {tile}")]
    CheckTile {
        /// The tile.
        tile: &'static str,
        /// Why.
        #[source]
        source: Box<spec::SpecError>,
    },
    /// What would be calibrated is memory.
    #[error("calibrating {target}: {why}, so memory would be measured, not the storage")]
    PageCache {
        /// The target.
        target: String,
        /// How that is known.
        why: String,
    },
    /// An array by this name could not be found again.
    #[error("array name \"{name}\" {why}")]
    ArrayName {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file that calibration did not make.
    #[error("{} exists and was not made by tilemark calibrate", .path.display())]
    ArrayExists {
        /// The file.
        path: PathBuf,
    },
    /// The array's file.
    #[error("writing the array {}", .path.display())]
    ArrayFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The array as text.
    #[error("making the text of the array")]
    ArrayText {
        /// What is wrong.
        #[source]
        source: toml::ser::Error,
    },
}

impl CalibrateError {
    /// What to do about it, if anything is known to help.
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
