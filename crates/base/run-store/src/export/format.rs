use std::io::{self, Write};
use std::iter::Peekable;
use std::str::FromStr;

use super::{ExportError, csv, hlog, openmetrics};
use crate::rundir::{RunDirError, StoredRun, files};
use crate::series::{Record, Rows};

/// Format of an exported run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `run.json` as stored.
    Json,
    /// `series.parquet` without the histograms, as RFC 4180 text.
    Csv,
    /// `calls.parquet` without the histograms, as RFC 4180 text.
    CallsCsv,
    /// `gauges.parquet` as RFC 4180 text.
    GaugesCsv,
    /// `series.parquet` as stored.
    Parquet,
    /// HdrHistogram log 1.3: one line per slice, VM, direction and kind of latency.
    Hlog,
    /// OpenMetrics 1.0 text: totals over the measured time.
    OpenMetrics,
}

impl Format {
    /// All formats, in the order of their names in help.
    pub const ALL: [Self; 7] = [
        Self::Json,
        Self::Csv,
        Self::CallsCsv,
        Self::GaugesCsv,
        Self::Parquet,
        Self::Hlog,
        Self::OpenMetrics,
    ];

    /// Returns the name of the format on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::CallsCsv => "calls-csv",
            Self::GaugesCsv => "gauges-csv",
            Self::Parquet => "parquet",
            Self::Hlog => "hlog",
            Self::OpenMetrics => "openmetrics",
        }
    }
}

impl FromStr for Format {
    type Err = ExportError;

    fn from_str(text: &str) -> Result<Self, ExportError> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            ExportError::UnknownFormat {
                text: text.to_owned(),
                known: Self::ALL.map(Self::name).join(", "),
            }
        })
    }
}

/// Writes a run in a format.
pub fn export(run: &StoredRun, format: Format, to: &mut dyn Write) -> Result<(), ExportError> {
    match format {
        Format::Json => copy(run, files::RUN, to)?,
        Format::Csv => csv::write(some(run, "series", run.series()?)?, to)?,
        Format::CallsCsv => csv::write_calls(some(run, "calls", run.calls()?)?, to)?,
        Format::GaugesCsv => csv::write_gauges(some(run, "gauges", run.gauges()?)?, to)?,
        Format::Parquet if !run.path().join(files::SERIES).exists() => {
            return Err(ExportError::NotFinished { id: run.id().to_string() });
        }
        Format::Parquet => copy(run, files::SERIES, to)?,
        Format::Hlog => hlog::write(run, to)?,
        Format::OpenMetrics => openmetrics::write(run, to)?,
    }
    Ok(to.flush()?)
}

/// Checks that there is at least one row.
fn some<R: Record>(
    run: &StoredRun,
    what: &'static str,
    rows: Rows<R>,
) -> Result<Peekable<Rows<R>>, ExportError> {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Err(ExportError::NoSeries { id: run.id().to_string(), what });
    }
    Ok(rows)
}

fn copy(run: &StoredRun, name: &str, to: &mut dyn Write) -> Result<(), ExportError> {
    let path = run.path().join(name);
    let mut file = untrusted::open(&path).map_err(RunDirError::io("opening", &path))?;
    io::copy(&mut file, to)?;
    Ok(())
}
