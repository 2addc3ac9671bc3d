//! OpenMetrics 1.0 text, as Prometheus scrapes it: families of samples, of a stored run
//! ([`crate::export`]) or of runs in progress.
//!
//! The content is the caller's. The caller must write all samples of a family before the next
//! family, each set of labels only once, and [`END`] at the end.

use std::fmt::Display;
use std::io::{self, Write};

use units::Nanos;

/// Media type of OpenMetrics text.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Last line of the text.
pub const END: &str = "# EOF\n";

/// Writes the head of a family. `name` ends with the unit, which is empty for a count.
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

/// Upper bounds of histogram buckets, in microseconds, for the usual times of flash, networks,
/// disks, and faults.
pub(crate) const BUCKETS_US: [u64; 12] =
    [50, 100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 100_000, 250_000, 1_000_000];

/// Times in the form that a histogram needs.
pub struct Times<'a> {
    /// Number of times.
    pub count: u64,
    /// Sum of all times, in nanoseconds.
    pub sum_ns: u128,
    /// Returns the number of times above a limit.
    pub above: &'a dyn Fn(Nanos) -> u64,
}

/// Writes the samples of a histogram of times. The unit of its family is seconds.
///
/// # Errors
///
/// Errors of writing.
pub fn histogram(
    to: &mut dyn Write,
    name: &str,
    pairs: &[(&str, &dyn Display)],
    times: &Times<'_>,
) -> io::Result<()> {
    let of = labels(pairs);
    let mut bucket = |end: &dyn Display, below| {
        let labels = labels(&[pairs, &[("le", end)]].concat());
        sample(to, &format!("{name}_bucket"), &labels, below)
    };
    for us in BUCKETS_US {
        #[expect(clippy::cast_precision_loss, reason = "a million is exact")]
        let end = format!("{:?}", us as f64 / 1e6);
        bucket(&end, times.count - (times.above)(Nanos::from_micros(us)))?;
    }
    bucket(&"+Inf", times.count)?;
    sample(to, &format!("{name}_count"), &of, times.count)?;
    #[expect(clippy::cast_precision_loss, reason = "seconds are printed to a microsecond")]
    let sum = times.sum_ns as f64 / 1e9;
    sample(to, &format!("{name}_sum"), &of, format_args!("{sum:.6}"))
}
