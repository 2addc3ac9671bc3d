//! The main job on a modelled array, in virtual time.

use run_store::run::{Edge, Run, Status, Step};
use run_store::rundir::StoredRun;
use rustix::process::Signal;

use crate::rig::{Running, Workspace, err, out, simulate_words};

/// A tile of one virtual machine with one user.
const TILE: [&str; 4] = ["--tile", "micro/read-4k-qd1", "--footprint", "0.01"];

fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    simulate_words(&[&TILE[..], more].concat())
}

fn run(place: &Workspace, more: &[&str]) -> Run {
    let output = place.output(&[&words(more)[..], &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    run_store::run::parse(&out(&output)).expect("one run document and nothing else")
}

/// Steps without the time of day.
fn steps(run: &Run) -> Vec<Step> {
    let mut steps = run.steps.clone();
    for step in &mut steps {
        step.started = jiff::Timestamp::UNIX_EPOCH;
    }
    steps
}

#[test]
fn range_is_simulated_to_its_end_and_marked_as_simulated() {
    let place = Workspace::new();
    let run = run(&place, &["--array", "hdd-raid10", "--tiles", "1..3"]);
    assert_eq!(run.answer.status, Status::Complete);
    assert_eq!(run.steps.iter().map(|step| step.tiles).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(run.target.is_simulated() && run.target.summary.starts_with("simulated: "));
    assert!(run.answer.sentence.starts_with("This simulated array"), "{}", run.answer.sentence);
    assert!(run.steps.iter().all(|step| step.model.is_some()));
    let directory = &place.runs()[0];
    let stored = StoredRun::at(directory).expect("a run directory");
    assert_eq!(stored.check().expect("checksums"), []);
    assert!(directory.join("array.toml").is_file());
    for real in ["preflight.json", "env.json"] {
        assert!(!directory.join(real).exists(), "{real} is about real storage");
    }
    let shown = out(&place.output(&["runs", "show", &run.id]));
    let headline = shown.lines().nth(1).expect("a second line");
    assert!(headline.contains("array:hdd-raid10  simulated: "), "{headline}");
    assert!(shown.contains("nothing was measured on real storage"), "{shown}");
}

#[test]
fn disturbed_passed_step_is_reported_in_the_terminal() {
    let place = Workspace::new();
    let run = run(&place, &["--array", "hdd-raid10", "--tiles", "1..2"]);
    let quiet = out(&place.output(&["runs", "show", &run.id]));
    assert!(!quiet.contains("[disturbed]"), "{quiet}");
    let path = place.runs()[0].join("run.json");
    let text = std::fs::read_to_string(&path).expect("run.json");
    let mut document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    document["steps"][1]["disturbances"] = serde_json::json!([
        { "gauge": "cpu.others", "by": "rustc", "value": 0.89, "limit": 0.1 }
    ]);
    std::fs::write(&path, document.to_string()).expect("run.json");
    for verbose in [&[][..], &["--verbose"]] {
        let shown = out(&place.output(&[&["runs", "show", &run.id], verbose].concat()));
        let joined = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = "1 of 2 steps were disturbed. The worst, at 2 tiles: other processes used 89 %";
        assert!(
            joined.contains(said) && joined.contains("most of it rustc [disturbed]"),
            "{shown}"
        );
    }
}

#[test]
fn stored_plan_repeats_the_figures_and_names_its_changes() {
    let place = Workspace::new();
    let change = ["--with", "pool.shelf.count=12"];
    let first = run(&place, &[&["--array", "hdd-raid10", "--tiles", "2"], &change[..]].concat());
    assert!(first.target.summary.ends_with(", with pool.shelf.count=12"), "{:?}", first.target);
    let plan = place.runs()[0].join("plan.toml");
    let plan = plan.to_str().expect("a path in UTF-8");
    let output = place.output(&["simulate", plan, "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let again = run_store::run::parse(&out(&output)).expect("a run");
    assert_eq!(steps(&again), steps(&first));
    assert_eq!(again.target.array_sha256, first.target.array_sha256);
    let compared = place.output(&["compare", &first.id, "vs", &again.id]);
    let text = out(&compared);
    assert!(text.contains("both groups are simulated"), "{text}");
    assert!(text.contains("environment: 2 differences"), "names and summaries only:\n{text}");
    assert!(!text.contains("array_sha256"), "{text}");
}

#[test]
fn a_simulation_that_is_stopped_keeps_what_it_has() {
    let place = Workspace::new();
    let long = ["--array", "hdd-raid10", "--tiles", "1", "--duration", "20h", "--live", "line"];
    let words = simulate_words(&[&["--tile", "micro/mixed-8k"], &long[..]].concat());
    let mut running = Running::new(place.command(&words));
    running.wait_for("x real time");
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(ended.stdout.contains("Interrupted: "), "{}", ended.stdout);
    let runs = place.runs();
    assert_eq!(runs.len(), 1);
    let stored = StoredRun::at(&runs[0]).expect("a run directory");
    assert_eq!(stored.run().expect("run.json").answer.status, Status::Interrupted);
}

/// A pool of 1.1 TiB without any disk in it, and one with space for three tiles.
#[test]
fn full_pool_ends_the_search_though_others_have_room() {
    let place = Workspace::new();
    let array = r#"
        name = "two-pools"
        title = "A large pool and a small one"
        source = "ours"
        [[pool]]
        name = "large"
        disk = "hdd-10k"
        count = 4
        [[pool]]
        name = "small"
        disk = "little"
        count = 1
        [[place]]
        pool = "small"
        role = "data"
        [disk.little.ssd]
        like = "ssd-sata-enterprise"
        capacity = "NNNMiB"
    "#;
    let with = |mib: u64| place.write("two.toml", &array.replace("NNN", &mib.to_string()));
    with(100_000);
    let one = run(&place, &["--array", "./two.toml", "--tiles", "1"]);
    let tile = one.tile.disk_bytes >> 20;
    with(3 * (tile + 1));
    let found = run(&place, &["--array", "./two.toml", "--tiles-max", "8"]);
    assert_eq!(found.answer.tiles_held, Some(3), "{}", found.answer.sentence);
    assert_eq!(found.answer.edge, Edge::CapacityReached);
    assert!(found.answer.sentence.contains("no room for tile 4"), "{}", found.answer.sentence);
    let refused = place.output(&words(&["--array", "./two.toml", "--tiles", "4"]));
    assert_eq!(refused.status.code(), Some(3), "{}", err(&refused));
    assert!(err(&refused).contains("pool \"small\""), "the pool is named: {}", err(&refused));
}

#[test]
fn a_stored_run_is_judged_again_and_a_changed_one_is_found() {
    let place = Workspace::new();
    let run = run(&place, &["--array", "hdd-raid10", "--tiles", "1..2"]);
    let directory = &place.runs()[0];
    let report = std::fs::read_to_string(directory.join("report.html")).expect("a report");
    assert!(report.to_lowercase().starts_with("<!doctype html>"), "{:.200}", report);
    // Packed into the page (gzip, in base64), or in plain tables where there is no built page.
    let is_packed = report.contains("type=\"application/octet-stream;base64\">H4sI");
    assert!(is_packed || report.contains(&run.id), "it holds no run");
    let output = place.output(&["verify-report", &run.id]);
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    assert!(out(&output).contains(" agree with the raw series"), "{}", out(&output));

    let path = directory.join("run.json");
    let text = std::fs::read_to_string(&path).expect("run.json");
    let mut forged: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    forged["steps"][1]["throughput"]["operations_per_s"] = 1e6.into();
    std::fs::write(&path, forged.to_string()).expect("writes");
    let output = place.output(&["verify-report", "latest", "--format", "json"]);
    assert_eq!(output.status.code(), Some(4), "{}{}", out(&output), err(&output));
    let found: serde_json::Value = serde_json::from_str(&out(&output)).expect("one document");
    assert_eq!(found["result"], "differs");
    assert_eq!(found["files"][0]["what"], "run.json");
    let items = found["steps"][1]["items"].as_array().expect("items");
    let differ = items.iter().filter(|item| item["result"] == "differs");
    assert_eq!(differ.map(|item| &item["what"]).collect::<Vec<_>>(), ["throughput"]);
}

/// Tile of calls alone, on an array without I/O.
const CALLS: [&str; 8] =
    ["--tile", "micro/http-get", "--array", "nvme-local", "--tiles", "8", "--repeats", "1"];

fn called(place: &Workspace, more: &[&str]) -> Run {
    let words = simulate_words(&[&CALLS[..], more, &["--format", "json"]].concat());
    let output = place.output(&words);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}{}", out(&output), err(&output));
    run_store::run::parse(&out(&output)).expect("one run document and nothing else")
}

#[test]
fn calls_alone_warm_up_are_judged_by_their_actions_and_scored() {
    let place = Workspace::new();
    let run = called(&place, &["--endpoint", "page=model:32x2ms"]);
    let step = &run.steps[0];
    assert_eq!(step.verdict, run_store::run::Verdict::Passed, "{}", step.reason);
    assert!(step.warm_up.reached, "{:?}", step.warm_up);
    assert!(step.io.is_empty() && step.generator.in_flight_mean.value > Some(0.0));
    let [calls] = &step.calls[..] else { panic!("{:?}", step.calls) };
    assert_eq!((calls.workload.as_str(), calls.kind.as_str()), ("http-get", "get"));
    // 100 arrivals a second of each tile; with 32 servers of 2 ms few calls wait.
    assert!((calls.calls_per_s - 800.0).abs() < 60.0, "{calls:?}");
    assert_eq!((calls.errors.len(), calls.bytes), (0, calls.count * (64 << 10)));
    assert_eq!(step.actions[0].result.count, calls.count);
    assert!(step.score.is_some(), "{step:?}");
    assert!(step.checks.iter().all(|check| check.passed), "{:?}", step.checks);
    assert!(place.runs()[0].join("calls.parquet").is_file());
    let shown = out(&place.output(&["runs", "show", &run.id, "--verbose"]));
    assert!(shown.contains("calls to endpoints") && shown.contains("http-get get"), "{shown}");
    let brief = out(&place.output(&["runs", "show", &run.id]));
    // The path of the results is never broken over lines.
    let mut lines = brief.lines().filter(|line| !line.starts_with("results"));
    assert!(brief.contains("calls/s") && lines.all(|line| line.len() < 81), "{brief}");
    let export = |id: &str, format| place.output(&["export", id, "--format", format]);
    let table = out(&export(&run.id, "calls-csv"));
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let column = |name| header.iter().position(|own| *own == name).expect("a column");
    let measured = lines.filter(|fields| fields[column("phase")] == "measured");
    let counts = measured.map(|fields| fields[column("count")].parse::<u64>().expect("a number"));
    assert_eq!(counts.sum::<u64>(), calls.count, "{table}");
    assert!(out(&export(&run.id, "openmetrics")).contains("tilemark_call_answered_total"));

    let plan = place.runs()[0].join("plan.toml");
    let again = simulate_words(&[plan.to_str().expect("UTF-8"), "--format", "json"]);
    let again = run_store::run::parse(&out(&place.output(&again))).expect("a run");
    assert_eq!(steps(&again), steps(&run), "the stored plan names the model and gives the same");
}

#[test]
fn overloaded_service_breaks_its_limit_with_calls_unfinished() {
    let place = Workspace::new();
    let run = called(&place, &["--endpoint", "page=model:1x20ms"]);
    let step = &run.steps[0];
    assert_eq!(step.verdict, run_store::run::Verdict::Failed, "{}", step.reason);
    assert!(step.calls[0].calls_per_s < 60.0, "{:?}", step.calls);
}

#[test]
fn an_endpoint_without_a_model_or_with_an_address_is_refused() {
    let place = Workspace::new();
    let output = place.output(&simulate_words(&CALLS));
    let said = err(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("no service or model is given") && said.contains("--endpoint page="),
        "{said}"
    );
    let slip = [&CALLS[..], &["--endpoint", "pgae=model:4x2ms"]].concat();
    let said = err(&place.output(&simulate_words(&slip)));
    assert!(said.contains("did you mean \"page\"?"), "{said}");
    let address = [&CALLS[..], &["--endpoint", "page=http://web/"]].concat();
    let said = err(&place.output(&simulate_words(&address)));
    assert!(said.contains("but this needs a model"), "{said}");
}

#[test]
fn time_that_ends_a_simulation_is_told_with_what_was_left_out() {
    let place = Workspace::new();
    let words = ["--array", "hdd-raid10", "--tile", "./tile.toml", "--tiles", "1..2"];
    let output = place.output(&[&simulate_words(&words)[..], &["--within", "1ns"]].concat());
    assert_eq!(output.status.code(), Some(5), "{}{}", out(&output), err(&output));
    let said = out(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    let left_out = "The time of 1 ns ended before run 1 of 1 tile: 0 of 2 steps were run";
    assert!(said.contains(left_out), "{said}");
}
