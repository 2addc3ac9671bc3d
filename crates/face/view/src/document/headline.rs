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
    /// `disturbed`, `hysteresis`, `event`, or the identifier of the warning.
    pub id: String,
    /// In a sentence.
    pub text: String,
}
