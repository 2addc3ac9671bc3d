//! Output of the array commands.

use crate::redact;
use crate::rig::{Workspace, err, out};

fn said(place: &Workspace, args: &[&str]) -> String {
    let output = place.output(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", err(&output));
    assert_eq!(err(&output), "", "{args:?}");
    redact::text(place, &out(&output))
}

fn refused(place: &Workspace, args: &[&str]) -> String {
    let output = place.output(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert_eq!(out(&output), "", "{args:?} printed data");
    format!("$ tilemark {}\n{}\n", args.join(" "), redact::text(place, &err(&output)))
}

#[test]
fn the_list_of_arrays() {
    let place = Workspace::new();
    let list = said(&place, &["array", "list"]);
    assert_eq!(said(&place, &["array"]), list, "without a verb it lists");
    insta::assert_snapshot!("arrays", list);
    let rows: serde_json::Value =
        serde_json::from_str(&said(&place, &["array", "list", "--format", "json"])).expect("JSON");
    assert_eq!(rows.as_array().expect("rows").len() + 1, list.lines().count());
}

#[test]
fn show_prints_the_file_and_a_copy_of_it_is_an_array_again() {
    let place = Workspace::new();
    let text = said(&place, &["array", "show", "vnx5500"]);
    assert_eq!(text, include_str!("../../../../../data/arrays/vnx5500.toml"));
    place.write("mine.toml", &text.replace("10k\"\ncount = 8", "10k\"\ncount = 6"));
    let mine = said(&place, &["array", "show", "mine.toml", "--format", "json"]);
    let mine: serde_json::Value = serde_json::from_str(&mine).expect("one JSON document");
    assert_eq!(mine["pool"][0]["count"], 6);
    assert_eq!(mine["controller"]["write-memory"]["high"], "80%", "defaults are filled in");
}

#[test]
fn show_with_changes_prints_the_array_that_comes_out() {
    let place = Workspace::new();
    let args = ["array", "show", "vnx5500", "--with", "tier.fast.remove=true"];
    let changes = ["--with", "pool.lun1.count=4", "--with", "controller.remove=true"];
    let text = said(&place, &[&args[..], &changes].concat());
    insta::assert_snapshot!("array_with_changes", text);
    place.write("mine.toml", &text);
    assert_eq!(said(&place, &["array", "show", "mine.toml"]), text);
}

#[test]
fn mistakes_in_arrays_are_answered_with_their_place() {
    let place = Workspace::new();
    let text = include_str!("../../../../../data/arrays/hdd-raid10.toml");
    place.write("odd.toml", &text.replace("count = 24", "count = 23"));
    place.write("unknown.toml", &text.replace("hdd-10k\"", "hdd-10\""));
    let with = |change| ["array", "show", "vnx5500", "--with", change];
    let answers = [
        refused(&place, &["array", "show", "vnx550"]),
        refused(&place, &["array", "show", "absent.toml"]),
        refused(&place, &["array", "show", "odd.toml"]),
        refused(&place, &["array", "show", "unknown.toml"]),
        refused(&place, &with("tier.fast.size=400GiB")),
        refused(&place, &with("tier.fsat.size=40GiB")),
        refused(&place, &with("tier.fast.size=92")),
        refused(&place, &with("tier.gone.remove=true")),
        refused(&place, &with("tier.fast.size")),
    ];
    insta::assert_snapshot!("wrong_arrays", answers.concat());
}
