use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Progress of the search for the maximum number of tiles.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClimbFacts {
    /// Reason why the search ended.
    pub ended: ClimbEnd,
    /// Result above `tiles_held`; null if nothing above it was tested.
    pub stop: Option<Stop>,
    /// Time limit that ended the search before the maximum was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_time: Option<OutOfTime>,
    /// Largest number of users that fit into memory, if this limited the number of tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users_max: Option<u64>,
    /// Number of tiles that passed before an overload and failed after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hysteresis: Option<Hysteresis>,
    /// Number of different tile counts that ran.
    pub tile_counts: u32,
    /// Number of different tile counts that passed.
    pub tile_counts_passed: u32,
    /// Tile counts above `tiles_held` that passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_above: Vec<u32>,
    /// Tile counts below `tiles_held` that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_below: Vec<u32>,
    /// Error of the array model, if the model was fitted to measured storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_error: Option<ModelError>,
}

impl ClimbFacts {
    /// Returns true if a tile count above `tiles_held` was tested and decided.
    pub(super) fn is_decided(&self) -> bool {
        matches!(self.stop, Some(Stop::Limit { .. } | Stop::Flat { .. }))
    }
}

/// Reason why the search ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum ClimbEnd {
    /// The search was completed as planned.
    #[default]
    Complete,
    /// A user stopped the run.
    Interrupted,
    /// An error ended the run.
    Failed {
        /// Message of the error.
        error: String,
    },
    /// The run is in progress.
    NotYet,
}

/// Result of the first step above `tiles_held` that did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Stop {
    /// A limit was exceeded at this number of tiles.
    Limit {
        /// Number of tiles in the failed step.
        tiles: u32,
    },
    /// More tiles than `tiles_held` do no more work.
    Flat {
        /// Smallest tested number of tiles that adds no work.
        tiles: u32,
        /// Work that one more tile adds at that number, as a share of a single tile's work. It is
        /// read from the curve fitted through all steps; it may be negative.
        gain: f64,
    },
    /// The step with this number of tiles was inconclusive.
    Inconclusive {
        /// Number of tiles in the inconclusive step.
        tiles: u32,
    },
}

impl Stop {
    /// Returns the number of tiles in that step.
    pub const fn tiles(self) -> u32 {
        match self {
            Self::Limit { tiles } | Self::Flat { tiles, .. } | Self::Inconclusive { tiles } => {
                tiles
            }
        }
    }
}

/// Time limit that ended a search before the maximum was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutOfTime {
    /// Time limit, in nanoseconds.
    pub time_ns: u64,
    /// Steps left out because of `--within`, the limit of a simulation's real time; null if the
    /// limit is the budget of the search.
    pub left_out: Option<LeftOut>,
}

/// Steps that a simulation left out because of its time limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// First step that was left out; null if all steps ran.
    pub next: Option<NextStep>,
    /// Number of steps that ran.
    pub steps_run: u32,
    /// Number of planned steps; null if a search chose the steps.
    pub steps_asked: Option<u32>,
}

/// First step that did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextStep {
    /// Number of tiles.
    pub tiles: u32,
    /// Repeat of the step, from 1.
    pub repeat: u32,
}

/// Number of tiles that passed before an overload and failed after it: the storage had not
/// recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hysteresis {
    /// Number of tiles that passed and then failed.
    pub tiles: u32,
    /// Number of tiles in the overload.
    pub overload: u32,
}

/// Error of a model that was fitted to measured storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelError {
    /// Confidence interval of the maximum number of tiles, without the error of the model; null if
    /// no step above was decided.
    pub searched: Option<TilesInterval>,
    /// True if the interval of the answer is widened by the error of the model.
    pub is_interval_widened: bool,
    /// True if the error is too large for the number of tiles to be an answer.
    pub is_too_far: bool,
    /// Size of the error in words, from the calibration.
    pub text: String,
}

/// Confidence interval of the maximum number of tiles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TilesInterval {
    /// Lower end, in tiles.
    pub low: u32,
    /// Upper end, in tiles; null if it is above every number that was or could be tested.
    pub high: Option<u32>,
    /// Most probable number of tiles, from the curve fitted through all steps; it may lie between
    /// numbers that ran. Absent if no curve was fitted; `tiles_held` then takes its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_likely: Option<u32>,
    /// Share of such intervals that contain the true number, such as 0.95.
    pub confidence: f64,
}
