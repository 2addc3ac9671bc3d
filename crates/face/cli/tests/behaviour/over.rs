//! Runs whose disks are reached by a storage protocol. Without its programs, or without root where
//! they need it, a test says why and returns.

use std::path::{Path, PathBuf};
use std::time::Instant;

use findings::StudyResult;
use run_store::gauge::GaugeName;
use run_store::run::{Run, Verdict};
use run_store::rundir::StoredRun;
use rustix::process::{Pid, Signal, kill_process};

use crate::rig::{ALLOW, DEADLINE, MICRO, Running, Workspace, err, homes_of, out};

/// Word of a protocol, and its server.
type Protocol = (&'static str, &'static str);

const NBD: Protocol = ("nbd", "qemu-storage-daemon");
const ISCSI: Protocol = ("iscsi", "tgtd");
const NFS3: Protocol = ("nfs3", "ganesha.nfsd");
/// Few hosts have the modules of these two. In a guest, scripts/guest-protocols tests more than is
/// tested here.
const NFS4: Protocol = ("nfs4", "ganesha.nfsd");
const NVME_TCP: Protocol = ("nvme-tcp", "nvmet-tcp");

/// Place for a run over a protocol; `None`, with the reason printed, if it cannot be had here.
/// `check` looks for the programs as a run does.
fn place_for((word, server): Protocol) -> Option<Workspace> {
    let place = Workspace::usable()?;
    let checked = place.output(&[&["check", "ds"][..], &ALLOW, &MICRO, &["--over", word]].concat());
    if checked.status.success() {
        let told = out(&checked);
        let line = told.lines().find(|line| line.starts_with(&format!("over {word}")));
        assert!(line.is_some_and(|line| line.contains(server)), "{told}");
        return Some(place);
    }
    let told = err(&checked);
    let reasons = ["install it", "run it as root", "use a kernel with"];
    let is_expected = reasons.iter().any(|reason| told.contains(reason));
    assert!(is_expected, "refused for another reason: {told}");
    eprintln!("skipped: {told}");
    None
}

/// Processes that carry the directory's name: number, and name of the program.
fn carriers(home: &Path) -> Vec<(i32, String)> {
    let name = home.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let carries = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(name.len()).any(|part| part == name.as_bytes())
    };
    let program = |pid| {
        let path = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        (pid, path.file_name().unwrap_or_default().to_string_lossy().into_owned())
    };
    pids.filter(carries).map(program).collect()
}

