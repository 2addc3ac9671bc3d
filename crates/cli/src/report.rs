//! The report that every run leaves.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use bench::run::Reporter;
use record::rundir::StoredRun;

/// What makes the report of a run.
pub fn reporter() -> Option<Arc<dyn Reporter>> {
    Some(Arc::new(Plain))
}

/// The report without scripts.
#[derive(Debug)]
struct Plain;

impl Reporter for Plain {
    fn report(&self, directory: &Path) -> Result<String, Box<dyn Error>> {
        let stored = StoredRun::at(directory);
        let stored = stored.ok_or_else(|| format!("{} is no run", directory.display()))?;
        Ok(view::plain::report(&stored)?)
    }
}
