//! `runs trend`: many runs of one kind beside each other, each compared with the first.

use run_store::rundir::StoredRun;
use units::Ratio;

use crate::args::Format;
use crate::commands::compare;
use crate::failure::Failure;
use crate::text::trend::{Row, Trend};
use crate::{output, stored_runs};

/// Smallest change that counts, as in `tilemark compare`.
const MIN_EFFECT: f64 = 0.03;

/// Shows complete runs, oldest first.
pub fn show(runs: &[StoredRun], format: Format, markdown: bool) -> Result<(), Failure> {
    let rows = runs.iter().map(|own| row(own, &runs[0])).collect::<Result<_, _>>()?;
    let trend = Trend::new(rows);
    match format {
        Format::Json => output::print_json(&trend),
        Format::Text if markdown => output::print(&trend.markdown()),
        Format::Text => output::show(&trend.text()),
    }
}

fn row(own: &StoredRun, first: &StoredRun) -> Result<Row, Failure> {
    let run = own.run().map_err(stored_runs::failure)?;
    let mut row = Row::of(own.id().as_str(), &own.id().started().to_string(), run);
    if own.id() != first.id() {
        // Runs of another major version, or without a figure in common, are told and not compared.
        match compare::compared(&[first], &[own], Ratio::new(MIN_EFFECT)) {
            Ok(comparison) => row.compare(&comparison),
            Err(failure) => row.not_compared = Some(failure.text()),
        }
    }
    Ok(row)
}