/// Neither process, mount nor directory is left.
fn assert_nothing_left(place: &Workspace, home: &Path) {
    let begun = Instant::now();
    // A process that was killed is gone a moment after its parent has been told.
    while !carriers(home).is_empty() {
        assert!(begun.elapsed() < DEADLINE, "left: {:?}", carriers(home));
        std::thread::yield_now();
    }
    assert!(!home.exists(), "{} is left", home.display());
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    assert!(!mounts.contains(&home.display().to_string()), "{mounts}");
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

/// A run over a protocol that measures for so long, and its session's directory.
fn measuring(place: &Workspace, (word, _): Protocol, duration: &str) -> (Running, PathBuf) {
    let more = ["--over", word, "--duration", duration, "--live", "line", "--format", "json"];
    let mut run = Running::new(place.run_command(&more));
    run.wait_for("measuring");
    let home = homes_of("over", run.id()).pop().expect("the directory of its session");
    (run, home)
}

fn measured_over(protocol: Protocol) {
    let Some(place) = place_for(protocol) else { return };
    let (run, home) = measuring(&place, protocol, "2s");
    let ended = run.end();
    let run: Run = run_store::run::parse(&ended.stdout).expect(&ended.stderr);
    let over = run.target.over.as_ref().expect("the result names the protocol");
    assert_eq!((over.protocol.as_str(), over.server.as_str()), protocol);
    let others = [&over.server_version, &over.initiator, &over.initiator_version, &over.hop];
    assert!(others.iter().all(|text| !text.is_empty()), "{over:?}");
    assert!(run.warnings.iter().any(|warning| warning.id == "over-hop"), "{:?}", run.warnings);
    let step = run.steps.first().unwrap_or_else(|| panic!("{}", ended.stderr));
    let is_fine = matches!(step.verdict, Verdict::Passed | Verdict::Inconclusive);
    assert!(is_fine, "{}: {}", step.verdict.name(), step.reason);
    assert!(step.throughput.operations_per_s > 0.0);
    let is_server = |name| name == GaugeName::OverServerCpu;
    let has_server = step.gauges.iter().any(|gauge| is_server(gauge.name));
    assert_eq!(has_server, protocol != NVME_TCP, "the kernel is no process: {:?}", step.gauges);
    assert_nothing_left(&place, &home);
}

#[test]
fn a_run_over_nbd_names_what_served_it_and_leaves_nothing() {
    measured_over(NBD);
}

#[test]
fn a_run_over_iscsi_names_what_served_it_and_leaves_nothing() {
    measured_over(ISCSI);
}

#[test]
fn a_run_over_nfs3_names_what_served_it_and_leaves_nothing() {
    measured_over(NFS3);
}

#[test]
fn a_run_over_nfs4_names_what_served_it_and_leaves_nothing() {
    measured_over(NFS4);
}

#[test]
fn a_run_over_nvme_tcp_names_the_kernel_and_leaves_nothing() {
    measured_over(NVME_TCP);
}

#[test]
fn kernel_without_a_protocol_is_refused_before_any_file() {
    for (word, module) in [("nvme-tcp", "nvmet-tcp"), ("nfs4", "nfsv4")] {
        let Some(place) = Workspace::usable() else { return };
        let words = [&ALLOW[..], &MICRO, &["--over", word]].concat();
        for command in ["check", "plan", "run"] {
            let output = place.output(&[&[command, "ds"][..], &words].concat());
            let told = err(&output);
            if !told.contains("needs the module") {
                eprintln!("skipped: the kernel has {module}, or something else is missing: {told}");
                break;
            }
            assert_ne!(output.status.code(), Some(0), "{}", out(&output));
            assert!(told.contains(module) && told.contains("use a kernel with"), "{told}");
            assert!(place.names("ds").is_empty(), "nothing is made");
        }
    }
}

#[test]
fn run_over_a_link_discloses_its_packet_size() {
    for (protocol, setting, mtu) in [(NBD, "nbd,mtu=9000", "9000"), (NFS3, "nfs3,mtu=1500", "1500")]
    {
        let Some(place) = place_for(protocol) else { continue };
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can link two networks");
            return;
        }
        let (run, home) = measuring(&place, (setting, protocol.1), "1s");
        let ended = run.end();
        let run: Run = run_store::run::parse(&ended.stdout).expect(&ended.stderr);
        let over = run.target.over.as_ref().expect("the result names the protocol");
        assert!(over.network.contains(&format!("veth with MTU {mtu}")), "{over:?}");
        let step = run.steps.first().unwrap_or_else(|| panic!("{}", ended.stderr));
        let is_fine = matches!(step.verdict, Verdict::Passed | Verdict::Inconclusive);
        assert!(is_fine && step.throughput.operations_per_s > 0.0, "{}", step.reason);
        let key = run.plan.iter().find(|value| value.key == "engine.over").expect("its setting");
        assert_eq!(key.value, setting);
        assert_nothing_left(&place, &home);
    }
}

fn server_killed(protocol: Protocol) {
    let Some(place) = place_for(protocol) else { return };
    let (run, home) = measuring(&place, protocol, "60s");
    let (_, server) = protocol;
    let pid = Pid::from_raw(carrier(&home, server)).expect("a process");
    kill_process(pid, Signal::KILL).expect("it runs");
    let ended = run.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains(&format!("{server} ended under load")), "{}", ended.stderr);
    let stored = StoredRun::at(&place.runs()[0]).expect("a run directory");
    let run = stored.run().expect("what it had found");
    assert!(run.steps.iter().all(|step| step.verdict != Verdict::Passed), "{:?}", run.steps);
    assert_nothing_left(&place, &home);
}

