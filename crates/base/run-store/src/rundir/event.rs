use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

use super::RunDirError;

/// Event of a run: one line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Time of the event, in nanoseconds since the start of the run, by a monotonic clock.
    pub at_ns: u64,
    /// Kind of the event.
    pub kind: EventKind,
    /// Further fields, which depend on the kind.
    #[serde(flatten)]
    pub fields: serde_json::Map<String, serde_json::Value>,
}

/// Kind of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// Start of the run.
    RunStart,
    /// End of the run.
    RunEnd,
    /// Filling of the disks.
    Prefill,
    /// Creation of larger disks in place of the first ones.
    LargerDisks,
    /// Start of a step.
    StepStart,
    /// Verdict of a step.
    StepEnd,
    /// Result of verification: all written blocks were read back, and are correct.
    Verified,
    /// Result of verification: some blocks are wrong.
    WrongBlocks,
    /// Error that ended the run.
    Error,
    /// Other kind, from a later version.
    #[serde(untagged)]
    Other(String),
}

impl EventKind {
    /// Returns the name of the kind in `events.jsonl`.
    pub fn name(&self) -> &str {
        match self {
            Self::RunStart => "run-start",
            Self::RunEnd => "run-end",
            Self::Prefill => "prefill",
            Self::LargerDisks => "larger-disks",
            Self::StepStart => "step-start",
            Self::StepEnd => "step-end",
            Self::Verified => "verified",
            Self::WrongBlocks => "wrong-blocks",
            Self::Error => "error",
            Self::Other(name) => name,
        }
    }
}

/// `events.jsonl`, open for appending. Every event is one write, so a run that is killed keeps all
/// earlier events.
#[derive(Debug)]
pub struct EventLog {
    path: PathBuf,
    file: File,
    broken: Arc<AtomicBool>,
}

impl EventLog {
    pub(super) fn open(path: &Path, broken: Arc<AtomicBool>) -> Result<Self, RunDirError> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map_err(RunDirError::io("opening", path))?;
        Ok(Self { path: path.to_owned(), file, broken })
    }

    /// Appends an event. `fields` must serialise to a JSON object, or to null for none. Fields
    /// named `at_ns` or `kind` are overwritten.
    pub fn append(
        &mut self,
        at: Nanos,
        kind: EventKind,
        fields: &impl Serialize,
    ) -> Result<(), RunDirError> {
        let line = line(at, kind, fields).map_err(std::io::Error::from);
        line.and_then(|line| self.file.write_all(line.as_bytes())).map_err(|error| {
            self.broken.store(true, Ordering::Relaxed);
            RunDirError::io("writing", &self.path)(error)
        })
    }
}

fn line(at: Nanos, kind: EventKind, fields: &impl Serialize) -> serde_json::Result<String> {
    let mut fields = match serde_json::to_value(fields)? {
        serde_json::Value::Object(fields) => fields,
        serde_json::Value::Null => serde_json::Map::new(),
        other => serde_json::Map::from_iter([("value".to_owned(), other)]),
    };
    fields.remove("at_ns");
    fields.remove("kind");
    let event = Event { at_ns: at.0, kind, fields };
    Ok(serde_json::to_string(&event)? + "\n")
}

/// Maximum number of bytes that are read. It suffices for more than a week with one event per
/// second.
const EVENTS_MAX: u64 = 256 << 20;

/// Reads all events. An unfinished last line, which a killed writer can leave, is skipped. Any
/// other unreadable line is an error.
pub(super) fn read(path: &Path) -> Result<Vec<Event>, RunDirError> {
    let bytes = untrusted::read(path, EVENTS_MAX).map_err(RunDirError::io("reading", path))?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut events = Vec::new();
    for (number, line) in bytes[..end].split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let event = serde_json::from_slice(line).map_err(|error| RunDirError::Content {
            path: path.to_owned(),
            reason: format!("line {}: {error}", number + 1),
        })?;
        events.push(event);
    }
    Ok(events)
}
