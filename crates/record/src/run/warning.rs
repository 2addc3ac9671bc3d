use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something a reader should know before trusting the numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable identifier: `generator-late`.
    pub id: String,
    /// What it means, in a sentence.
    pub text: String,
    /// The measured value with its unit, if there is one.
    pub value: Option<String>,
    /// The limit it is held against, with its unit, if there is one.
    pub limit: Option<String>,
    /// What to try next, if anything helps.
    pub hint: Option<String>,
}
