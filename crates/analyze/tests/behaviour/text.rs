//! What people and other programs read.

use tilemark_analyze::{Settings, View, json_schema, text};

use crate::findings::troubled;
use crate::support::{everything, fold_of, subject};

#[test]
fn the_text_of_every_view() {
    let answer = everything(fold_of(&troubled(), &Settings::default()), &subject(2));
    let views: Vec<View> = View::ALL.into_iter().filter(|view| *view != View::Histograms).collect();
    insta::assert_snapshot!("every_view", text(&answer, &views));
}

#[test]
fn tables_of_csv_have_a_name_for_every_column() {
    let answer = everything(fold_of(&troubled(), &Settings::default()), &subject(2));
    for table in answer.tables() {
        let mut csv = Vec::new();
        table.write_csv(&mut csv).expect("memory does not fail");
        let csv = String::from_utf8(csv).expect("text");
        let columns = csv.lines().next().expect("a line of names").split(',').count();
        if table.name != "findings" {
            assert!(csv.lines().all(|line| line.split(',').count() == columns), "{}", table.name);
        }
        let mut parquet = Vec::new();
        table.write_parquet(&mut parquet).expect("memory does not fail");
        assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    }
}

#[test]
fn the_stored_schema_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemas/analysis-1.0.json");
    let fresh = serde_json::to_string_pretty(&json_schema()).expect("JSON") + "\n";
    if std::env::var_os("TILEMARK_UPDATE").is_some() {
        std::fs::write(path, &fresh).expect("writable docs/schemas");
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(stored == fresh, "docs/schemas/analysis-1.0.json: run this with TILEMARK_UPDATE=1");
}
