use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ratio;

use super::{Published, RealConfiguration, TileList};
use crate::events::{PlannedEvent, Restart};
use crate::plan::{Measure, Scale};

/// Configurations, the way to run them, and claims about them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Study {
    /// Short name, for commands and results.
    pub name: String,
    /// Title in lists, one line.
    pub title: String,
    /// Reproduced work: its documents, its hardware, and our deviations.
    pub source: String,
    /// Additional paragraphs for the page: calibration and findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Name of a shipped tile, or a path relative to the study. Used by configurations without a
    /// tile of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile: Option<String>,
    /// Numbers of tiles, for configurations without a list of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<TileList>,
    /// Number of runs of every step (default 3). A repeat has the same random numbers in every
    /// configuration, so that configurations are compared under equal load.
    #[serde(default = "three")]
    pub repeats: u32,
    /// Seed of the random numbers (default 1).
    #[serde(default = "one")]
    pub seed: u64,
    /// Measurement of each step. Absent values come from the standard profile.
    #[serde(default)]
    pub measure: Measure,
    /// Scaling of tiles. Absent values are 1: full size and real time.
    #[serde(default)]
    pub scale: Scale,
    /// Modelled configurations to compare; empty if all are on real storage.
    #[serde(rename = "configuration", default)]
    pub configurations: Vec<Configuration>,
    /// Configurations on real storage to compare.
    #[serde(rename = "real", default, skip_serializing_if = "Vec::is_empty")]
    pub reals: Vec<RealConfiguration>,
    /// Tables that are shown in addition to the claims.
    #[serde(rename = "table", default)]
    pub tables: Vec<Table>,
    /// Claims about the configurations.
    #[serde(rename = "claim", default)]
    pub claims: Vec<Claim>,
}

/// A modelled storage with its tiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Configuration {
    /// Name, unique in the study, for formulas.
    pub name: String,
    /// Title in tables, one line.
    pub title: String,
    /// Name of a shipped array, or a path relative to the study; if absent, the array of `like`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// Name of an earlier configuration. Its values are the defaults of this one, and its changes
    /// are applied first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// Changes to the array, with the keys of the array's file. Tables merge key by key; `tier`,
    /// `pool` and `place` merge by name, and `remove = true` removes an entry.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub with: toml::Table,
    /// Tile of the configuration; if absent, the study's tile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile: Option<String>,
    /// Infrastructure operations that run beside the tiles: a shipped group, or a path relative to
    /// the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<String>,
    /// Second datastore of the operations: `pool:NAME`, a pool of the array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<String>,
    /// Events of the array's hosts, as in a plan; if absent, those of `like`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<PlannedEvent>,
    /// Restart of a lost host's virtual machines, as in a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    /// Numbers of tiles: `4`, `"1..5"` or `[1, 2, 4]`; if absent, the study's list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<TileList>,
    /// Measurement of its steps. Absent values default to the study's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub measure: Measure,
    /// Scaling of the tile. Absent values default to the study's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scale: Scale,
    /// Changes to the workloads, keyed by workload name, with the keys of the workload's file.
    /// Tables merge key by key; lists of tables with a `name` merge by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "IndexMap<String, serde_json::Map<String, serde_json::Value>>")]
    pub workload: IndexMap<String, toml::Table>,
}

/// Table of a figure, by configuration and number of tiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Table {
    /// Heading of the table.
    pub title: String,
    /// Unit of its cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Formula of a cell. `configuration` and `tiles` have the values of the cell.
    pub measure: String,
    /// Columns (default: all configurations).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configurations: Option<Vec<String>>,
    /// Rows (default: all numbers of tiles of the columns' configurations).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<TileList>,
}

/// Statement of a source, with the tolerance for our result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// Identifier, unique in the study.
    pub id: String,
    /// Statement of the source, in a sentence.
    pub text: String,
    /// Role of the claim in the study.
    pub kind: Kind,
    /// Value in the source: a number, a range `[low, high]`, or words.
    pub published: Published,
    /// Unit of the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Document and place of the statement, or the arithmetic that it follows from.
    pub source: String,
    /// Tolerance for our result.
    pub tolerance: Tolerance,
    /// Formula of our result. If absent, the claim is not measured, and `why` has the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// Text that is printed if the claim is not met: the reason, and attempts so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Role of a claim in a study.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Value that we put in. It is shown, and never counts as reproduced.
    Input,
    /// Parameters were chosen to match the claim. It never counts as reproduced.
    Calibrated,
    /// No parameter was chosen to match the claim.
    Predicted,
    /// The claim follows from the definitions without any model.
    Arithmetic,
    /// The claim needs real storage and is measured elsewhere.
    Real,
}

impl Kind {
    /// All roles, in the order of reports.
    pub const ALL: [Self; 5] =
        [Self::Predicted, Self::Calibrated, Self::Input, Self::Arithmetic, Self::Real];

    /// Returns the name of the role in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Calibrated => "calibrated",
            Self::Predicted => "predicted",
            Self::Arithmetic => "arithmetic",
            Self::Real => "real",
        }
    }
}

/// Tolerance between our result and the published value. Bounds are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tolerance {
    /// Maximum difference from the number, or from the range, in its unit.
    Absolute(f64),
    /// Maximum difference as a share of the number, or of the nearer bound of the range.
    Relative(Ratio),
    /// Range of allowed results, independent of the published value.
    Range(f64, f64),
    /// Minimum allowed result.
    AtLeast(f64),
    /// Maximum allowed result.
    AtMost(f64),
    /// The formula is a comparison and must be true. Always `true`.
    Order(bool),
    /// The result must be equal to the published value. Always `true`.
    Exact(bool),
}

const fn three() -> u32 {
    3
}

const fn one() -> u64 {
    1
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
