use clap::{Args, Subcommand};

use super::Format;

/// Options of `tilemark config`.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub action: ConfigAction,
}

/// Subcommands of `tilemark config`.
#[derive(Debug, Subcommand)]
pub enum ConfigAction {
    /// Show the options of run, record and serve that are set, and where
    ///
    /// Each option can be set by a variable, such as TILEMARK_TILES_MAX for --tiles-max. Switches
    /// take 1 or 0; repeatable options take one value a line. Each can also be set in config.toml
    /// below $XDG_CONFIG_HOME/tilemark or ~/.config/tilemark: version = 1, then tables run, record
    /// and serve with the options' names. The command line overrides variables, variables override
    /// a plan, and a plan overrides the file.
    Show {
        /// Show every option with its variable, set or not
        #[arg(long)]
        all: bool,
        /// Format of stdout
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
}
