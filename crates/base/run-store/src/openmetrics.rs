//! OpenMetrics 1.0 text, as Prometheus asks for it: families of samples, of a stored run
//! ([`crate::export`]) or of runs that go on.
//!
//! What it refuses: knowing what is told. Whoever writes a family writes all of its samples before
//! the next one, each set of labels once, and ends with [`END`].

use std::fmt::Display;
use std::io::{self, Write};

/// The media type.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The last line.
pub const END: &str = "# EOF\n";

/// Begins a family: its name ends with its unit, which is empty for a count.
///
/// # Errors
///
/// Those of writing, as below.
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

/// One sample.
///
/// # Errors
///
/// Those of writing.
pub fn sample(to: &mut dyn Write, name: &str, labels: &str, value: impl Display) -> io::Result<()> {
    writeln!(to, "{name}{{{labels}}} {value}")
}

/// Names and values of labels as a sample has them.
pub fn labels(pairs: &[(&str, &dyn Display)]) -> String {
    let pair = |(name, value): &(&str, &dyn Display)| {
        let value = value.to_string();
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    };
    pairs.iter().map(pair).collect::<Vec<_>>().join(",")
}
