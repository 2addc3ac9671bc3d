use run_store::run::{Interval, ToolFacts, Verdict, Warning};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use spec::study::{Kind, Published, Tolerance};

/// Name and version of the format of a study's result. Minor versions only add fields.
pub const SCHEMA: &str = "tilemark.study/1.0";

/// Result of a study. It contains no time of day and no elapsed real time: the same study, seed and
/// program give the same result, byte by byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyResult {
    /// Name and version of this format: `tilemark.study/1.0`.
    pub schema: String,
    /// Name of the study.
    pub name: String,
    /// Title, one line.
    pub title: String,
    /// Reproduced work, with our deviations from it.
    pub source: String,
    /// Further paragraphs; null if there are none.
    pub notes: Option<String>,
    /// Command that produces this result.
    pub command: String,
    /// Program that produced this result.
    pub tool: ToolFacts,
    /// Name and version of the random generator.
    pub random_generator: String,
    /// SHA-256 of the study's file and of all its arrays and tiles, in hexadecimal: the definitions
    /// as they were frozen before the run.
    pub sha256: String,
    /// Seed of random numbers.
    pub seed: u64,
    /// Number of repeats of every step.
    pub repeats: u32,
    /// True if all planned steps were run.
    pub complete: bool,
    /// True if everything was simulated. If false, the configurations show which of them were
    /// measured on real storage. Measurements differ from run to run.
    pub simulated: bool,
    /// Compared configurations.
    pub configurations: Vec<ConfigurationFacts>,
    /// All steps that were run.
    pub points: Vec<PointResult>,
    /// The study's tables.
    pub tables: Vec<TableResult>,
    /// Requested claims, in the study's order.
    pub claims: Vec<ClaimResult>,
    /// Number of met claims, by kind.
    pub summary: Summary,
    /// Warnings about the figures.
    pub warnings: Vec<Warning>,
}

/// Configuration of a study, as shown in the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigurationFacts {
    /// Name of the configuration.
    pub name: String,
    /// Title, one line.
    pub title: String,
    /// Name or path of its array.
    pub array: String,
    /// Name or path of its tile.
    pub tile: String,
    /// Name or path of the infrastructure operations that run beside its tiles; absent if none ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<String>,
    /// Second datastore of the operations, `pool:NAME`; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<String>,
    /// Virtual machines in one tile.
    pub vms_per_tile: u64,
    /// Numbers of tiles that were run.
    pub tiles: Vec<u32>,
    /// Factor applied to disk sizes.
    pub footprint: f64,
    /// Factor applied to schedule times.
    pub time: f64,
    /// True if the configuration was measured on real storage.
    pub real: bool,
}

/// Step with all its repeats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointResult {
    /// Name of the configuration.
    pub configuration: String,
    /// Number of tiles.
    pub tiles: u32,
    /// Verdict over all repeats.
    pub verdict: PointVerdict,
    /// First broken limit, or the reason for a missing result; null if no limit was broken.
    pub reason: Option<String>,
    /// Means of the repeats.
    pub mean: PointFigures,
    /// All repeats.
    pub runs: Vec<PointRun>,
}

/// Verdict over the repeats of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PointVerdict {
    /// All repeats passed.
    Passed,
    /// At least one repeat failed.
    Failed,
    /// At least one repeat was undecided, and none failed.
    Inconclusive,
    /// At least one repeat did not complete.
    Interrupted,
    /// The array has no space for this many tiles.
    DoesNotFit,
    /// The step needs something that is missing here.
    LeftOut,
    /// At least one repeat could not be simulated.
    NotSimulated,
}

impl PointVerdict {
    /// Returns the name in files and tables.
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

    /// Returns true if readers need the reason for a missing result.
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
    /// Number of the repeat, counted from 1.
    pub repeat: u32,
    /// Verdict; null if the repeat could not be simulated.
    pub verdict: Option<Verdict>,
    /// Error of the simulation; null if there was none.
    pub error: Option<String>,
    /// Figures; null if the repeat could not be simulated.
    pub figures: Option<PointFigures>,
}

