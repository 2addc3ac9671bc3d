use clap::{Args, Subcommand};

use super::Format;

/// `config`.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: ConfigAction,
}

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub enum ConfigAction {
    /// Show the options of run, record and serve that are set, and where
    ///
    /// Each can be set by a variable (--tiles-max: TILEMARK_TILES_MAX). Switches are 1 or 0; options
    /// that can be given several times have a line for each. Each can be set in config.toml below
    /// $XDG_CONFIG_HOME/tilemark or ~/.config/tilemark, too: version = 1, then tables run, record and
    /// serve with the options' names.
    /// The command line wins over variables, these over a plan, and the file comes last.
    Show {
        /// Show every option with its variable, set or not
        #[arg(long)]
        all: bool,
        /// What stdout carries
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
}
