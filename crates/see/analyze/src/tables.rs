//! Lists of the answer as tables, for CSV and Parquet.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use serde::Serialize;
use serde_json::Value;

use crate::document::Analysis;

/// A list of the answer as rows of cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Name of the list, as in JSON.
    pub name: &'static str,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// Reason why a table cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// File or stream that failed.
    #[error("writing a table: {0}")]
    Io(#[from] std::io::Error),
    /// Error of the Parquet library.
    #[error("writing a table as Parquet: {0}")]
    Parquet(#[from] ParquetError),
    /// Error of the Arrow library.
    #[error("making the columns of a table: {0}")]
    Arrow(#[from] ArrowError),
}

impl Analysis {
    /// Returns the lists that have rows. Histograms have a row for each bucket.
    pub fn tables(&self) -> Vec<Table> {
        let tables = [
            Table::of("findings", &self.findings),
            Table::of("cannot_say", &self.cannot_say),
            Table::of("overview", &self.overview),
            Table::of("bursts", &self.bursts),
            Table::of("alignment", &self.alignment),
            Table::of("sizes", &self.sizes),
            Table::of("beside_large", &self.beside_large),
            Table::of("matrix_latency", &self.matrix_latency),
            Table::of("matrix_outstanding", &self.matrix_outstanding),
            Table::of("breaks", &self.breaks),
            Table::of("histograms", &self.buckets()),
            Table::of("time", &self.time),
            Table::of("working_set", &self.working_set),
            Table::of("miss_ratio", &self.miss_ratio),
            Table::of("knees", &self.knees),
            Table::of("tiers", &self.tiers),
        ];
        tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
    }

    fn buckets(&self) -> Vec<Bucket<'_>> {
        let mut buckets = Vec::new();
        for row in &self.histograms {
            let limits = row.limits.iter().map(|limit| Some(*limit)).chain([None]);
            buckets.extend(limits.zip(&row.counts).map(|(limit, count)| Bucket {
                vm: &row.vm,
                device: &row.device,
                histogram: &row.histogram,
                unit: &row.unit,
                limit,
                count: *count,
            }));
        }
        buckets
    }
}

/// Bucket of a histogram; the last bucket has no limit.
#[derive(Serialize)]
struct Bucket<'a> {
    vm: &'a str,
    device: &'a str,
    histogram: &'a str,
    unit: &'a str,
    limit: Option<i64>,
    count: u64,
}

impl Table {
    fn of(name: &'static str, list: &[impl Serialize]) -> Self {
        let mut columns = Vec::new();
        let mut rows = Vec::with_capacity(list.len());
        for row in list {
            let Ok(Value::Object(cells)) = serde_json::to_value(row) else { continue };
            if columns.is_empty() {
                columns = cells.keys().cloned().collect();
            }
            rows.push(cells.into_iter().map(|(_, cell)| cell).collect());
        }
        Self { name, columns, rows }
    }

    /// Writes CSV with a line of names (RFC 4180, lines ended by LF); absent values are empty.
    ///
    /// # Errors
    /// If the stream fails.
    pub fn write_csv(&self, to: &mut impl Write) -> Result<(), TableError> {
        writeln!(to, "{}", self.columns.join(","))?;
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(csv_cell).collect();
            writeln!(to, "{}", cells.join(","))?;
        }
        Ok(())
    }

    /// Writes one Parquet file, compressed with zstd.
    ///
    /// # Errors
    /// If the stream or the library fails.
    pub fn write_parquet(&self, to: impl Write + Send) -> Result<(), TableError> {
        let columns = 0..self.columns.len();
        let arrays: Vec<ArrayRef> = columns.map(|column| self.array(column)).collect();
        let fields: Vec<Field> = self
            .columns
            .iter()
            .zip(&arrays)
            .map(|(name, array)| Field::new(name, array.data_type().clone(), true))
            .collect();
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let mut writer = ArrowWriter::try_new(to, schema, Some(properties))?;
        writer.write(&batch)?;
        writer.close()?;
        Ok(())
    }

    fn array(&self, column: usize) -> ArrayRef {
        let cells = || self.rows.iter().map(move |row| &row[column]);
        let present = || cells().filter(|cell| !cell.is_null());
        if present().all(Value::is_u64) {
            return Arc::new(cells().map(Value::as_u64).collect::<UInt64Array>());
        }
        if present().all(Value::is_i64) {
            return Arc::new(cells().map(Value::as_i64).collect::<Int64Array>());
        }
        if present().all(Value::is_number) {
            return Arc::new(cells().map(Value::as_f64).collect::<Float64Array>());
        }
        if present().all(Value::is_boolean) {
            return Arc::new(cells().map(Value::as_bool).collect::<BooleanArray>());
        }
        Arc::new(cells().map(Value::as_str).collect::<StringArray>())
    }
}

fn csv_cell(cell: &Value) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) if text.contains(['"', ',', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
