//! Documents and help that list kinds list exactly those in the code.

use std::collections::BTreeSet;

use spec::meter::MeterKind;
use spec::named::MachineKind;

use crate::documented::documents;
use crate::rig::{Workspace, out};

fn document(name: &str) -> String {
    std::fs::read_to_string(documents().join(name))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// First cells of the table below this head, without backquotes.
fn first_column(text: &str, head: &str) -> Vec<String> {
    let rows = text.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let cell = |line: &str| line.split('|').nth(1).unwrap_or_default().trim().replace('`', "");
    rows.take_while(|line| line.starts_with('|')).map(cell).collect()
}

/// Kinds of datastores, from the error for an unknown kind.
fn datastores() -> BTreeSet<String> {
    let error = "none:/x".parse::<datastore::Target>().expect_err("no kind").to_string();
    let list = error.rsplit("supported are ").next().expect("a list").replace(" and ", ", ");
    list.split(", ").map(str::to_owned).collect()
}

/// Words before `:PATH`.
fn before_path(line: &str) -> BTreeSet<String> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let word = |(at, _)| line[..at].rsplit(|c| !is_letter(c)).next().unwrap_or_default();
    line.match_indices(":PATH").map(word).map(str::to_owned).collect()
}

#[test]
fn lists_of_datastores_are_those_of_the_code() {
    let kinds = datastores();
    assert!(kinds.contains("dir") && kinds.len() >= 3, "{kinds:?}");
    let place = Workspace::new();
    let help = |verb: &str| (format!("help {verb}"), out(&place.output(&[verb, "-h"])));
    let texts = ["run", "check", "calibrate", "cleanup", "replay"].map(help);
    let pages = ["language.md", "safety.md", "schemas/plan.json"];
    let pages = pages.map(|name| (name.to_owned(), document(name)));
    for (name, text) in texts.into_iter().chain(pages) {
        let is_list = |line: &&str| before_path(line).len() > 1;
        let lists: Vec<&str> = text.lines().filter(is_list).collect();
        assert!(!lists.is_empty(), "{name} lists no kinds");
        for line in lists {
            assert_eq!(before_path(line), kinds, "{name}: {line}");
        }
    }
}

#[test]
fn table_of_trace_formats_is_that_of_the_code() {
    let formats: Vec<&str> = trace::Format::all().map(trace::Format::name).collect();
    assert_eq!(first_column(&document("formats/imports.md"), "| name |"), formats);
}

#[test]
fn table_of_meters_is_that_of_the_code() {
    let kinds: Vec<&str> = MeterKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(first_column(&document("guides/watts.md"), "| kind |"), kinds);
}

#[test]
fn columns_of_platforms_are_those_of_the_code() {
    let text = document("guides/named-machines.md");
    let head = text.lines().find(|line| line.starts_with("| key |")).expect("a table of keys");
    let columns: Vec<&str> = head.trim_matches('|').split('|').skip(1).map(str::trim).collect();
    let kinds: Vec<&str> = MachineKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(columns, kinds);
}
