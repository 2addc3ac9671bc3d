//! Operations between two datastores, and those that share blocks: on disks and in virtual time.

use crate::loops::Mounted;
use crate::operations::{counts, group, operation, parse, tile};
use crate::rig::{Workspace, err, out, simulate_words};

/// Each action takes whole disks: a linked clone, its check, its first boot, its end.
const LINKED: &str = r#"
name = "linked"
title = "A linked clone"
source = "a test"
metric = { unit = "clones/min", count = "actions", of = ["deploy"], per = "1m" }
vm = [{ name = "vm", disk = [{ name = "template", size = "128MiB" }, { name = "clone", size = "128MiB" }] }]
users = [{ name = "one", vm = "vm", load = { closed = { users = 1, think = "100ms" } } }]

[[action]]
name = "deploy"
steps = [
    { stage = { name = "linking", steps = [{ link = { from = "template", to = "clone" } }] } },
    { stage = { name = "checking", steps = [{ check = { from = "template", to = "clone" } }] } },
    { stage = { name = "boot", steps = [
        { read = { disk = "clone", size = "16k", count = 20 } },
        { write = { disk = "clone", size = "4k", count = 20 } },
        { flush = { disk = "clone" } },
    ] } },
    { stage = { name = "destroying", steps = [{ destroy = { disk = "clone" } }] } },
]

[[limit]]
action = "deploy"
percentile = 95
limit = "10m"
source = "a test"
"#;

const SNAPSHOTS: &str = r#"
name = "snapshots"
title = "Snapshots of a running machine's disk"
source = "a test"
metric = { unit = "snapshots/min", count = "actions", of = ["snapshot"], per = "1m" }
vm = [{ name = "keeper" }]
users = [{ name = "one", vm = "keeper", load = { closed = { users = 1, think = "100ms" } } }]
action = [{ name = "snapshot", steps = [{ snapshot = { keep = "300ms" } }] }]
limit = [{ action = "snapshot/creating", percentile = 95, limit = "10m", source = "a test" }]
"#;

fn shared(place: &Workspace) -> String {
    place.write(
        "shared.toml",
        "name = \"shared\"\ntitle = \"Shared blocks\"\nsource = \"a test\"\n\n[[workload]]\nuse = \
         \"linked.toml\"\n\n[[workload]]\nuse = \"snapshots.toml\"\n",
    );
    place.write("linked.toml", LINKED);
    place.write("snapshots.toml", SNAPSHOTS);
    format!("--operations={}", place.path("shared.toml").display())
}

fn words<'a>(tile: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    tile.iter().map(String::as_str).chain(more.iter().copied()).collect()
}

/// Checks a step with linked clones and snapshots, on either storage.
fn check(run: &run_store::run::Run) {
    let step = &run.steps[0];
    for (name, stages) in [
        (
            "linked",
            &["deploy", "deploy/linking", "deploy/checking", "deploy/boot", "deploy/destroying"][..],
        ),
        (
            "snapshots",
            &["snapshot", "snapshot/creating", "snapshot/keeping", "snapshot/deleting"][..],
        ),
    ] {
        let own = operation(step, name);
        let counts = counts(own);
        assert_eq!(counts.iter().map(|(name, _)| *name).collect::<Vec<_>>(), stages);
        assert!(counts.iter().all(|(_, count)| *count >= 2), "{counts:?}");
        assert!(own.actions.iter().all(|own| own.errors == 0), "{own:?}");
    }
}

#[test]
fn linked_clones_and_snapshots_pass_verification_on_xfs() {
    let place = Workspace::new();
    let Some(_xfs) = Mounted::new(&place, "small", "xfs", 10 << 30) else { return };
    let (tile, group) = (tile(&place), shared(&place));
    let more = ["--tiles", "1", "--duration", "5s", "--verify", &group, "--format", "json"];
    let mut all = crate::rig::run_words(&words(&tile, &more)).to_vec();
    all[1] = "small";
    let output = place.output(&all);
    assert!(matches!(output.status.code(), Some(0 | 4 | 5)), "{}{}", out(&output), err(&output));
    let run = parse(&out(&output));
    check(&run);
    let verified = run.warnings.iter().any(|own| own.text.contains("were read back"));
    assert!(verified, "every block that was written is as it was: {:?}", run.warnings);
    assert!(place.names("small").is_empty(), "left: {:?}", place.names("small"));
}

#[test]
fn in_virtual_time_a_linked_clone_costs_a_block_of_metadata() {
    let place = Workspace::new();
    let (tile, group) = (tile(&place), shared(&place));
    let array = ["--array", "nvme-local", "--tiles", "1", "--duration", "20s"];
    let more = words(&tile, &[&array[..], &[&group, "--format", "json"]].concat());
    let output = place.output(&simulate_words(&more));
    let run = parse(&out(&output));
    check(&run);
    let linked = operation(&run.steps[0], "linked");
    let linking = linked.actions.iter().find(|own| own.action == "deploy/linking").expect("told");
    let p50 = linking.response.p50_ns.expect("a median");
    assert!(p50 < 10_000_000, "128 MiB were not copied in {p50} ns");
}

#[test]
fn block_sharing_is_refused_where_the_file_system_lacks_it() {
    let place = Workspace::new();
    let Some(_ext4) = Mounted::new(&place, "small", "ext4", 10 << 30) else { return };
    let (tile, group) = (tile(&place), shared(&place));
    let mut all = crate::rig::run_words(&words(&tile, &["--tiles", "1", &group])).to_vec();
    all[1] = "small";
    let output = place.output(&all);
    assert_eq!(output.status.code(), Some(3), "{}{}", out(&output), err(&output));
    let text = err(&output);
    assert!(
        text.contains("cannot share blocks") && text.contains("the file system is ext4"),
        "{text}"
    );
    assert!(text.contains("hint: "), "{text}");
    assert_eq!(place.names("small"), ["lost+found"], "nothing of ours is left");
}

