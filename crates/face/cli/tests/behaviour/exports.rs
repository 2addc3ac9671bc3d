//! Runs on an export that another NFS server has already. The server is a real one in a network of
//! its own, with a portmapper; without its programs, or without root, a test says why and returns.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use run_store::gauge::GaugeName;
use run_store::run::Verdict;
use run_store::rundir::StoredRun;
use rustix::process::{Pid, Signal, kill_process};

use crate::rig::{ALLOW, DEADLINE, MICRO, Running, Workspace, err, ganesha, homes_of, names, out};

/// Address of the server in its own network.
const ADDRESS: &str = "10.9.9.1";

/// Starts portmapper and server as the first processes of a process namespace, so that both end
/// with it.
const SCRIPT: &str = "ip link set lo up && ip addr add 10.9.9.1/32 dev lo && \
    mount -t tmpfs -o size=1m,mode=755 tilemark /run && mkdir /run/rpcbind /run/ganesha && \
    { rpcbind -f & } && exec ganesha.nfsd -F -f \"$1/ganesha.conf\" -L \"$1/ganesha.log\" \
    -p \"$1/ganesha.pid\"";

/// A server that is not Tilemark's, with an export that may be written and one that may not.
struct Foreign {
    place: Workspace,
    server: Child,
}

impl Foreign {
    fn new() -> Option<Self> {
        let place = Workspace::usable()?;
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: a server of NFS is started by root only");
            return None;
        }
        for program in ["ganesha.nfsd", "rpcbind", "rpcinfo", "ip", "unshare", "nsenter", "setpriv"]
        {
            let found = Command::new("sh")
                .args(["-c", &format!("PATH=$PATH:/usr/sbin command -v {program}")])
                .output();
            if !found.is_ok_and(|found| found.status.success()) {
                eprintln!("skipped: {program} is not installed");
                return None;
            }
        }
        let server = Self::start(&place);
        let mut foreign = Self { place, server };
        foreign.wait();
        Some(foreign)
    }

    fn start(place: &Workspace) -> Child {
        let at = place.path("server");
        for directory in ["server", "export", "export/theirs", "locked"] {
            fs::create_dir_all(place.path(directory)).expect("made");
        }
        fs::write(place.path("export/theirs/file"), "precious").expect("written");
        let settings = ganesha(ADDRESS, &place.path("export"));
        // The same export once more, of another directory and only for reading.
        let block =
            &settings[settings.find("EXPORT").expect("it")..settings.find("LOG").expect("it")];
        let locked = [("Export_Id = 1", "Export_Id = 2"), ("/disks", "/locked"), ("= RW", "= RO")];
        let locked =
            locked.iter().fold(block.to_owned(), |text, (from, to)| text.replace(from, to));
        let [from, to] = ["export", "locked"].map(|name| place.path(name).display().to_string());
        let settings = settings + &locked.replace(&from, &to);
        fs::write(at.join("ganesha.conf"), settings).expect("written");
        let log = fs::File::create(at.join("log")).expect("made");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "unshare", "--net", "--mount", "--pid", "--fork"]);
        command.args(["--kill-child", "sh", "-c", SCRIPT, "sh"]).arg(at);
        let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
        command.env("PATH", path).stdin(Stdio::null());
        let error = log.try_clone().expect("its copy");
        command.stdout(log).stderr(error).spawn().expect("started")
    }

    /// Waits until NFS answers.
    fn wait(&mut self) {
        let begun = Instant::now();
        loop {
            let mut asked = Command::new("nsenter");
            asked.arg(self.network()).args([
                "/usr/sbin/rpcinfo",
                "-T",
                "tcp",
                ADDRESS,
                "100003",
                "3",
            ]);
            let asked = asked.stdout(Stdio::null()).stderr(Stdio::null()).status();
            if asked.is_ok_and(|status| status.success()) {
                return;
            }
            let ended = self.server.try_wait().expect("our child");
            let told = fs::read_to_string(self.place.path("server/log")).unwrap_or_default();
            assert!(ended.is_none() && begun.elapsed() < DEADLINE, "no server: {ended:?} {told}");
            std::thread::yield_now();
        }
    }

    fn network(&self) -> String {
        format!("--net=/proc/{}/ns/net", self.server.id())
    }

    /// Name of an export.
    fn export(&self, name: &str) -> String {
        format!("nfs:{ADDRESS}:{}", self.place.path(name).display())
    }

    /// The program in the network of the server.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(self.network()).arg("--").arg(env!("CARGO_BIN_EXE_tilemark")).args(words);
        command.current_dir(self.place.path("")).stdin(Stdio::null());
        self.place.surroundings(&mut command);
        command
    }

    /// A run on an export that measures for so long.
    fn run_for(&self, duration: &str) -> Command {
        let export = self.export("export");
        let more =
            ["--over", &export, "--live", "line", "--format", "json", "--duration", duration];
        let micro: Vec<&str> =
            MICRO.into_iter().filter(|word| !["--duration", "1s"].contains(word)).collect();
        self.command(&[&["run"][..], &ALLOW, &micro, &more].concat())
    }

    /// Nothing of a run is on the export, in the system or in its private directory.
    fn assert_as_it_was(&self, home: &Path) {
        assert_eq!(names(&self.place.path("export")), ["theirs"]);
        assert_eq!(fs::read(self.place.path("export/theirs/file")).expect("theirs"), b"precious");
        assert_no_mount(home);
    }

    /// Number of the server's own process.
    fn server_pid(&self) -> Pid {
        let network = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let own = network(self.server.id());
        let all = fs::read_dir("/proc").expect("/proc").flatten();
        let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let found = pids.find(|pid| {
            let path = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            path.ends_with("ganesha.nfsd") && network(*pid) == own
        });
        let pid = i32::try_from(found.expect("a server")).expect("a number");
        Pid::from_raw(pid).expect("a process")
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn assert_no_mount(home: &Path) {
    assert!(!home.exists(), "{} is left", home.display());
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    assert!(!mounts.contains(&home.display().to_string()), "{mounts}");
}

/// A run that is measuring, and the directory of its mount.
fn measuring(foreign: &Foreign, duration: &str) -> (Running, PathBuf) {
    let mut run = Running::new(foreign.run_for(duration));
    run.wait_for("measuring");
    let home = homes_of("over", run.id()).pop().expect("its private directory");
    (run, home)
}

#[test]
fn a_run_on_an_existing_export_names_it_and_leaves_it_as_it_was() {
    let Some(foreign) = Foreign::new() else { return };
    let (run, home) = measuring(&foreign, "2s");
    let ended = run.end();
    let run: run_store::run::Run = run_store::run::parse(&ended.stdout).expect(&ended.stderr);
    assert_eq!(run.target.datastore, foreign.export("export"));
    let over = run.target.over.as_ref().expect("the result names the hop");
    let place = foreign.export("export").split_off("nfs:".len());
    assert_eq!((over.protocol.as_str(), &over.server), ("nfs3", &place));
    assert!(over.hop.contains("no kernel client") && over.network.contains(ADDRESS), "{over:?}");
    assert!(run.warnings.iter().any(|warning| warning.id == "over-hop"), "{:?}", run.warnings);
    let step = run.steps.first().unwrap_or_else(|| panic!("{}", ended.stderr));
    let is_fine = matches!(step.verdict, Verdict::Passed | Verdict::Inconclusive);
    assert!(is_fine, "{}: {}", step.verdict.name(), step.reason);
    assert!(step.throughput.operations_per_s > 0.0);
    let is_client = |name| name == GaugeName::OverInitiatorCpu;
    assert!(step.gauges.iter().any(|gauge| is_client(gauge.name)), "{:?}", step.gauges);
    foreign.assert_as_it_was(&home);
}

#[test]
fn check_reads_about_an_export_and_writes_nothing() {
    let Some(foreign) = Foreign::new() else { return };
    let check = |name: &str| {
        let export = foreign.export(name);
        let words = [&["check", &export][..], &MICRO].concat();
        foreign.command(&words).output().expect("it starts")
    };
    let allowed = check("export");
    assert_eq!(allowed.status.code(), Some(0), "{}{}", out(&allowed), err(&allowed));
    assert!(out(&allowed).contains("over nfs3  server 10.9.9.1:/"), "{}", out(&allowed));
    let locked = check("locked");
    assert_eq!(locked.status.code(), Some(3), "{}{}", out(&locked), err(&locked));
    assert!(out(&locked).contains("fs-read-only"), "{}", out(&locked));
    let wrong = check("server/nowhere");
    assert_eq!(wrong.status.code(), Some(1), "{}{}", out(&wrong), err(&wrong));
    assert!(err(&wrong).contains("does not let this computer mount"), "{}", err(&wrong));
    assert!(err(&wrong).contains("showmount"), "{}", err(&wrong));
    assert_eq!(names(&foreign.place.path("export")), ["theirs"]);
    assert!(names(&foreign.place.path("locked")).is_empty());
}

#[test]
fn disks_kept_on_an_export_can_be_verified_and_removed() {
    let Some(foreign) = Foreign::new() else { return };
    let mut run = foreign.run_for("1s");
    let run = run.args(["--keep", "--verify"]).output().expect("it starts");
    assert!(matches!(run.status.code(), Some(0 | 5)), "{}{}", out(&run), err(&run));
    assert_eq!(names(&foreign.place.path("export")).len(), 2, "the disks stay");
    let export = foreign.export("export");
    for (words, told) in [
        (&["verify", &export][..], "every block is right"),
        (&["cleanup", "--dry-run", &export], "would remove"),
        (&["cleanup", &export], "removed"),
        (&["cleanup", &export], "no files of Tilemark are there"),
    ] {
        let done = foreign.command(words).output().expect("it starts");
        assert_eq!(done.status.code(), Some(0), "{words:?} {}{}", out(&done), err(&done));
        assert!(out(&done).contains(told), "{words:?} {}", out(&done));
    }
    assert_eq!(names(&foreign.place.path("export")), ["theirs"]);
}

#[test]
fn a_killed_run_on_an_export_is_cleaned_up_and_nothing_else() {
    let Some(foreign) = Foreign::new() else { return };
    let (run, home) = measuring(&foreign, "60s");
    run.signal(Signal::KILL);
    assert_eq!(run.end().code, None, "a signal ended it");
    assert_eq!(names(&foreign.place.path("export")).len(), 2, "its files are left");
    let export = foreign.export("export");
    let cleaned = foreign.command(&["cleanup", &export]).output().expect("it starts");
    assert_eq!(cleaned.status.code(), Some(0), "{}{}", out(&cleaned), err(&cleaned));
    foreign.assert_as_it_was(&home);
}

#[test]
fn a_step_whose_export_loses_its_server_does_not_pass() {
    let Some(foreign) = Foreign::new() else { return };
    let (run, home) = measuring(&foreign, "60s");
    kill_process(foreign.server_pid(), Signal::KILL).expect("it runs");
    let ended = run.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let is_named = ended.stderr.contains("the connection to the NFS server 10.9.9.1 was lost");
    assert!(is_named, "{}", ended.stderr);
    let hint = format!("tilemark cleanup {}", foreign.export("export"));
    assert!(ended.stderr.contains(&hint), "{}", ended.stderr);
    let stored = StoredRun::at(&foreign.place.runs()[0]).expect("a run directory");
    let run = stored.run().expect("what it had found");
    assert!(run.steps.iter().all(|step| step.verdict != Verdict::Passed), "{:?}", run.steps);
    assert_no_mount(&home);
}

#[test]
fn an_export_that_cannot_be_is_refused_with_the_reason() {
    let Some(place) = Workspace::usable() else { return };
    let run = |words: &[&str]| {
        let output = place.output(&[&["run"], words, &MICRO[..]].concat());
        (output.status.code(), err(&output))
    };
    // Nobody listens on this port of this computer.
    let nobody = "nfs:127.0.0.1:/x,port=1,mount-port=1";
    let (code, told) = run(&["--over", nobody]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("cannot connect to the mount service"), "{told}");
    for (words, expected) in [
        (&["--over", "nfs:filer"][..], "it has no path"),
        (&["nfs:filer:x"], "does not begin with /"),
        (&["--over", "iscsi://filer/iqn.2026-11.x/1"], "iscsiadm"),
        (&["--over", "smb:filer:/x", "ds"], "neither a protocol"),
        (&["--over", nobody, "ds"], "names a datastore"),
    ] {
        let (code, told) = run(words);
        assert_eq!(code, Some(2), "{words:?} {told}");
        assert!(told.contains(expected), "{words:?} {told}");
    }
    assert!(place.names("ds").is_empty());
}
