//! Converts rows of slices to columns of Parquet, and back. `docs/formats/watch.md` lists the
//! columns.
//!
//! Rows are sorted by VM, disk, direction, class and then time, because neighbours in time are
//! similar and so take few bytes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, LazyLock};

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Float32Builder, Float64Builder, StringDictionaryBuilder,
    UInt32Builder, UInt64Builder,
};
use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, BinaryArray, BooleanArray, DictionaryArray, Float32Array, Float64Array, RecordBatch,
    StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use run_store::gauge::{Folded, GaugeName};
use run_store::slice::{Direction, SizeClass};
use units::Nanos;
use untrusted::Malformed;

use crate::slice::Names;
use crate::{Cell, Key, Latencies, Slice};

const BATCH_ROWS: usize = 8192;
const GROUP_ROWS: usize = 1 << 17;
/// Compression level. Our choice: files are a tenth smaller than with zstd's own default, and a
/// segment is written only once.
const ZSTD_LEVEL: i32 = 9;

/// Name of the column that earlier versions did not write.
const BELOW: &str = "below";

static COLUMNS: LazyLock<SchemaRef> = LazyLock::new(|| {
    let names = || DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8));
    Arc::new(Schema::new(vec![
        Field::new("start_s", DataType::UInt64, false),
        Field::new("vm", names(), true),
        Field::new("disk", names(), true),
        Field::new("direction", names(), true),
        Field::new("size_class", names(), true),
        Field::new("count", DataType::UInt64, true),
        Field::new("errors", DataType::UInt64, true),
        Field::new("mean_bytes", DataType::Float32, true),
        Field::new("mean_latency_ns", DataType::Float32, true),
        Field::new("mean_queue_ns", DataType::Float32, true),
        Field::new("mean_outstanding", DataType::Float32, true),
        Field::new("outstanding_max", DataType::UInt32, true),
        Field::new("histogram", DataType::Binary, true),
        Field::new("gauge", names(), true),
        Field::new("scope", names(), true),
        Field::new("time_ns", DataType::UInt64, true),
        Field::new("value", DataType::Float64, true),
        Field::new("value_max", DataType::Float64, true),
        Field::new(BELOW, DataType::Boolean, true),
    ]))
});

/// Writes the rows of slices as Parquet.
///
/// # Errors
/// Nothing more can be written.
pub(crate) fn write_rows(
    to: impl Write + Send,
    slices: &[Slice],
    notes: Vec<KeyValue>,
) -> std::io::Result<()> {
    let mut writer = ArrowWriter::try_new(to, Arc::clone(&COLUMNS), Some(properties(notes)))?;
    let mut rows: Vec<(&Key, u64, &Cell)> = slices
        .iter()
        .flat_map(|slice| slice.io.iter().map(|(key, cell)| (key, slice.start_s, cell)))
        .collect();
    rows.sort_by(|left, right| (left.0, left.1).cmp(&(right.0, right.1)));
    for rows in rows.chunks(BATCH_ROWS) {
        let mut batch = Batch::default();
        rows.iter().for_each(|(key, start_s, cell)| batch.io(*start_s, key, cell));
        writer.write(&batch.finish())?;
    }
    drop(rows);
    let mut gauges: Vec<((GaugeName, &str), u64, &Folded)> = slices
        .iter()
        .flat_map(|slice| {
            let start_s = slice.start_s;
            slice.gauges.iter().map(move |((name, scope), own)| ((*name, &**scope), start_s, own))
        })
        .collect();
    gauges.sort_by_key(|(of, start_s, _)| (*of, *start_s));
    for rows in gauges.chunks(BATCH_ROWS) {
        let mut batch = Batch::default();
        rows.iter().for_each(|(of, start_s, folded)| batch.gauge(*start_s, *of, folded));
        writer.write(&batch.finish())?;
    }
    writer.close()?;
    Ok(())
}

fn properties(notes: Vec<KeyValue>) -> WriterProperties {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).expect("a level zstd has");
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("tilemark {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(notes))
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(GROUP_ROWS));
    let encodings = [
        (Encoding::DELTA_BINARY_PACKED, &["start_s", "count", "errors", "time_ns"][..]),
        (Encoding::BYTE_STREAM_SPLIT, &MEANS),
        (Encoding::DELTA_LENGTH_BYTE_ARRAY, &["histogram"]),
    ];
    for (encoding, names) in encodings {
        for name in names {
            let column = ColumnPath::from(*name);
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, encoding);
        }
    }
    properties.build()
}

const MEANS: [&str; 4] = ["mean_bytes", "mean_latency_ns", "mean_queue_ns", "mean_outstanding"];

/// Returns the mean of a sum over I/Os, with eight significant bits. Further bits would take most
/// of the space of these columns, and rates and latencies of a constant load vary more than that
/// from slice to slice.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "rounded")]
fn mean(sum: u64, count: u64) -> f32 {
    const DROPPED: u32 = f32::MANTISSA_DIGITS - 8;
    let mean = (sum as f64 / count.max(1) as f64) as f32;
    // Adding half of the last kept bit carries into it, and into the exponent where need be.
    f32::from_bits((mean.to_bits() + (1 << (DROPPED - 1))) >> DROPPED << DROPPED)
}

