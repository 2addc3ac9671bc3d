//! Series of I/O, of calls and of gauges as RFC 4180 text: lines end with CRLF, and fields are
//! quoted where needed. Null is an empty field.

use std::borrow::Cow;
use std::io::Write;

use state_machine::CallError;
use stats::Compact;
use units::Nanos;

use super::ExportError;
use crate::gauge::Gauge;
use crate::quantile::Summary;
use crate::series::{CallRecord, GaugeRecord, IoRecord, SeriesError, StepKey, call_error_column};
use crate::slice::tile_label;

const COMMON: &str = "step,tiles,repeat,phase,start_ns,width_ns,tile,workload,copy";
const LATENCY: [&str; 9] =
    ["min_ns", "mean_ns", "p50_ns", "p95_ns", "p99_ns", "p999_ns", "max_ns", "sum_ns", "over_1h"];

pub(super) fn write(
    rows: impl Iterator<Item = Result<IoRecord, SeriesError>>,
    to: &mut dyn Write,
) -> Result<(), ExportError> {
    write_header(&["vm", "direction", "kind", "size_class", "count", "errors", "bytes"], to)?;
    for row in rows {
        write_row(&row?, to)?;
    }
    Ok(())
}

/// Writes the series of calls, one row per slice, instance and kind, with a column for each class
/// of errors.
pub(super) fn write_calls(
    rows: impl Iterator<Item = Result<CallRecord, SeriesError>>,
    to: &mut dyn Write,
) -> Result<(), ExportError> {
    let errors = CallError::ALL.map(call_error_column);
    let errors = errors.iter().map(String::as_str);
    let own: Vec<&str> = ["kind", "count"].into_iter().chain(errors).chain(["bytes"]).collect();
    write_header(&own, to)?;
    for row in rows {
        let row = row?;
        write_slice(&row.key, (row.start, row.width), to)?;
        write!(to, ",{},{},{}", tile_label(row.tile), field(&row.workload), row.copy)?;
        write!(to, ",{},{}", field(&row.kind), row.service.count())?;
        for count in row.errors {
            write!(to, ",{count}")?;
        }
        write!(to, ",{}", row.bytes.get())?;
        write_latencies([&row.service, &row.response], to)?;
    }
    Ok(())
}

/// Writes the series of gauges, one row per slice, gauge and scope.
pub(super) fn write_gauges(
    rows: impl Iterator<Item = Result<GaugeRecord, SeriesError>>,
    to: &mut dyn Write,
) -> Result<(), ExportError> {
    write!(to, "step,tiles,repeat,phase,start_ns,width_ns,name,kind,scope,unit,value\r\n")?;
    for row in rows {
        let GaugeRecord { key, start, width, gauge: Gauge { name, scope, value } } = row?;
        write_slice(&key, (start, width), to)?;
        write!(to, ",{},{}", name.name(), name.scope().name())?;
        write!(to, ",{},{},{value}\r\n", field(&scope), field(name.unit().name()))?;
    }
    Ok(())
}

fn write_row(row: &IoRecord, to: &mut dyn Write) -> std::io::Result<()> {
    write_slice(&row.key, (row.start, row.width), to)?;
    write!(to, ",{},{},{}", tile_label(row.tile), field(&row.workload), row.copy)?;
    write!(to, ",{},{},{}", field(&row.vm), row.direction.name(), field(&row.kind))?;
    write!(to, ",{},{}", field(row.class.name()), row.service.count())?;
    write!(to, ",{},{}", row.errors, row.bytes.get())?;
    write_latencies([&row.service, &row.response], to)
}

fn write_header(own: &[&str], to: &mut dyn Write) -> std::io::Result<()> {
    write!(to, "{COMMON},{}", own.join(","))?;
    for prefix in ["service", "response"] {
        for name in LATENCY {
            write!(to, ",{prefix}_{name}")?;
        }
    }
    write!(to, "\r\n")
}

fn write_slice(
    key: &StepKey,
    (start, width): (Nanos, Nanos),
    to: &mut dyn Write,
) -> std::io::Result<()> {
    write!(to, "{},{},{},{}", key.step, key.tiles, key.repeat, key.phase.name())?;
    write!(to, ",{},{}", start.0, width.0)
}

/// Writes the last columns of a row, which are latencies, and the end of the row.
fn write_latencies(histograms: [&Compact; 2], to: &mut dyn Write) -> std::io::Result<()> {
    for histogram in histograms {
        match Summary::of(histogram) {
            None => write!(to, ",,,,,,,")?,
            Some(s) => {
                for value in [s.min, s.mean, s.p50, s.p95, s.p99, s.p999, s.max] {
                    write!(to, ",{}", value.0)?;
                }
            }
        }
        write!(to, ",{},{}", histogram.sum_ns, histogram.saturated)?;
    }
    write!(to, "\r\n")
}

fn field(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_only_where_rfc_4180_demands_it() {
        assert_eq!(field("plain name"), "plain name");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("say \"x\""), "\"say \"\"x\"\"\"");
    }
}
