use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answer of a run in parts, without repetition. It is printed first and large.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Headline {
    /// Verdict: `passed`, `failed`, `inconclusive` or `interrupted`.
    pub verdict: String,
    /// Sentence with the number of VMs to plan with, the tighter of speed and room first: `Plan
    /// with 24 VMs: 3 tiles at full size have room (64 GiB a tile, 200 GiB may be used). At least
    /// ...`; none where nothing is known.
    pub plan: Option<String>,
    /// Scaling of the measurement: `quick estimate, disks 1/512`; none at full size.
    pub estimate: Option<String>,
    /// Number of tiles by speed: `26 to 29 tiles`, `at least 8 tiles`, `no tile`, `not known`.
    pub speed: String,
    /// Note on the number of tiles: `27 most likely, 95 % interval; score 22.40`.
    pub speed_note: String,
    /// Answer in existing virtual machines; none without an estate.
    pub estate: Option<String>,
    /// Effect of infrastructure operations on the tiles: `Operations 62 % of the time; the tiles'
    /// actions then took 1.23 times as long (1.10 to 1.40) as without.`; none without operations.
    pub operations: Option<String>,
    /// Sentence about the limit that breaks, or about another reason why the search ended.
    pub breaks: String,
    /// Link to the proof: a page's path and query below the run, `map?step=5`.
    pub link: Option<String>,
    /// Cause of the break, as a sentence.
    pub why: Option<String>,
    /// Doubts about the answer, most important first.
    pub doubts: Vec<Doubt>,
}

/// A reason to trust an answer less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// Identifier: `disturbed`, `out-of-time`, `hysteresis`, `event`, `resized`, or the identifier
    /// of the warning.
    pub id: String,
    /// Doubt in a sentence.
    pub text: String,
}

/// Warnings with the same code and advice, combined into one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoldedWarning {
    /// Stable identifier: `not-steady`.
    pub id: String,
    /// Place and number of the warnings: `at 1, 2, 4 tiles, 24 times`; empty for a single warning
    /// of the run.
    pub place: String,
    /// Meaning of the warnings, and what they are about: `the shop's limit on order was not tested;
    /// likewise mail's limit on send`.
    pub text: String,
    /// Measured values, each distinct value once; empty without values.
    pub found: String,
    /// Limits that the values are compared with, each distinct limit once; empty without limits.
    pub allowed: String,
    /// Advice on what to try next, if there is any.
    pub hint: Option<String>,
}

impl FoldedWarning {
    /// Returns the text of the warning, after the place.
    pub fn placed_text(&self) -> String {
        match self.place.is_empty() {
            true => self.text.clone(),
            false => format!("{}: {}", self.place, self.text),
        }
    }
}

/// A fact about the measurement of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// Name of the fact: `Seed`.
    pub name: String,
    /// Value of the fact: `42 (xoshiro256++/1)`.
    pub value: String,
}
