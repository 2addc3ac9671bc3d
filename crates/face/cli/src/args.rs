//! Command line. Help, manual page and completions are made from this one definition.

mod analyze;
mod app;
mod config;
mod estate;
mod groups;
mod hosts;
mod import;
mod kinds;
mod lab;
mod load;
mod meter;
mod page;
mod record;
mod replay;
mod run;
mod seeing;
mod serve;
mod simulate;
mod stored;
mod study;
mod tier;
mod watch;
mod what_if;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use spec::plan::seed;
use units::{Bytes, Nanos};

pub use analyze::{AnalyzeArgs, AnalyzeFormat, DirectionName, ViewName};
pub use app::{AppAction, AppArgs, AppServeKind, AppServeWebArgs, NfsClientArgs};
pub use config::{ConfigAction, ConfigArgs};
pub use estate::{EstateAction, EstateArgs, EstateImportArgs};
#[cfg(feature = "hosts")]
pub use hosts::Storage;
pub use hosts::{AgentArgs, HostArgs, HostsArgs, ReachArgs, ThereArgs};
pub use import::ImportArgs;
pub use lab::{LabAction, LabArgs, LabMountArgs};
pub use load::LoadArgs;
pub use meter::{MeterAction, MeterArgs, MeterTestArgs};
pub use page::{PageArgs, TokenArgs};
pub use record::{By, RecordArgs};
pub use replay::ReplayArgs;
pub use run::RunArgs;
pub use seeing::{CollectArgs, SeenHostsArgs, ServeHostsArgs, WatchHostsArgs};
pub use serve::{DemoArgs, ReportArgs, ServeArgs};
pub use simulate::SimulateArgs;
pub use stored::StoredArgs;
pub use study::{
    StudyAction, StudyArgs, StudyFormat, StudyMergeArgs, StudyResultArgs, StudyRunArgs,
};
pub use tier::{
    TierAction, TierArgs, TierAttachArgs, TierCheckArgs, TierDisk, TierDiskArgs, TierDoorArgs,
    TierInitArgs, TierMode, TierPolicy, TierServeArgs, TierSetArgs, TierStaleAction, TierStaleArgs,
    TierStaleLogArgs, TierStatusArgs, TierTakeoverArgs, sidecar_in,
};
pub use watch::{
    WATCH_STORE_ENV, WatchAction, WatchArgs, WatchCheckRulesArgs, WatchEvidenceArgs,
    WatchExportArgs, WatchExportFormat, WatchForgetArgs, WatchNeighboursArgs, WatchStatusArgs,
    WindowArgs,
};
pub use what_if::{CacheAt, WhatIfArgs, Write};

/// How many virtual machines' worth of real work can this storage carry before people feel it?
#[derive(Debug, Parser)]
#[command(name = "tilemark", version, help_template = groups::help_template(), after_help = crate::exit::TABLE, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// Colour on the terminal: auto, always or never
    ///
    /// Colour never carries a meaning alone. Also: TILEMARK_COLOR, and NO_COLOR for auto.
    #[arg(long, value_name = "WHEN", global = true, value_enum, default_value_t = Choice::Auto, env = "TILEMARK_COLOR", hide_env = true, hide_possible_values = true)]
    pub color: Choice,
}

