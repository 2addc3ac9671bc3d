//! The command line, defined once: help, manual page and completions come from here.

mod analyze;
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
mod what_if;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use spec::plan::seed;
use units::{Bytes, Nanos};

pub use analyze::{AnalyzeArgs, AnalyzeFormat, DirectionName, ViewName};
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
pub use seeing::{CollectArgs, SeenHostsArgs};
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
pub use what_if::{CacheAt, WhatIfArgs, Write};

/// How many virtual machines' worth of real work can this storage carry before people feel it?
#[derive(Debug, Parser)]
#[command(name = "tilemark", version, help_template = groups::help_template(), after_help = crate::exit::TABLE, max_term_width = 100)]
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
    /// Show in a minute what this is: three small steps, live in a browser
    Demo(DemoArgs),
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
    /// Say which hosts are there, how far their clocks are, and what may be written there
    Hosts(HostsArgs),
    /// Work on this host for a run that another machine controls
    Agent(AgentArgs),
    /// Play a trace back on storage, or on a modelled array
    Replay(ReplayArgs),
    /// Say how many tiles a run's storage would hold if something were different
    WhatIf(WhatIfArgs),
    /// Measure a disk and fit a model of it, for simulate
    Calibrate(CalibrateArgs),
    /// Mount a modelled array as a file system, in real time, with faults on request
    Lab(LabArgs),
    /// Record the I/O of disks as it happens, as a trace
    Record(RecordArgs),
    /// Say what observed I/O means: sizes, what made it slow, working sets
    Analyze(AnalyzeArgs),
    /// Turn a trace of another tool into one of ours (Parquet)
    Import(ImportArgs),
    /// Remove what Tilemark left in a datastore, and nothing else
    Cleanup(CleanupArgs),
    /// Read back what a verified run wrote and name every block that is wrong
    Verify(VerifyArgs),
    /// List, show or remove stored runs
    Runs(RunsArgs),
    /// Show runs in a browser, stored ones and those that go on
    Serve(ServeArgs),
    /// Write a run's report, one file, again
    Report(ReportArgs),
    /// Compare runs: better, worse, same or inconclusive, figure by figure
    Compare(CompareArgs),
    /// Judge a stored run again from its raw series
    VerifyReport(VerifyReportArgs),
    /// Write a run in another format
    Export(ExportArgs),
    /// Make a tile of the virtual machines that you have
    Estate(EstateArgs),
    /// List or show the shipped tiles and workloads
    Tiles(TilesArgs),
    /// List or show the shipped arrays: models of storage
    Array(ArrayArgs),
    /// List, show or run studies: published claims held against the models
    Study(StudyArgs),
    /// Say why this machine may not be fit for measuring
    Doctor(DoctorArgs),
    /// Serve disks through a cache on fast storage, which loses nothing it acknowledged
    Tier(TierArgs),
    /// Look at a meter of watts before a run relies on it
    Meter(MeterArgs),
    /// Show what is set by the environment and config.toml, and where
    Config(ConfigArgs),
    /// Print the JSON Schema of a file
    Schema(SchemaArgs),
    /// Print completions for a shell
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff), or write one page per verb
    Man(ManArgs),
    /// Say what this program is: commit, features, formats
    Version(VersionArgs),
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
    /// A few lines that change in place and a page for browsers on a terminal; plain lines
    /// elsewhere or with CI=1.
    Auto,
    /// The same, and the page in any case.
    Web,
    /// A few lines that change in place.
    Full,
    /// One plain line at a time.
    Line,
    /// Nothing until the result.
    Off,
}

/// `verify-report`.
#[derive(Debug, Args)]
pub struct VerifyReportArgs {
    /// A run: its directory, its name, a part of its id, `latest`, `latest~1` or `previous`
    ///
    /// Its files are held against SHA256SUMS, and every limit, verdict and score against what
    /// the same rules make of its raw series. Exit code 0 if all agree, 4 if anything differs,
    /// 5 if it cannot be judged again. Example: tilemark verify-report latest
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The tile that was run, if it is not where the plan says: a name or a file
    #[arg(long, value_name = "TILE")]
    pub tile: Option<String>,
    /// Where run directories are, and what stdout carries.
    #[command(flatten)]
    pub stored: StoredArgs,
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
    /// Calibrate a target without direct I/O, where memory answers
    ///
    /// The array says so in every later use.
    #[arg(long, help_heading = "What is measured")]
    pub buffered: bool,
    /// Size of the disk that is measured, at least 8 MiB
    ///
    /// It is filled first. One that fits into a cache measures the cache. Example: 16GiB
    #[arg(long, value_name = "SIZE", default_value = "2GiB", help_heading = "What is measured")]
    pub space: Bytes,
    /// Measured time of each loop, all its rounds together [default: 2s, 800ms with --quick]
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
    /// Hosts on which this is done instead of here.
    #[command(flatten)]
    pub there: ThereArgs,
}

