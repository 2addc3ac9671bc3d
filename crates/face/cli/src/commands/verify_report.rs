//! `verify-report`: judges a stored run again from its raw series.

use bench::recheck::{Agreement, recheck};

use crate::args::{Format, VerifyReportArgs};
use crate::commands::runs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, text};

/// Prints what agrees, what differs and what cannot be judged again.
pub fn run(args: &VerifyReportArgs) -> Result<Exit, Failure> {
    let stored = runs::open(args.stored.out.as_deref(), &args.run)?;
    let found = recheck(&stored, args.tile.as_deref())
        .map_err(|error| Failure::from_error(Exit::Failure, &error))?;
    match args.stored.format {
        Format::Text => output::show(&text::recheck(&found))?,
        Format::Json => output::print_json(&found)?,
    }
    Ok(match found.result {
        Agreement::Agrees => Exit::Success,
        Agreement::Differs => Exit::ObjectiveFailed,
        Agreement::NotRechecked => Exit::Inconclusive,
    })
}
