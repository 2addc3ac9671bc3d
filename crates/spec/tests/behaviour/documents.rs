//! What the documents show can be loaded, and what can be loaded is in the documents.

use std::path::PathBuf;

use tilemark_spec as spec;

use spec::Kind;

fn document(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The blocks of a document that are whole files of one kind.
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
        };
        loaded.unwrap_or_else(|error| panic!("{:?}", miette::Report::new(error)));
    }
}

#[test]
fn the_examples_in_the_documents_load() {
    for kind in Kind::ALL {
        all_load("language.md", kind, 1);
    }
    all_load("guides/add-a-workload.md", Kind::Workload, 1);
}

/// All property names of a schema, and all values a key may have.
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