/// Use of a terminal feature such as colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Subcommands of `tilemark`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show in a minute how Tilemark works: three small steps, live in a browser
    Demo(DemoArgs),
    /// Find out how many tiles a datastore carries
    Run(RunArgs),
    /// Print what a run would write, where and for how long; write nothing
    Plan(RunArgs),
    /// Check a datastore and a plan; write nothing
    Check(RunArgs),
    /// Create and fill the disks of --tiles N once, and keep them for run --reuse
    Prepare(RunArgs),
    /// Find out how many tiles a modelled array would carry, in virtual time
    Simulate(SimulateArgs),
    /// Test the connection to hosts: clocks, and targets that may be written there
    Hosts(HostsArgs),
    /// Work on this host for a run that another computer controls
    Agent(AgentArgs),
    /// Serve a real application of a tile, as a run does
    App(AppArgs),
    /// Show an NFS export as a directory; a run on an export starts this command itself
    #[command(hide = true)]
    NfsClient(NfsClientArgs),
    /// Play a trace back on storage, or on a modelled array
    Replay(ReplayArgs),
    /// Estimate how many tiles a run's storage would carry with one thing changed
    WhatIf(WhatIfArgs),
    /// Measure a disk and fit a model of it, for simulate
    Calibrate(CalibrateArgs),
    /// Mount a modelled array as a file system, in real time, with faults on request
    Lab(LabArgs),
    /// Record the I/O of disks as it happens, as a trace
    Record(RecordArgs),
    /// Watch the I/O of every VM of this host all the time, and keep a year of it
    Watch(WatchArgs),
    /// Explain a trace: sizes, causes of latency, working sets
    Analyze(AnalyzeArgs),
    /// Convert a trace of another tool to Tilemark's format (Parquet)
    Import(ImportArgs),
    /// Remove what Tilemark left in a datastore, and nothing else
    Cleanup(CleanupArgs),
    /// Read back what a verified run wrote and name every wrong block
    Verify(VerifyArgs),
    /// List, show or remove stored runs
    Runs(RunsArgs),
    /// Show stored and running runs in a browser
    Serve(ServeArgs),
    /// Write a run's report again, as one HTML file
    Report(ReportArgs),
    /// Compare runs: better, worse, same or inconclusive, figure by figure
    Compare(CompareArgs),
    /// Judge a stored run again from its raw series
    VerifyReport(VerifyReportArgs),
    /// Write a run in another format
    Export(ExportArgs),
    /// Make a tile from your own virtual machines
    Estate(EstateArgs),
    /// List or show the shipped tiles and workloads
    Tiles(TilesArgs),
    /// List or show the shipped arrays: models of storage
    Array(ArrayArgs),
    /// List, show or run studies: published claims tested on the models
    Study(StudyArgs),
    /// Tell why this computer may not be fit for measuring
    Doctor(DoctorArgs),
    /// Serve disks through a cache on fast storage that loses no acknowledged write
    Tier(TierArgs),
    /// Test a power meter before a run relies on it
    Meter(MeterArgs),
    /// Show which options the environment and config.toml set
    Config(ConfigArgs),
    /// Print the JSON Schema of a file
    Schema(SchemaArgs),
    /// Print completions for a shell
    Completions { shell: clap_complete::Shell },
    /// Print the manual page (roff), or write one page per verb
    Man(ManArgs),
    /// Print commit, features and formats of this program
    Version(VersionArgs),
}

/// Format of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people.
    Text,
    /// One JSON document.
    Json,
}

/// View of a running run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Live {
    /// On a terminal: a few lines that change in place, and a page for browsers. Elsewhere or with
    /// CI=1: plain lines.
    Auto,
    /// As auto, and the page in any case.
    Web,
    /// A few lines that change in place.
    Full,
    /// One plain line at a time.
    Line,
    /// Nothing until the result.
    Off,
}

/// Options of `tilemark verify-report`.
#[derive(Debug, Args)]
pub struct VerifyReportArgs {
    /// A run: its directory, its name, a part of its id, `latest`, `latest~1` or `previous`
    ///
    /// Compares the files with SHA256SUMS. Judges the raw series again by the same rules and
    /// compares every limit, verdict and score. Exit code 0 if all agree, 4 if anything differs, 5
    /// if the run cannot be judged again. Example: tilemark verify-report latest
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The tile that was run, if it is not where the plan says: a name or a file
    #[arg(long, value_name = "TILE")]
    pub tile: Option<String>,
    #[command(flatten)]
    pub stored: StoredArgs,
}

/// Options of `tilemark calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// Storage to measure: dir:PATH, file:PATH, block:PATH, or a directory
    ///
    /// The same rules as for run. Example: tilemark calibrate --quick dir:/mnt/ssd
    #[arg(value_name = "DATASTORE")]
    pub target: String,
    /// Measure about a minute: fewer and shorter loops
    #[arg(long, help_heading = "What is measured")]
    pub quick: bool,
    /// Only read existing data; for files and block devices
    #[arg(long, help_heading = "What is measured")]
    pub read_only: bool,
    /// Calibrate a target without direct I/O, although the page cache then answers
    ///
    /// The array file records this, and every later use shows it.
    #[arg(long, help_heading = "What is measured")]
    pub buffered: bool,
    /// Size of the measured disk, at least 8 MiB
    ///
    /// The disk is filled first. A disk that fits into a cache measures the cache. Example: 16GiB
    #[arg(long, value_name = "SIZE", default_value = "2GiB", help_heading = "What is measured")]
    pub space: Bytes,
    /// Measured time of each loop, over all its rounds [default: 2s, 800ms with --quick]
    #[arg(long, value_name = "TIME", help_heading = "What is measured")]
    pub point: Option<Nanos>,
    /// Parameter sets that each kind of model tries [default: 240, 80 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "What is measured")]
    pub tries: Option<u32>,
    /// Seed of random numbers; drawn and printed if absent
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

    /// Name of the array [default: the device's name]
    ///
    /// Letters a to z, digits and hyphens. `tilemark simulate --array NAME` finds it.
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub name: Option<String>,
    /// File of the array
    ///
    /// If absent, $XDG_DATA_HOME/tilemark/arrays or ~/.local/share/tilemark/arrays, as
    /// NAME.toml. Only a file that calibrate made is replaced.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Format of stdout: text or json
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Format::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: Format,
}

