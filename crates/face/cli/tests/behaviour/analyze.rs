//! `analyze` on traces, stores and runs.

use std::path::Path;

use run_store::run::Run;
use run_store::slice::Direction;
use serde_json::Value;
use trace::generate::{Generator, Recipe};
use trace::store::{self, Options};

use crate::redact;
use crate::rig::{ALLOW, MICRO, Workspace, err, out, simulate_words};

/// 40 writes of 64 KiB that take 30 ms, as the MSR Cambridge traces have them.
fn msr(place: &Workspace) {
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
    let place = Workspace::new();
    msr(&place);
    let told = place.output(&["analyze", "web.csv"]);
    assert!(told.status.success(), "{}", err(&told));
    insta::assert_snapshot!("analyze_words", redact::text(&place, &out(&told)));
}

#[test]
fn a_store_says_the_same_on_any_number_of_threads() {
    let place = Workspace::new();
    generated(&place.path("made.tmt"));
    let json = |threads: &str| -> Value {
        let args =
            ["analyze", "made.tmt", "--view", "all", "--format", "json", "--threads", threads];
        let told = place.output(&args);
        assert!(told.status.success(), "{}", err(&told));
        serde_json::from_str(&out(&told)).expect("one JSON document")
    };
    let one = json("1");
    assert_eq!(one["schema"], "tilemark.analysis/1.1");
    assert_eq!(one["source"]["records"], 60_000);
    assert_eq!(one["overview"].as_array().map(Vec::len), Some(5));
    assert_eq!(json("3"), one);
}

