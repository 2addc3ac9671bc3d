//! OpenMetrics 1.0 text, as Prometheus scrapes it: families of samples, of a stored run
//! ([`crate::export`]) or of live runs.
//!
//! What it refuses: to know the content. The caller writes all samples of a family before the next
//! family, each set of labels once, and ends with [`END`].

use std::fmt::Display;
use std::io::{self, Write};

/// Media type of the text.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Last line of the text.
pub const END: &str = "# EOF\n";

/// Begins a family. Its name ends with its unit, which is empty for a count.
///
/// # Errors
///
/// Errors of writing.
pub fn family(
    to: &mut dyn Write,
    name: &str,
    kind: &str,
    unit: &str,
    help: &str,
) -> io::Result<()> {
    writeln!(to, "# TYPE {name} {kind}")?;
    if !unit.is_empty() {
        writeln!(to, "# UNIT {name} {unit}")?;
    }
    writeln!(to, "# HELP {name} {help}")
}

/// Writes one sample.
///
/// # Errors
///
/// Errors of writing.
pub fn sample(to: &mut dyn Write, name: &str, labels: &str, value: impl Display) -> io::Result<()> {
    writeln!(to, "{name}{{{labels}}} {value}")
}

/// Formats names and values of labels for a sample.
pub fn labels(pairs: &[(&str, &dyn Display)]) -> String {
    let pair = |(name, value): &(&str, &dyn Display)| {
        let value = value.to_string();
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    };
    pairs.iter().map(pair).collect::<Vec<_>>().join(",")
}
