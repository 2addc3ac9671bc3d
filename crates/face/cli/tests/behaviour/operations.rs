//! Infrastructure operations beside the tiles: on a disk, in virtual time, and refused.

use run_store::run::{Run, Step, Verdict, WorkloadResult};
use run_store::rundir::StoredRun;

use crate::rig::{Workspace, err, out, simulate_words};

/// Workload of one small VM.
pub const USERS: &str = r#"
name = "users"
title = "Eight users who pause between 8 KiB reads and writes"
source = "a test"
metric = { unit = "IOPS", count = "io" }
vm = [{ name = "vm", disk = [{ name = "data", size = "1GiB" }] }]
users = [{ name = "users", vm = "vm", load = { closed = { users = 8, think = { exponential = "4ms" } } } }]
action = [
    { name = "read", weight = 70, steps = [{ read = { disk = "data", size = "8k" } }] },
    { name = "write", weight = 30, steps = [{ write = { disk = "data", size = "8k" } }] },
]
"#;

/// A copy of a disk every 200 ms, and the tile's disk moved as often.
const GROUP: &str = r#"
name = "ours"
title = "A copy and a move"
source = "a test"

[[workload]]
use = "copy.toml"

[[workload]]
use = "move.toml"
"#;

const COPY: &str = r#"
name = "copy"
title = "A copy"
source = "a test"
metric = { unit = "copies/min", count = "actions", of = ["copy"] , per = "1m" }
vm = [{ name = "vm", disk = [{ name = "from", size = "128MiB" }, { name = "to", size = "128MiB" }] }]
users = [{ name = "one", vm = "vm", load = { closed = { users = 1, think = "200ms" } } }]
action = [{ name = "copy", steps = [
    { stage = { name = "copying", steps = [{ copy = { from = "from", to = "to", size = "256k", outstanding = 4 } }] } },
    { stage = { name = "flushing", steps = [{ flush = { disk = "to" } }] } },
] }]
limit = [{ action = "copy", percentile = 95, limit = "10m", source = "a test" }]
"#;

const MOVE: &str = r#"
name = "move"
title = "A move"
source = "a test"
metric = { unit = "moves/min", count = "actions", of = ["move"], per = "1m" }
vm = [{ name = "mover" }]
users = [{ name = "one", vm = "mover", load = { closed = { users = 1, think = "200ms" } } }]
action = [{ name = "move", steps = [{ move = { size = "64k", outstanding = 4 } }] }]
limit = [{ action = "move/switch-over", percentile = 95, limit = "10m", source = "a test" }]
"#;

/// Tile of one small VM, and operations that take less than a second each.
pub fn tile(place: &Workspace) -> Vec<String> {
    place.write("users.toml", USERS);
    place.write(
        "tile.toml",
        "name = \"tile\"\ntitle = \"A machine\"\nsource = \"a test\"\n\n[[workload]]\nuse = \"users.toml\"\n",
    );
    let file = place.path("tile.toml").display().to_string();
    ["--tile", &file, "--footprint", "0.0625"].map(str::to_owned).to_vec()
}

pub fn group(place: &Workspace) -> String {
    place.write("ours.toml", GROUP);
    place.write("copy.toml", COPY);
    place.write("move.toml", MOVE);
    format!("--operations={}", place.path("ours.toml").display())
}

pub fn operation<'a>(step: &'a Step, name: &str) -> &'a WorkloadResult {
    let found = step.workloads.iter().find(|own| own.tile.is_none() && own.workload == name);
    found.expect("the operation's result")
}

pub fn counts(own: &WorkloadResult) -> Vec<(&str, u64)> {
    own.actions.iter().map(|action| (action.action.as_str(), action.count)).collect()
}

