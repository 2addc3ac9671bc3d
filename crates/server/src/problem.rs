//! Why there is no answer, as a document (RFC 9457).

use schemars::JsonSchema;
use serde::Serialize;

/// Media type of [`Problem`].
#[expect(dead_code, reason = "the first answer uses it")]
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// What kind, a reference into `docs/serve.md`: `/problems/unknown-run`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words, the same for all of the kind.
    pub title: String,
    /// What was wrong this time, and what would be right.
    pub detail: String,
    /// Status of the response, RFC 9110.
    pub status: u16,
}