#[test]
fn a_step_whose_nbd_server_is_killed_does_not_pass() {
    server_killed(NBD);
}

#[test]
fn a_step_whose_iscsi_server_is_killed_does_not_pass() {
    server_killed(ISCSI);
}

#[test]
fn a_step_whose_nfs3_server_is_killed_does_not_pass() {
    server_killed(NFS3);
}

/// Process of the session with this program.
fn carrier(home: &Path, program: &str) -> i32 {
    let all = carriers(home);
    let found = all.iter().find(|(_, own)| own == program);
    found.unwrap_or_else(|| panic!("no {program} in {all:?}")).0
}

/// Cuts the link between server and initiator during a step.
fn link_cut(protocol: Protocol) {
    hangs(protocol, |home| {
        let network = format!("--net=/proc/{}/ns/net", carrier(home, "sleep"));
        let mut cut = std::process::Command::new("nsenter");
        cut.args([&network, "--", "ip", "link", "set", "lo", "down"]);
        assert!(cut.status().expect("nsenter").success());
    });
}

/// Stops the server during a step, without ending it.
fn server_hung(protocol: Protocol) {
    hangs(protocol, |home| {
        let server = Pid::from_raw(carrier(home, protocol.1)).expect("a process");
        kill_process(server, Signal::STOP).expect("it runs");
    });
}

/// Does this to a session during a step: no I/O completes any more.
fn hangs(protocol: Protocol, does: impl Fn(&Path)) {
    let Some(place) = place_for(protocol) else { return };
    let (run, home) = measuring(&place, protocol, "120s");
    does(&home);
    let ended = run.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let hangs = format!("{} hangs under load: no I/O completed for", protocol.1);
    assert!(ended.stderr.contains(&hangs), "{}", ended.stderr);
    let stored = StoredRun::at(&place.runs()[0]).expect("a run directory");
    let run = stored.run().expect("what it had found");
    assert!(run.steps.iter().all(|step| step.verdict != Verdict::Passed), "{:?}", run.steps);
    assert_nothing_left(&place, &home);
}

#[test]
fn a_step_whose_iscsi_link_is_cut_does_not_pass() {
    link_cut(ISCSI);
}

#[test]
fn a_step_whose_nfs3_link_is_cut_does_not_pass() {
    link_cut(NFS3);
}

#[test]
fn a_step_whose_nbd_server_hangs_does_not_pass() {
    server_hung(NBD);
}

#[test]
fn a_step_whose_iscsi_server_hangs_does_not_pass() {
    server_hung(ISCSI);
}

#[test]
fn a_step_whose_nfs3_server_hangs_does_not_pass() {
    server_hung(NFS3);
}

fn run_killed(protocol: Protocol) {
    let Some(place) = place_for(protocol) else { return };
    let (run, home) = measuring(&place, protocol, "60s");
    run.signal(Signal::KILL);
    assert_eq!(run.end().code, None, "a signal ended it");
    let cleaned = place.output(&["cleanup", "ds"]);
    assert_eq!(cleaned.status.code(), Some(0), "{}{}", out(&cleaned), err(&cleaned));
    assert_nothing_left(&place, &home);
}

#[test]
fn a_killed_run_over_nbd_is_cleaned_up() {
    run_killed(NBD);
}

#[test]
fn a_killed_run_over_iscsi_is_cleaned_up() {
    run_killed(ISCSI);
}

#[test]
fn a_killed_run_over_nfs3_is_cleaned_up() {
    run_killed(NFS3);
}

#[test]
fn a_killed_run_over_nfs4_is_cleaned_up() {
    run_killed(NFS4);
}

