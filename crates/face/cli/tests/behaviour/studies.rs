//! Studies, from the list to the page.

use rustix::process::Signal;

use crate::rig::{Running, Workspace, err, out};

/// Runs a single claim of the example, which needs one step, once.
const BRIEF: [&str; 7] = ["study", "run", "example", "--only", "E2", "--repeats", "1"];

#[test]
fn a_study_is_listed_shown_and_run() {
    let place = Workspace::new();
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

/// Claims that need several steps of both configurations.
const SEVERAL: [&str; 7] = ["study", "run", "example", "--only", "E1,E2,E4", "--repeats", "2"];

/// Makes a part and returns its printed path.
fn part(place: &Workspace, shard: &str, more: &[&str]) -> String {
    let output = place.output(&[&SEVERAL[..], &["--shard", shard], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    out(&output).trim_end().to_owned()
}

#[test]
fn parts_from_several_machines_make_the_document_of_one() {
    let place = Workspace::new();
    let alone = place.output(&[&SEVERAL[..], &["--format", "json"]].concat());
    assert_eq!(alone.status.code(), Some(0), "{}", err(&alone));
    let parts = ["3/3", "1/3", "2/3"].map(|shard| part(&place, shard, &[]));
    assert!(parts[0].ends_with("runs/studies/example-part-3-of-3.json"), "{}", parts[0]);
    let merge = |parts: &[&String]| {
        let parts = parts.iter().map(|path| path.as_str());
        let words = ["study", "merge", "example", "--format", "json"].into_iter().chain(parts);
        place.output(&words.collect::<Vec<_>>())
    };
    let [third, first, second] = &parts;
    let merged = merge(&[third, first, second]);
    assert_eq!(merged.status.code(), Some(0), "{}", err(&merged));
    assert_eq!(out(&merged), out(&alone));
    let kept = place.names("runs/studies");
    assert_eq!(kept.len(), 5, "three parts, and twice the result: {kept:?}");

    let before = std::fs::read(second).expect("a part");
    assert_eq!(part(&place, "2/3", &["--threads", "1"]), *second);
    assert_eq!(std::fs::read(second).expect("a part"), before, "the same again, to the byte");

    let elsewhere = part(&place, "2/3", &["--out", "other", "--seed", "5"]);
    for (parts, told) in [
        (&[first, second][..], "of 3 shards these are missing: 3\n"),
        (&[first, second, first], "part-1-of-3.json are both shard 1/3"),
        (&[first, &elsewhere, third], "the seed is 5, but 1 in "),
        (&[&"absent.json".to_owned()], "cannot read absent.json"),
        (&[&"tile.toml".to_owned()], "cannot read tile.toml: reading a part of a study"),
    ] {
        let output = merge(parts);
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        assert!(err(&output).contains(told), "{}", err(&output));
        assert_eq!(out(&output), "");
    }
    let other = place.output(&["study", "merge", "protocols", first, second, third]);
    assert!(err(&other).contains("the study is example, but protocols here"), "{}", err(&other));
}

#[test]
fn a_share_that_makes_no_sense_is_refused_before_anything_runs() {
    let place = Workspace::new();
    for (more, told) in [
        (&["--shard", "0/3"][..], "a shard is N/COUNT, such as 3/16"),
        (&["--shard", "4/3"], "a shard is N/COUNT, such as 3/16"),
        (&["--shard", "1/3", "--real", "ds"], "cannot be used with"),
        (&["--shard", "1/3", "--strict"], "cannot be used with"),
        (&["--shard", "1/3", "--format", "csv"], "cannot be used with"),
    ] {
        let output = place.output(&[&SEVERAL[..], more].concat());
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        assert!(err(&output).contains(told), "{}", err(&output));
    }
    let unkept = place.output(&[&BRIEF[..], &["--shard", "1/9", "--out", "tile.toml"]].concat());
    assert_eq!(unkept.status.code(), Some(1), "{}", err(&unkept));
    assert!(err(&unkept).contains("saving the part"), "{}", err(&unkept));
}

#[test]
fn a_result_that_cannot_be_kept_is_told_all_the_same() {
    let place = Workspace::new();
    place.write("taken", "");
    let output = place.output(&[&BRIEF[..], &["--out", "taken"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(err(&output).contains("the result was not saved"), "{}", err(&output));
    assert!(out(&output).contains("E2"), "{}", out(&output));
}

#[test]
fn a_file_of_one_s_own_runs_from_its_own_directory() {
    let place = Workspace::new();
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
    let place = Workspace::new();
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
    let place = Workspace::new();
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
    let place = Workspace::new();
    let mut running = Running::new(place.command(&["study", "run", "example", "--repeats", "50"]));
    running.wait_for("run 1:");
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stdout.contains("INTERRUPTED"), "{}", ended.stdout);
    let kept = place.names("runs/studies").len();

    let words = ["study", "run", "example", "--repeats", "50", "--shard", "1/2"];
    let mut running = Running::new(place.command(&words));
    running.wait_for("run 1:");
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stderr.contains("shard 1/2 wrote no part; run it again"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert_eq!(place.names("runs/studies").len(), kept, "no part");
}
