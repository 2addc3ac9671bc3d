use run_store::run::{Interval, ToolFacts, Verdict, Warning};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use spec::study::{Kind, Published, Tolerance};

/// Name and version of the result of a study. Minor versions only add fields.
pub const SCHEMA: &str = "tilemark.study/1.0";

/// What a study came to. It holds no time of day and no wall-clock time: the same study, seed
/// and program give the same result to the byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyResult {
    /// Name and version of this format: `tilemark.study/1.0`.
    pub schema: String,
    /// The study's name.
    pub name: String,
    /// One line about it.
    pub title: String,
    /// What is reproduced, and where ours differs.
    pub source: String,
    /// Further paragraphs; null if there are none.
    pub notes: Option<String>,
    /// The command that makes this result.
    pub command: String,
    /// The program that made it.
    pub tool: ToolFacts,
    /// Name and version of the random generator.
    pub random_generator: String,
    /// SHA-256 of the study's file and of all arrays and tiles it resolves to, in
    /// hexadecimal: what was frozen before the run.
    pub sha256: String,
    /// Where random numbers start.
    pub seed: u64,
    /// Runs of every step.
    pub repeats: u32,
    /// Whether everything that was to be run was run.
    pub complete: bool,
    /// Whether everything was simulated; if not, configurations say which were measured on
    /// real storage. What is measured is not the same from run to run.
    pub simulated: bool,
    /// What was compared.
    pub configurations: Vec<ConfigurationFacts>,
    /// Every step that was run.
    pub points: Vec<PointResult>,
    /// The study's tables.
    pub tables: Vec<TableResult>,
    /// Every claim that was asked for, in the study's order.
    pub claims: Vec<ClaimResult>,
    /// How many claims were met, by kind.
    pub summary: Summary,
    /// What a reader should know before trusting the numbers.
    pub warnings: Vec<Warning>,
}

/// A configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigurationFacts {
    /// Its name.
    pub name: String,
    /// One line about it.
    pub title: String,
    /// Its array's name or path.
    pub array: String,
    /// Its tile's name or path.
    pub tile: String,
    /// The name or path of the infrastructure operations beside its tiles; absent if none ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<String>,
    /// Where these had a second place, `pool:NAME`; absent if they had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<String>,
    /// Virtual machines in one tile.
    pub vms_per_tile: u64,
    /// Its numbers of tiles.
    pub tiles: Vec<u32>,
    /// Disk sizes were multiplied by this.
    pub footprint: f64,
    /// Schedule times were multiplied by this.
    pub time: f64,
    /// Whether it was measured on real storage.
    pub real: bool,
}

/// A step, all its repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointResult {
    /// The configuration's name.
    pub configuration: String,
    /// Tiles.
    pub tiles: u32,
    /// What all repeats came to.
    pub verdict: PointVerdict,
    /// The first limit that broke, or why there is no step; null if nothing broke.
    pub reason: Option<String>,
    /// Means of the repeats.
    pub mean: PointFigures,
    /// Every repeat.
    pub runs: Vec<PointRun>,
}

/// What the repeats of a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PointVerdict {
    /// All passed.
    Passed,
    /// One failed.
    Failed,
    /// One could not be judged, and none failed.
    Inconclusive,
    /// One did not end.
    Interrupted,
    /// The array has no room for so many tiles.
    DoesNotFit,
    /// It needs what is not here.
    LeftOut,
    /// One could not be simulated.
    NotSimulated,
}

impl PointVerdict {
    /// Its name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Inconclusive => "inconclusive",
            Self::Interrupted => "interrupted",
            Self::DoesNotFit => "does-not-fit",
            Self::LeftOut => "left-out",
            Self::NotSimulated => "not-simulated",
        }
    }

    /// Whether a reader needs to know why there is no more.
    pub(crate) const fn needs_a_reason(self) -> bool {
        match self {
            Self::DoesNotFit | Self::LeftOut | Self::NotSimulated | Self::Inconclusive => true,
            Self::Passed | Self::Failed | Self::Interrupted => false,
        }
    }
}

