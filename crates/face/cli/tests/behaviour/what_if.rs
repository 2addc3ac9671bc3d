//! Effects of changes on a run's storage.

use std::process::Output;

use rustix::process::Signal;
use serde_json::Value;

use crate::redact;
use crate::rig::{Running, Workspace, err, out, simulate_words};

/// Four users who read twice and pause for 50 ms.
const SHOP: &str = r#"
name = "shop"
title = "Shop"
source = "ours"
metric = { unit = "orders/s", count = "actions" }
[[vm]]
name = "db"
vcpus = 1
[[vm.disk]]
name = "tables"
size = "4GiB"
[[users]]
name = "users"
vm = "db"
load = { closed = { users = 4, think = { exponential = "50ms" } } }
[[action]]
name = "order"
steps = [{ read = { disk = "tables", size = "8k", count = 2 } }]
[[limit]]
action = "order"
percentile = 95
limit = "60ms"
source = "test"
"#;

const TILE: &str = r#"
name = "small"
title = "A small tile"
source = "ours"
[[workload]]
use = "./shop.toml"
"#;

const DISKS: &str = r#"
name = "two-disks"
title = "Two disks"
source = "ours"
[[pool]]
name = "shelf"
disk = "hdd-10k"
count = 2
"#;

/// Simulates up to so many of the small tiles on two disks.
fn simulate(place: &Workspace, tiles_max: &str) -> Output {
    let what = ["--tile", "./tile.toml", "--array", "./disks.toml", "--tiles-max", tiles_max];
    place.output(&simulate_words(&what))
}

/// A simulated run of the small tile on two disks.
fn simulated() -> Workspace {
    let place = Workspace::new();
    place.write("shop.toml", SHOP);
    place.write("tile.toml", TILE);
    place.write("disks.toml", DISKS);
    let output = simulate(&place, "8");
    assert!(matches!(output.status.code(), Some(0)), "{}{}", out(&output), err(&output));
    place
}

