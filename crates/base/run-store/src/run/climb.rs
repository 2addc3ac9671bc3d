use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the climb of the ladder went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClimbFacts {
    /// What ended it.
    pub ended: ClimbEnd,
    /// What is above the tiles held; null if nothing above them was tested.
    pub stop: Option<Stop>,
    /// The time that ended the search, where it was open then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_time: Option<OutOfTime>,
    /// The most users that are kept in memory, where that kept more tiles from being tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users_max: Option<u64>,
    /// A count that passed before an overload and failed after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hysteresis: Option<Hysteresis>,
    /// How many different counts of tiles ran.
    pub tile_counts: u32,
    /// How many of them passed.
    pub tile_counts_passed: u32,
    /// Counts above what is held that passed all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_above: Vec<u32>,
    /// Counts below what is held that failed all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_below: Vec<u32>,
    /// How far the model is off, where the array was fitted to storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_error: Option<ModelError>,
}

impl ClimbFacts {
    /// Whether something above what is held was tried and decided.
    pub(super) fn is_decided(&self) -> bool {
        matches!(self.stop, Some(Stop::Limit { .. } | Stop::Flat { .. }))
    }
}

/// What ended the climb.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum ClimbEnd {
    /// The ladder was climbed as far as the plan says.
    #[default]
    Complete,
    /// Someone asked it to stop.
    Interrupted,
    /// An error.
    Failed {
        /// The error's message.
        error: String,
    },
    /// Nothing: the run goes on.
    NotYet,
}

/// What is above the tiles held.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Stop {
    /// A limit was broken at this many tiles.
    Limit {
        /// The step that failed.
        tiles: u32,
    },
    /// Beyond the tiles held more do no more work.
    Flat {
        /// The first tested count of those that add nothing.
        tiles: u32,
        /// What the last of them adds by the curve through all steps, as a share of what a tile
        /// does by itself; may be negative.
        gain: f64,
    },
    /// Nothing can be said about this many tiles.
    Inconclusive {
        /// The step without a verdict.
        tiles: u32,
    },
}

impl Stop {
    /// The step that is meant.
    pub const fn tiles(self) -> u32 {
        match self {
            Self::Limit { tiles } | Self::Flat { tiles, .. } | Self::Inconclusive { tiles } => {
                tiles
            }
        }
    }
}

/// The time that ended an open search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutOfTime {
    /// Time there was, in nanoseconds.
    pub time_ns: u64,
    /// Steps that were left out, where it was the real time of a simulation (`--within`); null
    /// where it was the budget of the search.
    pub left_out: Option<LeftOut>,
}

/// Steps that a simulation left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The step that would have been next; null if the last one was over.
    pub next: Option<NextStep>,
    /// Steps that ran.
    pub steps_run: u32,
    /// Steps that the plan asked for; null where a search chose them.
    pub steps_asked: Option<u32>,
}

/// A step that did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextStep {
    /// Its tiles.
    pub tiles: u32,
    /// Its repeat, from 1.
    pub repeat: u32,
}

/// A count of tiles that passed, and failed after an overload: the storage had not recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hysteresis {
    /// The count that passed and failed.
    pub tiles: u32,
    /// The count of the overload.
    pub overload: u32,
}

/// How far a fitted model is off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelError {
    /// Interval of the most tiles that hold by the search alone; null where nothing was decided.
    pub searched: Option<TilesInterval>,
    /// Whether the answer's own interval has the error of the model in it.
    pub is_interval_widened: bool,
    /// Whether the model is so far off that its count of tiles is no answer.
    pub is_too_far: bool,
    /// How far, in words.
    pub text: String,
}

/// The interval of the most tiles that hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TilesInterval {
    /// Lower end.
    pub low: u32,
    /// Upper end; null if it is beyond what was or could be tried.
    pub high: Option<u32>,
    /// Where the edge most probably is by all steps together; it may lie between counts that ran.
    /// Absent where no curve was fitted: then `tiles_held`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_likely: Option<u32>,
    /// Share of such intervals that hold the true count.
    pub confidence: f64,
}
