use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verdict;

/// Expectation of a run, with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expected {
    /// Expectation as in the plan: `tiles >= 8`.
    pub text: String,
    /// Result: `passed` if met, `failed` if missed, `inconclusive` if the run does not decide it.
    pub verdict: Verdict,
    /// Result in a sentence.
    pub reason: String,
    /// Unit of the numbers: `tiles`, `tiles' worth` or `ns`.
    pub unit: String,
    /// Measured value; null without one.
    pub found: Option<f64>,
    /// Lower end of the confidence interval; null without one.
    pub low: Option<f64>,
    /// Upper end of the confidence interval; null without one, or if it is open.
    pub high: Option<f64>,
    /// Number of tiles of the step that was compared; null if the answer as a whole was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<u32>,
}

impl Expected {
    /// Returns the result in words: `met`, `missed` or `not decided`.
    pub const fn outcome(&self) -> &'static str {
        match self.verdict {
            Verdict::Passed => "met",
            Verdict::Failed => "missed",
            Verdict::Inconclusive | Verdict::Interrupted => "not decided",
        }
    }
}
