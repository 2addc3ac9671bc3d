use std::fs;
use std::path::{Path, PathBuf};

use run_store::rundir::{StoredRun, files};
use serde_json::{Value, json};
use units::Nanos;

use super::{Agreement, Recheck, recheck};
use crate::run::sample;
use crate::sample::SampleOptions;

fn options(base: &Path, seed: u64) -> SampleOptions {
    SampleOptions {
        base: base.to_owned(),
        tile: "datacenter".to_owned(),
        tiles: 3,
        time: Nanos::from_secs(600),
        slice: Nanos::from_secs(10),
        seed,
        is_empty: false,
    }
}

/// A made-up run in a directory of its own.
fn made(seed: u64) -> (tempfile::TempDir, PathBuf) {
    let base = tempfile::tempdir().expect("a directory");
    let finished = sample(&options(base.path(), seed), None).expect("a run");
    (base, finished.directory)
}

fn judged(directory: &Path) -> Recheck {
    let stored = StoredRun::at(directory).expect("a run");
    recheck(&stored, None).expect("readable")
}

fn differing(found: &Recheck) -> Vec<&str> {
    found.items().filter(|item| item.differs()).map(|item| item.what.as_str()).collect()
}

/// Changes `run.json` and its checksum, as a forger would.
fn forge(directory: &Path, change: impl FnOnce(&mut Value)) {
    let path = directory.join(files::RUN);
    let text = fs::read_to_string(&path).expect("reads");
    let mut run: Value = serde_json::from_str(&text).expect("JSON");
    change(&mut run);
    let forged = serde_json::to_string_pretty(&run).expect("JSON") + "\n";
    fs::write(&path, &forged).expect("writes");
    let sums = directory.join(files::SUMS);
    let of = |text: &str| run_store::rundir::sha256_hex(text.as_bytes());
    let list = fs::read_to_string(&sums).expect("reads").replace(&of(&text), &of(&forged));
    fs::write(&sums, list).expect("writes");
}

#[test]
fn a_run_as_it_was_stored_agrees_and_a_forged_one_is_found() {
    let (_base, directory) = made(1);
    let found = judged(&directory);
    assert_eq!(differing(&found), Vec::<&str>::new(), "{:?}", found.result);
    assert_eq!(found.result, Agreement::Agrees);
    assert!(found.steps.len() > 2 && found.steps.iter().all(|step| step.items.len() > 10));
    assert!(!found.not_rechecked.is_empty());

    // Make a failed step pass, with a matching measured value.
    forge(&directory, |run| {
        let steps = run["steps"].as_array_mut().expect("steps");
        let failed = steps.iter_mut().find(|step| step["verdict"] == "failed");
        let failed = failed.expect("a step beyond the edge");
        failed["verdict"] = json!("passed");
        failed["limits"][0]["result"]["measured_ns"] = json!(1_000_000);
    });
    let found = judged(&directory);
    assert_eq!(found.result, Agreement::Differs);
    assert_eq!(found.files[0].result, Agreement::Agrees, "the sums were forged, too");
    let differ = differing(&found);
    assert!(differ.contains(&"verdict"), "{differ:?}");
    assert!(differ.iter().any(|what| what.starts_with("limit ")), "{differ:?}");
}

#[test]
fn a_score_that_was_polished_is_found() {
    let (_base, directory) = made(1);
    forge(&directory, |run| {
        let score = run["answer"]["score"]["value"].as_f64().expect("scored");
        run["answer"]["score"]["value"] = json!(score * 1.01);
    });
    assert_eq!(differing(&judged(&directory)), ["score"]);
}

#[test]
fn another_run_s_series_is_found() {
    let (_base, directory) = made(1);
    let (_other_base, other) = made(2);
    let [from, to] = [&other, &directory].map(|directory| directory.join(files::ACTIONS));
    fs::copy(from, to).expect("copies");
    let found = judged(&directory);
    assert_eq!(found.result, Agreement::Differs);
    let differ = differing(&found);
    assert!(differ.contains(&files::ACTIONS), "{differ:?}");
    assert!(differ.contains(&"actions") && differ.contains(&"score"), "{differ:?}");
}

#[test]
fn a_run_whose_tile_is_not_known_is_not_said_to_agree() {
    let (_base, directory) = made(1);
    forge(&directory, |run| run["tile"]["sha256"] = json!("00"));
    let found = judged(&directory);
    assert_eq!(found.result, Agreement::NotRechecked);
    assert!(found.not_rechecked.iter().any(|own| own.why.contains("is not the tile of the run")));
}

#[test]
fn equal_options_make_equal_runs_and_an_empty_one_is_a_run_too() {
    let ((_one, first), (_other, second)) = (made(3), made(3));
    let sums = |directory: &Path| fs::read_to_string(directory.join(files::SUMS)).expect("sums");
    assert_eq!(sums(&first), sums(&second));
    let base = tempfile::tempdir().expect("a directory");
    let options = SampleOptions { is_empty: true, tiles: 1, ..options(base.path(), 1) };
    let run = sample(&options, None).expect("a run");
    let stored = StoredRun::at(&run.directory).expect("a run");
    assert_eq!(stored.series().expect("a series").count(), 0);
    assert_eq!(run.run.steps[0].throughput.operations_per_s, 0.0);
    assert_ne!(judged(&run.directory).result, Agreement::Differs);
}

/// Regression of e6eaf978: 4,294,967,295 tiles in `run.json` allocated 6 GiB at once, and the
/// program aborted.
#[test]
fn counts_without_their_results_are_refused_before_memory() {
    let (_base, directory) = made(1);
    let error = |change: fn(&mut Value)| {
        forge(&directory, change);
        let stored = StoredRun::at(&directory).expect("named as a run");
        recheck(&stored, None).expect_err("refused").to_string()
    };
    let found = error(|run| run["steps"][0]["tiles"] = json!(u32::MAX));
    assert!(found.contains("has 4294967295 tiles of step 1, but the maximum is 10000"), "{found}");
}
