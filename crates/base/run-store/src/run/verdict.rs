use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of a step, or of a limit in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All limits held.
    Passed,
    /// At least one limit broke.
    Failed,
    /// The measurement supports neither.
    Inconclusive,
    /// The step was stopped before its end.
    Interrupted,
}

impl Verdict {
    /// Name in `run.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Inconclusive => "inconclusive",
            Self::Interrupted => "interrupted",
        }
    }
}
