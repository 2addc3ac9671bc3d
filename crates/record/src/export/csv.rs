//! The I/O series, and that of gauges, as RFC 4180 text: CRLF ends, a field is quoted where it must be. Null
//! is an empty field.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;

use stats::Compact;

use super::ExportError;
use crate::gauge::Gauge;
use crate::quantile::Summary;
use crate::series::{GaugeRecord, IoRecord, SeriesError};

const COMMON: &str = "step,tiles,repeat,phase,start_ns,width_ns,tile,workload,copy,vm,direction,\
                      kind,size_class,count,errors,bytes";
const LATENCY: [&str; 9] =
    ["min_ns", "mean_ns", "p50_ns", "p95_ns", "p99_ns", "p999_ns", "max_ns", "sum_ns", "over_1h"];

pub(super) fn write(
    rows: impl Iterator<Item = Result<IoRecord, SeriesError>>,
    to: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut header = COMMON.to_owned();
    for prefix in ["service", "response"] {
        for name in LATENCY {
            write!(header, ",{prefix}_{name}").expect("writing to a string cannot fail");
        }
    }
    write!(to, "{header}\r\n")?;
    for row in rows {
        write_row(&row?, to)?;
    }
    Ok(())
}

/// The series of gauges, one row per slice, gauge and scope.
pub(super) fn write_gauges(
    rows: impl Iterator<Item = Result<GaugeRecord, SeriesError>>,
    to: &mut dyn Write,
) -> Result<(), ExportError> {
    write!(to, "step,tiles,repeat,phase,start_ns,width_ns,name,kind,scope,unit,value\r\n")?;
    for row in rows {
        let GaugeRecord { key, start, width, gauge: Gauge { name, scope, value } } = row?;
        write!(to, "{},{},{},{}", key.step, key.tiles, key.repeat, key.phase.name())?;
        write!(to, ",{},{},{},{}", start.0, width.0, name.name(), name.scope().name())?;
        write!(to, ",{},{},{value}\r\n", field(&scope), field(name.unit().name()))?;
    }
    Ok(())
}

fn write_row(row: &IoRecord, to: &mut dyn Write) -> std::io::Result<()> {
    let key = row.key;
    write!(to, "{},{},{},{}", key.step, key.tiles, key.repeat, key.phase.name())?;
    write!(to, ",{},{}", row.start.0, row.width.0)?;
    write!(to, ",{},{},{}", row.tile, field(&row.workload), row.copy)?;
    write!(to, ",{},{},{}", field(&row.vm), row.direction.name(), field(&row.kind))?;
    write!(to, ",{},{}", field(row.class.name()), row.service.count())?;
    write!(to, ",{},{}", row.errors, row.bytes.get())?;
    write_latency(&row.service, to)?;
    write_latency(&row.response, to)?;
    write!(to, "\r\n")
}

fn write_latency(histogram: &Compact, to: &mut dyn Write) -> std::io::Result<()> {
    match Summary::of(histogram) {
        None => write!(to, ",,,,,,,")?,
        Some(s) => {
            for value in [s.min, s.mean, s.p50, s.p95, s.p99, s.p999, s.max] {
                write!(to, ",{}", value.0)?;
            }
        }
    }
    write!(to, ",{},{}", histogram.sum_ns, histogram.saturated)
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
