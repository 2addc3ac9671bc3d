use std::path::PathBuf;

use clap::Args;

use super::hosts::ReachArgs;

/// The hosts that are looked at.
#[derive(Debug, Args)]
pub struct SeenHostsArgs {
    /// A host, for each of them once: NAME, NAME=ssh:DESTINATION, NAME=exec:COMMAND or NAME=join
    ///
    /// Traces are written and read on the hosts, in directories that their owners allow (`record = true` in
    /// /etc/tilemark/agent.toml there).
    #[arg(long = "host", value_name = "NAME[=HOW]", help_heading = "Hosts")]
    pub hosts: Vec<String>,
    /// How the hosts are reached.
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// What is brought here from hosts.
#[derive(Debug, Args)]
pub struct CollectArgs {
    /// Bring the traces of the hosts here, to a directory each in DIR
    ///
    /// Without it no trace travels: every host folds its own, and sends sums.
    #[arg(long, value_name = "DIR", requires = "hosts", help_heading = "Hosts")]
    pub collect: Option<PathBuf>,
}
