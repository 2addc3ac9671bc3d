use run_store::run::Run;
use serde_json::Value;

use crate::within::Within;

/// Run with the environment in which it ran.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Content of its `run.json`.
    pub run: &'a Run,
    /// Content of its `env.json`, if there is one.
    pub environment: Option<&'a Value>,
    /// Precision of its figures, from its series. Without it, only repeats give a precision.
    pub within: Option<&'a Within>,
}
