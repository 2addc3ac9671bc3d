use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use spec::Answering;
use units::Nanos;

use super::load::answering;
use super::{Live, LoadArgs, ReachArgs, StoredArgs};

/// Options of `tilemark simulate`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("simulated").args(["plan", "array"]).multiple(true).required(true))]
#[command(group = clap::ArgGroup::new("simulated-profile"))]
pub struct SimulateArgs {
    /// A plan file (*.toml) whose datastore is array:NAME or array:FILE
    ///
    /// The plan.toml of a simulated run works: it uses the array.toml beside it. Example: tilemark
    /// simulate --array vnx5500 --tiles 1..5
    #[arg(value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// A shipped array, or an array file
    ///
    /// A path to a file ends in .toml. Overrides the plan's.
    #[arg(long, value_name = "NAME|FILE", help_heading = "What is modelled")]
    pub array: Option<String>,
    /// Change one key of the array; repeat for more
    ///
    /// Tiers, pools and disks are named: tier.fast.size=366GiB, pool.lun1.count=11,
    /// tier.fast.remove=true. The result lists the changes.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "What is modelled")]
    pub with: Vec<String>,

    /// Model of an endpoint that the tile's workloads call; repeat for more
    ///
    /// NAME=model:SERVERSxTIME is a queue with so many servers, each of which takes TIME on average
    /// (exponential). Example: --endpoint page=model:4x2ms
    #[arg(long = "endpoint", value_name = "NAME=MODEL", value_parser = answering, hide_short_help = true, help_heading = "What is modelled")]
    pub endpoints: Vec<(String, Answering)>,

    /// Bursts five times as fast, two minutes measured, one repeat (default on a terminal)
    #[arg(long, group = "simulated-profile", help_heading = "How thorough")]
    pub quick: bool,
    /// Real time, ten minutes measured, three repeats (default elsewhere)
    #[arg(long, group = "simulated-profile", help_heading = "How thorough")]
    pub standard: bool,
    /// Real time, forty minutes measured, as published results require
    #[arg(long, group = "simulated-profile", help_heading = "How thorough")]
    pub full: bool,
    /// Stop after this real time; steps that were not simulated by then are named
    ///
    /// The result covers the completed steps. Example: --within 2m
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub within: Option<Nanos>,
    #[command(flatten)]
    pub load: LoadArgs,

    /// Threads that simulate steps of a range at the same time; the result stays the same
    ///
    /// Needs --tiles; each repeat of each count is a step. Each thread takes the memory of a
    /// simulation. Example: --tiles 1..8 --threads 4
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        hide_short_help = true,
        help_heading = "How it is simulated"
    )]
    pub threads: NonZeroUsize,
    /// A host that simulates steps of a range; repeat for more
    ///
    /// NAME, NAME=ssh:DESTINATION, NAME=exec:COMMAND or NAME=join, as for `tilemark run --host`. A
    /// host simulates as many steps at a time as it has processors. The result is identical to the
    /// bit to that of one computer. Steps of a lost host are simulated on the others, or here.
    /// Example: --host pve1 --host pve2
    #[arg(
        long = "host",
        value_name = "NAME[=HOW]",
        conflicts_with = "threads",
        hide_short_help = true,
        help_heading = "How it is simulated"
    )]
    pub hosts: Vec<String>,
    #[command(flatten)]
    pub reach: ReachArgs,

    #[command(flatten)]
    pub stored: StoredArgs,
    /// Print every step, limit and response time, not one screen
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub verbose: bool,
    /// View of the run: auto, web, full, line or off
    ///
    /// As for `tilemark run`; shows virtual time and its speed. Also: TILEMARK_LIVE
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Live::Auto, env = "TILEMARK_LIVE", hide_env = true, hide_possible_values = true, help_heading = "Output")]
    pub live: Live,
    /// Print the merged plan with each value's origin, and stop
    #[arg(long, help_heading = "Output")]
    pub print_config: bool,
}
