use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, Float64Array, RecordBatch, StringArray};
use arrow_array::{UInt32Array, UInt64Array};
use arrow_schema::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use stats::Compact;
use untrusted::Malformed;

use super::head::Head;
use super::line::{LATENCIES, Line, NUMBERS, REALS, Table};
use super::rows::GaugeOf;
use super::{ROLLUP_VERSION, Rollup};
use crate::gauge::{GaugeName, ScopeKind};
use crate::hdr_v2;
use crate::rundir::files;
use crate::series::{GaugeRecord, SeriesError, read_run};
use crate::slice::{Direction, SizeClass};

const VERSION_KEY: &str = "tilemark.rollup";
const HEAD_KEY: &str = "tilemark.rollup.head";
/// Major version of files in which tiers had columns of their own and which had no gauges of the
/// host.
const WITHOUT_GAUGES: &str = "1";
/// Number of rows per batch in memory, and per row group.
const BATCH_ROWS: usize = 4096;
const GROUP_ROWS: usize = 65_536;

impl Rollup {
    /// Writes `rollup.parquet` into a run directory, atomically.
    pub fn write(&self, directory: &Path) -> Result<(), SeriesError> {
        let path = directory.join(files::ROLLUP);
        let mut name = path.clone().into_os_string();
        name.push(files::TEMPORARY);
        let temporary = std::path::PathBuf::from(name);
        let failed = || SeriesError::parquet("writing", &temporary);
        let file = File::create(&temporary).map_err(SeriesError::io("creating", &temporary))?;
        let schema = batch(&[]).schema();
        let properties = properties(&Head::of(self).to_json());
        let mut writer = ArrowWriter::try_new(&file, schema, Some(properties)).map_err(failed())?;
        let mut lines = self.lines();
        loop {
            let next: Vec<Line> = lines.by_ref().take(BATCH_ROWS).collect();
            if next.is_empty() {
                break;
            }
            writer.write(&batch(&next)).map_err(failed())?;
        }
        writer.close().map_err(failed())?;
        file.sync_all()
            .and_then(|()| fs::rename(&temporary, &path))
            .map_err(SeriesError::io("writing", &temporary))
    }

    /// Reads `rollup.parquet` from a run directory.
    pub fn read(directory: &Path) -> Result<Self, SeriesError> {
        let path = directory.join(files::ROLLUP);
        let content = |reason| SeriesError::Content { path: path.clone(), reason };
        let file = untrusted::open(&path).map_err(SeriesError::io("opening", &path))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)
            .map_err(SeriesError::parquet("reading", &path))?;
        let notes = builder.metadata().file_metadata().key_value_metadata();
        let note = |key: &str| {
            let found = notes.into_iter().flatten().find(|note| note.key == key);
            let value = found.and_then(|note| note.value.as_deref());
            value.ok_or_else(|| Malformed::from(format!("it has no note \"{key}\"")))
        };
        let version = note(VERSION_KEY).map_err(content)?;
        let major = version.split('.').next();
        if major != ROLLUP_VERSION.split('.').next() && major != Some(WITHOUT_GAUGES) {
            return Err(content(
                format!("its version is {version}, but only 1 and 2 are supported").into(),
            ));
        }
        let has_gauges = major != Some(WITHOUT_GAUGES);
        let mut rollup = note(HEAD_KEY).and_then(Head::parse).map_err(content)?;
        let batches = builder
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(SeriesError::parquet("reading", &path))?;
        for batch in batches {
            let batch = batch.map_err(|error| content(error.to_string().into()))?;
            put(&mut rollup, &batch).map_err(content)?;
        }
        if !has_gauges {
            let stored: Result<Vec<GaugeRecord>, _> = read_run(directory)?.collect();
            rollup.add_stored(stored?);
        }
        Ok(rollup)
    }
}

fn properties(head: &str) -> WriterProperties {
    let level = ZstdLevel::try_new(3).expect("a level zstd has");
    let note = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let properties = WriterProperties::builder()
        .set_created_by(format!("tilemark {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_key_value_metadata(Some(vec![
            note(VERSION_KEY, ROLLUP_VERSION),
            note(HEAD_KEY, head),
            note("tilemark.histogram", "HdrHistogram V2, 2 significant digits, 1 ns to 1 h"),
        ]));
    let histograms = LATENCIES.map(|name| ColumnPath::from(format!("{name}_histogram")));
    // Values are all different, so a dictionary would only take room.
    let plain = |properties: parquet::file::properties::WriterPropertiesBuilder, column| {
        properties.set_column_dictionary_enabled(column, false)
    };
    histograms.into_iter().fold(properties, plain).build()
}

