use std::fs::File;
use std::path::Path;

use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{ArrowPrimitiveType, BooleanArray, PrimitiveArray, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowFilter,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use units::Nanos;
use untrusted::Malformed;

use super::SeriesError;

/// Number of rows per batch in memory.
pub(super) const BATCH_ROWS: usize = 1024;

/// Columns that give the step, the repeat and the time of a row.
const PLACE: [&str; 3] = ["step", "repeat", "start_ns"];

/// Interval of time in one repeat of one step. It has the slices that begin at `from` or later, and
/// before `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Step of the ladder, from 1.
    pub step: u32,
    /// Repeat of the step, from 1.
    pub repeat: u32,
    /// Start of the interval, relative to the start of the step's load, like `start_ns` of the
    /// series.
    pub from: Nanos,
    /// End of the interval, exclusive.
    pub to: Nanos,
}

impl Stretch {
    const fn holds(&self, step: u32, repeat: u32, start: u64) -> bool {
        self.step == step && self.repeat == repeat && self.from.0 <= start && start < self.to.0
    }

    /// Returns true if rows whose columns lie within these bounds may belong to the interval.
    const fn may_hold(&self, bounds: &[(u64, u64); 3]) -> bool {
        let [step, repeat, start] = bounds;
        let (own_step, own_repeat) = (self.step as u64, self.repeat as u64);
        step.0 <= own_step
            && own_step <= step.1
            && repeat.0 <= own_repeat
            && own_repeat <= repeat.1
            && start.0 < self.to.0
            && self.from.0 <= start.1
    }
}

/// Reads the rows of the given intervals. Row groups without such rows are skipped. In the other
/// row groups, rows outside the intervals have only the columns of [`PLACE`] decoded.
pub(super) fn open(
    path: &Path,
    stretches: &[Stretch],
) -> Result<ParquetRecordBatchReader, SeriesError> {
    let builder = builder(path, stretches)?;
    let mask = place_columns(&builder);
    let wanted = stretches.to_vec();
    let predicate = ArrowPredicateFn::new(mask, move |batch| {
        let is_wanted = wanted_rows(&batch, &wanted)
            .map_err(|error| arrow_schema::ArrowError::SchemaError(error.to_string()))?;
        Ok(BooleanArray::from(is_wanted))
    });
    builder
        .with_row_filter(RowFilter::new(vec![Box::new(predicate)]))
        .with_batch_size(BATCH_ROWS)
        .build()
        .map_err(SeriesError::parquet("reading", path))
}

/// Counts the rows of a file that belong to the given intervals.
pub(super) fn count(path: &Path, stretches: &[Stretch]) -> Result<u64, SeriesError> {
    let builder = builder(path, stretches)?;
    let mask = place_columns(&builder);
    let batches =
        builder.with_projection(mask).build().map_err(SeriesError::parquet("reading", path))?;
    let content = |reason| SeriesError::Content { path: path.to_owned(), reason };
    let mut count = 0;
    for batch in batches {
        let batch = batch.map_err(|error| content(error.to_string().into()))?;
        let rows = wanted_rows(&batch, stretches).map_err(content)?;
        count += rows.iter().filter(|is_wanted| **is_wanted).count() as u64;
    }
    Ok(count)
}

fn builder(
    path: &Path,
    stretches: &[Stretch],
) -> Result<ParquetRecordBatchReaderBuilder<File>, SeriesError> {
    let file = untrusted::open(path).map_err(SeriesError::io("opening", path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(SeriesError::parquet("reading", path))?;
    let groups = builder.metadata().row_groups().iter().enumerate();
    let groups = groups.filter(|(_, group)| match bounds(group) {
        Some(bounds) => stretches.iter().any(|stretch| stretch.may_hold(&bounds)),
        None => true,
    });
    let groups = groups.map(|(number, _)| number).collect();
    Ok(builder.with_row_groups(groups))
}

fn place_columns(builder: &ParquetRecordBatchReaderBuilder<File>) -> ProjectionMask {
    ProjectionMask::columns(builder.parquet_schema(), PLACE)
}

/// Returns the minimum and maximum of each column of [`PLACE`]; `None` if the file does not store
/// them.
fn bounds(group: &RowGroupMetaData) -> Option<[(u64, u64); 3]> {
    let mut all = [(0, 0); 3];
    for (name, slot) in PLACE.iter().zip(&mut all) {
        let column = group.columns().iter().find(|column| column.column_path().string() == *name);
        *slot = match column?.statistics()? {
            Statistics::Int32(found) => {
                let value = |value: &i32| u64::from(value.cast_unsigned());
                (value(found.min_opt()?), value(found.max_opt()?))
            }
            Statistics::Int64(found) => {
                (found.min_opt()?.cast_unsigned(), found.max_opt()?.cast_unsigned())
            }
            _ => return None,
        };
    }
    Some(all)
}

fn wanted_rows(batch: &RecordBatch, stretches: &[Stretch]) -> Result<Vec<bool>, Malformed> {
    let steps = values::<UInt32Type>(batch, PLACE[0])?;
    let repeats = values::<UInt32Type>(batch, PLACE[1])?;
    let starts = values::<UInt64Type>(batch, PLACE[2])?;
    let rows = steps.iter().zip(repeats).zip(starts);
    let is_wanted = |((step, repeat), start): ((&u32, &u32), &u64)| {
        stretches.iter().any(|stretch| stretch.holds(*step, *repeat, *start))
    };
    Ok(rows.map(is_wanted).collect())
}

fn values<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a [T::Native], Malformed> {
    let column = batch.column_by_name(name);
    let array: Option<&PrimitiveArray<T>> =
        column.and_then(|column| column.as_any().downcast_ref());
    array
        .map(|array| &array.values()[..])
        .ok_or_else(|| format!("there is no column \"{name}\"").into())
}
