use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Warnings on which something is decided; all others are only told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// All that was written was read back and is right.
    Verified,
    /// Disks are smaller than the tile says.
    ScaledFootprint,
}

impl Known {
    /// Its identifier.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::ScaledFootprint => "scaled-footprint",
        }
    }
}

impl Warning {
    /// Whether it is this one.
    pub fn is(&self, known: Known) -> bool {
        self.id == known.id()
    }
}

/// Something a reader should know before trusting the numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable identifier: `not-steady`.
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
