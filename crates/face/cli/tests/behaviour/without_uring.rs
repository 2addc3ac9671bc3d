//! Where io_uring is refused: `doctor` tries it instead of reading a setting. A run that used
//! threads instead says so in its result, in its JSON and on its page, from which the report is
//! made.
//!
//! Container engines refuse io_uring by a filter of system calls; `doctor` read
//! `kernel.io_uring_disabled`, which such a filter does not change, and said "allowed".

use std::process::{Command, Output};

use crate::monitoring::Served;
use crate::rig::{Workspace, err, out, run_words};
use crate::serving::get;
use crate::tiers::Tiered;

/// Exit code of the helper if it cannot set the filter.
const NO_FILTER: i32 = 77;

/// Runs the program under a filter that refuses io_uring; `None`, with the reason printed, where
/// such a filter cannot be set.
fn filtered(place: &Workspace, args: &[&str]) -> Option<Output> {
    let helper = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/behaviour/helpers/refuse_io_uring.py");
    let mut command = Command::new("python3");
    command.arg(helper).arg(env!("CARGO_BIN_EXE_tilemark")).args(args);
    place.surroundings(&mut command);
    let output = match command.current_dir(place.path("")).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: a filter is set by python3: {error}");
            return None;
        }
    };
    if output.status.code() == Some(NO_FILTER) {
        eprintln!("skipped: {}", err(&output));
        return None;
    }
    Some(output)
}

#[test]
fn doctor_tries_io_uring_and_does_not_believe_the_system() {
    let place = Workspace::new();
    let Some(output) = filtered(&place, &["doctor", "--format", "json"]) else { return };
    let findings: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    let findings = findings.as_array().expect("a list");
    let ring = findings.iter().find(|finding| finding["id"] == "io-uring").expect("it is tried");
    assert_eq!(ring["severity"], "harmful", "{ring}");
    assert!(ring["found"].as_str().is_some_and(|text| text.contains("refused")), "{ring}");
    assert_eq!(output.status.code(), Some(5), "not fit for measuring");
}

#[test]
fn a_run_with_threads_instead_says_so_in_result_json_and_page() {
    let Some(place) = Workspace::usable() else { return };
    let Some(output) = filtered(&place, &run_words(&[])) else { return };
    // A second of a light load may decide nothing, which has an exit code of its own.
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 5)), "{}{}", out(&output), err(&output));
    assert!(out(&output).contains("[io-uring-refused]"), "{}", out(&output));
    let run = place.runs().pop().expect("a run");
    let document = std::fs::read_to_string(run.join("run.json")).expect("its document");
    let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(document["engine"]["backend"], "threads");
    // Page and report are made from this document.
    let id = document["id"].as_str().expect("an id").to_owned();
    let served = Served::start(&place);
    let page = get(served.port, &format!("/api/v1/runs/{id}")).1;
    assert!(page.contains("io_uring is refused here"), "{page}");
}

#[test]
fn tier_serve_without_io_uring_gives_advice_and_opens_nothing() {
    let tiered = Tiered::new();
    let words = ["tier", "serve", "fast", "--disk", "vm1=vm1.raw", "--socket", "s"];
    let Some(output) = filtered(&tiered.place, &words) else { return };
    let said = err(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("tier serve needs io_uring, which is refused: "), "{said}");
    assert!(said.contains("hint: ") && said.contains("io_uring"), "{said}");
    assert!(!tiered.place.path("vm1.raw.tilemark-tier").exists(), "no sidecar was made");
}
