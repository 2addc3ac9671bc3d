//! Series of calls. It has its own file, which only runs with calls have.

use arrow_array::RecordBatch;
use state_machine::CallError;
use stats::Compact;
use units::{Bytes, Nanos};
use untrusted::Malformed;

use super::SeriesError;
use super::column::{BatchColumns, Columns};
use super::record::{Common, Record, StepKey};
use super::source::{common, instances, lookup};
use crate::files;
use crate::slice::{Slice, Topology};

/// Row of `calls.parquet`: calls of one instance and kind that completed in one time slice.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRecord {
    /// Step, repeat and phase of the slice.
    pub key: StepKey,
    /// Start of the slice, relative to the start of the step's load.
    pub start: Nanos,
    /// Width of the slice.
    pub width: Nanos,
    /// Tile, from 0; `None` for infrastructure operations.
    pub tile: Option<u32>,
    /// Name of the workload.
    pub workload: String,
    /// Number among the copies of this workload in the tile, from 0.
    pub copy: u32,
    /// Kind of call, as the workload names it.
    pub kind: String,
    /// Number of failed calls, by index in `CallError::ALL`; they are not in the histograms.
    pub errors: [u64; CallError::ALL.len()],
    /// Bytes of successful answers.
    pub bytes: Bytes,
    /// Service time: from the call to its answer.
    pub service: Compact,
    /// Response time: from the intended start to the answer.
    pub response: Compact,
}

/// Returns the column name of a class of errors.
pub(crate) fn call_error_column(error: CallError) -> String {
    format!("errors_{}", error.name().replace('-', "_"))
}

pub(super) fn columns(
    key: &StepKey,
    topology: &Topology,
    slice: &Slice,
) -> Result<Columns, SeriesError> {
    let (mut entries, mut kinds) = (Vec::new(), Vec::new());
    for row in &slice.calls {
        let entry = lookup("instance", &topology.instances, row.instance.0 as usize)?;
        entries.push(entry);
        kinds.push(lookup("kind of call", &entry.kinds, row.kind.into())?.as_str());
    }
    let rows = &slice.calls;
    let mut columns = Columns::default();
    common(&mut columns, key, slice, rows.len());
    instances(&mut columns, &entries);
    columns.text("kind", kinds.into_iter());
    columns.u64("count", rows.iter().map(|row| row.service.count()));
    for error in CallError::ALL {
        columns.u64(call_error_column(error), rows.iter().map(|row| row.errors[error as usize]));
    }
    columns.u64("bytes", rows.iter().map(|row| row.bytes.get()));
    columns.latency("service", &rows.iter().map(|row| &row.service).collect::<Vec<_>>());
    columns.latency("response", &rows.iter().map(|row| &row.response).collect::<Vec<_>>());
    Ok(columns)
}

impl Record for CallRecord {
    const FILE: &'static str = files::CALLS;

    fn from_batch(batch: &RecordBatch) -> Result<Vec<Self>, Malformed> {
        let found = BatchColumns(batch);
        let common = Common::of(&found)?;
        let (tile, copy) = (found.maybe_u32("tile")?, found.u32("copy")?);
        let (workload, kind) = (found.text("workload")?, found.text("kind")?);
        let mut errors = Vec::new();
        for error in CallError::ALL {
            errors.push(found.u64(&call_error_column(error))?);
        }
        let bytes = found.u64("bytes")?;
        let histograms = found.latency("service")?.into_iter().zip(found.latency("response")?);
        let rows = histograms.enumerate().map(|(row, (service, response))| Self {
            key: common.keys[row],
            start: Nanos(common.start[row]),
            width: Nanos(common.width[row]),
            tile: tile[row],
            workload: workload.value(row).to_owned(),
            copy: copy[row],
            kind: kind.value(row).to_owned(),
            errors: CallError::ALL.map(|error| errors[error as usize][row]),
            bytes: Bytes::new(bytes[row]),
            service,
            response,
        });
        Ok(rows.collect())
    }
}