/// Figures that every study has. Null means unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointFigures {
    /// Application score, in tiles' worth of work.
    pub score: Option<f64>,
    /// Reads and writes per second.
    pub operations_per_s: Option<f64>,
    /// Share of reads, 0 to 1.
    pub read_share: Option<f64>,
    /// Bytes read and written per second.
    pub bytes_per_s: Option<f64>,
    /// Mean service time of reads, in milliseconds.
    pub read_ms: Option<f64>,
    /// Mean service time of writes, in milliseconds.
    pub write_ms: Option<f64>,
    /// Mean share of all hosts' cores in use, 0 to 1.
    pub cpu: Option<f64>,
    /// Largest ratio of a measured value to its limit.
    pub strain: Option<f64>,
    /// Tiers, and memory that serves reads.
    pub tiers: Vec<TierShares>,
}

/// Hit shares of a tier, 0 to 1. Null if there were no requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TierShares {
    /// Name of the tier.
    pub name: String,
    /// Share of hits in all requests.
    pub hit: Option<f64>,
    /// Share of hits in reads.
    pub read_hit: Option<f64>,
    /// Share of hits in writes.
    pub write_hit: Option<f64>,
}

/// A table of the study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableResult {
    /// Heading of the table.
    pub title: String,
    /// Unit of the cells; null if the study gives none.
    pub unit: Option<String>,
    /// Formula of the cells.
    pub measure: String,
    /// Names of the configurations, one for each column.
    pub configurations: Vec<String>,
    /// Rows, one for each number of tiles.
    pub rows: Vec<TableRow>,
}

/// Figures of one tile count, as a row of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableRow {
    /// Number of tiles.
    pub tiles: u32,
    /// Means over the repeats; null if the configuration was not run with this many tiles, or has
    /// no such figure.
    pub cells: Vec<Option<f64>>,
}

/// Outcome of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Our value is within the tolerance.
    Met,
    /// Our value is outside the tolerance.
    NotMet,
    /// There is no value of our own.
    NotMeasured,
}

impl Outcome {
    /// Returns the words for tables.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Met => "yes",
            Self::NotMet => "NO",
            Self::NotMeasured => "not measured",
        }
    }
}

/// Claim with its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimResult {
    /// Name of the claim.
    pub id: String,
    /// Text of the claim.
    pub text: String,
    /// Role in the study: only `predicted` counts as reproduced.
    pub kind: Kind,
    /// Published value.
    pub published: Published,
    /// Unit of the numbers; null if the study gives none.
    pub unit: Option<String>,
    /// Document and place of the claim.
    pub source: String,
    /// Tolerance for our value.
    pub tolerance: Tolerance,
    /// Formula of our value; null if there is none.
    pub measure: Option<String>,
    /// Our value: the mean of the repeats, or 1 or 0 for a comparison; null if it was not measured.
    pub ours: Option<f64>,
    /// 95 % interval of our value; null with fewer than two repeats.
    pub interval: Option<Interval>,
    /// Our value in every repeat.
    pub repeats: Vec<Option<f64>>,
    /// True if our value is within the tolerance; false if it was not measured.
    pub met: bool,
    /// Outcome in words.
    pub outcome: Outcome,
    /// True if the whole interval is within the tolerance; null without an interval.
    pub interval_inside: Option<bool>,
    /// Reason why it was not measured; null if it was measured.
    pub reason: Option<String>,
    /// The study's reason for a missed claim; null if the claim is met or the study gives no
    /// reason.
    pub why: Option<String>,
}

/// Number of met claims, by kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Counts of the kinds that occur.
    pub kinds: Vec<KindCount>,
    /// Result in one sentence, which only covers predicted claims.
    pub sentence: String,
}

/// Numbers of met and missed claims of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindCount {
    /// Kind of the claims.
    pub kind: Kind,
    /// Number of met claims.
    pub met: usize,
    /// Number of claims that are not met.
    pub not_met: usize,
    /// Number of claims without a value of our own.
    pub not_measured: usize,
}

/// Returns the JSON Schema of a result.
pub fn json_schema() -> serde_json::Value {
    schema_for!(StudyResult).to_value()
}
