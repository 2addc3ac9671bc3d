//! JSON Schema of the columns: one I/O as an object, and the storage of each value.

use arrow_schema::{DataType, Field};
use serde_json::{Map, Value, json};

use super::encode::OPERATIONS;
use super::schema;
use super::schema::SCHEMA;
use crate::Operation;

/// Largest number of outstanding I/Os in a record.
const OUTSTANDING_MAX: u32 = u16::MAX as u32;

/// Returns the JSON Schema of one row of a part: the fields that a query engine returns for each
/// I/O.
///
/// `x-parquet` describes the storage of a column; columns are in the order of the file. A test
/// compares the schema with the columns of a written file.
pub fn json_schema() -> Value {
    let fields = schema::schema();
    let columns = fields.fields().iter().map(|field| (field.name().clone(), column(field)));
    let properties: Map<String, Value> = columns.collect();
    // Traces that were written before this column came have none.
    let names: Vec<&String> = properties.keys().filter(|name| *name != schema::BELOW).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One I/O of a trace",
        "description": format!(
            "A row of a Parquet file of {SCHEMA}: docs/formats/trace.md. Rows are in order of \
             issue_ns, in a file and from a file to the next."
        ),
        "type": "object",
        "required": names,
        "properties": properties,
        "additionalProperties": true,
    })
}

fn column(field: &Field) -> Value {
    let (kind, physical, logical) = match field.data_type() {
        DataType::Int64 => ("integer", "INT64", None),
        DataType::Int32 => ("integer", "INT32", None),
        DataType::Boolean => ("boolean", "BOOLEAN", None),
        // All other columns are names.
        _ => ("string", "BYTE_ARRAY", Some("STRING")),
    };
    let kind = if field.is_nullable() { json!([kind, "null"]) } else { json!(kind) };
    let mut column = Map::new();
    column.insert("type".to_owned(), kind);
    column.insert("description".to_owned(), json!(words(field.name())));
    match field.name().as_str() {
        schema::OPERATION => {
            let names: Vec<&str> = OPERATIONS.iter().copied().map(Operation::name).collect();
            column.insert("enum".to_owned(), json!(names));
        }
        schema::OUTSTANDING => {
            column.insert("minimum".to_owned(), json!(0));
            column.insert("maximum".to_owned(), json!(OUTSTANDING_MAX));
        }
        _ if physical.starts_with("INT") => {
            column.insert("minimum".to_owned(), json!(0));
        }
        _ => {}
    }
    let mut stored = Map::new();
    stored.insert("physical".to_owned(), json!(physical));
    if let Some(logical) = logical {
        stored.insert("logical".to_owned(), json!(logical));
    }
    stored.insert(
        "repetition".to_owned(),
        json!(if field.is_nullable() { "OPTIONAL" } else { "REQUIRED" }),
    );
    column.insert("x-parquet".to_owned(), Value::Object(stored));
    Value::Object(column)
}

/// Returns the description of a column, with its unit.
fn words(name: &str) -> &'static str {
    match name {
        schema::ISSUE => {
            "Nanoseconds from the start of the trace to the issue of the I/O; its number if the \
             trace has no times."
        }
        schema::QUEUE => {
            "Nanoseconds that the I/O waited before the device got it; null if the source does not \
             report it."
        }
        schema::DEVICE_TIME => {
            "Nanoseconds from the device getting the I/O to its completion, or from issue to \
             completion if queue_ns is null; null without latencies."
        }
        schema::VM => "The VM, process or control group that sent the I/O; null if unknown.",
        schema::DEVICE => "The device of the I/O; null if unknown.",
        schema::OPERATION => "What it did.",
        schema::OFFSET => "First byte on the device; 0 for a flush.",
        schema::LENGTH => "Length in bytes; a discard moves no data.",
        schema::OUTSTANDING => {
            "I/Os of the same device in flight when this I/O was issued, itself not counted; null \
             without latencies."
        }
        "fua" => "The I/O was durable before it was acknowledged (force unit access).",
        "preflush" => "The device's volatile cache was flushed before the I/O.",
        "sync" => "A program waited for the I/O.",
        "readahead" => "The I/O was read-ahead.",
        "meta" => "The I/O was for metadata of a file system.",
        "error" => "The I/O failed.",
        "sequential" => {
            "The I/O began where the last I/O of the same direction on the same device ended."
        }
        schema::BELOW => {
            "The I/O is part of an I/O of an upper disk that is also in the trace: sums over \
             devices leave it out."
        }
        _ => "",
    }
}