/// Options of `tilemark cleanup`.
#[derive(Debug, Args)]
pub struct CleanupArgs {
    /// A datastore: dir:PATH, file:PATH, block:PATH, or a directory
    #[arg(value_name = "DATASTORE")]
    pub target: String,
    /// Only print what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// The identity of the block device whose label is erased
    #[arg(long, value_name = "IDENTITY")]
    pub destroy_data: Option<String>,
    #[command(flatten)]
    pub there: ThereArgs,
}

/// Options of `tilemark verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The datastore a verified run wrote to (kept with --keep, or left by kill -9)
    #[arg(value_name = "DATASTORE")]
    pub target: String,
    /// Directory of stored runs, if not the usual one; it holds the verification state of files and
    /// devices
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true)]
    pub out: Option<PathBuf>,
    /// Format of stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Options of `tilemark runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Lists the runs if absent.
    #[command(subcommand)]
    pub action: Option<RunsAction>,
    /// Only runs of this name
    #[arg(long, value_name = "NAME", global = true)]
    pub name: Option<String>,
    /// Only runs with this tag; repeat to require several tags
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = run_store::run::tag, global = true)]
    pub tags: Vec<(String, String)>,
    /// Directory of stored runs
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true, global = true)]
    pub out: Option<PathBuf>,
    /// Format of stdout
    #[arg(long, value_enum, default_value_t = Format::Text, global = true)]
    pub format: Format,
}

/// Subcommands of `tilemark runs`.
#[derive(Debug, Subcommand)]
pub enum RunsAction {
    /// List the runs, newest last
    Ls,
    /// Show a run again
    Show {
        /// A run: its directory, its name, a part of its id, `latest`, `latest~1` or `previous`
        run: String,
        /// Print every step, limit and response time
        #[arg(long)]
        verbose: bool,
    },
    /// Show complete runs beside each other, each compared with the first
    ///
    /// A tag price=12000EUR of a run adds what a tile and a VM cost. Example: tilemark runs --tag
    /// datastore=nvme trend
    Trend {
        /// Print a table in Markdown
        #[arg(long)]
        markdown: bool,
    },
    /// Remove runs
    Rm {
        /// A run: its directory, name, a part of its id, `latest`, `latest~1`, `previous`, or
        /// tag:KEY=VALUE for all runs with the tag
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
    },
    /// Protect runs from removal
    Keep {
        /// A run: its directory, name, a part of its id, `latest`, `latest~1`, `previous`, or
        /// tag:KEY=VALUE for all runs with the tag
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
        /// End the protection
        #[arg(long)]
        off: bool,
    },
    /// Remove old runs that are complete and not protected
    Prune {
        /// Remove runs that began at least this long ago
        #[arg(long, value_name = "TIME", required_unless_present = "keep_last")]
        older_than: Option<Nanos>,
        /// Remove all but the newest N
        #[arg(long, value_name = "N")]
        keep_last: Option<usize>,
        /// Only print what would be removed
        #[arg(long)]
        dry_run: bool,
    },
}

/// Options of `tilemark compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Runs of side A, then `vs`, then runs of side B; with two runs `vs` may be left out
    ///
    /// Each is a directory, a name, a part of an id, `latest`, `latest~1`, `previous`, or
    /// tag:KEY=VALUE for all complete runs that have the tag.
    /// Examples: tilemark compare previous latest, tilemark compare tag:branch=main vs tag:branch=new
    #[arg(value_name = "RUN", num_args = 2.., required = true)]
    pub runs: Vec<String>,
    /// Treat a difference smaller than this share as no difference
    #[arg(long, value_name = "PERCENT", default_value = "3%")]
    pub min_effect: units::Ratio,
    /// Also exit with code 5 if the result is inconclusive
    #[arg(long)]
    pub strict: bool,
    /// Format of stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Directory of stored runs
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true)]
    pub out: Option<PathBuf>,
}

