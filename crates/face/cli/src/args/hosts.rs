use std::path::PathBuf;

use clap::{Args, ValueEnum};
use page_server::Listen;
use spec::plan::Hosts;
use units::Nanos;

use super::Format;

/// Hosts that run the tiles.
#[derive(Debug, Args)]
pub struct HostArgs {
    #[command(flatten)]
    pub hosts: Hosts,
    /// Storage that the hosts see: shared (one for all) or local (one each, under the same name)
    ///
    /// Checked before anything is filled; with the wrong value the run stops there.
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Storage::Shared, hide_possible_values = true, hide_short_help = true, help_heading = "Hosts")]
    pub storage: Storage,
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// Options for reaching hosts.
#[derive(Debug, Args)]
pub struct ReachArgs {
    /// Address of this computer that hosts connect to, with a port or 0 for a free one
    ///
    /// If absent, the address from which the first ssh host is reached, or 127.0.0.1 without an ssh
    /// host. In a run without --host this is the page's address, like --page. Example: 10.0.0.1:0
    #[arg(long, value_name = "ADDRESS:PORT", hide_short_help = true, help_heading = "Hosts")]
    pub listen: Option<Listen>,
    #[command(flatten)]
    pub join: JoinArgs,
}

/// Options for how hosts join.
#[derive(Debug, Clone, Args)]
pub struct JoinArgs {
    /// The program on the other side of ssh
    #[arg(
        long,
        value_name = "PATH",
        default_value = "tilemark",
        env = "TILEMARK_HOST_PROGRAM",
        hide_env = true,
        hide_short_help = true,
        help_heading = "Hosts"
    )]
    pub host_program: String,
    /// Directory for the tokens of `=join` hosts, a file for each, named after the host; printed if
    /// absent
    ///
    /// Only this user can read the files. For systemd, Kubernetes and other ways to bring files to
    /// hosts: run `tilemark agent --join @FILE` there.
    #[arg(long, value_name = "DIR", hide_short_help = true, help_heading = "Hosts")]
    pub tokens: Option<PathBuf>,
    /// Time that hosts may take to join
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        hide_short_help = true,
        help_heading = "Hosts"
    )]
    pub join_within: Nanos,
}

/// Storage that the hosts see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Storage {
    /// Each host sees the writes of the others.
    Shared,
    /// Each host has its own.
    Local,
}

/// Hosts on which a command runs instead of here.
#[derive(Debug, Args)]
pub struct ThereArgs {
    /// Run on this host, named as for `tilemark run --host`; repeat for more
    ///
    /// NAME, NAME=ssh:DESTINATION, NAME=exec:COMMAND or NAME=join. The host refuses what its owner
    /// did not allow.
    #[arg(long = "host", value_name = "NAME[=HOW]", help_heading = "Hosts")]
    pub hosts: Vec<String>,
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// Options of `tilemark hosts`.
#[derive(Debug, Args)]
pub struct HostsArgs {
    /// A host: NAME, NAME=ssh:DESTINATION, NAME=exec:COMMAND or NAME=join; repeat for more
    #[arg(long = "host", value_name = "NAME[=HOW]", required = true, help_heading = "Hosts")]
    pub hosts: Vec<String>,
    #[command(flatten)]
    pub reach: ReachArgs,
    /// Format of stdout: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
}

/// Options of `tilemark agent`.
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// Source of the join token: `-` reads a line of standard input, `@FILE` a file
    ///
    /// A token is valid for one host and one run. It is secret: whoever has it can join under the
    /// host's name. It is not taken from the command line, which every user of the host can read.
    /// Example: tilemark agent --join - --allow dir:/mnt/shared
    #[arg(long, value_name = "-|@FILE")]
    pub join: String,
    /// A target that may be written here, if the owner's file allows it; repeat for more
    #[arg(long, value_name = "DATASTORE", help_heading = "Safety")]
    pub allow: Vec<String>,
    /// Allow a root, memory or overlay file system, if a run asks for it
    #[arg(long, help_heading = "Safety")]
    pub allow_root_fs: bool,
    /// The owner's file of allowed targets [default: /etc/tilemark/agent.toml, if it exists]
    #[arg(long, value_name = "FILE", help_heading = "Safety")]
    pub config: Option<PathBuf>,
    /// Time to look for the controller
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub join_within: Nanos,
    /// Directory for verification state that cannot be stored beside the disks
    #[arg(
        short,
        long,
        value_name = "DIR",
        env = "TILEMARK_RUNS",
        hide_env = true,
        help_heading = "Output"
    )]
    pub out: Option<PathBuf>,
}
