//! Studies, from the list to the page.

use rustix::process::Signal;

use crate::rig::{Place, Running, err, out};

/// One claim of the example that needs one step, once.
const BRIEF: [&str; 7] = ["study", "run", "example", "--only", "E2", "--repeats", "1"];

#[test]
fn a_study_is_listed_shown_and_run() {
    let place = Place::new();
    assert!(out(&place.output(&["study"])).contains("\nexample "), "the list");
    let shown = out(&place.output(&["study", "show", "example"]));
    assert!(shown.contains("E4     predicted") && shown.contains("at least 10"), "{shown}");
    let file = out(&place.output(&["study", "show", "example", "--toml"]));
    assert!(file.contains("[[claim]]"), "{file}");

    let output = place.output(&[&BRIEF[..], &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(err(&output).contains("1/1  disks 1 tile, run 1: passed"), "{}", err(&output));
    let result: serde_json::Value = serde_json::from_str(&out(&output)).expect("one document");
    let claim = &result["claims"][0];
    assert_eq!((claim["id"].as_str(), claim["met"].as_bool()), (Some("E2"), Some(true)), "{claim}");
    assert_eq!(result["claims"].as_array().map(Vec::len), Some(1));

    let kept = place.names("runs/studies");
    assert_eq!(kept.len(), 1, "{kept:?}");
    let directory = place.path("runs/studies").join(&kept[0]);
    let stored = std::fs::read_to_string(directory.join("study.json")).expect("a document");
    assert_eq!(stored, out(&output), "what was printed is what is kept");
    let page = view::study(Some(&place.path("runs")), &kept[0]).expect("a page");
    assert!(page.row.is_own && page.claims[0].id == "E2", "{page:?}");
    let list = out(&place.output(&["runs", "--format", "json"]));
    assert_eq!(list.trim(), "[]", "a study is no run");
}

#[test]
fn a_result_that_cannot_be_kept_is_told_all_the_same() {
    let place = Place::new();
    place.write("taken", "");
    let output = place.output(&[&BRIEF[..], &["--out", "taken"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(err(&output).contains("the result is not kept"), "{}", err(&output));
    assert!(out(&output).contains("E2"), "{}", out(&output));
}

#[test]
fn a_file_of_one_s_own_runs_from_its_own_directory() {
    let place = Place::new();
    let shipped = out(&place.output(&["study", "show", "example", "--toml"]));
    place.write("mine.toml", &shipped.replace("tiles/example.toml", "micro/mixed-8k"));
    let output = place.output(&["study", "show", "mine.toml"]);
    assert!(err(&output).contains("no workload \"small-shop\""), "{}", err(&output));
    let (head, _) = shipped.split_once("[[table]]").expect("a table");
    place.write("mine.toml", &head.replace("tiles/example.toml", "micro/mixed-8k"));
    let output = place.output(&["study", "run", "mine.toml", "--format", "csv"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).starts_with("record,name,configuration"), "{}", out(&output));
}

#[test]
fn a_claim_that_is_missed_fails_only_with_strict() {
    let place = Place::new();
    let shipped = out(&place.output(&["study", "show", "example", "--toml"]));
    let text = shipped
        .replace("kind = \"arithmetic\"\npublished = 1\n", "kind = \"predicted\"\npublished = 2\n");
    let (head, rest) = text.split_once("[[table]]").expect("a table");
    let (_, claims) = rest.split_once("[[claim]]").expect("a claim");
    let head = head.replace("tiles/example.toml", "micro/mixed-8k");
    let (claim, _) = claims.split_once("[[claim]]").expect("another claim");
    place.write("mine.toml", &format!("{head}[[claim]]{claim}"));
    let output = place.output(&["study", "run", "mine.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("0 of 1 predicted claims reproduced"), "{}", out(&output));
    let output = place.output(&["study", "run", "mine.toml", "--strict"]);
    assert_eq!(output.status.code(), Some(4), "{}", err(&output));
}

#[test]
fn names_that_are_not_there_are_told_with_the_nearest() {
    let place = Place::new();
    for (words, told) in [
        (&["study", "run", "examples"][..], "did you mean \"example\"?"),
        (&["study", "run", "example", "--only", "E9"], "known claims: E1"),
        (&["study", "run", "not-there.toml"], "cannot read study file"),
    ] {
        let output = place.output(words);
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        assert!(err(&output).contains(told), "{}", err(&output));
    }
}

#[test]
fn an_interrupted_study_says_what_it_has() {
    let place = Place::new();
    let mut running = Running::new(place.command(&["study", "run", "example", "--repeats", "50"]));
    running.wait_for("run 1:");
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stdout.contains("INTERRUPTED"), "{}", ended.stdout);
}