/// Returns the sum over I/Os that has this mean.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a foreign value saturates"
)]
fn sum(mean: f32, count: u64) -> u64 {
    (f64::from(mean) * count as f64).round() as u64
}

/// Columns while they are being filled.
#[derive(Default)]
struct Batch {
    starts: UInt64Builder,
    names: [StringDictionaryBuilder<UInt32Type>; 4],
    numbers: [UInt64Builder; 2],
    means: [Float32Builder; 4],
    outstanding_max: UInt32Builder,
    histograms: BinaryBuilder,
    of: [StringDictionaryBuilder<UInt32Type>; 2],
    time: UInt64Builder,
    values: [Float64Builder; 2],
    below: BooleanBuilder,
    bytes: Vec<u8>,
}

impl Batch {
    fn io(&mut self, start_s: u64, key: &Key, cell: &Cell) {
        self.starts.append_value(start_s);
        let class = key.class.map(SizeClass::name);
        let names = [Some(&*key.vm), Some(&*key.disk), Some(key.direction.name()), class];
        self.names.iter_mut().zip(names).for_each(|(column, name)| column.append_option(name));
        let numbers = [Some(cell.count), Some(cell.errors)];
        self.numbers.iter_mut().zip(numbers).for_each(|(column, value)| {
            column.append_option(value);
        });
        let sums = [Some(cell.bytes), Some(cell.latency_ns), cell.queue_ns, cell.outstanding];
        self.means.iter_mut().zip(sums).for_each(|(column, value)| {
            column.append_option(value.map(|value| mean(value, cell.count)));
        });
        self.outstanding_max.append_option(cell.outstanding_max);
        self.bytes.clear();
        cell.latencies.append_rounded(&mut self.bytes);
        self.histograms.append_value(&self.bytes);
        self.of.iter_mut().for_each(|column| column.append_null());
        self.time.append_null();
        self.values.iter_mut().for_each(|column| column.append_null());
        self.below.append_value(key.is_below);
    }

    fn gauge(&mut self, start_s: u64, (name, scope): (GaugeName, &str), folded: &Folded) {
        self.starts.append_value(start_s);
        self.names.iter_mut().for_each(|column| column.append_null());
        self.numbers.iter_mut().for_each(|column| column.append_null());
        self.means.iter_mut().for_each(|column| column.append_null());
        self.outstanding_max.append_null();
        self.histograms.append_null();
        self.of[0].append_value(name.name());
        self.of[1].append_value(scope);
        self.time.append_value(folded.time.0);
        self.values[0].append_value(folded.value);
        self.values[1].append_value(folded.most);
        self.below.append_null();
    }

    fn finish(mut self) -> RecordBatch {
        let mut columns: Vec<Arc<dyn Array>> = vec![Arc::new(self.starts.finish())];
        columns.extend(self.names.iter_mut().map(|own| Arc::new(own.finish()) as Arc<dyn Array>));
        columns.extend(self.numbers.iter_mut().map(|own| Arc::new(own.finish()) as _));
        columns.extend(self.means.iter_mut().map(|own| Arc::new(own.finish()) as _));
        columns.push(Arc::new(self.outstanding_max.finish()));
        columns.push(Arc::new(self.histograms.finish()));
        columns.extend(self.of.iter_mut().map(|own| Arc::new(own.finish()) as _));
        columns.push(Arc::new(self.time.finish()));
        columns.extend(self.values.iter_mut().map(|own| Arc::new(own.finish()) as _));
        columns.push(Arc::new(self.below.finish()));
        RecordBatch::try_new(Arc::clone(&COLUMNS), columns)
            .expect("all columns were filled row by row, in the order of the schema")
    }
}

/// Adds the rows of a file to slices of `width_s`, which the file's head contains.
///
/// # Errors
/// The file cannot be read, or has rows that no writer of this program wrote.
pub(crate) fn read_rows(
    file: &File,
    width_s: u64,
    slices: &mut BTreeMap<u64, Slice>,
    names: &mut Names,
) -> Result<(), Malformed> {
    let text = |error: &dyn std::fmt::Display| Malformed::from(error.to_string());
    let file = file.try_clone().map_err(|error| text(&error))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| text(&error))?;
    let batches = builder.with_batch_size(BATCH_ROWS).build().map_err(|error| text(&error))?;
    for batch in batches {
        put(&batch.map_err(|error| text(&error))?, width_s, slices, names)?;
    }
    Ok(())
}

/// Dictionary column, with the parsed meaning of each of its names.
struct Named<'a, T> {
    column: &'a DictionaryArray<UInt32Type>,
    /// A name without meaning is an error only where a row has it, because the dictionary of a
    /// column that is all null contains an empty name.
    meanings: Vec<Result<T, Malformed>>,
}

