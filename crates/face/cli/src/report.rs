//! The report that every run leaves.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use bench::run::Reporter;

/// What makes the report of a run.
pub fn reporter() -> Option<Arc<dyn Reporter>> {
    Some(Arc::new(Packed))
}

/// The page with the run packed into it; plain tables in a program that was built without it.
#[derive(Debug)]
struct Packed;

impl Reporter for Packed {
    fn report(&self, directory: &Path) -> Result<String, Box<dyn Error>> {
        Ok(page_server::report(directory)?)
    }
}