#[test]
fn disks_move_between_two_datastores_and_both_are_cleaned() {
    let Some(place) = Workspace::usable() else { return };
    std::fs::create_dir(place.path("other")).expect("a directory");
    let (tile, group) = (tile(&place), group(&place));
    let more = ["--tiles", "2", "--duration", "6s", "--verify", "--second", "other", &group];
    let checked = place.output(
        &[&["check", "ds"][..], &crate::rig::run_words(&words(&tile, &more))[2..]].concat(),
    );
    assert_eq!(checked.status.code(), Some(0), "{}{}", out(&checked), err(&checked));
    assert!(out(&checked).contains("the second datastore, dir:"), "{}", out(&checked));
    let output = place.run_command(&words(&tile, &[&more[..], &["--format", "json"]].concat()));
    let output = { output }.output().expect("it runs");
    let run = parse(&out(&output));
    let moves = operation(&run.steps[0], "move");
    assert!(moves.actions.iter().all(|own| own.count >= 2 && own.errors == 0), "{moves:?}");
    let second = run.target.second.as_ref().expect("it is told");
    assert!(second.datastore.ends_with("/other") && second.capacity_bytes.is_some(), "{second:?}");
    let shares = run.warnings.iter().any(|own| own.id == "second-shares");
    assert!(shares, "one file system: {:?}", run.warnings);
    let verified = run.warnings.iter().find(|own| own.text.contains("were read back"));
    let text = &verified.expect("it is verified").text;
    assert!(text.contains("; on the second datastore "), "{text}");
    for file in ["preflight.json", "env.json"] {
        let stored = std::fs::read_to_string(place.runs()[0].join(file)).expect("stored");
        let stored: serde_json::Value = serde_json::from_str(&stored).expect("JSON");
        assert!(stored["second"].is_object(), "{file}");
    }
    assert!(place.names("ds").is_empty() && place.names("other").is_empty());
    let plan = std::fs::read_to_string(place.runs()[0].join("plan.toml")).expect("stored");
    assert!(plan.contains("second = \"dir:"), "{plan}");
    let again = place.output(&["verify-report", "latest"]);
    assert_eq!(again.status.code(), Some(0), "{}{}", out(&again), err(&again));
}

#[test]
fn kept_disks_of_both_datastores_are_used_again() {
    let Some(place) = Workspace::usable() else { return };
    std::fs::create_dir(place.path("other")).expect("a directory");
    let (tile, group) = (tile(&place), group(&place));
    let more = ["--tiles", "1", "--second", "other", &group];
    let all = words(&tile, &more);
    let prepared =
        place.output(&[&["prepare", "ds"][..], &crate::rig::run_words(&all)[2..]].concat());
    assert_eq!(prepared.status.code(), Some(0), "{}{}", out(&prepared), err(&prepared));
    assert_eq!((place.names("ds").len(), place.names("other").len()), (1, 1));
    assert_eq!(place.names("ds"), place.names("other"), "under one name");
    let more = [&more[..], &["--reuse", "latest", "--remove", "--format", "json"]].concat();
    let output = place.run_command(&words(&tile, &more)).output().expect("it runs");
    let run = parse(&out(&output));
    let prefill = run.prefill.as_ref().expect("told");
    assert_eq!(prefill.bytes, 0, "nothing was filled again: {prefill:?}");
    assert!(place.names("ds").is_empty() && place.names("other").is_empty());
}

#[test]
fn bad_second_datastore_is_refused_before_any_write() {
    let place = Workspace::new();
    std::fs::create_dir(place.path("other")).expect("a directory");
    std::os::unix::fs::symlink(place.path("ds"), place.path("alias")).expect("a link");
    let (tile, group) = (tile(&place), group(&place));
    let refused = |code: i32, said: &str, more: &[&str]| {
        let output = place.run_command(&words(&tile, more)).output().expect("it starts");
        assert_eq!(output.status.code(), Some(code), "{}", err(&output));
        assert!(err(&output).contains(said), "{}", err(&output));
        assert!(place.runs().is_empty());
    };
    refused(2, "this run has no data there", &["--second", "other"]);
    refused(2, "is also the first datastore", &["--second", "ds", &group]);
    refused(2, "is also the first datastore", &["--second", "alias", &group]);
    refused(3, "nowhere", &["--second", "nowhere", &group]);
    assert!(place.names("ds").is_empty() && place.names("other").is_empty());
}

#[test]
fn in_virtual_time_disks_move_to_a_pool_of_the_array() {
    let place = Workspace::new();
    let (tile, group) = (tile(&place), group(&place));
    let array =
        ["--array", "vnx5500", "--tiles", "1", "--duration", "20s", &group, "--format", "json"];
    let output = place
        .output(&simulate_words(&words(&tile, &[&array[..], &["--second", "pool:lun3"]].concat())));
    assert!(matches!(output.status.code(), Some(0 | 4 | 5)), "{}", err(&output));
    let run = parse(&out(&output));
    assert_eq!(run.target.second.as_ref().map(|own| own.datastore.as_str()), Some("pool:lun3"));
    let parts = &run.steps[0].model.as_ref().expect("a model").parts;
    let busy = parts.iter().any(|part| part.name.contains("lun3") && part.utilisation > 0.0);
    assert!(busy, "the third pool works: {parts:?}");
    let output = place
        .output(&simulate_words(&words(&tile, &[&array[..], &["--second", "pool:lun9"]].concat())));
    assert_ne!(output.status.code(), Some(0));
    assert!(err(&output).contains("lun9"), "{}", err(&output));
}
