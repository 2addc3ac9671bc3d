//! Run from beginning to end, and the commands on its results.

use std::path::Path;

use run_store::run::{Run, Status};
use run_store::rundir::StoredRun;

use crate::rig::{ALLOW, MICRO, Running, Workspace, err, names, out};

fn document(text: &str) -> Run {
    let run = run_store::run::parse(text).expect("one run document and nothing else");
    let again: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let written = serde_json::to_value(&run).expect("JSON");
    assert_eq!(again, written, "nothing is lost between text and types");
    run
}

fn stored(path: &Path) -> StoredRun {
    StoredRun::at(path).expect("a run directory")
}

#[test]
fn json_on_stdout_is_one_document_and_disks_are_removed() {
    let Some(place) = Workspace::usable() else { return };
    let output = place.run(0, &["--format", "json", "--seed", "7"]);
    let run = document(&out(&output));
    assert_eq!(run.schema, run_store::run::SCHEMA);
    assert_eq!((run.seed, run.answer.status), (7, Status::Complete));
    assert_eq!(run.steps.len(), 1);
    assert!(run.steps[0].throughput.operations_per_s > 0.0);
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
    let runs = place.runs();
    assert_eq!(runs.len(), 1);
    let stored = stored(&runs[0]);
    assert_eq!(stored.check().expect("its checksums"), [], "every file is as it was written");
    assert_eq!(stored.run().expect("run.json"), &run);
    for name in ["run.json", "plan.toml", "preflight.json", "env.json", "series.parquet"] {
        assert!(runs[0].join(name).is_file(), "{name} is missing");
    }
}

#[test]
fn text_ends_with_the_answer_and_says_each_thing_once() {
    let Some(place) = Workspace::usable() else { return };
    let output = place.run(0, &["--live", "line"]);
    let text = out(&output);
    let run = stored(&place.runs()[0]);
    let sentence = &run.run().expect("run.json").answer.sentence;
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&text).ends_with(&words(sentence)), "{text}");
    let both = text + &err(&output);
    let warnings: Vec<&str> = both.lines().filter(|line| line.contains("[scaled-foot")).collect();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for wrong in [" 1 VMs", " 1 tiles", " 1 runs", " 1 workloads", "(s)", " 0.0 B/s"] {
        assert!(!both.contains(wrong), "\"{wrong}\" in:\n{both}");
    }
}

#[test]
fn datacenter_tile_exit_code_follows_the_verdict() {
    let Some(place) = Workspace::usable() else { return };
    let small = ["--tile", "datacenter", "--footprint", "0.0005", "--time-scale", "0.01"];
    let output = place.run_command(&[&small[..], &["--format", "json"]].concat()).output();
    let output = output.expect("the program starts");
    let run = document(&out(&output));
    let expected = match run.answer.status {
        Status::Inconclusive => 5,
        Status::Interrupted => 130,
        Status::Complete if run.answer.tiles_held == Some(0) => 4,
        Status::Complete => 0,
    };
    assert_eq!(output.status.code(), Some(expected), "{}", err(&output));
    assert_eq!(run.tile.vms, 8);
    assert!(!run.steps[0].limits.is_empty(), "limits over all tiles");
    assert!(place.names("ds").is_empty());
    let shown = out(&place.output(&["runs", "show", &run.id, "--verbose"]));
    assert!(shown.contains("limits at 1 tile") && shown.contains("shop order p95"), "{shown}");
}