/// `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The datastore a verified run wrote to (kept with --keep, or left by kill -9)
    #[arg(value_name = "DATASTORE")]
    pub target: String,
    /// Where runs are stored, if not in the usual place: of a file or device, the state of
    /// verification is there
    #[arg(short, long, value_name = "DIR", env = "TILEMARK_RUNS", hide_env = true)]
    pub out: Option<PathBuf>,
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
    /// Only runs of this name
    #[arg(long, value_name = "NAME", global = true)]
    pub name: Option<String>,
    /// Only runs with this tag; with all of them, if given several times
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = run_store::run::tag, global = true)]
    pub tags: Vec<(String, String)>,
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
        /// A run: its directory, its name, a part of its id, `latest`, `latest~1` or `previous`
        run: String,
        /// Print every step, limit and response time, not one screen
        #[arg(long)]
        verbose: bool,
    },
    /// Remove runs
    Rm {
        /// A run: its directory, name, a part of its id, `latest`, `latest~1`, `previous`, or
        /// tag:KEY=VALUE for all that have it
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
    },
    /// Keep runs from being removed
    Keep {
        /// A run: its directory, name, a part of its id, `latest`, `latest~1`, `previous`, or
        /// tag:KEY=VALUE for all that have it
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
        /// Let go of them
        #[arg(long)]
        off: bool,
    },
    /// Remove old runs, of those that are complete and not kept
    Prune {
        /// Runs that began so long ago or longer
        #[arg(long, value_name = "TIME", required_unless_present = "keep_last")]
        older_than: Option<Nanos>,
        /// All but the newest N
        #[arg(long, value_name = "N")]
        keep_last: Option<usize>,
        /// Only say what would be removed
        #[arg(long)]
        dry_run: bool,
    },
}

/// `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Runs of side A, then `vs`, then runs of side B; with two runs `vs` may be left out
    ///
    /// Each is a directory, a name, a part of an id, `latest`, `latest~1`, `previous`, or
    /// tag:KEY=VALUE for all complete runs that have the tag.
    /// Examples: tilemark compare previous latest, tilemark compare tag:branch=main vs tag:branch=new
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
    /// A run: its directory, its name, a part of its id, `latest`, `latest~1` or `previous`
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
    /// Calls to endpoints, one row per slice, instance and kind.
    CallsCsv,
    /// What was read beside the I/O, one row per slice and gauge.
    GaugesCsv,
    /// The series with its histograms.
    Parquet,
    /// A histogram log other HdrHistogram tools read.
    Hlog,
    /// OpenMetrics text.
    Openmetrics,
    /// JUnit XML: a case for the answer, each limit and each expectation.
    Junit,
    /// A summary in Markdown, as for $GITHUB_STEP_SUMMARY.
    Markdown,
    /// Tiles, score and work for github-action-benchmark (customBiggerIsBetter).
    BenchJson,
    /// The times that limits are on, for it (customSmallerIsBetter).
    BenchJsonTimes,
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
    /// Make a workload of a fio job file; every option that does not carry over is named
    ///
    /// Options and jobs that have no counterpart are listed with the reason; the other jobs are
    /// converted. Sizes are read as fio reads them: powers of 1,024 unless kb_base=1000.
    FromFio {
        /// The job file
        #[arg(value_name = "JOB")]
        job: PathBuf,
        /// What the workload is called [default: the file's name]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// The size of jobs that name none, or of which they name a share (size=80%)
        #[arg(long, value_name = "SIZE")]
        size: Option<Bytes>,
        /// Write NAME.toml and NAME-tile.toml into this directory, instead of printing the workload
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
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
    /// Hosts on which this is done instead of here.
    #[command(flatten)]
    pub there: ThereArgs,
}

/// `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write tilemark.1 and a page per verb into this directory, instead of printing all as one
    #[arg(long, value_name = "DIR")]
    pub to: Option<PathBuf>,
}

/// `version`.
#[derive(Debug, Args)]
pub struct VersionArgs {
    /// The same as --format json
    #[arg(long)]
    pub json: bool,
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
    /// A part of a study, of one shard.
    StudyPart,
    /// A run's `run.json`.
    Run,
    /// A comparison.
    Compare,
    /// The answer of what-if.
    WhatIf,
    /// The answer of analyze.
    Analysis,
    /// The answer of analyze over hosts.
    HostsAnalysis,
    /// The answer of analyze --to-workload.
    Fit,
    /// The machines that somebody has, sorted: estate.json.
    Estate,
    /// One I/O of a trace: the columns of its Parquet files.
    Trace,
    /// What `tilemark serve` answers (OpenAPI).
    Openapi,
}
