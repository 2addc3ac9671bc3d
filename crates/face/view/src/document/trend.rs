use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Several runs side by side, each compared with the first: answer of `GET
/// /api/v1/trend?run=ID&run=ID` and of `tilemark runs trend --format json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunsTrend {
    /// Name and version of the document: `tilemark.runs-trend/1.1`.
    pub schema: String,
    /// Result in one sentence.
    pub sentence: String,
    /// Runs, oldest first.
    pub runs: Vec<TrendRow>,
    /// Figures by number of tiles, for small diagrams.
    pub figures: Vec<TrendFigure>,
}

/// A run beside others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendRow {
    /// Identifier of the run.
    pub id: String,
    /// Start of the run, RFC 3339, UTC.
    pub started: String,
    /// Name that the user gave the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Datastore of the run.
    pub datastore: String,
    /// Profile: `quick`, `standard`, `full`.
    pub profile: String,
    /// Answer of the run, in a sentence.
    pub sentence: String,
    /// Largest number of tiles that met the limits, as an interval.
    pub tiles: String,
    /// Largest number of tiles that met the limits; none if unknown.
    pub tiles_held: Option<u32>,
    /// Score at that number of tiles.
    pub score: Option<f64>,
    /// Score with its interval, as text: `2.51 (2.43 to 2.60)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_text: Option<String>,
    /// Limit that breaks with more tiles, or another reason why the search ended, as a sentence.
    pub breaks: String,
    /// Mean power at that number of tiles, in watts; none without a meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts: Option<f64>,
    /// Power and score per kilowatt, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_text: Option<String>,
    /// Price per tile, in the unit of the tag `price`; none without the tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_per_tile: Option<PricePer>,
    /// Price per VM, in the unit of the tag `price`; none without the tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_per_vm: Option<PricePer>,
    /// Text of the tag `price`, if it is not a valid price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_not_read: Option<String>,
    /// Verdict over all figures against the first run: `worse`, `better`, `same` or
    /// `inconclusive`; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_first: Option<String>,
    /// Figure that decided the verdict, with its change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Facts of plan and tiles that differ from those of the first run.
    pub plan_differs: Vec<String>,
    /// Reason why the run was not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
}

/// Price divided by the tiles or VMs that were held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PricePer {
    /// Lowest possible price. Absent if more tiles than were tried might meet the limits.
    pub low: Option<f64>,
    /// Highest possible price. Absent if no number of tiles surely met the limits.
    pub high: Option<f64>,
    /// Unit of the tag `price`; empty if the tag has none.
    pub unit: String,
    /// Price as text: `375.00 to 400.00 EUR`.
    #[serde(default)]
    pub text: String,
}

/// A figure of all runs by number of tiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendFigure {
    /// Name of the figure: `read p99`, `shop order p95`.
    pub title: String,
    /// Unit of the values: `io_per_s` or `ns`.
    pub unit: String,
    /// Allowed value, if the figure has a limit and all runs have the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ns: Option<u64>,
    /// Points of each run, in the order of the runs; empty for a run without the figure.
    pub lines: Vec<Vec<TrendPoint>>,
}

/// A figure of a run at a number of tiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendPoint {
    /// Number of tiles.
    pub tiles: u32,
    /// Median of the repeats, in the unit of the figure.
    pub value: f64,
    /// Verdict against the first run at the same number of tiles: `worse`, `better`, `same` or
    /// `inconclusive`; absent for the first run, and if the first run has no such step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_first: Option<String>,
    /// Change against the first run with its interval, as text: `+18 % (+11 % to +26 %)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}
