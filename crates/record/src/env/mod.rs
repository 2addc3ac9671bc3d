//! `env.json`: the machine a run was made on.

use serde::{Deserialize, Serialize};

/// The machine a run was made on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {}
