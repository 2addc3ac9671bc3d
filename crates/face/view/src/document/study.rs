use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answer of `GET /api/v1/studies`: published claims, compared with the models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyList {
    /// Results of this host first, newest first; then all shipped studies, by name.
    pub studies: Vec<StudyRow>,
}

/// A row in the list of studies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyRow {
    /// Name of the study, as in paths; for a result of this host the result's identifier.
    pub name: String,
    /// True for a result of this host, false for a shipped page.
    #[serde(default)]
    pub is_own: bool,
    /// Time at which a result of this host was made, RFC 3339, UTC; none for a shipped page.
    #[serde(default)]
    pub made: Option<String>,
    /// Title of the study.
    pub title: String,
    /// Number of met claims, by kind, in one sentence.
    pub sentence: String,
    /// Number of claims.
    pub claims: u32,
}

/// Answer of `GET /api/v1/studies/{name}`: a study's claims, with the published values and ours.
/// All cells are texts with units, as `tilemark study run` prints them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyPage {
    /// Row in the list of studies.
    pub row: StudyRow,
    /// Program, seed and definitions that made the result, and the command.
    pub made_by: String,
    /// Paragraphs on the reproduced work, our differences from it, and fitted values.
    pub notes: Vec<String>,
    /// Guide to reading the claims.
    pub claims_note: String,
    /// Number of met claims of each kind: predicted claims, which decide, first, then in order of
    /// appearance.
    pub tallies: Vec<StudyTally>,
    /// Every claim, in the study's order.
    pub claims: Vec<StudyClaim>,
    /// More findings: tables of figures, sources.
    pub sections: Vec<StudySection>,
}

/// Claims of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyTally {
    /// Kind: `predicted`, `calibrated`, `input` or `arithmetic`.
    pub kind: String,
    /// Number of claims.
    pub claims: u32,
    /// Number of claims with an outcome.
    pub measured: u32,
    /// Number of claims that are met.
    pub met: u32,
}

/// A claim of the study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyClaim {
    /// Identifier of the claim: `A5-one`.
    pub id: String,
    /// Kind: `predicted`, `calibrated`, `input` or `arithmetic`; only predicted claims count.
    pub kind: String,
    /// Published value, as text.
    pub published: String,
    /// Our value, with its interval.
    pub ours: String,
    /// Allowed difference between published value and our value.
    pub tolerance: String,
    /// Outcome: `met`, `not-met` or `not-measured`.
    pub outcome: String,
    /// Outcome in words: `yes, by the mean`.
    pub outcome_text: String,
    /// True if only the mean meets the claim: the interval reaches beyond the tolerance.
    #[serde(default)]
    pub is_by_mean: bool,
    /// Reason why the claim is not met or not measured, if the study has one; none if it is met.
    #[serde(default)]
    pub why: Option<String>,
    /// Statement of the source that is the claim.
    pub text: String,
}

/// A section below the claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudySection {
    /// Heading of the section.
    pub title: String,
    /// Paragraphs of the section.
    pub paragraphs: Vec<String>,
    /// Headings of the table's columns; empty without a table.
    pub columns: Vec<String>,
    /// Rows of the table, one cell for each column.
    pub rows: Vec<Vec<String>>,
}
