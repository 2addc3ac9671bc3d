//! The command line, defined once: help, manual page and completions come from here.

mod study;
mod what_if;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use units::{Bytes, Nanos};

pub use study::{StudyAction, StudyArgs, StudyFormat, StudyRunArgs};
pub use what_if::{CacheAt, WhatIfArgs, Write};

/// How many virtual machines' worth of real work can this storage carry before people feel it?
#[derive(Debug, Parser)]
#[command(name = "tilemark", version, after_help = crate::exit::TABLE, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Colour on the terminal: auto, always or never
    ///
    /// Colour never carries a meaning alone. Also: TILEMARK_COLOR, and NO_COLOR for auto.
    #[arg(long, value_name = "WHEN", global = true, value_enum, default_value_t = Choice::Auto, env = "TILEMARK_COLOR", hide_env = true, hide_possible_values = true)]
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
    /// Make and fill the disks of --tiles N once, and keep them for run --reuse
    Prepare(RunArgs),
    /// Find out how many tiles a modelled array would hold, in virtual time
    Simulate(SimulateArgs),
    /// Say how many tiles a run's storage would hold if something were different
    WhatIf(WhatIfArgs),
    /// Measure a disk and fit a model of it, for simulate
    Calibrate(CalibrateArgs),
    /// Remove what Tilemark left in a datastore, and nothing else
    Cleanup(CleanupArgs),
    /// Read back what a verified run wrote and name every block that is wrong
    Verify(VerifyArgs),
    /// List, show or remove stored runs
    Runs(RunsArgs),
    /// Compare runs: better, worse, same or inconclusive, figure by figure
    Compare(CompareArgs),
    /// Write a run in another format
    Export(ExportArgs),
    /// List or show the shipped tiles and workloads
    Tiles(TilesArgs),
    /// List or show the shipped arrays: models of storage
    Array(ArrayArgs),
    /// List, show or run studies: published claims held against the models
    Study(StudyArgs),
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
    /// A plan file (*.toml) or a datastore: dir:PATH, file:PATH, block:PATH
    ///
    /// A bare path is a directory, unless it is a block device. A directory must exist, and
    /// all that is written goes into one new sub-directory of it. A file is created; one that
    /// exists needs --overwrite-file. A block device needs --destroy-data.
    /// Example: tilemark run --quick dir:/mnt/ssd
    #[arg(value_name = "PLAN|DATASTORE")]
    pub target: String,

    /// About three minutes: short steps, one repeat
    ///
    /// Schedules run 60 times as fast and disks are smaller; the result says so.
    #[arg(long, group = "profile", help_heading = "How thorough")]
    pub quick: bool,
    /// Tens of minutes: three repeats, steady-state rule (default)
    #[arg(long, group = "profile", help_heading = "How thorough")]
    pub standard: bool,
    /// Hours: real time, full size, as published results ask for
    #[arg(long, group = "profile", help_heading = "How thorough")]
    pub full: bool,
    /// Run every step N times; it passes if all of them do
    ///
    /// 1 to 100; the profile decides if absent: 1 with --quick, 3 with --standard.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "How thorough")]
    pub repeats: Option<u32>,
    /// Measured time of a step, such as 30s
    ///
    /// At least one slice; rounded up to whole burst periods of the workloads. The profile
    /// decides if absent. Examples: 30s, 5m, 1h30m
    #[arg(long, value_name = "TIME", alias = "runtime", help_heading = "How thorough")]
    pub duration: Option<Nanos>,
    /// Shortest warm-up before steady state is looked for
    ///
    /// The profile decides if absent. Example: 10s
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub warm_up_min: Option<Nanos>,
    /// Longest warm-up; what is not steady by then is marked
    ///
    /// At least --warm-up-min; the profile decides if absent. Example: 2m
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub warm_up_max: Option<Nanos>,
    /// Time between two rows of the series, 100ms or more
    ///
    /// The profile decides if absent. Example: 1s
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub slice: Option<Nanos>,

    /// A shipped tile or a tile file [default: datacenter]
    ///
    /// `tilemark tiles` lists what is shipped; a path to a file ends in .toml.
    #[arg(long, value_name = "NAME|FILE", help_heading = "What runs")]
    pub tile: Option<String>,
    /// How many tiles: 4, or 1..8; searched if absent
    ///
    /// The search doubles until a limit breaks, halves the gap, then runs every step around
    /// the edge. Numbers are from 1.
    #[arg(long, value_name = "N|A..B", help_heading = "What runs")]
    pub tiles: Option<String>,
    /// Search no further than N tiles
    ///
    /// At least 1; if absent, as many as the datastore has room for.
    #[arg(long, value_name = "N", help_heading = "What runs")]
    pub tiles_max: Option<u32>,
    /// Multiply disk sizes by F, above 0 and at most 1
    ///
    /// The profile decides if absent; stated in the result, as smaller disks fit caches
    /// better. Example: 0.1
    #[arg(long, value_name = "F", allow_negative_numbers = true, help_heading = "What runs")]
    pub footprint: Option<f64>,
    /// Multiply times of bursts and phases by F, above 0
    ///
    /// Think times and rates stay as they are. The profile decides if absent; stated in the
    /// result. Example: 0.1 makes a burst every 5 minutes one every 30 seconds
    #[arg(long, value_name = "F", allow_negative_numbers = true, help_heading = "What runs")]
    pub time_scale: Option<f64>,
    /// Where random numbers start; drawn and printed if absent
    ///
    /// 0 to 9223372036854775807. The same seed and plan give the same load.
    /// Also: TILEMARK_SEED
    #[arg(
        long,
        value_name = "N",
        env = "TILEMARK_SEED",
        hide_env = true,
        allow_negative_numbers = true,
        value_parser = seed,
        help_heading = "What runs"
    )]
    pub seed: Option<u64>,

    /// Threads that make load, each with its own ring
    ///
    /// 1 to 64; if absent, one per core, at most 8.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), alias = "numjobs", help_heading = "How load is made")]
    pub workers: Option<u32>,
    /// Go through the page cache instead of O_DIRECT
    #[arg(long, help_heading = "How load is made")]
    pub buffered: bool,
    /// Stamp every block, and check it whenever it is read
    ///
    /// The stamp says where and when the block was written. After the run everything is read
    /// back; after a power cut, `tilemark verify` does it.
    #[arg(long, help_heading = "How load is made")]
    pub verify: bool,
    /// CPU steps of the workloads: delay or burn
    ///
    /// Each workload decides if absent.
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        hide_possible_values = true,
        help_heading = "How load is made"
    )]
    pub cpu: Option<Cpu>,

    /// Write at most SIZE as files
    ///
    /// If absent, 80 % of the free space less 5 GiB, which is also the most that is allowed.
    /// Example: 200GiB
    #[arg(long, value_name = "SIZE", help_heading = "Safety")]
    pub space_max: Option<Bytes>,
    /// Serial or by-id name of the block device to be overwritten
    ///
    /// The serial number, WWN, EUI, or a name from /dev/disk/by-id, exactly. Kernel names
    /// such as sdb change places and are not accepted. A device in use is refused in any case.
    #[arg(long, value_name = "IDENTITY", help_heading = "Safety")]
    pub destroy_data: Option<String>,
    /// Overwrite an existing file given as file:PATH
    #[arg(long, help_heading = "Safety")]
    pub overwrite_file: bool,
    /// Use a datastore on the root file system, an overlay or RAM
    #[arg(long, help_heading = "Safety")]
    pub allow_root_fs: bool,
    /// Keep results on the device that is measured
    ///
    /// Their writes are then a small part of what is measured.
    #[arg(long, help_heading = "Safety")]
    pub allow_same_device: bool,
    /// Leave the virtual disks in place after the run
    ///
    /// `tilemark cleanup` removes them.
    #[arg(long, conflicts_with = "remove", help_heading = "Safety")]
    pub keep: bool,
    /// Use the disks that run ID, or the latest that fits, left
    ///
    /// What is there and was filled completely is not filled again; what is missing is made.
    /// The disks stay, unless --remove is given. Only directories keep disks for reuse; the run
    /// that made them must have ended. Example: --reuse latest
    #[arg(long, value_name = "ID|latest", help_heading = "Safety")]
    pub reuse: Option<String>,
    /// Remove the disks after the run, though they were reused
    #[arg(long, requires = "reuse", help_heading = "Safety")]
    pub remove: bool,

    /// Where run directories are kept
    ///
    /// If absent, $XDG_DATA_HOME/tilemark/runs or ~/.local/share/tilemark/runs.
    /// Also: TILEMARK_RUNS
    #[arg(
        short,
        long,
        value_name = "DIR",
        env = "TILEMARK_RUNS",
        hide_env = true,
        help_heading = "Output"
    )]
    pub out: Option<PathBuf>,
    /// What stdout carries: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
    /// The view of the run on stderr: auto, full, line or off
    ///
    /// auto: a few lines that change in place on a terminal; plain lines elsewhere, with CI
    /// set or with TERM=dumb. full: those few lines. line: plain lines. off: nothing until the
    /// result. Also: TILEMARK_LIVE
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Live::Auto, env = "TILEMARK_LIVE", hide_env = true, hide_possible_values = true, help_heading = "Output")]
    pub live: Live,
    /// Print the merged plan with each value's origin, and stop
    #[arg(long, help_heading = "Output")]
    pub print_config: bool,
}

