//! Location of a row in a file, and unusable rows.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Location of a table row, or of an entry in a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowLocation {
    /// Index of the file, in the order of the files.
    pub file: usize,
    /// File as given.
    pub path: String,
    /// Sheet, or part of the document; empty if there is only one.
    pub part: String,
    /// Row of a table or entry of a list, from 1; a table's heading is row 1.
    pub row: u64,
}

impl fmt::Display for RowLocation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.path)?;
        if !self.part.is_empty() {
            write!(out, ", {}", self.part)?;
        }
        write!(out, ", row {}", self.row)
    }
}

/// Unusable rows: their number, and the first ones with their errors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BadRows {
    /// Number of unusable rows.
    pub count: u64,
    /// First unusable rows, each with its location: `lab.xlsx, vInfo, row 12: ...`.
    pub first: Vec<String>,
}

impl BadRows {
    /// Maximum number of rows listed.
    pub const TOLD_MAX: usize = 20;

    /// Adds an unusable row.
    pub fn add(&mut self, at: &RowLocation, what: impl fmt::Display) {
        self.count += 1;
        if self.first.len() < Self::TOLD_MAX {
            self.first.push(format!("{at}: {what}"));
        }
    }
}

/// Findings from reading files, in addition to virtual machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    pub bad: BadRows,
    /// Sentences that a reader of the estate must know.
    pub notes: Vec<String>,
}

impl Findings {
    /// Adds a sentence, unless it is already there.
    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }
}