/// Checks a step with both operations, on either storage.
fn check(run: &Run) {
    let step = &run.steps[0];
    assert_eq!(step.tiles, 2);
    let [copies, moves] = ["copy", "move"].map(|name| operation(step, name));
    for (own, names) in [
        (copies, &["copy", "copy/copying", "copy/flushing"][..]),
        (moves, &["move", "move/copying", "move/switch-over", "move/checking"][..]),
    ] {
        let counts = counts(own);
        assert_eq!(counts.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
        assert!(counts.iter().all(|(_, count)| *count >= 2), "{counts:?}");
        assert!(counts[0].1.abs_diff(counts[1].1) <= 1, "a stage for each: {counts:?}");
        assert!(own.actions.iter().all(|own| own.errors == 0), "{own:?}");
    }
    let score = step.score.as_ref().expect("a score");
    let (applications, infrastructure, total) = (
        score.applications.value.expect("scored"),
        score.infrastructure.value.expect("operations ended"),
        score.total.value.expect("both parts"),
    );
    assert!((total - (0.8 * applications + 0.2 * infrastructure)).abs() < 1e-9, "{score:?}");
    assert!(infrastructure > 0.0 && infrastructure < 1.05, "{infrastructure}");
    assert_eq!(score.tiles.len(), 2, "operations are no tile");
    let under = step.under_operations.as_ref().expect("operations ran");
    assert!(under.share_of_time > 0.0 && under.share_of_time <= 1.0, "{under:?}");
    let facts = run.tile.operations.as_ref().expect("they are named");
    assert!(facts.name.ends_with("ours.toml") && facts.disk_bytes > 0, "{facts:?}");
}

pub fn parse(text: &str) -> Run {
    run_store::run::parse(text).expect("one run document and nothing else")
}

#[test]
fn operations_beside_tiles_are_judged_scored_and_verified() {
    let Some(place) = Workspace::usable() else { return };
    let group = group(&place);
    let tile = tile(&place);
    let tile: Vec<&str> = tile.iter().map(String::as_str).collect();
    let more = [&tile[..], &["--tiles", "2", "--duration", "6s", "--verify", &group]].concat();
    let words = [&more[..], &["--format", "json"]].concat();
    let output = place.run_command(&words).output().expect("it runs");
    let run = parse(&out(&output));
    check(&run);
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
    let verified = run.warnings.iter().any(|own| own.text.contains("were read back"));
    assert!(verified, "every block of both places holds what was written: {:?}", run.warnings);
    let again = place.output(&["verify-report", "latest"]);
    assert_eq!(again.status.code(), Some(0), "{}{}", out(&again), err(&again));
    let shown = out(&place.output(&["runs", "show", "latest", "--verbose"]));
    assert!(shown.contains("infrastructure operations beside the tiles"), "{shown}");
    assert!(shown.contains("move/switch-over"), "{shown}");
    assert!(shown.contains("of the time; the tiles' actions then took"), "{shown}");
    let stored = StoredRun::at(&place.runs()[0]).expect("a run directory");
    assert_eq!(stored.check().expect("checksums"), []);
}

#[test]
fn operations_in_virtual_time_are_the_same_for_the_same_seed() {
    let place = Workspace::new();
    let tile = tile(&place);
    let tile: Vec<&str> = tile.iter().map(String::as_str).collect();
    let group = group(&place);
    let array = ["--array", "nvme-local", "--tiles", "2", "--duration", "10s", "--seed", "3"];
    let words = simulate_words(&[&tile[..], &array, &[&group, "--format", "json"]].concat());
    let [first, second] = [0, 1].map(|_| {
        let output = place.output(&words);
        assert!(matches!(output.status.code(), Some(0 | 4)), "{}", err(&output));
        parse(&out(&output))
    });
    check(&first);
    let score = |run: &Run| run.steps[0].score.clone();
    assert_eq!(score(&first), score(&second));
    assert_eq!(first.steps[0].workloads, second.steps[0].workloads);
    let again = place.output(&["verify-report", "latest"]);
    assert_eq!(again.status.code(), Some(0), "{}{}", out(&again), err(&again));
}

#[test]
fn operation_over_its_limit_fails_the_step_by_name() {
    let place = Workspace::new();
    let tile = tile(&place);
    let tile: Vec<&str> = tile.iter().map(String::as_str).collect();
    group(&place);
    place.write("copy.toml", &COPY.replace("limit = \"10m\"", "limit = \"1ms\""));
    let group = format!("--operations={}", place.path("ours.toml").display());
    let array = ["--array", "nvme-local", "--tiles", "1", "--duration", "10s"];
    let words = simulate_words(&[&tile[..], &array, &[&group, "--format", "json"]].concat());
    let run = parse(&out(&place.output(&words)));
    let step = &run.steps[0];
    assert_eq!(step.verdict, Verdict::Failed, "{}", step.reason);
    assert!(step.reason.starts_with("the copy's copies reach"), "{}", step.reason);
    assert!(!step.reason.contains("tile"), "it belongs to none: {}", step.reason);
    assert!(step.waits.is_empty(), "stages tell where its time went: {:?}", step.waits);
}

#[test]
fn score_without_operations_is_of_applications_only() {
    let place = Workspace::new();
    let tile = tile(&place);
    let tile: Vec<&str> = tile.iter().map(String::as_str).collect();
    let array = ["--array", "nvme-local", "--tiles", "1"];
    let words = simulate_words(&[&tile[..], &array, &["--format", "json"]].concat());
    let run = parse(&out(&place.output(&words)));
    let score = run.steps[0].score.as_ref().expect("a score");
    let why = "no infrastructure operations were run";
    assert_eq!(score.infrastructure.reason.as_deref(), Some(why));
    assert_eq!((score.total.value, score.value()), (None, score.applications.value));
    assert!(run.tile.operations.is_none() && run.steps[0].under_operations.is_none());
}

#[test]
fn operations_unfit_for_the_tile_are_refused_before_any_write() {
    let place = Workspace::new();
    let tile = tile(&place);
    let tile: Vec<&str> = tile.iter().map(String::as_str).collect();
    group(&place);
    let refused = |group: &str, said: &str| {
        let array = ["--array", "nvme-local", "--tiles", "1", group];
        let output = place.output(&simulate_words(&[&tile[..], &array].concat()));
        assert_eq!(output.status.code(), Some(2), "{}", out(&output));
        assert!(err(&output).contains(said), "{}", err(&output));
    };
    refused("--operations=standards", "did you mean");
    let ours = format!("--operations={}", place.path("ours.toml").display());
    place.write("move.toml", &MOVE.replace("move = { ", "move = { disk = \"nowhere\", "));
    refused(&ours, "it moves disk \"nowhere\", which the tile does not have");
    place.write("move.toml", &MOVE.replace("outstanding = 4", "outstanding = 65"));
    refused(&ours, "65 is not from 1 to 64");
    place.write("move.toml", &MOVE.replace("name = \"move\"\ntitle", "name = \"users\"\ntitle"));
    refused(&ours, "both have a workload \"users\"");
    place.write("move.toml", MOVE);
    place.write(
        "copy.toml",
        &COPY.replace("name = \"to\", size = \"128MiB\"", "name = \"to\", size = \"64MiB\""),
    );
    refused(&ours, "a copy must be as large as its source");
    assert!(place.runs().is_empty());
}
