//! Expectations of a run: met, missed or undecided, in exit codes and in the outputs for pipelines.

use crate::rig::{Workspace, err, out, simulate_words};

/// Simulates a step of one tile, with expectations.
fn simulate(place: &Workspace, more: &[&str]) -> std::process::Output {
    let words =
        [&["--array", "hdd-raid10", "--tile", "tile.toml", "--tiles", "1"][..], more].concat();
    place.output(&simulate_words(&words))
}

#[test]
fn expectations_decide_the_exit_code_and_are_stored() {
    let place = Workspace::new();
    let met = simulate(&place, &["--expect", "tiles >= 1", "--expect", "light.read.p95 <= 10s"]);
    assert_eq!(met.status.code(), Some(0), "{}{}", out(&met), err(&met));
    assert!(out(&met).contains("expected   tiles >= 1: met"), "{}", out(&met));

    let missed = simulate(&place, &["--expect", "light.read.p95 <= 1us", "--expect", "tiles >= 9"]);
    assert_eq!(missed.status.code(), Some(7), "{}{}", out(&missed), err(&missed));
    assert!(out(&missed).contains("light.read.p95 <= 1us: missed"), "{}", out(&missed));

    // More tiles than were tried are undecided: neither a pass nor a failure.
    let place = Workspace::new();
    let open = simulate(&place, &["--expect", "tiles >= 9"]);
    assert_eq!(open.status.code(), Some(5), "{}{}", out(&open), err(&open));
    assert!(out(&open).contains("tiles >= 9: not decided"), "{}", out(&open));

    let latest = place.runs().pop().expect("a run");
    let text = std::fs::read_to_string(latest.join("run.json")).expect("its document");
    let run: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(run["expectations"][0]["verdict"], "inconclusive", "{run:#}");
    assert_eq!(place.output(&["verify-report", "latest"]).status.code(), Some(0));
}

#[test]
fn an_expectation_of_a_step_that_did_not_run_is_open() {
    let place = Workspace::new();
    let output = simulate(&place, &["--expect", "light.read.p95 <= 10s at 4 tiles"]);
    assert_eq!(output.status.code(), Some(5), "{}", err(&output));
    assert!(out(&output).contains("no step of 4 tiles ran"), "{}", out(&output));
}

#[test]
fn unknown_expectation_gets_a_suggestion_and_runs_nothing() {
    let place = Workspace::new();
    for (text, hint) in [
        ("lights.read.p95 <= 1s", "did you mean \"light\"?"),
        ("light.reed.p95 <= 1s", "did you mean \"read\"?"),
        ("tiles = 8", "tiles >= 8"),
        ("light.read.p95 >= 1s", "compares a time; write <="),
    ] {
        let output = simulate(&place, &["--expect", text]);
        assert_eq!(output.status.code(), Some(2), "{text}: {}", err(&output));
        assert!(err(&output).contains(hint), "{text}: {}", err(&output));
    }
    assert!(place.runs().is_empty(), "nothing ran");
}

#[test]
fn a_plan_may_expect_and_a_flag_takes_its_place() {
    let place = Workspace::new();
    let plan = "datastore = \"array:hdd-raid10\"\ntile = \"tile.toml\"\nprofile = \"quick\"\nexpect = [\"tiles >= 9\"]\n";
    place.write("plan.toml", plan);
    let words = |more: &[&str]| {
        let own = ["plan.toml", "--tiles", "1"];
        place.output(&simulate_words(&[&own[..], more].concat()))
    };
    assert_eq!(words(&[]).status.code(), Some(5));
    let met = words(&["--expect", "tiles >= 1"]);
    assert_eq!(met.status.code(), Some(0), "{}{}", out(&met), err(&met));
    let says = |run: &std::path::PathBuf| {
        let stored = std::fs::read_to_string(run.join("plan.toml")).expect("its plan");
        stored.contains("tiles >= 1")
    };
    assert!(place.runs().iter().any(says), "a stored plan says what was expected");
    place.write("plan.toml", &plan.replace("tiles >= 9", "tiles => 9"));
    let wrong = words(&[]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(err(&wrong).contains("plan.toml"), "{}", err(&wrong));
}

#[test]
fn a_run_is_exported_as_pipelines_read_it() {
    let place = Workspace::new();
    let missed = simulate(&place, &["--expect", "light.read.p95 <= 1us", "--expect", "tiles >= 9"]);
    assert_eq!(missed.status.code(), Some(7), "{}", err(&missed));
    let export = |format: &str| {
        let output = place.output(&["export", "latest", "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", err(&output));
        out(&output)
    };
    let junit = export("junit");
    assert!(junit.contains("failures=\"1\"") && junit.contains("skipped=\"1\""), "{junit}");
    assert!(junit.contains("<testcase classname=\"tilemark.expectation\""), "{junit}");
    let markdown = export("markdown");
    assert!(markdown.contains("| `light.read.p95 <= 1us` | **missed** |"), "{markdown}");
    for format in ["bench-json", "bench-json-times"] {
        let figures: serde_json::Value = serde_json::from_str(&export(format)).expect("JSON");
        for figure in figures.as_array().expect("a list") {
            assert!(figure["name"].is_string() && figure["value"].is_number(), "{figure}");
        }
    }
    let to = ["export", "latest", "--format", "junit", "--to", "junit.xml"];
    assert_eq!(place.output(&to).status.code(), Some(0));
    let again = place.output(&to);
    assert!(err(&again).contains("name a file that does not exist"), "{}", err(&again));
}

#[test]
fn shipped_ci_gate_returns_exit_code_and_leaves_junit_report() {
    let Some(place) = Workspace::usable() else { return };
    let gate = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../deploy/ci/storage-gate.sh");
    let run = |expect: &str| {
        let mut command = std::process::Command::new("sh");
        command.arg(gate).arg("ds").args(crate::rig::ALLOW).args(&crate::rig::MICRO[..2]);
        command.args(&crate::rig::MICRO[5..]).current_dir(place.path(""));
        place.surroundings(&mut command);
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_tilemark"));
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", program.parent().expect("a directory").display());
        command.env("PATH", path).env("TILES", "1").env("EXPECT", expect);
        command.env("GITHUB_STEP_SUMMARY", place.path("step.md"));
        let output = command.output().expect("a shell");
        (output.status.code(), format!("{}{}", out(&output), err(&output)))
    };
    let (code, said) = run("tiles >= 1");
    assert_eq!(code, Some(0), "{said}");
    // Missed even if other work disturbs the run; a time limit would be undecided then.
    let (code, said) = run("tiles < 1\ntiles >= 1");
    assert_eq!(code, Some(7), "{said}");
    let junit = std::fs::read_to_string(place.path("tilemark-results/junit.xml")).expect("a file");
    assert!(junit.contains("failures=\"1\""), "{junit}");
    let summary = std::fs::read_to_string(place.path("step.md")).expect("a summary");
    assert!(summary.contains("**missed**"), "{summary}");
    assert_eq!(run("tiles >= many").0, Some(2), "a gate that cannot be read is no pass");
}
