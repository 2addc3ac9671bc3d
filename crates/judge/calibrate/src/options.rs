use std::path::PathBuf;

use datastore::Target;
use run_store::run::ToolFacts;
use units::{Bytes, Nanos};

/// Options and permissions of a calibration.
#[derive(Debug, Clone)]
pub struct CalibrateOptions {
    /// Target to measure.
    pub target: Target,
    /// Name of the array; `None` for the device's name.
    pub name: Option<String>,
    /// Path of the array's file; `None` for the user's directory of arrays.
    pub out: Option<PathBuf>,
    /// True for fewer and shorter loops.
    pub quick: bool,
    /// True to only read existing data. The target must be a block device or a file with data.
    pub read_only: bool,
    /// Size of the measured disk.
    pub space: Bytes,
    /// Time of each loop; `None` for the default.
    pub point: Option<Nanos>,
    /// Approximate number of parameter sets of each kind of model; `None` for the default.
    pub tries: Option<u32>,
    /// Seed of random numbers.
    pub seed: u64,
    /// Number of simulating threads.
    pub threads: usize,
    /// Identity of the block device that may be overwritten.
    pub destroy_data: Option<String>,
    /// True if an existing foreign file may be overwritten.
    pub overwrite_file: bool,
    /// True if a directory on a memory, overlay or root file system may be used.
    pub allow_root_fs: bool,
    /// True to measure the page cache if direct I/O is not possible, instead of refusing.
    pub buffered: bool,
    /// Version of the program.
    pub tool: ToolFacts,
    /// Command line, for the file's source.
    pub command: String,
}