fn batch(lines: &[Line]) -> RecordBatch {
    let mut columns: Vec<(String, ArrayRef, bool)> = Vec::new();
    let mut push = |name: String, array: ArrayRef, nullable| columns.push((name, array, nullable));
    let tables = lines.iter().map(|line| line.table.name());
    push("table".to_owned(), Arc::new(StringArray::from_iter_values(tables)), false);
    let spans = lines.iter().map(|line| line.span);
    push("span".to_owned(), Arc::new(UInt32Array::from_iter_values(spans)), false);
    let buckets = lines.iter().map(|line| line.bucket);
    push("bucket".to_owned(), Arc::new(UInt32Array::from_iter_values(buckets)), false);
    let who = lines.iter().map(|line| line.who);
    push("who".to_owned(), Arc::new(who.collect::<UInt32Array>()), true);
    let directions = lines.iter().map(|line| line.direction.map(Direction::name));
    push("direction".to_owned(), Arc::new(directions.collect::<StringArray>()), true);
    let classes = lines.iter().map(|line| line.class.map(SizeClass::name));
    push("size_class".to_owned(), Arc::new(classes.collect::<StringArray>()), true);
    let of = || lines.iter().map(|line| line.gauge.as_ref());
    let gauges = of().map(|of| of.map(|of| of.name.name()));
    push("gauge".to_owned(), Arc::new(gauges.collect::<StringArray>()), true);
    let scopes = of().map(|of| of.map(|of| of.scope.as_str()));
    push("scope".to_owned(), Arc::new(scopes.collect::<StringArray>()), true);
    for (at, name) in NUMBERS.iter().enumerate() {
        let values = lines.iter().map(|line| line.numbers[at]);
        push((*name).to_owned(), Arc::new(values.collect::<UInt64Array>()), true);
    }
    for (at, name) in REALS.iter().enumerate() {
        let values = lines.iter().map(|line| line.reals[at]);
        push((*name).to_owned(), Arc::new(values.collect::<Float64Array>()), true);
    }
    for (at, name) in LATENCIES.iter().enumerate() {
        let values = || lines.iter().map(|line| line.latencies[at].as_ref());
        let sums = values().map(|latency| latency.map(|latency| latency.sum().0));
        push(format!("{name}_sum_ns"), Arc::new(sums.collect::<UInt64Array>()), true);
        let over = values().map(|latency| latency.map(|latency| latency.saturated));
        push(format!("{name}_over_1h"), Arc::new(over.collect::<UInt64Array>()), true);
        let bytes = values().map(|latency| latency.map(hdr_v2::encode));
        let bytes: Vec<Option<Vec<u8>>> = bytes.collect();
        let bytes = bytes.iter().map(|bytes| bytes.as_deref());
        push(format!("{name}_histogram"), Arc::new(bytes.collect::<BinaryArray>()), true);
    }
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
        .into_iter()
        .map(|(name, array, nullable)| {
            (Field::new(name, array.data_type().clone(), nullable), array)
        })
        .unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .expect("all columns were made from the same lines")
}

fn column<'a, T: Array + 'static>(batch: &'a RecordBatch, name: &str) -> Result<&'a T, Malformed> {
    let column = batch.column_by_name(name);
    let column = column.ok_or_else(|| format!("there is no column \"{name}\""))?;
    let typed = column.as_any().downcast_ref();
    typed.ok_or_else(|| format!("column \"{name}\" has the type {}", column.data_type()).into())
}

/// Returns a column that only some versions have; `None` if it is missing.
fn if_there<'a, T: Array + 'static>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<Option<&'a T>, Malformed> {
    batch.column_by_name(name).map(|_| column(batch, name)).transpose()
}

/// Returns the columns with counters of tiers in files of version 1. Each column has the name of
/// its gauge.
fn tier_columns(batch: &RecordBatch) -> Result<Vec<(GaugeName, &UInt64Array)>, Malformed> {
    let of_tiers = GaugeName::ALL.iter().filter(|name| name.scope() == ScopeKind::Tier);
    let found = of_tiers.map(|gauge| {
        let column = gauge.name().trim_start_matches("tier.");
        Ok(if_there(batch, column)?.map(|column| (*gauge, column)))
    });
    found.filter_map(Result::transpose).collect()
}

