use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `GET /api/v1/studies`: published claims that were held against the models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyList {
    /// Own results first, the newest first; then all shipped studies, by name.
    pub studies: Vec<StudyRow>,
}

/// One line of the list of studies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyRow {
    /// Its name, as in paths; of an own result its id.
    pub name: String,
    /// Whether it is a result of this machine's own, not a shipped page.
    #[serde(default)]
    pub is_own: bool,
    /// When an own result was made, RFC 3339, UTC; none of a shipped page.
    #[serde(default)]
    pub made: Option<String>,
    /// What it is about.
    pub title: String,
    /// How many claims came out, by kind, in one sentence.
    pub sentence: String,
    /// Number of claims.
    pub claims: u32,
}

/// `GET /api/v1/studies/{name}`: a study's claims, published and ours side by side. All cells are
/// texts with their units, as `tilemark study run` prints them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyPage {
    /// Its line in the list.
    pub row: StudyRow,
    /// The program, seed and definitions that made the result, and the command.
    pub made_by: String,
    /// What is reproduced, where ours differs, what was fitted: paragraphs.
    pub notes: Vec<String>,
    /// How to read the claims.
    pub claims_note: String,
    /// How many claims of each kind are met: what counts first, then the kinds as they come.
    pub tallies: Vec<StudyTally>,
    /// Every claim, in the study's order.
    pub claims: Vec<StudyClaim>,
    /// What else was found: tables of figures, sources.
    pub sections: Vec<StudySection>,
}

/// Claims of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyTally {
    /// `predicted`, `calibrated`, `input` or `arithmetic`.
    pub kind: String,
    /// Number of them.
    pub claims: u32,
    /// Of these, those with an outcome.
    pub measured: u32,
    /// Of these, those that are met.
    pub met: u32,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyClaim {
    /// Its name: `A5-one`.
    pub id: String,
    /// `predicted`, `calibrated`, `input` or `arithmetic`: only what is predicted counts.
    pub kind: String,
    /// What was published.
    pub published: String,
    /// What ours came to, with its interval.
    pub ours: String,
    /// How far it may be off.
    pub tolerance: String,
    /// `met`, `not-met` or `not-measured`.
    pub outcome: String,
    /// The outcome in words: `yes, by the mean`.
    pub outcome_text: String,
    /// Whether it is met by the mean alone: the interval reaches beyond the tolerance.
    #[serde(default)]
    pub is_by_mean: bool,
    /// Why it is not met or not measured, as far as the study says it; none if it is met.
    #[serde(default)]
    pub why: Option<String>,
    /// What is said.
    pub text: String,
}

/// A section below the claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudySection {
    /// Its heading.
    pub title: String,
    /// Its paragraphs.
    pub paragraphs: Vec<String>,
    /// Headings of the table's columns; empty without a table.
    pub columns: Vec<String>,
    /// Rows of the table, one cell for each column.
    pub rows: Vec<Vec<String>>,
}
