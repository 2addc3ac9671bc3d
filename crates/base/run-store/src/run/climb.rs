use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Course of the search for the most tiles that hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClimbFacts {
    /// Reason why the search ended.
    pub ended: ClimbEnd,
    /// Result above the tiles held; null if nothing above them was tested.
    pub stop: Option<Stop>,
    /// Time limit that ended the search before an edge was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_time: Option<OutOfTime>,
    /// Largest number of users that fit into memory, if it kept more tiles from being tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users_max: Option<u64>,
    /// Count of tiles that passed before an overload and failed after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hysteresis: Option<Hysteresis>,
    /// Number of different counts of tiles that ran.
    pub tile_counts: u32,
    /// Number of different counts of tiles that passed.
    pub tile_counts_passed: u32,
    /// Counts of tiles above the tiles held that passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_above: Vec<u32>,
    /// Counts of tiles below the tiles held that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_below: Vec<u32>,
    /// Error of the model, if the array was fitted to measured storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_error: Option<ModelError>,
}

impl ClimbFacts {
    /// True if a count above the tiles held was tried and decided.
    pub(super) fn is_decided(&self) -> bool {
        matches!(self.stop, Some(Stop::Limit { .. } | Stop::Flat { .. }))
    }
}

/// Reason why the search ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum ClimbEnd {
    /// The search went as far as the plan says.
    #[default]
    Complete,
    /// A user stopped the run.
    Interrupted,
    /// An error ended the run.
    Failed {
        /// Message of the error.
        error: String,
    },
    /// The run has not ended.
    NotYet,
}

/// Result above the tiles held.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Stop {
    /// A limit was broken at this many tiles.
    Limit {
        /// Count of tiles of the step that failed.
        tiles: u32,
    },
    /// More tiles than the tiles held do no more work.
    Flat {
        /// Smallest tested count of tiles that adds no work.
        tiles: u32,
        /// Work that one more tile adds there by the curve through all steps, as a share of the
        /// work of a single tile; may be negative.
        gain: f64,
    },
    /// The step with this count of tiles was inconclusive.
    Inconclusive {
        /// Count of tiles of the inconclusive step.
        tiles: u32,
    },
}

impl Stop {
    /// Count of tiles of the step above the tiles held.
    pub const fn tiles(self) -> u32 {
        match self {
            Self::Limit { tiles } | Self::Flat { tiles, .. } | Self::Inconclusive { tiles } => {
                tiles
            }
        }
    }
}

/// Time limit that ended a search before an edge was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutOfTime {
    /// Time limit, in nanoseconds.
    pub time_ns: u64,
    /// Steps left out, if the limit is the real time of a simulation (`--within`); null if the
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
    /// Number of steps in the plan; null if a search chose the steps.
    pub steps_asked: Option<u32>,
}

/// Step that did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextStep {
    /// Number of tiles.
    pub tiles: u32,
    /// Number of the repeat, from 1.
    pub repeat: u32,
}

/// Count of tiles that passed before an overload and failed after it: the storage had not recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hysteresis {
    /// Count of tiles that passed and then failed.
    pub tiles: u32,
    /// Count of tiles of the overload.
    pub overload: u32,
}

/// Error of a model that was fitted to measured storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelError {
    /// Interval of the most tiles that hold without the error of the model; null if no step above
    /// was decided.
    pub searched: Option<TilesInterval>,
    /// True if the interval of the answer includes the error of the model.
    pub is_interval_widened: bool,
    /// True if the error is too large for the count of tiles to be an answer.
    pub is_too_far: bool,
    /// Size of the error in words, from the calibration.
    pub text: String,
}

/// Confidence interval of the most tiles that hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TilesInterval {
    /// Lower end, in tiles.
    pub low: u32,
    /// Upper end, in tiles; null if it is beyond what was or could be tried.
    pub high: Option<u32>,
    /// Most probable count by all steps together; it may lie between counts that ran. Absent if no
    /// curve was fitted; then it is `tiles_held`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_likely: Option<u32>,
    /// Share of such intervals that contain the true count, such as 0.95.
    pub confidence: f64,
}
