//! Events of a plan on hosts, with a separate agent for each on this computer: tiles that move with
//! their state, hosts that pause, and hosts that lose power.

use run_store::run::{Run, Step, StepEvent, StepEventKind, TileMove, Verdict};
use rustix::process::{Signal, kill_process};

use crate::hosts::{agent, hosts, stored};
use crate::rig::{ALLOW, Running, Workspace, err, out};

/// Writes `plan.toml`: tiles that are verified, for a few seconds, with these events. `engine.verify` means
/// that a block that was lost, doubled or written by somebody else fails the run.
fn write_plan(place: &Workspace, tiles: &str, duration: &str, events: &str) {
    let plan = format!(
        r#"
datastore = "ds"
tile = "tile.toml"
profile = "quick"
{events}
[ladder]
tiles = "{tiles}"
[measure]
warm-up-min = "200ms"
warm-up-max = "400ms"
duration = "{duration}"
slice = "100ms"
[scale]
footprint = 0.002
[engine]
verify = true
workers = 2
"#
    );
    place.write("plan.toml", &plan);
}

fn command(place: &Workspace, names: &[&str]) -> std::process::Command {
    let hosts = hosts(place, names);
    let words: Vec<&str> = hosts.iter().map(String::as_str).collect();
    place.command(&[&["run", "plan.toml"][..], &ALLOW, &words].concat())
}

/// Runs the plan to the end.
fn run(place: &Workspace, names: &[&str]) -> (Run, String) {
    let output = command(place, names).output().expect("it starts");
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 5)), "{code:?}: {}{}", out(&output), err(&output));
    (stored(place), out(&output))
}

/// Number of each tile from 1, its old host and its new host.
fn moves(event: &StepEvent) -> Vec<(u32, &str, Option<&str>)> {
    let told = |own: &'_ TileMove| own.tile + 1;
    event.tiles.iter().map(|own| (told(own), own.from.as_str(), own.to.as_deref())).collect()
}

/// Checks a run: its figures agree, and all blocks hold the data written to them.
fn is_sound(run: &Run) {
    for step in &run.steps {
        assert_ne!(step.verdict, Verdict::Interrupted, "{}", step.reason);
        // Agreement of repeats depends on the computer, which runs other tests.
        let mut owed = step.checks.iter().filter(|check| check.id != "repeats-agree");
        assert!(owed.all(|check| check.passed), "{:?}", step.checks);
    }
    let verified = run.warnings.iter().find(|warning| warning.id == "verified").expect("read back");
    assert!(verified.text.contains("every block has its last written content"), "{verified:?}");
}

fn step(run: &Run, tiles: u32) -> &Step {
    run.steps.iter().find(|step| step.tiles == tiles).expect("it was run")
}

/// The hosts of each tile, in the order of their names, by the column of the series.
fn hosts_by_tile(place: &Workspace) -> Option<String> {
    let script = "import duckdb, sys; print(duckdb.sql(\"select string_agg(distinct (tile + 1) || host, ' ' \
                  order by (tile + 1) || host) from 'series.parquet'\").fetchone()[0])";
    let mut python = std::process::Command::new("python3");
    let asked = python.args(["-c", script]).current_dir(place.runs().last()?).output();
    let found = asked.ok().filter(|asked| asked.status.success());
    if found.is_none() {
        eprintln!("skipped: the column `host` is read with duckdb, which is not installed");
    }
    Some(out(&found?).trim().to_owned())
}

