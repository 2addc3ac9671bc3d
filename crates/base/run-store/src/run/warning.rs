use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Warnings that the program acts on. All others are only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Everything that was written was read back and is correct.
    Verified,
    /// Disks are smaller than the tile says.
    ScaledFootprint,
}

impl Known {
    /// Identifier of the warning.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::ScaledFootprint => "scaled-footprint",
        }
    }
}

impl Warning {
    /// True if this is the given warning.
    pub fn is(&self, known: Known) -> bool {
        self.id == known.id()
    }
}

/// Warning about the trustworthiness of the numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable identifier: `not-steady`.
    pub id: String,
    /// Meaning of the warning, in a sentence.
    pub text: String,
    /// Measured value with its unit, if there is one.
    pub value: Option<String>,
    /// Limit that the value is compared with, with its unit, if there is one.
    pub limit: Option<String>,
    /// Advice on what to try next, if there is any.
    pub hint: Option<String>,
}
