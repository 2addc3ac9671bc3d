use std::path::PathBuf;

use clap::{Args, ValueEnum};
use page_server::Listen;
use spec::plan::Hosts;
use units::Nanos;

use super::Format;

/// The hosts that drive a run.
#[derive(Debug, Args)]
pub struct HostArgs {
    /// Which hosts, and which tiles each of them drives.
    #[command(flatten)]
    pub hosts: Hosts,
    /// Whether the hosts see one storage (shared) or each has its own under the same name (local)
    ///
    /// It is found out before anything is filled, and a run that is told wrong ends there.
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Storage::Shared, hide_possible_values = true, hide_short_help = true, help_heading = "Hosts")]
    pub storage: Storage,
    /// How the hosts are reached.
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// How hosts are reached.
#[derive(Debug, Args)]
pub struct ReachArgs {
    /// The address of this machine that hosts connect to, with a port or 0 for a free one
    ///
    /// If absent, the one from which the first ssh host is reached; 127.0.0.1 without one. In a run
    /// without --host it is the page's: the same as --page. Example: 10.0.0.1:0
    #[arg(long, value_name = "ADDRESS:PORT", hide_short_help = true, help_heading = "Hosts")]
    pub listen: Option<Listen>,
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
    /// Where the tokens of `=join` hosts go, a file for each by its name; printed if absent
    ///
    /// Only this user can read them. For systemd, Kubernetes and others that carry files to hosts:
    /// `tilemark agent --join @FILE` there.
    #[arg(long, value_name = "DIR", hide_short_help = true, help_heading = "Hosts")]
    pub tokens: Option<PathBuf>,
    /// How long hosts may take to join
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        hide_short_help = true,
        help_heading = "Hosts"
    )]
    pub join_within: Nanos,
}

/// Whether hosts see one storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Storage {
    /// What one writes the others see.
    Shared,
    /// Each has its own.
    Local,
}

/// Hosts on which a command is done instead of here.
#[derive(Debug, Args)]
pub struct ThereArgs {
    /// A host on which this is done, as `tilemark run --host` has it; for each of them once
    ///
    /// NAME, NAME=ssh:DESTINATION, NAME=exec:COMMAND or NAME=join. What its owner did not allow is refused.
    #[arg(long = "host", value_name = "NAME[=HOW]", help_heading = "Hosts")]
    pub hosts: Vec<String>,
    /// How the hosts are reached.
    #[command(flatten)]
    pub reach: ReachArgs,
}

/// `hosts`.
#[derive(Debug, Args)]
pub struct HostsArgs {
    /// A host: NAME, NAME=ssh:DESTINATION, NAME=exec:COMMAND or NAME=join; for each of them once
    #[arg(long = "host", value_name = "NAME[=HOW]", required = true, help_heading = "Hosts")]
    pub hosts: Vec<String>,
    /// How the hosts are reached.
    #[command(flatten)]
    pub reach: ReachArgs,
    /// What stdout carries: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
}

/// `agent`.
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// Where the join token is: `-` reads a line of standard input, `@FILE` a file
    ///
    /// A token is good for one host and one run, and a secret: whoever has it can join under its name. So it
    /// is not taken from the command line, which every user of the host sees.
    /// Example: tilemark agent --join - --allow dir:/mnt/shared
    #[arg(long, value_name = "-|@FILE")]
    pub join: String,
    /// A target that may be written here, as far as the owner's file allows it; for each of them once
    #[arg(long, value_name = "DATASTORE", help_heading = "Safety")]
    pub allow: Vec<String>,
    /// A root, memory or overlay file system may be used, if a run asks for it
    #[arg(long, help_heading = "Safety")]
    pub allow_root_fs: bool,
    /// The owner's file of what is allowed [default: /etc/tilemark/agent.toml, if it is there]
    #[arg(long, value_name = "FILE", help_heading = "Safety")]
    pub config: Option<PathBuf>,
    /// How long the controller is looked for
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub join_within: Nanos,
    /// Where the state of verification goes that cannot be beside the disks
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
