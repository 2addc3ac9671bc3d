//! `report`: a run as one file, made again.

use std::path::PathBuf;

use crate::args::ReportArgs;
use crate::commands::runs;
use crate::exit::Exit;
use crate::failure::Failure;

/// Writes it.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let stored = runs::open(args.out.as_deref(), &args.run)?;
    let text = server::report(stored.path()).map_err(|error| failure(&error))?;
    let path = args.to.clone();
    let path = path.unwrap_or_else(|| PathBuf::from(format!("report-{}.html", stored.id())));
    std::fs::write(&path, text).map_err(|error| {
        Failure::new(Exit::Failure, format!("writing {}: {error}", path.display()))
    })?;
    crate::say!("wrote {}", path.display());
    Ok(Exit::Success)
}

fn failure(error: &server::ReportError) -> Failure {
    Failure::from_error(Exit::Failure, error)
}
