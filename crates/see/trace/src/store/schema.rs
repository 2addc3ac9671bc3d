//! Columns of a part, and the storage of each.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::Flags;

/// Version of the format, in `trace.json` and under `tilemark.trace` in every part. A reader
/// accepts every minor version of its own major version.
pub const SCHEMA: &str = "tilemark.trace/1.0";

pub(super) const ISSUE: &str = "issue_ns";
pub(super) const QUEUE: &str = "queue_ns";
pub(super) const DEVICE_TIME: &str = "device_ns";
pub(super) const VM: &str = "vm";
pub(super) const DEVICE: &str = "device";
pub(super) const OPERATION: &str = "operation";
pub(super) const OFFSET: &str = "offset_bytes";
pub(super) const LENGTH: &str = "length_bytes";
pub(super) const OUTSTANDING: &str = "outstanding";
pub(super) const BELOW: &str = "below";

/// Flags with one Boolean column each.
pub(super) const FLAGS: [(&str, Flags); 8] = [
    ("fua", Flags::FUA),
    ("preflush", Flags::PREFLUSH),
    ("sync", Flags::SYNC),
    ("readahead", Flags::READAHEAD),
    ("meta", Flags::META),
    ("error", Flags::ERROR),
    ("sequential", Flags::SEQUENTIAL),
    (BELOW, Flags::BELOW),
];

/// Compression level. Level 1 decodes as fast as any other, and files are only a few percent
/// larger.
const ZSTD_LEVEL: i32 = 1;
/// Maximum size of the dictionary of names in bytes, enough for 65,536 names.
const NAMES_BYTES_MAX: usize = 16 << 20;

/// Returns the type of name columns. Names repeat, so a dictionary stores each name once, and every
/// record has a number.
fn names() -> DataType {
    DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8))
}

pub(super) fn schema() -> SchemaRef {
    let mut fields = vec![
        Field::new(ISSUE, DataType::Int64, false),
        Field::new(QUEUE, DataType::Int64, true),
        Field::new(DEVICE_TIME, DataType::Int64, true),
        Field::new(VM, names(), true),
        Field::new(DEVICE, names(), true),
        Field::new(OPERATION, names(), false),
        Field::new(OFFSET, DataType::Int64, false),
        Field::new(LENGTH, DataType::Int64, false),
        Field::new(OUTSTANDING, DataType::Int32, true),
    ];
    fields.extend(FLAGS.map(|(name, _)| Field::new(name, DataType::Boolean, false)));
    Arc::new(Schema::new(fields))
}

pub(super) fn created_by() -> String {
    format!("tilemark {}", env!("CARGO_PKG_VERSION"))
}

pub(super) fn properties(rows_per_group: usize) -> WriterProperties {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).expect("a level zstd has");
    let mut properties = WriterProperties::builder()
        .set_created_by(created_by())
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "tilemark.trace".to_owned(),
            SCHEMA.to_owned(),
        )]))
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(rows_per_group))
        .set_sorting_columns(Some(vec![SortingColumn {
            column_idx: 0,
            descending: false,
            nulls_first: false,
        }]));
    for name in [VM, DEVICE, OPERATION] {
        properties = properties
            .set_column_dictionary_page_size_limit(ColumnPath::from(name), NAMES_BYTES_MAX);
    }
    for name in [ISSUE, QUEUE, DEVICE_TIME, OFFSET] {
        let column = ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}