/// `simulate`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("simulated").args(["plan", "array"]).multiple(true).required(true))]
#[command(group = clap::ArgGroup::new("simulated-profile"))]
pub struct SimulateArgs {
    /// A plan file (*.toml) whose datastore is array:NAME or array:FILE
    ///
    /// The plan.toml of a simulated run is one: it runs again with the array.toml beside it.
    /// Example: tilemark simulate --array vnx5500 --tiles 1..5
    #[arg(value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// A shipped array, or an array file
    ///
    /// A path to a file ends in .toml. Overrides the plan's.
    #[arg(long, value_name = "NAME|FILE", help_heading = "What is modelled")]
    pub array: Option<String>,
    /// Change one key of the array; as often as needed
    ///
    /// Tiers, pools and disks are named: tier.fast.size=366GiB, pool.lun1.count=11,
    /// tier.fast.remove=true. The result says what was changed.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "What is modelled")]
    pub with: Vec<String>,

    /// Bursts five times as fast, two minutes measured, one repeat
    #[arg(long, group = "simulated-profile", help_heading = "How thorough")]
    pub quick: bool,
    /// Real time, ten minutes measured, three repeats (default)
    #[arg(long, group = "simulated-profile", help_heading = "How thorough")]
    pub standard: bool,
    /// Real time, forty minutes measured, as published results ask for
    #[arg(long, group = "simulated-profile", help_heading = "How thorough")]
    pub full: bool,
    /// Run every step N times; it passes if all of them do
    ///
    /// 1 to 100; the profile decides if absent: 1 with --quick, else 3. The same repeat has the
    /// same arrivals and addresses on every array of one seed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "How thorough")]
    pub repeats: Option<u32>,
    /// Measured virtual time of a step, such as 10m
    ///
    /// At least one slice; rounded up to whole burst periods of the workloads. The profile
    /// decides if absent. Examples: 2m, 1h30m
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub duration: Option<Nanos>,
    /// Shortest warm-up before steady state is looked for
    ///
    /// Before it, caches and tiers are filled without timing. The profile decides if absent.
    /// Example: 30s
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub warm_up_min: Option<Nanos>,
    /// Longest warm-up; what is not steady by then is marked
    ///
    /// At least --warm-up-min; the profile decides if absent. Example: 15m
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub warm_up_max: Option<Nanos>,
    /// Time between two rows of the series, 100ms to 1s
    ///
    /// The profile decides if absent: 1s.
    #[arg(long, value_name = "TIME", help_heading = "How thorough")]
    pub slice: Option<Nanos>,

