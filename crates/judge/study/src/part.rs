//! Part of a study: results of one shard, as a file (`docs/formats/study-part.md`).

use std::io;
use std::path::{Path, PathBuf};

use run_store::run::{Step, ToolFacts};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};

use super::point::PointError;
use super::shard::Shard;

/// Name and version of the format. Only the program version that wrote a file can read it.
pub const PART_SCHEMA: &str = "tilemark.study-part/1.0";

/// Results of one shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyPart {
    /// Name and version of this format: `tilemark.study-part/1.0`.
    pub schema: String,
    /// Facts that all parts of a result share.
    pub job: Job,
    /// Shard of the part, such as `3/16`.
    #[schemars(with = "String")]
    pub shard: Shard,
    /// Runs of the shard, in the order in which they are started.
    pub runs: Vec<PartRun>,
}

/// Facts that identify a result: its work and its program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Name of the study.
    pub study: String,
    /// SHA-256 of its definitions, as in its result.
    pub sha256: String,
    /// Version of the program.
    pub tool: ToolFacts,
    /// Name and version of the random generator.
    pub random_generator: String,
    /// Seed of random numbers.
    pub seed: u64,
    /// Number of repeats of every step.
    pub repeats: u32,
    /// Requested claims; all if empty.
    pub only: Vec<String>,
    /// True if every step was requested, even if no claim needs it.
    pub all: bool,
}

/// One run of a shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartRun {
    /// Name of the configuration.
    pub configuration: String,
    /// Number of tiles.
    pub tiles: u32,
    /// Number of the repeat, counted from 1.
    pub repeat: u32,
    /// Outcome of the run.
    pub outcome: PartOutcome,
}

/// Outcome of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartOutcome {
    /// Step, as in `run.json`.
    Step(Box<Step>),
    /// Reason for a missing step.
    NoStep(PointError),
}

impl From<Result<Step, PointError>> for PartOutcome {
    fn from(result: Result<Step, PointError>) -> Self {
        result.map_or_else(Self::NoStep, |step| Self::Step(Box::new(step)))
    }
}

impl From<PartOutcome> for Result<Step, PointError> {
    fn from(outcome: PartOutcome) -> Self {
        match outcome {
            PartOutcome::Step(step) => Ok(*step),
            PartOutcome::NoStep(error) => Err(error),
        }
    }
}

impl Job {
    /// Returns the first difference from another job: name, this job's value, the other job's
    /// value.
    pub(super) fn difference(&self, other: &Self) -> Option<(&'static str, String, String)> {
        let words = |job: &Self| {
            let commit = job.tool.commit.as_deref().unwrap_or("unknown");
            [
                ("the study", job.study.clone()),
                ("the hash of the definitions", job.sha256.clone()),
                ("the program", format!("tilemark {}, commit {commit}", job.tool.version)),
                ("the random generator", job.random_generator.clone()),
                ("the seed", job.seed.to_string()),
                ("the number of repeats", job.repeats.to_string()),
                ("--only", if job.only.is_empty() { "none".into() } else { job.only.join(",") }),
                ("--all", job.all.to_string()),
            ]
        };
        let mut pairs = words(self).into_iter().zip(words(other));
        let (ours, theirs) = pairs.find(|(ours, theirs)| ours != theirs)?;
        Some((ours.0, ours.1, theirs.1))
    }
}

/// Reason why a text is not a part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// The text is not JSON, or has a missing or invalid field.
    #[error("reading a part of a study: {0}")]
    Json(#[from] serde_json::Error),
    /// The text is another document, or has another version.
    #[error("the document has the schema \"{0}\", but a part has {PART_SCHEMA}")]
    OtherSchema(String),
}

impl StudyPart {
    /// Parses a part.
    ///
    /// # Errors
    ///
    /// If it is not a part, or has another version.
    pub fn parse(text: &str) -> Result<Self, PartError> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            schema: String,
        }
        let Head { schema } = serde_json::from_str(text)?;
        if schema != PART_SCHEMA {
            return Err(PartError::OtherSchema(schema));
        }
        Ok(serde_json::from_str(text)?)
    }

    /// Stores the part beside the results: `BASE/studies/NAME-part-3-of-16.json`. The file gets its
    /// final name only when it is complete. An older file with this name is replaced.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn store(&self, base: &Path) -> io::Result<PathBuf> {
        let directory = base.join(findings::store::DIRECTORY);
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = self.job.study.chars().map(safe).collect();
        let (number, of) = (self.shard.number(), self.shard.of());
        let path = directory.join(format!("{name}-part-{number}-of-{of}.json"));
        let partial = path.with_extension("json.partial");
        std::fs::create_dir_all(&directory)?;
        std::fs::write(&partial, serde_json::to_string(self)? + "\n")?;
        std::fs::rename(&partial, &path)?;
        Ok(path)
    }
}

/// Returns the JSON Schema of a part.
pub fn part_json_schema() -> serde_json::Value {
    schema_for!(StudyPart).to_value()
}