fn ask(place: &Workspace, more: &[&str]) -> Value {
    let output = place.output(&[&["what-if", "20", "--format", "json"], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}{}", out(&output), err(&output));
    serde_json::from_str(&out(&output)).expect("one JSON document and nothing else")
}

#[test]
fn doubled_disks_hold_no_fewer_tiles_on_any_thread_count() {
    let place = simulated();
    let doubled = ["--disks", "4", "--tiles-max", "10"];
    let answer = ask(&place, &[&doubled[..], &["--threads", "2"]].concat());
    assert_eq!(answer, ask(&place, &[&doubled[..], &["--threads", "1"]].concat()));
    let edges = |side: &str| answer[side]["edges"].as_array().expect("edges").clone();
    let (base, changed) = (edges("base"), edges("changed"));
    assert_eq!((base.len(), changed.len()), (5, 5));
    for (one, other) in base.iter().zip(&changed) {
        assert_eq!(one["seed"], other["seed"], "seeds are paired");
        assert!(one["tiles"].as_u64() <= other["tiles"].as_u64(), "{one} {other}");
    }
    assert_eq!(base[0]["seed"], 7, "the first seed is the run's own");
    assert!(answer["changed"]["tiles"].as_u64() > answer["base"]["tiles"].as_u64(), "{answer}");
    let sentence = answer["sentence"].as_str().expect("a sentence");
    assert!(sentence.starts_with("with 4 disks this array would hold "), "{sentence}");
    assert!(sentence.contains("pool shelf disks"), "{sentence}");
    assert_eq!(answer["model_error"], Value::Null);
    assert_eq!(answer["run_simulated"], true);
}

#[test]
fn what_cannot_be_asked_says_what_can() {
    let place = simulated();
    let refused = |args: &[&str]| {
        let output = place.output(&[&["what-if"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{}{}", out(&output), err(&output));
        assert_eq!(out(&output), "");
        redact::text(&place, &err(&output))
    };
    let run = place.runs()[0].clone();
    let id = run.file_name().expect("a name").to_string_lossy().into_owned();
    let none = refused(&["2999", "--disks", "4"]).replace(&id, "<id>");
    insta::assert_snapshot!("what_if_no_run", none);
    insta::assert_snapshot!("what_if_nothing", refused(&["20"]));
    insta::assert_snapshot!("what_if_policy", refused(&["20", "--policy", "lrx"]));
    insta::assert_snapshot!("what_if_cache", refused(&["20", "--cache", "1KiB"]));
    place.write("shop.toml", &SHOP.replace("60ms", "70ms"));
    let other = refused(&["20", "--disks", "4"]).replace(&id, "<id>");
    insta::assert_snapshot!("what_if_other_tile", other);
    std::fs::remove_file(run.join("plan.toml")).expect("it was there");
    let no_plan = refused(&["20", "--disks", "4"]).replace(&id, "<id>");
    insta::assert_snapshot!("what_if_no_plan", no_plan);
}

#[test]
fn measured_run_is_answered_by_a_fitted_model_with_its_error() {
    let Some(place) = Workspace::usable() else { return };
    place.run(0, &["--tile", "micro/read-4k-qd1", "--seed", "7"]);
    let answer = ask(&place, &["--disks", "2x", "--tiles-max", "2"]);
    assert_eq!(answer["model"], "fitted");
    let error = &answer["model_error"];
    assert_eq!(error["measured_tiles"], 1, "{error}");
    let step = &error["steps"][0];
    let rate = |key: &str| step[key].as_f64().expect("a rate");
    let ratio = rate("modelled_operations_per_s") / rate("measured_operations_per_s");
    assert!((0.1..10.0).contains(&ratio), "the model is of this storage: {step}");
    let text = out(&place.output(&["what-if", "latest", "--disks", "2x", "--tiles-max", "1"]));
    assert!(text.contains("model error: measured at least 1"), "{text}");
    assert!(text.contains("fitted to latency and throughput"), "{text}");
    assert!(text.starts_with("a rough guess from the run alone: with 2 times the disks"), "{text}");
    // Time that ends while models are fitted ends the search as any other time.
    let late = place.output(&["what-if", "latest", "--disks", "2x", "--within", "1ms"]);
    assert_eq!(late.status.code(), Some(5), "{}", err(&late));
    assert!(err(&late).contains("there is no answer"), "{}", err(&late));
}

#[test]
fn an_array_can_be_named_to_stand_for_measured_storage() {
    let Some(place) = Workspace::usable() else { return };
    place.run(0, &["--tile", "micro/read-4k-qd1", "--seed", "7"]);
    place.write("disks.toml", DISKS);
    let answer = ask(&place, &["--array", "./disks.toml", "--disks", "4", "--tiles-max", "1"]);
    assert_eq!((&answer["model"], &answer["run_simulated"]), (&"given".into(), &false.into()));
    assert_eq!(answer["base"]["bottleneck"]["part"], "pool shelf disks", "{}", answer["base"]);
    let step = &answer["model_error"]["steps"][0];
    assert!(step["modelled_operations_per_s"].as_f64().is_some_and(|rate| rate > 0.0), "{step}");
}

#[test]
fn time_that_ends_before_one_seed_gives_no_answer_and_says_so() {
    let place = simulated();
    let short = ["what-if", "latest", "--disks", "4", "--within", "1ns"];
    let output = place.output(&short);
    assert_eq!(output.status.code(), Some(5), "{}{}", out(&output), err(&output));
    assert!(err(&output).contains("there is no answer"), "{}", err(&output));
}

#[test]
fn quick_answer_has_three_seeds() {
    let place = simulated();
    let answer = ask(&place, &["--disks", "4", "--tiles-max", "3", "--quick"]);
    assert_eq!(answer["seeds"].as_array().map(Vec::len), Some(3), "{answer}");
}

#[test]
fn ctrl_c_ends_the_search_without_an_answer() {
    let place = simulated();
    let long = ["what-if", "latest", "--disks", "4", "--repeats", "100"];
    let mut running = Running::new(place.command(&long));
    running.wait_for("seed 1");
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("there is no answer"), "{}", ended.stderr);
}

/// An order every 20 s from each of 20 users: too few in these seconds for a 95th percentile, so no
/// step can decide the limit.
#[test]
fn too_few_samples_for_an_answer_have_an_exit_code_of_their_own() {
    let place = Workspace::new();
    let rare = "users = 20, think = { exponential = \"100s\" }";
    place.write("shop.toml", &SHOP.replace("users = 4, think = { exponential = \"50ms\" }", rare));
    place.write("tile.toml", TILE);
    place.write("disks.toml", DISKS);
    let output = simulate(&place, "1");
    assert_eq!(output.status.code(), Some(5), "{}{}", out(&output), err(&output));
    let output = place.output(&["what-if", "latest", "--disks", "4", "--tiles-max", "1"]);
    assert_eq!(output.status.code(), Some(5), "{}{}", out(&output), err(&output));
    assert!(!out(&output).is_empty(), "what is known is said");
}

#[test]
fn every_command_about_a_run_takes_the_latest() {
    let place = simulated();
    let again = simulate(&place, "1");
    assert_eq!(again.status.code(), Some(0), "{}", err(&again));
    let newest = place.runs().last().and_then(|run| run.file_name().map(|n| n.to_owned()));
    let newest = newest.expect("a run").to_string_lossy().into_owned();
    for words in [&["runs", "show", "latest", "--format", "json"][..], &["export", "latest"]] {
        let output = place.output(words);
        assert_eq!(output.status.code(), Some(0), "{words:?} {}", err(&output));
        assert!(out(&output).contains(&newest), "{words:?} shows {newest}");
    }
    let compared = place.output(&["compare", "latest", "vs", "latest"]);
    assert!(matches!(compared.status.code(), Some(0 | 5)), "{}", err(&compared));
    let answer = place.output(&["what-if", "latest", "--disks", "4", "--tiles-max", "1"]);
    assert_eq!(answer.status.code(), Some(0), "{}", err(&answer));
    let removed = place.output(&["runs", "rm", "latest"]);
    assert_eq!(removed.status.code(), Some(0), "{}", err(&removed));
    assert!(err(&removed).contains(&newest), "{}", err(&removed));
}
