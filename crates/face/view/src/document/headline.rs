use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of a run in parts, each said once: what is printed first and large.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Headline {
    /// `passed`, `failed`, `inconclusive` or `interrupted`.
    pub verdict: String,
    /// What to plan with, the tighter of speed and room first: `Plan with 24 VMs: 3 tiles at full size
    /// have room (64 GiB a tile, 200 GiB may be used), although ...`; none where nothing is known.
    pub plan: Option<String>,
    /// What was scaled down to get it: `quick estimate, disks 1/512`; none at full size.
    pub estimate: Option<String>,
    /// By speed: `26 to 29 tiles`, `at least 8 tiles`, `no tile`, `not known`.
    pub speed: String,
    /// What belongs to it: `27 most likely, 95 % interval; score 22.40`.
    pub speed_note: String,
    /// The same in the virtual machines that somebody has; none without an estate.
    pub estate: Option<String>,
    /// What infrastructure operations cost the tiles: `Operations 62 % of the time; the tiles' actions
    /// then took 1.23 times as long (1.10 to 1.40) as without.`; none where none ran.
    pub operations: Option<String>,
    /// What breaks, or what ended the search, as a sentence.
    pub breaks: String,
    /// Where it is proven: a page's path and query below the run, `map?step=5`.
    pub link: Option<String>,
    /// Why it breaks, as a sentence.
    pub why: Option<String>,
    /// What weakens the answer, the heaviest first.
    pub doubts: Vec<Doubt>,
}

/// A reason to trust an answer less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// `disturbed`, `out-of-time`, `hysteresis`, `event`, `resized`, or the identifier of the warning.
    pub id: String,
    /// In a sentence.
    pub text: String,
}

/// Warnings of one code with one advice, as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoldedWarning {
    /// Stable identifier: `not-steady`.
    pub id: String,
    /// Where and how often it was given: `at 1, 2, 4 tiles, 24 times`; empty for what was said once of
    /// the run.
    pub place: String,
    /// What it means, and of what else: `the shop's limit on order was not tested; likewise mail's
    /// limit on send`.
    pub text: String,
    /// Measured values, each once; empty if there are none.
    pub found: String,
    /// Limits that they are held against, each once; empty if there are none.
    pub allowed: String,
    /// What to try next, if anything helps.
    pub hint: Option<String>,
}

impl FoldedWarning {
    /// The sentence, with where it was given before it.
    pub fn placed_text(&self) -> String {
        match self.place.is_empty() {
            true => self.text.clone(),
            false => format!("{}: {}", self.place, self.text),
        }
    }
}

/// A fact of how a run was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// `Seed`.
    pub name: String,
    /// `42 (xoshiro256++/1)`.
    pub value: String,
}
