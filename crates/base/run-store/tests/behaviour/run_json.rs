use std::path::PathBuf;

use tilemark_run_store::run;

use crate::sample;

fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Compares with a stored file, or writes the file when `TILEMARK_UPDATE` is set.
fn assert_stored(path: &str, text: &str) {
    let path = file(path);
    if std::env::var_os("TILEMARK_UPDATE").is_some() {
        std::fs::write(&path, text).expect("writes");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == text,
        "{} is not what the types say now; if the change is a compatible one, run the tests \
         with TILEMARK_UPDATE=1 and look at the difference",
        path.display()
    );
}

#[test]
fn the_stored_json_schema_is_that_of_the_types() {
    let schema = serde_json::to_string_pretty(&run::json_schema()).expect("serialises");
    assert_stored("../../../docs/schemas/run-1.0.json", &(schema + "\n"));
}

/// A file of version 1.0. Until 1.0 is released, it follows the types (`TILEMARK_UPDATE_GOLDEN`
/// writes it). After that it is never regenerated, because it stands for every result that users
/// have kept.
#[test]
fn a_result_of_version_1_0_is_still_read() {
    if std::env::var_os("TILEMARK_UPDATE_GOLDEN").is_some() {
        let text = serde_json::to_string_pretty(&sample::run()).expect("serialises");
        std::fs::write(file("tests/golden/run-1.0.json"), text + "\n").expect("writes");
    }
    let text = std::fs::read_to_string(file("tests/golden/run-1.0.json")).expect("golden file");
    let run = run::parse(&text).expect("reads");
    assert_eq!(run.answer.tiles_held, Some(1));
    assert_eq!(run.steps[1].workloads[0].limits[0].measured_ns, Some(612_000_000));
    assert_eq!(run.steps[0].score.as_ref().and_then(|score| score.total.value), Some(0.9));
    assert_eq!(run, sample::run(), "a field changed its meaning");
}

#[test]
fn a_later_minor_version_with_more_fields_is_read() {
    let mut value = serde_json::to_value(sample::run()).expect("serialises");
    value["schema"] = "tilemark.run/1.7".into();
    value["answer"]["mood"] = "good".into();
    let run = run::parse(&value.to_string()).expect("reads");
    assert_eq!(run.answer, sample::run().answer);
}

#[test]
fn every_number_says_its_unit_or_is_a_count() {
    let schema = run::json_schema().to_string();
    for vague in ["_ms\"", "_us\"", "_s\":", "_mb\"", "_gb\"", "_seconds\""] {
        let bare = schema.replace("_per_s\":", "");
        assert!(!bare.contains(vague), "a field ends in {vague}");
    }
}
