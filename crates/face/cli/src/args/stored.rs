use std::path::PathBuf;

use clap::Args;

use super::Format;

/// Directory of stored runs, and format of standard output.
#[derive(Debug, Args)]
pub struct StoredArgs {
    /// Directory of stored runs
    ///
    /// If absent, $XDG_DATA_HOME/tilemark/runs or ~/.local/share/tilemark/runs.
    /// Also: TILEMARK_RUNS
    #[arg(
        short,
        long,
        value_name = "DIR",
        env = "TILEMARK_RUNS",
        hide_env = true,
        help_heading = "Output"
    )]
    pub out: Option<PathBuf>,
    /// Format of stdout: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
}