    /// A shipped tile or a tile file [default: datacenter]
    ///
    /// `tilemark tiles` lists what is shipped; a path to a file ends in .toml.
    #[arg(long, value_name = "NAME|FILE", help_heading = "What runs")]
    pub tile: Option<String>,
    /// How many tiles: 4, or 1..8; searched if absent
    ///
    /// A range is run to its end, beyond the first step that breaks a limit, too. Numbers are
    /// from 1.
    #[arg(long, value_name = "N|A..B", help_heading = "What runs")]
    pub tiles: Option<String>,
    /// Search no further than N tiles
    ///
    /// At least 1; if absent, as many as the array has room for.
    #[arg(long, value_name = "N", help_heading = "What runs")]
    pub tiles_max: Option<u32>,
    /// Multiply disk sizes by F, above 0 and at most 1
    ///
    /// 1 if absent: modelled disks cost nothing to fill.
    #[arg(long, value_name = "F", allow_negative_numbers = true, help_heading = "What runs")]
    pub footprint: Option<f64>,
    /// Multiply times of bursts and phases by F, above 0
    ///
    /// Think times and rates stay as they are. The profile decides if absent: 0.2 with --quick,
    /// else 1.
    #[arg(long, value_name = "F", allow_negative_numbers = true, help_heading = "What runs")]
    pub time_scale: Option<f64>,
    /// Where random numbers start; drawn and printed if absent
    ///
    /// 0 to 9223372036854775807. The same seed, plan and array give the same figures, to the
    /// bit. Also: TILEMARK_SEED
    #[arg(
        long,
        value_name = "N",
        env = "TILEMARK_SEED",
        hide_env = true,
        allow_negative_numbers = true,
        value_parser = seed,
        help_heading = "What runs"
    )]
    pub seed: Option<u64>,

    /// Where run directories are kept
    ///
    /// If absent, $XDG_DATA_HOME/tilemark/runs or ~/.local/share/tilemark/runs.
    /// Also: TILEMARK_RUNS
    #[arg(
        short,
        long,
        value_name = "DIR",
        env = "TILEMARK_RUNS",
        hide_env = true,
        help_heading = "Output"
    )]
    pub out: Option<PathBuf>,
    /// What stdout carries: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
    /// The view of the run on stderr: auto, full, line or off
    ///
    /// As for `tilemark run`; it shows virtual time and how fast it passes.
    /// Also: TILEMARK_LIVE
    #[arg(long, value_name = "HOW", value_enum, default_value_t = Live::Auto, env = "TILEMARK_LIVE", hide_env = true, hide_possible_values = true, help_heading = "Output")]
    pub live: Live,
    /// Print the merged plan with each value's origin, and stop
    #[arg(long, help_heading = "Output")]
    pub print_config: bool,
}

