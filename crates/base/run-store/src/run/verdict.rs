use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a step, or a limit in it, came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every limit held.
    Passed,
    /// A limit broke.
    Failed,
    /// The measurement does not support either.
    Inconclusive,
    /// It was stopped before it was finished.
    Interrupted,
}

impl Verdict {
    /// The word in `run.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Inconclusive => "inconclusive",
            Self::Interrupted => "interrupted",
        }
    }
}
