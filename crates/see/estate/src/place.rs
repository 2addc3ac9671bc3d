//! Where in which file something stands, and rows that could not be used.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A row, or an entry, of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Number of the file, in the order in which files were given.
    pub file: usize,
    /// The file as it was named.
    pub path: String,
    /// The sheet, or the part of the document; empty where there is one only.
    pub part: String,
    /// Row of a table or entry of a list, from 1; the heading of a table is row 1.
    pub row: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.path)?;
        if !self.part.is_empty() {
            write!(out, ", {}", self.part)?;
        }
        write!(out, ", row {}", self.row)
    }
}

/// Rows that could not be used: how many, and the first of them with what is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BadRows {
    /// All of them.
    pub count: u64,
    /// The first, each with its place: `lab.xlsx, vInfo, row 12: ...`.
    pub first: Vec<String>,
}

impl BadRows {
    /// So many are told one by one.
    pub const TOLD_MAX: usize = 20;

    /// One more.
    pub fn add(&mut self, at: &Place, what: impl fmt::Display) {
        self.count += 1;
        if self.first.len() < Self::TOLD_MAX {
            self.first.push(format!("{at}: {what}"));
        }
    }
}

/// What reading files brings up beside virtual machines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    pub bad: BadRows,
    /// Sentences that somebody who trusts the estate has to know.
    pub notes: Vec<String>,
}

impl Findings {
    /// Adds a sentence once.
    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }
}