#[test]
fn moved_tiles_keep_their_state_and_lose_no_io() {
    let Some(place) = Workspace::usable() else { return };
    let events = r#"
events = [
    { at = "500ms", kind = "rebalance", tiles = [1, 9], to = "b" },
    { at = "1500ms", kind = "stop-host", host = "a", for = "500ms" },
    { at = "2500ms", kind = "drain", host = "b" },
]
"#;
    write_plan(&place, "3", "5s", events);
    let (run, said) = run(&place, &["a", "b", "c"]);
    is_sound(&run);
    let step = step(&run, 3);
    let kinds: Vec<StepEventKind> = step.events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [StepEventKind::Rebalance, StepEventKind::StopHost, StepEventKind::Drain]);
    let [rebalanced, stopped, drained] = &step.events[..] else { panic!("{kinds:?}") };
    assert_eq!(moves(rebalanced), [(1, "a", Some("b"))], "the step has no tile 9");
    assert_eq!(moves(stopped), [], "its only tile is elsewhere by then");
    assert_eq!(stopped.note.as_deref(), Some("it had no tile in this step"));
    assert_eq!(moves(drained), [(1, "b", Some("a")), (2, "b", Some("a"))], "of a and c the first");
    for moved in rebalanced.tiles.iter().chain(&drained.tiles) {
        assert!(!moved.begins_anew && moved.outage_ns > Some(0), "{moved:?}");
        assert_eq!(moved.goes_on_ns, Some(moved.stood_ns + moved.outage_ns.unwrap_or(0)));
    }
    let felt = rebalanced.survivors.as_ref().expect("two others");
    assert_eq!(felt.tiles, [1, 2]);
    assert!(felt.samples_before > 0 && felt.samples_during > 0 && felt.times.value.is_some());
    let work: f64 = step.hosts.iter().map(|host| host.operations_per_s).sum();
    let all = step.throughput.operations_per_s;
    assert!((work - all).abs() < 1.0, "what hosts drove is all there was: {work} of {all}");
    assert!(step.hosts[1].tiles == [1] && step.hosts[1].operations_per_s > 0.0);
    assert!(step.warnings.iter().any(|warning| warning.id == "tiles-moved"));
    assert!(said.contains("tile 2: b to a, stopped for"), "{said}");
    assert_eq!(place.names("ds"), [""; 0], "nothing is left");
    if let Some(hosts) = hosts_by_tile(&place) {
        assert_eq!(hosts, "1a 1b 2a 2b 3c");
    }
    let again = place.output(&["verify-report", "latest"]);
    assert_eq!(again.status.code(), Some(0), "{}{}", out(&again), err(&again));
}

#[test]
fn stopped_host_delays_its_own_tiles_and_blames_no_generator() {
    let Some(place) = Workspace::usable() else { return };
    let events = r#"events = [{ at = "1500ms", kind = "stop-host", host = "b", for = "1s" }]"#;
    write_plan(&place, "2", "4s", events);
    let (run, said) = run(&place, &["a", "b"]);
    is_sound(&run);
    let step = step(&run, 2);
    let [stopped] = &step.events[..] else { panic!("{:?}", step.events) };
    assert_eq!(moves(stopped), [(2, "b", Some("b"))]);
    assert_eq!(stopped.tiles[0].outage_ns, Some(1_000_000_000));
    let longest = |tile: u32| {
        let own = step.workloads.iter().find(|own| own.tile == Some(tile)).expect("a tile");
        own.actions.iter().filter_map(|action| action.response.max_ns).max()
    };
    assert!(longest(1) > Some(900_000_000), "felt by its own: {:?}", longest(1));
    assert!(!step.hosts[1].generator.saturated, "{:?}", step.hosts[1].generator);
    assert!(!step.warnings.iter().any(|warning| warning.id == "tiles-moved"));
    assert!(said.contains("tile 2: stopped on b for 1 s"), "{said}");
    assert!(said.contains("the other tile: response times"), "{said}");
}