#[test]
fn a_killed_run_over_nvme_tcp_is_cleaned_up() {
    run_killed(NVME_TCP);
}

#[test]
fn check_and_plan_name_a_program_that_is_missing() {
    let Some(place) = Workspace::usable() else { return };
    for command in ["check", "plan"] {
        let words = [&[command, "ds"][..], &ALLOW, &MICRO, &["--over", "nbd"]].concat();
        let nowhere = place.path("runs");
        let output = place.command(&words).env("PATH", nowhere).output().expect("it starts");
        assert_ne!(output.status.code(), Some(0), "{}", out(&output));
        let told = err(&output);
        assert!(told.contains("qemu-storage-daemon") && told.contains("install it"), "{told}");
        assert!(place.names("ds").is_empty(), "nothing is made");
    }
}

/// A study that measures one load as local files and over NBD.
const STUDY: &str = r#"
name = "both"
title = "The same load, locally and over NBD"
source = "Made up for tests."
repeats = 1
tile = "tile.toml"
scale = { footprint = 0.002 }
measure = { warm-up-min = "200ms", warm-up-max = "200ms", duration = "1s", slice = "200ms" }

[[real]]
name = "local"
title = "Local files"

[[real]]
name = "nbd"
title = "NBD"
over = "nbd"

[[table]]
title = "CPU"
configurations = ["local", "nbd"]
measure = 'cpu_per_io(configuration, tiles)'

[[table]]
title = "CPU of the server"
configurations = ["local", "nbd"]
measure = 'cpu_per_io(configuration, tiles, "server")'

[[table]]
title = "CPU of the load"
configurations = ["nbd"]
measure = 'cpu_per_io(configuration, tiles, "load")'
"#;

const RUN_STUDY: [&str; 8] =
    ["study", "run", "both.toml", "--real", "ds", "--allow-root-fs", "--format", "json"];

fn study(command: &mut std::process::Command) -> (StudyResult, String) {
    let output = command.output().expect("the program starts");
    let told = err(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    (findings::parse(&out(&output)).expect("a result"), told)
}

#[test]
fn a_study_measures_a_load_locally_and_over_a_protocol() {
    let Some(place) = place_for(NBD) else { return };
    place.write("both.toml", STUDY);
    let (result, told) = study(&mut place.command(&RUN_STUDY));
    let cells = |table: usize| result.tables[table].rows[0].cells.clone();
    let [Some(local), Some(nbd)] = cells(0)[..] else { panic!("{told}{:?}", result.points) };
    let [None, Some(server)] = cells(1)[..] else { panic!("{:?}", cells(1)) };
    let [Some(load)] = cells(2)[..] else { panic!("{:?}", cells(2)) };
    assert!(local > 0.0 && load > 0.0 && server > 0.0);
    assert!((nbd - load - server).abs() < 1e-6, "{nbd} is not {load} and {server}");
    assert!(result.configurations[1].array.ends_with(", over nbd"), "{:?}", result.configurations);
    let hop = result.warnings.iter().find(|warning| warning.id == "over-hop").expect("the hop");
    assert!(hop.text.contains("server qemu-storage-daemon"), "{}", hop.text);
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

#[test]
fn a_study_leaves_out_what_has_no_programs_here_and_says_so() {
    let Some(place) = Workspace::usable() else { return };
    place.write("both.toml", STUDY);
    let (result, _) = study(place.command(&RUN_STUDY).env("PATH", place.path("runs")));
    let [local, nbd] = &result.points[..] else { panic!("{:?}", result.points) };
    assert_eq!(local.reason.as_deref().filter(|reason| reason.contains("left out")), None);
    let reason = nbd.reason.as_deref().unwrap_or_default();
    assert!(reason.starts_with("left out: ") && reason.contains("install it"), "{reason}");
    assert_eq!(result.tables[0].rows[0].cells[1], None);
    assert!(result.warnings.iter().all(|warning| warning.id != "over-hop"));
}
