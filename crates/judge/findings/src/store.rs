//! Storage of results of studies.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use run_store::rundir::RunId;

use crate::{StudyResult, markdown};

/// Directory of results, beside the directories of runs.
pub const DIRECTORY: &str = "studies";
/// File of a result as a document.
pub const RESULT: &str = "study.json";
/// File of a result as a page.
pub const PAGE: &str = "study.md";

/// Stores a result: `BASE/studies/ID/` with the document and the page. The directory gets its name
/// only after both are complete.
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
