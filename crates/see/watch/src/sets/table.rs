//! Converts rows of working sets to columns of Parquet, and back. `docs/formats/watch.md` lists the
//! columns.

use std::fs::File;
use std::io::Write;
use std::sync::{Arc, LazyLock};

use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use untrusted::Malformed;

use super::row::HOUR_S;
use super::{SetRow, SetSpan};
use crate::{SCHEMA, columns};

/// Key of the format in a file's metadata.
const NOTE: &str = "tilemark.watch.sets";
/// Compression level. Our choice: zstd's own default.
const ZSTD_LEVEL: i32 = 3;
const NUMBERS: [&str; 5] = ["start_s", "since_s", "used_bytes", "read_bytes", "written_bytes"];

static COLUMNS: LazyLock<SchemaRef> = LazyLock::new(|| {
    let text = |name| Field::new(name, DataType::Utf8, false);
    let mut fields = vec![text("vm"), text("span")];
    fields.extend(NUMBERS.map(|name| Field::new(name, DataType::UInt64, false)));
    fields.push(Field::new("share", DataType::Float64, false));
    Arc::new(Schema::new(fields))
});

/// Writes rows as Parquet. `hosts` has the host of each row, for one more column at the end.
///
/// # Errors
/// Writing to `to` fails.
pub(crate) fn write(
    to: impl Write + Send,
    rows: &[SetRow],
    hosts: Option<&[&str]>,
) -> std::io::Result<()> {
    let host = hosts.map(|_| Arc::new(Field::new("host", DataType::Utf8, false)));
    let fields = COLUMNS.fields().iter().cloned().chain(host);
    let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let mut writer = ArrowWriter::try_new(to, Arc::clone(&schema), Some(properties()))?;
    let number = |value: fn(&SetRow) -> u64| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(value(row))).collect::<UInt64Array>())
    };
    let mut columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| Some(&*row.vm)).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| Some(row.span.name())).collect::<StringArray>()),
        number(|row| row.start_s),
        number(|row| row.since_s),
        number(|row| row.used_bytes),
        number(|row| row.read_bytes),
        number(|row| row.written_bytes),
        Arc::new(rows.iter().map(|row| Some(row.share)).collect::<Float64Array>()),
    ];
    if let Some(hosts) = hosts {
        columns.push(Arc::new(hosts.iter().copied().map(Some).collect::<StringArray>()));
    }
    let batch = RecordBatch::try_new(schema, columns);
    writer.write(&batch.expect("columns of one length, in the order of the schema"))?;
    writer.close()?;
    Ok(())
}

fn properties() -> WriterProperties {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).expect("a level zstd has");
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("tilemark {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![KeyValue::new(NOTE.to_owned(), SCHEMA.to_owned())]))
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true);
    for column in NUMBERS.map(ColumnPath::from) {
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

/// Reads the rows of the hours that `is_wanted` accepts. Spans that only later versions know are
/// left out.
///
/// # Errors
/// The file cannot be read, or has rows that no writer of this program wrote.
pub(crate) fn read(file: &File, is_wanted: impl Fn(u64) -> bool) -> Result<Vec<SetRow>, Malformed> {
    let text = |error: &dyn std::fmt::Display| Malformed::from(error.to_string());
    let file = file.try_clone().map_err(|error| text(&error))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| text(&error))?;
    let notes = builder.metadata().file_metadata().key_value_metadata();
    if !notes.is_some_and(|notes| notes.iter().any(|note| note.key == NOTE)) {
        return Err("it has no note of working sets".into());
    }
    let mut rows: Vec<SetRow> = Vec::new();
    for batch in builder.build().map_err(|error| text(&error))? {
        add(&batch.map_err(|error| text(&error))?, &is_wanted, &mut rows)?;
    }
    Ok(rows)
}

fn add(
    batch: &RecordBatch,
    is_wanted: &impl Fn(u64) -> bool,
    rows: &mut Vec<SetRow>,
) -> Result<(), Malformed> {
    let vms: &StringArray = column(batch, "vm")?;
    let spans: &StringArray = column(batch, "span")?;
    let [starts, sinces, used, read, written]: [&UInt64Array; 5] = [
        column(batch, NUMBERS[0])?,
        column(batch, NUMBERS[1])?,
        column(batch, NUMBERS[2])?,
        column(batch, NUMBERS[3])?,
        column(batch, NUMBERS[4])?,
    ];
    let shares: &Float64Array = column(batch, "share")?;
    for row in (0..batch.num_rows()).filter(|row| is_wanted(starts.value(*row))) {
        let span = spans.value(row);
        let Some(span) = SetSpan::ALL.into_iter().find(|own| own.name() == span) else { continue };
        let name = vms.value(row);
        // Rows are ordered by VM, so that most share the name of the row before.
        let known = rows.last().filter(|last| &*last.vm == name).map(|last| Arc::clone(&last.vm));
        let own = SetRow {
            start_s: starts.value(row),
            vm: known.unwrap_or_else(|| name.into()),
            span,
            since_s: sinces.value(row),
            used_bytes: used.value(row),
            read_bytes: read.value(row),
            written_bytes: written.value(row),
            share: shares.value(row),
        };
        let has_share = own.share > 0.0 && own.share <= 1.0;
        if !own.start_s.is_multiple_of(HOUR_S) || !has_share {
            return Err("a row has no hour, or no share".into());
        }
        rows.push(own);
    }
    Ok(())
}

/// Returns a column that has no nulls.
fn column<'a, T: Array + 'static>(batch: &'a RecordBatch, name: &str) -> Result<&'a T, Malformed> {
    let column: &T = columns::column(batch, name)?;
    match column.null_count() {
        0 => Ok(column),
        nulls => Err(format!("column \"{name}\" has {nulls} rows without a value").into()),
    }
}
