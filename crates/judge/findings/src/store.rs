//! Storage of study results.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use run_store::rundir::RunId;

use crate::{StudyResult, markdown};

/// Name of the directory of results, which is beside the directories of runs.
pub const DIRECTORY: &str = "studies";
/// File name of a result's document.
pub const RESULT: &str = "study.json";
/// File name of a result's page.
pub const PAGE: &str = "study.md";

/// Stores a result in `BASE/studies/ID/`, with the document and the page. The directory gets its
/// final name only when both are complete.
///
/// # Errors
///
/// If it cannot be written.
pub fn store(result: &StudyResult, base: &Path, now: Timestamp) -> io::Result<PathBuf> {
    let id = RunId::new(&result.name, now)?;
    let directory = base.join(DIRECTORY).join(id.as_str());
    let partial = base.join(DIRECTORY).join(format!("{id}.partial"));
    std::fs::create_dir_all(&partial)?;
    let mut text = serde_json::to_string_pretty(result)?;
    text.push('\n');
    std::fs::write(partial.join(RESULT), text)?;
    std::fs::write(partial.join(PAGE), markdown(result))?;
    std::fs::rename(&partial, &directory)?;
    Ok(directory)
}
