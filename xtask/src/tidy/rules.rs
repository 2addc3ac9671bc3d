//! Configuration, and the rules for single lines.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Findings, Tree};

/// Content of `xtask/tidy.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Folders of `crates/`, lowest first: a crate depends on its own folder and on those before.
    pub folders: Vec<String>,
    /// Folder of crates that only tests use.
    pub testing: String,
    /// Crates that a crate must not depend on although the order of folders allows it.
    #[serde(default)]
    pub never: BTreeMap<String, Vec<String>>,
    /// Circles of modules that each crate still has. The numbers may only fall.
    #[serde(default)]
    pub circles: BTreeMap<String, usize>,
    /// Files and functions that are longer than allowed.
    #[serde(default, rename = "exception")]
    pub exceptions: Vec<Exception>,
}

/// A file, or a function in it, that may be longer for now.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// Path from the repository's root.
    pub file: String,
    /// Name of the function; the file itself if absent.
    pub function: Option<String>,
    /// Present length. It may only fall.
    pub lines: usize,
    /// Reason for the exception.
    pub reason: String,
}

const SOURCES: [&str; 6] = [".rs", ".toml", ".ts", ".svelte", ".js", ".sh"];

/// In two parts, so that this file does not break its own rules.
const TO_DO: &str = concat!("TO", "DO");
const MACHINE_PATH: &str = concat!("/wo", "rk/");

pub fn check(tree: &Tree, findings: &mut Findings) {
    for (path, content) in tree {
        if is_crate_root(path) && !content.starts_with("//!") {
            findings.errors.push(format!(
                "{path}:1: a crate opens with //! and says what it does, what it refuses to \
                 do and its invariants"
            ));
        }
        let mut is_in_block = false;
        let is_source = SOURCES.iter().any(|end| path.ends_with(end));
        for (number, line) in content.lines().enumerate() {
            let place = format!("{path}:{}", number + 1);
            if is_source && has_bare_to_do(line) {
                findings
                    .errors
                    .push(format!("{place}: {TO_DO} without an issue, write {TO_DO}(#12)"));
            }
            if let Some(block) = doc_fence(line).filter(|_| path.ends_with(".rs")) {
                if !is_in_block && block != "text" {
                    findings.errors.push(format!(
                        "{place}: documentation tests do not run (scripts/test), so a block of \
                         code is ```text and what it shows is a test"
                    ));
                }
                is_in_block = !is_in_block;
            }
            if line.contains(MACHINE_PATH) {
                findings.errors.push(format!("{place}: a path of one machine ({MACHINE_PATH})"));
            }
        }
    }
}

fn is_crate_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(
        parts[..],
        ["crates", _, _, "src", "lib.rs" | "main.rs"] | ["xtask" | "benchmarks", "src", "main.rs"]
    )
}

/// Text after the fence of a block in a doc comment.
fn doc_fence(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    text.trim_start().strip_prefix("```").map(str::trim)
}

fn has_bare_to_do(line: &str) -> bool {
    line.match_indices(TO_DO).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = &line[at + TO_DO.len()..];
        let is_word = !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
            && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let issue = after.strip_prefix("(#").and_then(|rest| rest.split_once(')'));
        let has_issue = issue.is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        is_word && !has_issue
    })
}
