//! A part of a study: what one shard of its runs came to, as a file (`docs/formats/study-part.md`).

use std::io;
use std::path::{Path, PathBuf};

use run_store::run::{Step, ToolFacts};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};

use super::point::PointError;
use super::shard::Shard;

/// Name and version of the format. It is read by the program that wrote it, and by no other.
pub const PART_SCHEMA: &str = "tilemark.study-part/1.0";

/// The runs of one shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyPart {
    /// Name and version of this format: `tilemark.study-part/1.0`.
    pub schema: String,
    /// What all parts of a result have in common.
    pub job: Job,
    /// Which part it is: `3/16`.
    #[schemars(with = "String")]
    pub shard: Shard,
    /// Its runs, in the order in which they are begun.
    pub runs: Vec<PartRun>,
}

/// What was run, and by what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// The study's name.
    pub study: String,
    /// SHA-256 of its definitions, as in its result.
    pub sha256: String,
    /// The program.
    pub tool: ToolFacts,
    /// Name and version of the random generator.
    pub random_generator: String,
    /// Where random numbers start.
    pub seed: u64,
    /// Runs of every step.
    pub repeats: u32,
    /// The claims that were asked for; all if empty.
    pub only: Vec<String>,
    /// Whether every step was asked for, needed or not.
    pub all: bool,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartRun {
    /// The configuration's name.
    pub configuration: String,
    /// Tiles.
    pub tiles: u32,
    /// Repeat, from 1.
    pub repeat: u32,
    /// What it came to.
    pub outcome: PartOutcome,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartOutcome {
    /// A step, as in `run.json`.
    Step(Box<Step>),
    /// Why there is none.
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
    /// The first thing that is not the same in another: what it is, this one's, the other's.
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

/// Why a text is no part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// It is not JSON, or a field is missing or of the wrong type.
    #[error("reading a part of a study: {0}")]
    Json(#[from] serde_json::Error),
    /// It is something else, or of another version.
    #[error("the document has the schema \"{0}\", and a part has {PART_SCHEMA}")]
    OtherSchema(String),
}

impl StudyPart {
    /// Reads a part.
    ///
    /// # Errors
    ///
    /// When it is none, or one of another version.
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

    /// Keeps it where results are kept: `BASE/studies/NAME-part-3-of-16.json`. The file has its
    /// name only when it is complete; an older one of the same name is replaced.
    ///
    /// # Errors
    ///
    /// Where it cannot be written.
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

/// The JSON Schema of a part.
pub fn part_json_schema() -> serde_json::Value {
    schema_for!(StudyPart).to_value()
}
