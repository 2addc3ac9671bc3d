use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use units::Nanos;

use super::{CollectArgs, SeenHostsArgs};

/// Options of `tilemark analyze`.
#[derive(Debug, Args)]
pub struct AnalyzeArgs {
    /// A trace: a file of any known format, a store NAME.tmt, or a run directory
    ///
    /// Also the output of vscsiStats -p all, with or without -c: histograms without single I/Os.
    /// Files may be compressed (zst, gz, xz). For a run directory the last step is analyzed. With
    /// --host: the name that `tilemark record --host` printed. Example: tilemark analyze vm.tmt
    /// --view matrix --vm web1 --from 12s --to 14s
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// The file's format; detected from its beginning if absent
    #[arg(long, value_name = "FORMAT")]
    pub trace_format: Option<trace::Format>,
    /// Bad lines or records that are counted and left out; one more is an error
    #[arg(long, value_name = "N", default_value_t = trace::OpenOptions::MAX_BAD)]
    pub max_bad: u64,

    /// Parts of the answer: overview, sizes, latency, matrix, working-set, histograms, time,
    /// findings or all
    ///
    /// Separate several with commas. If absent: findings, overview, sizes, latency and time.
    #[arg(
        long,
        value_name = "VIEW",
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true,
        help_heading = "What is shown"
    )]
    pub view: Vec<ViewName>,
    /// Limit that 99th percentiles are compared with [default: 20ms]
    ///
    /// 20 ms is usual for databases: Exchange requires it as an average, and Oracle's CALIBRATE_IO
    /// has it as its default.
    #[arg(long, value_name = "TIME", help_heading = "What is shown")]
    pub limit: Option<Nanos>,
    /// Length of a slice of time, 1ms or more
    ///
    /// For a long trace the length is doubled until the slices are few enough; the result gives the
    /// final length. Example: 100ms
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "What is shown")]
    pub slice: Nanos,

    /// Only this VM; repeat for more
    #[arg(long, value_name = "NAME", help_heading = "What counts")]
    pub vm: Vec<String>,
    /// Only this device; repeat for more
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
    /// Only I/Os issued at or after this time since the start of the trace
    #[arg(long, value_name = "TIME", help_heading = "What counts")]
    pub from: Option<Nanos>,
    /// Only I/Os issued before this time
    #[arg(long, value_name = "TIME", help_heading = "What counts")]
    pub to: Option<Nanos>,

    /// Fit a workload to the I/O of one VM, write it to this file and print how close it is
    ///
    /// The file ends in .toml and can be used in a tile. The printed figures are distances between
    /// the trace and a run of the workload in virtual time. Needs at least 1,000 reads and writes.
    /// Example: tilemark analyze vm.tmt --vm web1 --to-workload web1.toml
    #[arg(long, value_name = "FILE", help_heading = "A workload from a trace")]
    pub to_workload: Option<PathBuf>,
    /// Overwrite FILE
    #[arg(long, help_heading = "A workload from a trace")]
    pub force: bool,
    /// Seed of the run in virtual time
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "A workload from a trace")]
    pub seed: u64,

    #[command(flatten)]
    pub seen: SeenHostsArgs,
    #[command(flatten)]
    pub collect: CollectArgs,

    /// Threads that read a store [default: one per core]; they do not change the answer
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub threads: Option<NonZeroUsize>,
    /// Output format: text, json, csv, parquet or vscsistats
    ///
    /// csv and parquet write one file for each list of the answer, and need --out. vscsistats
    /// writes the view histograms as vscsiStats -p all -c does, for tools that read that format.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = AnalyzeFormat::Text, hide_possible_values = true, help_heading = "Output")]
    pub format: AnalyzeFormat,
    /// A directory for the files of csv and parquet; created if absent
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
    /// Causes of latency.
    Latency,
    /// Sizes by latency, and by outstanding I/Os.
    Matrix,
    /// Distinct bytes, miss ratios, tiers.
    WorkingSet,
    /// The histograms of vscsiStats.
    Histograms,
    /// Events over time.
    Time,
    /// Findings as sentences.
    Findings,
    /// All parts.
    All,
}

/// Direction of I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DirectionName {
    /// From the storage.
    Read,
    /// To the storage.
    Write,
}

/// Output format of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AnalyzeFormat {
    /// Text for people.
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