/// One repeat of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointRun {
    /// From 1.
    pub repeat: u32,
    /// What it came to; null if it could not be simulated.
    pub verdict: Option<Verdict>,
    /// Why not; null if it could.
    pub error: Option<String>,
    /// Its figures; null if it could not be simulated.
    pub figures: Option<PointFigures>,
}

/// The figures every study shows. Null where there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointFigures {
    /// Application score, in tiles' worth of work.
    pub score: Option<f64>,
    /// Reads and writes per second.
    pub operations_per_s: Option<f64>,
    /// Reads as a share of them, 0 to 1.
    pub read_share: Option<f64>,
    /// Bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Mean service time of reads, in milliseconds.
    pub read_ms: Option<f64>,
    /// Mean service time of writes, in milliseconds.
    pub write_ms: Option<f64>,
    /// Mean share of all hosts' cores that was used, 0 to 1.
    pub cpu: Option<f64>,
    /// Largest share that a measured value is of its limit.
    pub strain: Option<f64>,
    /// Every tier, and memory that answers reads.
    pub tiers: Vec<TierShares>,
}

/// What a tier answered, as shares of requests, 0 to 1. Null without requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierShares {
    /// Its name.
    pub name: String,
    /// Of all requests.
    pub hit: Option<f64>,
    /// Of reads.
    pub read_hit: Option<f64>,
    /// Of writes.
    pub write_hit: Option<f64>,
}

/// A table of the study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableResult {
    /// Heading.
    pub title: String,
    /// Unit of the cells; null if the study gives none.
    pub unit: Option<String>,
    /// The formula of the cells.
    pub measure: String,
    /// Names of the configurations, one for each column.
    pub configurations: Vec<String>,
    /// One for each number of tiles.
    pub rows: Vec<TableRow>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableRow {
    /// Tiles.
    pub tiles: u32,
    /// Means over the repeats; null where the configuration is not tried with so many tiles,
    /// or has no such figure.
    pub cells: Vec<Option<f64>>,
}

/// Whether a claim was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Ours is close enough.
    Met,
    /// It is not.
    NotMet,
    /// There is no figure of ours.
    NotMeasured,
}

impl Outcome {
    /// For tables.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Met => "yes",
            Self::NotMet => "NO",
            Self::NotMeasured => "not measured",
        }
    }
}

/// A claim and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimResult {
    /// Its name.
    pub id: String,
    /// What is said.
    pub text: String,
    /// What part it has in the study: only `predicted` counts as reproduced.
    pub kind: Kind,
    /// What the source gives.
    pub published: Published,
    /// Unit of the numbers; null if the study gives none.
    pub unit: Option<String>,
    /// Document and place.
    pub source: String,
    /// How close ours must come.
    pub tolerance: Tolerance,
    /// The formula of ours; null if it has none.
    pub measure: Option<String>,
    /// Ours: the mean of the repeats, or of a comparison 1 or 0; null if it was not measured.
    pub ours: Option<f64>,
    /// Its 95 % interval; null with fewer than two repeats.
    pub interval: Option<Interval>,
    /// Ours in every repeat.
    pub repeats: Vec<Option<f64>>,
    /// Whether ours is close enough; false if it was not measured.
    pub met: bool,
    /// The same in three words.
    pub outcome: Outcome,
    /// Whether all of the interval is close enough; null without an interval.
    pub interval_inside: Option<bool>,
    /// Why it was not measured; null if it was.
    pub reason: Option<String>,
    /// What the study says of its failure; null if it is met or the study says nothing.
    pub why: Option<String>,
}

/// How many claims were met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// By kind, those that there are.
    pub kinds: Vec<KindCount>,
    /// The answer in a sentence: of predicted claims alone.
    pub sentence: String,
}

/// Claims of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindCount {
    /// The kind.
    pub kind: Kind,
    /// Met.
    pub met: usize,
    /// Not met.
    pub not_met: usize,
    /// Without a figure of ours.
    pub not_measured: usize,
}

/// The JSON Schema of a result.
pub fn json_schema() -> serde_json::Value {
    schema_for!(StudyResult).to_value()
}
