use std::num::NonZeroUsize;
use std::path::PathBuf;

use ::study::Shard;
use clap::{Args, Subcommand, ValueEnum};

use super::{Format, ReachArgs, seed};

/// Options of `tilemark study`.
#[derive(Debug, Args)]
pub struct StudyArgs {
    /// Lists the studies if absent.
    #[command(subcommand)]
    pub action: Option<StudyAction>,
}

/// Subcommands of `tilemark study`.
#[derive(Debug, Subcommand)]
pub enum StudyAction {
    /// List studies
    #[command(alias = "ls")]
    List {
        /// Format of stdout
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Show a study's configurations and claims, without running it
    Show {
        /// A shipped study or a study file
        #[arg(value_name = "NAME|FILE")]
        study: String,
        /// Print the study's file, ready to copy and change
        #[arg(long)]
        toml: bool,
        /// Format of stdout: text, or all values with the defaults as JSON
        #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "toml")]
        format: Format,
    },
    /// Simulate what a study's claims need, and judge them
    ///
    /// Exit code 0 even if claims are not met, because those are the result. See --strict.
    Run(StudyRunArgs),
    /// Join the parts of a study that several computers ran
    ///
    /// The result is byte for byte that of one computer. A part that is missing, given twice or of
    /// another study, seed or program is named, and nothing is joined (exit code 2).
    Merge(StudyMergeArgs),
}

/// Options of `tilemark study run`.
#[derive(Debug, Args)]
pub struct StudyRunArgs {
    /// A shipped study or a study file
    ///
    /// `tilemark study list` lists what is shipped; a path to a file ends in .toml.
    #[arg(value_name = "NAME|FILE")]
    pub study: String,
    /// Only these claims, separated by commas; repeatable
    ///
    /// Runs only the steps that these claims need, and leaves the tables out. Example: --only
    /// A12,A13
    #[arg(long, value_name = "ID,...", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Run every step of every configuration, whether or not a claim needs it
    #[arg(long)]
    pub all: bool,
    /// Runs of every step, 1 to 100 [default: the study's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats: Option<u32>,
    /// Seed of random numbers [default: the study's]
    ///
    /// 0 to 9223372036854775807. The same study and seed give the same result, to the byte.
    #[arg(long, value_name = "N", value_parser = seed)]
    pub seed: Option<u64>,
    /// Threads [default: one per core]; the result stays the same
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Run only this share of all runs, and store a part
    ///
    /// N/COUNT, with N from 1 to COUNT: shares have the same size, and every run is in one of them.
    /// Prints the path of the part; `tilemark study merge` joins all parts. All other options must
    /// be the same for all parts. Example: --shard 3/16 --out parts
    #[arg(long, value_name = "N/COUNT", conflicts_with_all = ["real", "strict", "format"])]
    pub shard: Option<Shard>,
    /// A host that simulates a share of the runs; repeat for more
    ///
    /// NAME, NAME=ssh:DESTINATION, NAME=exec:COMMAND or NAME=join, as `tilemark run --host` has it.
    /// The result is byte for byte that of one computer. Runs of a lost host are simulated on the
    /// others. Example: --host pve1 --host pve2
    #[arg(long = "host", value_name = "NAME[=HOW]", conflicts_with_all = ["shard", "threads"])]
    pub hosts: Vec<String>,
    #[command(flatten)]
    pub reach: ReachArgs,
    /// Also try configurations on real storage, in this directory [default: leave them out]
    ///
    /// Virtual disks are created in it, under the safety rules of a run, and removed. Some
    /// configurations slow the storage down for this process alone, which needs root; without root
    /// they are left out with the reason. Example: --real /mnt/scratch
    #[arg(long, value_name = "DIR")]
    pub real: Option<PathBuf>,
    /// Allow a root, memory or overlay file system for --real
    #[arg(long, requires = "real")]
    pub allow_root_fs: bool,
    #[command(flatten)]
    pub result: StudyResultArgs,
}

/// Options of `tilemark study merge`.
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
    #[command(flatten)]
    pub result: StudyResultArgs,
}

/// Output of a study's result.
#[derive(Debug, Args)]
pub struct StudyResultArgs {
    /// Directory of results and parts, which go into its sub-directory studies/ [default: beside
    /// the runs]
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true)]
    pub out: Option<PathBuf>,
    /// Exit with code 4 if a predicted claim is not met or not measured
    #[arg(long)]
    pub strict: bool,
    /// Format of stdout: text, json, csv (long form, for plots) or markdown (a page)
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = StudyFormat::Text, hide_possible_values = true)]
    pub format: StudyFormat,
}

/// Output format of a study's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StudyFormat {
    /// Text for people.
    Text,
    /// One JSON document.
    Json,
    /// Comma-separated values in long form.
    Csv,
    /// A page of documentation.
    Markdown,
}
