use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verdict;

/// Something that was expected of a run, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// As the plan has it: `tiles >= 8`.
    pub text: String,
    /// `passed`: it was met; `failed`: it was missed; `inconclusive`: the run does not say.
    pub verdict: Verdict,
    /// What was found, in a sentence.
    pub reason: String,
    /// Unit of the numbers: `tiles`, `tiles' worth` or `ns`.
    pub unit: String,
    /// What was found; null if nothing was.
    pub found: Option<f64>,
    /// Lower end of its interval; null if it has none.
    pub low: Option<f64>,
    /// Upper end of its interval; null if it has none, or is open.
    pub high: Option<f64>,
    /// Tiles of the step it was held against; null if it was the answer as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<u32>,
}

impl Expected {
    /// `met`, `missed` or `not decided`.
    pub const fn outcome(&self) -> &'static str {
        match self.verdict {
            Verdict::Passed => "met",
            Verdict::Failed => "missed",
            Verdict::Inconclusive | Verdict::Interrupted => "not decided",
        }
    }
}
