use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Verdict on a step, or on one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All limits were met.
    Passed,
    /// At least one limit was exceeded.
    Failed,
    /// The measurement supports neither verdict.
    Inconclusive,
    /// The step was stopped before its end.
    Interrupted,
}

impl Verdict {
    /// Returns the name used in `run.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Inconclusive => "inconclusive",
            Self::Interrupted => "interrupted",
        }
    }
}
