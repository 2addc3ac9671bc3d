use std::path::PathBuf;

use clap::Args;
use page_server::Listen;

use super::hosts::{JoinArgs, ReachArgs};

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

/// Hosts whose watch stores are read.
#[derive(Debug, Args)]
pub struct WatchHostsArgs {
    /// A watched host: NAME, NAME=ssh:DESTINATION, NAME=exec:COMMAND or NAME=join; repeat for more
    ///
    /// The hosts' stores are shown as one, and are not copied. The owner of each host must allow
    /// this (`watch = true` in /etc/tilemark/agent.toml there).
    #[arg(long = "host", value_name = "NAME[=HOW]", help_heading = "Hosts")]
    pub hosts: Vec<String>,
    #[command(flatten)]
    pub reach: ReachArgs,
}

impl WatchHostsArgs {
    /// Returns true if hosts are named, whose stores are then read instead of a local one.
    pub fn is_any(&self) -> bool {
        !self.hosts.is_empty()
    }
}

/// Hosts whose watch stores a page shows, and the address to which the hosts connect.
#[derive(Debug, Args)]
pub struct ServeHostsArgs {
    /// Show the watch store of this host: NAME, NAME=ssh:DESTINATION, NAME=exec:COMMAND or
    /// NAME=join; repeat for more, which are shown as one
    ///
    /// The stores are not copied. The owner of each host must allow this (`watch = true` in
    /// /etc/tilemark/agent.toml there). Example: tilemark serve --host pve1 --host pve2
    #[arg(long = "host", value_name = "NAME[=HOW]", help_heading = "Hosts")]
    pub hosts: Vec<String>,
    /// Address of this computer that hosts connect to, with a port or 0 for a free one
    ///
    /// If absent, the address from which the first ssh host is reached, or 127.0.0.1 without an ssh
    /// host. Example: 10.0.0.1:0
    #[arg(long, value_name = "ADDRESS:PORT", hide_short_help = true, help_heading = "Hosts")]
    pub hosts_listen: Option<Listen>,
    #[command(flatten)]
    pub join: JoinArgs,
}

impl ServeHostsArgs {
    /// Returns the options in the form that other commands take.
    pub fn reach(&self) -> ReachArgs {
        ReachArgs { listen: self.hosts_listen.clone(), join: self.join.clone() }
    }
}
