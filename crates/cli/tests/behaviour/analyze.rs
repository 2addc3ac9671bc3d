//! What `analyze` says of traces, stores and runs.

use std::path::Path;

use serde_json::Value;
use trace::generate::{Generator, Recipe};
use trace::store::{self, Options};

use crate::redact;
use crate::rig::{Place, err, out};

/// 40 writes of 64 KiB that take 30 ms, as the MSR Cambridge traces have them.
fn msr(place: &Place) {
    let line = |at: u64| {
        let time = 128_166_372_003_061_629 + at * 100_000;
        format!("{time},web,0,Write,{},65536,300000\n", at * 65_536)
    };
    let text: String = (0..40).map(line).collect();
    std::fs::write(place.path("web.csv"), text).expect("a trace");
}

/// 60,000 I/Os of four VMs in groups of 10,000.
fn generated(path: &Path) {
    let recipe = Recipe { records: 60_000, vms: 4, ..Recipe::default() };
    let options = Options { records_per_group: 10_000, ..Options::default() };
    store::save(&mut Generator::new(&recipe), path, options).expect("a store");
}

#[test]
fn a_trace_of_another_tool_is_told_in_words() {
    let place = Place::new();
    msr(&place);
    let told = place.output(&["analyze", "web.csv"]);
    assert!(told.status.success(), "{}", err(&told));
    insta::assert_snapshot!("analyze_words", redact::text(&place, &out(&told)));
}

#[test]
fn a_store_says_the_same_on_any_number_of_threads() {
    let place = Place::new();
    generated(&place.path("made.tmt"));
    let json = |threads: &str| -> Value {
        let args =
            ["analyze", "made.tmt", "--view", "all", "--format", "json", "--threads", threads];
        let told = place.output(&args);
        assert!(told.status.success(), "{}", err(&told));
        serde_json::from_str(&out(&told)).expect("one JSON document")
    };
    let one = json("1");
    assert_eq!(one["schema"], "tilemark.analysis/1.0");
    assert_eq!(one["source"]["records"], 60_000);
    assert_eq!(one["overview"].as_array().map(Vec::len), Some(5));
    assert_eq!(json("3"), one);
}

#[test]
fn a_filter_leaves_the_rest_out_and_a_wrong_name_is_answered_with_the_nearest() {
    let place = Place::new();
    generated(&place.path("made.tmt"));
    let args =
        ["analyze", "made.tmt", "--vm", "database-00", "--direction", "read", "--format", "json"];
    let told = place.output(&args);
    assert!(told.status.success(), "{}", err(&told));
    let json: Value = serde_json::from_str(&out(&told)).expect("one JSON document");
    assert_eq!(json["overview"][0]["writes"], 0);
    assert_eq!(json["filter"]["vms"][0], "database-00");
    assert!(json["source"]["filtered"].as_u64().is_some_and(|left_out| left_out > 30_000));
    let wrong = place.output(&["analyze", "made.tmt", "--vm", "log-1"]);
    assert_eq!(wrong.status.code(), Some(2));
    let csv = place.output(&["analyze", "made.tmt", "--format", "csv"]);
    assert_eq!(csv.status.code(), Some(2));
    insta::assert_snapshot!("analyze_wrong", redact::text(&place, &(err(&wrong) + &err(&csv))));
}

#[test]
fn every_list_is_a_file_of_its_own() {
    let place = Place::new();
    msr(&place);
    for (format, end) in [("csv", "csv"), ("parquet", "parquet")] {
        let args = ["analyze", "web.csv", "--view", "all", "--format", format, "--out", format];
        let told = place.output(&args);
        assert!(told.status.success(), "{}", err(&told));
        for list in ["overview", "sizes", "time", "histograms", "findings", "tiers"] {
            let file = place.path(&format!("{format}/{list}.{end}"));
            assert!(file.is_file(), "{}", file.display());
        }
    }
}

#[test]
fn histograms_are_printed_in_the_layout_of_vscsistats() {
    let place = Place::new();
    generated(&place.path("made.tmt"));
    let args = ["analyze", "made.tmt", "--view", "histograms", "--format", "vscsistats"];
    let told = place.output(&args);
    assert!(told.status.success(), "{}", err(&told));
    let read = trace::vscsi_stats::parse(&out(&told));
    assert!(read.bad.is_empty() && !read.all.is_empty() && read.all.len().is_multiple_of(16));
    let other = place.output(&[&args[..], &["--view", "sizes"]].concat());
    assert_eq!(other.status.code(), Some(2), "{}", err(&other));
}

#[test]
fn a_vm_of_a_trace_becomes_a_workload_that_a_tile_can_use() {
    let place = Place::new();
    generated(&place.path("made.tmt"));
    let fit = |more: &[&str]| {
        place.output(&[&["analyze", "made.tmt", "--to-workload", "database.toml"], more].concat())
    };
    let several = fit(&[]);
    assert_eq!(several.status.code(), Some(2));
    assert!(err(&several).contains("4 VMs"), "{}", err(&several));
    assert!(!place.path("database.toml").exists());

    let told = fit(&["--vm", "database-00", "--format", "json"]);
    assert!(told.status.success(), "{}", err(&told));
    let json: Value = serde_json::from_str(&out(&told)).expect("one JSON document");
    assert_eq!(json["schema"], "tilemark.fit/1.0");
    let lengths = &json["distances"][0];
    assert_eq!(lengths["histogram"], "length");
    assert!(lengths["distance"].as_f64().is_some_and(|it| it < 0.05), "{lengths}");

    let tile = "name = \"mine\"\ntitle = \"mine\"\nsource = \"a trace\"\n\n\
                [[workload]]\nuse = \"database.toml\"\ncount = 2\n";
    std::fs::write(place.path("mine.toml"), tile).expect("writable");
    let storage = ["simulate", "--array", "nvme-local", "--tile", "mine.toml", "--tiles", "1"];
    let brief = ["--quick", "--duration", "3s", "--warm-up-min", "1s", "--warm-up-max", "2s"];
    let ran = place.output(&[&storage[..], &brief[..]].concat());
    assert!(ran.status.success(), "{}{}", out(&ran), err(&ran));

    let again = fit(&["--vm", "database-00"]);
    assert_eq!(again.status.code(), Some(2));
    let text = fit(&["--vm", "database-00", "--force"]);
    assert!(text.status.success(), "{}", err(&text));
    assert!(out(&text).contains("KS distance"), "{}", out(&text));
    let others = [
        fit(&["--vm", "database-00", "--force", "--view", "sizes"]),
        fit(&["--vm", "database-0", "--force"]),
        place.output(&["analyze", "made.tmt", "--vm", "log-01", "--to-workload", "log"]),
        place.output(&["analyze", "made.tmt", "--force"]),
    ];
    assert!(others.iter().all(|it| it.status.code() == Some(2)));
    let said: String = others.iter().chain([&several, &again]).map(err).collect();
    insta::assert_snapshot!("to_workload_wrong", redact::text(&place, &said));
}
