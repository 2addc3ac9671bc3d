use run_store::run::Run;
use serde_json::Value;

use crate::within::Within;

/// A run and the machine it ran on.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its `run.json`.
    pub run: &'a Run,
    /// Its `env.json`, if there is one.
    pub environment: Option<&'a Value>,
    /// How sure its figures are, from its series; without them only repeats say it.
    pub within: Option<&'a Within>,
}
