//! Operations on real virtual machines beside tiles: in a run, after a kill, and refused. Tests
//! that start VMs need QEMU 9.0 or later and the guest's image (`scripts/vm-guest --qemu`), and
//! print a notice without them.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use run_store::run::{Run, Step, Verdict};

use crate::rig::{Workspace, err, out, simulate_words};

const GROUP: &str =
    "name = \"ours\"\ntitle = \"One\"\nsource = \"a test\"\n\n[[workload]]\nuse = \"one.toml\"\n";

/// VM that moves every 200 ms, in a workload of its own.
const UNIFIED: &str = r#"
name = "unified"
title = "A machine that moves with its disk"
source = "a test"
metric = { unit = "moves/min", count = "actions", of = ["move"], per = "1m" }
endpoint = [
    { name = "unified-migration-copying", protocol = "vm" },
    { name = "unified-migration-switch-over", protocol = "vm" },
    { name = "unified-migration-check", protocol = "vm" },
]
vm = [{ name = "vm", disk = [{ name = "here", size = "16MiB" }, { name = "there", size = "16MiB" }] }]
users = [{ name = "one", vm = "vm", load = { closed = { users = 1, think = "200ms" } } }]
action = [{ name = "move", steps = [
    { stage = { name = "copying", steps = [{ call = { endpoint = "unified-migration-copying", size = "1KiB" } }] } },
    { stage = { name = "switch-over", steps = [{ call = { endpoint = "unified-migration-switch-over", size = "1KiB" } }] } },
    { stage = { name = "check", steps = [{ call = { endpoint = "unified-migration-check", size = "1KiB" } }] } },
] }]
limit = [{ action = "move", percentile = 95, limit = "10m", source = "a test" }]
"#;

const USERS: &str = r#"
name = "users"
title = "Two users who pause"
source = "a test"
metric = { unit = "IOPS", count = "io" }
vm = [{ name = "vm", disk = [{ name = "data", size = "64MiB" }] }]
users = [{ name = "users", vm = "vm", load = { closed = { users = 2, think = { exponential = "20ms" } } } }]
action = [{ name = "read", steps = [{ read = { disk = "data", size = "8k" } }] }]
"#;

fn words(place: &Workspace) -> Vec<String> {
    place.write("ours.toml", GROUP);
    place.write("one.toml", UNIFIED);
    place.write("users.toml", USERS);
    let tile = "name = \"tile\"\ntitle = \"A machine\"\nsource = \"a test\"\n\n[[workload]]\nuse = \"users.toml\"\n";
    place.write("tile.toml", tile);
    let file = place.path("tile.toml").display().to_string();
    let group = format!("--operations={}", place.path("ours.toml").display());
    ["--tile", &file, "--footprint", "1", "--tiles", "1", &group].map(str::to_owned).to_vec()
}

/// True if VMs can be moved here; otherwise prints the reason.
fn has_qemu() -> bool {
    let moves = [vm::Operation::LiveMigration];
    let options = vm::qemu::Options {
        accelerator: Some(vm::qemu::Accelerator::Emulation),
        ..vm::qemu::Options::default()
    };
    let checked = vm::qemu::check(&options, &moves);
    if let Err(error) = &checked {
        eprintln!("skipped: {error}");
    }
    checked.is_ok()
}

fn operation(step: &Step) -> Vec<(&str, u64, u64)> {
    let own = step.workloads.iter().find(|own| own.workload == "unified").expect("its result");
    own.actions.iter().map(|action| (action.action.as_str(), action.count, action.errors)).collect()
}

#[test]
fn machines_are_moved_beside_a_tile_checked_and_gone_at_the_end() {
    let Some(place) = Workspace::usable() else { return };
    if !has_qemu() {
        return;
    }
    let words = words(&place);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words = [&words[..], &["--duration", "6s", "--format", "json"]].concat();
    let output = place.run_command(&words).output().expect("it runs");
    let run: Run = run_store::run::parse(&out(&output)).unwrap_or_else(|error| {
        panic!("{error}: {} {}", out(&output), err(&output));
    });
    let step = &run.steps[0];
    let counts = operation(step);
    let names: Vec<&str> = counts.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, ["move", "move/copying", "move/switch-over", "move/check"]);
    assert!(counts.iter().all(|(_, count, errors)| *count >= 1 && *errors == 0), "{counts:?}");
    let machines = step.warnings.iter().chain(&run.warnings).find(|own| own.id == "machines");
    let text = &machines.expect("what they came to is told").text;
    assert!(
        text.contains("unified on QEMU") && text.contains("correct heartbeat and checksums"),
        "{text}"
    );
    assert!(text.contains("KVM"), "what ran the guests is told: {text}");
    let score = step.score.as_ref().expect("a score");
    assert!(score.infrastructure.value.is_some(), "{score:?}");
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
    let again = place.output(&["verify-report", "latest"]);
    assert_eq!(again.status.code(), Some(0), "{}{}", out(&again), err(&again));
}