#[test]
fn lost_host_restarts_tiles_elsewhere_and_rejoins_next_step() {
    let Some(place) = Workspace::usable() else { return };
    let events = r#"
events = [{ at = "1500ms", kind = "lose-host", host = "b" }]
restart = { delay = "300ms" }
"#;
    write_plan(&place, "2..3", "7s", events);
    let (run, said) = run(&place, &["a", "b", "c"]);
    is_sound(&run);
    for tiles in [2, 3] {
        let step = step(&run, tiles);
        let [lost] = &step.events[..] else { panic!("{:?}", step.events) };
        assert_eq!((lost.kind, lost.host.as_deref()), (StepEventKind::LoseHost, Some("b")));
        let (began, noticed) = (lost.began_ns, lost.noticed_ns.expect("it was missed"));
        assert!(noticed > began && lost.detection_ns > Some(0), "{lost:?}");
        // With two tiles host c has none, with three as many as a.
        let to = if tiles == 2 { "c" } else { "a" };
        assert_eq!(moves(lost), [(2, "b", Some(to))]);
        let moved = &lost.tiles[0];
        assert!(moved.begins_anew && moved.goes_on_ns >= Some(noticed + 300_000_000), "{moved:?}");
        let felt = lost.survivors.as_ref().expect("others");
        assert!(!felt.tiles.contains(&1) && felt.samples_during > 0, "{felt:?}");
    }
    assert!(said.contains("tile 2: restarted on a after"), "{said}");
    assert_eq!(place.names("ds"), [""; 0], "nothing is left");
}

#[test]
fn killed_agent_is_treated_like_a_planned_host_loss() {
    let Some(place) = Workspace::usable() else { return };
    write_plan(&place, "2", "8s", "restart = { delay = \"200ms\" }");
    let mut command = command(&place, &["a", "b"]);
    command.args(["--live", "line"]);
    let mut run = Running::new(command);
    run.wait_for("measuring");
    kill_process(agent(&place, "b"), Signal::KILL).expect("it is there");
    let ended = run.end();
    let run = stored(&place);
    is_sound(&run);
    let step = step(&run, 2);
    let [lost] = &step.events[..] else { panic!("{:?}: {}", step.events, ended.stderr) };
    assert_eq!((lost.kind, lost.planned_ns), (StepEventKind::HostLost, None));
    assert_eq!(moves(lost), [(2, "b", Some("a"))]);
    assert!(lost.tiles[0].begins_anew && lost.noticed_ns >= Some(lost.began_ns), "{lost:?}");
    let left = place.names("ds");
    assert!(left.iter().all(|name| name.ends_with("-b")) && !left.is_empty(), "{left:?}");
    let cleaned = place.output(&["cleanup", "ds"]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", err(&cleaned));
    assert_eq!(place.names("ds"), [""; 0]);
}

#[test]
fn impossible_events_are_refused_with_their_line_in_the_plan() {
    let place = Workspace::new();
    let drain = r#"events = [{ at = "1s", kind = "drain", host = "b" }]"#;
    let refused = |events: &str, names: &[&str], more: &[&str], says: &str| {
        write_plan(&place, "1", "5s", events);
        let output = command(&place, names).args(more).output().expect("it starts");
        let text = err(&output);
        assert!(matches!(output.status.code(), Some(2 | 3)), "{:?}: {text}", output.status);
        assert!(text.contains(says), "{events}: {text}");
        assert_eq!((place.names("ds"), place.runs().len()), (Vec::new(), 0));
    };
    refused(drain, &[], &[], "events: the plan has no host that this can happen to");
    refused(drain, &["a", "c"], &[], "events[0].host: there is no host \"b\"; the hosts are a, c");
    refused(drain, &["b"], &[], "events[0].host: this was the last host");
    refused(drain, &["a", "b"], &["--storage", "local"], "need storage that all hosts see");
    refused(drain, &["a", "b"], &["--buffered"], "engine.buffered = false");
    let lose = r#"events = [{ at = "1s", kind = "lose-host", host = "b" }]"#;
    refused(lose, &["a", "b"], &[], "without [restart] a lost host voids every step");
    let late = r#"events = [{ at = "9s", kind = "drain", host = "b" }]"#;
    refused(late, &["a", "b"], &[], "it is at 9 s, but a step is measured for 5 s");
    refused(late, &["a", "b"], &[], "in plan.toml, line 5, column 18");
    refused("restart = { delay = \"1s\" }", &[], &[], "restart: the plan has no host");
    let simulated = place.output(&["simulate", "plan.toml"]);
    assert_ne!(simulated.status.code(), Some(0), "{}", out(&simulated));
}