/// Options of `tilemark export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A run: its directory, its name, a part of its id, `latest`, `latest~1` or `previous`
    pub run: String,
    /// Export format
    #[arg(long, value_enum, default_value_t = ExportFormat::Json)]
    pub format: ExportFormat,
    /// File to write; stdout if absent
    #[arg(long, value_name = "FILE")]
    pub to: Option<PathBuf>,
    /// Directory of stored runs
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
    /// Calls to endpoints, one row per slice, instance and kind.
    CallsCsv,
    /// Gauges that were sampled during the run, one row per slice and gauge.
    GaugesCsv,
    /// The series with its histograms.
    Parquet,
    /// Histogram log that other HdrHistogram tools read.
    Hlog,
    /// OpenMetrics text.
    Openmetrics,
    /// JUnit XML with one test case for the answer, each limit and each expectation.
    Junit,
    /// A summary in Markdown, for example for $GITHUB_STEP_SUMMARY.
    Markdown,
    /// Tiles, score and work for github-action-benchmark (customBiggerIsBetter).
    BenchJson,
    /// Response times with limits for github-action-benchmark (customSmallerIsBetter).
    BenchJsonTimes,
}

/// Options of `tilemark tiles`.
#[derive(Debug, Args)]
pub struct TilesArgs {
    /// Lists the tiles if absent.
    #[command(subcommand)]
    pub action: Option<TilesAction>,
}

/// Subcommands of `tilemark tiles`.
#[derive(Debug, Subcommand)]
pub enum TilesAction {
    /// List tiles
    Ls,
    /// Show a tile with its workloads, disks, users, limits and sources
    Show {
        /// A shipped tile or a tile file
        tile: String,
        /// Print the definition files
        #[arg(long)]
        toml: bool,
    },
    /// Convert a fio job file to a workload, naming every option that has no counterpart
    ///
    /// Options and jobs that have no counterpart are listed with the reason; the other jobs are
    /// converted. Sizes are read as fio reads them: powers of 1,024 unless kb_base=1000.
    FromFio {
        /// The job file
        #[arg(value_name = "JOB")]
        job: PathBuf,
        /// Name of the workload [default: the file's name]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Size for jobs without a size, or with a share such as size=80%
        #[arg(long, value_name = "SIZE")]
        size: Option<Bytes>,
        /// Write NAME.toml and NAME-tile.toml into this directory, instead of printing the workload
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

/// Options of `tilemark array`.
#[derive(Debug, Args)]
pub struct ArrayArgs {
    /// Lists the arrays if absent.
    #[command(subcommand)]
    pub action: Option<ArrayAction>,
}

/// Subcommands of `tilemark array`.
#[derive(Debug, Subcommand)]
pub enum ArrayAction {
    /// List arrays
    #[command(alias = "ls")]
    List {
        /// Format of stdout
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Print an array's file, ready to copy and change
    Show {
        /// A shipped array or an array file
        #[arg(value_name = "NAME|FILE")]
        array: String,
        /// Change a key; repeat for more
        ///
        /// Tiers, pools and placement rules are named; remove=true removes one. Examples:
        /// tier.fast.size=92GiB, pool.lun1.count=4, tier.fast.remove=true
        #[arg(long = "with", value_name = "KEY.PATH=VALUE")]
        changes: Vec<String>,
        /// Format of stdout: text is the file, json has all values with the defaults
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
}

/// Options of `tilemark doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Also check this datastore
    #[arg(value_name = "DATASTORE")]
    pub target: Option<String>,
    /// Format of stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    #[command(flatten)]
    pub there: ThereArgs,
}

/// Options of `tilemark man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write tilemark.1 and a page per subcommand into this directory, instead of printing all as
    /// one
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
}

/// Options of `tilemark version`.
#[derive(Debug, Args)]
pub struct VersionArgs {
    /// Same as --format json
    #[arg(long)]
    pub json: bool,
    /// Format of stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Options of `tilemark schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Kind of file
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
    /// Result of a study.
    StudyResult,
    /// Part of a study, from one shard.
    StudyPart,
    /// A run's `run.json`.
    Run,
    /// A comparison.
    Compare,
    /// Answer of what-if.
    WhatIf,
    /// Answer of analyze.
    Analysis,
    /// Answer of analyze over hosts.
    HostsAnalysis,
    /// Answer of analyze --to-workload.
    Fit,
    /// Sorted virtual machines of an estate: estate.json.
    Estate,
    /// One I/O of a trace: the columns of its Parquet files.
    Trace,
    /// HTTP interface of `tilemark serve` (OpenAPI).
    Openapi,
}
