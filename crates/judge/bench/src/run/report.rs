use std::error::Error;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use run_store::run::{Run, Warning};
use run_store::rundir::{RunDir, files};

use crate::error::BenchError;
use crate::progress::{Observer, Progress};

/// Generator of the report for people. It is called for every stored run, also for an interrupted
/// one, after all other files are in the directory and before the checksums.
pub trait Reporter: Debug + Send + Sync {
    /// Generates the report as one HTML file.
    ///
    /// # Errors
    ///
    /// Any error. The run is complete without the report.
    fn report(&self, directory: &Path) -> Result<String, Box<dyn Error>>;
}

/// Adds the report to a directory whose other files are complete. If the report cannot be generated
/// or written, the run gets a warning, because the run is worth more than its report.
pub fn add(
    reporter: &dyn Reporter,
    directory: &RunDir,
    run: &mut Run,
    observer: &mut dyn Observer,
) -> Result<(), BenchError> {
    let made = catch_unwind(AssertUnwindSafe(|| reporter.report(directory.path())));
    let written = match made {
        Ok(Ok(text)) => {
            directory.write_optional(files::REPORT, &text).map_err(|error| error.to_string())
        }
        Ok(Err(error)) => Err(error.to_string()),
        // A bug in the report must not cost hours of measuring.
        Err(payload) => Err(said(payload.as_ref())),
    };
    let Err(reason) = written else { return Ok(()) };
    let warning = Warning {
        id: "report-failed".to_owned(),
        text: format!("the report was not written: {reason}"),
        value: None,
        limit: None,
        hint: Some("the other files of the run have all of its content".to_owned()),
    };
    observer.event(&Progress::Warning(&warning));
    run.warnings.push(warning);
    Ok(directory.write_run(run)?)
}

fn said(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it panicked".to_owned())
}
