//! The command line, defined once: help, manual page and completions come from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use units::{Bytes, Nanos};

/// How many virtual machines' worth of real work can this storage carry before people feel it?
#[derive(Debug, Parser)]
#[command(name = "tilemark", version, after_help = crate::exit::TABLE, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Colour on the terminal.
    #[arg(long, global = true, value_enum, default_value_t = Choice::Auto, env = "TILEMARK_COLOR", hide_env = true)]
    pub color: Choice,
}

/// When to use a terminal feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// Only on a terminal, without NO_COLOR.
    Auto,
    /// In any case.
    Always,
    /// In no case.
    Never,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find out how many tiles a datastore holds
    Run(RunArgs),
    /// Say what a run would write, where and for how long; touch nothing
    Plan(RunArgs),
    /// Check a datastore and a plan; touch nothing
    Check(RunArgs),
    /// Remove what Tilemark left in a datastore, and nothing else
    Cleanup(CleanupArgs),
    /// Re-read every block a verified run wrote and say what is lost, stale, torn or misplaced
    Verify(VerifyArgs),
    /// List, show, tag or remove stored runs
    Runs(RunsArgs),
    /// Compare runs: medians, difference with interval, better, worse, same or inconclusive
    Compare(CompareArgs),
    /// Write a run in another format
    Export(ExportArgs),
    /// List or show the shipped tiles and workloads
    Tiles(TilesArgs),
    /// Say why this machine may not be fit for measuring
    Doctor(DoctorArgs),
    /// Print the JSON Schema of a file
    Schema(SchemaArgs),
    /// Print completions for a shell
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff)
    Man,
}

/// What stdout carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A result for people.
    Text,
    /// One JSON document.
    Json,
}

/// How the live view looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Live {
    /// A few lines that change in place on a terminal; plain lines elsewhere or with CI=1.
    Auto,
    /// A few lines that change in place.
    Full,
    /// One plain line at a time.
    Line,
    /// Nothing until the result.
    Off,
}

/// `run`, `plan`, `check` and `prepare` take the same options.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("profile"))]
pub struct RunArgs {
    /// A plan file (*.toml), or a datastore: dir:PATH, file:PATH, block:PATH, or a directory
    #[arg(value_name = "PLAN|DATASTORE")]
    pub target: String,

    /// About three minutes: short steps, one repeat
    #[arg(long, group = "profile", help_heading = "How thorough")]
    pub quick: bool,
    /// Tens of minutes: three repeats, steady-state rule (the default)
    #[arg(long, group = "profile", help_heading = "How thorough")]
    pub standard: bool,
    /// The field's hours
    #[arg(long, group = "profile", help_heading = "How thorough")]
    pub full: bool,
    /// Every step runs N times and passes only if all runs pass
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "How thorough")]
    pub repeats: Option<u32>,
    /// Measured time of a step, such as 30s; rounded up to whole burst periods
    #[arg(long, value_name = "TIME", alias = "runtime", help_heading = "How thorough")]
    pub duration: Option<Nanos>,
    /// Shortest warm-up before steady state is looked for
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub warm_up_min: Option<Nanos>,
    /// Longest warm-up; a step that is not steady by then is measured and marked
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub warm_up_max: Option<Nanos>,
    /// Width of one row of the series: 1s, or down to 100ms
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub slice: Option<Nanos>,

    /// A shipped tile or a tile file [default: datacenter]
    #[arg(long, value_name = "NAME|FILE", help_heading = "What runs")]
    pub tile: Option<String>,
    /// How many tiles: 4, or 1..8; searched if absent
    #[arg(long, value_name = "N|A..B", help_heading = "What runs")]
    pub tiles: Option<String>,
    /// The search goes no further than N tiles
    #[arg(long, value_name = "N", help_heading = "What runs")]
    pub tiles_max: Option<u32>,
    /// Disk sizes are multiplied by F (above 0, at most 1); stated in the result
    #[arg(long, value_name = "F", help_heading = "What runs")]
    pub footprint: Option<f64>,
    /// Burst and phase times are multiplied by F; think times and rates are not
    #[arg(long, value_name = "F", help_heading = "What runs")]
    pub time_scale: Option<f64>,
    /// Random numbers start here; drawn anew if absent, and always printed
    #[arg(
        long,
        value_name = "N",
        env = "TILEMARK_SEED",
        hide_env = true,
        help_heading = "What runs"
    )]
    pub seed: Option<u64>,

    /// Worker threads, each with its own ring
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), alias = "numjobs", help_heading = "How load is made")]
    pub workers: Option<u32>,
    /// Through the page cache instead of O_DIRECT
    #[arg(long, help_heading = "How load is made")]
    pub buffered: bool,
    /// Stamp every block with where and when it was written, and check it when read
    #[arg(long, help_heading = "How load is made")]
    pub verify: bool,
    /// CPU steps are waited for or really burnt
    #[arg(long, value_enum, help_heading = "How load is made")]
    pub cpu: Option<Cpu>,

    /// At most this much is written as files [default: 80 % of the free space less 5 GiB]
    #[arg(long, value_name = "SIZE", help_heading = "Safety")]
    pub space_max: Option<Bytes>,
    /// The serial number or /dev/disk/by-id name of the block device whose data may be lost
    #[arg(long, value_name = "IDENTITY", help_heading = "Safety")]
    pub destroy_data: Option<String>,
    /// An existing file given as file:PATH may be overwritten
    #[arg(long, help_heading = "Safety")]
    pub overwrite_file: bool,
    /// The datastore may lie on the root file system, an overlay or RAM
    #[arg(long, help_heading = "Safety")]
    pub allow_root_fs: bool,
    /// The run directory may lie on the device that is measured
    #[arg(long, help_heading = "Safety")]
    pub allow_same_device: bool,
    /// Keep the virtual disks after the run
    #[arg(long, help_heading = "Safety")]
    pub keep: bool,

    /// Where run directories are kept [default: $XDG_DATA_HOME/tilemark/runs]
    #[arg(
        short,
        long,
        value_name = "DIR",
        env = "TILEMARK_RUNS",
        hide_env = true,
        help_heading = "Output"
    )]
    pub out: Option<PathBuf>,
    /// What stdout carries
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub format: Format,
    /// How the live view on stderr looks
    #[arg(long, value_enum, default_value_t = Live::Auto, env = "TILEMARK_LIVE", hide_env = true, help_heading = "Output")]
    pub live: Live,
    /// Print the merged plan with each value's origin, and stop
    #[arg(long, help_heading = "Output")]
    pub print_config: bool,
}

