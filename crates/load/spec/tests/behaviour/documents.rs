//! Examples in the documents load, and everything that loads is in the documents.

use std::path::PathBuf;

use tilemark_spec as spec;

use spec::Kind;
use units::{Bytes, Nanos};

use crate::messages::render;

fn document(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Code blocks of a document that are whole files of one kind.
fn examples(text: &str, kind: Kind) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        match &mut open {
            Some(_) if line.trim() == "```" => found.extend(open.take().map(|(_, block)| block)),
            Some((margin, block)) => {
                block.push_str(line.get(*margin..).unwrap_or_default());
                block.push('\n');
            }
            None if line.trim() == format!("```toml {}", kind.name()) => {
                open = Some((indent, String::new()));
            }
            None => {}
        }
    }
    found
}

fn all_load(name: &str, kind: Kind, count: usize) {
    let blocks = examples(&document(name), kind);
    assert_eq!(blocks.len(), count, "{} examples in {name}", kind.name());
    for text in blocks {
        let loaded = match kind {
            Kind::Plan => spec::load_plan(name, &text).map(drop),
            Kind::Tile => spec::load_tile(name, &text).map(drop),
            Kind::Workload => spec::load_workload(name, &text).map(drop),
            Kind::Array => spec::load_array(name, &text).map(drop),
            Kind::Study => spec::load_study(name, &text).map(drop),
        };
        loaded.unwrap_or_else(|error| panic!("{}", render(&error)));
    }
}

#[test]
fn the_examples_in_the_documents_load() {
    for kind in Kind::ALL {
        // An operation is a workload; and two more plans have events of real and modelled hosts.
        let count = match kind {
            Kind::Plan => 3,
            Kind::Workload => 2,
            _ => 1,
        };
        all_load("language.md", kind, count);
    }
    all_load("guides/add-a-workload.md", Kind::Workload, 1);
}

/// Property names of a schema, and values that a key may have.
fn words(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, inner) in map {
                match (key.as_str(), inner) {
                    ("properties", serde_json::Value::Object(keys)) => {
                        found.extend(keys.keys().cloned());
                    }
                    ("const", serde_json::Value::String(word)) => found.push(word.clone()),
                    ("enum", serde_json::Value::Array(list)) => {
                        found.extend(list.iter().filter_map(|w| w.as_str()).map(str::to_owned));
                    }
                    _ => {}
                }
                words(inner, found);
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|inner| words(inner, found)),
        _ => {}
    }
}

#[test]
fn the_reference_explains_every_key_and_every_choice() {
    let text = document("language.md");
    for kind in Kind::ALL {
        let mut all = Vec::new();
        words(&spec::schema(kind), &mut all);
        assert!(all.len() > 3, "{}: {all:?}", kind.name());
        for word in all {
            let spelled = [
                format!("`{word}"),
                format!("\"{word}\""),
                format!("{word} ="),
                format!("[{word}]"),
                format!(".{word}]"),
            ];
            let explained = spelled.iter().any(|form| text.contains(form.as_str()));
            assert!(explained, "{} key or choice \"{word}\" is not in language.md", kind.name());
        }
    }
}

/// A row of the table in `data/tiles/README.md`.
fn row(name: &str) -> String {
    let tile = spec::shipped::tile(name).expect("loads");
    let demand = spec::demand::of_tile(&tile, Nanos::from_millis(1)).expect("bounded");
    let total = |of: fn(&spec::workload::Workload) -> Bytes| -> Bytes {
        tile.workloads.iter().map(|(workload, count)| of(workload) * u64::from(*count)).sum()
    };
    let hot = total(spec::demand::working_set);
    let limits: usize = tile.workloads.iter().map(|(workload, _)| workload.limits.len()).sum();
    format!(
        "| `{name}` | {} | {} | {} | {:.0} | {:.0} % | {:.1} | {} |\n",
        tile.vms(),
        total(spec::demand::footprint),
        if hot == Bytes::ZERO { "-".to_owned() } else { hot.to_string() },
        demand.io_per_s(),
        demand.read_share() * 100.0,
        (demand.read_bytes_per_s + demand.written_bytes_per_s) / Bytes::MIB.as_f64(),
        if limits == 0 { "none".to_owned() } else { limits.to_string() },
    )
}

#[test]
fn the_table_of_shipped_tiles_is_what_their_files_say() {
    let text = document("../data/tiles/README.md");
    let rule = "|---|---|---|---|---|---|---|---|\n";
    let (before, rest) = text.split_once(rule).expect("a table");
    let (_, after) = rest.split_once("\nNone of").expect("text behind the table");
    let rows: String = spec::shipped::tile_names().map(row).collect();
    let fresh = format!("{before}{rule}{rows}\nNone of{after}");
    if std::env::var_os("TILEMARK_UPDATE").is_some() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../data/tiles/README.md");
        std::fs::write(path, &fresh).expect("writable tiles/README.md");
    }
    assert!(fresh == document("../data/tiles/README.md"), "run the tests with TILEMARK_UPDATE=1");
}

/// A row of the table in `data/arrays/README.md`.
fn array_row(name: &str) -> String {
    let array = spec::shipped::array(name).expect("loads");
    let hosts = array.hosts.as_ref().map_or(0, |hosts| hosts.count);
    let tiers: Vec<_> =
        array.tiers.iter().map(|tier| format!("{} {}", tier.name, tier.size)).collect();
    let tiers = if tiers.is_empty() { "-".to_owned() } else { tiers.join(", ") };
    let (disks, room) = (array.data_disks(1), array.capacity(1));
    format!("| `{name}` | {hosts} | {disks} | {room} | {tiers} | {} |\n", array.title)
}

#[test]
fn the_table_of_shipped_arrays_is_what_their_files_say() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../data/arrays/README.md");
    let rule = "|---|---|---|---|---|---|\n";
    let text = document("../data/arrays/README.md");
    let (before, _) = text.split_once(rule).expect("a table");
    let rows: String = spec::shipped::array_names().map(array_row).collect();
    let fresh = format!("{before}{rule}{rows}");
    if std::env::var_os("TILEMARK_UPDATE").is_some() {
        std::fs::write(path, &fresh).expect("writable arrays/README.md");
    }
    assert!(fresh == document("../data/arrays/README.md"), "run the tests with TILEMARK_UPDATE=1");
}

/// Table of the functions of formulas.
fn functions() -> String {
    let mut text = "| function | unit | meaning |\n|---|---|---|\n".to_owned();
    for each in spec::study::formula::FUNCTIONS {
        text += &format!("| `{}` | {} | {} |\n", each.usage(), each.unit, each.meaning);
    }
    text
}

#[test]
fn the_table_of_functions_is_that_of_the_program() {
    let text = document("language.md");
    let (begin, end) = ("from the program -->\n", "<!-- end of functions -->");
    let (before, rest) = text.split_once(begin).expect("a mark");
    let (_, after) = rest.split_once(end).expect("a mark");
    let fresh = format!("{before}{begin}{}{end}{after}", functions());
    if std::env::var_os("TILEMARK_UPDATE").is_some() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs/language.md");
        std::fs::write(path, &fresh).expect("writable docs/language.md");
    }
    assert!(fresh == document("language.md"), "run the tests with TILEMARK_UPDATE=1");
}