impl<'a, T: Clone> Named<'a, T> {
    fn of(
        batch: &'a RecordBatch,
        name: &str,
        mut meaning: impl FnMut(&str) -> Result<T, Malformed>,
    ) -> Result<Self, Malformed> {
        let column: &DictionaryArray<UInt32Type> = column(batch, name)?;
        let values: &StringArray = column
            .values()
            .as_any()
            .downcast_ref()
            .ok_or_else(|| format!("column \"{name}\" is not a column of strings"))?;
        let meanings = values.iter().map(|value| meaning(value.unwrap_or_default()));
        Ok(Self { column, meanings: meanings.collect() })
    }

    fn get(&self, row: usize) -> Result<Option<T>, Malformed> {
        if self.column.is_null(row) {
            return Ok(None);
        }
        let key = self.column.keys().value(row) as usize;
        let meaning = self.meanings.get(key).ok_or("a name is not in its dictionary")?;
        meaning.clone().map(Some)
    }
}

/// Returns the column of a batch with this name and type.
pub(crate) fn column<'a, T: Array + 'static>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a T, Malformed> {
    let column = batch.column_by_name(name);
    let column = column.ok_or_else(|| format!("there is no column \"{name}\""))?;
    let typed = column.as_any().downcast_ref();
    typed.ok_or_else(|| format!("column \"{name}\" has the type {}", column.data_type()).into())
}

/// Returns a column that earlier versions did not write; `None` if it is absent.
fn column_if_any<'a, T: Array + 'static>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<Option<&'a T>, Malformed> {
    batch.column_by_name(name).map(|_| column(batch, name)).transpose()
}

fn direction(name: &str) -> Result<Direction, Malformed> {
    let found = Direction::ALL.into_iter().find(|own| own.name() == name);
    found.ok_or_else(|| format!("a row has the direction \"{name}\"").into())
}

fn size_class(name: &str) -> Result<SizeClass, Malformed> {
    let found = SizeClass::all().into_iter().find(|own| own.name() == name);
    found.ok_or_else(|| format!("a row has the size class \"{name}\"").into())
}

fn put(
    batch: &RecordBatch,
    width_s: u64,
    slices: &mut BTreeMap<u64, Slice>,
    names: &mut Names,
) -> Result<(), Malformed> {
    let starts: &UInt64Array = column(batch, "start_s")?;
    let vms = Named::of(batch, "vm", |name| Ok(names.get(name)))?;
    let disks = Named::of(batch, "disk", |name| Ok(names.get(name)))?;
    let directions = Named::of(batch, "direction", direction)?;
    let classes = Named::of(batch, "size_class", size_class)?;
    // A later minor version may have more gauges.
    let gauges = Named::of(batch, "gauge", |name| {
        Ok(GaugeName::ALL.iter().find(|own| own.name() == name).copied())
    })?;
    let scopes = Named::of(batch, "scope", |name| Ok(names.get(name)))?;
    let [counts, errors, time]: [&UInt64Array; 3] =
        [column(batch, "count")?, column(batch, "errors")?, column(batch, "time_ns")?];
    let [bytes, latency, queue, outstanding]: [&Float32Array; 4] = [
        column(batch, MEANS[0])?,
        column(batch, MEANS[1])?,
        column(batch, MEANS[2])?,
        column(batch, MEANS[3])?,
    ];
    let outstanding_max: &UInt32Array = column(batch, "outstanding_max")?;
    let histograms: &BinaryArray = column(batch, "histogram")?;
    let [values, most]: [&Float64Array; 2] = [column(batch, "value")?, column(batch, "value_max")?];
    let below: Option<&BooleanArray> = column_if_any(batch, BELOW)?;
    let of = |column: &Float32Array, row| sum(column.value(row), counts.value(row));
    let maybe = |column: &Float32Array, row| (!column.is_null(row)).then(|| of(column, row));
    for row in 0..batch.num_rows() {
        let start_s = starts.value(row);
        let slice = slices.get_mut(&(start_s - start_s % width_s));
        let slice = slice.ok_or("a row belongs to no slice of the head")?;
        if let Some(gauge) = gauges.get(row)? {
            if let (Some(name), Some(scope)) = (gauge, scopes.get(row)?) {
                let (value, most) = (values.value(row), most.value(row));
                slice.read(name, &scope, Folded { time: Nanos(time.value(row)), value, most });
            }
            continue;
        }
        let (Some(vm), Some(disk), Some(direction)) =
            (vms.get(row)?, disks.get(row)?, directions.get(row)?)
        else {
            return Err("a row has no VM, disk or direction".into());
        };
        let is_below = below.is_some_and(|below| !below.is_null(row) && below.value(row));
        let key = Key { vm, disk, direction, class: classes.get(row)?, is_below };
        let cell = Cell {
            count: counts.value(row),
            errors: errors.value(row),
            bytes: of(bytes, row),
            latency_ns: of(latency, row),
            queue_ns: maybe(queue, row),
            outstanding: maybe(outstanding, row),
            outstanding_max: (!outstanding_max.is_null(row)).then(|| outstanding_max.value(row)),
            latencies: Latencies::of_rounded(histograms.value(row), counts.value(row))?,
        };
        slice.add(key, cell);
    }
    Ok(())
}