/// CPU steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Cpu {
    /// A delay of their length.
    Delay,
    /// A busy core for their length.
    Burn,
}

/// `cleanup`.
#[derive(Debug, Args)]
pub struct CleanupArgs {
    /// A datastore: dir:PATH, file:PATH, block:PATH, or a directory
    #[arg(value_name = "DATASTORE")]
    pub target: String,
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// The identity of the block device whose label is erased
    #[arg(long, value_name = "IDENTITY")]
    pub destroy_data: Option<String>,
}

/// `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The datastore a verified run wrote to (kept with --keep, or left by kill -9)
    #[arg(value_name = "DATASTORE")]
    pub target: String,
    /// What stdout carries
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// `runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// What to do; lists if absent.
    #[command(subcommand)]
    pub action: Option<RunsAction>,
    /// Where run directories are kept
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true, global = true)]
    pub out: Option<PathBuf>,
    /// What stdout carries
    #[arg(long, value_enum, default_value_t = Format::Text, global = true)]
    pub format: Format,
}

/// What to do with stored runs.
#[derive(Debug, Subcommand)]
pub enum RunsAction {
    /// List them, newest last
    Ls,
    /// Show one again
    Show {
        /// A run's directory, or the beginning of its id
        run: String,
    },
    /// Remove one
    Rm {
        /// A run's directory, or the beginning of its id
        run: String,
    },
}

/// `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Runs of side A, then `vs`, then runs of side B; with two runs `vs` may be left out
    #[arg(value_name = "RUN", num_args = 2.., required = true)]
    pub runs: Vec<String>,
    /// A difference smaller than this share is no difference
    #[arg(long, value_name = "PERCENT", default_value = "3%")]
    pub min_effect: units::Ratio,
    /// Inconclusive is a failure, too (exit code 5)
    #[arg(long)]
    pub strict: bool,
    /// What stdout carries
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Where run directories are kept
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true)]
    pub out: Option<PathBuf>,
}

/// `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A run's directory, or the beginning of its id
    pub run: String,
    /// The format
    #[arg(long, value_enum, default_value_t = ExportFormat::Json)]
    pub format: ExportFormat,
    /// A file; stdout if absent
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Where run directories are kept
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true)]
    pub out: Option<PathBuf>,
}

/// Export formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// The run's summary.
    Json,
    /// The series, one row per slice, VM, direction, kind and size class.
    Csv,
    /// The series with its histograms.
    Parquet,
    /// A histogram log other HdrHistogram tools read.
    Hlog,
    /// OpenMetrics text.
    Openmetrics,
}

/// `tiles`.
#[derive(Debug, Args)]
pub struct TilesArgs {
    /// What to do; lists if absent.
    #[command(subcommand)]
    pub action: Option<TilesAction>,
}

/// What to do with shipped definitions.
#[derive(Debug, Subcommand)]
pub enum TilesAction {
    /// List tiles
    Ls,
    /// Show a tile with its workloads, disks, users, limits and sources
    Show {
        /// A shipped tile or a tile file
        tile: String,
        /// Print the definition files themselves
        #[arg(long)]
        toml: bool,
    },
}

/// `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Also look at this datastore
    #[arg(value_name = "DATASTORE")]
    pub target: Option<String>,
    /// What stdout carries
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which file
    #[arg(value_enum)]
    pub kind: SchemaKind,
}

/// Files with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaKind {
    /// A plan.
    Plan,
    /// A tile.
    Tile,
    /// A workload.
    Workload,
    /// A run's `run.json`.
    Run,
    /// A comparison.
    Compare,
}