/// A seed, with the range in the message.
fn seed(text: &str) -> Result<u64, String> {
    let allowed = "a seed is a whole number from 0 to 9223372036854775807";
    text.parse().map_err(|_| allowed.to_owned())
}

/// CPU steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Cpu {
    /// A delay of their length.
    Delay,
    /// A busy core for their length.
    Burn,
}

/// `calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// What to measure: dir:PATH, file:PATH, block:PATH, or a directory
    ///
    /// The same rules as for run. Example: tilemark calibrate --quick dir:/mnt/ssd
    #[arg(value_name = "DATASTORE")]
    pub target: String,
    /// About a minute: fewer and shorter loops
    #[arg(long, help_heading = "What is measured")]
    pub quick: bool,
    /// Only read, from what is there; for files and block devices
    #[arg(long, help_heading = "What is measured")]
    pub read_only: bool,
    /// Size of the disk that is measured, at least 8 MiB
    ///
    /// It is filled first. One that fits into a cache measures the cache. Example: 16GiB
    #[arg(long, value_name = "SIZE", default_value = "2GiB", help_heading = "What is measured")]
    pub space: Bytes,
    /// Measured time of each loop [default: 1.4s, 600ms with --quick]
    #[arg(long, value_name = "TIME", help_heading = "What is measured")]
    pub point: Option<Nanos>,
    /// Sets of parameters each kind of model tries [default: 240, 80 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "What is measured")]
    pub tries: Option<u32>,
    /// Where random numbers start; drawn and printed if absent
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed, help_heading = "What is measured")]
    pub seed: Option<u64>,

    /// Serial or by-id name of the block device to be overwritten
    #[arg(long, value_name = "IDENTITY", help_heading = "Safety")]
    pub destroy_data: Option<String>,
    /// Overwrite an existing file given as file:PATH
    #[arg(long, help_heading = "Safety")]
    pub overwrite_file: bool,
    /// Use a datastore on the root file system, an overlay or RAM
    #[arg(long, help_heading = "Safety")]
    pub allow_root_fs: bool,

    /// Name of the array [default: the device's]
    ///
    /// Letters a to z, digits and hyphens. `tilemark simulate --array NAME` finds it.
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub name: Option<String>,
    /// Where the array's file goes
    ///
    /// If absent, $XDG_DATA_HOME/tilemark/arrays or ~/.local/share/tilemark/arrays, as
    /// NAME.toml. Only a file that calibrate made is replaced.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// What stdout carries: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
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

/// `array`.
#[derive(Debug, Args)]
pub struct ArrayArgs {
    /// What to do; lists if absent.
    #[command(subcommand)]
    pub action: Option<ArrayAction>,
}

/// What to do with arrays.
#[derive(Debug, Subcommand)]
pub enum ArrayAction {
    /// List arrays
    #[command(alias = "ls")]
    List {
        /// What stdout carries
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Show an array's file, ready to be copied and changed
    Show {
        /// A shipped array or an array file
        #[arg(value_name = "NAME|FILE")]
        array: String,
        /// Change a key; may be given several times
        ///
        /// The tiers, pools and placing rules go by name; remove=true takes one out.
        /// Examples: tier.fast.size=92GiB, pool.lun1.count=4, tier.fast.remove=true
        #[arg(long = "with", value_name = "KEY.PATH=VALUE")]
        changes: Vec<String>,
        /// What stdout carries: the file, or all values with the defaults as JSON
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
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
    /// An array.
    Array,
    /// A study.
    Study,
    /// The result of a study.
    StudyResult,
    /// A run's `run.json`.
    Run,
    /// A comparison.
    Compare,
    /// The answer of what-if.
    WhatIf,
}
