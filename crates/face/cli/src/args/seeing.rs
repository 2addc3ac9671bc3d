use std::path::PathBuf;

use clap::Args;

use super::hosts::ReachArgs;

/// Hosts whose I/O is recorded or analyzed.
#[derive(Debug, Args)]
pub struct SeenHostsArgs {
    /// A host: NAME, NAME=ssh:DESTINATION, NAME=exec:COMMAND or NAME=join; repeat for more
    ///
    /// Traces are written and read on the hosts, in directories that their owners allow (`record =
    /// true` in /etc/tilemark/agent.toml there).
    #[arg(long = "host", value_name = "NAME[=HOW]", help_heading = "Hosts")]
    pub hosts: Vec<String>,
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// Traces that are copied here from hosts.
#[derive(Debug, Args)]
pub struct CollectArgs {
    /// Copy the hosts' traces here, to a directory each in DIR
    ///
    /// Without this no trace is copied: every host analyzes its own and sends sums.
    #[arg(long, value_name = "DIR", requires = "hosts", help_heading = "Hosts")]
    pub collect: Option<PathBuf>,
}
