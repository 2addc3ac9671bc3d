//! `report`: writes a run's report again.

use std::io::Write;
use std::path::PathBuf;

use crate::args::ReportArgs;
use crate::commands::runs;
use crate::exit::Exit;
use crate::failure::Failure;

/// Writes the report file.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let stored = runs::open(args.out.as_deref(), &args.run)?;
    let text = page_server::report(stored.path()).map_err(|error| failure(&error))?;
    let named = args.to.clone();
    let is_named = named.is_some();
    let path = named.unwrap_or_else(|| PathBuf::from(format!("report-{}.html", stored.id())));
    // The default name may be a link that another user made in this directory, so no link is
    // followed.
    let written = match is_named {
        true => std::fs::write(&path, text),
        false => untrusted::create(&path).and_then(|mut file| file.write_all(text.as_bytes())),
    };
    written.map_err(|error| {
        Failure::new(Exit::Failure, format!("writing {}: {error}", path.display()))
    })?;
    crate::say!("wrote {}", path.display());
    Ok(Exit::Success)
}

fn failure(error: &page_server::ReportError) -> Failure {
    Failure::from_error(Exit::Failure, error)
}
