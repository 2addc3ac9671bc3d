use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ratio;

use super::{Published, RealConfiguration, TileList};
use crate::plan::{Measure, Scale};

/// Configurations, how they are tried, and what is claimed of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Study {
    /// Short name.
    pub name: String,
    /// One line a person reads in lists.
    pub title: String,
    /// What is reproduced: documents, their hardware, and where ours differs.
    pub source: String,
    /// Paragraphs for the page, beside the source: how it was calibrated, what was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// A shipped tile, or a path relative to the study; of configurations that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile: Option<String>,
    /// Numbers of tiles of configurations that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<TileList>,
    /// Runs of every step (default 3). A repeat has the same random numbers in every
    /// configuration, so that configurations are compared under the same load.
    #[serde(default = "three")]
    pub repeats: u32,
    /// Where random numbers start (default 1).
    #[serde(default = "one")]
    pub seed: u64,
    /// How each step is measured; absent values are those of the standard profile.
    #[serde(default)]
    pub measure: Measure,
    /// How tiles are scaled; absent values are 1: full size, real time.
    #[serde(default)]
    pub scale: Scale,
    /// What is compared.
    #[serde(rename = "configuration")]
    pub configurations: Vec<Configuration>,
    /// What is compared on real storage.
    #[serde(rename = "real", default, skip_serializing_if = "Vec::is_empty")]
    pub reals: Vec<RealConfiguration>,
    /// What is shown beside the claims.
    #[serde(rename = "table", default)]
    pub tables: Vec<Table>,
    /// What is said of the configurations.
    #[serde(rename = "claim", default)]
    pub claims: Vec<Claim>,
}

/// A modelled storage and what runs on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Configuration {
    /// Unique in the study; formulas use it.
    pub name: String,
    /// One line a person reads in tables.
    pub title: String,
    /// A shipped array, or a path relative to the study; if absent, that of `like`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// A configuration before this one whose values hold where this one has none, and whose
    /// changes come before this one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
    /// What is different in its array: keys as in the array's file. Tables merge key by key;
    /// `tier`, `pool` and `place` merge by name, and `remove = true` takes an entry out.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub with: toml::Table,
    /// Its tile, if not the study's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile: Option<String>,
    /// Infrastructure operations beside its tiles: a shipped group, or a path relative to the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<String>,
    /// Where they have a second place: `pool:NAME`, a pool of its array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<String>,
    /// Its numbers of tiles, if not the study's: `4`, `"1..5"` or `[1, 2, 4]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<TileList>,
    /// How its steps are measured, where not as the study says.
    #[serde(default, skip_serializing_if = "is_default")]
    pub measure: Measure,
    /// How its tile is scaled, where not as the study says.
    #[serde(default, skip_serializing_if = "is_default")]
    pub scale: Scale,
    /// What is different in its workloads, by their name: keys as in the workload's file.
    /// Tables merge key by key; lists of tables with a `name` merge by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "IndexMap<String, serde_json::Map<String, serde_json::Value>>")]
    pub workload: IndexMap<String, toml::Table>,
}

/// A figure of several configurations by number of tiles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Table {
    /// Heading.
    pub title: String,
    /// Unit of its cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Formula of a cell; `configuration` and `tiles` are those of the cell.
    pub measure: String,
    /// Its columns (default: all configurations).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configurations: Option<Vec<String>>,
    /// Its rows (default: all numbers of tiles of its configurations).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<TileList>,
}

/// Something that a source says, and how close ours must come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// Unique in the study.
    pub id: String,
    /// What is said, in a sentence.
    pub text: String,
    /// What part it has in the study.
    pub kind: Kind,
    /// What the source gives: a number, a range `[low, high]`, or words.
    pub published: Published,
    /// Unit of the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Document and place, or the arithmetic it follows from.
    pub source: String,
    /// How close ours must come.
    pub tolerance: Tolerance,
    /// The formula of ours; without it the claim is not measured, and `why` says why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// Printed if the claim is not met: the reason, and what was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What part a claim has in a study.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Put in; shown so that the reader sees it, never reproduced.
    Input,
    /// Parameters were chosen so that it comes out; never counted as reproduced.
    Calibrated,
    /// Nothing was chosen to make it come out.
    Predicted,
    /// Follows from the definitions without any model.
    Arithmetic,
    /// Needs real storage; run elsewhere.
    Real,
}

impl Kind {
    /// All, in the order of reports.
    pub const ALL: [Self; 5] =
        [Self::Predicted, Self::Calibrated, Self::Input, Self::Arithmetic, Self::Real];

    /// Its name in files.
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

/// How close ours must come to what is published. Bounds belong to what is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tolerance {
    /// At most this far from the number, or outside the range, in its unit.
    Absolute(f64),
    /// At most this share of the number from it, or of its ends outside the range.
    Relative(Ratio),
    /// Between these two, whatever is published.
    Range(f64, f64),
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
    /// The formula compares, and must be 1. Always `true`.
    Order(bool),
    /// The same number. Always `true`.
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