#[test]
fn filter_drops_other_vms_and_wrong_name_gets_a_suggestion() {
    let place = Workspace::new();
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
    let place = Workspace::new();
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
    let place = Workspace::new();
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
    let place = Workspace::new();
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
    assert_eq!(json["schema"], "tilemark.fit/1.1");
    let lengths = &json["distances"][0];
    assert_eq!(lengths["histogram"], "length");
    assert!(lengths["distance"].as_f64().is_some_and(|it| it < 0.05), "{lengths}");

    let tile = "name = \"mine\"\ntitle = \"mine\"\nsource = \"a trace\"\n\n\
                [[workload]]\nuse = \"database.toml\"\ncount = 2\n";
    std::fs::write(place.path("mine.toml"), tile).expect("writable");
    let storage = ["--array", "nvme-local", "--tile", "mine.toml", "--tiles", "1"];
    let ran = place.output(&simulate_words(&storage));
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

/// Compares the `analyze` result of the place's only run with the last step in its `run.json`.
fn agrees_with_its_run(place: &Workspace, run: &Run) -> Value {
    let directory = place.runs()[0].display().to_string();
    let told = place.output(&["analyze", &directory, "--view", "all", "--format", "json"]);
    assert!(told.status.success(), "{}", err(&told));
    let json: Value = serde_json::from_str(&out(&told)).expect("one JSON document");
    assert_eq!(
        (&json["schema"], &json["source"]["format"]),
        (&"tilemark.analysis/1.1".into(), &"run".into())
    );
    let step = run.steps.last().expect("a step");
    let of = |direction: Direction| step.io.iter().find(|io| io.direction == direction);
    let all: u64 = step.io.iter().map(|io| io.count + io.errors).sum();
    assert_eq!(json["source"]["records"], all);
    // With several virtual machines the first row has the sums.
    let overview = json["overview"].as_array().expect("rows");
    let sums = &overview[0];
    for (direction, name, count, bytes) in [
        (Direction::Read, "read", "reads", "read_bytes"),
        (Direction::Write, "write", "writes", "write_bytes"),
    ] {
        let Some(io) = of(direction) else {
            assert_eq!(sums[count], 0);
            continue;
        };
        assert_eq!((&sums[count], &sums[bytes]), (&io.count.into(), &io.bytes.into()), "{name}");
        let service = &io.service;
        for (mine, theirs) in
            [("p50", service.p50_ns), ("p99", service.p99_ns), ("max", service.max_ns)]
        {
            assert_eq!(sums[format!("{name}_{mine}_ns")].as_u64(), theirs, "{name} {mine}");
        }
    }
    assert_eq!(sums["flushes"], of(Direction::Flush).map_or(0, |io| io.count));
    let vm = |row: &&Value| row["vm"] == sums["vm"];
    let count = |list: &str, key: &str| -> u64 {
        let rows = json[list].as_array().expect("rows").iter().filter(vm);
        rows.map(|row| row[key].as_u64().expect("a number")).sum()
    };
    let moves = sums["reads"].as_u64().expect("a number") + sums["writes"].as_u64().expect("one");
    assert_eq!(count("sizes", "count"), moves);
    // A series does not have these figures.
    for absent in ["sequential_share", "misaligned_share"] {
        assert_eq!(sums[absent], Value::Null);
    }
    assert_eq!(
        (&json["alignment"], &json["working_set"]),
        (&serde_json::json!([]), &serde_json::json!([]))
    );
    let said = json["cannot_say"].to_string();
    assert!(said.contains("a histogram per second, not single I/Os"), "{said}");
    for finding in json["findings"].as_array().expect("a list") {
        assert!(finding["samples"].as_u64() >= Some(30), "{finding}");
    }
    json
}

fn parsed(output: &std::process::Output) -> Run {
    assert_eq!(output.status.code(), Some(0), "{}{}", out(output), err(output));
    run_store::run::parse(&out(output)).expect("one run document and nothing else")
}

#[test]
fn a_real_run_is_analysed_as_its_own_figures_say() {
    let Some(place) = Workspace::usable() else { return };
    let words = [&["run", "ds", "--live", "off", "--format", "json"], &ALLOW[..], &MICRO].concat();
    let run = parsed(&place.output(&words));
    let json = agrees_with_its_run(&place, &run);
    assert_eq!(json["overview"].as_array().map(Vec::len), Some(1));
    let classes: Vec<&str> = json["sizes"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|it| it["class"].as_str())
        .collect();
    assert!(classes.iter().all(|class| *class == classes[0]), "all are of 8 KiB: {classes:?}");
    let directory = place.runs()[0].display().to_string();
    let text = place.output(&["analyze", &directory]);
    assert!(out(&text).contains("step 1 with 1 tiles"), "{}", out(&text));
    let fit = place.output(&["analyze", &directory, "--to-workload", "no.toml"]);
    assert!(fit.status.code() == Some(2) && !place.path("no.toml").exists(), "{}", err(&fit));
}

#[test]
fn a_simulated_run_is_analysed_as_its_own_figures_say() {
    let place = Workspace::new();
    let tile = "name = \"two\"\ntitle = \"two\"\nsource = \"ours\"\n\n\
                [[workload]]\nuse = \"mail\"\n\n[[workload]]\nuse = \"web\"\n";
    place.write("two.toml", tile);
    let what = ["--array", "hdd-raid10", "--tile", "two.toml", "--tiles", "1..2"];
    let how = ["--footprint", "0.01", "--duration", "20s", "--live", "off", "--format", "json"];
    let words = simulate_words(&[&what[..], &how[..]].concat());
    let run = parsed(&place.output(&words));
    let json = agrees_with_its_run(&place, &run);
    // The first row has sums, then each virtual machine of both tiles with I/O has a row.
    let overview = json["overview"].as_array().expect("rows");
    assert!(overview.len() > 2, "{overview:?}");
    let of_vms: u64 = overview[1..].iter().map(|row| row["reads"].as_u64().expect("one")).sum();
    assert_eq!(overview[0]["reads"], of_vms);
    let one = overview[1]["vm"].as_str().expect("a name");
    let directory = place.runs()[0].display().to_string();
    let only = place.output(&["analyze", &directory, "--vm", one, "--format", "json"]);
    let only: Value = serde_json::from_str(&out(&only)).expect("one JSON document");
    assert_eq!(only["overview"][0], overview[1]);
}
