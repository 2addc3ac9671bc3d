use std::path::PathBuf;

use clap::Args;

use super::Format;

/// Options of `tilemark import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A trace of any known format, plain or compressed (zst, gz, xz)
    ///
    /// A file, or a directory or DEVICE of blktrace's files for each CPU. Example: tilemark import
    /// vm.vscsi.zst --out vm.tmt
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Format of the trace; detected from its beginning if absent
    ///
    /// An unknown name prints all known formats.
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<trace::Format>,
    /// Bad lines or records that are counted and left out
    ///
    /// One more ends the import and prints the position of the first.
    #[arg(long, value_name = "N", default_value_t = trace::OpenOptions::MAX_BAD)]
    pub max_bad: u64,

    /// The new trace: a directory that does not exist, NAME.tmt
    ///
    /// Parquet files that DuckDB, Polars and others can read. Named NAME.tmt.partial until
    /// complete.
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub out: PathBuf,
    /// Format of stdout: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
}