#[test]
fn a_stored_run_is_listed_shown_exported_compared_and_removed() {
    let Some(place) = Workspace::usable() else { return };
    let first = document(&out(&place.run(0, &["--format", "json", "--seed", "7"])));
    let second = document(&out(&place.run(0, &["--format", "json", "--seed", "7"])));
    assert_eq!(first.plan_sha256, second.plan_sha256, "the same seed and options, the same plan");

    let listed = out(&place.output(&["runs"]));
    assert!(listed.contains(&first.id) && listed.contains(&second.id), "{listed}");
    let json: serde_json::Value =
        serde_json::from_str(&out(&place.output(&["runs", "--format", "json"]))).expect("JSON");
    assert_eq!(json[0]["state"], "complete");
    assert_eq!(json[0]["profile"], first.profile.as_str());
    assert_eq!(json[0]["datastore"], first.target.datastore.as_str());
    let told = first.answer.tiles_held.map(|_| first.answer.tiles_text());
    assert_eq!(
        json[0]["tiles"].as_str().map(|tiles| told.as_ref().map(|t| t.starts_with(tiles))),
        told.as_ref().map(|_| Some(true)),
        "the JSON has what the text has: {json}"
    );
    let brief = out(&place.output(&["runs", "show", &first.id]));
    let is_path = |line: &&str| line.starts_with("results") || line.starts_with("datastore");
    for line in brief.lines().filter(|line| !is_path(line)) {
        assert!(line.chars().count() <= 80, "wider than a terminal: {line}");
    }
    assert!(brief.lines().count() <= 40, "more than a screen: {brief}");
    let shown = out(&place.output(&["runs", "show", &first.id, "--format", "json"]));
    assert_eq!(document(&shown), first);

    for (format, begin) in [
        ("json", "{"),
        ("csv", "step,"),
        ("gauges-csv", "step,"),
        ("hlog", "#["),
        ("openmetrics", "# TYPE tilemark_run"),
        ("parquet", "PAR1"),
    ] {
        let output = place.output(&["export", &first.id, "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", err(&output));
        assert!(output.stdout.starts_with(begin.as_bytes()), "{format}");
        let to = format!("out.{format}");
        let args = ["export", &first.id, "--format", format, "--to", &to];
        assert_eq!(place.output(&args).status.code(), Some(0), "{format} to a file");
        assert_eq!(std::fs::read(place.path(&to)).expect("the file"), output.stdout, "{format}");
        let again = place.output(&args);
        assert_eq!(again.status.code(), Some(1), "an existing file is not overwritten");
        assert!(err(&again).contains("hint: name a file that does not exist"), "{}", err(&again));
    }

    let json = out(&place.output(&["compare", &first.id, &second.id, "--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).expect("one JSON document");
    // Two runs of a second beside other tests may really differ.
    let (lenient, strict) = match json["verdict"].as_str() {
        Some("worse") => (4, 4),
        Some("inconclusive") => (0, 5),
        _ => (0, 0),
    };
    let compared = place.output(&["compare", &first.id, &second.id]);
    assert_eq!(compared.status.code(), Some(lenient), "{}", err(&compared));
    assert!(out(&compared).contains("note: each group is one run"), "{}", out(&compared));
    let compared = place.output(&["compare", &first.id, "vs", &second.id, "--strict"]);
    assert_eq!(compared.status.code(), Some(strict), "inconclusive is a failure if asked for");

    std::fs::write(place.runs()[1].join("run.json"), "{").expect("damage");
    let listed = out(&place.output(&["runs"]));
    assert!(listed.contains("  damaged  "), "{listed}");
    let damaged = place.output(&["export", &second.id]);
    assert_eq!(damaged.status.code(), Some(1));
    assert_eq!(out(&damaged), "", "half a document is no document");

    assert_eq!(place.output(&["runs", "rm", &first.id]).status.code(), Some(0));
    assert_eq!(place.runs().len(), 1);
}

#[test]
fn the_plan_of_a_finished_run_runs_again_from_anywhere() {
    let Some(place) = Workspace::usable() else { return };
    let first = document(&out(&place.run(0, &["--format", "json"])));
    let plan = place.runs()[0].join("plan.toml");
    let plan = plan.to_str().expect("a path in UTF-8");
    let mut command = place.command(&[&["run", plan, "--format", "json"][..], &ALLOW].concat());
    let output = command.current_dir("/").output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let again = document(&out(&output));
    assert_eq!((again.seed, again.plan_sha256), (first.seed, first.plan_sha256));
    assert!(place.names("ds").is_empty());
}

#[test]
fn kept_disks_verify_and_damage_is_named() {
    let Some(place) = Workspace::usable() else { return };
    place.run(0, &["--verify", "--keep"]);
    let verified = place.output(&["verify", "ds"]);
    assert_eq!(verified.status.code(), Some(0), "{}{}", out(&verified), err(&verified));
    assert!(out(&verified).contains("every block is right"), "{}", out(&verified));

    let ours = place.path("ds").join(&place.names("ds")[0]);
    let disk = names(&ours).into_iter().find(|name| name.ends_with(".disk"));
    let disk = ours.join(disk.expect("a disk"));
    let mut bytes = std::fs::read(&disk).expect("its content");
    bytes[8192..12288].fill(0xa5);
    std::fs::write(&disk, bytes).expect("damage");
    let damaged = place.output(&["verify", "ds", "--format", "json"]);
    assert_eq!(damaged.status.code(), Some(4), "{}", err(&damaged));
    let report: serde_json::Value = serde_json::from_str(&out(&damaged)).expect("JSON");
    assert_eq!(report[0]["passed"], false, "{report}");

    assert_eq!(place.output(&["cleanup", "ds"]).status.code(), Some(0));
    assert!(place.names("ds").is_empty());
}

#[test]
fn plan_and_check_touch_nothing_and_say_so() {
    let Some(place) = Workspace::usable() else { return };
    for verb in ["plan", "check"] {
        for format in ["text", "json"] {
            let args = [&[verb, "ds", "--format", format][..], &ALLOW, &MICRO].concat();
            let output = place.output(&args);
            assert_eq!(output.status.code(), Some(0), "{}", err(&output));
            assert_eq!(err(&output), "");
            match format {
                "json" => {
                    serde_json::from_str::<serde_json::Value>(&out(&output)).expect("JSON");
                }
                _ => assert!(out(&output).contains("nothing was touched"), "{}", out(&output)),
            }
        }
    }
    let configuration = place.output(&[&["run", "ds", "--print-config"][..], &MICRO].concat());
    assert!(out(&configuration).contains("scale.footprint"), "{}", out(&configuration));
    assert!(place.names("ds").is_empty() && place.names("runs").is_empty());
}

#[test]
fn a_run_goes_on_when_nobody_reads_its_story() {
    let Some(place) = Workspace::usable() else { return };
    let mut run = Running::new(place.run_command(&["--live", "line", "--format", "json"]));
    run.wait_for("run  ");
    run.close_stderr();
    let ended = run.end();
    assert_eq!(ended.code, Some(0));
    document(&ended.stdout);
    assert!(place.names("ds").is_empty());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let Some(place) = Workspace::usable() else { return };
    let mut run = Running::new(place.run_command(&["--live", "line"]));
    run.close_stdout();
    let ended = run.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(place.names("ds").is_empty());
    assert_eq!(place.runs().len(), 1, "the result is stored all the same");
}
