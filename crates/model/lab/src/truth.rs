//! Truth: every fault is written when it occurs, as one JSON object on a line.
//!
//! | key | meaning |
//! |---|---|
//! | `t_ns` | nanoseconds since the mount |
//! | `event` | `injected`: a fault was injected; `returned`: a read was answered with wrong bytes |
//! | `fault`, `rule` | kind of the fault, and the rule's number in the file, from 1 |
//! | `op`, `path`, `offset`, `length` | the request: operation, file below the mount point, bytes |
//! | `detail` | for `injected`: details (error number, bytes kept, other place, number of the bit) |
//! | `bad_offset`, `bad_length` | for `returned`: the run of bytes that differ from those written last |

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::schedule::{Kind, Op};

/// Line of the truth file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Nanoseconds since the mount.
    pub t_ns: u64,
    /// Event of the line.
    pub event: Event,
    /// Kind of fault.
    pub fault: Kind,
    /// Number of the rule in the file, from 1.
    pub rule: usize,
    /// Requested operation.
    pub op: Op,
    /// Path below the mount point.
    pub path: String,
    /// First byte of the request.
    pub offset: u64,
    /// Bytes of the request.
    pub length: u64,
    /// Details of the fault, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// First wrong byte in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_offset: Option<u64>,
    /// Number of wrong bytes, in whole sectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_length: Option<u64>,
}

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A fault was injected.
    Injected,
    /// A read was answered with wrong bytes.
    Returned,
}

/// Writes the truth file.
#[derive(Debug, Default)]
pub struct Truth {
    file: Option<Mutex<File>>,
}

impl Truth {
    /// Creates a new file; without a path nothing is written.
    pub(crate) fn new(path: Option<&Path>) -> Result<Self, LabError> {
        let Some(path) = path else { return Ok(Self::default()) };
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let error = |source| LabError::Truth { path: path.to_owned(), source };
        Ok(Self { file: Some(Mutex::new(file.map_err(error)?)) })
    }

    /// Writes a line. Errors are ignored, because a full disk under the truth file must not change
    /// the lab.
    pub(crate) fn write(&self, line: &Line) {
        let Some(file) = &self.file else { return };
        let Ok(mut text) = serde_json::to_vec(line) else { return };
        text.push(b'\n');
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = file.write_all(&text);
    }
}

/// Reads a truth file; an incomplete last line is left out.
///
/// # Errors
///
/// If the file cannot be read.
pub fn read(path: &Path) -> std::io::Result<Vec<Line>> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}
