//! `docs/formats/trace.md` is true: its columns are those of the files, its programs run.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::LogicalType;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use tilemark_trace::generate::{Generator, Recipe};
use tilemark_trace::store::{self, Columns, Options};
use tilemark_trace::{Flags, IoRecord};

use crate::round_trip::read_all;

/// Enough for several parts, VMs and operations.
const RECIPE: Recipe = Recipe { records: 20_000, seed: 3, vms: 4, iops: 5000 };

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/formats/trace.md");
    fs::read_to_string(path).expect("the document")
}

/// The trace the document's programs read, and its records.
fn trace(directory: &Path) -> Vec<IoRecord> {
    let path = directory.join("vm.tmt");
    let options = Options { records_per_part: 7000, records_per_group: 3000, ..Options::default() };
    store::save(&mut Generator::new(&RECIPE), &path, options).expect("storing");
    let store = store::open(&path).expect("opening");
    read_all(&mut store.source(Columns::ALL))
}

#[test]
fn every_column_is_documented_with_its_type_and_in_order() {
    let directory = tempfile::tempdir().expect("a directory");
    trace(directory.path());
    let part = File::open(directory.path().join("vm.tmt/part-000000.parquet")).expect("a part");
    let builder = ParquetRecordBatchReaderBuilder::try_new(part).expect("Parquet");
    let found: Vec<String> = builder
        .schema()
        .fields()
        .iter()
        .map(|field| {
            let kind = match field.data_type().to_string().as_str() {
                "Int64" => "i64",
                "Int32" => "i32",
                "Boolean" => "bool",
                other if other.starts_with("Dictionary(UInt16, Utf8") => "text",
                other => panic!("{other} is not in the document"),
            };
            let null = if field.is_nullable() { "?" } else { "" };
            format!("| `{}` | {kind}{null} |", field.name())
        })
        .collect();
    let document = document();
    let parts = document.split("\n## ").find(|it| it.starts_with("Parts")).expect("a chapter");
    let rows: Vec<&str> = parts.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows.len(), found.len());
    for (row, found) in rows.iter().zip(&found) {
        assert!(row.starts_with(found), "{found} is documented as {row}");
    }
}

#[test]
fn the_stored_schema_is_that_of_the_columns_of_a_file() {
    let schema = store::json_schema();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/schemas/trace-1.0.json");
    let fresh = serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
    if std::env::var_os("TILEMARK_UPDATE").is_some() {
        fs::write(path, &fresh).expect("writable docs/schemas");
    }
    let stored = fs::read_to_string(path).unwrap_or_default();
    assert!(stored == fresh, "docs/schemas/trace-1.0.json: run this with TILEMARK_UPDATE=1");

    let directory = tempfile::tempdir().expect("a directory");
    trace(directory.path());
    let part = File::open(directory.path().join("vm.tmt/part-000000.parquet")).expect("a part");
    let part = SerializedFileReader::new(part).expect("Parquet");
    let columns = part.metadata().file_metadata().schema_descr().columns().to_vec();
    let properties = schema["properties"].as_object().expect("an object");
    assert_eq!(properties.len(), columns.len());
    for ((name, property), column) in properties.iter().zip(&columns) {
        assert_eq!(name, column.name());
        let stored = &property["x-parquet"];
        assert_eq!(stored["physical"], column.physical_type().to_string(), "{name}");
        let repetition = column.self_type().get_basic_info().repetition();
        assert_eq!(stored["repetition"], repetition.to_string(), "{name}");
        let is_text = matches!(column.logical_type_ref(), Some(LogicalType::String));
        assert_eq!(stored.get("logical").is_some(), is_text, "{name}");
        assert!(property["description"].as_str().is_some_and(|words| !words.is_empty()), "{name}");
    }
    for row in part.get_row_iter(None).expect("rows").take(2000) {
        let row = row.expect("a row");
        let values = row.get_column_iter().map(|(name, value)| (name.as_str(), value));
        for ((name, value), (wanted, property)) in values.zip(properties) {
            assert_eq!(name, wanted);
            assert!(conforms(property, value), "{name} is {value}, and the schema says {property}");
        }
    }
}

/// Checks that the schema allows a value.
fn conforms(property: &serde_json::Value, value: &Field) -> bool {
    let (kind, value) = match value {
        Field::Null => ("null", serde_json::Value::Null),
        Field::Bool(value) => ("boolean", (*value).into()),
        Field::Int(value) => ("integer", (*value).into()),
        Field::Long(value) => ("integer", (*value).into()),
        Field::Str(value) => ("string", value.as_str().into()),
        _ => return false,
    };
    let allowed = &property["type"];
    let is_kind = |allowed: &serde_json::Value| *allowed == kind;
    let below = property["minimum"].as_i64().zip(value.as_i64()).is_some_and(|(a, b)| b < a);
    let is_named = property["enum"].as_array().is_none_or(|names| names.contains(&value));
    let is_allowed =
        is_kind(allowed) || allowed.as_array().is_some_and(|it| it.iter().any(is_kind));
    is_allowed && !below && is_named
}

#[test]
fn duckdb_and_polars_count_what_we_count() {
    let directory = tempfile::tempdir().expect("a directory");
    let expected = counted(&trace(directory.path()));
    for package in ["duckdb", "polars"] {
        let Some(rows) = run(package, directory.path()) else { continue };
        assert_eq!(rows, expected, "{package} counts otherwise");
    }
}

/// VM, operation, I/Os, bytes, sequential ones, longest latency: one line each, in order.
fn counted(records: &[IoRecord]) -> Vec<String> {
    let vms = ["database-00", "log-01", "backup-02", "desktop-03"];
    let mut rows: BTreeMap<(&str, &str), [u64; 4]> = BTreeMap::new();
    for record in records {
        let row = rows.entry((vms[usize::from(record.vm.0)], record.operation.name()));
        let [ios, bytes, sequential, longest] = row.or_default();
        *ios += 1;
        *bytes += u64::from(record.length);
        *sequential += u64::from(record.flags.has(Flags::SEQUENTIAL));
        *longest = (*longest).max(record.latency().expect("there are latencies").0);
    }
    let line = |((vm, operation), numbers): (&(&str, &str), &[u64; 4])| {
        let [ios, bytes, sequential, longest] = numbers;
        format!("{vm} {operation} {ios} {bytes} {sequential} {longest}")
    };
    rows.iter().map(line).collect()
}

/// Findings of the document's program for this package; `None`, with the reason printed, if it
/// cannot run here.
fn run(package: &str, directory: &Path) -> Option<Vec<String>> {
    let document = document();
    let head = format!("```python\n# {package}\n");
    let begin = document.find(&head).expect("a program") + head.len();
    let length = document[begin..].find("```").expect("its end");
    let program = &document[begin..begin + length];
    let python =
        |code: &str| Command::new("python3").arg("-c").arg(code).current_dir(directory).output();
    match python(&format!("import {package}")) {
        Err(error) => {
            eprintln!("skipped: python3: {error}");
            return None;
        }
        Ok(output) if !output.status.success() => {
            eprintln!("skipped: python3 has no {package} (pip install {package})");
            return None;
        }
        Ok(_) => {}
    }
    let output =
        python(&format!("{program}\nfor row in rows: print(*row)")).expect("it ran before");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{package}: {}", text(&output.stderr));
    Some(text(&output.stdout).lines().map(str::to_owned).collect())
}
