use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Warnings to which the program reacts. All other warnings are only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// All written blocks were read back, and are correct.
    Verified,
    /// Disks are smaller than in the definition of the tile.
    ScaledFootprint,
}

impl Known {
    /// Returns the identifier of the warning.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::ScaledFootprint => "scaled-footprint",
        }
    }
}

impl Warning {
    /// Returns true if this warning has the identifier of `known`.
    pub fn is(&self, known: Known) -> bool {
        self.id == known.id()
    }
}

/// Warning that concerns how far the numbers can be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// Stable identifier: `not-steady`.
    pub id: String,
    /// Explanation in a sentence.
    pub text: String,
    /// Measured value with its unit; absent if there is none.
    pub value: Option<String>,
    /// Limit with its unit, to which the value is compared; absent if there is none.
    pub limit: Option<String>,
    /// Advice on what to try next; absent if there is none.
    pub hint: Option<String>,
}
