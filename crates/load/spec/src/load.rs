use std::path::Path;

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use crate::array::Array;
use crate::check::{self, Finding};
use crate::error::{Invalid, Problem, SpecError};
use crate::explain::explain;
use crate::plan::Plan;
use crate::study::Study;
use crate::tile::Tile;
use crate::workload::Workload;

/// Parses a workload from TOML text. `name` is the file's name in messages.
pub fn load_workload(name: &str, text: &str) -> Result<Workload, SpecError> {
    load(name, text, check::workload_findings)
}

/// Parses a tile from TOML text. `name` is the file's name in messages.
///
/// Names of shipped workloads are checked here; paths are checked when the tile is resolved.
pub fn load_tile(name: &str, text: &str) -> Result<Tile, SpecError> {
    load(name, text, check::tile_findings)
}

/// Parses a plan from TOML text. `name` is the file's name in messages.
pub fn load_plan(name: &str, text: &str) -> Result<Plan, SpecError> {
    load(name, text, check::plan_findings)
}

/// Parses an array from TOML text. `name` is the file's name in messages.
pub fn load_array(name: &str, text: &str) -> Result<Array, SpecError> {
    load(name, text, check::array_findings)
}

/// Parses a study from TOML text. `name` is the file's name in messages.
///
/// Names of shipped definitions, and names of workloads and actions in formulas, are checked when
/// the study is resolved.
pub fn load_study(name: &str, text: &str) -> Result<Study, SpecError> {
    load(name, text, check::study_findings)
}

/// Parses a file of another crate from TOML text, with the same limits and messages as definitions.
/// The caller checks the semantics.
pub fn load_form<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, SpecError> {
    load(name, text, |_| Vec::new())
}

/// Reads a workload from a file.
pub fn read_workload(path: &Path) -> Result<Workload, SpecError> {
    load_workload(&path.display().to_string(), &read(path, "workload")?)
}

/// Reads a tile from a file.
pub fn read_tile(path: &Path) -> Result<Tile, SpecError> {
    load_tile(&path.display().to_string(), &read(path, "tile")?)
}

/// Reads a plan from a file.
pub fn read_plan(path: &Path) -> Result<Plan, SpecError> {
    load_plan(&path.display().to_string(), &read(path, "plan")?)
}

/// Reads an array from a file.
pub fn read_array(path: &Path) -> Result<Array, SpecError> {
    load_array(&path.display().to_string(), &read(path, "array")?)
}

pub(crate) fn read(path: &Path, what: &'static str) -> Result<String, SpecError> {
    untrusted::read_named_text(path).map_err(|source| SpecError::Read {
        what,
        path: path.to_owned(),
        source,
    })
}

/// Maximum size of a definition's text, in bytes: a hundred times the largest shipped one.
const TEXT_MAX: usize = 4 << 20;
/// Maximum number of entries of one list. Checks search lists for names, so their time grows with
/// the square. The value is fio's limit of jobs (`REAL_MAX_JOBS` of fio 3.33).
const ENTRIES_MAX: usize = 4096;
/// Maximum number of problems that are shown, each with the text around it.
const PROBLEMS_MAX: usize = 64;

fn load<T: DeserializeOwned>(
    name: &str,
    text: &str,
    check: fn(&T) -> Vec<Finding>,
) -> Result<T, SpecError> {
    let invalid = |problems| SpecError::Invalid(Box::new(Invalid::new(name, text, problems)));
    let too_large = |message| Problem { message, span: None, help: None, path: String::new() };
    if text.len() > TEXT_MAX {
        let message = format!("it has {} bytes, but the maximum is {TEXT_MAX}", text.len());
        return Err(SpecError::Invalid(Box::new(Invalid::new(name, "", vec![too_large(message)]))));
    }
    match DeTable::parse(text) {
        Err(error) => return Err(invalid(vec![explain(&error, text)])),
        Ok(table) => {
            let longest = table.get_ref().values().map(|value| longest(value.get_ref())).max();
            if let Some(entries) = longest.filter(|entries| *entries > ENTRIES_MAX) {
                let message =
                    format!("a list has {entries} entries, but the maximum is {ENTRIES_MAX}");
                return Err(invalid(vec![too_large(message)]));
            }
        }
    }
    let value: T = toml::from_str(text).map_err(|error| invalid(vec![explain(&error, text)]))?;
    refuse(name, text, check(&value))?;
    Ok(value)
}

/// Returns the length of the longest list in a value.
fn longest(value: &DeValue<'_>) -> usize {
    match value {
        DeValue::Array(list) => {
            let inside = list.iter().map(|value| longest(value.get_ref())).max();
            inside.unwrap_or(0).max(list.len())
        }
        DeValue::Table(table) => {
            table.values().map(|value| longest(value.get_ref())).max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// Converts findings to an error, each with its place in the text. Succeeds if there are none.
pub(crate) fn refuse(name: &str, text: &str, findings: Vec<Finding>) -> Result<(), SpecError> {
    if findings.is_empty() {
        return Ok(());
    }
    let document = DeTable::parse(text).ok();
    let span = |finding: &Finding| finding.span(document.as_ref()?, text);
    let others = findings.len().saturating_sub(PROBLEMS_MAX);
    let problems = findings
        .into_iter()
        .take(PROBLEMS_MAX)
        .map(|finding| Problem { span: span(&finding), ..finding.into_problem() });
    let mut problems: Vec<Problem> = problems.collect();
    if others > 0 {
        let message = format!("{others} more mistakes like these");
        problems.push(Problem { message, span: None, help: None, path: String::new() });
    }
    Err(SpecError::Invalid(Box::new(Invalid::new(name, text, problems))))
}