fn put(rollup: &mut Rollup, batch: &RecordBatch) -> Result<(), Malformed> {
    let tables: &StringArray = column(batch, "table")?;
    let (spans, buckets): (&UInt32Array, &UInt32Array) =
        (column(batch, "span")?, column(batch, "bucket")?);
    let who: &UInt32Array = column(batch, "who")?;
    let (directions, classes): (&StringArray, &StringArray) =
        (column(batch, "direction")?, column(batch, "size_class")?);
    let numbers: Vec<&UInt64Array> =
        NUMBERS.iter().map(|name| column(batch, name)).collect::<Result<_, _>>()?;
    let reals: Vec<Option<&Float64Array>> =
        REALS.iter().map(|name| if_there(batch, name)).collect::<Result<_, _>>()?;
    let gauges: Option<(&StringArray, &StringArray)> =
        if_there(batch, "gauge")?.zip(if_there(batch, "scope")?);
    let tiers = tier_columns(batch)?;
    let dirty_most: Option<&UInt64Array> = if_there(batch, "dirty_bytes_max")?;
    let latencies: Vec<Latencies> =
        LATENCIES.iter().map(|name| Latencies::of(batch, name)).collect::<Result<_, _>>()?;
    for row in 0..batch.num_rows() {
        let name = tables.value(row);
        // A later minor version may have more tables.
        let Some(table) = Table::ALL.into_iter().find(|table| table.name() == name) else {
            continue;
        };
        let place = (spans.value(row), buckets.value(row));
        let who = (!who.is_null(row)).then(|| who.value(row));
        let mut line = Line::empty(table, place, who);
        line.direction = named(directions, row, &Direction::ALL, Direction::name)?;
        line.class = named(classes, row, &SizeClass::all(), SizeClass::name)?;
        if table == Table::Gauges {
            let known = gauges.and_then(|(names, scopes)| {
                let name = GaugeName::ALL.iter().find(|name| name.name() == names.value(row))?;
                Some(GaugeOf { name: *name, scope: scopes.value(row).to_owned() })
            });
            // A later version may have more gauges.
            if known.is_none() {
                continue;
            }
            line.gauge = known;
        }
        for (slot, column) in line.numbers.iter_mut().zip(&numbers) {
            *slot = (!column.is_null(row)).then(|| column.value(row));
        }
        for (slot, column) in line.reals.iter_mut().zip(&reals) {
            *slot = column.filter(|own| !own.is_null(row)).map(|own| own.value(row));
        }
        for (slot, columns) in line.latencies.iter_mut().zip(&latencies) {
            *slot = columns.get(row)?;
        }
        if let (Table::Tiers, Some(tier)) = (table, line.who) {
            for (gauge, column) in tiers.iter().filter(|(_, column)| !column.is_null(row)) {
                let most = dirty_most.filter(|_| *gauge == GaugeName::TierDirty);
                let (value, most) = (column.value(row), most.unwrap_or(column).value(row));
                rollup.put_counter(place, (tier, *gauge), (value, most));
            }
        }
        rollup.put(line)?;
    }
    Ok(())
}

fn named<T: Copy>(
    column: &StringArray,
    row: usize,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<Option<T>, Malformed> {
    if column.is_null(row) {
        return Ok(None);
    }
    let text = column.value(row);
    let found = all.iter().copied().find(|value| name(*value) == text);
    found.map(Some).ok_or_else(|| format!("a row holds \"{text}\"").into())
}

struct Latencies<'a> {
    sums: &'a UInt64Array,
    over: &'a UInt64Array,
    histograms: &'a BinaryArray,
}

impl<'a> Latencies<'a> {
    fn of(batch: &'a RecordBatch, name: &str) -> Result<Self, Malformed> {
        Ok(Self {
            sums: column(batch, &format!("{name}_sum_ns"))?,
            over: column(batch, &format!("{name}_over_1h"))?,
            histograms: column(batch, &format!("{name}_histogram"))?,
        })
    }

    fn get(&self, row: usize) -> Result<Option<Compact>, Malformed> {
        if self.histograms.is_null(row) {
            return Ok(None);
        }
        let mut found = hdr_v2::decode(self.histograms.value(row))
            .map_err(|reason| format!("a histogram: {reason}"))?;
        (found.sum_ns, found.saturated) = (self.sums.value(row).into(), self.over.value(row));
        Ok(Some(found))
    }
}