/// VM processes with the mark of a run whose directory is below `/tmp`, by the run that started
/// them.
fn machines_of(child: &Child) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_ours = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let marked = String::from_utf8_lossy(&environment).contains(vm::home::VARIABLE);
        marked && parent.is_some_and(|parent| parent == child.id().to_string())
    };
    pids.filter(is_ours).collect()
}

/// Run in the middle of a move, with its VM processes.
fn moving(place: &Workspace, words: &[&str]) -> (Child, Vec<u32>) {
    let mut command: Command = place.run_command(words);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let until = Instant::now() + Duration::from_secs(120);
    // Two processes: the second receives the first's VM, so a move is in progress.
    loop {
        let found = machines_of(&child);
        if found.len() >= 2 {
            return (child, found);
        }
        assert!(Instant::now() < until, "no machine moves");
        assert!(child.try_wait().expect("looked at").is_none(), "the run has ended");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn ctrl_c_during_a_migration_ends_vms_and_removes_disks() {
    let Some(place) = Workspace::usable() else { return };
    if !has_qemu() {
        return;
    }
    let words = words(&place);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (mut child, found) = moving(&place, &[&words[..], &["--duration", "10m"]].concat());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let is_there = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(vm::home::VARIABLE)
    };
    assert!(!found.iter().any(is_there), "{found:?} run on");
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

#[test]
fn machines_of_a_killed_run_are_found_and_ended_by_cleanup() {
    let Some(place) = Workspace::usable() else { return };
    if !has_qemu() {
        return;
    }
    let words = words(&place);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words = [&words[..], &["--duration", "10m"]].concat();
    let (mut child, found) = moving(&place, &words);
    let until = Instant::now() + Duration::from_secs(120);
    child.kill().expect("killed");
    child.wait().expect("gone");
    let target = format!("dir:{}", place.path("ds").display());
    // An ended process that was not waited for has no environment.
    let is_there =
        |pid: &u32| !std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default().is_empty();
    // A process that the run was just starting holds the run's locks a moment longer.
    let mut said = String::new();
    while found.iter().any(is_there) && Instant::now() < until {
        let output = place.output(&["cleanup", &target]);
        said += &err(&output);
        assert_eq!(output.status.code(), Some(0), "{}{said}", out(&output));
    }
    assert!(!found.iter().any(is_there), "{found:?}: {said}");
    assert!(said.contains("VM process(es) of /tmp/tilemark-vm-"), "{said}");
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

#[test]
fn operations_real_vms_cannot_do_are_refused_before_any_write() {
    let place = Workspace::new();
    let words = words(&place);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let refused = |output: std::process::Output, says: &str| {
        assert!(matches!(output.status.code(), Some(1..=3)), "{}", out(&output));
        assert!(err(&output).contains(says), "{}", err(&output));
    };
    let array = ["--array", "nvme-local"];
    let simulated = place.output(&simulate_words(&[&words[..], &array].concat()));
    refused(simulated, "no service or model is given");
    let run = |more: &[&str]| place.run_command(&[&words[..], more].concat());
    refused(run(&["--verify"]).output().expect("it runs"), "verification cannot follow");
    let address = ["--endpoint", "unified-migration-check=http://127.0.0.1:1/"];
    refused(run(&address).output().expect("it runs"), "VMs of the run itself");
    let empty = place.path("empty");
    std::fs::create_dir(&empty).expect("made");
    let missing = run(&[]).env("XDG_CACHE_HOME", &empty).output().expect("it runs");
    refused(missing, "scripts/vm-guest builds it");
    place.write("one.toml", &UNIFIED.replace("unified-migration-check", "unified-migration-look"));
    refused(run(&[]).output().expect("it runs"), "not a phase of an operation");
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

#[test]
fn in_virtual_time_phases_are_modelled_services() {
    let place = Workspace::new();
    let words = words(&place);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut more = vec!["--array", "nvme-local", "--duration", "10s", "--format", "json"];
    let phases = ["copying", "switch-over", "check"];
    let models = phases.map(|phase| format!("unified-migration-{phase}=model:1x100ms"));
    models.iter().for_each(|model| more.extend(["--endpoint", model]));
    let output = place.output(&simulate_words(&[&words[..], &more].concat()));
    let run: Run = run_store::run::parse(&out(&output)).unwrap_or_else(|error| {
        panic!("{error}: {}", err(&output));
    });
    assert_eq!(run.steps[0].verdict, Verdict::Passed, "{}", run.steps[0].reason);
    assert!(operation(&run.steps[0]).iter().all(|(_, count, errors)| *count > 2 && *errors == 0));
}

/// Snapshot of a named VM, every 200 ms.
const SAVED: &str = r#"
name = "saved"
title = "Snapshots of a machine of the user's"
source = "a test"
metric = { unit = "snapshots/min", count = "actions", of = ["save"], per = "1m" }
endpoint = [
    { name = "snapshot-create", protocol = "vm" },
    { name = "snapshot-keep", protocol = "vm" },
    { name = "snapshot-delete", protocol = "vm" },
    { name = "snapshot-check", protocol = "vm" },
]
vm = [{ name = "vm" }]
users = [{ name = "one", vm = "vm", load = { closed = { users = 1, think = "200ms" } } }]
action = [{ name = "save", steps = [
    { stage = { name = "create", steps = [{ call = { endpoint = "snapshot-create", size = "1KiB" } }] } },
    { stage = { name = "keep", steps = [{ call = { endpoint = "snapshot-keep", size = "1KiB" } }] } },
    { stage = { name = "delete", steps = [{ call = { endpoint = "snapshot-delete", size = "1KiB" } }] } },
    { stage = { name = "check", steps = [{ call = { endpoint = "snapshot-check", size = "1KiB" } }] } },
] }]
limit = [{ action = "save", percentile = 95, limit = "10m", source = "a test" }]
"#;

/// True if libvirt's test driver is here; otherwise prints the reason.
fn has_virsh() -> bool {
    let words = ["--quiet", "--connect", "test:///default", "list", "--name"];
    let is_there = Command::new("virsh").args(words).output().is_ok_and(|own| own.status.success());
    if !is_there {
        eprintln!("skipped: there is no virsh (apt-get install libvirt-clients)");
    }
    is_there
}

#[test]
fn named_vm_is_saved_beside_a_tile_and_unknown_vm_refused() {
    if !has_virsh() {
        return;
    }
    let place = Workspace::new();
    let words = words(&place);
    place.write("one.toml", SAVED);
    let state = place.path("state");
    let run = |more: &[&str]| {
        let words: Vec<&str> =
            words.iter().map(String::as_str).chain(more.iter().copied()).collect();
        place.run_command(&words).env("XDG_STATE_HOME", &state).output().expect("it runs")
    };
    let refused = |more: &[&str], says: &str| {
        let output = run(more);
        assert!(matches!(output.status.code(), Some(1..=3)), "{}", out(&output));
        assert!(err(&output).contains(says), "{}", err(&output));
        assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
    };
    // libvirt's test driver has one VM, `test`.
    let machine = |name: &str| format!("libvirt:{name},at=test:///default");
    refused(&[], "none is named for it (0 named)");
    refused(&["--machine", &machine("tes")], "there is no machine \"tes\" at test:///default");
    let test = machine("test");
    refused(&["--machine", &test, "--machine", &test], "no workload is left that needs it");
    refused(&["--machine", "libvirt:test*"], "needs an exact name");
    let output =
        run(&["--machine", &test, "--repeats", "1", "--duration", "8s", "--format", "json"]);
    let run: Run = run_store::run::parse(&out(&output)).unwrap_or_else(|error| {
        panic!("{error}: {}", err(&output));
    });
    let step = &run.steps[0];
    let saved = step.workloads.iter().find(|own| own.workload == "saved").expect("its workload");
    let action = saved.actions.iter().find(|own| own.action == "save").expect("its action");
    assert!(action.count > 0 && action.errors == 0, "{action:?}");
    let told: Vec<&str> =
        run.warnings.iter().chain(&step.warnings).map(|own| own.text.as_str()).collect();
    let told = told.join("\n");
    assert!(told.contains("no guest agent answers, so the guest itself was not checked"), "{told}");
    assert!(!told.contains("checksums"), "{told}");
    let left =
        std::fs::read_dir(state.join("tilemark/machines")).expect("ledgers were there").count();
    assert_eq!(left, 0);
}
