//! Help is an interface: a change to it is seen in review.

use crate::redact;
use crate::rig::{Place, err, out};

fn help(args: &[&str]) -> String {
    let place = Place::new();
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
fn manual_completions_and_schemas_are_printed_for_every_shell_and_file() {
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
