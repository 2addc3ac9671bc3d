use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use units::Nanos;

use super::{CollectArgs, SeenHostsArgs};

/// `analyze`.
#[derive(Debug, Args)]
pub struct AnalyzeArgs {
    /// A trace: a file of any known format, a store NAME.tmt, or a run directory
    ///
    /// Also what vscsiStats -p all prints, with or without -c: histograms, no single I/Os.
    /// Files may be compressed (zst, gz, xz). A run directory shows its last step. With --host the name
    /// that `tilemark record --host` told.
    /// Example: tilemark analyze vm.tmt --view matrix --vm web1 --from 12s --to 14s
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// The file's format; told from its beginning if absent
    #[arg(long, value_name = "FORMAT")]
    pub trace_format: Option<trace::Format>,
    /// Bad lines or records that are counted and left out; one more is an error
    #[arg(long, value_name = "N", default_value_t = trace::OpenOptions::MAX_BAD)]
    pub max_bad: u64,

    /// Parts of the answer: overview, sizes, latency, matrix, working-set, histograms, time,
    /// findings or all
    ///
    /// Several with commas. If absent: findings, overview, sizes, latency and time.
    #[arg(
        long,
        value_name = "VIEW",
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true,
        help_heading = "What is shown"
    )]
    pub view: Vec<ViewName>,
    /// What 99th percentiles are held against [default: 20ms]
    ///
    /// 20 ms is usual for databases: Exchange asks for it on average, and Oracle's CALIBRATE_IO
    /// has it as its default.
    #[arg(long, value_name = "TIME", help_heading = "What is shown")]
    pub limit: Option<Nanos>,
    /// Length of a slice of time, 1ms or more
    ///
    /// Made twice as long as often as needed for a long trace, which the result tells.
    /// Example: 100ms
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "What is shown")]
    pub slice: Nanos,

    /// Only this VM; as often as needed
    #[arg(long, value_name = "NAME", help_heading = "What counts")]
    pub vm: Vec<String>,
    /// Only this device; as often as needed
    #[arg(long, value_name = "NAME", help_heading = "What counts")]
    pub device: Vec<String>,
    /// Only this direction: read or write
    #[arg(
        long,
        value_name = "WHICH",
        value_enum,
        hide_possible_values = true,
        help_heading = "What counts"
    )]
    pub direction: Option<DirectionName>,
    /// Only what was issued from this moment on, from the trace's start
    #[arg(long, value_name = "TIME", help_heading = "What counts")]
    pub from: Option<Nanos>,
    /// Only what was issued before this moment
    #[arg(long, value_name = "TIME", help_heading = "What counts")]
    pub to: Option<Nanos>,

    /// Fit a workload to the I/O of one VM, write it to this file, say how near it comes
    ///
    /// The file ends in .toml and can be used in a tile. What is printed are distances between
    /// the trace and a run of the workload in virtual time. At least 1,000 reads and writes.
    /// Example: tilemark analyze vm.tmt --vm web1 --to-workload web1.toml
    #[arg(long, value_name = "FILE", help_heading = "A workload from a trace")]
    pub to_workload: Option<PathBuf>,
    /// Overwrite FILE
    #[arg(long, help_heading = "A workload from a trace")]
    pub force: bool,
    /// Where the random numbers of the run in virtual time start
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "A workload from a trace")]
    pub seed: u64,

    /// Which hosts recorded it.
    #[command(flatten)]
    pub seen: SeenHostsArgs,
    /// What is brought here.
    #[command(flatten)]
    pub collect: CollectArgs,

    /// Threads that read a store [default: one per core]; they do not change the answer
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub threads: Option<NonZeroUsize>,
    /// What is written: text, json, csv, parquet or vscsistats
    ///
    /// csv and parquet are one file for each list of the answer, and need --out. vscsistats is the
    /// view histograms as vscsiStats -p all -c prints it, for tools that read that.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = AnalyzeFormat::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: AnalyzeFormat,
    /// A directory for the files of csv and parquet; made if absent
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
}

/// Parts of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ViewName {
    /// Sums, bursts and alignment.
    Overview,
    /// Classes of sizes.
    Sizes,
    /// What latency comes from.
    Latency,
    /// Sizes by latency, and by I/Os outstanding.
    Matrix,
    /// Different bytes, miss ratios, tiers.
    WorkingSet,
    /// The histograms of vscsiStats.
    Histograms,
    /// What happened when.
    Time,
    /// Sentences.
    Findings,
    /// All of them.
    All,
}

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DirectionName {
    /// From the storage.
    Read,
    /// To the storage.
    Write,
}

/// What an analysis is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AnalyzeFormat {
    /// For people.
    Text,
    /// One JSON document.
    Json,
    /// A CSV file for each list.
    Csv,
    /// A Parquet file for each list.
    Parquet,
    /// Histograms in the layout of vscsiStats.
    Vscsistats,
}
