use std::path::PathBuf;

use datastore::Target;
use run_store::run::ToolFacts;
use units::{Bytes, Nanos};

/// What to calibrate, and what is allowed.
#[derive(Debug, Clone)]
pub struct CalibrateOptions {
    /// What is measured.
    pub target: Target,
    /// Name of the array; nothing for the device's name.
    pub name: Option<String>,
    /// Where its file goes; nothing for the user's directory of arrays.
    pub out: Option<PathBuf>,
    /// Fewer and shorter loops.
    pub quick: bool,
    /// Reads only, from what is there; for block devices and files.
    pub read_only: bool,
    /// Size of the disk that is measured.
    pub space: Bytes,
    /// Time of each loop; nothing for the default.
    pub point: Option<Nanos>,
    /// Sets of parameters each kind of model may try, about; nothing for the default.
    pub tries: Option<u32>,
    /// Where random numbers start.
    pub seed: u64,
    /// Threads that simulate.
    pub threads: usize,
    /// Identity of the block device whose content may be lost.
    pub destroy_data: Option<String>,
    /// An existing file that is not ours may be overwritten.
    pub overwrite_file: bool,
    /// A directory on a memory, overlay or root file system may be used.
    pub allow_root_fs: bool,
    /// What the page cache answers is measured too, instead of being refused.
    pub buffered: bool,
    /// The program.
    pub tool: ToolFacts,
    /// The command, for the file's source.
    pub command: String,
}
