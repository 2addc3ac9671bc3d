//! Events of a plan on the hosts of a modelled array.

use run_store::run::{Run, StepEvent, StepEventKind};
use run_store::rundir::StoredRun;

use crate::rig::{Workspace, err, out};

/// Writes an array with this many hosts, and a plan with these events.
fn write(place: &Workspace, hosts: u32, events: &str) {
    let array = format!(
        r#"
name = "hosts"
title = "hosts in front of a shelf"
source = "our choice"
[hosts]
count = {hosts}
cores = 4
io-cpu = {{ per-io = "20us" }}
migration = {{ memory = "256MiB" }}
[link]
kind = "ethernet-10g"
[[pool]]
name = "shelf"
disk = "hdd-10k"
count = 8
"#
    );
    place.write("array.toml", &array);
    let plan = format!(
        r#"
datastore = "array:array.toml"
tile = "tile.toml"
profile = "quick"
seed = 3
{events}
[ladder]
tiles = "2..3"
[measure]
warm-up-min = "1s"
warm-up-max = "2s"
duration = "6s"
[scale]
footprint = 0.01
"#
    );
    place.write("plan.toml", &plan);
}

fn steps(place: &Workspace, more: &[&str]) -> (Vec<Vec<StepEvent>>, String) {
    let output = place.output(&[&["simulate", "plan.toml"][..], more].concat());
    assert!(matches!(output.status.code(), Some(0 | 5)), "{}{}", out(&output), err(&output));
    let directory = place.runs().pop().expect("a run");
    let stored = StoredRun::at(&directory).expect("a run directory");
    let Run { steps, .. } = stored.run().expect("run.json").clone();
    let verified = place.output(&["verify-report", "latest"]);
    assert_eq!(verified.status.code(), Some(0), "{}{}", out(&verified), err(&verified));
    (steps.into_iter().map(|step| step.events).collect(), out(&output))
}

#[test]
fn simulated_moves_use_words_of_real_runs_and_are_stored() {
    let place = Workspace::new();
    let events = r#"
events = [
    { at = "1s", kind = "rebalance", tiles = [1, 9], to = "host-2" },
    { at = "2s", kind = "stop-host", host = "host-1", for = "500ms" },
    { at = "3s", kind = "drain", host = "host-2" },
]
"#;
    write(&place, 2, events);
    let (all, said) = steps(&place, &[]);
    assert_eq!(all.len(), 2);
    let [moved, paused, drained] = &all[1][..] else { panic!("{:?}", all[1]) };
    assert_eq!((moved.kind, paused.kind), (StepEventKind::Rebalance, StepEventKind::StopHost));
    assert_eq!((moved.planned_ns, moved.tiles.len()), (Some(1_000_000_000), 1));
    let own = &moved.tiles[0];
    assert_eq!((own.tile, own.to.as_deref()), (0, Some("host-2")));
    assert!(own.copy.is_some_and(|copy| copy.bytes >= 256 << 20), "{own:?}");
    assert!(paused.tiles.is_empty() || paused.tiles[0].outage_ns == Some(500_000_000));
    assert!(drained.tiles.iter().all(|own| own.to.as_deref() == Some("host-1")));
    assert!(said.contains("host-1 to host-2, stopped for"), "{said}");
    assert!(said.contains("of memory copied in"), "{said}");
    // A search without the events would be of another experiment.
    let asked = place.output(&["what-if", "latest", "--disks", "12", "--quick"]);
    assert_ne!(asked.status.code(), Some(0));
    assert!(err(&asked).contains("has events of hosts"), "{}", err(&asked));
    let ahead = Workspace::new();
    write(&ahead, 2, events);
    assert_eq!(steps(&ahead, &["--threads", "2"]).0, all, "threads changed it");
}

#[test]
fn simulated_loss_of_a_host_restarts_its_vms_after_detection() {
    let place = Workspace::new();
    let events = r#"
events = [{ at = "1s", kind = "lose-host", host = "host-1" }]
restart = { delay = "1s" }
"#;
    write(&place, 2, events);
    let plan = std::fs::read_to_string(place.path("plan.toml")).expect("it was written");
    place.write("plan.toml", &plan.replace("duration = \"6s\"", "duration = \"30s\""));
    let (all, said) = steps(&place, &[]);
    let [lost] = &all[0][..] else { panic!("{:?}", all[0]) };
    assert_eq!(lost.detection_ns, Some(15_000_000_000));
    assert!(!lost.tiles.is_empty());
    for own in &lost.tiles {
        assert_eq!((own.to.as_deref(), own.outage_ns), (Some("host-2"), Some(16_000_000_000)));
    }
    assert!(said.contains("restarted on host-2 after 16 s of outage"), "{said}");
}

/// A move that no plan names is an event like others: it has its effect on the tiles that stay.
#[test]
fn balancing_of_hosts_is_stored_with_its_effect_on_other_tiles() {
    let place = Workspace::new();
    write(&place, 2, "");
    let array = std::fs::read_to_string(place.path("array.toml")).expect("it was written");
    let hosts = "[hosts]\ndrs = { every = \"1s\", threshold = 5 }\n";
    place.write("array.toml", &array.replace("[hosts]\n", hosts));
    // Each tile begins with two busy virtual machines on one host and an idle one on the other.
    // With three tiles, the first host has four busy ones and the second two.
    let light = std::fs::read_to_string(place.path("light.toml")).expect("a workload");
    let light = light.replace("steps = [{ read", "steps = [{ cpu = \"1ms\" }, { read");
    place.write("light.toml", &light);
    let mut tile = std::fs::read_to_string(place.path("tile.toml")).expect("a tile");
    for (name, think) in [("idle", "4s"), ("busy", "4ms")] {
        let load = light.replace("\"light\"", &format!("\"{name}\"")).replace("4ms", think);
        place.write(&format!("{name}.toml"), &load);
        tile.push_str(&format!("\n[[workload]]\nuse = \"{name}.toml\"\n"));
    }
    place.write("tile.toml", &tile);
    let (all, _) = steps(&place, &[]);
    let moves: Vec<&StepEvent> = all.iter().flatten().collect();
    assert!(!moves.is_empty(), "{all:?}");
    for own in &moves {
        assert_eq!((own.kind, own.planned_ns), (StepEventKind::Rebalance, None));
    }
    assert!(moves.iter().any(|own| own.survivors.is_some()), "{moves:?}");
}

#[test]
fn impossible_simulated_event_is_refused_before_a_run() {
    let place = Workspace::new();
    for (hosts, events, says) in [
        (
            2,
            r#"[{ at = "1s", kind = "drain", host = "pve1" }]"#,
            "no host \"pve1\"; the hosts are host-1, host-2",
        ),
        (1, r#"[{ at = "1s", kind = "rebalance" }]"#, "set hosts.count to 2 or more"),
        (2, r#"[{ at = "9s", kind = "rebalance" }]"#, "it is at 9 s, but a step is measured for"),
        (2, r#"[{ at = "1s", kind = "lose-host", host = "host-1" }]"#, "without [restart]"),
    ] {
        write(&place, hosts, &format!("events = {events}"));
        let output = place.output(&["simulate", "plan.toml"]);
        assert_eq!(output.status.code(), Some(2), "{}{}", out(&output), err(&output));
        assert!(err(&output).contains(says), "{says}: {}", err(&output));
    }
    assert!(place.runs().is_empty(), "nothing ran");
}
