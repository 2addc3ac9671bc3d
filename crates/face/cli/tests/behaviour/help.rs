//! Help is an interface: the snapshots show each change in review.

use crate::redact;
use crate::rig::{Workspace, err, out};

fn help(args: &[&str]) -> String {
    let place = Workspace::new();
    let output = place.output(args);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(err(&output), "", "help that was asked for is on stdout only");
    redact::text(&place, &out(&output))
}

#[test]
fn the_command_s_own_help() {
    insta::assert_snapshot!("help", help(&["--help"]));
}

#[test]
fn long_help_of_run_has_unit_range_default_and_example() {
    insta::assert_snapshot!("help_run_long", help(&["run", "--help"]));
}

#[test]
fn long_help_of_simulate_says_what_differs_from_run() {
    insta::assert_snapshot!("help_simulate_long", help(&["simulate", "--help"]));
}

#[test]
fn long_help_of_replay_says_what_waits_for_what() {
    insta::assert_snapshot!("help_replay_long", help(&["replay", "--help"]));
}

#[test]
fn long_help_of_what_if_says_what_each_change_means() {
    insta::assert_snapshot!("help_what_if_long", help(&["what-if", "--help"]));
}

#[test]
fn short_help_of_every_verb_fits_one_screen() {
    let verbs = [
        "run",
        "plan",
        "check",
        "prepare",
        "simulate",
        "replay",
        "what-if",
        "calibrate",
        "lab",
        "record",
        "analyze",
        "import",
        "cleanup",
        "verify",
        "runs",
        "demo",
        "serve",
        "report",
        "compare",
        "verify-report",
        "export",
        "tiles",
        "array",
        "study",
        "doctor",
        "schema",
        "completions",
        "man",
        "version",
    ];
    for verb in verbs {
        let text = help(&[verb, "-h"]);
        let lines = text.lines().count();
        assert!(lines <= 50, "tilemark {verb} -h has {lines} lines");
        insta::assert_snapshot!(format!("help_{verb}"), text);
    }
}

#[test]
fn the_version_is_one_line() {
    let version = help(&["--version"]);
    assert_eq!(version, format!("tilemark {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_version_says_what_it_was_built_from_and_what_it_writes() {
    let version: serde_json::Value =
        serde_json::from_str(&help(&["version", "--json"])).expect("one JSON document");
    assert_eq!(version["schema"], "tilemark.version/1.0");
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    let head = std::process::Command::new("git")
        .args(["rev-parse", "HEAD"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    match head.ok().filter(|output| output.status.success()) {
        Some(output) => {
            let head = String::from_utf8_lossy(&output.stdout);
            let commit = version["commit"].as_str().expect("a commit, as there is a repository");
            assert_eq!(commit.trim_end_matches("-dirty"), head.trim());
        }
        None => eprintln!("skipped: there is no repository to compare the commit with"),
    }
    let features = version["features"].as_array().expect("a list");
    assert_eq!(features.iter().any(|name| name == "hosts"), cfg!(feature = "hosts"));
    let schemas = version["schemas"].as_array().expect("a list");
    assert!(schemas.iter().any(|of| of["of"] == "run.json" && of["schema"] == "tilemark.run/1.0"));
    assert!(version["build"]["rustc"].as_str().is_some_and(|text| text.contains("rustc")));
    assert!(help(&["version"]).contains("format    run.json: tilemark.run/1.0"));
}

#[test]
fn the_manual_is_one_page_per_verb_where_a_directory_is_named() {
    let place = Workspace::new();
    std::fs::create_dir(place.path("man")).expect("a directory");
    let output = place.output(&["man", "--to", "man"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let names = place.names("man");
    for name in ["tilemark.1", "tilemark-run.1", "tilemark-compare.1", "tilemark-verify-report.1"] {
        assert!(names.iter().any(|have| have == name), "{name} in {names:?}");
    }
    let page = std::fs::read_to_string(place.path("man/tilemark-run.1")).expect("a page");
    assert!(page.contains(".TH tilemark-run 1"), "{page}");
    let nowhere = place.output(&["man", "--to", "no-such-directory"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(err(&nowhere).contains("writing no-such-directory/tilemark.1"), "{}", err(&nowhere));
}

#[test]
fn man_page_completions_and_schemas_are_printed() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(help(&["completions", shell]).contains("tilemark"), "{shell}");
    }
    assert!(help(&["man"]).contains(".TH tilemark"));
    for kind in [
        "plan",
        "tile",
        "workload",
        "array",
        "study",
        "study-result",
        "study-part",
        "run",
        "compare",
        "what-if",
        "analysis",
        "fit",
        "estate",
    ] {
        let schema: serde_json::Value =
            serde_json::from_str(&help(&["schema", kind])).expect("one JSON document");
        assert!(schema.get("properties").is_some(), "{kind}");
    }
}
