use std::num::NonZeroUsize;
use std::path::PathBuf;

use ::study::Shard;
use clap::{Args, Subcommand, ValueEnum};

use super::{Format, ReachArgs, seed};

/// `study`.
#[derive(Debug, Args)]
pub struct StudyArgs {
    /// What to do; lists if absent.
    #[command(subcommand)]
    pub action: Option<StudyAction>,
}

/// What to do with studies.
#[derive(Debug, Subcommand)]
pub enum StudyAction {
    /// List studies
    #[command(alias = "ls")]
    List {
        /// What stdout carries
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Show a study's configurations and claims, without running it
    Show {
        /// A shipped study or a study file
        #[arg(value_name = "NAME|FILE")]
        study: String,
        /// Print the study's file itself, ready to be copied and changed
        #[arg(long)]
        toml: bool,
        /// What stdout carries: text, or all values with the defaults as JSON
        #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "toml")]
        format: Format,
    },
    /// Simulate what a study's claims need, and judge them
    ///
    /// Ends with 0 also when claims are not met: which are not is the result. See --strict.
    Run(StudyRunArgs),
    /// Put the parts of a study together that several machines ran
    ///
    /// The result is that of one machine, to the byte. A part that is missing, there twice or of
    /// another study, seed or program is named, and nothing is put together (exit code 2).
    Merge(StudyMergeArgs),
}

/// `study run`.
#[derive(Debug, Args)]
pub struct StudyRunArgs {
    /// A shipped study or a study file
    ///
    /// `tilemark study list` lists what is shipped; a path to a file ends in .toml.
    #[arg(value_name = "NAME|FILE")]
    pub study: String,
    /// Only these claims, separated by commas; may be given several times
    ///
    /// Runs only what they need, and leaves the tables out. Example: --only A12,A13
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Run every step of every configuration, needed by a claim or not
    #[arg(long)]
    pub all: bool,
    /// Runs of every step, 1 to 100 [default: the study's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats: Option<u32>,
    /// Where random numbers start [default: the study's]
    ///
    /// 0 to 9223372036854775807. The same study and seed give the same result, to the byte.
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,
    /// Threads [default: one per core]; they do not change the result
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Run only this share of all runs, and keep a part
    ///
    /// N/COUNT, with N from 1 to COUNT: shares are alike, and every run is in one of them. Prints
    /// where the part is; `tilemark study merge` puts all parts together. What is asked for must be
    /// the same for every part. Example: --shard 3/16 --out parts
    #[arg(long, value_name = "N/COUNT", conflicts_with_all = ["real", "strict", "format"])]
    pub shard: Option<Shard>,
    /// A host that simulates a share of the runs; for each of them once
    ///
    /// NAME, NAME=ssh:DESTINATION, NAME=exec:COMMAND or NAME=join, as `tilemark run --host` has it. The result
    /// is that of one machine, to the byte; runs of a host that is lost are simulated on the others.
    /// Example: --host pve1 --host pve2
    #[arg(long = "host", value_name = "NAME[=HOW]", conflicts_with_all = ["shard", "threads"])]
    pub hosts: Vec<String>,
    /// How the hosts are reached.
    #[command(flatten)]
    pub reach: ReachArgs,
    /// Try configurations on real storage, too, in this directory [default: leave them out]
    ///
    /// Virtual disks are made in it, under the safety rules of a run, and removed. Some
    /// configurations slow the storage down for this process alone, which needs root; where that
    /// cannot be done they are left out with the reason. Example: --real /mnt/scratch
    #[arg(long, value_name = "DIR")]
    pub real: Option<PathBuf>,
    /// Let that directory be on a root, memory or overlay file system
    #[arg(long, requires = "real")]
    pub allow_root_fs: bool,
    /// Where its result goes.
    #[command(flatten)]
    pub result: StudyResultArgs,
}

/// `study merge`.
#[derive(Debug, Args)]
pub struct StudyMergeArgs {
    /// The shipped study or the study file that was run
    #[arg(value_name = "NAME|FILE")]
    pub study: String,
    /// The parts, in any order
    ///
    /// Example: tilemark study merge vsan-6 parts/studies/vsan-6-part-*-of-16.json
    #[arg(value_name = "PART", required = true)]
    pub parts: Vec<PathBuf>,
    /// Where its result goes.
    #[command(flatten)]
    pub result: StudyResultArgs,
}

/// Where the result of a study goes.
#[derive(Debug, Args)]
pub struct StudyResultArgs {
    /// Where results and parts are kept, in studies/ beside the runs
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true)]
    pub out: Option<PathBuf>,
    /// A predicted claim that is not met or not measured is a failure (exit code 4)
    #[arg(long)]
    pub strict: bool,
    /// What stdout carries: text, json, csv (long form, for plots) or markdown (a page)
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = StudyFormat::Text, hide_possible_values = true)]
    pub format: StudyFormat,
}

/// What a study's result is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StudyFormat {
    /// A result for people.
    Text,
    /// One JSON document.
    Json,
    /// Comma-separated values in long form.
    Csv,
    /// A page of documentation.
    Markdown,
}
