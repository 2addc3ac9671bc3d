use std::path::Path;

use serde::de::DeserializeOwned;
use toml::de::DeTable;

use crate::array::Array;
use crate::check::{self, Finding};
use crate::error::{Invalid, Problem, SpecError};
use crate::explain::explain;
use crate::plan::Plan;
use crate::study::Study;
use crate::tile::Tile;
use crate::workload::Workload;

/// Reads a workload from TOML text; `name` is the file's name in messages.
pub fn load_workload(name: &str, text: &str) -> Result<Workload, SpecError> {
    load(name, text, check::workload_findings)
}

/// Reads a tile from TOML text; `name` is the file's name in messages.
///
/// Shipped workload names are checked; paths are, when the tile is resolved.
pub fn load_tile(name: &str, text: &str) -> Result<Tile, SpecError> {
    load(name, text, check::tile_findings)
}

/// Reads a plan from TOML text; `name` is the file's name in messages.
pub fn load_plan(name: &str, text: &str) -> Result<Plan, SpecError> {
    load(name, text, check::plan_findings)
}

/// Reads an array from TOML text; `name` is the file's name in messages.
pub fn load_array(name: &str, text: &str) -> Result<Array, SpecError> {
    load(name, text, check::array_findings)
}

/// Reads a study from TOML text; `name` is the file's name in messages.
///
/// Names of shipped things are checked when the study is resolved, and so are names of
/// workloads and actions in formulas.
pub fn load_study(name: &str, text: &str) -> Result<Study, SpecError> {
    load(name, text, check::study_findings)
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
    plain::read_named_text(path).map_err(|source| SpecError::Read {
        what,
        path: path.to_owned(),
        source,
    })
}

fn load<T: DeserializeOwned>(
    name: &str,
    text: &str,
    check: fn(&T) -> Vec<Finding>,
) -> Result<T, SpecError> {
    let invalid = |problems| SpecError::Invalid(Box::new(Invalid::new(name, text, problems)));
    if let Err(error) = DeTable::parse(text) {
        return Err(invalid(vec![explain(&error, text)]));
    }
    let value: T = toml::from_str(text).map_err(|error| invalid(vec![explain(&error, text)]))?;
    refuse(name, text, check(&value))?;
    Ok(value)
}

/// An error if there are findings, each at its place in the text.
pub(crate) fn refuse(name: &str, text: &str, findings: Vec<Finding>) -> Result<(), SpecError> {
    if findings.is_empty() {
        return Ok(());
    }
    let document = DeTable::parse(text).ok();
    let span = |finding: &Finding| finding.span(document.as_ref()?, text);
    let problems = findings
        .into_iter()
        .map(|finding| Problem { span: span(&finding).map(Into::into), ..finding.into_problem() });
    Err(SpecError::Invalid(Box::new(Invalid::new(name, text, problems.collect()))))
}
